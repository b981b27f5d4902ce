"""The JSON that programs get; searches and documents look as the command line prints them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from citewell.api.progress import Progress
from citewell.app import Results
from citewell.types import Box, Hit, LibraryEntry, MatchReason


def results_json(results: Results) -> dict[str, Any]:
    """What a search found."""
    return {
        "hits": [hit_json(hit) for hit in results.hits],
        "expansions": [asdict(one) for one in results.expansions],
        "took_ms": round(results.took_ms, 1),
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    """One hit, with its place and the reasons."""
    return {
        "source_id": hit.source_id,
        "chunk_id": hit.chunk_id,
        "document_id": hit.document_id,
        "document": hit.document,
        "version": hit.version,
        "page": hit.page,
        "section": " > ".join(hit.section) or None,
        "start": hit.start,
        "end": hit.end,
        "score": round(hit.rank_score, 6),
        "relevance": round(hit.relevance, 4),
        "is_calibrated": hit.is_calibrated,
        "cosine": round(hit.raw_cosine, 4),
        "text": hit.text,
        "why": why_json(hit.why),
    }


def why_json(why: MatchReason) -> dict[str, Any]:
    """Why a passage was found."""
    return {
        "dense_rank": why.dense_rank,
        "lexical_rank": why.lexical_rank,
        "matched_terms": why.matched_terms,
        "best_sentence": why.best_sentence,
    }


def entry_json(entry: LibraryEntry, progress: Progress | None) -> dict[str, Any]:
    """One document version, and how far it has come while it is being read."""
    fields = asdict(entry)
    return {
        "document_id": fields.pop("id"),
        **fields,
        "progress": None if progress is None else asdict(progress),
    }


def box_json(box: Box) -> dict[str, Any]:
    """A rectangle in points from the top left corner of its page."""
    return asdict(box)
