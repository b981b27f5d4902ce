"""Writes the audit record of an answer, and takes the words of erased documents out of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from citewell.answer.answer_json import answer_json, evidence_json, looked_json
from citewell.answer.events import SearchedScope
from citewell.ports import Writer
from citewell.types import (
    NO_OPTIONS,
    Answer,
    AskOptions,
    Chunk,
    Claim,
    Document,
    Evidence,
    EvidenceSpan,
    LibraryEntry,
    Message,
    Scope,
    User,
)


@dataclass(frozen=True, slots=True)
class Versions:
    """Which document versions a scope could see at one moment, in short."""

    count: int
    generations: str
    digest: str
    """One hash of all their ids; embedding the passages again does not change it."""

    @classmethod
    def of(cls, versions: Sequence[tuple[int, str]]) -> Versions:
        """From generations and document ids."""
        generations = ranges(generation for generation, _ in versions)
        return cls(len(versions), generations, digest(document_id for _, document_id in versions))


@dataclass(frozen=True, slots=True)
class SearchedSources:
    """What was searched for a question."""

    stamp: int
    is_settled: bool
    """Nothing changed while the question was searched for, so that the stamp names exactly these versions."""
    embedder: str | None
    versions: Versions


@dataclass(frozen=True, slots=True)
class AuditPayload:
    """A question, and all that went into its answer."""

    question: str
    asker: User
    history: Sequence[Message]
    searched: SearchedSources
    setup: Mapping[str, Any]
    """What the assistant was set to: writer, limits, thresholds, prompt."""
    options: AskOptions = NO_OPTIONS


def record(payload: AuditPayload, claims: Sequence[Claim], answer: Answer | None, *, ended: str) -> dict[str, Any]:
    """The words of an audit record; passages are named by id, place and hash, not repeated."""
    return {
        "ended": ended,
        "question": payload.question,
        "history": [{"role": message.role, "text": message.text} for message in payload.history],
        "asker": {"user_id": payload.asker.user_id, "role": payload.asker.role.value},
        "scope": scope_json(payload.asker.scope),
        "library": _library(payload.searched),
        "wishes": payload.options.as_record(),
        "setup": dict(payload.setup),
        "evidence": [] if answer is None else [_evidence(evidence) for evidence in answer.evidence],
        "claims": [claim_record(claim) for claim in claims],
        "answer": None if answer is None else _answer(answer, payload),
    }


def _answer(answer: Answer, payload: AuditPayload) -> dict[str, Any]:
    """The answer as it was given, with where it was looked for."""
    searched = SearchedScope(payload.asker.scope, payload.searched.versions.count)
    return {**answer_json(answer, with_withheld=True, with_windows=False), "scope": looked_json(searched)}


def _library(searched: SearchedSources) -> dict[str, Any]:
    return {
        "stamp": searched.stamp,
        "is_settled": searched.is_settled,
        "embedder": searched.embedder,
        "documents": searched.versions.count,
        "generations": searched.versions.generations,
        "digest": searched.versions.digest,
    }


def scope_json(scope: Scope) -> dict[str, Any]:
    """A scope as a record holds it."""
    narrowed = {} if scope.document is None else {"document": scope.document}
    return {
        "tenant": scope.tenant,
        "tags": sorted(scope.tags),
        "journey": scope.journey,
        "subject": scope.subject,
        **narrowed,
    }


def scope_of(recorded: Mapping[str, Any]) -> Scope:
    """The scope in a record.

    >>> scope_of(scope_json(Scope.owner("clinic"))) == Scope.owner("clinic")
    True
    """
    tags, document = frozenset(recorded["tags"]), recorded.get("document")
    return Scope(recorded["tenant"], tags, recorded["journey"], recorded["subject"], document)


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {"number": evidence.number, **evidence_json(evidence), "hash": text_hash(evidence.text)}


def writer_record(writer: Writer) -> dict[str, Any]:
    """Who wrote: a name, its limits, and which model stood behind the name, where that can be told."""
    written = {"name": writer.name, "window": writer.window, "reply": writer.reply}
    return written | ({} if writer.digest is None else {"digest": writer.digest})


def text_hash(text: str) -> str:
    """Tells later whether a passage still reads as it did."""
    return hashlib.sha256(text.encode()).hexdigest()


def claim_record(claim: Claim) -> dict[str, Any]:
    """A checked sentence, with the place of the words that decided, and of those that did with them."""
    span, beside = claim.check.span, claim.check.beside
    written = {
        "text": claim.text,
        "verdict": claim.check.verdict.value,
        "reasons": list(claim.check.reasons),
        "is_shown": claim.is_shown,
        "citations": list(claim.citations),
        "span": None if span is None else _place(span),
    }
    return written | ({"beside": [_place(evidence_span) for evidence_span in beside]} if beside else {})


def _place(span: EvidenceSpan) -> dict[str, Any]:
    return {"source_id": span.source_id, "start": span.start, "end": span.end}


def digest(document_ids: Iterable[str]) -> str:
    """One hash for a set of document versions."""
    return hashlib.sha256("\n".join(sorted(document_ids)).encode()).hexdigest()


def ranges(numbers_of: Iterable[int]) -> str:
    """Numbers as a short text.

    >>> ranges([1, 2, 3, 7, 9, 10])
    '1-3,7,9-10'
    """
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers_of):
        if runs and runs[-1][1] + 1 == number:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def numbers_of(text: str) -> frozenset[int]:
    """The numbers of such a text.

    >>> sorted(numbers_of("1-3,7")), sorted(numbers_of(""))
    ([1, 2, 3, 7], [])
    """
    numbers: set[int] = set()
    for run in filter(None, text.split(",")):
        first, _, last = run.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return frozenset(numbers)


class Documents(Protocol):
    """Opens documents."""

    def entry(self, document_id: str, scope: Scope) -> LibraryEntry: ...

    def opened(self, document_id: str, scope: Scope) -> tuple[LibraryEntry, Document, tuple[Chunk, ...]]: ...


# ----------------------------------------------------------------------------------------------------- erased documents


ERASED = "(words of a document that was erased)"
"""What stands in the place of words that are gone."""

ERASED_PERSON = "(about a person whose data was erased)"
"""What stands in the place of a question about such a person."""

MIN_CHARACTERS = 12
"""Shorter words are no quote: to take them out everywhere would break other sentences."""

KEPT = frozenset(("question", "query", "scope", "asker", "setup", "library", "id", "document", "section", "erased"))
"""Parts of a record that hold no words of a document's text: the question, and what it stands for, is the asker's."""

Fingerprint = Callable[[str], str]


def is_about(words: Mapping[str, Any], person: str) -> bool:
    """Whether a record is of a question about a person, or of an assessment of this patient.

    >>> is_about({"scope": {"subject": "maria"}}, "maria"), is_about({"assessment": {"patient": {"id": "7"}}}, "maria")
    (True, False)
    """
    patient = (words.get("assessment") or {}).get("patient") or {}
    return person in ((words.get("scope") or {}).get("subject"), patient.get("id"))


def without_person(words: Mapping[str, Any], *, fingerprint: Fingerprint) -> dict[str, Any]:
    """The record of a question without anything that was said in it; a fingerprint of the whole stays.

    >>> words = {"question": "Can maria take it?", "scope": {"tenant": "t", "subject": "maria"}, "claims": ["Yes."]}
    >>> without_person(words, fingerprint=len)["question"]
    '(about a person whose data was erased)'
    """
    whole = json.dumps(words, sort_keys=True)
    emptied: dict[str, Any] = {"question": ERASED_PERSON, "history": [], "evidence": [], "claims": [], "answer": None}
    kept = {name: part for name, part in words.items() if name in (*emptied, "ended", "asker", "library", "setup")}
    scope = {**words.get("scope", {}), "subject": None}
    erased = [*words.get("erased", ()), {"fingerprint": fingerprint(whole)}]
    return {**kept, **emptied, "scope": scope, "erased": erased}


def quoted_words(words: Mapping[str, Any], document_ids: Collection[str]) -> dict[str, str]:
    """All words of a record that rest on these documents, each with the document; the longest first."""
    quotes: dict[str, str] = {}
    _gather(words, document_ids, quotes)
    rests = [item["document_id"] for item in words.get("evidence", ()) if item["document_id"] in document_ids]
    for claim in words.get("claims", ()):
        span = claim.get("span")
        places = (span, *claim.get("beside", ())) if span else ()
        named = [place["source_id"].rpartition(":")[0] for place in places] or rests[:1]
        document_id = next((name for name in named if name in document_ids), None)
        if document_id is not None:
            quotes[claim["text"]] = document_id
    return {text: quotes[text] for text in sorted(quotes, key=len, reverse=True) if len(text) >= MIN_CHARACTERS}


def _gather(part: Any, document_ids: Collection[str], quotes: dict[str, str]) -> None:
    """The quotes of citations, wherever in a record they stand."""
    if isinstance(part, Mapping):
        document_id = part.get("document_id")
        if document_id in document_ids and isinstance(part.get("quote"), str):
            quotes[part["quote"]] = str(document_id)
        for inner in part.values():
            _gather(inner, document_ids, quotes)
    elif isinstance(part, list | tuple):
        for inner in part:
            _gather(inner, document_ids, quotes)


def without_words(
    words: Mapping[str, Any], gone: Mapping[str, str], *, fingerprint: Fingerprint, document_ids: Collection[str] = ()
) -> dict[str, Any] | None:
    """The record without these words, saying what was erased; None where it holds none of them.

    A fingerprint of each stays, so that whoever still has the document can show that it was said. A draft that was
    written from one of the documents goes as a whole.

    >>> words = {"question": "Dose?", "claims": [{"text": "Give 5 mg of iron.", "reasons": []}], "history": []}
    >>> without_words(words, {"Give 5 mg of iron.": "d1"}, fingerprint=len)["claims"][0]["text"]
    '(words of a document that was erased)'
    >>> without_words(words, {"Give 7 mg of iron.": "d1"}, fingerprint=len) is None
    True
    """
    taken: dict[str, str] = {}
    cleaned: dict[str, Any] = {
        name: part if name in KEPT else _cleaned(part, gone, taken) for name, part in words.items()
    }
    if (draft := _draft_of(words, document_ids)) is not None:
        cleaned["answer"] = {**cleaned["answer"], "raw_text": ERASED}
        taken[words["answer"]["raw_text"]] = draft
    if not taken:
        return None
    before = list(words.get("erased", ()))
    erased = [{"document_id": document_id, "fingerprint": fingerprint(text)} for text, document_id in taken.items()]
    return {**cleaned, "erased": [*before, *erased]}


def _draft_of(words: Mapping[str, Any], document_ids: Collection[str]) -> str | None:
    """The document that a kept draft was written from; its words have marks between them, so that no quote is found."""
    if (words.get("answer") or {}).get("raw_text") in (None, "", ERASED):
        return None
    return next(
        (item["document_id"] for item in words.get("evidence", ()) if item["document_id"] in document_ids), None
    )


def _cleaned(part: Any, gone: Mapping[str, str], taken: dict[str, str]) -> Any:
    if isinstance(part, str):
        return cleaned_text(part, gone, taken)
    if isinstance(part, Mapping):
        return {name: inner if name in KEPT else _cleaned(inner, gone, taken) for name, inner in part.items()}
    if isinstance(part, list | tuple):
        return [_cleaned(inner, gone, taken) for inner in part]
    return part


def cleaned_text(text: str, gone: Mapping[str, str], taken: dict[str, str]) -> str:
    """A text without these words; notes which of them it held."""
    for words, document_id in gone.items():
        if words in text:
            taken[words] = document_id
            text = text.replace(words, ERASED)
    return text
