"""A fact as one line that a person can read; documents made from bundles are made of these lines."""

from __future__ import annotations

from collections.abc import Iterable

from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Appointment,
    Diagnosis,
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
from citewell.types.unit_names import amount, number_name

FLAGS = {
    Flag.NORMAL: "in range",
    Flag.LOW: "low",
    Flag.HIGH: "high",
    Flag.CRITICAL_LOW: "critically low",
    Flag.CRITICAL_HIGH: "critically high",
}
VISITS = {VisitStatus.PLANNED: "planned", VisitStatus.DONE: "", VisitStatus.CANCELLED: "cancelled"}


def line_of(fact: Fact, *, as_sent: bool = False) -> str:
    """A fact in plain words, the most telling first; units as people write them, or as they were sent."""
    match fact:
        case Medication():
            return _medication(fact)
        case LabResult():
            return _result(fact, as_sent=as_sent)
        case Allergy():
            state = "" if fact.is_active or fact.code in NO_KNOWN else "no longer active"
            severity = fact.severity and fact.severity.replace("_", "-")
            return _named(fact.allergen, [_with("reaction", fact.reaction), severity, _since(fact.since), state])
        case Diagnosis():
            ended = f"until {shown(fact.ended)}" if fact.ended else None
            return f"{fact.name}: {_joined([fact.status, _since(fact.dated), ended, _with('found by', fact.by)])}"
        case Symptom():
            return _symptom(fact)
        case _:
            return _event(fact)


def shown(moment: PartialDate | None) -> str:
    """A date as people write it, no more exact than it is known.

    >>> shown(PartialDate("2015")), shown(PartialDate("2015-03")), shown(PartialDate("2015-03-12T04:46:42+00:00"))
    ('2015', 'March 2015', '12 March 2015')
    """
    if moment is None:
        return "no date"
    at = moment.at
    return {4: f"{at:%Y}", 7: f"{at:%B %Y}"}.get(len(moment.text), f"{at.day} {at:%B %Y}")


def _medication(fact: Medication) -> str:
    name = fact.generic_name + (f" ({fact.brand_name})" if fact.brand_name else "")
    taken = " ".join(part for part in (name, fact.dose) if part)
    paused = {
        MedicationStatus.ACTIVE: "taken now",
        MedicationStatus.STOPPED: "stopped",
        MedicationStatus.PAUSED: "paused",
    }
    parts = [
        paused[fact.status],
        fact.frequency,
        "as needed" if fact.frequency_type == "as_needed" else None,
        fact.route,
        _since(fact.start),
        f"until {shown(fact.end)}" if fact.end else None,
        _with("for", fact.reason_start or fact.condition),
        _with("stopped because of", fact.reason_stop),
        _with("prescribed by", fact.prescriber),
        "over the counter" if fact.over_the_counter else None,
        fact.instructions,
        _with("at most", fact.max_daily_dose),
        *(f"{step.dose} for {step.days} days" for step in fact.taper),
        *(f"{change.dose} from {shown(change.on)}" for change in fact.dose_changes),
    ]
    return f"{taken}: {_joined(parts)}"


def _result(fact: LabResult, *, as_sent: bool) -> str:
    written = _as_sent if as_sent else value_of
    values = [f"{part.test_name} {written(part)}" for part in fact.parts] or [written(fact)]
    low, high = fact.range_low, fact.range_high
    band = None
    if low is not None and high is not None:
        band = f"range {number_name(low)} to {number_name(high)}"
    elif low is not None or high is not None:
        band = f"range from {number_name(low)}" if low is not None else f"range up to {number_name(high or 0.0)}"
    flag = fact.flag and FLAGS[fact.flag]
    facts = [", ".join(values), band, flag, f"on {shown(fact.collected)}" if fact.collected else None]
    return f"{fact.test_name}: {_joined([*facts, _with('at', fact.facility), _with('ordered by', fact.ordered_by)])}"


def value_of(result: LabResult | ResultPart) -> str:
    """One value with its unit, as people write them.

    >>> value_of(ResultPart("Temperature", value=36.6, unit="Cel"))
    '36.6 °C'
    """
    return (result.value_text or "no value") if result.value is None else amount(result.value, result.unit)


def _as_sent(result: LabResult | ResultPart) -> str:
    """One value with its unit as it was sent: the ids of some entries are made of it."""
    if result.value is None:
        return result.value_text or "no value"
    return " ".join(part for part in (f"{round(result.value, 2):g}", result.unit) if part)


def _symptom(fact: Symptom) -> str:
    parts = [
        f"{fact.severity} of 5",
        fact.body_region,
        _since(fact.onset),
        f"noted on {shown(fact.recorded)}",
        "ongoing" if fact.still_active else f"gone {shown(fact.resolved)}" if fact.resolved else "gone",
    ]
    return f"{fact.specific}: {_joined(parts)}"


def _event(fact: Fact) -> str:
    match fact:
        case Procedure():
            parts = [VISITS[fact.status], shown(fact.performed), _with("for", fact.reason), _with("by", fact.by)]
        case Vaccination():
            parts = [shown(fact.given)]
        case Appointment():
            where = [_with("with", fact.professional), _with("at", fact.institution)]
            parts = [VISITS[fact.status], shown(fact.at), *where, _with("for", fact.reason)]
        case Referral():
            people = [_with("to", fact.to), _with("by", fact.by)]
            parts = [VISITS[fact.status], shown(fact.dated), *people, _with("for", fact.reason)]
        case Professional():
            parts = [fact.specialty, fact.institution]
        case RecordOwner():
            died = f"died {shown(fact.died)}" if fact.died else None
            details = [f"{detail.label}: {detail.value}" for detail in fact.details]
            parts = [f"born {shown(fact.born)}" if fact.born else None, died, fact.sex, *details]
        case _:
            raise TypeError(f"{type(fact).__name__} is no kind of fact")
    return _named(fact.name, parts)


def _named(name: str, parts: Iterable[str | None]) -> str:
    words = _joined(parts)
    return f"{name}: {words}" if words else name


def _since(moment: PartialDate | None) -> str | None:
    return f"since {shown(moment)}" if moment else None


def _with(word: str, value: str | None) -> str | None:
    return f"{word} {value}" if value else None


def _joined(parts: Iterable[str | None]) -> str:
    return "; ".join(part for part in parts if part)
