"""Tells the names of two people apart: twins share a birth date and a family name."""

from __future__ import annotations

import re
import unicodedata

NO_NAME = "name not stated"
_WORD = re.compile(r"[^\W\d_]{2,}")
"""A word of a name; an initial says too little."""
_TITLES = frozenset("mr mrs ms miss dr jr sr ii iii iv md phd".split())


def is_another_name(one: str, other: str) -> bool:
    """Whether two names are of two people: besides the family name that both end with they share no word.

    Somebody who marries keeps a given name. Twins may share a middle name too.

    >>> [is_another_name("Ana Lía Wong", name) for name in ("ANA HILL", "Wong, Ana", "Mrs. L. Wong", "Lia Wong")]
    [False, False, False, False]
    >>> [is_another_name("Ana Lía Wong", name) for name in ("Eva Wong", "Eva Lía Wong", "Wong, Eva", "Eva Hill")]
    [True, True, True, True]
    """
    names = [_words(name) for name in (one, other)]
    if not all(names):
        return False
    while names[0] and names[1] and names[0][-1] == names[1][-1]:
        names = [words[:-1] for words in names]
    is_one = set(names[0]) & set(names[1]) or "".join(names[0]) == "".join(names[1])  # Mary Ann, Maryann
    return all(names) and not is_one


def _words(name: str) -> list[str]:
    """The words of a name as they are compared, the family name last, without accents and titles."""
    if name == NO_NAME:
        return []
    family, _comma, given = name.partition(",")
    decomposed = unicodedata.normalize("NFKD", f"{given} {family}".casefold())
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return [word for word in _WORD.findall(plain) if word not in _TITLES]
