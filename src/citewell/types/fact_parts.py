"""What a fact is made of where one value is not enough: steps of a dose, substances, values of a panel."""

from __future__ import annotations

from dataclasses import dataclass

from citewell.types.fact_values import PartialDate


@dataclass(frozen=True, slots=True)
class DoseChange:
    """Another dose from a day on."""

    dose: str
    on: PartialDate | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TaperStep:
    """One step of a dose that is taken down."""

    dose: str
    days: int


@dataclass(frozen=True, slots=True)
class Ingredient:
    """One substance of a medicine."""

    name: str
    strength: str | None = None


@dataclass(frozen=True, slots=True)
class ResultPart:
    """One value of a result that has several, such as a blood pressure."""

    test_name: str
    code: str | None = None
    value: float | None = None
    value_text: str | None = None
    unit: str | None = None
