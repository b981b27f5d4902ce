"""Small evidence for the tests of an answer."""

from __future__ import annotations

from citewell.types import Evidence, Hit, MatchReason

DOCUMENT = "550e8400-e29b-41d4-a716-446655440000"
OTHER = "650e8400-e29b-41d4-a716-446655440000"


def hit(text: str, index: int = 0, *, document: str = DOCUMENT, cosine: float = 0.7, tags: tuple[str, ...] = ()) -> Hit:
    """A passage that was found."""
    return Hit(
        document_id=document,
        document="A policy",
        version=1,
        chunk_index=index,
        start=1_000 * index,
        end=1_000 * index + len(text),
        text=text,
        page=None,
        section=("Doses",),
        tags=tags,
        raw_cosine=cosine,
        rank_score=cosine,
        relevance=cosine,
        why=MatchReason(1, 1, (), None),
    )


def evidence(*texts: str) -> tuple[Evidence, ...]:
    """Passages as a model sees them."""
    found = [hit(text, index) for index, text in enumerate(texts)]
    return tuple(Evidence(number, one, one.start, one.end) for number, one in enumerate(found, 1))
