"""Reads who the patient is: age, sex, pregnancy, each with its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_UNITS = {"y": 1.0, "m": 1 / 12, "w": 7 / 365.25, "d": 1 / 365.25}
_WORDS = dict(
    zip(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(),
        range(1, 17),
        strict=True,
    )
)
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_WORDS)})"
_AGE = re.compile(
    rf"\b(?:{_COUNT}[\s-]*(?P<unit>y(?:ears?|rs?)?|m(?:onths?|ths?)?|w(?:eeks?|ks?)?|d(?:ays?)?)[\s-]*(?:old"
    rf"|o\b|of\s+age))"
    rf"|\b(?:aged?|age:?|i'?m|i am|turned"
    rf"|age is)\s+(?P<aged>\d{{1,3}})\b(?:\s*(?P<part>months?|weeks?|days?)\b(?!\s+(?:pregnant"
    rf"|gone)))?(?!\s*(?:weeks?|days?|kg|lb|%|°|/|cm|hours?"
    rf"|stone|months? (?:pregnant|gone)|mg|out of))"
    rf"|(?<![\d.,/])\b(?P<short>\d{{1,3}})\s?(?P<sex>[mf])\b|\b(?P<years>\d{{1,3}})\s*y/?o\b"
    rf"|\b(?:woman|man|female|male|lady|gentleman|girl|boy|patient)\s*(?:[,(]|of|aged)\s*(?P<behind>\d{{1,3}})\b"
    rf"(?!\s*(?:weeks?|days?|months?|hours?|kg|lb|%|°|/|cm|mg|stone|out of))"
    rf"|\b(?:he|she)(?:'s| is)\s+(?P<is>\d{{1,3}})(?=\s*(?:[,.;]|$|and\b|with\b|but\b))"
    rf"|^(?P<bare>\d{{1,3}})(?:\s*years?)?\.?$",
    re.IGNORECASE,
)
_CHILD = re.compile(
    r"^\W*(?:(?:um|er|so|well|hi|hello|please|it's|this is)[\s,]+)*(?:my|our)\s+(?:little\s+|youngest\s+|eldest\s+)?"
    r"(?P<child>son|daughter|boy|girl|baby|child|toddler|one)(?:\s+[A-Z][a-z]+)?"
    r"(?:\s+(?:is|has just turned|turned)|'s|,)\s+"
    rf"(?:only\s+|just\s+|nearly\s+|almost\s+|about\s+)?{_COUNT}"
    r"(?:[\s-]*(?P<unit>years?|months?|weeks?|days?)(?:[\s-]*old)?)?(?=\s*[,.;]|\s+(?:and|with|but|who)\b|\s*$)",
    re.IGNORECASE,
)
"""A parent who speaks: “My daughter is 4, she has had ear pain since yesterday.”"""
_SEX_OF = {"son": "male", "boy": "male", "daughter": "female", "girl": "female"}
_FEMALE = re.compile(
    r"\b(?:woman|female|girl|lady|mrs|ms)\b|\bsex:?\s*f\b|^f\.?$|\bI'm (?:her|his) wife\b", re.IGNORECASE
)
_MALE = re.compile(r"\b(?:man|male|boy|gentleman|mr)\b|\bsex:?\s*m\b|^m\.?$", re.IGNORECASE)
_OTHERS = re.compile(r"\b(?:my|his|her|with an?|by an?|the other)\s+$", re.IGNORECASE)
_PREGNANCY = re.compile(
    r"\b(?:(?P<weeks>\d{1,2})\s*(?:\+\s*\d\s*)?(?:weeks?|wks?)\s+(?:pregnant|gestation|into (?:my|her|the) pregnancy)"
    r"|pregnant[,\s]+(?:at\s+)?(?P<later>\d{1,2})\s*(?:weeks?|wks?)"
    r"|gestation(?:al age)?(?: of)?\s+(?P<of>\d{1,2})\s*weeks?"
    r"|(?P<months>\d)\s+months\s+pregnant"
    r"|(?P<trimester>first|second|third|1st|2nd|3rd)\s+trimester(?:\s+of\s+pregnancy)?|pregnant"
    r"|expecting a baby|gravid)\b",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:not sure|might be|may be|could be|don't know|unsure|possibly|if (?:i'm|she's|i am|she is))\b", re.I
)
_NOT = re.compile(
    r"\b(?:not|isn't|no|never been|cannot be|can't be|couldn't be|wasn't|ain't)\b[\w\s']{0,12}$", re.IGNORECASE
)
_EARLIER = re.compile(r"\b(?:last|first|previous|second|when i was|years ago|was)\b[\w\s]{0,15}$", re.IGNORECASE)
_BREAST = re.compile(
    r"\b(?:breast-?\s?feeding|breast-?\s?feeds|lactating|nursing (?:my|her|a) baby)\b",
    re.IGNORECASE,
)
_TRIMESTERS = {"first": 10.0, "1st": 10.0, "second": 20.0, "2nd": 20.0, "third": 32.0, "3rd": 32.0}
"""A week in the middle of each trimester: it decides on a table's trimester, nothing else."""
MAX_AGE = 125
ADULT_YEARS = 18
"""Below this a parent may speak, and “my son” is the patient."""


@dataclass(frozen=True, slots=True)
class Trait:
    """Something that says who the patient is."""

    start: int
    end: int
    name: str
    value: float | None = None
    unit: str | None = None
    told: str | None = None
    is_denied: bool = False
    is_doubtful: bool = False


def find_traits(sentence: str, *, is_adult: bool = False) -> list[Trait]:
    """Age, sex, pregnancy and breastfeeding, as a sentence tells them; a known adult's child is somebody else.

    >>> [(one.name, one.value or one.told) for one in find_traits("28-year-old woman, 9 weeks pregnant")]
    [('age', 28.0), ('sex', 'female'), ('pregnant', 9.0)]
    >>> [(one.name, one.value) for one in find_traits("Mum says he's 6, fever since Monday")]
    [('age', 6.0)]
    """
    flat = sentence.replace("’", "'")
    told = [*_ages(flat), *_sexes(flat), *_pregnancies(flat), *_feeding(flat)]
    known = {one.name for one in told}
    if is_adult:
        return sorted(told, key=lambda one: one.start)
    return sorted([*told, *(one for one in _child(flat) if one.name not in known)], key=lambda one: one.start)


def _child(sentence: str) -> Iterator[Trait]:
    """Age and sex of the child whom a parent speaks of; a grown one is somebody else.

    >>> [(one.name, one.value or one.told) for one in _child("My daughter is 4, ear pain since yesterday")]
    [('age', 4.0), ('sex', 'female')]
    >>> list(_child("My daughter is 40 and has diabetes"))
    []
    """
    match = _CHILD.match(sentence)
    if match is None:
        return
    unit = (match["unit"] or "years")[0].lower()
    years = float(_WORDS.get(match["count"].lower(), 0) or match["count"]) * _UNITS[unit]
    if years >= ADULT_YEARS:
        return
    told = None if unit == "y" else f"{match['count']} {match['unit']} = {years:.2f} years"
    yield Trait(match.start("count"), match.end(), "age", years, "years", told)
    if sex := _SEX_OF.get(match["child"].lower()):
        yield Trait(*match.span("child"), "sex", told=sex)


def _ages(sentence: str) -> Iterator[Trait]:
    for match in _AGE.finditer(sentence):
        if _OTHERS.search(sentence[: match.start()]) or re.match(
            r"\s+(?:son|daughter|brother|sister)", sentence[match.end() :]
        ):
            continue
        if match["count"]:
            unit = match["unit"][0].lower()
            written = float(_WORDS.get(match["count"].lower(), 0) or match["count"])
            years = written * _UNITS[unit]
        else:
            written = float(
                match["aged"] or match["short"] or match["years"] or match["behind"] or match["is"] or match["bare"]
            )
            unit = match["part"][0].lower() if match["part"] else "y"
            years = written * _UNITS[unit]
        if years > MAX_AGE:
            continue
        told = None if unit == "y" else f"{match.group().strip()} = {years:.2f} years"
        yield Trait(*match.span(), "age", years if unit != "y" else written, "years", told)
        if match["sex"]:
            told_sex = "female" if match["sex"].lower() == "f" else "male"
            yield Trait(match.start("sex"), match.end("sex"), "sex", told=told_sex)
        return


def _sexes(sentence: str) -> Iterator[Trait]:
    for told, pattern in (("female", _FEMALE), ("male", _MALE)):
        for match in pattern.finditer(sentence):
            if not _OTHERS.search(sentence[: match.start()]):
                yield Trait(*match.span(), "sex", told=told)
                return


def _pregnancies(sentence: str) -> Iterator[Trait]:
    for match in _PREGNANCY.finditer(sentence):
        before = sentence[: match.start()]
        if _EARLIER.search(before) and not _NOT.search(before):
            continue
        weeks = match["weeks"] or match["later"] or match["of"]
        value = float(weeks) if weeks else None
        if match["trimester"]:
            value = _TRIMESTERS[match["trimester"].lower()]
        if match["months"]:
            value = round(float(match["months"]) * 4.345)
        doubtful = _UNSURE.search(before) is not None
        denied = _NOT.search(before) is not None and not doubtful
        yield Trait(*match.span(), "pregnant", value, "weeks" if value else None, None, denied, doubtful)


def _feeding(sentence: str) -> Iterator[Trait]:
    for match in _BREAST.finditer(sentence):
        yield Trait(*match.span(), "breastfeeding", is_denied=_NOT.search(sentence[: match.start()]) is not None)
