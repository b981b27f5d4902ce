"""Whom a question asks for, children or adults, and whom a text is written for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from citewell.clinical.quantities import BARE, LOOK_BACK, Quantity, person_before, person_words, quantities

Group = Literal["child", "adult"]

YEAR = 365
"""Days; ages are held in days."""

ADULT_FROM, CHILD_BELOW = 18 * YEAR, 12 * YEAR
"""An age from 18 on is an adult's. “Aged 16 and over” is written for adults; what begins below 12 is for both."""

_MAY_BE_AGE = re.compile(r"\bage|\bold|[\d\s-]yo\b|y/o|\bover|\babove|\byoung|\bunder|\bbelow|[<>≥≤⩾⩽]", re.IGNORECASE)
"""Without any of these a text tells no age."""
_SHORT = re.compile(r"\b(?P<years>\d{1,3})[\s-]?yo\b", re.IGNORECASE)
_OF_BIRTH = re.compile(r"\b(?:unborn|pregnan\w*|breast-?feed\w*|births?|born|lactat\w*)\b", re.IGNORECASE)
"""Where one of these stands, a baby is not who is treated."""


class Ages(NamedTuple):
    """From which age to which, in days."""

    low: float
    high: float

    @property
    def groups(self) -> frozenset[Group]:
        is_of: dict[Group, bool] = {
            "child": self.low < CHILD_BELOW or self.high < ADULT_FROM,
            "adult": self.high >= ADULT_FROM,
        }
        return frozenset(group for group, is_so in is_of.items() if is_so)

    def meets(self, other: Ages) -> bool:
        return self.low <= other.high and other.low <= self.high


@cache
def _naming(group: Group) -> re.Pattern[str]:
    return re.compile(person_words()[group], re.IGNORECASE)


@lru_cache(maxsize=4096)
def ages(text: str) -> tuple[Ages, ...]:
    """The ages of people that a text tells.

    >>> [(round(age.low / YEAR), age.high / YEAR) for age in ages("Aged 16 and over: 5 mg for 3 years")]
    [(16, inf)]
    >>> ages("My stitches are 10 days old"), ages("He is 10 days old")
    ((), (Ages(low=10.0, high=10.0),))
    """
    if _MAY_BE_AGE.search(text) is None:
        return ()
    short = [int(found["years"]) * YEAR for found in _SHORT.finditer(text)]
    return (*(_reach(one) for one in quantities(text) if _is_age(one, text)), *(Ages(age, age) for age in short))


def _is_age(amount: Quantity, text: str) -> bool:
    """Whether a time is the age of a person; a bare number is one as a limit of people: “people 40 and over”."""
    if amount.dimension == "time":
        return amount.told == "age"
    before = text[max(0, amount.start - LOOK_BACK) : amount.start]
    is_of_people = amount.sign != "=" and person_before().search(before) is not None
    return is_of_people and amount.dimension == BARE and not amount.is_word


def _reach(age: Quantity) -> Ages:
    size = 1.0 if age.dimension == "time" else YEAR
    low, high = min(age.values) * size, max(age.values) * size
    if age.sign in (">", ">="):
        return Ages(low, math.inf)
    if age.sign in ("<", "<="):
        return Ages(0.0, high - (age.sign == "<"))
    return Ages(low, high)


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
    groups: tuple[Group, ...] = ("child", "adult")
    named = frozenset(group for group in groups if _naming(group).search(text))
    return named.union(*(age.groups for age in ages(text)))


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
    aged: tuple[Ages, ...] = (),
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
            return not named & asked and not any(one.meets(own) for one in ages(said) for own in aged)
    return is_amount and "child" in asked and "kg" not in text
