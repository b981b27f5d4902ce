"""Tells which illnesses stay, so that a past history that names them says that they are there now."""

from __future__ import annotations

import re
from functools import cache

from citewell.assistants.consult.tables import rows

_HISTORY = re.compile(r"\b(?:(?:past |previous )?(?:medical )?(?:history|hx)(?: of|:)?|pmhx?|h/o)(?!\w)", re.IGNORECASE)


def is_lifelong(name: str) -> bool:
    """Whether an illness stays once somebody has it.

    >>> is_lifelong("type 2 diabetes mellitus"), is_lifelong("gestational diabetes"), is_lifelong("Pneumonia")
    (True, False, False)
    """
    return any(pattern.fullmatch(name) for pattern in _patterns())


def without_history(sentence: str) -> str:
    """The sentence, each letter in its place, without the words that only say that a history follows.

    >>> without_history("PMH: T2DM")
    '   : T2DM'
    """
    return _HISTORY.sub(lambda match: " " * len(match.group()), sentence)


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(row[0], re.IGNORECASE) for row in rows("lifelong.tsv"))
