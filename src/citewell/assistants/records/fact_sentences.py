"""Facts as sentences in plain words: each thing once, lists grouped by how things stand, the course of a test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from citewell.assistants.records.known_facts import LONG_AGO, when
from citewell.clinical.quantities import age_told, ages_of_birth
from citewell.types.coded_names import name_of_test
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    Flag,
    LabResult,
    Medication,
    MedicationStatus,
    PartialDate,
    Procedure,
    Professional,
    RecordOwner,
    Referral,
    ResultPart,
    Symptom,
    Vaccination,
    VisitStatus,
)
from citewell.types.facts_line import FLAGS, shown
from citewell.types.facts_line import value_of as single_value
from citewell.types.unit_names import number_name, unit_name

MOST_DATES = 12
"""Dates that one line names; of more, the newest and the first."""


@dataclass(frozen=True, slots=True)
class FactLine:
    """One line of an answer: what it says, under which heading, and the facts that it says it of, newest first."""

    text: str
    facts: tuple[Fact, ...]
    group: str = ""


def fact_lines(facts: Sequence[Fact], *, now: datetime) -> list[FactLine]:
    """The lines for facts, each thing once; headings where things stand differently.

    Facts of a group stand together, in the order in which the first of each was given.
    """
    things: dict[tuple[str, ...], list[Fact]] = {}
    for fact in facts:
        things.setdefault((group_of(fact), *_thing(fact)), []).append(fact)
    active = {medicine_name(one).casefold() for one in facts if _is_taken(one) and isinstance(one, Medication)}
    lines = []
    for (group, *_), same in things.items():
        newest = sorted(same, key=lambda one: when(one) or LONG_AGO, reverse=True)
        lines.append(FactLine(_sentence(newest, now, active), tuple(newest), group))
    order = list(dict.fromkeys(line.group for line in lines))
    if len(order) == 1 and order[0] not in (UNCLEAR,):
        return [FactLine(line.text, line.facts) for line in lines]
    ranks = {group: GROUPS.index(group) if group in GROUPS else 0 for group in order}
    return sorted(lines, key=lambda line: ranks[line.group])


TAKEN, PAUSED, STOPPED, UNCLEAR = "Taking now", "Paused", "Stopped", "Unclear, please confirm"
HAVE, WATCHED, OVER = "Current", "Being monitored", "Resolved"
ALLERGIES, NO_LONGER = "Active", "No longer active"
PLANNED, DONE, CANCELLED = "Planned", "Done", "Cancelled"
GROUPS = ("", TAKEN, PAUSED, STOPPED, HAVE, WATCHED, OVER, ALLERGIES, NO_LONGER, PLANNED, DONE, CANCELLED, UNCLEAR)
"""The headings, in the order in which they stand."""


def group_of(fact: Fact) -> str:
    """The heading that a fact stands under; what nobody has confirmed stands apart."""
    match fact:
        case Medication() | Diagnosis() | Allergy() if not fact.is_verified:
            return UNCLEAR
        case Medication():
            names = {MedicationStatus.ACTIVE: TAKEN, MedicationStatus.PAUSED: PAUSED, MedicationStatus.STOPPED: STOPPED}
            return names[fact.status]
        case Diagnosis():
            states = {DiagnosisStatus.ACTIVE: HAVE, DiagnosisStatus.MONITORING: WATCHED, DiagnosisStatus.RESOLVED: OVER}
            return states[fact.status]
        case Allergy():
            return ALLERGIES if fact.is_active or fact.code in NO_KNOWN else NO_LONGER
        case Procedure() | Appointment() | Referral():
            visits = {VisitStatus.PLANNED: PLANNED, VisitStatus.DONE: DONE, VisitStatus.CANCELLED: CANCELLED}
            return visits[fact.status]
    return ""


def _thing(fact: Fact) -> tuple[str, ...]:
    """What tells one thing from another of its kind; results and visits are each their own."""
    name = ""
    match fact:
        case Medication():
            name = medicine_name(fact)
        case Allergy():
            name = fact.allergen
        case Procedure():
            name = f"{fact.name}\n{fact.reason or ''}"
        case Vaccination() | Diagnosis() | Professional():
            name = fact.name
        case LabResult() if (side := _side(fact)) is not None and fact.collected is not None:
            name = f"{side[1]}\n{fact.collected.text}"
    return fact.kind, name.casefold() or fact.id


def _side(fact: LabResult) -> tuple[str, str] | None:
    """Which side of a blood pressure a result of its own is, and what its test is called without the side."""
    found = _SIDE.search(fact.test_name)
    if found is None or fact.value is None or fact.parts:
        return None
    return found.group().casefold(), " ".join(_SIDE.sub("", fact.test_name).casefold().split())


_SIDE = re.compile(r"systolic|diastolic", re.IGNORECASE)


def one_pressure(facts: Sequence[LabResult]) -> LabResult:
    """The two sides of a blood pressure that were taken together, as one result; of any other results the first."""
    sides = {side[0]: fact for fact in facts if (side := _side(fact)) is not None}
    if len(sides) < len(("systolic", "diastolic")):
        return facts[0]
    parts = tuple(
        ResultPart(sides[side].test_name, None, sides[side].value, None, sides[side].unit)
        for side in ("systolic", "diastolic")
    )
    flags = [fact.flag for fact in sides.values() if fact.flag is not None]
    first = sides["systolic"]
    return replace(
        first,
        test_name="Blood pressure",
        value=None,
        parts=parts,
        range_low=None,
        range_high=None,
        flag=flags[0] if len(set(flags)) == 1 else None,
    )


def with_pressures(results: Iterable[LabResult]) -> list[LabResult]:
    """Results in their order, the two sides of a blood pressure that were taken together as one."""
    taken: dict[tuple[str, ...], list[LabResult]] = {}
    for result in results:
        taken.setdefault(_thing(result), []).append(result)
    return [one for same in taken.values() for one in _joined_sides(same)]


def _joined_sides(same: Sequence[LabResult]) -> list[LabResult]:
    """One blood pressure where both sides were taken once; else every result as it is."""
    sides = [side[0] for one in same if (side := _side(one)) is not None]
    return [one_pressure(same)] if sorted(sides) == ["diastolic", "systolic"] else list(same)


def _is_taken(fact: Fact) -> bool:
    return isinstance(fact, Medication) and fact.status is MedicationStatus.ACTIVE


# ----------------------------------------------------------------------------------------------------------- sentences


def _sentence(same: Sequence[Fact], now: datetime, active: Iterable[str]) -> str:
    """All entries of one thing, newest first, as one sentence."""
    fact, said = same[0], ""
    match fact:
        case Medication():
            said = _medication(fact, [one for one in same if isinstance(one, Medication)], active)
        case LabResult():
            said = _result(one_pressure([one for one in same if isinstance(one, LabResult)]))
        case Allergy():
            said = _allergy(fact)
        case Diagnosis():
            said = _diagnosis([one for one in same if isinstance(one, Diagnosis)])
        case Procedure() | Vaccination():
            said = _times([one for one in same if isinstance(one, Procedure | Vaccination)])
        case Appointment() | Referral():
            said = _visit(fact)
        case Symptom():
            said = _symptom(fact)
        case Professional():
            said = f"{fact.name}{_if(', ', _joined([fact.specialty, fact.institution]))}"
        case RecordOwner():
            said = _person(fact, now)
    return said if said.endswith((".", "!", "?")) else f"{said}."


def medicine_name(fact: Medication) -> str:
    """Name and dose, each once.

    >>> from citewell.types.facts import REPORTED
    >>> medicine_name(Medication(id="1", origin=REPORTED, generic_name="Coumadin 2.5 mg", dose="2.5 mg"))
    'Coumadin 2.5 mg'
    """
    brand = fact.brand_name
    name = fact.generic_name + (f" ({brand})" if brand and brand.casefold() not in fact.generic_name.casefold() else "")
    held = "".join(name.casefold().split())
    is_told = fact.dose is None or "".join(fact.dose.casefold().split()) in held
    return name if is_told else f"{name} {fact.dose}"


def _medication(fact: Medication, same: Sequence[Medication], active: Iterable[str]) -> str:
    name = medicine_name(fact)
    how = _joined(
        [
            fact.frequency,
            "as needed" if fact.frequency_type == "as_needed" and "need" not in (fact.frequency or "") else None,
            plain_route(fact.route),
        ]
    )
    reason = _if("for ", fact.reason_start or fact.condition)
    by = _if("prescribed by ", fact.prescriber)
    starts = [one.start for one in same if one.start]
    first = min(starts, key=lambda day: day.at, default=None)
    verb = "first taken" if any(one.over_the_counter for one in same) else "first prescribed"
    begun = f"; {verb} {_on(first)}" if first else ""
    again = f"prescribed {len(same)} times, last {_on(fact.start)}" if len(same) > 1 and fact.start else None
    extra = [
        "over the counter" if fact.over_the_counter else None,
        _if("at most ", fact.max_daily_dose),
        *(f"{step.dose} for {step.days} days" for step in fact.taper),
        *(f"{change.dose} from {shown(change.on)}" for change in fact.dose_changes),
    ]
    told = f"{name}{_if(', ', how)}"
    if not fact.is_verified:
        said = _joined([f"not clear whether you take this now{begun}", reason, by, *extra])
    elif fact.status is MedicationStatus.ACTIVE:
        said = _joined([" ".join(filter(None, ["you take this now", reason])), _since(first), again, by, *extra])
    elif fact.status is MedicationStatus.PAUSED:
        said = _joined([f"paused{begun}", reason, by, *extra])
    else:
        start = None if first is None else f"prescribed {_on(first)}" if not again else f"first {_on(first)}"
        newer = "a newer prescription is taken now" if name.casefold() in active else None
        until = f"{_on(fact.end)}" if fact.end and not again else None
        why = _if("because of ", fact.reason_stop)
        stopped = " ".join(filter(None, ["ended" if newer else "stopped", until, why]))
        stopped += "" if newer else _if("; was taken ", reason)
        said = _joined([stopped, again, start, reason if newer else None, by, newer, *extra])
    return f"{told}: {said}." + _if(" Instructions: ", _instructions(fact), ".")


def _instructions(fact: Medication) -> str | None:
    """What the prescription says, where the line does not say it already."""
    if not fact.instructions:
        return None
    written = " ".join(fact.instructions.split()).rstrip(".")
    return None if written.casefold() in (fact.frequency or "").casefold() else written


def plain_route(route: str | None) -> str | None:
    """How a medicine is taken, as people say it."""
    plain = {"oral": "by mouth", "po": "by mouth", "oral use": "by mouth", "injectable": "by injection"}
    return None if route is None else plain.get(route.casefold(), route)


def _result(fact: LabResult) -> str:
    """A result with its value, its day and how it stands against its range."""
    low, high = (None if one is None else number_name(one) for one in (fact.range_low, fact.range_high))
    band = f"range {low} to {high}" if low and high else _if("range ", low, " or above") or _if("range up to ", high)
    flag = fact.flag and FLAGS[fact.flag]
    if fact.flag is Flag.NORMAL:
        flag, band = f"within {band or 'range'}", ""
    exact = value_of(fact, is_exact=True)
    aside = f"recorded as {exact}" if exact != value_of(fact) else None
    details = _joined([flag, band, aside])
    on = f" {_on(fact.collected)}" if fact.collected else ", no date given"
    at = _if(", at ", fact.facility)
    return f"{name_of_test(fact.test_name)}: {value_of(fact)}{on}{at}{f' ({details})' if details else ''}"


def value_of(fact: LabResult, *, is_exact: bool = False) -> str:
    """The value of a result as people write it; a blood pressure as one thing, in whole numbers unless exact."""
    if (pressure := pressure_of(fact)) is not None:
        upper, lower, unit = pressure
        written = f"{number_name(upper)}/{number_name(lower)}" if is_exact else f"{upper:.0f}/{lower:.0f}"
        return f"{written} {unit or 'mmHg'}"
    if fact.parts:
        return ", ".join(f"{name_of_test(part.test_name)} {single_value(part)}" for part in fact.parts)
    return single_value(fact)


def pressure_of(fact: LabResult) -> tuple[float, float, str] | None:
    """Systolic and diastolic pressure with their unit, where a result has both."""
    parts = {
        side: part
        for side in ("systolic", "diastolic")
        for part in fact.parts
        if side in part.test_name.casefold() and part.value is not None
    }
    if len(parts) < 2 or len(fact.parts) > 2:
        return None
    upper, lower = parts["systolic"], parts["diastolic"]
    assert upper.value is not None
    assert lower.value is not None
    return upper.value, lower.value, unit_name(upper.unit)


def _allergy(fact: Allergy) -> str:
    if fact.code in NO_KNOWN:
        return _joined([fact.allergen, f"recorded {_on(fact.since)}" if fact.since else None])
    severity = fact.severity and fact.severity.replace("_", "-")
    state = None if fact.is_active else "no longer active"
    unsure = None if fact.is_verified else "not confirmed"
    said = _joined([_if("reaction ", fact.reaction), severity, _since(fact.since), state, unsure])
    return f"{fact.allergen}: {said or 'no reaction recorded'}"


def _diagnosis(same: Sequence[Diagnosis]) -> str:
    fact = same[0]
    by = _if("recorded by ", fact.by)
    if len(same) > 1:
        spans = "; ".join(_span(one) for one in same[:MOST_DATES])
        return f"{fact.name}: recorded {len(same)} times ({spans}){_if(', ', by)}"
    if fact.status is DiagnosisStatus.RESOLVED:
        state = "resolved"
    elif fact.status is DiagnosisStatus.MONITORING:
        state = "being monitored"
    else:
        state = "active" if fact.is_verified else "not clear whether you have this now"
    span = _span(fact)
    if state != "active" and fact.dated and not fact.ended:  # “over, since 2012” would say when it ended
        state, span = f"{state}; recorded from {shown(fact.dated)}", ""
    return f"{fact.name}: {_joined([state, span, by])}"


def _span(fact: Diagnosis) -> str:
    if fact.dated and fact.ended:
        return f"from {shown(fact.dated)} to {shown(fact.ended)}"
    return f"until {shown(fact.ended)}" if fact.ended else _since(fact.dated) or "no date given"


def _times(same: Sequence[Procedure | Vaccination]) -> str:
    """What was done or given, and every day of it."""
    fact, on = same[0], [_on(day) for one in same if (day := _day(one)) is not None]
    days = [day.partition(" ")[2] for day in on]
    if isinstance(fact, Procedure):
        verb = {VisitStatus.PLANNED: "planned", VisitStatus.CANCELLED: "cancelled"}.get(fact.status, "done")
        by = sorted({one.by for one in same if isinstance(one, Procedure) and one.by})
        rest = [_if("for ", fact.reason), _if("by ", by[0] if len(by) == 1 else None)]
    else:
        verb, rest = "given", []
    if len(same) == 1:
        at = f"for {days[0]}" if days and verb == "planned" else on[0] if on else ""
        return f"{fact.name}: {_joined([f'{verb} {at}' if at else 'no date given', *rest])}"
    shown_days = days if len(days) <= MOST_DATES else [*days[: MOST_DATES - 1], f"and first {on[-1]}"]
    told = f" ({', '.join(shown_days)})" if days else ""
    return f"{fact.name}: {_joined([f'{verb} {len(same)} times{told}', *rest])}"


def _day(fact: Procedure | Vaccination) -> PartialDate | None:
    return fact.performed if isinstance(fact, Procedure) else fact.given


def _visit(fact: Appointment | Referral) -> str:
    day = fact.at if isinstance(fact, Appointment) else fact.dated
    state = {VisitStatus.PLANNED: "planned", VisitStatus.CANCELLED: "cancelled"}.get(fact.status)
    if isinstance(fact, Appointment):
        people = [_if("with ", fact.professional), _if("at ", fact.institution)]
        name = fact.name.removeprefix("Encounter for ").removesuffix(" (procedure)")
    else:
        people, name = [_if("to ", fact.to), _if("by ", fact.by)], fact.name
    days = shown(day) if day else "no date given"
    if isinstance(fact, Appointment) and day and fact.ended and fact.ended.day > day.day:
        days = f"{days} to {shown(fact.ended)}"
    return f"{name[:1].upper()}{name[1:]}: {_joined([state, days, *people, _if('for ', fact.reason)])}"


def _symptom(fact: Symptom) -> str:
    state = "ongoing" if fact.still_active else f"resolved {_on(fact.resolved)}" if fact.resolved else "resolved"
    severity, recorded = f"severity {fact.severity} out of 5", f"recorded {_on(fact.recorded)}"
    parts = [severity, fact.body_region, _since(fact.onset), recorded, state]
    return f"{fact.specific}: {_joined(parts)}"


def _person(fact: RecordOwner, now: datetime) -> str:
    age = None
    if fact.born and not fact.died and len(fact.born.text) > len("2000"):
        with suppress(ValueError):
            age = f"{age_told(ages_of_birth(fact.born.text, now.date()))} years old now"
    died = f"died {shown(fact.died)}" if fact.died else None
    who = _joined([fact.name, f"born {shown(fact.born)}" if fact.born else None, age, died, fact.sex])
    details = "; ".join(f"{detail.label}: {detail.value}" for detail in fact.details)
    return f"{fact.name}: {details}" if details else who


def _on(moment: PartialDate | None) -> str:
    """A day as a part of a sentence, as exactly as it is known.

    >>> _on(PartialDate("2015")), _on(PartialDate("2015-03-12"))
    ('in 2015', 'on 12 March 2015')
    """
    is_day = moment is not None and len(moment.text) > len("2015-03")
    return f"{'on' if is_day else 'in'} {shown(moment)}"


def _since(moment: PartialDate | None) -> str | None:
    return f"since {shown(moment)}" if moment else None


def _if(word: str, value: str | None, end: str = "") -> str:
    return f"{word}{value}{end}" if value else ""


def _joined(parts: Iterable[str | None]) -> str:
    return ", ".join(part for part in parts if part)


# ----------------------------------------------------------------------------------------------------- course of a test


def course_sentence(results: Sequence[LabResult]) -> str:
    """How one test went: from the first to the latest value, between which values, and how many results there are.

    Oldest first. Empty where values cannot be compared.
    """
    pairs = _pressures(results)
    if len(pairs) > 1:
        upper, lower = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        sides = (
            f"Upper (systolic) value {_course(upper, is_whole=True)}; "
            f"lower (diastolic) value {_course(lower, is_whole=True)}"
        )
        unit, begun, ended = pairs[0][2] or "mmHg", pairs[0][3], pairs[-1][3]
        return f"Blood pressure: {len(pairs)} results. {sides}. In {unit}, from {begun} to {ended}."
    counted = [one for one in results if one.value is not None and one.collected is not None]
    units = {unit_name(one.unit) for one in counted}
    if len(counted) < 2 or len(units) > 1:
        return ""
    unit = units.pop()
    values = [one.value or 0.0 for one in counted]
    of = f" ({unit})" if unit else ""
    first, last = shown(counted[0].collected), shown(counted[-1].collected)
    name = name_of_test(counted[-1].test_name)
    return f"{name}{of}: {len(counted)} results, {_course(values)}. From {first} to {last}."


def _course(values: Sequence[float], *, is_whole: bool = False) -> str:
    """The direction between first and latest, and the range of all.

    >>> _course([90.29, 88.0, 91.47]), _course([5.0, 5.0])
    ('up from 90.29 to 91.47, lowest 88, highest 91.47', '5 at both first and latest, lowest 5, highest 5')
    """
    told = (values[0], values[-1], min(values), max(values))
    first, last, low, high = (f"{one:.0f}" if is_whole else number_name(one) for one in told)
    if first == last:
        way = f"{first} at both first and latest"
    else:
        way = f"{'up' if values[-1] > values[0] else 'down'} from {first} to {last}"
    return f"{way}, lowest {low}, highest {high}"


def _pressures(results: Sequence[LabResult]) -> list[tuple[float, float, str, str]]:
    """Blood pressures of a course with their unit and day, whether each stands in one result or in two."""
    days: dict[str, list[LabResult]] = {}
    for one in results:
        if one.collected is not None:
            days.setdefault(one.id if one.parts else one.collected.text, []).append(one)
    merged = [one_pressure(same) for same in days.values()]
    return [(*found, shown(one.collected)) for one in merged if (found := pressure_of(one)) is not None]
