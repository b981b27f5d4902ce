"""What the words of a record leave in doubt: “?haematuria”, “rule out X”, “suspected X”, “X cannot be excluded”."""

from __future__ import annotations

import re
from functools import cache

from citewell.assistants.guidelines.compose import Place
from citewell.assistants.guidelines.tables import rows

_STOP = re.compile(r"[;,.?]|\b(?:but|with|also|has|have|reports|complains|now)\b", re.IGNORECASE)
"""Where “suspected cough and fever” ends."""
_NEXT = re.compile(r"[;,.?]|\b(?:and|but|with|also|has|have|on|in a)\b", re.IGNORECASE)
"""Where “?cough” ends: a mark is meant for what stands right after it."""
_START = re.compile(r"(?:[;,.?]|\b(?:and|but|with|also)\b)", re.IGNORECASE)
_MARK = re.compile(r"\?+")
_CAUSE = re.compile(r"\s*(?:cause|aetiology|etiology|why|source|origin|significance|reason)\b", re.IGNORECASE)
"""“Haematuria ?cause” leaves the cause in doubt and not the haematuria."""


@cache
def _cue(kind: str) -> re.Pattern[str]:
    words = next(words for name, words in rows("cues.tsv") if name == kind)
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


def doubts(text: str) -> tuple[Place, ...]:
    """The parts of a text that may be so or not.

    >>> text = "cough ?haematuria, rule out jaundice"
    >>> [text[start:end] for start, end in doubts(text)]
    ['haematuria', ' jaundice']
    """
    found = [_after(text, match.end(), _STOP) for match in _cue("doubt").finditer(text)]
    found += [_before(text, match.start()) for match in _cue("doubt afterwards").finditer(text)]
    for match in _MARK.finditer(text):
        is_last = _NEXT.match(text, match.end()) is not None or not text[match.end() :].strip()
        if is_last or text[: match.start()][-1:].isalnum():  # “cough ?”, “cough? fever”
            found.append(_before(text, match.start()))
        elif _CAUSE.match(text, match.end()) is None:
            found.append(_after(text, match.end(), _NEXT))
    return tuple(sorted(found))


def _after(text: str, at: int, stop: re.Pattern[str]) -> Place:
    end = stop.search(text, at)
    return at, end.start() if end else len(text)


def _before(text: str, at: int) -> Place:
    starts = [match.end() for match in _START.finditer(text, 0, at)]
    return (starts[-1] if starts else 0), at
