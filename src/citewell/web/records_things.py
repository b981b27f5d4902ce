"""Medicines, conditions, allergies and the like as rows: each thing once, under how it stands, with its source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from citewell.assistants.records.fact_sentences import (
    DONE,
    STOPPED,
    TAKEN,
    UNCLEAR,
    fact_lines,
    group_of,
    medicine_name,
    plain_route,
)
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    FrequencyType,
    Medication,
    MedicationStatus,
    PartialDate,
    Procedure,
    Referral,
    Severity,
    Symptom,
    Vaccination,
)
from citewell.types.facts_line import shown
from citewell.web.records import FactLine, shown_codes

MOST_ENTRIES = 6
"""Entries of one thing that are listed with their sources, newest first."""
ONGOING, GONE = "Ongoing", "Resolved"
GRAVE = frozenset({Severity.SEVERE, Severity.LIFE_THREATENING})


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing of a record: what it is called, how it is taken or when it was, and what else is known."""

    name: str
    how: str
    details: tuple[str, ...]
    source: FactLine
    warning: str = ""
    """What must not be overlooked, such as how bad a reaction was."""
    entries: tuple[tuple[str, FactLine], ...] = ()
    """Where the record has it several times: when, and the line."""
    more: int = 0
    """Entries that are not listed."""
    codes: tuple[str, ...] = ()

    @property
    def is_verified(self) -> bool:
        return self.source.is_verified


@dataclass(frozen=True, slots=True)
class ThingGroup:
    """Things that stand alike; no title where all of them do."""

    title: str
    rows: tuple[Thing, ...]
    count: int = 0
    """How many there are on all pages."""


@dataclass(frozen=True, slots=True)
class ThingKind:
    """A page of things of one kind."""

    slug: str
    title: str
    one: str
    kind: type[Fact]
    none: str
    adds: str = ""
    """The kind of fact that a person can add themselves."""


THING_KINDS = (
    ThingKind(
        "medicines",
        "Medicines",
        "medicine",
        Medication,
        "No medicines recorded. This does not mean you take none.",
        "medication",
    ),
    ThingKind(
        "conditions", "Conditions", "condition", Diagnosis, "No conditions recorded. This does not mean you have none."
    ),
    ThingKind(
        "allergies",
        "Allergies",
        "allergy",
        Allergy,
        "No allergies recorded. This does not mean you have none.",
        "allergy",
    ),
    ThingKind(
        "vaccines",
        "Vaccines",
        "vaccine",
        Vaccination,
        "No vaccines recorded. You may have had some that are not in your documents.",
    ),
    ThingKind(
        "procedures",
        "Procedures",
        "procedure",
        Procedure,
        "No procedures recorded. There may be some that are not in your documents.",
    ),
    ThingKind("symptoms", "Symptoms", "symptom", Symptom, "No symptoms recorded.", "symptom"),
)


def thing_groups(facts: Iterable[Fact]) -> list[ThingGroup]:
    """Facts of one kind as things, under the headings that answers use."""
    groups = _grouped(facts)
    return [
        ThingGroup(title if len(groups) > 1 or title not in ("", DONE) else "", tuple(map(thing, rows)))
        for title, rows in groups.items()
    ]


def taken_now(medicines: Iterable[Medication]) -> tuple[Thing, ...]:
    """The medicines that are taken now, each with its earlier prescriptions; what nobody confirmed stands last."""
    groups = _grouped(medicines)
    unclear = [
        rows
        for rows in groups.get(UNCLEAR, [])
        if isinstance(rows[0], Medication) and rows[0].status is MedicationStatus.ACTIVE
    ]
    return tuple(map(thing, [*groups.get(TAKEN, []), *unclear]))


def _grouped(facts: Iterable[Fact]) -> dict[str, list[list[Fact]]]:
    groups: dict[str, list[list[Fact]]] = {}
    for line in fact_lines(list(facts), now=datetime.now(UTC)):
        groups.setdefault(_group(line.facts[0]), []).append(list(line.facts))
    # Earlier prescriptions of what is taken now are no stopped medicine of their own.
    taken = {_called(rows[0]): rows for rows in groups.get(TAKEN, [])}
    for older in list(groups.get(STOPPED, [])):
        if newer := taken.get(_called(older[0])):
            newer.extend(older)
            groups[STOPPED].remove(older)
    return {title: rows for title, rows in groups.items() if rows}


def _group(fact: Fact) -> str:
    if isinstance(fact, Symptom):
        return ONGOING if fact.still_active else GONE
    return group_of(fact)


def _called(fact: Fact) -> str:
    return medicine_name(fact).casefold() if isinstance(fact, Medication) else fact.id


def thing(facts: Sequence[Fact]) -> Thing:
    """All entries of one thing, newest first, as one row."""
    row = _row(facts)
    if len(facts) == 1:
        return row
    entries = tuple((_dated(fact), FactLine.of(fact)) for fact in facts[:MOST_ENTRIES])
    return replace(row, entries=entries, more=max(len(facts) - MOST_ENTRIES, 0))


def _row(facts: Sequence[Fact]) -> Thing:
    fact, source = facts[0], FactLine.of(facts[0])
    name, how, details, warning = source.text, "", [""], ""
    match fact:
        case Medication():
            name, how, details = medicine_name(fact), _taken(fact), _medicine(fact, facts)
        case Allergy():
            name = fact.allergen
            how = fact.reaction or ("" if fact.code in NO_KNOWN else "reaction not recorded")
            words = fact.severity.replace("_", "-") if fact.severity else ""
            warning, details = (words, []) if fact.severity in GRAVE else ("", [words])
            details.append(_from("since", fact.since))
        case Diagnosis():
            name, how = fact.name, _span(fact.dated, fact.ended, is_over=fact.status is DiagnosisStatus.RESOLVED)
            details = [f"recorded {len(facts)} times" if len(facts) > 1 else "", _by("recorded by", fact.by)]
        case Procedure():
            name, how = fact.name, _days([one.performed for one in facts if isinstance(one, Procedure)])
            details = [_by("for", fact.reason), _by("by", fact.by)]
        case Vaccination():
            name, how = fact.name, _days([one.given for one in facts if isinstance(one, Vaccination)])
        case Symptom():
            name, how = fact.specific, f"{fact.severity} of 5"
            details = [fact.body_region or "", _from("since", fact.onset), _from("noted", fact.recorded)]
        case Appointment() | Referral():
            day = fact.at if isinstance(fact, Appointment) else fact.dated
            name, how = visit_name(fact), shown(day)
            people = [fact.professional, fact.institution] if isinstance(fact, Appointment) else [fact.to, fact.by]
            details = [*(one or "" for one in people), _by("for", fact.reason)]
    return Thing(name, how, tuple(filter(None, details)), source, warning, codes=shown_codes(fact))


def visit_name(fact: Appointment | Referral) -> str:
    """What a visit was, as people call it.

    >>> from citewell.types.facts import REPORTED, VisitStatus
    >>> visit = Appointment(id="1", origin=REPORTED, name="Encounter for check up (procedure)", status=VisitStatus.DONE)
    >>> visit_name(visit)
    'Check up'
    """
    plain = fact.name.removesuffix(" (procedure)").removeprefix("Encounter for ").removesuffix(" encounter")
    return f"{plain[:1].upper()}{plain[1:]}"


def _taken(fact: Medication) -> str:
    """How a medicine is taken."""
    as_needed = fact.frequency_type is FrequencyType.AS_NEEDED and "need" not in (fact.frequency or "")
    how_often = fact.frequency or fact.instructions
    if how_often and fact.dose and how_often.startswith(f"{fact.dose} "):
        how_often = how_often.removeprefix(fact.dose).strip()  # the name tells the dose already
    parts = [how_often, "as needed" if as_needed else None, plain_route(fact.route)]
    return ", ".join(filter(None, [*parts, None if how_often or as_needed else "how often is not recorded"]))


def _medicine(fact: Medication, facts: Sequence[Fact]) -> list[str]:
    """What is known of a medicine besides how it is taken."""
    starts = sorted({one.start for one in facts if isinstance(one, Medication) and one.start}, key=lambda day: day.at)
    is_over = fact.status is MedicationStatus.STOPPED
    return [
        _span(starts[0] if starts else None, fact.end, is_over=is_over) or "start not recorded",
        f"prescribed {len(starts)} times, last {shown(starts[-1])}" if len(starts) > 1 else "",
        _by("for", fact.reason_start or fact.condition),
        _by("stopped because of", fact.reason_stop),
        fact.instructions or "" if fact.frequency else "",
        _by("at most", fact.max_daily_dose),
        *(f"{step.dose} for {step.days} days" for step in fact.taper),
        *(f"{change.dose} from {shown(change.on)}" for change in fact.dose_changes),
        "over the counter" if fact.over_the_counter else "",
        fact.prescriber or "",
    ]


def _days(given: Sequence[PartialDate | None]) -> str:
    """The newest day, and how many there were."""
    days = list(dict.fromkeys(shown(day) for day in given if day is not None))
    if not days:
        return "no date recorded"
    return f"{days[0]}, and {len(days) - 1} earlier" if len(days) > 1 else days[0]


def _dated(fact: Fact) -> str:
    match fact:
        case Medication():
            return _span(fact.start, fact.end, is_over=fact.status is MedicationStatus.STOPPED) or "no date"
        case Diagnosis():
            return _span(fact.dated, fact.ended, is_over=fact.status is DiagnosisStatus.RESOLVED) or "no date"
        case Procedure():
            return shown(fact.performed)
        case Vaccination():
            return shown(fact.given)
        case Allergy():
            return _from("since", fact.since) or "no date"
    return "no date"


def _span(begun: PartialDate | None, ended: PartialDate | None, *, is_over: bool) -> str:
    """From when to when; what is over and has no end does not go on “since” a day."""
    if begun is None:
        return f"until {shown(ended)}" if ended else ""
    if ended is None or ended.at < begun.at:
        return f"from {shown(begun)}, end not recorded" if is_over else f"since {shown(begun)}"
    return shown(begun) if shown(begun) == shown(ended) else f"{shown(begun)} to {shown(ended)}"


def _from(word: str, day: PartialDate | None) -> str:
    return f"{word} {shown(day)}" if day else ""


def _by(word: str, value: str | None) -> str:
    return f"{word} {value}" if value else ""
