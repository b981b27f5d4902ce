"""Whether a text speaks of the other kind than a question: of non-severe illness where severe illness is asked for."""

from __future__ import annotations

import re

from citewell.words import terms

_NON = re.compile(r"\bnon-?(?=[a-z]{4})", re.IGNORECASE)
"""What makes the other kind of a word; “non-steroidal” is one only where somebody asks for what is steroidal."""
_WORD = re.compile(r"[^\W\d_]+")


def kinds(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of the words of a text that stand for themselves, and of those behind “non-”.

    >>> [sorted(one) for one in kinds("Non-severe or severe dengue")], [sorted(one) for one in kinds("nonsevere")]
    ([['dengu', 'sever'], ['sever']], [['nonsever'], ['sever']])
    """
    behind = [_WORD.match(text, found.end()) for found in _NON.finditer(text)]
    turned = frozenset(stem for found in behind if found for stem in terms(found.group()))
    return frozenset(terms(_NON_WORD.sub(" ", text))), turned


_NON_WORD = re.compile(r"\bnon-[^\W\d_]+", re.IGNORECASE)


def is_opposed(question: str, text: str) -> bool:
    """Whether a word of the question stands in the text as its opposite only, or the other way round.

    >>> asked = "Do steroids help in severe dengue?"
    >>> [is_opposed(asked, text) for text in ("In non-severe dengue, rest.", "Severe or non-severe dengue.", "Dengue.")]
    [True, False, False]
    >>> is_opposed("Fluids for non-severe dengue?", "In severe dengue, give fluids.")
    True
    """
    if not _NON.search(question) and not _NON.search(text):
        return False
    (asked, asked_turned), (said, said_turned) = kinds(question), kinds(text)
    return bool((asked - asked_turned) & (said_turned - said) or (asked_turned - asked) & (said - said_turned))
