"""Writes down all that is needed to tell later what an answer rested on, and to ask again on the same versions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citewell.answer.view import answer_json
from citewell.types import Answer, Asker, Claim, Evidence, Message, Scope


@dataclass(frozen=True, slots=True)
class Searched:
    """The versions that a question was asked of."""

    stamp: int
    is_settled: bool
    """Nothing changed while the question was searched for, so that the stamp names exactly these versions."""
    embedder: str | None
    versions: tuple[tuple[int, str], ...]
    """Generation and document id of each."""


@dataclass(frozen=True, slots=True)
class Telling:
    """One question and all that went into its answer."""

    answer: Answer
    asker: Asker
    history: Sequence[Message]
    searched: Searched
    setup: Mapping[str, Any]
    """What the assistant was set to: writer, limits, thresholds."""


def record(telling: Telling) -> dict[str, Any]:
    """The words of an audit record; passages are named by id, place and hash, not repeated."""
    answer, asker, searched = telling.answer, telling.asker, telling.searched
    return {
        "question": answer.question,
        "history": [{"role": one.role, "text": one.text} for one in telling.history],
        "asker": {"user_id": asker.user_id, "role": asker.role.value},
        "scope": scope_json(asker.scope),
        "library": {
            "stamp": searched.stamp,
            "is_settled": searched.is_settled,
            "embedder": searched.embedder,
            "documents": len(searched.versions),
            "generations": ranges(generation for generation, _ in searched.versions),
            "digest": digest(document_id for _, document_id in searched.versions),
        },
        "setup": dict(telling.setup),
        "model": answer.model,
        "prompt_hash": answer.prompt_hash,
        "evidence": [_evidence(one) for one in answer.evidence],
        "claims": [_claim(one) for one in answer.claims],
        "answer": answer_json(answer, with_withheld=True),
    }


def scope_json(scope: Scope) -> dict[str, Any]:
    """A scope as it is written down."""
    return {
        "tenant": scope.tenant,
        "tags": sorted(scope.tags),
        "journey": scope.journey,
        "subject": scope.subject,
    }


def scope_of(told: Mapping[str, Any]) -> Scope:
    """The scope that was written down.

    >>> scope_of(scope_json(Scope.owner("clinic"))) == Scope.owner("clinic")
    True
    """
    return Scope(told["tenant"], frozenset(told["tags"]), told["journey"], told["subject"])


def _evidence(evidence: Evidence) -> dict[str, Any]:
    hit = evidence.hit
    return {
        "number": evidence.number,
        "source_id": hit.source_id,
        "document_id": hit.document_id,
        "document": hit.document,
        "version": hit.version,
        "page": hit.page,
        "section": " > ".join(hit.section) or None,
        "start": evidence.start,
        "end": evidence.end,
        "hash": hashlib.sha256(evidence.text.encode()).hexdigest(),
        "relevance": round(hit.relevance, 4),
    }


def _claim(claim: Claim) -> dict[str, Any]:
    span = claim.check.span
    return {
        "text": claim.text,
        "verdict": claim.check.verdict.value,
        "reasons": list(claim.check.reasons),
        "is_shown": claim.is_shown,
        "citations": list(claim.citations),
        "span": None if span is None else {"source_id": span.source_id, "start": span.start, "end": span.end},
    }


def digest(document_ids: Iterable[str]) -> str:
    """One hash for a set of document versions."""
    return hashlib.sha256("\n".join(sorted(document_ids)).encode()).hexdigest()


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as a short text.

    >>> ranges([1, 2, 3, 7, 9, 10])
    '1-3,7,9-10'
    """
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] + 1 == number:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def numbers(text: str) -> frozenset[int]:
    """The numbers of such a text.

    >>> sorted(numbers("1-3,7")), sorted(numbers(""))
    ([1, 2, 3, 7], [])
    """
    found: set[int] = set()
    for run in filter(None, text.split(",")):
        first, _, last = run.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
