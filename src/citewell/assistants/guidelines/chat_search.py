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


def hit(retrieved_entry: RetrievedEntry) -> Hit:
    """A piece as evidence, at its place in the library; its label is the innermost section, and so is kept with it."""
    piece, book = retrieved_entry.piece, retrieved_entry.book
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
        raw_cosine=retrieved_entry.score,
        rank_score=retrieved_entry.rank,
        relevance=min(1.0, max(0.0, retrieved_entry.score)),
        why=MatchReason(None, None, (), None),
    )


def with_tables(retrieved_entries: Sequence[RetrievedEntry]) -> list[RetrievedEntry]:
    """What was found, each rule followed by the table that stands below it and that it refers to."""
    return [each for retrieved_entry in retrieved_entries for each in (retrieved_entry, *_table_of(retrieved_entry))]


def _table_of(retrieved_entry: RetrievedEntry) -> Iterator[RetrievedEntry]:
    piece = retrieved_entry.piece
    table = piece.rules[0].table if piece.kind == "rule" else None
    if table is not None:
        below = (f"{piece.label}, table", table.page, table.start, table.end)
        yield replace(retrieved_entry, piece=SearchEntry(piece.kind, piece.id, table.text, *below, piece.rules))


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
        "top_score": round(max((retrieved_entry.score for retrieved_entry in searched.found), default=0.0), 4),
        "chunks": [_chunk(retrieved_entry) for retrieved_entry in searched.found],
    }


def _chunk(retrieved_entry: RetrievedEntry) -> dict[str, Any]:
    return {
        "guideline": retrieved_entry.book.guideline.name,
        "kind": retrieved_entry.piece.kind,
        "id": retrieved_entry.piece.id,
        "label": retrieved_entry.piece.label,
        "page": retrieved_entry.piece.page,
        "score": round(retrieved_entry.score, 4),
        "boost": round(retrieved_entry.boost, 4),
    }
