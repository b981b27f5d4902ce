"""The tests, scores and measurements that are known: their names, usual units and plausible values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from citewell.clinical.quantities.units import Sign
from citewell.clinical.tables import rows

Word = Literal["positive", "negative", "normal", "high", "low", "abnormal"]
"""What words say of a result."""


@dataclass(frozen=True, slots=True)
class OtherUnit:
    """A unit other than the usual one of a test: times `factor` plus `offset` it is the usual one."""

    written: str
    factor: float
    offset: float
    formula: str

    def arithmetic(self, values: tuple[float, ...], usual: tuple[float, ...], unit: str) -> str:
        """How the value in the usual unit follows."""
        before, after = listed(values), listed(usual)
        if self.written == "°F":
            return f"({before} °F − 32) ÷ 1.8 = {after} {unit}"
        return f"{before} {self.written}{f' {self.formula}' if self.formula != '× 1' else ''} = {after} {unit}"


@dataclass(frozen=True, slots=True)
class Test:
    """A test, score or measurement: its usual unit, what its value can be, what is surely low or high in adults."""

    __test__ = False

    name: str
    names: tuple[str, ...]
    unit: str
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    others: tuple[OtherUnit, ...]
    low_below: float | None
    high_above: float | None

    @property
    def is_pair(self) -> bool:
        return len(self.lowest) == 2

    @property
    def is_body(self) -> bool:
        """Whether it is what a body weighs or how tall it is: “weight up 5 kg” is no weight."""
        return self.name in ("weight", "height")

    def can_be(self, values: tuple[float, ...]) -> bool:
        """Whether anybody can have such values."""
        limits = zip(self.lowest * 2, self.highest * 2, strict=True)
        return all(low <= value <= high for value, (low, high) in zip(values, limits, strict=False))


@dataclass(frozen=True, slots=True)
class TestReading:
    """A result as a text gives it; with a problem it is asked about and not used."""

    start: int
    end: int
    text: str
    test: str
    """The name in the table of tests."""
    name: str
    """The name in the text."""
    values: tuple[float, ...] = ()
    """In the usual unit: one value, both of a blood pressure, or both ends of a range; none for a result in words."""
    unit: str | None = None
    """The usual unit of the test."""
    sign: Sign = "="
    written: tuple[float, ...] = ()
    written_unit: str | None = None
    words: Word | None = None
    arithmetic: str | None = None
    note: str | None = None
    """What was taken for granted: the unit, where the text gives none."""
    problem: str | None = None
    is_earlier: bool = False
    """An older value: “eGFR 38, was 55”."""

    @property
    def value(self) -> float | None:
        return self.values[0] if self.values else None


@cache
def known_tests() -> dict[str, Test]:
    """The table of tests by name."""
    found = {}
    for name, names, unit, low, high, others, low_below, high_above in rows("tests.tsv"):
        lowest, highest = (tuple(float(part) for part in cell.split("/") if part) for cell in (low, high))
        units = tuple(_other_unit(cell) for cell in others.split("|") if cell)
        limits = [float(cell) if cell else None for cell in (low_below, high_above)]
        found[name] = Test(name, tuple(names.split("|")), unit, lowest, highest, units, *limits)
    return found


def _other_unit(cell: str) -> OtherUnit:
    """A unit of the table with its formula: “mg/dL ÷ 18”, “% × 10.93 − 23.5”, “°F”."""
    written, _, formula = cell.partition(" ")
    if written == "°F":
        return OtherUnit(written, 1 / 1.8, -32 / 1.8, "")
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", formula)]
    factor = 1 / numbers[0] if "÷" in formula else numbers[0]
    return OtherUnit(written, factor, -numbers[1] if len(numbers) > 1 else 0.0, formula)


# ----------------------------------------------------------------------------------------------------------- names


@cache
def names_of_tests() -> tuple[re.Pattern[str], dict[str, Test]]:
    """A pattern for any name of any test, and the test of each name: as written, or folded.

    A stroke may follow a name, for “Hemoglobin A1c/Hemoglobin.total” is one in a record.
    """
    meanings: dict[str, Test] = {}
    exact: list[str] = []
    free: list[str] = []
    for test in known_tests().values():
        for name in test.names:
            (exact if name.startswith("=") else free).append(name.lstrip("="))
            meanings[name if name.startswith("=") else _folded(name)] = test

    def either(names: list[str]) -> str:
        ordered = sorted(names, key=len, reverse=True)
        return "|".join(re.sub(r"(?:\\ |\\-)", r"[\\s-]{1,2}", re.escape(name)) for name in ordered)

    return re.compile(rf"(?<![\w/])(?:(?i:{either(free)})|{either(exact)})(?!\w|-[^\W\d])"), meanings


def _folded(name: str) -> str:
    return re.sub(r"[\s-]+", " ", name.casefold())


def test_of_name(written: str) -> Test:
    """The test of a name that the pattern found."""
    _, meanings = names_of_tests()
    return meanings.get("=" + written) or meanings[_folded(written)]


OTHER_THING = re.compile(
    r"\burin\w*|/\s?100\b|\bratio\b|\bdehydrogenase\b|\bMB\b|\bclearance\b|\bgas\b|\bgastrointestinal\b|\bcsf\b"
    r"|\b(?:spinal|pleural|peritoneal|ascitic|synovial|body) fluid\b|\bdistribution width\b|\bmean volume\b",
    re.I,
)
"""Words that make a test another one, unless they are in its name: the potassium of urine is not that of blood."""


@cache
def named_test(name: str) -> Test | None:
    """The test that a record or a guideline calls so; the longest name in it counts.

    >>> named_test("Serum prostate-specific antigen level").name, named_test("fit").name, named_test("cough")
    ('PSA', 'FIT', None)
    >>> named_test("Hemoglobin.gastrointestinal [Presence] in Stool"), named_test("Glucose in Cerebral spinal fluid")
    (None, None)
    """
    pattern, _ = names_of_tests()
    matches = [*pattern.finditer(name), *pattern.finditer(name.upper())]
    best = max(matches, key=lambda match: match.end() - match.start(), default=None)
    if best is None:
        return None
    test, other = test_of_name(best.group()), OTHER_THING.search(name)
    is_own = other is None or any(other.group().casefold() in own for own in (best.group().casefold(), *test.names))
    return test if is_own else None


def named_tests(text: str) -> tuple[tuple[int, int, Test], ...]:
    """Where a text names a test, by any of its names.

    >>> [(start, test.name) for start, _, test in named_tests("If CrCl or the INR is high")]
    [(3, 'creatinine clearance'), (15, 'INR')]
    """
    pattern, _ = names_of_tests()
    return tuple((*match.span(), test_of_name(match.group())) for match in pattern.finditer(text))


def listed(values: tuple[float, ...]) -> str:
    """Values as a person reads them."""
    return " to ".join(f"{value:.10g}" for value in values)
