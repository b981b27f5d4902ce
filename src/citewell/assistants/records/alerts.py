"""Finds what somebody should look at: an allergy against a medicine, critical results, doses, doubles, gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import combinations

from citewell.assistants.records.fact_places import is_coded
from citewell.assistants.records.known_facts import KnownFacts
from citewell.assistants.records.paper_mentions import PaperMention, speaks_of
from citewell.assistants.records.paper_values import critical_values
from citewell.assistants.records.result_limits import beyond_limits, gaps
from citewell.clinical.medicines import reacts, substances
from citewell.clinical.quantities import quantities
from citewell.types import Document, LibraryEntry
from citewell.types.facts import Allergy, Fact, LabResult, Medication, MedicationStatus, Severity, fact_id
from citewell.types.facts_line import FLAGS, line_of, shown

ASK = "Ask your doctor or pharmacist about it."


class AlertKind(StrEnum):
    """What an alert is about."""

    CONFLICTING_DOSE = "conflicting_dose"
    DUPLICATE = "duplicate"
    ALLERGY = "allergy"
    CRITICAL_RESULT = "critical_result"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that somebody should look at, and the facts that it rests on."""

    id: str
    """The same for the same facts with the same values, so that a dismissed one stays dismissed."""
    kind: AlertKind
    text: str
    fact_ids: tuple[str, ...]
    quotes: tuple[PaperMention, ...] = ()
    """The words of papers that it rests on, which are no facts."""


def find_alerts(
    facts: Iterable[Fact], *, now: datetime | None = None, papers: Sequence[tuple[LibraryEntry, Document]] = ()
) -> list[Alert]:
    """All alerts, the gravest first: allergies, critical results, doses, doubles, gaps; none is due without a time.

    Of a gap is said which papers name the test, though no result was read from them; a critical value that stands in a
    paper alone is told as what it is.
    """
    known = list(facts)
    taken = [one for one in known if isinstance(one, Medication) and one.status is not MedicationStatus.STOPPED]
    active = [medication for medication in taken if medication.status is MedicationStatus.ACTIVE]
    allergies = [one for one in known if isinstance(one, Allergy) and one.is_active]
    results = [one for one in known if isinstance(one, LabResult)]
    alerts = [*_allergies(allergies, taken), *_critical(results), *_beyond_limits(known), *_doubled(active)]
    alerts += _in_papers(known, papers)
    alerts += [] if now is None else _gaps(active, results, now, papers)
    return sorted(alerts, key=lambda alert: (ORDER.index(alert.kind), alert.id))


ORDER = (
    AlertKind.ALLERGY,
    AlertKind.CRITICAL_RESULT,
    AlertKind.CONFLICTING_DOSE,
    AlertKind.DUPLICATE,
    AlertKind.GAP,
)


def _allergies(allergies: Sequence[Allergy], taken: Sequence[Medication]) -> Iterator[Alert]:
    for allergy in allergies:
        for medication in taken:
            shared = reacts(allergy.allergen, names_of(medication))
            if shared is None:
                continue
            severe = allergy.severity in (Severity.SEVERE, Severity.LIFE_THREATENING)
            about = f" ({allergy.reaction})" if allergy.reaction else ""
            both = "" if shared == "" else f" Both are {shared}."
            text = (
                f"Your record lists {'a severe ' if severe else 'an '}allergy to {allergy.allergen}{about}, and "
                f"{medication.generic_name} among your medicines.{both} {ASK}"
            )
            yield _alert(AlertKind.ALLERGY, text, [allergy, medication])


def _critical(results: Sequence[LabResult]) -> Iterator[Alert]:
    for result in results:
        if result.flag is not None and result.flag.startswith("critical"):
            when = f" of {shown(result.collected)}" if result.collected else ""
            line = line_of(result).partition(": ")[2].partition(";")[0]
            marked = f"Your record marks {result.test_name}{when} as {FLAGS[result.flag]}: {line}."
            text = f"{marked}{_unconfirmed(result)} {ASK}"
            yield _alert(AlertKind.CRITICAL_RESULT, text, [result])


def _beyond_limits(known: Sequence[Fact]) -> Iterator[Alert]:
    """Newest results that no laboratory marked, beyond the limits of our own table."""
    for result in beyond_limits(known):
        when = f" of {shown(result.collected)}" if result.collected else ""
        line = line_of(result).partition(": ")[2].partition(";")[0]
        called = f"Laboratories usually call the doctor about a value such as {result.test_name}{when}: {line}."
        yield _alert(AlertKind.CRITICAL_RESULT, f"{called}{_unconfirmed(result)} {ASK}", [result])


def _unconfirmed(result: LabResult) -> str:
    """That nobody has looked at what was read from a paper; empty where somebody has."""
    return (
        ""
        if result.is_verified
        else (" This was read from a document and is not confirmed yet. Compare it with the document.")
    )


def _in_papers(known: Sequence[Fact], papers: Sequence[tuple[LibraryEntry, Document]]) -> Iterator[Alert]:
    """Critical values that stand in a letter or a picture, and in no fact."""
    read = [paper for paper in papers if not is_coded(paper[0])]
    for critical_value in critical_values(read, KnownFacts(tuple(known))):
        of = f" ({critical_value.dated.day} {critical_value.dated:%B %Y})" if critical_value.dated else ""
        text = (
            f"Your document “{critical_value.entry.title}” says “{critical_value.words}”{of}. "
            "Laboratories usually call the doctor about such a value. It was read from the document automatically and "
            "is not confirmed. Compare it with the "
            f"document. {ASK}"
        )
        kind, value = AlertKind.CRITICAL_RESULT, f"{critical_value.limit.test.name} {critical_value.value}"
        yield Alert(fact_id("alert", kind, critical_value.entry.id, value), kind, text, (), (critical_value.place,))


def _gaps(
    active: Sequence[Medication],
    results: Sequence[LabResult],
    now: datetime,
    papers: Sequence[tuple[LibraryEntry, Document]],
) -> Iterator[Alert]:
    """Medicines of now whose usual test is not among the facts, or not since long ago."""
    for gap in gaps(active, results, now=now):
        spoken = speaks_of(gap.pattern, papers)
        none = f"its facts have no {gap.test}" if spoken else f"it has no {gap.test}"
        last = f"its latest {gap.test} is from {shown(gap.last.collected)}" if gap.last else none
        names = ", ".join(f"“{one.title}”" for one in spoken[:3])
        what = (
            f"It appears in {names}, which has no facts taken from it: look there first."
            if spoken
            else "A result may be missing here, or the test may be due."
        )
        text = f"Your record lists {gap.medication.generic_name} as a current medicine, and {last}. {what} {ASK}"
        yield _alert(AlertKind.GAP, text, [gap.medication, *([gap.last] if gap.last else [])])


def _doubled(taken: Sequence[Medication]) -> Iterator[Alert]:
    """Two entries that are taken now and have a substance in common."""
    for first, second in combinations(sorted(taken, key=lambda medication: medication.id), 2):
        one, other = substances(*names_of(first)), substances(*names_of(second))
        if not one & other:
            continue
        doses = [dose for dose in (first.dose, second.dose) if dose]
        name = first.generic_name
        if one == other and len(doses) == 2 and not _same_dose(*doses):
            text = f"Your record has two current doses of {name}: {doses[0]} and {doses[1]}. {ASK}"
            yield _alert(AlertKind.CONFLICTING_DOSE, text, [first, second])
        elif one == other:
            text = f"Your record lists {name} twice among your current medicines. {ASK}"
            yield _alert(AlertKind.DUPLICATE, text, [first, second])
        else:
            text = f"{name} and {second.generic_name}, both current medicines, have an ingredient in common. {ASK}"
            yield _alert(AlertKind.DUPLICATE, text, [first, second])


def _same_dose(one: str, other: str) -> bool:
    """Whether two doses are the same amount, however they are written.

    >>> _same_dose("0.5 g", "500 mg"), _same_dose("5 mg", "50 mg"), _same_dose("one tablet", "one  Tablet")
    (True, False, True)
    """
    amounts = [amounts_of(dose) for dose in (one, other)]
    return amounts[0] == amounts[1] if all(amounts) else one.casefold().split() == other.casefold().split()


def amounts_of(dose: str) -> list[tuple[object, object]]:
    """The amounts of a dose as they are compared, whatever their unit is."""
    return [(quantity.dimension, quantity.values) for quantity in quantities(dose)]


def names_of(medication: Medication) -> list[str]:
    """Generic name, brand and ingredients."""
    held = [medication.generic_name, medication.brand_name, *(ingredient.name for ingredient in medication.ingredients)]
    return [name for name in held if name]


def _alert(kind: AlertKind, text: str, facts: Sequence[Fact]) -> Alert:
    ids = tuple(fact.id for fact in facts)
    doses = [other.dose or "" for other in facts if isinstance(other, Medication)]
    values = doses if kind is AlertKind.CONFLICTING_DOSE else []
    return Alert(fact_id("alert", kind, *sorted(ids), *sorted(values)), kind, text, ids)
