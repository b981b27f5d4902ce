"""Whom a question asks for, children or adults, and whom a text is written for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Literal, cast

from citewell import vocabulary

Group = Literal["child", "adult"]

ADULT_FROM_YEARS = 18

_OLD = re.compile(
    r"\b(?P<number>\d{1,3})[\s-]*(?:(?P<years>years?|yrs?|y)|months?|weeks?|days?)?[\s/-]*(?:old|of age|o)\b"
    r"|\bage[ds]?\s+(?P<aged>\d{1,3})\b(?!\s*(?:months?|weeks?|days?))",
    re.IGNORECASE,
)
"""An age: “5 year old”, “4 months old”, “aged 62”."""
_AND_OVER = re.compile(r"\b(?P<aged>\d{2})(?: years)? (?:and|or) (?:over|older|above)\b", re.IGNORECASE)
_OF_BIRTH = re.compile(r"\b(?:unborn|pregnan\w*|breast-?feed\w*|births?|born|lactat\w*)\b", re.IGNORECASE)
"""Where one of these stands, a baby is not who is treated."""


@cache
def _words() -> dict[Group, re.Pattern[str]]:
    found: dict[Group, list[str]] = {}
    for group, words in vocabulary.rows("age_groups.tsv"):
        found.setdefault(cast("Group", group), []).append(words)
    return {group: re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE) for group, words in found.items()}


@lru_cache(maxsize=4096)
def age_groups(text: str) -> frozenset[Group]:
    """The groups that a text names, by a word or by an age.

    >>> [sorted(age_groups(text)) for text in ("children and adults", "Refer people aged 40 and over", "Rest.")]
    [['adult', 'child'], ['adult'], []]
    >>> [sorted(age_groups(text)) for text in ("my 5 year old", "a 4 month old", "a 62-year-old", "6 months on")]
    [['child'], ['child'], ['adult'], []]
    """
    named: set[Group] = {group for group, words in _words().items() if words.search(text)}
    for found in (*_OLD.finditer(text), *_AND_OVER.finditer(text)):
        told = found.groupdict()
        years = told.get("aged") or (told.get("number") if told.get("years") else None)
        if years is not None:
            named.add("adult" if int(years) >= ADULT_FROM_YEARS else "child")
        elif told.get("number") and re.search("month|week|day", found.group(), re.IGNORECASE):
            named.add("child")
    return frozenset(named)


def asked_for(question: str) -> frozenset[Group]:
    """The one group that a question asks for; none where it names both, or a baby that is not born or is fed.

    >>> [sorted(asked_for(text)) for text in ("Dose for a child?", "I breastfeed my baby", "Adults and children?")]
    [['child'], [], []]
    """
    named = age_groups(question)
    return named if len(named) == 1 and not _OF_BIRTH.search(question) else frozenset()


def is_for_others(asked: frozenset[Group], text: str, titles: Iterable[str], *, is_amount: bool = False) -> bool:
    """Whether a text is written for the other group alone: by its own words, else by the nearest title that says so.

    Where an amount is asked for, what names nobody is for adults, unless it goes by weight.

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
            return not named & asked
    return is_amount and "child" in asked and "kg" not in text
