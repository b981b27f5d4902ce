"""Tells which parts of a guideline may tell what to do: not references, thanks, the imprint, how it was made."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from citewell.assistants.consult.advice_sentences import is_telling
from citewell.assistants.consult.tables import rows
from citewell.sentences import sentences

NUMBER = re.compile(r"^\s*\d+(?:\.\d+)*\.?\s+")
"""The number of a section before its title."""
_PARAGRAPH = re.compile(r"\S(?:(?!\n\s*\n).)*", re.DOTALL)
IMPRINT_MARKS = 2
"""Words of an imprint that make a passage one; a guideline may name one of them in passing."""


@lru_cache(maxsize=10_000)
def may_advise(section: tuple[str, ...]) -> bool:
    """Whether a section may tell what to do for a patient, by its titles.

    >>> may_advise(("3 Recommendations", "Pain")), may_advise(("7 References",)), may_advise(("© WHO 2025",))
    (True, False, False)
    """
    return not any(_no_advice().fullmatch(NUMBER.sub("", title).strip(" .:")) for title in section)


def is_imprint(text: str) -> bool:
    """Whether a passage only says who may copy the book, whatever title it stands under.

    >>> is_imprint("ISBN 978-92-4-011111-0 © A Publisher 2025. If you adapt the work, you must license your work.")
    True
    >>> is_imprint("Give 5 mg. The figure is under a Creative Commons licence.")
    False
    """
    marked = imprint_of(text)
    if not marked:
        return False
    paragraphs = [(match.start(), match.group()) for match in _PARAGRAPH.finditer(text)]
    others = [words for start, words in paragraphs if start not in marked]
    return not any(is_telling(words[a:b].strip()) for words in others for a, b in sentences(words))


@lru_cache(maxsize=1_000)
def imprint_of(text: str) -> frozenset[int]:
    """Where the paragraphs of a passage begin that belong to an imprint; none where it is only named in passing."""
    folded = text.casefold()  # most passages hold none of these words, and are passed by quickly
    if sum(word in folded for word, _ in _imprint()) < IMPRINT_MARKS:
        return frozenset()
    held = [
        (match.start(), {at for at, (_, mark) in enumerate(_imprint()) if mark.search(match.group())})
        for match in _PARAGRAPH.finditer(text)
    ]
    marks = {mark for _, several in held for mark in several}
    return frozenset(start for start, several in held if several) if len(marks) >= IMPRINT_MARKS else frozenset()


@cache
def _no_advice() -> re.Pattern[str]:
    return re.compile("|".join(row[0] for row in rows("no_advice.tsv")), re.IGNORECASE)


@cache
def _imprint() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((word, re.compile(mark, re.IGNORECASE)) for word, mark in rows("imprint.tsv"))
