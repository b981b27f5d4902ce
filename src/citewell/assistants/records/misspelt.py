"""Names that are written with one wrong letter: a record or a person misspells, and still means the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from citewell import vocabulary

SHORTEST = 6
"""Letters below which one other letter makes another word."""
_WORD = re.compile(r"[^\W\d_]+")


def is_misspelt(asked: str, held: str) -> bool:
    """Whether two words are one but for a letter; two medicines that are both called so are never one.

    >>> is_misspelt("simvastatin", "simvistatin"), is_misspelt("warfrin", "warfarin"), is_misspelt("colon", "color")
    (True, True, False)
    >>> is_misspelt("prednisone", "prednisolone"), is_misspelt("losartan", "valsartan")
    (False, False)
    """
    if asked == held or min(len(asked), len(held)) < SHORTEST or asked[0] != held[0]:
        return False
    return not {asked, held} <= _medicines() and _is_one_apart(asked, held)


def words_of(names: Iterable[str]) -> frozenset[str]:
    """The words of names that are long enough to be misspelt."""
    return frozenset(word for name in names for word in _WORD.findall(name.casefold()) if len(word) >= SHORTEST)


def _is_one_apart(one: str, other: str) -> bool:
    """Whether one letter is added, left out, another, or changes places with its neighbour."""
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    same = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[same:] == long[same + 1 :]
    swapped = short[same : same + 2][::-1] == long[same : same + 2] and short[same + 2 :] == long[same + 2 :]
    return swapped or short[same + 1 :] == long[same + 1 :]


@cache
def _medicines() -> frozenset[str]:
    """Every word by which a medicine is known."""
    named = (row for row in vocabulary.rows("drugs.tsv") if row[0] != "stem")
    return words_of(name for row in named for name in (row[1], *"|".join(row[3:]).split("|")))
