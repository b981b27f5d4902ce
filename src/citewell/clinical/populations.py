"""Whom words are about: age, sex, pregnancy, breastfeeding, conditions, kidney function; and who is one of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal, cast

from citewell.clinical.assertion import read_context
from citewell.clinical.lexicon import Mention, broader, concept_ids, mentions
from citewell.clinical.medicines import medicines
from citewell.clinical.quantities import (
    BARE,
    LOOK_BACK,
    NUMBER_WORD,
    OLDEST,
    Duration,
    Quantity,
    ages,
    days_in,
    durations,
    known_tests,
    person_before,
    person_words,
    quantities,
    results,
)
from citewell.clinical.tables import rows
from citewell.types.consult import Patient, Polarity
from citewell.work import spend

Group = Literal["child", "adult"]
Sex = Literal["female", "male"]
Measure = Literal["age", "week", "kg", "eGFR", "creatinine clearance"]

ADULT_YEARS = 18
"""From this age on a person is an adult: limits of tests hold, and no parent speaks for them."""
CHILD_YEARS = 16
"""Below this age a person is called a child."""
MIXED_YEARS = 12
"""What begins below this age is for children too: “aged 12 and over” is written for adults."""
MOST = 20
"""Limits of weeks in one text that are read."""
NEAR = 240
"""Characters before a word that may say whom it is about."""


class Applies(StrEnum):
    """Whether somebody is among the people whom words are about."""

    YES = "applicable"
    NO = "not applicable"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class ValueBand:
    """From one value to another, as a text writes them: years, weeks of pregnancy, kilograms or ml/min."""

    start: int
    end: int
    text: str
    of: str
    """A measure of people, or a test."""
    low: float | None = None
    high: float | None = None
    is_over: bool = False
    """The lower value itself is not among them: “over 40”."""
    is_through: bool = False
    """The upper value itself is among them: “45 or less”."""

    def has(self, low: float, high: float) -> bool | None:
        """Whether a value between these two is among them; None where it may be or not."""
        is_around = self.low is not None and low < self.low <= high and not self._has(high)
        return None if is_around or self._has(low) != self._has(high) else self._has(low)

    def _has(self, value: float) -> bool:
        is_below = self.low is not None and (value <= self.low if self.is_over else value < self.low)
        is_above = self.high is not None and (value > self.high if self.is_through else value >= self.high)
        return not is_below and not is_above

    def meets(self, other: ValueBand) -> bool:
        """Whether somebody can be within both."""
        (low, high), (theirs, to) = self._ends, other._ends
        return low < to and theirs < high

    @property
    def _ends(self) -> tuple[float, float]:
        return self.low or 0.0, math.inf if self.high is None else self.high

    @property
    def groups(self) -> frozenset[Group]:
        """Children, adults or both, of limits of age."""
        low, high = self._ends
        is_adult = low >= ADULT_YEARS or high > ADULT_YEARS + 1  # “1 month to 18 years” is written for children
        is_of: dict[Group, bool] = {"child": low < MIXED_YEARS or not is_adult, "adult": is_adult}
        return frozenset(group for group, is_so in is_of.items() if is_so)


@dataclass(frozen=True, slots=True)
class Population:
    """People by what makes them a group; what is None does not matter."""

    start: int
    end: int
    name: str
    kind: str = "people"
    """Populations of one kind are alternatives; of each kind of a text somebody must be in one."""
    limits: tuple[ValueBand, ...] = ()
    widest: ValueBand | None = None
    """The ages beyond which nobody is meant, where the word leaves some open."""
    sex: Sex | None = None
    is_pregnant: bool | None = None
    is_breastfeeding: bool | None = None
    setting: str | None = None
    condition: str | None = None
    organ: str | None = None
    is_without: bool = False
    """The people do not have the condition or the organ."""
    problem: str | None = None
    """Why it decides nothing."""

    @property
    def is_special(self) -> bool:
        """Whether belonging to it says more of somebody than being an adult does."""
        is_plain = self.name in ("adults", "women", "men") or self.name.startswith("women ") or self.setting
        return not is_plain and self.is_pregnant is not False


@dataclass(frozen=True, slots=True)
class Applicability:
    """Whether words are for somebody, and why not, or what is not known."""

    answer: Applies
    reasons: tuple[str, ...] = ()
    is_specific: bool = False
    """They are for a group that this person is known to belong to, and not all adults do."""


# ----------------------------------------------------------------------------------------------- words that name people


@dataclass(frozen=True, slots=True)
class PopulationWord:
    """A row of the table: words that name people, and what they mean."""

    words: str
    pattern: re.Pattern[str]
    group: str
    population: Population
    shelf: str
    """What the filter of the bookshelf calls them."""
    is_limiting: bool
    """Whether the words leave anybody out."""


@cache
def people_words() -> tuple[PopulationWord, ...]:
    """The table of words that name people."""
    table = []
    for row in rows("populations.tsv"):
        name, words, group, low, high, first, last, sex, pregnant, feeding, setting, shelf = (*row, *[""] * 12)[:12]
        sure, widest = _years_of_word(low, high), _years_of_word(first, last)
        population = Population(
            0, 0, name, limits=(sure,) if sure else (), widest=widest, sex=cast(Sex, sex) if sex else None,
            is_pregnant={"yes": True, "no": False}.get(pregnant), is_breastfeeding=True if feeding else None,
            setting=setting or None,
        )  # fmt: skip
        pattern = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)
        table.append(PopulationWord(words, pattern, group, population, shelf, population != Population(0, 0, name)))
    return tuple(table)


def _years_of_word(low: str, high: str) -> ValueBand | None:
    first, last = (float(cell) if cell else None for cell in (low, high))
    return ValueBand(0, 0, "", "age", first, last) if low or high else None


def shelf_words() -> list[tuple[str, str]]:
    """What the filter of the bookshelf calls people, and the words that name them.

    >>> dict(shelf_words())["infants"]
    'infants?|babies|baby'
    """
    names: dict[str, list[str]] = {}
    for word in people_words():
        if word.shelf:
            names.setdefault(word.shelf, []).append(word.words)
    return [(name, "|".join(words)) for name, words in names.items()]


@cache
def people_pattern() -> str:
    """A word for people of an age or a sex, or for people of any, with the article it may have."""
    words = [word for word in people_words() if word.group == "people" or word.population.sex or word.population.limits]
    plain = [word.words for word in words if word.population.is_pregnant is word.population.is_breastfeeding is None]
    return rf"{_ARTICLE}(?:{'|'.join(plain)})(?![\w-])"


def leading_group(text: str) -> tuple[str, Population, int] | None:
    """The word for people at the start of a text, without its article, whom it means, and where it ends.

    >>> word, population, end = leading_group("A woman aged 40 and over")
    >>> word, population.sex, end
    ('woman', 'female', 7)
    """
    match = re.match(people_pattern(), text, re.IGNORECASE)
    if match is None:
        return None
    named = re.sub(_ARTICLE, "", match.group(), count=1, flags=re.IGNORECASE)
    end = match.end()
    word = next(word for word in people_words() if word.pattern.match(text, end - len(named), end + NEAR))
    return named, word.population, end


_ARTICLE = r"(?:(?:any|an?|all|the|some)\s+)?"


# ----------------------------------------------------------------------------------------------------------------- ages

_NEAR_PERSON = re.compile(rf"(?:\bages?\b|\baged\b|{'|'.join(person_words().values())})[^.;]{{0,25}}$", re.IGNORECASE)
_NEAR_CHILD = re.compile(rf"(?:\bages?\b|\baged\b|{person_words()['child']})[^.;]{{0,25}}$", re.IGNORECASE)
"""“Patients over 12 weeks” tells how long, “infants over 12 weeks” how old."""
_DONE = re.compile(r"\b(?!aged\b)[a-z]+ed\s$", re.IGNORECASE)
"""“Patients treated over 3 years” tells how long."""
_BEHIND = re.compile(r"\s*(?:of age|olds?)\b", re.IGNORECASE)
_ANY_AGE = re.compile(
    r"\b(?:(?:of|at|for)\s+(?:any|all|every)\s+ages?|any\s+age\s+group"
    r"|(?:regardless|irrespective)\s+of\s+(?:their\s+)?age|whatever\s+their\s+age)\b",
    re.IGNORECASE,
)
_UNDERS = re.compile(r"\b(?P<side>under|over)(?:[- ](?=\d\d)|-)(?P<years>\d{1,2})s\b", re.IGNORECASE)
_OF_OTHERS = re.compile(
    r"\b(?:relatives?|parents?|siblings?|mother|father|brother|sister|onset|died|diagnosed|menarche|menopause)\b"
    r"[^.;,]{0,30}$",
    re.IGNORECASE,
)
_FROM = re.compile(r"\bfrom\s$", re.IGNORECASE)
_SHORT_TEXT = 60
"""Characters of a heading or a cell: an age alone at its start is whom it is for."""
_WRITTEN = re.compile(r"\d[\s-]?y|old|age|years?|months?|weeks?|days?|\b(?:of|is|am)\b|['’]", re.IGNORECASE)
"""What makes a number in a running text an age: a catheter of 16F is no girl, and “12 female” counts people."""
_MAY_BE_AGE = re.compile(r"\d|\bage|\bold\b", re.IGNORECASE)
_YEARS_IN = {"year": 1.0, "month": 1 / 12}
"""Where a year of months and days is not made of the same parts."""


def any_age(text: str) -> re.Match[str] | None:
    """The words that say that age does not matter."""
    return _ANY_AGE.search(text)


def age_limits(text: str) -> Iterator[ValueBand]:
    """Limits of age that a text is for, as it writes them; a time that is no age is none.

    >>> text = "adults aged 80 and over; aged under 40; aged 12 to 17; for 5 days; below 150/90"
    >>> [(limits.text, limits.low, limits.high) for limits in age_limits(text)]
    [('80 and over', 80.0, None), ('under 40', None, 40.0), ('12 to 17', 12.0, 18.0)]
    """
    if _MAY_BE_AGE.search(text) is None:
        return
    for quantity in quantities(text):
        before = text[max(0, quantity.start - LOOK_BACK) : quantity.start]
        if _is_age_limit(text, quantity, before) and not _OF_OTHERS.search(before):
            yield _limits(text, quantity, "age")
    for match in _UNDERS.finditer(text):
        years = float(match["years"])
        is_under = match["side"].casefold() == "under"
        ends = (None, years) if is_under else (years, None)
        yield ValueBand(*match.span(), match.group(), "age", *ends)
    if every := _ANY_AGE.search(text):
        yield ValueBand(*every.span(), "any age", "age", 0.0)
    yield from _in_column(text, "age")


_COLUMN = re.compile(
    r"(?:^|; |\n)(?:\w+ ){0,2}(?P<of>age|weight)\b"
    r"(?:[^:;\n(]{0,20}(?:\(|\bin )(?P<unit>years|months|weeks|days|kg)\)?|(?<=age)(?: (?:group|band|range))?):"
    r"\s?(?P<value>(?![^;\n]{0,60}(?:year|month|week|day|kg))[^;\n]{1,60})",
    re.IGNORECASE,
)
"""A cell under a header that holds the unit: “Age (years): 40 to 49”; an age without any is in years."""


def _in_column(text: str, of: Measure) -> Iterator[ValueBand]:
    """Limits in cells whose unit stands in the header.

    >>> row = "Age (years): 40 to 49; Threshold: 2.5", "Weight (kg): under 15; Dose: 5 mL"
    >>> [(band.of, band.low, band.high) for band in (*_in_column(row[0], "age"), *_in_column(row[1], "kg"))]
    [('age', 40.0, 50.0), ('kg', None, 15.0)]
    """
    for cell in _COLUMN.finditer(text):
        is_age = cell["of"].casefold() == "age"
        if is_age == (of == "age"):
            written = f"aged {cell['value']} {cell['unit'] or 'years'}" if is_age else f"{cell['value']} kg"
            limits = age_limits(written) if is_age else weight_limits(written)
            yield from (replace(each, start=cell.start("value"), end=cell.end("value")) for each in limits)


_DOSED = re.compile(r"\s?[:,]\s?(?:up to |maximum |about )?\d[\d./ –-]*\s?(?:mg|g|mL|ml|micrograms?|mcg|units?|IU)\b")
"""Behind an age in a list of doses: “6–12 years: 30 mg”."""
_DOSED_AT_ONCE = re.compile(
    r"\s(?:\d[\d./ –-]*\s?(?:mg|g|mL|ml|micrograms?|mcg|units?|IU)\b|\d{1,2}(?:\s?[-–]\s?\d{1,2})?\s?hourly\b"
    r"|(?:once|twice) (?:daily|a day)\b)"
)
"""The same behind years or months without a mark: “12 – 18 years 12 hourly”."""
_LASTS = re.compile(r"\b(?:for|over|after|every|within|than|last\w*|during|until|next)\s+$", re.IGNORECASE)
"""Before a time that something takes."""


def _is_age_limit(text: str, quantity: Quantity, before: str) -> bool:
    is_limit = quantity.sign != "=" or quantity.shape == "range" or _FROM.search(before) is not None
    if not is_limit or quantity.text.casefold().startswith("within"):
        return False
    if quantity.dimension == BARE:
        is_gestation = text[quantity.end : quantity.end + 1].isdigit()  # 20+0 weeks
        is_plain = quantity.sign != "=" and not quantity.is_word and not is_gestation
        return is_plain and person_before().search(before) is not None
    if quantity.dimension == "time" and _DOSED.match(text, quantity.end) and not _LASTS.search(before):
        return True
    is_of_years = quantity.dimension == "time" and quantity.shape == "range" and quantity.unit in ("year", "month")
    if is_of_years and _DOSED_AT_ONCE.match(text, quantity.end) and not _LASTS.search(before):
        return True
    if quantity.dimension != "time" or quantity.told == "length" or _measure(text, quantity):
        return False
    is_alone = len(text) < _SHORT_TEXT and _FROM.sub("", before).strip() == ""
    near = _NEAR_PERSON if quantity.unit in ("year", "mixed") else _NEAR_CHILD
    is_near = near.search(before) is not None and not _DONE.search(before)
    return quantity.told == "age" or is_near or _BEHIND.match(text, quantity.end) is not None or is_alone


def _limits(text: str, quantity: Quantity, of: Measure, sign: str = "") -> ValueBand:
    """The limits that a quantity gives; of years and weeks the last one is among them as a whole."""
    is_mixed, is_counted = quantity.unit == "mixed", of in ("age", "week")
    ends = [_years(value) for value in quantity.values] if is_mixed else [(value, 1.0) for value in quantity.written]
    unit = quantity.unit or "year"
    size = _YEARS_IN.get(unit, days_in(unit) / 365) if of == "age" and not is_mixed else 1.0
    (low, _), (high, step) = min(ends), max(ends)
    words = re.sub(r"^age[ds]?\s+", "", quantity.text, flags=re.IGNORECASE)
    sign = sign or quantity.sign
    first = _TO.search(text, max(0, quantity.start - LOOK_BACK), quantity.start) if sign in ("<", "<=") else None
    made = ValueBand(quantity.start, quantity.end, words, of, low * size, None, is_over=sign == ">")
    if quantity.shape == "range":
        return replace(made, high=(high + step) * size if is_counted else high, is_through=not is_counted)
    if sign in ("<", "<="):
        is_through = sign == "<=" and not quantity.loose
        last = (high + is_through) * size if is_counted else high
        lowest = float(first[1]) * size if first else None
        return replace(made, low=lowest, high=last, is_through=is_through and not is_counted)
    return made


_TO = re.compile(r"(\d{1,3}(?:\.\d{1,2})?)\s{0,2}(?:kg\s{0,2}|years?\s|months?\s)?(?:to|-|–|and|but)\s{0,2}$")
"""The lower end of “5 to < 15 kg”."""


def _years(days: float) -> tuple[float, float]:
    """Days of an age in years, and how long its unit is: 180 days are six months, 730 are two years."""
    for unit, size in (("year", 1.0), ("month", 1 / 12), ("week", 7 / 365)):
        if days % days_in(unit) == 0:
            return days / days_in(unit) * size, size
    return days / 365, 1 / 365


@lru_cache(maxsize=4096)
def ages_in(text: str) -> tuple[ValueBand, ...]:
    """The ages of people that a text tells: limits, and how old somebody is.

    >>> [(age.low, age.high) for age in ages_in("Aged 16 and over: 5 mg for 3 years")]
    [(16.0, None)]
    >>> ages_in("My stitches are 10 days old"), len(ages_in("He is 10 days old"))
    ((), 1)
    """
    spend()
    if _MAY_BE_AGE.search(text) is None:
        return ()
    limits = list(age_limits(text))
    taken = {at for limit in limits for at in range(limit.start, limit.end)}
    for quantity in quantities(text):
        if quantity.told == "age" and taken.isdisjoint(range(quantity.start, quantity.end)):
            limit = _limits(text, quantity, "age")
            is_point = quantity.sign == "=" and quantity.shape != "range"
            limits.append(_point(limit, limit.low or 0.0) if is_point else limit)
        if quantity.told:  # stitches that are 10 days old are no child
            taken.update(range(quantity.start, quantity.end))
    for age in ages(text):
        is_written = age.of != "event" and not age.problem and _WRITTEN.search(age.text)
        if is_written and taken.isdisjoint(range(age.start, age.end)):
            limits.append(_point(ValueBand(age.start, age.end, age.text, "age"), age.years))
    return tuple(sorted(limits, key=lambda limit: limit.start))


def _point(limit: ValueBand, years: float) -> ValueBand:
    """An age that somebody has: from two years on it lasts a year, before that a day."""
    return replace(limit, low=years, high=years + (1.0 if years >= 2 else 1 / 365))


# --------------------------------------------------------------------------------------------------- children or adults


@cache
def _naming(group: Group) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(word.words for word in people_words() if word.group == group)})\b", re.I)


@lru_cache(maxsize=4096)
def age_groups(text: str) -> frozenset[Group]:
    """The groups that a text names, by a word or by an age.

    >>> [sorted(age_groups(text)) for text in ("children and adults", "Refer people aged 40 and over", "Rest.")]
    [['adult', 'child'], ['adult'], []]
    >>> [sorted(age_groups(text)) for text in ("my 5 year old", "a 4 month old", "a 62-year-old", "6 months on")]
    [['child'], ['child'], ['adult'], []]
    >>> [sorted(age_groups(text)) for text in ("Aged 16 or over", "Aged 2 or over", "Aged 12 to 17", "aged under 18")]
    [['adult'], ['adult', 'child'], ['child'], ['child']]
    """
    spend()
    groups: tuple[Group, ...] = ("child", "adult")
    named = frozenset(group for group in groups if _naming(group).search(text))
    return named.union(*(age.groups for age in ages_in(text)))


_OF_BIRTH = re.compile(r"\b(?:unborn|pregnan\w*|breast-?feed\w*|births?|born|lactat\w*)\b", re.IGNORECASE)
"""Where one of these stands, a baby is not who is treated."""


def asked_for(question: str) -> frozenset[Group]:
    """The one group that a question asks for; none where it names both, or a baby that is not born or is fed.

    >>> [sorted(asked_for(text)) for text in ("Dose for a child?", "I breastfeed my baby", "Adults and children?")]
    [['child'], [], []]
    """
    named = age_groups(question)
    return named if len(named) == 1 and not _OF_BIRTH.search(question) else frozenset()


def is_for_others(
    asked: frozenset[Group],
    text: str,
    titles: Iterable[str],
    *,
    is_amount: bool = False,
    aged: tuple[ValueBand, ...] = (),
) -> bool:
    """Whether a text is written for the other group alone: by its own words, else by the nearest title that says so.

    Where an amount is asked for, what names nobody is for adults, unless it goes by weight. A text that names the very
    age that is asked for is for that person: a child of 16 is among people “aged 16 and over”.

    >>> child = asked_for("Dose for a child?")
    >>> [is_for_others(child, text, ["In adults"]) for text in ("Up to 4 g.", "Children: 15 mg/kg.")]
    [True, False]
    >>> is_for_others(child, "Give 10 mg.", ["In adults", "1.2 Children under 5"])
    False
    """
    if not asked:
        return False
    for said in (text, *reversed(list(titles))):
        if named := age_groups(said):
            return not named & asked and not any(limits.meets(own) for limits in ages_in(said) for own in aged)
    return is_amount and "child" in asked and "kg" not in text


# -------------------------------------------------------------------- weeks of pregnancy, weight, kidney function

_PREGNANCY_BEHIND = re.compile(r"[\s'’]{0,3}(?:of\s+|in\s+)?(?:the\s+)?(?:pregnan(?:t|cy)|gestation(?:al)?)\b", re.I)
_PREGNANCY_BEFORE = re.compile(
    r"\b(?:pregnan(?:t|cy)|gestation(?:al age)?|antenatal)(?:\s+women)?[\s,(:–-]{0,3}(?:(?:is|are|of|at)\s+)?"
    r"(?:after|before|from|until|between)?\s{0,2}$",
    re.IGNORECASE,
)
_SIGN_BEFORE = re.compile(r"\b(?:(?P<over>after)|(?P<from>from)|(?P<below>before|until))\s$", re.IGNORECASE)
_PLUS_DAYS = re.compile(r"(?<=\d)\s?\+\s?[0-6](?=[\s-]?weeks?\b)")
_TRIMESTER = re.compile(r"\b(?P<which>first|second|third|1st|2nd|3rd|last)\s+trimester\b", re.IGNORECASE)
_TRIMESTERS = {"1": (None, 14.0, 10.0), "2": (14.0, 28.0, 20.0), "3": (28.0, None, 32.0)}
"""The weeks from which and below which a trimester is, and one in its middle."""
_KIDNEY = re.compile(
    r"\b(?:(?P<egfr>e?GFR|(?:estimated )?glomerular filtration rate)|creatinine clearance|CrCl)\b[^.;\d<>≤≥]{0,25}$",
    re.I,
)
_CKD = r"(?:CKD|chronic (?:kidney|renal) disease)(?:\s\(CKD\))?"
_NUMBERS = r"G?\d[ab]?(?:\s?(?:to|-|–|and|or)\s?G?\d[ab]?)?"
_STAGES = re.compile(
    rf"\b{_CKD}[\s,:(-]{{0,3}}(?:(?:stages?|grades?)\s{{0,2}})?{_NUMBERS}"
    rf"(?!\w|\s{{0,2}}(?:months?|years?|weeks?|days?|times|/))|\bstages?\s{{0,2}}{_NUMBERS}\s{_CKD}\b",
    re.IGNORECASE,
)
_EGFR: dict[str, tuple[float | None, float | None]] = {
    "1": (90, None), "2": (60, 90), "3": (30, 60), "3a": (45, 60), "3b": (30, 45), "4": (15, 30), "5": (None, 15),
}  # fmt: skip
"""From which eGFR and below which a stage of chronic kidney disease is (KDIGO 2024)."""
CKD = "chronic kidney disease"
LONGEST_PREGNANCY = 45
"""Weeks that no pregnancy passes."""


def _trimester(word: str) -> tuple[float | None, float | None, float]:
    folded = word.casefold()
    return _TRIMESTERS[{"first": "1", "second": "2", "third": "3", "last": "3"}.get(folded, folded[0])]


def _measure(text: str, quantity: Quantity) -> Measure | None:
    """What else than an age a quantity limits: the weeks of a pregnancy, a weight, kidney function."""
    before = max(0, quantity.start - LOOK_BACK), quantity.start
    if quantity.unit == "week":
        is_of_it = _PREGNANCY_BEHIND.match(text, quantity.end) or _PREGNANCY_BEFORE.search(text, *before)
        return "week" if is_of_it else None
    if quantity.dimension in (BARE, "volume/time", "filtration") and (named := _KIDNEY.search(text, *before)):
        return "eGFR" if named["egfr"] else "creatinine clearance"
    return "kg" if quantity.unit == "kg" else None


def _measured(text: str) -> Iterator[ValueBand]:
    """Limits of weeks, weight and kidney function; of weeks a single one is a limit too."""
    flat = _PLUS_DAYS.sub(lambda match: " " * len(match.group()), text)
    for quantity in quantities(flat):
        if (of := _measure(flat, quantity)) is None:
            continue
        word = _SIGN_BEFORE.search(flat, max(0, quantity.start - LOOK_BACK), quantity.start)
        sign = {"over": ">", "from": ">=", "below": "<"}.get(word.lastgroup or "", "") if word else ""
        limits = _limits(flat, quantity, of, sign if quantity.sign == "=" else "")
        if quantity.sign != "=" or quantity.shape == "range" or sign:
            yield limits
        elif of == "week":
            yield replace(limits, high=(limits.low or 0) + 1)
    for match in _TRIMESTER.finditer(text):
        yield ValueBand(*match.span(), match.group(), "week", *_trimester(match["which"])[:2])
    yield from _in_column(text, "kg")


def weight_limits(text: str) -> Iterator[ValueBand]:
    """Limits of a body's weight that a text is for: “12 kg to 19 kg”."""
    return (limits for limits in _measured(text) if limits.of == "kg")


def _stages(text: str) -> Iterator[Population]:
    """Stages of chronic kidney disease, with the eGFR that they mean."""
    for match in _STAGES.finditer(text):
        stages = [_EGFR.get(stage.lower()) for stage in re.findall(r"\d[ab]?", match.group(), re.IGNORECASE)]
        made = Population(*match.span(), f"people with {match.group()}", "kidney", condition=CKD)
        first, last = stages[0], stages[-1]
        if first is None or last is None:
            yield replace(
                made,
                problem=f"“{match.group()}” is not a stage of chronic kidney disease (stages 1 to 5 are recognised)",
            )
        else:
            yield replace(made, limits=(ValueBand(*match.span(), match.group(), "eGFR", last[0], first[1]),))


def kidney_stage_at(text: str, start: int, end: int) -> tuple[int, int]:
    """A mention of kidney disease with the stage that stands beside it.

    >>> kidney_stage_at("CKD 4, stable", 0, 3), kidney_stage_at("CKD, stable", 0, 3)
    ((0, 5), (0, 3))
    """
    own = (stage for stage in _stages(text) if stage.start < end and start < stage.end)
    return next(((min(start, stage.start), max(end, stage.end)) for stage in own), (start, end))


def egfr_of_stage(text: str) -> tuple[float, float] | None:
    """From which eGFR to which the first stage of chronic kidney disease in a text is.

    >>> egfr_of_stage("CKD 4, stable"), egfr_of_stage("CKD for 4 years")
    ((15.0, 29.0), None)
    """
    stage = next((population.limits[0] for population in _stages(text) if population.limits), None)
    return None if stage is None else (float(stage.low or 0), float((stage.high or math.inf) - 1))


def _limited(limits: ValueBand) -> Population:
    """The people within limits of age, weight or kidney function; limits that nobody can have are a problem."""
    tests = {"kg": "weight", "eGFR": "eGFR", "creatinine clearance": "creatinine clearance"}
    known = {"age": OLDEST + 1.0, "week": LONGEST_PREGNANCY}
    highest = known.get(limits.of) or known_tests()[tests[limits.of]].highest[0]
    is_possible = all(end is None or end <= highest for end in (limits.low, limits.high))
    problem = None if is_possible else f"“{limits.text}” is not possible ({limits.of} up to {highest:g} is accepted)"
    kind, name = {"age": ("age", f"ages {limits.text}"), "kg": ("weight", limits.text)}.get(
        limits.of, ("kidney", f"people with {limits.of} {limits.text}")
    )
    return Population(limits.start, limits.end, name, kind, (limits,), problem=problem)


# ------------------------------------------------------------------------------------------------ conditions and organs

_PEOPLE = "|".join((*person_words().values(), "pregnan(?:t|cy|cies)"))
_PLAIN = (
    r"(?:(?!\b(?:should|must|is|are|for|to|by|in|when|can|may|at|on|from|that|but|give|offer|with|without"
    r"|(?<!history )(?<!diagnosis )of)\b)"
    r"[^.;:]){0,40}"
)
_GAP = rf"{_PLAIN}(?:\b(?:due to|secondary to|caused by|because of)\b{_PLAIN})?"
"""What may stand between “with” and a disease: “with liver failure due to suspected or confirmed yellow fever”."""
_WITH = re.compile(
    rf"(?:\b(?:{_PEOPLE})\b[^.;]{{0,60}}?\b(?P<how>with(?:out)?(?:\s+or\s+without)?|have|has|having|living\s+with"
    rf"|affected\s+by)|\b(?P<how_not>(?:do|does|who)\s+not\s+have))\b{_GAP}$",
    re.IGNORECASE,
)
_SAYS_WITH = re.compile(r"\b(?:with|without|have|has|having|affected)\b", re.IGNORECASE)
_WITHOUT = re.compile(r"without|not\s+have", re.IGNORECASE)
_EITHER = re.compile(r"with\s+or\s+without", re.IGNORECASE)
_OR = re.compile(r"\bor\b|,|/", re.IGNORECASE)
_NOT_BEFORE = re.compile(r"\bnot\s+$", re.IGNORECASE)
_GONE = re.compile(
    r"^(?:no|without|removed|absent)\b[:\s]*|(?:(?<!\s)\s+)?\b(?:removed|absent|excised)$", re.IGNORECASE
)


@lru_cache(maxsize=10_000)
def conditions_in(text: str) -> tuple[Mention, ...]:
    """The conditions that words name; the same titles are read again and again."""
    return tuple(mention for mention in mentions(text) if mention.kind in ("condition", "lifestyle"))


def people_with(text: str) -> Iterator[Population]:
    """The people with or without a condition whom a text names; conditions joined by “or” are alternatives.

    >>> text = "Adults with asthma or epilepsy, boys without malaria"
    >>> [(population.name, population.kind) for population in people_with(text)]
    [('people with asthma', 'condition 11'), ('people with epilepsy', 'condition 11'), ('people without malaria', ...)]
    """
    spend()
    groups: dict[tuple[int, bool], list[Mention]] = {}
    for condition in conditions_in(text) if _SAYS_WITH.search(text) else ():
        match = _WITH.search(text, max(0, condition.start - NEAR), condition.start)
        if match is not None and not _EITHER.search(how := match["how_not"] or match["how"]):
            start, end = match.span("how_not" if match["how_not"] else "how")
            is_not = _WITHOUT.search(how) or _NOT_BEFORE.search(text, max(0, start - LOOK_BACK), start)
            groups.setdefault((end, bool(is_not)), []).append(condition)
    for (end, is_without), named in groups.items():
        is_any = not is_without and _OR.search(text, named[0].start, named[-1].end)
        for number, condition in enumerate(named):
            name = f"people {'without' if is_without else 'with'} {condition.name}"
            kind = f"condition {end}" if is_any else f"condition {end}.{number}"
            span = condition.start, condition.end
            yield Population(*span, name, kind, condition=condition.name, is_without=is_without)


@cache
def _organs() -> dict[str, str]:
    """Each name of an organ, and the organ."""
    organs: dict[str, str] = {}
    for _site, organ, _sex, names in rows("organs.tsv"):
        organs |= dict.fromkeys((organ, *names.split("|")), organ)
    return organs


def organ_named(words: str) -> str | None:
    """The organ that an entry of a record means; None where it is none of the table.

    >>> organ_named("Ovaries"), organ_named("womb"), organ_named("no prostate"), organ_named("spleen")
    ('ovary', 'uterus', 'prostate', None)
    """
    return _organs().get(_GONE.sub("", " ".join(words.lower().split())).removeprefix("a ").strip())


def is_there(words: str) -> bool:
    """Whether an entry says that somebody has the organ, and not that it is gone.

    >>> is_there("cervix"), is_there("no cervix"), is_there("uterus removed")
    (True, False, False)
    """
    return _GONE.search(words) is None


def organ_of(site: str | None) -> str | None:
    """The organ of a cancer, where only some people have it.

    >>> organ_of("Endometrial cancer"), organ_of("Lung cancer")
    ('uterus', None)
    """
    if not site or site.startswith("Several"):
        return None
    named = ((organ, word) for word, organ, *_ in rows("organs.tsv") if word)
    return next((organ for organ, word in named if re.search(rf"\b{word}\b", site, re.IGNORECASE)), None)


@cache
def sex_with(organ: str) -> Sex | None:
    """The sex that has an organ unless the record says otherwise; None where both do.

    >>> sex_with("testis"), sex_with("breast")
    ('male', None)
    """
    sex = next(sex for _, name, sex, _ in rows("organs.tsv") if name == organ)
    return cast(Sex, sex) if sex else None


@cache
def _with_organ() -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name, organ in _organs().items() if sex_with(organ))
    return re.compile(
        rf"\b(?:(?P<without>without|no|does not have|do not have)|with|have|has|having)\s+(?:an?\s+|the\s+|their\s+)?"
        rf"(?P<organ>{names})\b(?P<gone>\s+(?:was\s+)?removed)?(?=\s*(?:[.,;:)]|$)|\s+(?:and|or|who|aged)\b)"
        rf"|\b(?P<lost>{names})\s+(?:was\s+|has been\s+)?(?:removed|excised)\b",
        re.IGNORECASE,
    )


def _organ_populations(text: str) -> Iterator[Population]:
    for match in _with_organ().finditer(text):
        organ = _organs()[(match["organ"] or match["lost"]).lower()]
        is_without = bool(match["without"] or match["gone"] or match["lost"])
        name = f"people {'without' if is_without else 'with'} {with_article(organ)}"
        yield Population(*match.span(), name, f"organ {organ}", organ=organ, is_without=is_without)


def with_article(organ: str) -> str:
    """The organ as a sentence names it.

    >>> with_article("ovary"), with_article("uterus")
    ('an ovary', 'a uterus')
    """
    return f"{'an' if organ[0] in 'aeio' else 'a'} {organ}"


_ALLERGIC = re.compile(
    r"\b(?P<short>pen[\s-])?(?:allerg(?:y|ies|ic)|hypersensitiv\w+)\b(?P<to>\s+to\b)?", re.IGNORECASE
)
"""An allergy; clinicians write “pen allergic” for penicillin."""
_DENIED = re.compile(r"\b(?:no|not|without|nil|non)\b[^.;:,]{0,25}$", re.IGNORECASE)


def _allergic(text: str) -> Iterator[Population]:
    """People who are allergic to a medicine, or not: “without penicillin allergy”, “allergic to amoxicillin”.

    >>> [(one.condition, one.is_without) for one in _allergic("No penicillin allergy, allergic to doxycycline")]
    [('allergy to penicillin', True), ('allergy to tetracycline', False)]
    """
    for match in _ALLERGIC.finditer(text):
        first = max(text.rfind(mark, 0, match.start()) for mark in ",.;:") + 1
        first = max(first, match.start() - LOOK_BACK)
        if match["short"]:
            start, end, family = *match.span(), "penicillin"
        elif match["to"] and (behind := medicines(text[match.end() : match.end() + LOOK_BACK])):
            start, end, family = match.start(), match.end() + behind[0].end, behind[0].family
        elif (before := medicines(text[first : match.start()])) and first + before[-1].end >= match.start() - 2:
            start, end, family = first + before[-1].start, match.end(), before[-1].family
        else:
            continue
        is_without = _DENIED.search(text, max(0, start - LOOK_BACK), start) is not None
        name = f"people {'not ' if is_without else ''}allergic to {family}"
        yield Population(start, end, name, "allergy", condition=f"allergy to {family}", is_without=is_without)


# ------------------------------------------------------------------------------------------------- whom a text is about

_EXCEPT = re.compile(
    r"(?:(?P<pure>except|unless|excluding|other than|but not)|not (?:for|in|be used in|be given in|recommended (?:for"
    r"|in)|suitable for)|avoid(?:ed)? in|contra-?indicated in)\s+(?:[\w,]+\s+){0,4}$",
    re.IGNORECASE,
)
_PROHIBITS = re.compile(r"^\W*(?:do not|don't|avoid|never|contra-?indicat)", re.IGNORECASE)
_FOR = re.compile(
    r"(?:^|[:;]|\b(?:in|for|to|among|treat|all|during|when|if|with|both|and|or|non|not|give|offer|except"
    r"|unless|of|who are))\W{0,3}(?:[\w-]+\W{1,3}){0,3}$",
    re.IGNORECASE,
)
"""What stands before people whom a sentence is for."""
_NOT_FOR = re.compile(
    r"\b(?:risks?|harm\w*|danger\w*|toxic\w*|pass\w*|transmi\w+|spread\w*)\s+(?:to|for|of)\s+(?:[\w-]+\s+){0,2}$",
    re.IGNORECASE,
)
"""People who may come to harm, and whom the sentence is not for."""
_SAME = re.compile(r"\s+(?:(?:who|which)\s+(?:are|is|were)\s+(?:currently\s+)?|(?:in|during)\s+)?", re.IGNORECASE)
"""Between two words for the same people: “pregnant women”, “women who are breastfeeding”."""


@lru_cache(maxsize=20_000)
def populations(text: str, *, is_heading: bool = True) -> tuple[Population, ...]:
    """Whom a heading, a row or a sentence is for; a sentence may name people whom it is not for.

    >>> [population.name for population in populations("Adults with asthma, eGFR below 30")]
    ['adults', 'people with asthma', 'people with eGFR below 30']
    >>> populations("There is a risk to the baby.", is_heading=False)
    ()
    >>> [population.name for population in populations("Child: neonate, 25 mg/kg")]
    ['newborns']
    """
    spend()
    stages, measured = list(_stages(text)), list(_measured(text))
    weeks, amounts = ([limits for limits in measured if (limits.of == "week") is is_week] for is_week in (True, False))
    taken = {at for population in stages for at in range(population.start, population.end)}
    others = [
        *stages,
        *(_limited(limits) for limits in (*age_limits(text), *amounts) if limits.start not in taken),
        *(population for population in people_with(text) if population.start not in taken),
        *_organ_populations(text),
        *(other for other in _allergic(text) if is_heading or _is_for(text, other.start) or other.is_without),
    ]
    every = (_unless(text, population) for population in (*_named(text, is_heading=is_heading), *others))
    kept = [_with_weeks(population, weeks) for population in every if population is not None]
    left = sorted(kept, key=lambda population: population.start)
    labels = {one.start for one, behind in pairwise(left) if _is_label_of(text, one, behind)}
    return tuple(population for population in left if population.start not in labels)


def _is_label_of(text: str, one: Population, behind: Population) -> bool:
    """Whether a group is only the label of a narrower one: of “Child: neonate, 25 mg/kg” the newborns decide."""
    return one.kind == behind.kind == "people" and text[one.end : behind.start].strip() == ":"


_LIMITED = re.compile(
    r"\s*(?:who (?:are|were|weigh)|aged?|of|from|between|under|over|below|above|younger|older|up to|[<>≤≥(]?\d)"
)


def _unless(text: str, population: Population) -> Population | None:
    """Who is left where people are excepted: the other side of a limit, those without a condition; else it is asked."""
    excepted = _EXCEPT.search(text, max(0, population.start - NEAR), population.start)
    if excepted is None or _PROHIBITS.match(text) or not (excepted["pure"] or population.kind == "people"):
        return population
    if population.is_pregnant or population.is_breastfeeding:
        name = "pregnant" if population.is_pregnant else "breastfeeding"
        left = Population(population.start, population.end, f"people who are not {name}", f"not {name}")
        return replace(left, is_pregnant=False) if population.is_pregnant else replace(left, is_breastfeeding=False)
    unread = replace(
        population, problem=f"“{text[excepted.start() : population.end]}” is an exception: check who that is"
    )
    if population.kind == "people" and _LIMITED.match(text, population.end):
        return None  # “children under 5”: the limit says who is meant
    if population.kind == "people" or population.problem or (population.condition and population.limits):
        return unread
    if not population.limits:
        return replace(population, is_without=not population.is_without)
    limits = population.limits[0]
    turned = replace(limits, low=limits.high, high=limits.low, is_over=limits.is_through, is_through=limits.is_over)
    is_open = limits.low is None or limits.high is None
    return replace(population, name=f"all but {population.name}", limits=(turned,)) if is_open else unread


def _named(text: str, *, is_heading: bool) -> list[Population]:
    """People by a word of the table; two words for the same people are one population."""
    people: list[Population] = []
    limiting = [word for word in people_words() if word.is_limiting]
    every = [(match, word) for word in limiting for match in word.pattern.finditer(text)]
    for match, word in sorted(every, key=lambda pair: (pair[0].start(), -pair[0].end())):
        start, end = match.span()
        if people and start < people[-1].end:
            continue
        is_same = bool(people) and _SAME.fullmatch(text, people[-1].end, start) is not None
        if is_heading or _is_for(text, start) or is_same:
            population = replace(word.population, start=start, end=end)
            if is_same and (joined := _joined(people[-1], population)):
                people[-1] = joined
            else:
                people.append(population)
    return people


def _is_for(text: str, start: int) -> bool:
    spend()
    window = max(0, start - NEAR), start
    return _FOR.search(text, *window) is not None and not _NOT_FOR.search(text, *window)


def _joined(first: Population, second: Population) -> Population | None:
    """The people of both words; None where these exclude each other."""
    if first.sex and second.sex and first.sex != second.sex:
        return None
    if first.widest and second.widest and not first.widest.meets(second.widest):
        return None
    main, other = (second, first) if second.is_special and not first.is_special else (first, second)
    name = other.name if main.is_pregnant is False else main.name
    limits = main.limits or other.limits
    return replace(
        main, start=first.start, end=second.end, name=name, limits=limits, widest=main.widest or other.widest,
        sex=main.sex or other.sex, setting=main.setting or other.setting,
        is_pregnant=other.is_pregnant if main.is_pregnant is None else main.is_pregnant,
        is_breastfeeding=main.is_breastfeeding or other.is_breastfeeding,
    )  # fmt: skip


def _with_weeks(population: Population, weeks: Sequence[ValueBand]) -> Population:
    """Pregnant women with the weeks that stand nearest; anybody else as they are."""
    own = min(weeks[:MOST], key=lambda limits: abs(limits.start - population.start), default=None)
    if own is None or not population.is_pregnant:
        return population
    return replace(population, limits=(*population.limits, own), problem=_limited(own).problem)


# --------------------------------------------------------------------------------------------------- who is one of them


def applies(people: Sequence[Population], patient: Patient) -> Applicability:
    """Whether somebody is in one population of each kind; what is not known of them leaves it open, with the reason.

    >>> whom = populations("Pregnant women after 28 weeks")
    >>> [applies(whom, Patient(is_pregnant=True, pregnancy_weeks=weeks)).answer.value for weeks in (30, 20, None)]
    ['applicable', 'not applicable', 'not known']
    """
    kinds: dict[str, list[Population]] = {}
    for population in people:
        kinds.setdefault(population.kind, []).append(population)
    reasons: list[str] = []
    is_specific = False
    for alternatives in kinds.values():
        judged = [(population, *belongs(population, patient)) for population in alternatives]
        sure = [population for population, answer, _ in judged if answer is Applies.YES]
        unsure = [f"for {population.name}; {why}" for population, answer, why in judged if answer is Applies.UNKNOWN]
        if sure:
            is_specific = is_specific or any(population.is_special for population in sure)
        elif unsure:
            reasons += unsure
        else:
            population, _, why = judged[0]
            return Applicability(Applies.NO, (f"for {population.name}; {why}",))
    return Applicability(Applies.UNKNOWN if reasons else Applies.YES, tuple(reasons), is_specific)


def belongs(population: Population, patient: Patient) -> tuple[Applies, str]:
    """Whether somebody is one of a population, and why not, or what is not known."""
    judged = [*_judged(population, patient)]
    for wanted in (False, None):
        if why := next((why for answer, why in judged if answer is wanted), None):
            return (Applies.NO if wanted is False else Applies.UNKNOWN), why
    return Applies.YES, ""


def _judged(population: Population, patient: Patient) -> Iterator[tuple[bool | None, str]]:
    """Each thing that a population asks for: whether it holds, and what is so or not known."""
    if population.problem:
        yield None, population.problem
        return
    pregnant, feeding = patient.is_pregnant, patient.is_breastfeeding
    is_told = (population.is_pregnant and pregnant) or (population.is_breastfeeding and feeding)
    for wanted, given, words in (
        (None if is_told else population.sex, patient.sex, f"the patient is {patient.sex}"),  # a man may be pregnant
        (population.is_pregnant, pregnant, f"the patient is {'' if pregnant else 'not '}pregnant"),
        (population.is_breastfeeding, feeding, f"the patient is {'' if feeding else 'not '}breastfeeding"),
        (population.setting, patient.setting, f"this is {patient.setting}"),
    ):
        if wanted is not None:
            yield (None, "not known of the patient") if given is None else (wanted == given, words)
    if population.condition is not None:
        yield _has_condition(population, patient)
    if population.organ is not None:
        has = has_organ(population.organ, patient.organs, patient.sex)
        how = {True: "has", False: "does not have", None: "is not known to have"}[has]
        words = f"the patient {how} {with_article(population.organ)}"
        yield None if has is None else has != population.is_without, words
    for limits in population.limits:
        if is_told and limits.of == "age":
            continue
        known = _known(limits.of, patient)
        if known is None:
            yield None, f"the {_CALLED.get(limits.of, limits.of)} is not known"
            continue
        is_open = limits.of == "age" and population.widest is not None and population.widest.has(*known)
        value = " to ".join(dict.fromkeys(f"{end:g}" for end in known))
        words = f"the patient {_TOLD[limits.of].format(value if limits.of != 'age' else patient.age_told)}"
        yield limits.has(*known) or (None if is_open else limits.has(*known)), words


_CALLED = {"kg": "weight", "week": "week of the pregnancy"}
_TOLD: dict[str, str] = {
    "age": "is {}", "week": "is {} weeks pregnant", "kg": "weighs {} kg", "eGFR": "has an eGFR of {}",
    "creatinine clearance": "has a creatinine clearance of {}",
}  # fmt: skip


def _known(of: str, patient: Patient) -> tuple[float, float] | None:
    """What is known of somebody, from one value to another."""
    values = {
        "age": patient.age_years, "week": patient.pregnancy_weeks, "kg": patient.weight_kg,
        "creatinine clearance": patient.creatinine_clearance,
    }  # fmt: skip
    value = values.get(of)
    return patient.egfr if of == "eGFR" else None if value is None else (value, value)


def _has_condition(population: Population, patient: Patient) -> tuple[bool | None, str]:
    assert population.condition is not None
    wanted = concept_ids(population.condition)
    if population.condition in patient.conditions:
        return not population.is_without, f"the patient has {population.condition}"
    if population.condition in patient.without:
        return population.is_without, f"the patient has no {population.condition}"
    if any(not wanted.isdisjoint(ids | broader(ids)) for ids in map(concept_ids, patient.conditions)):
        return not population.is_without, f"the patient has {population.condition}"
    if any(not concept_ids(absent).isdisjoint(wanted | broader(wanted)) for absent in patient.without):
        return population.is_without, f"the patient has no {population.condition}"
    return None, f"the patient is not known to have {population.condition}"


def has_organ(organ: str, organs: Sequence[str], sex: str | None) -> bool | None:
    """Whether somebody has an organ, by the organs on record, else by sex; one left out beside its like is not known.

    >>> [has_organ("cervix", organs, "male") for organs in (["cervix"], ["ovaries"], ["prostate"], [])]
    [True, None, False, False]
    """
    on_record = {named: is_there(words) for words in organs if (named := organ_named(words))}
    if organ in on_record:
        return on_record[organ]
    sexes = {sex_with(named) for named, is_had in on_record.items() if is_had} - {None}
    if sexes:
        return None if sex_with(organ) in sexes else False
    return None if sex is None else sex == sex_with(organ)


# ------------------------------------------------------------------------------------------------------ who somebody is

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
_SEX_OF: dict[str, Sex] = {"son": "male", "boy": "male", "daughter": "female", "girl": "female"}
_NO_SEX = re.compile(r"\b(?:trans(?:gender|sexual)?|non-?binary|intersex)\b", re.IGNORECASE)
"""What does not tell which organs somebody has."""
_SEXES: dict[Sex, re.Pattern[str]] = {
    "female": re.compile(r"\b(?:woman|female|girl|lady|mrs|ms)\b|\bsex:?\s*f\b|^f\.?$|\bI'm (?:her|his) wife\b", re.I),
    "male": re.compile(r"\b(?:man|male|boy|gentleman|mr)\b|\bsex:?\s*m\b|^m\.?$", re.IGNORECASE),
}
_SPOKEN_OF: dict[Sex, re.Pattern[str]] = {
    "female": re.compile(r"\b(?:women|she|her|mother|mum|wife|daughter)\b", re.IGNORECASE),
    "male": re.compile(r"\b(?:men|he|him|his|father|dad|husband|son)\b", re.IGNORECASE),
}
_OTHERS = re.compile(r"\b(?:my|his|her|with an?|by an?|the other)\s+$", re.IGNORECASE)
_PREGNANCY = re.compile(
    r"\b(?:(?P<trimester>first|second|third|1st|2nd|3rd)\s+trimester(?:\s+of\s+pregnancy)?|pregnant"
    r"|expecting a baby|gravid)\b",
    re.IGNORECASE,
)
_GRAVIDA = re.compile(
    r"\b(?:G\s?\d{1,2}\s?P\s?\d{1,2}(?:\s?\+\s?\d)?|primip\w*|primigravida|multip(?:arous|ara|gravida)?)\b[\s,;:-]{1,3}"
    r"(?:at |now |currently )?(?P<weeks>\d{1,2})(?:\+\d)?\s?(?:weeks?|wks?|w)\b(?!\s*(?:post|ago|old|after))",
    re.IGNORECASE,
)
PLANS_PREGNANCY = "planning pregnancy"
_PLANS = re.compile(
    r"\bTTC\b|\b(?:trying|hoping|wants?|wanting|wishes|wishing|plans?|planning|going|would like|hopes?|keen)\b"
    r"(?:\s+(?:to|for|on))?\s+(?:(?:try(?:ing)? (?:for|to) |have |having |start(?:ing)? |get(?:ting)? |becom(?:e|ing) "
    r"|fall(?:ing)? )?(?:(?:a|an|another|her|their|first|second) ){0,2}"
    r"(?:baby|child|famil(?:y|ies)|pregnan(?:t|cy)))\b(?!-)"
    r"|\b(?:trying|hoping|wants?|wishes|plans?|planning) (?:to|on) conceiv(?:e|ing)\b",
    re.IGNORECASE,
)
FIRST_WEEK, LAST_WEEK = 4, 43
_BARE_YEARS = re.compile(
    r"(?:^|[,.]\s*)(?P<age>(?P<count>\d{2})\s*(?:years|yrs?|y/?o|y))\b(?=\s*(?:[,.;]|$))", re.IGNORECASE
)
_OPENING = re.compile(
    r"\s*+(?:(?P<title>(?i:mr|mrs|ms|miss|master))\b\.?,?\s*+(?:[A-Z]\b)?)?"
    r"(?:(?P<letter>[MF])\s*[/,]\s*|(?P<name>[A-Z][a-z'’-]+(?:\s+[A-Z][a-z'’-]+)?)?(?P<comma>,)?\s*+)"
    r"(?P<count>\d{1,3})\s*(?P<unit>years?|yrs?|y/?o|y|months?|mths?|mo|weeks?|wks?)?\b(?:\s*old\b)?"
    r"(?=\s*(?:[,.;:(]|$|\d|[MF]\b|male|female|boy|girl|man|woman))"
)
"""Who a note is about, at its very beginning; a bare number is an age only behind a title, or a name and a comma."""
_NO_NAMES = frozenset(
    "smoker smoking married works worked lasted onset duration last past over about day week month since for seen "
    "started known history stage grade type bed room ward para gravida non ex ago aged age temp weight wt".split()
)
_UNSURE = re.compile(
    r"\b(?:not sure|might be|may be|could be|don't know|unsure|possibly|if (?:i'm|she's|i am|she is))\b", re.I
)
_NOT = re.compile(
    r"\b(?:not|isn't|no|never been|cannot be|can't be|couldn't be|wasn't|ain't)\b[\w\s']{0,12}$", re.IGNORECASE
)
_EARLIER = re.compile(r"\b(?:last|first|previous|second|when i was|years ago|was)\b[\w\s]{0,15}$", re.IGNORECASE)
_OF_OTHER = re.compile(
    r"\b(?:wife|partner|girlfriend|sister|daughter(?:-in-law)?|mother|mum|mom|friend|colleague)(?:'s| is| was| who is)?"
    r"[\w\s]{0,12}$",
    re.IGNORECASE,
)
"""Before a pregnancy that is not the patient's: “his wife is 20 weeks pregnant”."""
_BREAST = re.compile(
    r"\b(?:breast-?\s?feeding|breast-?\s?feeds|lactating|nursing (?:my|her|a|the) (?:baby|newborn|infant)"
    r"|baby (?:is )?on the breast)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Trait:
    """Something that says who somebody is."""

    start: int
    end: int
    name: str
    value: float | None = None
    unit: str | None = None
    words: str | None = None
    """The sex, or how an age in years follows."""
    is_denied: bool = False
    is_doubtful: bool = False


def find_traits(sentence: str, *, is_adult: bool = False) -> list[Trait]:
    """Age, sex, pregnancy and breastfeeding, as a sentence tells them; a known adult's child is somebody else.

    >>> [(trait.name, trait.value or trait.words) for trait in find_traits("28-year-old woman, 9 weeks pregnant")]
    [('age', 28.0), ('sex', 'female'), ('pregnant', 9.0)]
    >>> [(trait.name, trait.value) for trait in find_traits("Mum says he's 6, fever since Monday")]
    [('age', 6.0)]
    >>> [trait.value for trait in find_traits("My daughter is 40 and has diabetes") if trait.name == "age"]
    []
    """
    spend()
    flat = sentence.replace("’", "'")
    traits = [*_ages(flat), *_sexes(flat), *_pregnancies(flat), *_planned_pregnancy(flat), *_feeding(flat)]
    known = {trait.name for trait in traits}
    child = () if is_adult else (trait for trait in _child(flat) if trait.name not in known)
    opening = () if "age" in known else (trait for trait in _opening(flat) if trait.name not in known)
    once = {trait.name: trait for trait in (*opening, *child)}
    return sorted([*traits, *once.values()], key=lambda trait: trait.start)


def _opening(flat: str) -> Iterator[Trait]:
    """Age and sex as a note opens with them: “Mr, 34 yrs”, “Jayden 5 yrs 18kg”, “Bob, 56.”, “F/45”, “Mrs W, 83”."""
    if _GRAVIDA.search(flat) and (told := _BARE_YEARS.search(flat)) is not None:
        yield Trait(*told.span("age"), "age", float(told["count"]), "years")
        return
    match = _OPENING.match(flat)
    if match is None:
        return
    name, unit = match["name"] or "", match["unit"] or ""
    is_named = bool(name) and not mentions(name) and not medicines(name) and name.casefold() not in _NO_NAMES
    is_told = bool(match["title"] or match["letter"]) or (is_named and bool(match["comma"] or unit))
    if not is_told or (name and not is_named) or not (unit or match["letter"] or match["comma"]):
        return
    words = f"{match['count']} {unit or 'years'} old"
    age = next(iter(ages(words)), None)
    if age is None or age.problem:
        return
    arithmetic = None if age.unit == "year" else f"{match['count']} {unit} = {age.years:.2f} years"
    end = match.end("unit") if unit else match.end("count")
    yield Trait(match.start("name") if name else match.start("count"), end, "age", age.years, "years", arithmetic)
    if letter := match["letter"]:
        yield Trait(*match.span("letter"), "sex", words="female" if letter == "F" else "male")
    elif (match["title"] or "").casefold() in ("miss", "master"):
        yield Trait(*match.span("title"), "sex", words="female" if match["title"].casefold() == "miss" else "male")


def _child(sentence: str) -> Iterator[Trait]:
    """Age and sex of the child whom a parent speaks of; a grown one is somebody else."""
    match = _CHILD.match(sentence)
    if match is None:
        return
    words = f"{match['count']} {match['unit'] or 'years'} old"
    years = next(iter(ages(words))).years
    if years >= ADULT_YEARS:
        return
    is_years = not match["unit"] or match["unit"].lower().startswith("y")
    arithmetic = None if is_years else f"{match['count']} {match['unit']} = {years:.2f} years"
    yield Trait(match.start("count"), match.end(), "age", years, "years", arithmetic)
    if sex := _SEX_OF.get(match["child"].lower()):
        yield Trait(*match.span("child"), "sex", words=sex)


def _ages(sentence: str) -> Iterator[Trait]:
    """The first age that is the patient's, and the sex that stands with it."""
    found = [age for age in ages(sentence) if age.of == "patient" and not age.problem]
    lengths = [quantity for quantity in quantities(sentence) if quantity.told == "length"] if found else []
    age = next(
        (age for age in found if not any(length.start < age.end and age.start < length.end for length in lengths)), None
    )
    if age is not None:
        arithmetic = None if age.unit == "year" else f"{age.text.strip()} = {age.years:.2f} years"
        yield Trait(age.start, age.end, "age", age.years, "years", arithmetic)
        letter = re.search(r"(?<![^\W\d_])[MFmf](?![^\W\d_])", age.text)
        behind = re.match(r"\s*+(?:,\s*+)?(?P<letter>[MF])(?=\s*(?:[,.;:(]|$))", sentence[age.end :])
        if age.sex and letter:
            start = age.start + letter.start()
            yield Trait(start, start + 1, "sex", words=age.sex)
        elif behind:
            start = age.end + behind.start("letter")
            yield Trait(start, start + 1, "sex", words="female" if behind["letter"] == "F" else "male")


def _sexes(sentence: str) -> Iterator[Trait]:
    if _NO_SEX.search(sentence):
        return
    for sex, pattern in _SEXES.items():
        for match in pattern.finditer(sentence):
            if not _OTHERS.search(sentence, max(0, match.start() - LOOK_BACK), match.start()):
                yield Trait(*match.span(), "sex", words=sex)
                return


def _pregnancies(sentence: str) -> Iterator[Trait]:
    weeks = [time for time in durations(sentence) if time.kind == "gestation" and time.days is not None]
    yield from _obstetric(sentence)
    spans = [match.span() for match in _PREGNANCY.finditer(sentence)]
    spans += [(time.start, time.end) for time in weeks if not any(_near(time, span) for span in spans)]
    for start, end in sorted(spans):
        own = next((duration for duration in weeks if _near(duration, (start, end))), None)
        trimester = _PREGNANCY.match(sentence, start)
        low, high = (start, end) if own is None else (min(start, own.start), max(end, own.end))
        before = sentence[max(0, low - NEAR) : low]
        if (_EARLIER.search(before) and not _NOT.search(before)) or _OF_OTHER.search(before):
            continue
        value = None if own is None or own.days is None else float(own.days // 7)
        if trimester and trimester["trimester"]:
            value = _trimester(trimester["trimester"])[2]
        doubtful = _UNSURE.search(before) is not None
        denied = _NOT.search(before) is not None and not doubtful
        yield Trait(low, high, "pregnant", value, "weeks" if value else None, None, denied, doubtful)


def _obstetric(sentence: str) -> Iterator[Trait]:
    """A pregnancy as midwives write it: “G2P1, 28 weeks”, “P0+1 at 34 wks”."""
    match = _GRAVIDA.search(sentence)
    if match and FIRST_WEEK <= int(match["weeks"]) <= LAST_WEEK:
        yield Trait(*match.span(), "pregnant", float(match["weeks"]), "weeks")


def _planned_pregnancy(sentence: str) -> Iterator[Trait]:
    """That somebody wants to become pregnant."""
    for match in _PLANS.finditer(sentence):
        before = sentence[max(0, match.start() - LOOK_BACK) : match.start()]
        yield Trait(*match.span(), PLANS_PREGNANCY, is_denied=_NOT.search(before) is not None)


def _near(weeks: Duration, span: tuple[int, int]) -> bool:
    """Whether weeks stand beside the word that tells of a pregnancy."""
    return weeks.start - 8 <= span[1] and span[0] - 8 <= weeks.end


def _feeding(sentence: str) -> Iterator[Trait]:
    for match in _BREAST.finditer(sentence):
        before = sentence[max(0, match.start() - LOOK_BACK) : match.start()]
        yield Trait(*match.span(), "breastfeeding", is_denied=_NOT.search(before) is not None)


def person(text: str) -> Patient:
    """The person whom a question or a note describes, as far as it says; the rest is not known.

    >>> patient = person("70F, CKD stage 4, no asthma")
    >>> patient.age_years, patient.sex, patient.conditions, patient.without, patient.egfr
    (70.0, 'female', ('chronic kidney disease',), ('asthma',), (15.0, 29.0))
    >>> [person(text).age_years for text in ("Can my 5 year old have it?", "My mother is 80, I am 50.")]
    [5.0, 50.0]
    """
    spend()
    traits = {trait.name: trait for trait in reversed(find_traits(text)) if not trait.is_doubtful}
    pregnant, feeding = traits.get("pregnant"), traits.get("breastfeeding")
    sex = traits["sex"].words if "sex" in traits else _spoken_of(text)
    assertions: dict[Polarity, dict[str, None]] = {Polarity.PRESENT: {}, Polarity.ABSENT: {}, Polarity.PAST: {}}
    named = conditions_in(text)
    context = read_context(text) if named else None
    for mention in named:
        status = context.assertion(mention.start, mention.end).status if context else Polarity.PRESENT
        assertions.get(status, {})[mention.name] = None
    measured = [result for result in results(text) if result.values and not result.problem and result.sign == "="]
    values = {result.test: result.values for result in measured}
    egfr = values.get("eGFR") or egfr_of_stage(text)
    organs = tuple(f"{'no ' if having.is_without else ''}{having.organ}" for having in _organ_populations(text))
    is_male = sex == "male" and not organs
    allergic = list(_allergic(text))
    allergies = {
        is_not: [str(other.condition) for other in allergic if other.is_without is is_not] for is_not in (True, False)
    }
    return Patient(
        age_years=traits["age"].value if "age" in traits else _age_of_other(text),
        sex=sex,
        is_pregnant=not pregnant.is_denied if pregnant else (False if is_male else None),
        pregnancy_weeks=pregnant.value if pregnant and not pregnant.is_denied else None,
        is_breastfeeding=not feeding.is_denied if feeding else (False if is_male else None),
        weight_kg=next(iter(values.get("weight", ())), None),
        conditions=(*assertions[Polarity.PRESENT], *assertions[Polarity.PAST], *allergies[False]),
        without=(*assertions[Polarity.ABSENT], *allergies[True]),
        egfr=None if egfr is None else (egfr[0], egfr[-1]),
        creatinine_clearance=next(iter(values.get("creatinine clearance", ())), None),
        organs=organs,
    )


def _age_of_other(text: str) -> float | None:
    """The age of the only person whose age is told, such as the asker's child."""
    told = {age.years for age in ages(text) if age.of == "other" and not age.problem}
    return told.pop() if len(told) == 1 else None


def _spoken_of(text: str) -> Sex | None:
    """The sex of the only people whom a text speaks of, by their names and pronouns."""
    if _NO_SEX.search(text):
        return None
    spoken = [sex for sex in _SEXES if _SEXES[sex].search(text) or _SPOKEN_OF[sex].search(text)]
    return spoken[0] if len(spoken) == 1 else None


# ------------------------------------------------------------------------------------------------- of one, or of people

_STATES = re.compile(
    r"\b(?:(?:the|this|that|our|your|my)\s+(?:patient|person|man|woman|child|boy|girl|baby)|he|she|you)\b"
    r"(?:\s+[\w-]+){0,8}?\s+(?:has|have|had|suffers?|suffering|diagnosed|developed|got|(?:is|are|was|were)\s+(?:ill|sick|free))\b"
    r"|\b(?:is|are|was|were)\s+(?:suffering\s+from|diagnosed\s+with)\b"
    r"|\bthe\s+diagnosis\s+is\b|\b(?:his|her|your|their|the\s+patient['’]s)\s+(?:\w+\s+){0,2}(?:cancer|tumour|tumor|leukaemia)\b",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"\b(?:if|when|whether|unless|where|who|once|whenever|until|in\s+case)\s*(?:\w+\s+){0,2}$", re.IGNORECASE
)
"""Before it: “if the patient has jaundice” says of nobody that they have."""


def of_a_person(sentence: str) -> str | None:
    """The part of a sentence that says what one person has or had, and not what people do.

    >>> of_a_person("Refer, because the patient is 62 and has jaundice.")
    'the patient is 62 and has jaundice.'
    >>> of_a_person("Refer people with jaundice; ask whether the patient has lost weight.")
    """
    for match in _STATES.finditer(sentence):
        if _SUPPOSES.search(sentence, max(0, match.start() - NEAR), match.start()) is None:
            return sentence[match.start() :]
    return None
