"""Doses of medicines, how often they are taken, and amounts of a life: smoking, alcohol, weight lost or gained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from citewell.clinical.quantities.period_marks import NUMBER_WORD, number, periods
from citewell.clinical.quantities.results import ALSO_TAKEN, named_test
from citewell.clinical.quantities.units import FLAT


@dataclass(frozen=True, slots=True)
class Frequency:
    """How often something is taken or done; as needed where no number is given."""

    start: int
    end: int
    text: str
    low_per_day: float | None
    per_day: float | None
    is_as_needed: bool = False
    when: str | None = None
    """“nocte” and “mane”: once, at that time of day."""


_SHORT = re.compile(
    r"\b(?:(?P<d1>[oq]\.?d\.?)|(?P<d2>b\.?i?\.?d\.?)|(?P<d3>t\.?d\.?s\.?|t\.?i\.?d\.?)|(?P<d4>q\.?d\.?s\.?|q\.?i\.?d\.?)"
    r"|(?P<prn>p\.?r\.?n\.?|as (?:needed|required)|when (?:needed|required))"
    r"|(?P<night>nocte|at night|on|noct|at bedtime)"
    r"|(?P<morning>mane|om|in the morning|each morning|every morning)|(?P<stat>stat))(?![\w.])",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"(?:mg|mcg|g|ml|micrograms?|units?|tablets?|tabs?|caps(?:ules)?|puffs?|drops?|dose)\s{0,2}$", re.IGNORECASE
)
"""Before “od” in small letters, and before ON and OM, which are letters of other things too."""


def frequencies(text: str) -> tuple[Frequency, ...]:
    """How often, wherever a text says so.

    >>> [(found.text, found.per_day) for found in frequencies("ramipril 2.5mg OD, codeine every 8 hours")]
    [('OD', 1.0), ('every 8 hours', 3.0)]
    """
    flat = text.translate(FLAT)
    found = [*_short(flat), *_periods(flat)]
    found.sort(key=lambda frequency: (frequency.start, -frequency.end))
    kept: list[Frequency] = []
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(replace(one, text=text[one.start : one.end]))
    return tuple(kept)


def _short(flat: str) -> Iterator[Frequency]:
    for match in _SHORT.finditer(flat):
        word = match.group().casefold()
        is_amount = _BEHIND.search(flat, max(0, match.start() - 20), match.start()) is not None
        if word in ("on", "om") and not (is_amount and match.group().isupper()):
            continue
        if word in ("od", "qd") and not (is_amount or match.group().isupper()):
            continue
        name = str(match.lastgroup)
        times = float(name[1]) if name[1:].isdigit() else None
        when = {"night": "nocte", "morning": "mane"}.get(name)
        per_day = 1.0 if when else times
        yield Frequency(*match.span(), "", per_day, per_day, name == "prn", when)


def _periods(flat: str) -> Iterator[Frequency]:
    for mark in periods(flat):
        yield Frequency(mark.start, mark.end, "", 1 / max(mark.values), 1 / min(mark.values))


@dataclass(frozen=True, slots=True)
class DoseMention:
    """A medicine with an amount of it, and how often."""

    start: int
    end: int
    text: str
    medicine: str
    low: float
    value: float
    unit: str
    frequency: Frequency | None = None


_AMOUNT = r"(?P<low>\d{1,5}(?:[.,]\d{1,3})?)(?:\s?(?:-|–|to)\s?(?P<high>\d{1,5}(?:[.,]\d{1,3})?))?"
_DOSE = re.compile(
    rf"(?<![\w-])(?P<name>[^\W\d_][\w-]{{2,40}})\s(?:(?:MR|SR|XL|EC|LA|tablets?|inhaler|injection|insulin)\s)?(?:at\s|of\s)?{_AMOUNT}\s?"
    r"(?P<unit>mg|mcg|µg|micrograms?|milligrams?|grams?|g|ml|units?|IU|mmol|puffs?|tablets?|tabs?|capsules?|caps|drops?|sachets?|patch(?:es)?)\b"
    r"(?!\s?/\s?(?:[dmµu]?l|m?mol|k?g|min|h)\b|\s?(?:a|per)\s(?:week|wk))",
    re.IGNORECASE,
)
_NO_MEDICINE = frozenset(
    "takes take taking took dose doses about around with and the for from than over under daily only drinks drank plus"
    " now currently increased reduced started given give gave least most maximum total every up to of at on".split()
)


def doses(text: str) -> tuple[DoseMention, ...]:
    """Every medicine that a text names with an amount.

    >>> [(found.medicine, found.value, found.unit) for found in doses("apixaban 5 mg BD, CrCl 29 ml/min")]
    [('apixaban', 5.0, 'mg')]
    """
    flat = text.translate(FLAT)
    often = frequencies(text)
    dose_mentions = []
    for match in _DOSE.finditer(flat):
        test = named_test(match["name"])
        if match["name"].casefold() in _NO_MEDICINE or (test is not None and test.name not in ALSO_TAKEN):
            continue
        low, high = (float(value.replace(",", ".")) for value in (match["low"], match["high"] or match["low"]))
        near = next((frequency for frequency in often if 0 <= frequency.start - match.end() <= 2), None)
        end = near.end if near else match.end()
        name = text[match.start("name") : match.end("name")]
        dose_mentions.append(
            DoseMention(match.start(), end, text[match.start() : end], name, low, high, match["unit"], near)
        )
    return tuple(dose_mentions)


@dataclass(frozen=True, slots=True)
class Habit:
    """An amount of a life: smoking, alcohol, weight lost or gained."""

    start: int
    end: int
    text: str
    what: str
    low: float
    value: float
    unit: str


_COUNT = rf"(?:\d{{1,3}}(?:\.\d{{1,2}})?|{NUMBER_WORD})"
_MANY = rf"(?P<low>{_COUNT})(?:\s?(?:-|–|to|or)\s?(?P<high>{_COUNT}))?"
_HABITS = (
    (
        "smoking",
        "pack years",
        re.compile(rf"\b{_MANY}[\s-]pack[\s-]?years?\b|\b(?P<glued>\d{{1,3}})py\b", re.IGNORECASE),
    ),
    (
        "smoking",
        "per day",
        re.compile(
            rf"\bsmok(?:es|er|ed|ing|e)\b[^.;\d]{{0,20}}?\b{_MANY}\s?(?:cigarettes|cigs|fags|roll[\s-]?ups)?\s?(?:/\s?|a\s|per\s)day\b"
            rf"|\b(?P<low2>{_COUNT})\s?(?:cigarettes|cigs|fags|roll[\s-]?ups)\s?(?:/\s?|a\s|per\s)day\b",
            re.IGNORECASE,
        ),
    ),
    (
        "alcohol",
        "units per {per}",
        re.compile(rf"\b{_MANY}\s?units?\s?(?:/\s?|a\s|per\s|each\s|every\s)(?P<per>week|wk|day)\b", re.IGNORECASE),
    ),
)
_WEIGHT_UNIT = r"(?P<unit>kgs?|kilos?|kilograms?|stones?|st|lbs?|pounds?)"
_WEIGHED = (
    rf"(?:(?P<half>half\sa)\s|(?P<low>{_COUNT}|an?)(?:\s?(?:-|–|to|or)\s?(?P<high>{_COUNT}))?(?P<more>\sand\sa\shalf)?\s?)"
    rf"{_WEIGHT_UNIT}\b(?P<after>\sand\sa\shalf)?"
)
_CHANGES = (
    re.compile(
        r"\b(?:(?P<loss>lost|losing|lose|(?:weight|wt)\sloss(?:\sof)?|loss\sof|(?:weight|wt)\s(?:is\s)?(?:down|dropped|fell|fallen)(?:\sby)?"
        r"|dropped|shed|down(?:\sby)?)|(?P<gain>gained|gaining|put\son|(?:weight|wt)\sgain(?:\sof)?|(?:weight|wt)\s(?:is\s)?up(?:\sby)?))\s?[,:]?\s?"
        rf"(?:(?:about|around|approx|roughly|over|nearly|almost|some|another)\s){{0,2}}{_WEIGHED}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b{_WEIGHED}\s(?:of\s)?(?:(?P<loss>(?:weight|wt)\sloss|lost|lighter|down|off)|(?P<gain>(?:weight|wt)\sgain|gained|heavier))\b",
        re.IGNORECASE,
    ),
)
_WEIGHT_NAMES = {"k": "kg", "s": "stone", "l": "lb", "p": "lb"}


def habits(text: str) -> tuple[Habit, ...]:
    """Smoking, alcohol, and weight lost or gained, with their amounts.

    >>> [(found.what, found.value, found.unit) for found in habits("40 pack years, lost half a stone")]
    [('smoking', 40.0, 'pack years'), ('weight loss', 0.5, 'stone')]
    """
    flat = text.translate(FLAT)
    found = []
    for what, unit, pattern in _HABITS:
        for match in pattern.finditer(flat):
            parts = match.groupdict()
            low = number(parts.get("low") or parts.get("low2") or parts.get("glued") or "0")
            high = number(parts["high"]) if parts.get("high") else low
            per = {"wk": "week"}.get(parts.get("per") or "", parts.get("per") or "")
            start = match.start("low") if parts.get("low") else match.start()
            found.append(
                Habit(start, match.end(), text[start : match.end()], what, low, high, unit.format(per=per.lower()))
            )
    found += [_change(text, match) for pattern in _CHANGES for match in pattern.finditer(flat)]
    return tuple(sorted(found, key=lambda habit: habit.start))


def _change(text: str, match: re.Match[str]) -> Habit:
    more = 0.5 if match["more"] or match["after"] else 0.0
    written = match["low"] or ""
    low = 0.5 if match["half"] else (1.0 if written.casefold() in ("a", "an") else number(written)) + more
    high = number(match["high"]) + more if match["high"] else low
    what = "weight loss" if match["loss"] else "weight gain"
    unit = _WEIGHT_NAMES[match["unit"][0].casefold()]
    return Habit(*match.span(), text[match.start() : match.end()], what, low, high, unit)
