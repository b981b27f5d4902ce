"""What the pages of a person's record show: facts by kind, what happened when, answers with the notice set apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import groupby
from typing import Any

from citewell.assistants.records.answer_timeline import planned
from citewell.assistants.records.confidence import band
from citewell.assistants.records.known_facts import KnownFacts, is_abnormal, is_unjudged, when
from citewell.assistants.records.paper_mentions import PaperMention, PaperQuote
from citewell.assistants.records.result_limits import beyond_limits
from citewell.types import LibraryEntry
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    LabResult,
    Medication,
    PartialDate,
    Procedure,
    Professional,
    RecordOwner,
    Referral,
    Symptom,
    Vaccination,
)
from citewell.types.facts_line import line_of, shown
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

NO_ALLERGIES = "No allergies are recorded. This does not mean there are none."


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
class FactGroup:
    """Facts of one kind under a heading; words for when there are none."""

    id: str
    title: str
    rows: tuple[FactLine, ...]
    none: str


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
    def papers(self) -> FactGroup:
        """The papers themselves, to be looked at."""
        rows = tuple(
            FactLine("", "Document", library_entry.title, is_verified=True, document_id=library_entry.id, query="")
            for library_entry in self.unread
        )
        return FactGroup("unread", "Documents with no facts taken from them", rows, "")


NOTHING_BESIDE = UnreadPapers()


def fact_groups(facts: Iterable[Fact], beside: UnreadPapers = NOTHING_BESIDE) -> list[FactGroup]:
    """The facts page, allergies first; results have a page of their own."""
    known = KnownFacts(tuple(facts))
    taken = known.taken
    medicines, diagnoses = known.of(Medication), known.of(Diagnosis)
    over = [diagnosis for diagnosis in diagnoses if diagnosis.status is DiagnosisStatus.RESOLVED]
    nothing = "None recorded."
    return [
        _allergies(known.of(Allergy), beside),
        *([beside.papers] if beside.unread else []),
        _group("medicines", "Current medicines", taken, nothing),
        _group(
            "past-medicines", "Past medicines", [medicine for medicine in medicines if medicine not in taken], nothing
        ),
        _group("conditions", "Conditions", [diagnosis for diagnosis in diagnoses if diagnosis not in over], nothing),
        _group("past-conditions", "Past conditions", over, nothing),
        _group("symptoms", "Symptoms", known.of(Symptom), nothing),
        _group("procedures", "Procedures", known.of(Procedure), nothing),
        _group("vaccinations", "Vaccinations", known.of(Vaccination), nothing),
    ]


def _group(name: str, title: str, facts: Sequence[Fact], none: str) -> FactGroup:
    return FactGroup(name, title, tuple(FactLine.of(fact) for fact in facts), none)


def timeline(facts: Iterable[Fact]) -> list[tuple[str, list[tuple[str, FactLine]]]]:
    """What happened, the newest year first: each year with its days and what they brought."""
    dated = [(moment, fact) for fact in facts if (moment := when(fact)) is not None]
    dated.sort(key=lambda pair: (pair[0], pair[1].id), reverse=True)
    return [
        (str(year), [(_day(fact, moment), FactLine.of(fact)) for moment, fact in of_year])
        for year, of_year in groupby(dated, key=lambda pair: pair[0].year)
    ]


def _day(fact: Fact, moment: datetime) -> str:
    """The day of a fact, no more exact than it is known."""
    told = (getattr(fact, field.name) for field in fields(fact))
    return next(shown(date) for date in told if isinstance(date, PartialDate) and date.at == moment)


def _allergies(allergies: Sequence[Allergy], beside: UnreadPapers) -> FactGroup:
    rows = (*(FactLine.of(fact) for fact in allergies), *beside.allergy_rows)
    return FactGroup("allergies", "Allergies", rows, NO_ALLERGIES)


def summary_groups(facts: Iterable[Fact], beside: UnreadPapers = NOTHING_BESIDE) -> list[FactGroup]:
    """What a doctor wants to know first, and what is open: all of it, for a page that is printed."""
    known = KnownFacts(tuple(facts))
    newest = known.latest(known.of(LabResult))
    results = list(
        dict.fromkeys([*(lab_result for lab_result in newest if is_abnormal(lab_result)), *beyond_limits(known.facts)])
    )
    found = [
        _allergies([allergy for allergy in known.of(Allergy) if allergy.is_active or allergy.code in NO_KNOWN], beside),
        _group("medicines", "Current medicines", known.taken, "None recorded."),
        _group(
            "conditions",
            "Conditions",
            [diagnosis for diagnosis in known.of(Diagnosis) if diagnosis.status is not DiagnosisStatus.RESOLVED],
            "None recorded.",
        ),
        _group("results", "Latest results out of range or beyond usual limits", results, _no_result(newest)),
        _group("symptoms", "Current symptoms", [symptom for symptom in known.of(Symptom) if symptom.still_active], ""),
        _group("planned", "Planned", planned(known), ""),
        _group("unconfirmed", "To confirm", [fact for fact in known.facts if not fact.is_verified], ""),
        beside.papers,
    ]
    return [group for group in found if group.rows or group.none]


def _no_result(newest: Sequence[LabResult]) -> str:
    """That none is out of range says nothing of those without one."""
    without = sum(map(is_unjudged, newest))
    if not newest:
        return "No results recorded."
    if not without:
        return "None recorded."
    these = f"{without} of {len(newest)} tests have" if without > 1 else "One test has"
    return f"None marked as out of range. {these} no laboratory range, so may still be out of range."


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
