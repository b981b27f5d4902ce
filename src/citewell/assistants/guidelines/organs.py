"""Organs that only some people have: which of them a cancer is of, and what a record calls them."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, cast

from citewell.assistants.guidelines.tables import rows

_ABSENT = re.compile(r"^(?:no|without|removed|absent)\b[:\s]*|\s*\b(?:removed|absent|excised)$", re.IGNORECASE)


@cache
def _organs() -> dict[str, str]:
    """Each name of an organ, and the organ."""
    found: dict[str, str] = {}
    for _site, organ, _sex, names in rows("organs.tsv"):
        found |= dict.fromkeys((organ, *names.split("|")), organ)
    return found


def organ_named(words: str) -> str | None:
    """The organ that an entry of a record means; None where it is none of the table.

    >>> organ_named("Ovaries"), organ_named("womb"), organ_named("no prostate"), organ_named("spleen")
    ('ovary', 'uterus', 'prostate', None)
    """
    return _organs().get(_ABSENT.sub("", " ".join(words.lower().split())).removeprefix("a ").strip())


def is_there(words: str) -> bool:
    """Whether an entry says that the patient has the organ, and not that it is gone.

    >>> is_there("cervix"), is_there("no cervix"), is_there("uterus removed")
    (True, False, False)
    """
    return _ABSENT.search(words) is None


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
def sex_with(organ: str) -> Literal["female", "male"] | None:
    """The sex that has an organ unless the record says otherwise; None where both do.

    >>> sex_with("testis"), sex_with("breast")
    ('male', None)
    """
    sex = next(sex for _, name, sex, _ in rows("organs.tsv") if name == organ)
    return cast(Literal["female", "male"], sex) if sex else None


def with_article(organ: str) -> str:
    """The organ as a sentence names it.

    >>> with_article("ovary"), with_article("uterus")
    ('an ovary', 'a uterus')
    """
    return f"{'an' if organ[0] in 'aeio' else 'a'} {organ}"
