"""The search page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response

from citewell.api.problems import problem_of
from citewell.api.server_state import Here, ServerState, is_answering
from citewell.api.visitor import Reader, Visitor
from citewell.errors import CitewellError
from citewell.samples import EXAMPLE_QUESTIONS, sample_files
from citewell.types import LibraryEntry, Scope
from citewell.web.search_results import added_phrases, shown

router = APIRouter()

LIMITS = (10, 25, 50)
SAMPLE_ROOM, SAMPLES_BEHIND = 20, 3
"""How many passages a page shows, step by step."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a person may narrow a search by: only what some document carries."""

    tags: tuple[str, ...]
    journeys: tuple[str, ...]
    subjects: tuple[str, ...]

    @classmethod
    def of(cls, entries: list[LibraryEntry], visitor: Visitor) -> Narrowing:
        """The choices in a library; everyone sees what is public, so that is none."""
        tags = {tag for entry in entries for tag in entry.tags} - {"public"}
        return cls(
            tuple(sorted(tags if visitor.may("govern") else tags & visitor.tags)),
            tuple(sorted({journey for entry in entries for journey in entry.journeys})),
            tuple(sorted({entry.subject for entry in entries if entry.subject})),
        )


@router.get("/search")
def search_page(
    *,
    site: Here,
    visitor: Reader,
    q: str = "",
    limit: Annotated[int, Query(ge=1, le=LIMITS[-1])] = LIMITS[0],
    tag: Annotated[list[str] | None, Query()] = None,
    journey: str = "",
    subject: str = "",
) -> Response:
    """One box, and what was found."""
    chosen = [name for name in tag or () if name]
    scope = visitor.scope(tags=chosen or None, journey=journey or None, subject=subject or None)
    entries = [entry for entry in site.app.entries(visitor.whole) if is_answering(entry)]
    samples = site.samples(visitor)
    values: dict[str, Any] = {
        "sample_ids": samples,
        "nav": "ask" if visitor.may("ask") else "search",
        "question": q,
        "chosen": {"tag": chosen, "journey": journey, "subject": subject},
        "narrowing": Narrowing.of(entries, visitor),
        "examples": examples(entries),
        "is_empty": not entries,
        "documents": len(entries),
        "passages": site.passages(scope),
        "problem": None,
        "results": None,
    }
    if q.strip():
        values |= _found(site, q, scope, limit, samples)
        values["more"] = _more(values, limit, {"q": q, "tag": chosen, "journey": journey, "subject": subject})
    return site.page("search.html", visitor, **values)


def _found(site: ServerState, question: str, scope: Scope, limit: int, samples: frozenset[str]) -> dict[str, Any]:
    """What a search gives to the page: results, or a problem in the place where they would be.

    Samples take no place from real documents: they stand behind them, and only a few.
    """
    try:
        results = site.search(question, scope, limit=limit + (SAMPLE_ROOM if samples else 0))
    except CitewellError as error:
        return {"problem": problem_of(error), "results": None}
    real = [hit for hit in results.hits if hit.document_id not in samples][:limit]
    fictional = [hit for hit in results.hits if hit.document_id in samples]
    hits = real + fictional[: min(SAMPLES_BEHIND, limit - len(real)) if real else limit]
    return {
        "results": shown(question, hits, results.expansions),
        "added": added_phrases(question, results.expansions),
        "took_ms": results.took_ms,
    }


def _more(values: dict[str, Any], limit: int, asked: dict[str, object]) -> str | None:
    """The address that shows more passages, when there may be some."""
    results = values["results"]
    longer = next((step for step in LIMITS if step > limit), None)
    if not isinstance(results, list) or len(results) < limit or longer is None:
        return None
    query = {name: value for name, value in asked.items() if value}
    return "/search?" + urlencode(query | {"limit": longer}, doseq=True)


def examples(entries: list[LibraryEntry]) -> list[str]:
    """Questions that can be answered: those of the samples that are here."""
    names = {entry.name for entry in entries}
    here = {path.name for path in sample_files()} & names
    return [question.text for question in EXAMPLE_QUESTIONS if question.file in here]
