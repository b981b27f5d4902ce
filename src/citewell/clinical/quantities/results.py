"""Results of tests in running text: the test, its value in the usual unit with the arithmetic, or what words say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from citewell.clinical.quantities.convert_units import assumed, converted, in_stone, no_unit_of
from citewell.clinical.quantities.known_tests import (
    OTHER_THING,
    Test,
    TestReading,
    Word,
    known_tests,
    names_of_tests,
    test_of_name,
)
from citewell.clinical.quantities.units import FLAT, LOOK_BACK, Sign, unit_of_result, unit_pattern
from citewell.clinical.tables import rows
from citewell.work import spend

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
_BEFORE = re.compile(
    r"(?P<word>\+ve|-ve|[↑↓]|(?<![^\W\d_])[^\W\d_]+)\s{0,2}(?:\b(?:serum|plasma|blood|an?|the)\s)?$", re.IGNORECASE
)
_GOAL = re.compile(r"(?<![^\W\d_])(?P<word>[^\W\d_]+)\s(?:(?:for|is|of|an?|the|their|his|her|your)\s){0,2}$")


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
    spend()
    flat = text.translate(FLAT)
    test_readings = [*_named_results(flat), *_unnamed_results(flat)]
    test_readings.sort(key=lambda result: (result.start, -result.end))
    kept: list[TestReading] = []
    for result in test_readings:
        if not kept or result.is_earlier or result.start >= kept[-1].end:
            kept.append(replace(result, text=text[result.start : result.end]))
    return tuple(kept)


def _named_results(flat: str) -> Iterator[TestReading]:
    pattern, _ = names_of_tests()
    end = 0
    for match in pattern.finditer(flat):
        if match.start() < end or _JOINED.match(flat, match.end()):
            continue
        test = test_of_name(match.group())
        for result in _of_test(flat, match, test, end):
            end = result.end
            yield result


_JOINED = re.compile(r"/[^\W\d_]")
"""Behind a name in running text: “K/L”, “CT/MRI”, not the result of either."""


def _of_test(flat: str, match: re.Match[str], test: Test, after: int) -> Iterator[TestReading]:
    """The result of a test that is named here, and an older one beside it."""
    spend()
    start, at = match.span()
    goal = _GOAL.search(flat, max(after, start - LOOK_BACK), start)
    steps = _steps(flat, at)
    if steps.is_goal or (goal is not None and _kind(goal["word"]) == "goal"):
        return
    before = _BEFORE.search(flat, max(after, start - LOOK_BACK), start)
    if before and OTHER_THING.fullmatch(before["word"]):
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
        return in_stone(made, values[0], stone, test)
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
        return replace(reading, written_unit=strange["unit"], values=(), problem=no_unit_of(strange["unit"], test))
    reading = converted(reading, test) if unit else assumed(reading, test)
    if reading.problem and unit is None and len(made.name) <= 2 and not test.is_pair and made.name.casefold() != "hb":
        return None
    marked = _MARKED.match(flat, end)
    mark = _kind(marked["inside"] or marked["mark"]) if marked else ""
    return replace(reading, words=cast(Word, mark), end=marked.end()) if marked and mark in _OPPOSITE else reading


def _number(written: str) -> float:
    """A number with a point or a comma before its decimals: “1,250” is a thousand, “38,4” is not."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", written):
        return float(written.replace(",", ""))
    return float(written.replace(",", "."))


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
