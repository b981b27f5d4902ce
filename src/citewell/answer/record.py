"""Writes down all that is needed to tell later what an answer rested on, and to ask again on the same versions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citewell.answer.stream import Looked
from citewell.answer.view import answer_json, evidence_json, looked_json
from citewell.answer.wishes import NONE, Wishes
from citewell.ports import Writer
from citewell.types import Answer, Asker, Claim, Evidence, Message, Scope, Span


@dataclass(frozen=True, slots=True)
class Versions:
    """Which document versions a scope could see at one moment, told briefly."""

    count: int
    generations: str
    digest: str
    """One hash for all of their ids, which stays when they are embedded anew."""

    @classmethod
    def of(cls, versions: Sequence[tuple[int, str]]) -> Versions:
        """Told of generations and document ids."""
        generations = ranges(generation for generation, _ in versions)
        return cls(len(versions), generations, digest(document_id for _, document_id in versions))


@dataclass(frozen=True, slots=True)
class Searched:
    """What a question was asked of."""

    stamp: int
    is_settled: bool
    """Nothing changed while the question was searched for, so that the stamp names exactly these versions."""
    embedder: str | None
    versions: Versions


@dataclass(frozen=True, slots=True)
class Telling:
    """A question, and all that went into what was said to it."""

    question: str
    asker: Asker
    history: Sequence[Message]
    searched: Searched
    setup: Mapping[str, Any]
    """What the assistant was set to: writer, limits, thresholds, prompt."""
    wishes: Wishes = NONE


def record(telling: Telling, claims: Sequence[Claim], answer: Answer | None, *, ended: str) -> dict[str, Any]:
    """The words of an audit record; passages are named by id, place and hash, not repeated."""
    return {
        "ended": ended,
        "question": telling.question,
        "history": [{"role": one.role, "text": one.text} for one in telling.history],
        "asker": {"user_id": telling.asker.user_id, "role": telling.asker.role.value},
        "scope": scope_json(telling.asker.scope),
        "library": _library(telling.searched),
        "wishes": telling.wishes.told,
        "setup": dict(telling.setup),
        "evidence": [] if answer is None else [_evidence(one) for one in answer.evidence],
        "claims": [claim_record(one) for one in claims],
        "answer": None if answer is None else _answer(answer, telling),
    }


def _answer(answer: Answer, telling: Telling) -> dict[str, Any]:
    """The answer as it was given, with where it was looked for."""
    looked = Looked(telling.asker.scope, telling.searched.versions.count)
    return {**answer_json(answer, with_withheld=True, with_windows=False), "scope": looked_json(looked)}


def _library(searched: Searched) -> dict[str, Any]:
    return {
        "stamp": searched.stamp,
        "is_settled": searched.is_settled,
        "embedder": searched.embedder,
        "documents": searched.versions.count,
        "generations": searched.versions.generations,
        "digest": searched.versions.digest,
    }


def scope_json(scope: Scope) -> dict[str, Any]:
    """A scope as it is written down."""
    return {"tenant": scope.tenant, "tags": sorted(scope.tags), "journey": scope.journey, "subject": scope.subject}


def scope_of(told: Mapping[str, Any]) -> Scope:
    """The scope that was written down.

    >>> scope_of(scope_json(Scope.owner("clinic"))) == Scope.owner("clinic")
    True
    """
    return Scope(told["tenant"], frozenset(told["tags"]), told["journey"], told["subject"])


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {"number": evidence.number, **evidence_json(evidence), "hash": text_hash(evidence.text)}


def writer_record(writer: Writer) -> dict[str, Any]:
    """Who wrote: a name, its limits, and which model stood behind the name, where that can be told."""
    told = {"name": writer.name, "window": writer.window, "reply": writer.reply}
    return told | ({} if writer.digest is None else {"digest": writer.digest})


def text_hash(text: str) -> str:
    """Tells later whether a passage still reads as it did."""
    return hashlib.sha256(text.encode()).hexdigest()


def claim_record(claim: Claim) -> dict[str, Any]:
    """A checked sentence, with the place of the words that decided, and of those that did with them."""
    span, beside = claim.check.span, claim.check.beside
    told = {
        "text": claim.text,
        "verdict": claim.check.verdict.value,
        "reasons": list(claim.check.reasons),
        "is_shown": claim.is_shown,
        "citations": list(claim.citations),
        "span": None if span is None else _place(span),
    }
    return told | ({"beside": [_place(one) for one in beside]} if beside else {})


def _place(span: Span) -> dict[str, Any]:
    return {"source_id": span.source_id, "start": span.start, "end": span.end}


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
