"""What a question is about beyond its kind: the words that name something, whether or not the record has it."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from citewell.assistants.records.tables import rows
from citewell.clinical.languages import language_of, spelled

_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_MANNER = re.compile(r"[a-z]{3}ed$|[a-km-z]ly$")
"""What was done, and how: neither names a thing."""
SHORTEST = 3
MOST = 4
"""More words than these are a story, not the name of something."""


def topic(question: str, *, spoken_for: Collection[str] = ()) -> tuple[str, ...]:
    """The telling words of an English question that no name in the record speaks for; none of a whole story.

    >>> topic("Do I have asthma or a frozen shoulder?"), topic("Which medicines do I take now?")
    (('asthma', 'frozen shoulder'), ())
    """
    if language_of(question) != "en":
        return ()
    phrases: list[list[str]] = [[]]
    for written in _WORD.findall(spelled(question).casefold()):
        word = written.removesuffix("'s")
        if _is_telling(word) and word not in spoken_for:
            phrases[-1].append(word)
        elif phrases[-1]:
            phrases.append([])
    told = [" ".join(words) for words in phrases if words]
    return tuple(dict.fromkeys(told)) if sum(map(len, phrases)) <= MOST else ()


def _is_telling(word: str) -> bool:
    plain, stems = _plain()
    return len(word) >= SHORTEST and word not in plain and not stems.match(word) and not _MANNER.search(word)


@cache
def _plain() -> tuple[frozenset[str], re.Pattern[str]]:
    words = [word for _, line in rows("plain_words.tsv") for word in line.split()]
    stems = "|".join(re.escape(word[:-1]) for word in words if word.endswith("*"))
    return frozenset(word for word in words if not word.endswith("*")), re.compile(rf"(?:{stems})")
