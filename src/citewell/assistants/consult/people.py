"""Reads who the patient is: age, sex, pregnancy, each with its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citewell.clinical.quantities import NUMBER_WORD, Duration, ages, durations

_COUNT = rf"(?P<count>\d{{1,3}}|{NUMBER_WORD})"
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
    r"\b(?:(?P<trimester>first|second|third|1st|2nd|3rd)\s+trimester(?:\s+of\s+pregnancy)?|pregnant"
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
    words = f"{match['count']} {match['unit'] or 'years'} old"
    years = next(iter(ages(words))).years
    if years >= ADULT_YEARS:
        return
    is_years = not match["unit"] or match["unit"].lower().startswith("y")
    told = None if is_years else f"{match['count']} {match['unit']} = {years:.2f} years"
    yield Trait(match.start("count"), match.end(), "age", years, "years", told)
    if sex := _SEX_OF.get(match["child"].lower()):
        yield Trait(*match.span("child"), "sex", told=sex)


def _ages(sentence: str) -> Iterator[Trait]:
    """The first age that is the patient's, and the sex that stands with it."""
    age = next((one for one in ages(sentence) if one.of == "patient" and not one.problem), None)
    if age is not None:
        told = None if age.unit == "year" else f"{age.text.strip()} = {age.years:.2f} years"
        yield Trait(age.start, age.end, "age", age.years, "years", told)
        letter = re.search(r"(?<![^\W\d_])[MFmf](?![^\W\d_])", age.text)
        if age.sex and letter:
            start = age.start + letter.start()
            yield Trait(start, start + 1, "sex", told=age.sex)


def _sexes(sentence: str) -> Iterator[Trait]:
    for told, pattern in (("female", _FEMALE), ("male", _MALE)):
        for match in pattern.finditer(sentence):
            if not _OTHERS.search(sentence[: match.start()]):
                yield Trait(*match.span(), "sex", told=told)
                return


def _pregnancies(sentence: str) -> Iterator[Trait]:
    weeks = [one for one in durations(sentence) if one.kind == "gestation" and one.days is not None]
    spans = [match.span() for match in _PREGNANCY.finditer(sentence)]
    spans += [(one.start, one.end) for one in weeks if not any(_near(one, span) for span in spans)]
    for start, end in sorted(spans):
        own = next((one for one in weeks if _near(one, (start, end))), None)
        trimester = _PREGNANCY.match(sentence, start)
        low, high = (start, end) if own is None else (min(start, own.start), max(end, own.end))
        before = sentence[:low]
        if _EARLIER.search(before) and not _NOT.search(before):
            continue
        value = None if own is None or own.days is None else float(own.days // 7)
        if trimester and trimester["trimester"]:
            value = _TRIMESTERS[trimester["trimester"].lower()]
        doubtful = _UNSURE.search(before) is not None
        denied = _NOT.search(before) is not None and not doubtful
        yield Trait(low, high, "pregnant", value, "weeks" if value else None, None, denied, doubtful)


def _near(weeks: Duration, span: tuple[int, int]) -> bool:
    """Whether weeks stand beside the word that tells of a pregnancy."""
    return weeks.start - 8 <= span[1] and span[0] - 8 <= weeks.end


def _feeding(sentence: str) -> Iterator[Trait]:
    for match in _BREAST.finditer(sentence):
        yield Trait(*match.span(), "breastfeeding", is_denied=_NOT.search(sentence[: match.start()]) is not None)
