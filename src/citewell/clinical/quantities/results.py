"""Results of tests in running text: the test, its value in the usual unit with the arithmetic, or what words say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, cast

from citewell.clinical.quantities.units import FLAT, LOOK_BACK, Sign, unit_of_result, unit_pattern
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
        before, after = _listed(values), _listed(usual)
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
def _names() -> tuple[re.Pattern[str], dict[str, Test]]:
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


def _test(written: str) -> Test:
    _, meanings = _names()
    return meanings.get("=" + written) or meanings[_folded(written)]


_OTHER_THING = re.compile(r"\burin\w*|/\s?100\b|\bratio\b|\bdehydrogenase\b|\bMB\b|\bclearance\b|\bgas\b", re.I)
"""Words that make a test another one, unless they are in its name: the potassium of urine is not that of blood."""


@cache
def named_test(name: str) -> Test | None:
    """The test that a record or a guideline calls so; the longest name in it counts.

    >>> named_test("Serum prostate-specific antigen level").name, named_test("fit").name, named_test("cough")
    ('PSA', 'FIT', None)
    """
    pattern, _ = _names()
    matches = [*pattern.finditer(name), *pattern.finditer(name.upper())]
    best = max(matches, key=lambda match: match.end() - match.start(), default=None)
    if best is None:
        return None
    test, other = _test(best.group()), _OTHER_THING.search(name)
    is_own = other is None or any(other.group().casefold() in own for own in (best.group().casefold(), *test.names))
    return test if is_own else None


def named_tests(text: str) -> tuple[tuple[int, int, Test], ...]:
    """Where a text names a test, by any of its names.

    >>> [(start, test.name) for start, _, test in named_tests("If CrCl or the INR is high")]
    [(3, 'creatinine clearance'), (15, 'INR')]
    """
    pattern, _ = _names()
    return tuple((*match.span(), _test(match.group())) for match in pattern.finditer(text))


# ----------------------------------------------------------------------------------------------------------- words


@cache
def _words() -> dict[str, tuple[str, bool]]:
    """What each word says of a result, and whether it does so behind the test alone."""
    return {
        word: (kind.removesuffix(" after"), kind.endswith(" after"))
        for kind, words in rows("result_words.tsv")
        for word in words.split("|")
    }


def _kind(word: str, *, is_before: bool = False) -> str:
    """What a word says of a result; nothing for any other word."""
    known = _words().get(word) or _words().get(word.casefold() if len(word) > 1 else word)
    return "" if known is None or (is_before and known[1]) else known[0]


_OPPOSITE: dict[str, Word] = {"positive": "negative", "negative": "positive", "normal": "abnormal"}
_OPPOSITE |= {"high": "normal", "low": "normal", "abnormal": "normal"}
_NOT = frozenset(("not", "isn't", "isn’t", "wasn't", "wasn’t"))

# ----------------------------------------------------------------------------------------------------------- steps

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d{1,7}(?:[.,]\d{1,3})?)(?!\d|\.\d|,\d)"
_SIGNS: dict[str, Sign] = {
    ">": ">", "over": ">", "above": ">", "more than": ">", "greater than": ">", "<": "<", "below": "<", "under": "<",
    "less than": "<", "at least": ">=", "≥": ">=", ">=": ">=", "≤": "<=", "<=": "<=",
}  # fmt: skip
_STEP = re.compile(
    r"\s{0,12}(?:(?P<sign>[<>]=?|[≤≥]|\b(?:over|above|below|under|(?:more|less|greater) than|at least)\b)\s{0,2}(?=\d)"
    rf"|\b(?:up |down )?from\s(?P<old>{_NUMBER})\sto\b|(?P<number>{_NUMBER})"
    r"|(?P<normal>(?:with)?in (?:the )?(?:normal )?(?:range|limits)\b)|(?P<mark>[:=(~|]|-{1,2}(?=\s)|[–—])"
    r"|(?P<word>\+ve|-ve|[↑↓]|[^\W\d_]+(?:['’][^\W\d_]+)?))",
    re.IGNORECASE,
)
STEPS = 9
"""Words that may stand between a test and its value; each must be one that says nothing else."""
_BEFORE = re.compile(r"(?P<word>\+ve|-ve|[↑↓]|[^\W\d_]+)\s{0,2}(?:\b(?:serum|plasma|blood|an?|the)\s)?$", re.IGNORECASE)
_GOAL = re.compile(r"(?P<word>[^\W\d_]+)\s(?:(?:for|is|of|an?|the|their|his|her|your)\s){0,2}$")


@dataclass(frozen=True, slots=True)
class _ResultParser:
    """What stands behind the name of a test."""

    number: re.Match[str] | None = None
    old: re.Match[str] | None = None
    sign: Sign = "="
    words: Word | None = None
    end: int = 0
    """Where the words end."""
    is_goal: bool = False


def _steps(flat: str, at: int) -> _ResultParser:
    """What stands behind the name of a test, as far as words go that belong to it."""
    made = _ResultParser(end=at)
    is_not = False
    for _ in range(STEPS):
        step = _STEP.match(flat, at)
        if step is None:
            break
        at = step.end()
        word = step["word"] or ""
        kind = "normal" if step["normal"] else _kind(word)
        if step["number"]:
            return replace(made, number=step)
        if step["old"]:
            made = replace(made, old=step)
        elif step["sign"]:
            made = replace(made, sign=_SIGNS[step["sign"].casefold()])
        elif kind == "goal":
            return replace(made, is_goal=True)
        elif kind in _OPPOSITE:
            made = replace(made, words=_OPPOSITE[kind] if is_not else cast(Word, kind), end=at)
        elif word.casefold() in _NOT:
            is_not = True
        elif not step["mark"] and kind != "join":
            break
    return made


# --------------------------------------------------------------------------------------------------------- results


def results(text: str) -> tuple[TestReading, ...]:
    """Every result of a test that a text gives, in order; goals and thresholds are none.

    >>> [(found.test, found.values, found.unit) for found in results("FIT positive at 45 ug Hb/g faeces, BP 168/104")]
    [('FIT', (45.0,), 'µg/g'), ('blood pressure', (168.0, 104.0), 'mmHg')]
    >>> results("Hb 9.8 g/dL")[0].arithmetic, results("PSA 12 with poor stream")[0].note
    ('9.8 g/dL × 10 = 98 g/L', 'No unit was given for PSA 12: µg/L was assumed.')
    >>> [(found.test, found.words) for found in results("FIT negative, CXR clear, raised platelets")]
    [('FIT', 'negative'), ('chest X-ray', 'normal'), ('platelets', 'high')]
    """
    flat = text.translate(FLAT)
    test_readings = [*_named_results(flat), *_unnamed_results(flat)]
    test_readings.sort(key=lambda result: (result.start, -result.end))
    kept: list[TestReading] = []
    for result in test_readings:
        if not kept or result.is_earlier or result.start >= kept[-1].end:
            kept.append(replace(result, text=text[result.start : result.end]))
    return tuple(kept)


def _named_results(flat: str) -> Iterator[TestReading]:
    pattern, _ = _names()
    end = 0
    for match in pattern.finditer(flat):
        if match.start() < end or _JOINED.match(flat, match.end()):
            continue
        test = _test(match.group())
        for result in _of_test(flat, match, test, end):
            end = result.end
            yield result


_JOINED = re.compile(r"/[^\W\d_]")
"""Behind a name in running text: “K/L”, “CT/MRI”, not the result of either."""


def _of_test(flat: str, match: re.Match[str], test: Test, after: int) -> Iterator[TestReading]:
    """The result of a test that is named here, and an older one beside it."""
    start, at = match.span()
    goal = _GOAL.search(flat, max(after, start - LOOK_BACK), start)
    steps = _steps(flat, at)
    if steps.is_goal or (goal is not None and _kind(goal["word"]) == "goal"):
        return
    before = _BEFORE.search(flat, max(after, start - LOOK_BACK), start)
    if before and _OTHER_THING.fullmatch(before["word"]):
        return
    kind = _kind(before["word"], is_before=True) if before else ""
    if before and kind in _OPPOSITE and flat[before.start() - 1 : before.start()] not in ("-", "/"):
        start = before.start()
        steps = replace(steps, words=steps.words or cast(Word, kind))
    if test.is_body and steps.words is not None:
        return
    made = TestReading(start, steps.end, "", test.name, match.group(), sign=steps.sign, words=steps.words)
    valued = _valued(flat, made, steps.number, test) if steps.number and test.lowest else None
    if valued is not None:
        yield valued
        for old in filter(None, (steps.old, _EARLIER.match(flat, valued.end))):
            value = _number(old["old"])
            if test.can_be((value,)):
                low, high = old.span("old")
                older = replace(made, start=low, end=high, values=(value,), written=(value,), words=None)
                yield replace(older, unit=test.unit or None, sign="=", is_earlier=True)
    elif steps.words is not None and len(match.group()) > 1:
        yield made


_EARLIER = re.compile(
    r"[\s,;(]{1,3}(?:(?:was|from|previously|previous|prev|before that|last (?:time|year|month|week))\s{1,2}){1,2}"
    rf"(?:(?:at|of)\s)?(?P<old>{_NUMBER})(?![/%]|\s?(?:days?|weeks?|wks?|months?|years?|yrs?)\b)",
    re.IGNORECASE,
)
_TAKEN = "calcium magnesium phosphate potassium sodium lithium digoxin folate B12 albumin glucose bicarbonate urea"
ALSO_TAKEN = frozenset(("vitamin D", *_TAKEN.split()))
"""Tests of what is also taken as a medicine: an amount without “/” is a dose of it."""
_PAIR = re.compile(r"\s?(?:/|over)\s?(?P<second>\d{2,3})(?!\d|/|\.\d)", re.IGNORECASE)
_RANGE = re.compile(rf"\s?(?:-|–|to)\s?(?P<second>{_NUMBER})(?!/\d)", re.IGNORECASE)
_OUT_OF = re.compile(r"\s?(?:/|out of)\s?\d{1,2}(?![\d/.])")
_TIMES = re.compile(
    r"[\s-]{0,2}(?:days?|d|weeks?|wks?|months?|mths?|years?|yrs?|hours?|hrs?|mins?|minutes?|times|yo|y/o)\b(?!/)",
    re.IGNORECASE,
)
"""After a number these make it none of a test: “PSA 6 months ago”."""
_MARKED = re.compile(r"\s{0,2}(?:\((?P<inside>[^\W\d_]{1,9}|[↑↓])\)|(?P<mark>[HL]\b|[↑↓]))")
_STRANGE = re.compile(r"\s?(?P<unit>[^\W\d_]{1,12}\s?/\s?(?:k?g|[dmµu]?l|m?mol|min|hr?)\b)", re.IGNORECASE)
_STONE = re.compile(
    r"\s?(?:st|stones?)\b(?:\s?(?:and\s)?(?P<pounds>\d{1,2})(?:\s?(?:lbs?|pounds?)\b|(?!\d|/|\.\d|\s?(?:kg|years?|months?|weeks?|days?))))?",
    re.I,
)


@cache
def _unit_text() -> re.Pattern[str]:
    """What may be the unit of a result: a unit, or one over another, with what it was measured in."""
    one = unit_pattern()
    of = r"(?:\s?(?:of\s)?(?:ha?emoglobin|hb|fa?eces|stool)\b)?"
    cells = r"(?:[x×*]\s?)?10\s?(?:\^|\*\*?|e)?\s?(?:9|12|3)\s?/\s?[µu]?l\b|(?:k|giga|thou|tsd\.?)/[µu]?l\b|/nl\b"
    rate = r"(?:/|per |a )min(?:ute)?s?\b|(?:beats|breaths) (?:a|per) minute|bpm\b"
    filtration = r"ml/min(?:ute)?/1\.73(?:\s?m(?:2|\^2)?)?"
    degrees = (
        r"°\s?(?:[cf]\b)?|degrees?(?:\s(?:c(?:elsius|entigrade)?|f(?:ahrenheit)?))?\b|[cf]\b|celsius\b|fahrenheit\b"
    )
    compound = rf"{one}{of}(?:(?:\s?/\s?|\sper\s){one}{of}){{0,2}}"
    return re.compile(
        rf"\s{{0,4}}\|?\s{{0,4}}(?P<unit>{cells}|{filtration}|{rate}|{compound}|{degrees})", re.IGNORECASE
    )


def _valued(flat: str, made: TestReading, number: re.Match[str], test: Test) -> TestReading | None:
    """The result with the value that a number gives it; None where the number is none of this test."""
    end = number.end("number")
    values: tuple[float, ...] = (_number(number["number"]),)
    second = (_PAIR if test.is_pair else _RANGE).match(flat, end)
    if second is not None and (test.is_pair or _number(second["second"]) > values[0]):
        values, end = (*values, _number(second["second"])), second.end()
    elif test.unit == "score" and (of := _OUT_OF.match(flat, end)):
        end = of.end()
    elif re.match(r"/\s?\d", flat[end : end + 3]):
        return None
    if test.name == "weight" and (stone := _STONE.match(flat, end)):
        return _in_stone(made, values[0], stone, test)
    flagged = _MARKED.match(flat, end)
    written = _unit_text().match(flat, flagged.end()) if flagged else None
    if flagged is not None and written is not None and _kind(flagged["inside"] or flagged["mark"]) in _OPPOSITE:
        made = replace(made, words=cast(Word, _kind(flagged["inside"] or flagged["mark"])))
    else:
        written = _unit_text().match(flat, end)
    unit = written["unit"].strip() if written else None
    if test.name == "temperature" and unit:
        unit = "°F" if "f" in unit.casefold() else "°C"
    if unit and len(unit) == 1 and unit.isalpha() and unit_of_result(unit) != unit_of_result(test.unit):
        unit = unit if any(other.written == unit for other in test.others) else None  # “K 4.1 L arm”
    is_dose = unit is not None and "/" not in unit and unit != "%" and test.name in ALSO_TAKEN
    if (
        is_dose
        or _TIMES.match(flat, end)
        or (unit is None and (test.is_pair and len(values) < 2 and not test.can_be(values)))
    ):
        return None
    strange = _STRANGE.match(flat, end) if unit is None else None
    end = written.end() if written and unit else strange.end() if strange else end
    reading = replace(made, end=end, values=values, written=values, unit=test.unit or None, written_unit=unit)
    if strange is not None:
        return replace(reading, written_unit=strange["unit"], values=(), problem=_not_of(strange["unit"], test))
    reading = _converted(reading, test) if unit else _assumed(reading, test)
    if reading.problem and unit is None and len(made.name) <= 2 and not test.is_pair and made.name.casefold() != "hb":
        return None
    marked = _MARKED.match(flat, end)
    mark = _kind(marked["inside"] or marked["mark"]) if marked else ""
    return replace(reading, words=cast(Word, mark), end=marked.end()) if marked and mark in _OPPOSITE else reading


def _converted(reading: TestReading, test: Test) -> TestReading:
    """The result in the usual unit, with the arithmetic; a unit of another dimension is a problem."""
    unit, usual = unit_of_result(reading.written_unit or ""), unit_of_result(test.unit)
    other = next(
        (other_unit for other_unit in test.others if unit is not None and unit_of_result(other_unit.written) == unit),
        None,
    )
    if other is None and unit is not None and usual is not None and unit.dimension == usual.dimension:
        factor = unit.size / usual.size
        if unit.name == usual.name:
            return _checked(reading, test)
        name = reading.written_unit or ""
        name = unit.name if name.isalpha() and len(name) > 3 else name
        other = OtherUnit(name, factor, 0.0, f"× {factor:.6g}" if factor < 1e5 else f"× {factor:.0f}")
    if other is None:
        return replace(reading, values=(), problem=_not_of(reading.written_unit, test))
    values = tuple(_rounded(value * other.factor + other.offset, test) for value in reading.written)
    arithmetic = other.arithmetic(reading.written, values, test.unit)
    return _checked(replace(reading, values=values, arithmetic=arithmetic), test)


def _assumed(reading: TestReading, test: Test) -> TestReading:
    """A value without a unit: in the usual one, or in the only other one that it can be in."""
    if not test.unit or test.unit in ("score", "mmHg", "/min", "%", "kg/m2"):
        return _checked(reading, test)
    if test.can_be(reading.values):
        note = f"No unit was given for {reading.name} {_listed(reading.written)}: {test.unit} was assumed."
        return replace(reading, note=note)
    able = [
        replace(
            reading,
            values=values,
            arithmetic=f"{other.arithmetic(reading.written, values, test.unit)} (no unit given; {only})",
            note=f"No unit was given for {reading.name} {_listed(reading.written)}: {only}.",
        )
        for other in test.others
        for only in [f"only {other.written} is plausible"]
        if test.can_be(
            values := tuple(_rounded(value * other.factor + other.offset, test) for value in reading.written)
        )
    ]
    return able[0] if len(able) == 1 else _checked(reading, test)


def _in_stone(made: TestReading, stone: float, match: re.Match[str], test: Test) -> TestReading:
    pounds = float(match["pounds"] or 0)
    more = f" + {pounds:g} lb × {KG_IN_POUND:.6f}" if pounds else ""
    value = round(stone * KG_IN_STONE + pounds * KG_IN_POUND, 2)
    arithmetic = f"{stone:g} st × {KG_IN_STONE:.6f}{more} = {value:g} kg"
    made = replace(made, end=match.end(), values=(value,), written=(stone,), written_unit="stone", unit="kg")
    return _checked(replace(made, arithmetic=arithmetic), test)


KG_IN_POUND, KG_IN_STONE = 0.45359237, 6.35029318


def _checked(reading: TestReading, test: Test) -> TestReading:
    """A value that nobody has is asked about."""
    if test.can_be(reading.values):
        return reading
    low, high = ("/".join(f"{part:.10g}" for part in limit) for limit in (test.lowest, test.highest))
    unit = "" if test.unit == "score" else f" {test.unit}".rstrip()
    told = "/".join(f"{value:g}" for value in reading.values) if test.is_pair else _listed(reading.values)
    problem = (
        f"A {test.name} of {told}{unit} cannot be right (expected {low} to {high}{unit}). "
        "What is it, and in which unit?"
    )
    return replace(reading, problem=problem)


def _not_of(unit: str | None, test: Test) -> str:
    usual = f", which is given in {test.unit}" if test.unit and test.unit != "score" else ""
    return f"“{unit}” is not a unit of {test.name}{usual}. What is the value, and in which unit?"


def _number(written: str) -> float:
    """A number with a point or a comma before its decimals: “1,250” is a thousand, “38,4” is not."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", written):
        return float(written.replace(",", ""))
    return float(written.replace(",", "."))


def _rounded(value: float, test: Test) -> float:
    """As many figures as the conversion can bear."""
    return float(f"{value:.4g}" if test.is_body or value >= 1000 else f"{value:.3g}")


def _listed(values: tuple[float, ...]) -> str:
    return " to ".join(f"{value:.10g}" for value in values)


# ------------------------------------------------------------------------------------- measurements without a name

_READING = re.compile(
    r"\b(?:readings?|pressures?)\b[^.;\d]{1,60}?(?P<number>[89]\d|1\d\d|2[0-4]\d)(?=\s?/\s?(?:[4-9]\d|1[0-4]\d)(?![\d/]))",
    re.IGNORECASE,
)
_MERCURY = re.compile(r"(?<![\d/.])(?P<number>\d{2,3})(?=\s?/\s?\d{2,3}\s{0,2}mm\s?hg)", re.IGNORECASE)
_FEVER = re.compile(
    r"\b(?:fevers?|temp(?:erature)?s?|pyrexia)\b[^.;]{1,40}?"
    r"\b(?:up to|reach(?:ed|ing)|peak(?:ed|ing) at|as high as|max(?:imum)?(?: of)?)\s{0,2}"
    r"(?P<number>(?:3[5-9]|4[0-3]|9[5-9]|10[0-8])(?:[.,]\d)?)(?!\d)",
    re.IGNORECASE,
)
_BODY = re.compile(
    rf"(?<![\w.,/-])(?P<number>{_NUMBER})(?=\s?-?(?:kgs?|kilos?|kilograms?|kilogrammes?|lbs?|pounds?|st|stones?)\b(?!\s?/))",
    re.IGNORECASE,
)
_NO_BODY = re.compile(
    r"(?:lost|lose|losing|loss|gained?|gaining|put on|per|every|down|up|/|dropped|shed|by|ft|heavier|lighter|lift\w*)"
    r"(?:\s(?:of|about|around|over|nearly|almost|another|some|by|to)){0,2}\s?$",
    re.IGNORECASE,
)


def _unnamed_results(flat: str) -> Iterator[TestReading]:
    """A blood pressure, a fever and a weight that say so by their words or unit: “readings average 152/94”."""
    for pattern, name in ((_READING, "blood pressure"), (_MERCURY, "blood pressure"), (_FEVER, "temperature")):
        for match in pattern.finditer(flat):
            yield from _unnamed(flat, match, known_tests()[name])
    for match in _BODY.finditer(flat):
        if not _NO_BODY.search(flat, max(0, match.start() - LOOK_BACK), match.start()):
            yield from _unnamed(flat, match, known_tests()["weight"])


def _unnamed(flat: str, match: re.Match[str], test: Test) -> Iterator[TestReading]:
    made = TestReading(match.start("number"), match.end(), "", test.name, test.name)
    if (reading := _valued(flat, made, match, test)) is not None:
        yield reading


def in_usual_unit(test: Test, value: float, unit: str | None) -> TestReading:
    """A value that is on record with its test: in the usual unit, with the arithmetic or the problem.

    >>> in_usual_unit(named_test("PSA"), 6.1, "ng/mL").values, in_usual_unit(named_test("Hb"), 98, "mmol/mol").problem
    ((6.1,), '“mmol/mol” is not a unit of haemoglobin, which is given in g/L. What is the value, and in which unit?')
    """
    made = TestReading(0, 0, "", test.name, test.name, (value,), test.unit or None, written=(value,), written_unit=unit)
    return _converted(made, test) if unit and test.unit not in ("", "score") else _assumed(made, test)
