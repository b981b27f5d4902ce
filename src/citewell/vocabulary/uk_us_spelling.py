"""UK and US spelling of a word, from the table `spelling.tsv`."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from citewell import vocabulary

PLACES = {"start": "^{}", "end": "{}(?=s?$)", "part": "{}", "word": "^{}(?=s?$)"}
"""The pattern for each value of the column “where”."""


@lru_cache(maxsize=50_000)
def us_spelling(word: str) -> str:
    """A folded word in US spelling.

    >>> [us_spelling(word) for word in ("haemoptysis", "oedema", "tumours", "randomised", "generalist", "cough")]
    ['hemoptysis', 'edema', 'tumors', 'randomized', 'generalist', 'cough']
    """
    pattern, pairs = _rules()["us"]
    return pattern.sub(lambda match: pairs[match.group()], word)


@lru_cache(maxsize=50_000)
def uk_spelling(word: str) -> str:
    """A folded word in UK spelling; a word already spelt so stays.

    >>> [uk_spelling(word) for word in ("hemoptysis", "edema", "oedema", "esophageal", "epidemic", "hemisphere")]
    ['haemoptysis', 'oedema', 'oedema', 'oesophageal', 'epidemic', 'hemisphere']
    """
    if us_spelling(word) != word:
        return word
    pattern, pairs = _rules()["uk"]
    return pattern.sub(lambda match: pairs[match.group()], word)


def other_spelling(word: str) -> str | None:
    """The spelling of a folded word on the other side of the Atlantic, or None where both are the same.

    >>> other_spelling("haematuria"), other_spelling("pediatric"), other_spelling("cough")
    ('hematuria', 'paediatric', None)
    """
    us = us_spelling(word)
    other = us if us != word else uk_spelling(word)
    return other if other != word else None


@cache
def _rules() -> dict[str, tuple[re.Pattern[str], dict[str, str]]]:
    """For each side, one pattern of all that changes, longest first, and what it becomes."""
    to_us: list[tuple[str, str, str]] = []
    to_uk: list[tuple[str, str, str]] = []
    for uk, us, where, direction in vocabulary.rows("spelling.tsv"):
        to_us.append((uk, us, where))
        if direction == "both":
            to_uk.append((us, uk, where))
    return {"us": _compiled(to_us), "uk": _compiled(to_uk)}


def _compiled(changes: list[tuple[str, str, str]]) -> tuple[re.Pattern[str], dict[str, str]]:
    ordered = sorted(changes, key=lambda change: -len(change[0]))
    pattern = "|".join(PLACES[where].format(_guarded(old, new)) for old, new, where in ordered)
    return re.compile(pattern), {old: new for old, new, _ in changes}


def _guarded(old: str, new: str) -> str:
    """A verb ending (-is, -iz) changes before e, i or a alone: “specialist” has no z."""
    return f"{old}(?=[eia])" if {old[-2:], new[-2:]} == {"is", "iz"} else old
