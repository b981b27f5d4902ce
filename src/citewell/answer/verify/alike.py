"""Whether two words that stand in one place are one thing, or two of a kind that exclude each other."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

from citewell import vocabulary
from citewell.answer.verify.read import form, meanings
from citewell.answer.verify.rewritten import are_opposed, poles

_ENDINGS = frozenset(
    "|s|es|ed|ing|ic|ical|al|ial|ist|y|ies|ion|ions|ive|ous|ant|ent|ance|ence|er|ers|or|ity|ness|ment|e|en|inal|ar|ary|ia|aemic|a".split(
        "|"
    )
)
"""What words of one root end with."""

SHORTEST_SLIP = 9
"""Letters from which a word that lacks one is a slip of the pen and not another word."""

LONGEST_ROOT = 5
"""Letters that two words must begin alike with to be of one root."""


@lru_cache(maxsize=4096)
def are_same(one: str, other: str) -> bool:
    """Whether two words may stand for each other: a table has them in one row, or they are of one root.

    >>> are_same("kidney", "renal"), are_same("diabetic", "diabetes"), are_same("creatine", "creatinine")
    (True, True, False)
    """
    one, other = unicodedata.normalize("NFKC", one), unicodedata.normalize("NFKC", other)
    here, there = form(one), form(other)
    if here == there or meanings(here) & meanings(there) or _wordings(here) & _wordings(there) or _agree(one, other):
        return True
    root = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    is_rooted = root >= LONGEST_ROOT and one[root:] in _ENDINGS and other[root:] in _ENDINGS
    return is_rooted or _is_slip(one, other)


def _is_slip(one: str, other: str) -> bool:
    """Whether a long word lacks one letter of the other."""
    short, long = sorted((one, other), key=len)
    is_near = len(short) >= SHORTEST_SLIP and len(long) == len(short) + 1
    return is_near and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _agree(one: str, other: str) -> bool:
    """Whether the table of antonyms has both at the same end of an axis, as “resume” and “restart”."""
    return not poles(one).isdisjoint(poles(other)) and not are_opposed(one, other)


@cache
def _table() -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for number, (words,) in enumerate(vocabulary.rows("wordings.tsv")):
        for word in words.split("|"):
            found[form(word)] = found.get(form(word), frozenset()) | {number}
    return found


def _wordings(form_of_word: str) -> frozenset[int]:
    return _table().get(form_of_word, frozenset())


@lru_cache(maxsize=4096)
def are_siblings(one: str, other: str) -> bool:
    """Whether two words name different things of one kind.

    >>> are_siblings("sodium", "potassium"), are_siblings("renal", "kidney")
    (True, False)
    """
    here, there = _kinds().get(form(one), {}), _kinds().get(form(other), {})
    return any(kind in there and there[kind] != thing for kind, thing in here.items())


@cache
def _kinds() -> dict[str, dict[str, int]]:
    """Each word with the number of its thing within each kind that it is of."""
    found: dict[str, dict[str, int]] = {}
    for kind, things in vocabulary.rows("siblings.tsv"):
        for number, names in enumerate(things.split("|")):
            for name in names.split("="):
                found.setdefault(form(name), {})[kind] = number
    return found
