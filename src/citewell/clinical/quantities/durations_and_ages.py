"""How long, how long ago and how old: durations with what they are told of, ages, and limits of age."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Literal, cast

from citewell.clinical.quantities.period_marks import NUMBER_WORD, number
from citewell.clinical.quantities.units import FLAT, LOOK_BACK, Sign, days_in
from citewell.clinical.tables import rows
from citewell.vocabulary.months import MONTH
from citewell.work import spend

Kind = Literal["lasting", "onset", "ago", "age", "ahead", "course", "interval", "gestation"]
"""Of a time: how long a complaint has lasted, since when, how long ago something was, how old somebody is, when
something will be, how long a treatment is, how often something comes, or how far a pregnancy is."""

OLDEST = 125
"""Years that nobody has passed."""
MONTHS_IN_YEAR = 12
_BIRTH = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T.*)?)?)?")


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time, from `start` to `end` of the text."""

    start: int
    end: int
    text: str
    kind: Kind
    days: float | None
    """The longer end of a range; None where the words give no number, as “since Easter” does."""
    low_days: float | None = None
    sign: Sign = "="
    value: float | None = None
    low: float | None = None
    unit: str = ""

    @property
    def is_of_complaint(self) -> bool:
        return self.kind in ("lasting", "onset")

    @property
    def compared_days(self) -> float | None:
        """The days as a number to compare: a moment more or less where the words say “more than” or “less than”."""
        if self.days is None or self.sign not in (">", "<"):
            return self.days
        return math.nextafter(self.days, math.inf if self.sign == ">" else 0.0)


VAGUE = {
    "a": 1, "an": 1, "couple of": 2, "couple": 2, "few": 3, "several": 4, "half a": 0.5, "half an": 0.5, "half": 0.5,
    "one and a half": 1.5, "a dozen": 12, "dozen": 12,
}  # fmt: skip
"""What a vague count is taken for; the words stay beside it."""
_COUNT = rf"(?:\d{{1,3}}(?:\.\d{{1,2}})?|{NUMBER_WORD}|a dozen|half an?|(?:a )?couple(?: of)?|(?:a )?few|several|an?)"
_UNITS = {
    "minute": r"minutes?|mins?", "hour": r"hours?|hrs?", "day": r"days?|nights?", "week": r"weeks?|wks?",
    "fortnight": r"fortnights?", "month": r"months?|mths?|mnths?", "year": r"years?|yrs?", "decade": r"decades?",
}  # fmt: skip
_UNIT = "|".join(rf"(?P<{name}>{words})" for name, words in _UNITS.items())
_PARTS = {"7": "day", "52": "week", "12": "month"}
"""“3/52”, as clinicians write three weeks; “4/7” is days and “2/12” months."""
_SINCE_DAYS = {
    "yesterday": 1.0, "last night": 1.0, "today": 1.0, "this morning": 1.0, "this afternoon": 1.0, "this evening": 1.0,
    "tonight": 1.0, "last week": 7.0, "the weekend": 7.0, "last month": 30.0, "last year": 365.0,
}  # fmt: skip
_DAY = r"(?:mon|tues?|wednes|wed|thurs?|fri|satur|sat|sun)(?:day)?"
_WHEN = (
    rf"{'|'.join(_SINCE_DAYS)}|(?:last\s)?(?:{_DAY}|spring|summer|autumn|winter)|(?:last\s)?(?:{MONTH})(?:\s(?:19|20)\d\d)?"
    r"|(?:19|20)\d\d|birth|childhood|christmas|easter|new year"
)
_FREE = r"(?<![\w/.+-])"
_TIME = re.compile(
    rf"{_FREE}(?P<count>{_COUNT})(?:\s?(?:-|–|to|or)\s?(?P<high>{_COUNT}))?(?P<plus>\+)?[\s-]{{0,2}}(?:{_UNIT})"
    r"(?:\s(?P<half>and a half))?(?![\w/])"
    rf"|{_FREE}(?P<short>\d{{1,3}})(?:\s?-\s?(?P<short_high>\d{{1,3}}))?/(?P<part>7|52|12)(?![\w/.]\w|\w)"
    rf"|{_FREE}(?P<glued>\d{{1,3}})(?P<letter>[dwy])(?![\w/])"
    r"|\b(?:for|over|past|last|in)\s(?:the\s(?:last|past)\s|(?:many|some)\s)?"
    r"(?P<bare>minutes|hours|days|weeks|months|years|ages)\b"
    r"|\b(?:past|last)\s(?P<single>day|week|fortnight|month|year)\b"
    r"|\b(?P<began>since|from|start(?:ed|ing)|began|begun|came\son)\s(?:about\s|around\s|early\s|late\s|on\s|in\s)?"
    rf"(?P<when>{_WHEN})\b",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"(?:\b(?:more than|longer than|over|at least|greater than|upwards of)|>)\s?(?:about\s|the\s(?:last|past)\s)?$",
    re.I,
)
_OVER_THE = re.compile(
    r"\bover\s(?:about\s)?the\s(?:last|past)\s$"
    r"|\b(?:wors\w+|progress\w*|develop\w*|increas\w*|loss|lost|weight|down|up|gain\w*)\b[^.;]{0,30}\bover\s$",
    re.IGNORECASE,
)
"""“Over” that says during which time, not for how much longer."""
_LESS = re.compile(
    r"(?:\b(?:less than|under|within|up to|nearly|almost|not quite)|<)\s?(?:the\s(?:last|past)\s)?$", re.IGNORECASE
)
_LEAD = re.compile(
    r"\b(?:for|over|since|lasting|past|last|x|within|in|the|about|around|approx|roughly|now|previous|a)\s?$|×\s?$", re.I
)
_AGO = re.compile(r"\s?(?:ago|back|earlier|previously|prior)\b", re.IGNORECASE)
_OLD = re.compile(r"[\s-]{0,2}(?:olds?|of age|y/?o)\b", re.IGNORECASE)
_RATE = re.compile(
    r"(?:\b(?:once|twice|thrice|times|units|cigarettes|cigs|pints|drinks|doses|tablets|puffs|days|nights)|\d|\bx)\s?$",
    re.IGNORECASE,
)
"""Before “a day” or “a week” these make it how often."""
_GESTATION = re.compile(
    r"(?<![\w/.])(?P<weeks>\d{1,2})(?:\s?\+\s?(?P<days>[0-6]))?/40(?![\w/])"
    r"|(?<![\w/.])(?P<plus>\d{1,2})\s?\+\s?(?P<more>[0-6])(?=\s?(?:weeks?|wks?|pregnant|gestation))",
    re.IGNORECASE,
)
_BEGAN = re.compile(
    r"\b(?:start(?:ed|ing)?|beg[aiu]n\w*|notice[ds]?|came (?:on|up)|onset|developed|appeared|first|since)\b"
    r"[^.;,]{0,30}$",
    re.IGNORECASE,
)
_VISION = re.compile(r"\b(?:VA|vision|visual acuity|acuity|snellen)\b|\b6/\d", re.IGNORECASE)
_NEXT_WORD = re.compile(r"[\s-]{0,2}(?:of\s|on\s)?(?:oral\s|high[\s-]dose\s)?(?P<word>[^\W\d_]+)", re.IGNORECASE)
_LAST_WORD = re.compile(r"(?<![^\W\d_])(?P<word>[^\W\d_]+)\s(?:for\s|x\s?|×\s?)?(?:the\s(?:last|past)\s)?$")


@cache
def _told_of() -> tuple[tuple[Kind, bool, re.Pattern[str]], ...]:
    """What words beside a time say it is told of: whether they stand behind it, and the pattern."""
    return tuple(
        (cast(Kind, kind), side == "after", re.compile(words if side == "after" else rf"(?:{words})$", re.IGNORECASE))
        for kind, side, words in rows("times.tsv")
    )


@cache
def _medicines() -> frozenset[str]:
    """The names of medicines and of their classes that are one word."""
    named = (row for row in rows("medicines.tsv") if row[0] != "stem")
    cells = (cell for row in named for cell in (row[1], *"|".join(row[3:]).split("|")))
    return frozenset(cell.casefold() for cell in cells if cell.isalpha())


def durations(text: str) -> tuple[Duration, ...]:
    """Every length of time that a text tells, with what it is told of.

    >>> [(found.kind, found.days) for found in durations("cough 3/52, stopped smoking 3 years ago, 8/52 omeprazole")]
    [('lasting', 21.0), ('ago', 1095.0), ('course', 56.0)]
    >>> [(found.kind, found.low_days, found.days) for found in durations("over the last 2-3 weeks, every 4 hours")]
    [('lasting', 14.0, 21.0), ('interval', 0.16666666666666666, 0.16666666666666666)]
    """
    spend()
    flat = text.translate(FLAT)
    found = [*_gestations(flat), *filter(None, (_duration(flat, match) for match in _TIME.finditer(flat)))]
    found.sort(key=lambda duration: (duration.start, -duration.end))
    kept: list[Duration] = []
    for duration in found:
        if not kept or duration.start >= kept[-1].end:
            kept.append(replace(duration, text=text[duration.start : duration.end]))
    return tuple(kept)


def _gestations(flat: str) -> Iterator[Duration]:
    for match in _GESTATION.finditer(flat):
        weeks = float(match["weeks"] or match["plus"])
        days = 7 * weeks + float(match["days"] or match["more"] or 0)
        yield Duration(*match.span(), "", "gestation", days, days, "=", weeks, weeks, "week")


def _duration(flat: str, match: re.Match[str]) -> Duration | None:
    start, end = match.span()
    before = flat[max(0, start - LOOK_BACK) : start]
    if match["when"]:
        when = " ".join(match["when"].casefold().split())
        is_day = re.fullmatch(rf"(?:last )?{_DAY}", when) is not None
        days = 7.0 if is_day else _SINCE_DAYS.get(when)
        kind: Kind = "lasting" if match["began"].casefold() in ("since", "from") else "onset"
        return Duration(start, end, "", kind, days, days, "<=" if is_day else "=")
    if match["bare"]:
        unit = match["bare"].casefold().rstrip("s").replace("age", "year")
        return Duration(start, end, "", "lasting", days_in(unit), days_in(unit), ">", 1.0, 1.0, unit)
    if match["short"] and (_VISION.search(before[-20:]) or re.search(r"\bon\s?$", before)):
        return None
    low, high, unit = _counted(match)
    size = days_in(unit)
    if match["plus"]:
        sign: Sign = ">="
    elif _MORE.search(before) and not _OVER_THE.search(before):
        sign = ">=" if re.search(r"at least\s?$", before, re.IGNORECASE) else ">"
    else:
        sign = "<" if _LESS.search(before) else "="
    kind = _kind(flat, match, before)
    if kind == "lasting":
        start -= _led(before)
    if kind in ("ago", "onset", "age") and (tail := (_OLD if kind == "age" else _AGO).match(flat, end)):
        end = tail.end()
    return Duration(start, end, "", kind, high * size, low * size, sign, high, low, unit)


def _led(before: str) -> int:
    """Characters before a time that belong to it: “for more than”, “over the last”."""
    rest = before
    while (lead := _MORE.search(rest) or _LESS.search(rest) or _LEAD.search(rest)) is not None:
        rest = rest[: lead.start()]
    return len(before) - len(rest)


def _counted(match: re.Match[str]) -> tuple[float, float, str]:
    """The lower and the upper count, and the unit."""
    if match["single"]:
        return 1.0, 1.0, match["single"].casefold()
    if match["short"]:
        low = float(match["short"])
        return low, float(match["short_high"] or low), _PARTS[match["part"]]
    if match["glued"]:
        count = float(match["glued"])
        return count, count, {"d": "day", "w": "week", "y": "year"}[match["letter"].casefold()]
    unit = next(name for name in _UNITS if match[name])
    half = 0.5 if match["half"] else 0.0
    low = _count(match["count"]) + half
    return low, _count(match["high"]) + half if match["high"] else low, unit


def _count(written: str) -> float:
    folded = " ".join(written.casefold().split())
    for words in (folded, folded.removeprefix("a "), folded.removeprefix("an ")):
        if words in VAGUE:
            return VAGUE[words]
    return number(folded)


def _kind(flat: str, match: re.Match[str], before: str) -> Kind:
    """What a time is told of."""
    if (match["count"] or "").casefold() in ("a", "an") and _RATE.search(before):
        return "interval"
    for kind, is_after, pattern in _told_of():
        if pattern.match(flat, match.end()) if is_after else pattern.search(before):
            return "onset" if kind == "ago" and _BEGAN.search(before) else kind
    return "course" if _is_of_medicine(flat, match.end(), before) else "lasting"


def _is_of_medicine(flat: str, end: int, before: str) -> bool:
    """Whether a medicine stands beside a time: “8/52 omeprazole”, “omeprazole for 3 months”."""
    beside = (_NEXT_WORD.match(flat, end), _LAST_WORD.search(before))
    return any(word is not None and word["word"].casefold() in _medicines() for word in beside)


# ------------------------------------------------------------------------------------------------------------- ages


@dataclass(frozen=True, slots=True)
class Age:
    """How old somebody is, in years; with a problem it is asked about and not used."""

    start: int
    end: int
    text: str
    years: float
    value: float
    unit: str
    sex: Literal["female", "male"] | None = None
    of: Literal["patient", "other", "event"] = "patient"
    """Of somebody else (“mother aged 80”), or when something happened (“LMP aged 51”)."""
    problem: str | None = None


_AGE_UNIT = r"(?P<unit>years?|yrs?|y|months?|mths?|mo|m|weeks?|wks?|w|days?|d)"
_PERSON = r"woman|man|female|male|lady|gentleman|gent|girl|boy|patient|pt|person|child|baby|infant|toddler"
_NO_AGE = (
    r"(?![\w/%]|[.,]\d|[\s-]{0,2}(?:weeks?|days?|months?|hours?|minutes?|kg|lbs?|stone|st|°|cm|mg|times|out of|units?"
    r"|(?:to|-|–|and|or)\s?(?:\d|over|above|under|older)))"
)
"""What makes a number after “aged” or a person none of years."""
_AGE = re.compile(
    rf"(?<![\w/.,+-])(?P<count>\d{{1,4}}|{NUMBER_WORD})[\s-]{{0,2}}{_AGE_UNIT}[\s-]{{0,2}}(?:olds?|o|of\sage)\b"
    r"|(?<![\w/.,+-])(?P<short>\d{1,3})/(?P<part>7|52|12)[\s-](?:old|of age)\b"
    r"|(?<![\w/.,+-])(?P<yo>\d{1,4})[\s-]?y/?o\b"
    rf"|\b(?:aged?|age\sis|age\sof|turned)\s?:?\s{{0,2}}(?P<aged>\d{{1,4}}|{NUMBER_WORD})"
    rf"(?:\s?(?P<aged_unit>years?|months?|weeks?|days?)\b(?!\spregnant)|{_NO_AGE})"
    r"|(?<![\w/.,+-])(?P<years>\d{1,3})\s?(?:y\s?)?(?P<sex>(?<=[\dy])(?:(?-i:[MF])|f))\b(?![./'’-]\w)"
    r"|(?:^|(?<=[.;\n]\s))(?P<years_m>\d{2,3})(?P<sex_m>m)\b(?![./'’-]\w)"
    r"|(?<![\w/.,+-])(?P<years_of>\d{1,3})\s(?P<sex_of>(?-i:[MF]))"
    r"(?=\s?(?:[,.;:()]|$|with\b|who\b|c/o\b|presents?\b|smoker\b|ex-))"
    r"|(?<![\w/.,+-])(?P<noted>\d{1,3})(?:\s?(?P<noted_unit>years?|yrs?|y|months?|mths?|mo)[\s/]{1,2}|/)"
    r"(?P<sex_noted>(?-i:[MF]))\b(?![./'’-]\w)"
    r"|(?<![\w/.])(?P<sex_before>(?-i:[MF]))/(?P<slashed>\d{1,3})(?![\w/.,+-]\w|\w|%)"
    r"|(?<![\w/.,+-])(?P<then>\d{1,3})\s?(?:years?|yrs?|y)(?=\s{1,2}(?:\d{1,3}(?:\.\d)?\s?kg\b|(?-i:G\d)))"
    r"|(?<![\w/.])(?P<sex_first>(?-i:[MF]))\s?(?P<behind_sex>\d{2,3})(?![\w/.,+-]\w|\w|%)"
    rf"|(?<![\w/.,+-])(?P<before>\d{{2,3}}(?=\s)|\d{{1,2}}(?=\s?(?:years?|yrs?|y)\s(?:boy|girl|child|male|female)\b))"
    rf"\s?(?:(?:years?|yrs?|y)\s)?(?:{_PERSON})\b"
    rf"|\b(?:{_PERSON})(?:\s?[,(]\s?|\sof\s|\saged\s|\sis\s"
    rf"|(?<!patient)(?<!person)(?<!pt)\s(?=\d{{1,3}}(?:[,;]|\s[\d.]+\s?kg)))(?P<behind>\d{{1,3}}){_NO_AGE}"
    rf"|\b(?:child|baby|infant|toddler|boy|girl)\s(?:of\s|is\s|\()(?P<young>\d{{1,2}}|{NUMBER_WORD})[\s-]?"
    r"(?P<young_unit>years?|months?|weeks?|days?)\b(?!\s(?:ago|after|later|post))"
    r"|\b(?:he|she|i|they)(?:['’]s|['’]m|['’]re|\sis|\sam|\sare)\s(?:now\s|only\s|just\s|nearly\s)?(?P<is>\d{1,3})"
    r"(?=\s?(?:[,.;)]|$|and\b|with\b|but\b|years\b))"
    r"|^\W*(?P<opens>[2-9]\d|1[01]\d)\s?(?:years?|yrs?|yo)\s(?=[a-z])"
    r"(?!\s*(?:ago|of|hx|h/o|history|smok\w*|pack\w*|marri\w*|since|later|post|after|back|on|to|or|and|in|with|without|now|for)\b)"
    r"|^\s?(?P<bare>\d{1,3})(?:\s?years?)?\.?\s?$",
    re.IGNORECASE,
)
_YOUNG = r"baby(?:\s(?:boy|girl))?|infant|toddler|neonate|newborn|twins?|boy|girl|child"
_SHORT_AGE = (
    r"(?:(?P<{0}_years>\d{{1,2}})\s?(?:y|yrs?|years?)?[\s,]{{1,2}}(?:and\s)?)?(?P<{0}>\d{{1,2}})"
    r"(?:/(?P<{0}_part>12|52|7)|\s?(?P<{0}_unit>months?|mths?|mo|m|weeks?|wks?|days?|d|hours?|hrs?))(?![\w/])"
)
"""“14/12”, “2y 3/12”, “8 months”."""
_CHILD_AGE = re.compile(
    rf"\b(?:{_YOUNG})(?:\s(?-i:[A-Z][a-z]+)){{0,2}}[\s,:(]{{1,3}}(?:[mf][\s,]{{1,2}})?(?:aged?\s)?{_SHORT_AGE.format('behind')}"
    r"(?=\s*(?:[,.;:()]|$|olds?\b|of age|\d|[mf]\b|male|female|wt\b|weigh))"
    rf"|(?<![\w/.,+-]){_SHORT_AGE.format('before')}[\s-](?:old[\s,]{{1,2}})?(?:{_YOUNG})\b"
    rf"|^\W*{_SHORT_AGE.format('first')}[\s,]{{1,2}}(?:(?-i:[MFmf])(?![\w'’/.]\w)|female\b|male\b)"
    rf"|^\W*(?:female|male|(?-i:[MF]))[\s,/]{{1,2}}{_SHORT_AGE.format('sexed')}(?=\s*(?:[,.;]|$))"
    r"|\b(?:neonate|newborn|baby|infant)[\s,]{1,2}(?:d|day\s)(?P<day>\d{1,2})\b"
    r"|\bday\s(?P<day_of>\d{1,2})(?:\sold)?\s(?:neonate|newborn|baby|infant)\b",
    re.IGNORECASE,
)
"""The age of a child as notes write it beside who it is: “Baby, f, 14/12”, “18m boy”, “2y 3/12 M”, “day 3 baby”."""
_NO_INFANT = re.compile(r"(?:toddler|child|boy|girl)\b[^/]*(?:/7|d|days?|h|hrs?|hours?)$", re.IGNORECASE)
"""“Toddler, 5 days” is how long something has lasted."""
_CHILD_SEX = re.compile(r"\b(?:(?P<female>female|girl|f)|male|boy|m)\b", re.IGNORECASE)
_SEXED = re.compile(
    r"[\s,]{1,2}(?:y/?o\s)?(?P<sex>female|male|woman|man|lady|gentleman|girl|boy|[MF](?![\w/'’.]))", re.IGNORECASE
)
_FEMALE = frozenset("f female woman lady girl".split())
_OTHER = re.compile(
    r"\b(?:mother|mum|mom|father|dad|brother|sister|aunt|uncle|son|daughter|wife|husband|partner|grand\w+|cousin|relative"
    r"|parents?|siblings?|children|kids?)(?:['’]s)?\b(?!\s(?:says|said|reports|thinks|tells|told|worried|noticed))"
    r"[^.;,]{0,25}$|\b(?:my|his|her)\s$",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"\b(?:LMP|menarche|menopause|diagnosed|dx|died|onset|since|from|at|until|when|first|began|started|operation)\b"
    r"[^.;,]{0,15}$",
    re.IGNORECASE,
)
_YEARS_IN = {"y": 1.0, "m": 1 / MONTHS_IN_YEAR, "w": 7 / 365, "d": 1 / 365, "h": 1 / 365 / 24}


def ages(text: str) -> tuple[Age, ...]:
    """Every age that a text tells of somebody; weeks of a pregnancy are none.

    >>> [found.years for found in ages("Boy 7, 22 kg. Girl 2 days after a fall. Seen by a 79 yr lady")]
    [7.0, 79.0]
    >>> [found.years for text in ("9 yr girl, 27 kg", "79 yr retired teacher", "30 yrs smoker") for found in ages(text)]
    [9.0, 79.0]
    >>> [(found.years, found.sex) for found in ages("58yo, 62M, F72, nineteen years old")]
    [(58.0, None), (62.0, 'male'), (72.0, 'female'), (19.0, None)]
    >>> [(found.years, found.sex) for found in ages("8 yr M, fever up to 103F. Mrs K 46 yrs/F. M/61. 76yrs 51 kg")]
    [(8.0, 'male'), (46.0, 'female'), (61.0, 'male'), (76.0, None)]
    >>> [round(found.years, 2) for found in ages("6/52 old, a 3-month-old, 28/40")]
    [0.12, 0.25]
    >>> [round(found.years, 2) for found in ages("Baby Ada, f, 14/12, purging 2/7. 18m boy. 2y 3/12 girl. Day 3 baby")]
    [1.17, 1.5, 2.25, 0.01]
    """
    spend()
    flat = text.translate(FLAT)
    young = [_child_age(match) for match in _CHILD_AGE.finditer(flat) if not _NO_INFANT.match(match.group())]
    others = (_age(match) for match in _AGE.finditer(flat) if not _is_temperature(match))
    found = [*young, *(age for age in others if not any(age.start < own.end and own.start < age.end for own in young))]
    return tuple(replace(age, text=text[age.start : age.end]) for age in sorted(found, key=lambda age: age.start))


def _child_age(match: re.Match[str]) -> Age:
    groups = match.groupdict()
    names = ("behind", "before", "first", "sexed", "day", "day_of")
    own = next(name for name in names if groups[name])
    part, unit = groups.get(f"{own}_part"), groups.get(f"{own}_unit")
    letter = _PARTS[part][0] if part else (unit or "day")[0].casefold()
    value, whole = float(groups[own]), float(groups.get(f"{own}_years") or 0)
    sexed = _CHILD_SEX.search(match.group()) or _CHILD_SEX.match(match.string, match.end())
    sex: Literal["female", "male"] | None = None if sexed is None else ("female" if sexed["female"] else "male")
    years = whole + value * _YEARS_IN[letter]
    names_of = {"m": "month", "w": "week", "d": "day", "h": "hour"}
    of: Literal["patient", "other"] = (
        "other" if _OTHER.search(match.string[max(0, match.start() - LOOK_BACK) : match.start()]) else "patient"
    )
    return Age(*match.span(), "", years, years if whole else value, "year" if whole else names_of[letter], sex, of)


_FAHRENHEIT = re.compile(r"(?:9[5-9]|10[0-8])\s?F")
_FEVER = re.compile(r"\b(?:fever\w*|febrile|temp\w*|tmax|pyrexi\w*|T)\b")


def _is_temperature(match: re.Match[str]) -> bool:
    """Whether what looks like a very old woman is a temperature: “fever up to 103F”."""
    if not _FAHRENHEIT.fullmatch(match.group().strip()):
        return False
    return match.start() > 0 or _FEVER.search(match.string) is not None


def _age(match: re.Match[str]) -> Age:
    flat, (start, end) = match.string, match.span()
    groups = match.groupdict()
    names = (
        "count", "short", "yo", "aged", "years", "years_m", "years_of", "behind_sex", "before", "behind", "young",
        "is", "bare", "noted", "slashed", "then", "opens",
    )  # fmt: skip
    written = next(groups[name] for name in names if groups[name])
    value = number(written)
    units = (groups[name] for name in ("unit", "aged_unit", "young_unit", "noted_unit"))
    unit = (next(filter(None, units), None) or _PARTS.get(groups["part"] or "", "year"))[0].casefold()
    years = value * _YEARS_IN[unit]
    sexed = _SEXED.match(flat, end)
    sexes = (groups[name] for name in ("sex", "sex_m", "sex_of", "sex_first", "sex_noted", "sex_before"))
    sex_word = (next(filter(None, sexes), None) or (sexed["sex"] if sexed else "")).casefold()
    if not sex_word and (
        named := re.search(r"woman|female|lady|girl|\bman|\bmale|gentleman|boy", match.group(), re.IGNORECASE)
    ):
        sex_word = named.group().casefold()
    before = flat[max(0, start - LOOK_BACK) : start]
    stated = ("yo", "years", "years_m", "years_of", "behind_sex", "count", "noted", "slashed")
    is_stated = any(groups[name] for name in stated)
    of: Literal["patient", "other", "event"] = "patient"
    if _OTHER.search(before) or re.match(
        r"[\s-](?:son|daughter|brother|sister|mother|father|wife|husband)\b", flat[end:], re.I
    ):
        of = "other"
    elif not is_stated and _EVENT.search(before):
        of = "event"
    problem = None
    if years > OLDEST:
        problem = f"An age of {value:g} years cannot be right (expected 0 to {OLDEST}). How old is the patient?"
    sex: Literal["female", "male"] | None = None
    if sex_word:
        sex = "female" if sex_word in _FEMALE else "male"
    names_of = {"y": "year", "m": "month", "w": "week", "d": "day"}
    return Age(start, end, "", years, value, names_of[unit], sex, of, problem)


def years_between(born: date, at: date) -> int:
    """Whole years from one day to another, by the calendar.

    >>> born = date(2008, 2, 29)
    >>> years_between(born, date(2026, 2, 28)), years_between(born, date(2026, 3, 1))
    (17, 18)
    """
    return at.year - born.year - ((at.month, at.day) < (born.month, born.day))


def ages_of_birth(born: str, at: date) -> tuple[int, int]:
    """The youngest and the oldest that somebody can be who was born on a day, in a month or in a year.

    >>> ages_of_birth("1960-03-02", date(2026, 11, 20)), ages_of_birth("1960", date(2026, 11, 20))
    ((66, 66), (65, 66))
    """
    match = _BIRTH.fullmatch(born.strip())
    year, month, day = (int(part) if part else None for part in match.groups()) if match else (None, None, None)
    try:
        if year is None:
            raise ValueError
        first = date(year, month or 1, day or 1)
        last = date(year, month or MONTHS_IN_YEAR, day or monthrange(year, month or MONTHS_IN_YEAR)[1])
    except ValueError as error:
        raise ValueError("is not a date, so the age is not known") from error
    if first > at:
        raise ValueError("lies in the future, so the age is not known")
    youngest, oldest = years_between(min(last, at), at), years_between(first, at)
    if youngest > OLDEST:
        raise ValueError(f"gives an age over {OLDEST}, so the age is not known")
    return youngest, oldest


def age_told(ages: tuple[int, int] | None) -> str | None:
    """An age in words, as exactly as it is known.

    >>> age_told((65, 66)), age_told((66, 66))
    ('65 or 66', '66')
    """
    return None if ages is None else " or ".join(str(age) for age in dict.fromkeys(ages))
