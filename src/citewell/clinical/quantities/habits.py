"""Amounts of a life: smoking, alcohol, weight lost or gained."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.clinical.quantities.period_marks import NUMBER_WORD, number
from citewell.clinical.quantities.units import FLAT


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
