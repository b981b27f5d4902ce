"""What the chat searched for and found: as evidence for the gate, and as notes for programs and the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from citewell.assistants.guidelines.classify import ClassifiedMessage
from citewell.assistants.guidelines.entries import SearchEntry
from citewell.assistants.guidelines.quality import Quality
from citewell.assistants.guidelines.queries import Query
from citewell.assistants.guidelines.retrieve import RetrievedEntry
from citewell.types import Hit, MatchReason


@dataclass(frozen=True, slots=True)
class ChatSearch:
    """What was looked for, what came of it, and whether that is enough."""

    query: Query
    found: Sequence[RetrievedEntry]
    quality: Quality


def hit(one: RetrievedEntry) -> Hit:
    """A piece as evidence, at its place in the library; its label is the innermost section, and so is kept with it."""
    piece, book = one.piece, one.book
    around = (piece.rules[0].section,) if piece.kind == "rule" else ()
    return Hit(
        document_id=book.document_id,
        document=book.guideline.title,
        version=book.version,
        chunk_index=book.chunk_at(piece.start),
        start=piece.start,
        end=piece.end,
        text=piece.text,
        page=piece.page or None,
        section=(*around, piece.label),
        tags=(),
        raw_cosine=one.score,
        rank_score=one.rank,
        relevance=min(1.0, max(0.0, one.score)),
        why=MatchReason(None, None, (), None),
    )


def with_tables(found: Sequence[RetrievedEntry]) -> list[RetrievedEntry]:
    """What was found, each rule followed by the table that stands below it and that it refers to."""
    return [each for one in found for each in (one, *_table_of(one))]


def _table_of(one: RetrievedEntry) -> Iterator[RetrievedEntry]:
    piece = one.piece
    table = piece.rules[0].table if piece.kind == "rule" else None
    if table is not None:
        below = (f"{piece.label}, table", table.page, table.start, table.end)
        yield replace(one, piece=SearchEntry(piece.kind, piece.id, table.text, *below, piece.rules))


def noted(sorted_: ClassifiedMessage, searched: ChatSearch | None = None) -> dict[str, Any]:
    """How an answer came about, as the API and the record tell it."""
    if searched is None:
        outside = "out_of_scope" if sorted_.input_class == "medical_out_of_scope" else None
        return {
            "input_class": sorted_.input_class,
            "query_strategy": None,
            "search_query": None,
            "guardrail_result": outside,
            "top_score": None,
            "chunks": [],
        }
    is_outside = searched.quality == "none" and bool(sorted_.topics)
    return {
        "input_class": sorted_.input_class,
        "query_strategy": searched.query.strategy,
        "search_query": searched.query.text,
        "guardrail_result": "out_of_scope" if is_outside else searched.quality,
        "top_score": round(max((one.score for one in searched.found), default=0.0), 4),
        "chunks": [_chunk(one) for one in searched.found],
    }


def _chunk(one: RetrievedEntry) -> dict[str, Any]:
    return {
        "guideline": one.book.guideline.name,
        "kind": one.piece.kind,
        "id": one.piece.id,
        "label": one.piece.label,
        "page": one.piece.page,
        "score": round(one.score, 4),
        "boost": round(one.boost, 4),
    }
