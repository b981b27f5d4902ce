"""How far a record agrees with itself on what an answer shows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from citewell.assistants.records.alerts import amounts_of, names_of
from citewell.assistants.records.confidence import agreement
from citewell.clinical.medicines import substances
from citewell.types.facts import Allergy, Fact, LabResult, Medication, MedicationStatus


def agree(shown: Iterable[Fact], known: Sequence[Fact]) -> float:
    """The least agreement about any one thing that is shown: a dose, a result, whether an allergy holds.

    >>> from citewell.types.facts import REPORTED
    >>> doses = [Medication(id=one, origin=REPORTED, generic_name="Warfarin", dose=one) for one in ("5 mg", "3 mg")]
    >>> agree(doses[:1], doses), agree(doses[:1], doses[:1])
    (0.5, 1.0)
    """
    wanted = {thing for fact in shown if (thing := _thing(fact)) is not None}
    values: dict[Hashable, list[str]] = {}
    for fact in known:
        if (thing := _thing(fact)) in wanted and thing is not None:
            values.setdefault(thing, []).append(_value(fact))
    return min((agreement(value) for value in values.values()), default=1.0)


def _thing(fact: Fact) -> Hashable | None:
    """What two entries must have in common to be able to differ."""
    match fact:
        case Medication(status=MedicationStatus.ACTIVE, dose=str()):
            return "dose", substances(*names_of(fact))
        case LabResult(value=float() | int(), collected=collected) if collected is not None:
            return "result", fact.test_name.casefold(), fact.unit, collected.text
        case Allergy():
            return "allergy", substances(fact.allergen)
    return None


def _value(fact: Fact) -> str:
    match fact:
        case Medication():
            return str(amounts_of(fact.dose or "") or (fact.dose or "").casefold().split())
        case LabResult():
            return f"{fact.value:g}"
        case Allergy():
            return str(fact.is_active)
    raise AssertionError(fact.kind)
