"""Works out weight-based doses from a cited statement alone, and shows the arithmetic."""

from __future__ import annotations

import re

from citewell.clinical.quantities import quantities
from citewell.types.consult import Patient
from citewell.types.consult_plan import WorkedDose

_UNITS = r"mg|g|mcg|µg|micrograms?|milligrams?|ml|mL|units?|IU|mmol"
_PER_KG = re.compile(
    rf"(?<!\d)(?P<low>\d+(?:\.\d+)?)(?:\s*+(?:-|–|to)\s*+(?P<high>\d+(?:\.\d+)?))?\s*+(?P<unit>{_UNITS})(?:\s*+/|\s++per\s)\s*+"
    r"(?:kg|kilogram)(?:\s*(?:body ?weight|bw))?(?P<per>(?:\s*+/|\s++(?:per|a)\s)\s*+(?:day|dose"
    r"|24 ?h(?:ours)?|hour|h|minute|min)\b)?",
    re.IGNORECASE,
)
_MAXIMUM = re.compile(
    rf"(?:max(?:imum|\.)?|up to|not (?:to )?exceed(?:ing)?"
    rf"|no more than)[^.;\d]{{0,30}}(?P<most>\d[\d,]*(?:\.\d+)?)\s*(?P<unit>{_UNITS})\b(?!\s*(?:/|per)\s*kg)",
    re.IGNORECASE,
)
AMOUNTS = frozenset({"mass", "volume", "amount", "activity"})
GRAMS = {"g": 1.0, "mg": 1e-3, "milligram": 1e-3, "mcg": 1e-6, "µg": 1e-6, "microgram": 1e-6}


def has_dose(statement: str) -> bool:
    """Whether a statement holds an amount of something to give."""
    return any(quantity.dimension.partition("/")[0] in AMOUNTS for quantity in quantities(statement))


def worked_doses(statement: str, patient: Patient) -> tuple[WorkedDose, ...]:
    """Each dose by weight, worked out for this patient, or what is missing to do so.

    >>> worked_doses("Give 10 mg/kg (maximum 500 mg) twice daily.", Patient(weight_kg=16))[0].arithmetic
    '10 mg/kg × 16 kg = 160 mg (the stated maximum is 500 mg)'
    """
    worked_doses = []
    for match in _PER_KG.finditer(statement):
        words = match.group().strip()
        if patient.weight_kg is None:
            worked_doses.append(
                WorkedDose(words, None, "The weight is needed to calculate this dose but is not known.")
            )
            continue
        low = _amount(float(match["low"]) * patient.weight_kg)
        high = _amount(float(match["high"]) * patient.weight_kg) if match["high"] else None
        unit, per = match["unit"], re.sub(r"^\s*(?:/|per|a)\s*", " per ", match["per"] or "")
        told = f"{low:g} to {high:g} {unit}{per}" if high is not None else f"{low:g} {unit}{per}"
        arithmetic = f"{words} × {patient.weight_kg:g} kg = {told}"
        most = _MAXIMUM.search(statement, match.end())
        if most is not None:
            told, arithmetic = _capped(most, (low, high), (unit, told, arithmetic))
        worked_doses.append(WorkedDose(words, told, arithmetic))
    return tuple(worked_doses)


def _capped(most: re.Match[str], amounts: tuple[float, float | None], told: tuple[str, str, str]) -> tuple[str, str]:
    """The dose, at most what the same statement names; where units differ in kind, both are told."""
    unit, amount, arithmetic = told
    limit, limit_unit = float(most["most"].replace(",", "")), most["unit"]
    size, limit_size = GRAMS.get(unit.lower().rstrip("s")), GRAMS.get(limit_unit.lower().rstrip("s"))
    stated = f"{limit:g} {limit_unit}"
    if size is None or limit_size is None:
        comparable = unit.lower() == limit_unit.lower()
        is_over = comparable and max(other for other in amounts if other is not None) > limit
    else:
        is_over = max(one for one in amounts if one is not None) * size > limit * limit_size * (1 + 1e-9)
    if is_over:
        return f"{stated} (the stated maximum)", f"{arithmetic}, above the stated maximum of {stated}"
    return amount, f"{arithmetic} (the stated maximum is {stated})"


def _amount(value: float) -> float:
    """Three figures are what a dose is measured to; more of them would only look exact."""
    return float(f"{value:.4g}")
