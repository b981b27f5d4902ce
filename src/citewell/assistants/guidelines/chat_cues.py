"""Cues of what a message to the chat is: whole words of a table, held against the message with short forms in full."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from citewell.assistants.guidelines.tables import rows


@cache
def patterns(what: str) -> tuple[tuple[int, re.Pattern[str]], ...]:
    """The cues of a kind with their weights."""
    return tuple(
        (int(weight), re.compile(rf"(?<![\w&])(?:{pattern})(?![\w&])", re.IGNORECASE))
        for name, weight, pattern in rows("chat_cues.tsv")
        if name == what
    )


def has(what: str, text: str) -> bool:
    """Whether a text has a cue of this kind."""
    return any(pattern.search(text) for _, pattern in patterns(what))


def weight(what: str, text: str) -> int:
    """The weights of all cues of a kind that a text has, each kind of cue once."""
    return sum(weight for weight, pattern in patterns(what) if pattern.search(text))


def without(what: str, text: str) -> str:
    """A text without the cues of a kind."""
    for _, pattern in patterns(what):
        text = pattern.sub(" ", text)
    return text


_SHORT = (
    (r"won[’']t", "will not"),
    (r"can[’']?t\b(?! scan)", "cannot"),
    (r"can not", "cannot"),
    (r"shan[’']t", "shall not"),
    (r"(\w)n[’']t", r"\1 not"),
    (r"(\w)[’']m\b", r"\1 am"),
    (r"(\w)[’']ve\b", r"\1 have"),
    (r"(\w)[’']re\b", r"\1 are"),
    (r"(\w)[’']ll\b", r"\1 will"),
    (r"\b(it|that|this|what|who|where|how|there|he|she|something|let)[’']?s\b(?!\w)", r"\1 is"),
    (r"\bdont\b", "do not"),
    (r"\bim\b", "i am"),
    (r"\bive\b", "i have"),
    (r"\bwont\b", "will not"),
)


def spelled(message: str) -> str:
    """A message as the cues have it: short forms in full, one space between words.

    >>> spelled("It’s bad, I can't   breathe")
    'it is bad, i cannot breathe'
    """
    text = " ".join(unicodedata.normalize("NFKC", message).casefold().split())
    for short, full in _SHORT:
        text = re.sub(short, full, text)
    return text


def names(terms: Iterable[str], text: str) -> bool:
    """Whether a text has one of these terms as whole words."""
    return any(re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text) for term in terms)
