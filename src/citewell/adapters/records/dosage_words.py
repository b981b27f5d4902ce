"""How much of a medicine is taken, in words: the same for every format that it comes in."""

from __future__ import annotations

import re

from citewell.adapters.records.product_names import Product

EVENTS = {
    "HS": "at bedtime",
    "WAKE": "on waking",
    "AC": "before meals",
    "ACM": "before breakfast",
    "ACD": "before lunch",
    "ACV": "before dinner",
    "C": "with meals",
    "CM": "with breakfast",
    "CD": "with lunch",
    "CV": "with dinner",
    "PC": "after meals",
    "PCM": "after breakfast",
    "PCD": "after lunch",
    "PCV": "after dinner",
    "IC": "between meals",
}
"""HL7: the events of a day that a medicine is taken at."""
UNITS = {"[iu]": "units", "iu": "units", "u": "units", "unt": "units", "unit": "units", "ug": "mcg", "tab": "tablet"}
"""Units as people write them, by how systems do."""
COUNTED = re.compile(
    r"\b(tablet|capsule|puff|drop|spray|patch|suppository|lozenge|ampule|vial|teaspoon|tablespoon)", re.IGNORECASE
)
"""What is counted when it is taken."""


def strength_of(product: Product) -> str | None:
    """The strength of a product as a dose; that of a fluid or a cream is a concentration and none."""
    is_of_fluid = any(set("/%") & set(part.strength or "") for part in product.ingredients)
    return None if is_of_fluid else product.dose


def dose_and_count(product: Product, told: str | None, unit: str | None) -> tuple[str | None, str | None]:
    """How much is taken at a time, and how many are where a strength is that of one."""
    strength = strength_of(product)
    amount = f"{told} {plural(unit, told)}" if told and unit else None
    if amount and strength and COUNTED.fullmatch(unit or ""):
        return strength, amount
    return amount or strength, None


def plural(unit: str | None, told: str) -> str:
    """The unit of an amount, of one or of several."""
    unit = unit or ""
    if told == "1":
        return unit.removesuffix("s") if unit in ("units", "puffs", "tablets", "capsules", "drops", "sprays") else unit
    if not COUNTED.fullmatch(unit):
        return unit
    return f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}es" if unit.endswith("ch") else f"{unit}s"
