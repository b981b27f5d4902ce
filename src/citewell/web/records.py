"""What the pages of a person's record show: facts by kind, what happened when, answers with the notice set apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citewell.assistants.records.confidence import band
from citewell.assistants.records.paper_mentions import PaperMention, PaperQuote
from citewell.types import LibraryEntry
from citewell.types.codes import ICD_10_CM
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    Fact,
    LabResult,
    Medication,
    Procedure,
    Professional,
    RecordOwner,
    Referral,
    Symptom,
    Vaccination,
    codes_of,
)
from citewell.types.facts_line import line_of
from citewell.vocabulary.icd10cm import icd10cm_name
from citewell.web.answers import Chip, notice_of, turn
from citewell.web.source_highlights import SourceTarget

KIND_WORDS = {
    Medication.kind: "Medicine",
    Allergy.kind: "Allergy",
    Diagnosis.kind: "Condition",
    LabResult.kind: "Test result",
    Procedure.kind: "Procedure",
    Vaccination.kind: "Vaccination",
    Symptom.kind: "Symptom",
    Appointment.kind: "Visit",
    Referral.kind: "Referral",
    RecordOwner.kind: "Person",
    Professional.kind: "Doctor or nurse",
}
"""What a patient calls each kind of fact."""


def shown_codes(fact: Fact) -> tuple[str, ...]:
    """The codes of a fact as people write them; one of ICD-10-CM with its name."""
    names = (icd10cm_name(code.code) if code.system == ICD_10_CM else None for code in codes_of(fact))
    return tuple(
        f"{code.shown} ({name})" if name else code.shown for code, name in zip(codes_of(fact), names, strict=True)
    )


@dataclass(frozen=True, slots=True)
class FactLine:
    """A fact as a line, with the way to the words it was read from."""

    id: str
    kind: str
    text: str
    is_verified: bool
    document_id: str | None
    query: str

    @classmethod
    def of(cls, fact: Fact) -> FactLine:
        origin = fact.origin
        query = SourceTarget(None, origin.start, origin.end).query if origin.document_id else ""
        return cls(fact.id, KIND_WORDS[fact.kind], line_of(fact), fact.is_verified, origin.document_id, query)

    @classmethod
    def said(cls, quote: PaperQuote) -> FactLine:
        """Words of a paper that are no fact."""
        return cls.place(f"From “{quote.title}”: {quote.text}", quote.place)

    @classmethod
    def place(cls, text: str, at: PaperMention) -> FactLine:
        """A place in a paper, under words of ours."""
        query = SourceTarget(None, at.start, at.end).query
        return cls("", "Document", text, is_verified=True, document_id=at.document_id, query=query)


@dataclass(frozen=True, slots=True)
class UnreadPapers:
    """What stands in papers that no fact was read from: their names, and what they say of allergies."""

    unread: Sequence[LibraryEntry] = ()
    allergies: Sequence[PaperQuote] = ()

    @property
    def allergy_rows(self) -> tuple[FactLine, ...]:
        """Their words on allergies, each with the way to them."""
        return tuple(FactLine.said(allergy) for allergy in self.allergies)

    @property
    def papers(self) -> tuple[FactLine, ...]:
        """The papers themselves, to be looked at."""
        return tuple(
            FactLine("", "Document", library_entry.title, is_verified=True, document_id=library_entry.id, query="")
            for library_entry in self.unread
        )


NOTHING_BESIDE = UnreadPapers()


# ------------------------------------------------------------------------------------------------------------ answers


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A line of an answer and the numbers that open its words."""

    text: str
    verdict: str
    chips: tuple[Chip, ...]


@dataclass(frozen=True, slots=True)
class RecordTurn:
    """A question and what it got; no answer while it waits for one."""

    question: str
    answer: Mapping[str, Any] | None
    notice: str = ""
    """What an emergency needs to be told; it stands first and apart."""
    before: str = ""
    said: tuple[AnswerLine, ...] = ()
    after: str = ""
    sources: tuple[Chip, ...] = ()
    support: str = ""
    """How far it can be trusted, in words; empty where nothing is cited."""
    is_helpful: bool | None = None
    """What the person said of it, if they said anything."""


def record_turn(question: str, answer: Mapping[str, Any] | None, *, is_helpful: bool | None = None) -> RecordTurn:
    """An answer in its JSON shape, ready to be shown."""
    if answer is None:
        return RecordTurn(question, None)
    notes = answer.get("notes", {})
    notice = notice_of(answer)
    before = (notes.get("before", "") if answer["sentences"] else answer["text"]).removeprefix(notice).strip()
    chips = turn(question, answer).chips
    answer_lines = tuple(
        AnswerLine(one["text"], one["verdict"], tuple(chips[n] for n in one["citations"]))
        for one in answer["sentences"]
    )
    after = notes.get("after", "") if answer["sentences"] else ""
    sources = tuple(chips[n] for n in sorted(chips))
    support = band(answer["confidence"]["calibrated"]) if sources else ""
    return RecordTurn(question, answer, notice, before, answer_lines, after, sources, support, is_helpful)
