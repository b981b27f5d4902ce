"""What a question asks for, by its words: how much, how often, when, which test."""

from __future__ import annotations

import re
from functools import cache

from citewell.clinical.tables import rows


def question_cues(question: str) -> frozenset[str]:
    """What a question sounds like by its words, by the names in `question_cues.tsv`; it may sound like several.

    >>> sorted(question_cues("How much ORS for a 12 kg child?"))
    ['dose', 'question']
    """
    names = {name for name, pattern in _cues() if pattern.search(question)}
    return frozenset(names - {"what"} if "which" in names else names)


@cache
def _cues() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in rows("question_cues.tsv"))
