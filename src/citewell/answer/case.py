"""Lays out a question that was passed on: what was asked, the passages that were found, the draft that was withheld."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from citewell.answer.record import text_hash
from citewell.answer.withheld import may_open
from citewell.errors import NotFound
from citewell.keeping import Record, Routed
from citewell.types import EVERY, Asker, Chunk, Document, Entry, Scope


class Texts(Protocol):
    """Opens documents."""

    def entry(self, document_id: str, scope: Scope) -> Entry: ...

    def opened(self, document_id: str, scope: Scope) -> tuple[Entry, Document, tuple[Chunk, ...]]: ...


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that an answer would have rested on; without words once its document is gone."""

    source_id: str
    document_id: str
    document: str
    version: int
    page: int | None
    section: str | None
    start: int
    end: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Case:
    """A question that was passed on, as far as one person may see it."""

    routed: Routed
    question: str
    may_answer: bool
    passages: tuple[Passage, ...]
    hidden_passages: int
    """Passages of documents that this person may not see."""
    draft: tuple[Mapping[str, Any], ...]
    """The withheld sentences: who asked has seen them with the answer, and who answers needs them."""
    hidden_sentences: int
    """Sentences that may rest on documents that this person may not see."""
    raw_text: str | None = None
    """The draft as it was written; None where it may rest on such documents, or none was kept."""


def case(routed: Routed, record: Record, asker: Asker, *, may_answer: bool, library: Texts) -> Case:
    """What the person who asked, or who answers, sees of it."""
    words = record.words
    passages, hidden = _passages(words["evidence"], asker, library)
    claims = words["claims"]
    opens = may_open(asker, asked_by=routed.asked_by, owner_id=routed.owner_id)
    seen = {passage.source_id for passage in passages} if opens else set()
    is_whole = opens and not hidden
    draft = [claim for claim in claims if is_whole or (claim["span"] and _rests_on(claim) <= seen)]
    return Case(
        routed=routed,
        question=words["question"],
        may_answer=may_answer,
        passages=tuple(passages),
        hidden_passages=hidden,
        draft=tuple(draft),
        hidden_sentences=len(claims) - len(draft),
        raw_text=(words["answer"] or {}).get("raw_text") if is_whole else None,
    )


def _rests_on(claim: Mapping[str, Any]) -> set[str]:
    """The passages whose words decided on a sentence."""
    return {place["source_id"] for place in (claim["span"], *claim.get("beside", ()))}


def _passages(evidence: Sequence[Mapping[str, Any]], asker: Asker, library: Texts) -> tuple[list[Passage], int]:
    """The passages that this person may see, and how many others there are.

    What is gone is told to an administrator only: to anybody else it looks like what they may not see.
    """
    scope = Scope.owner(asker.tenant) if asker.is_admin else replace(asker.scope, journey=EVERY)
    found = []
    for one in evidence:
        try:
            text: str | None = library.opened(one["document_id"], scope)[1].text[one["start"] : one["end"]]
        except NotFound:
            if not asker.is_admin:
                continue
            text = None
        if text is not None and text_hash(text) != one["hash"]:
            text = None
        place = {name: one[name] for name in ("source_id", "document_id", "document", "version", "page", "section")}
        found.append(Passage(**place, start=one["start"], end=one["end"], text=text))
    return found, len(evidence) - len(found)
