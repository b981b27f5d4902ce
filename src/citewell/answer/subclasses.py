"""Groups of medicines below the classes: what is said of a DOAC is said of apixaban, and a row on LMWH is not."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from citewell import vocabulary


@cache
def _table() -> tuple[tuple[tuple[str, ...], re.Pattern[str], frozenset[str]], ...]:
    """The names of each group, a pattern for them, and its members."""
    rows = [(tuple(names.split("|")), frozenset(of.split("|"))) for names, of in vocabulary.rows("subclasses.tsv")]
    return tuple(
        (names, re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})s?\b", re.IGNORECASE), of) for names, of in rows
    )


@lru_cache(maxsize=4096)
def subclasses(text: str) -> tuple[frozenset[str], ...]:
    """The members of each group that a text names.

    >>> [sorted(one)[:2] for one in subclasses("Do not bridge patients who take a DOAC.")]
    [['apixaban', 'dabigatran']]
    """
    return tuple(of for _, pattern, of in _table() if pattern.search(text))


def subclass_names(medicine: str) -> tuple[str, ...]:
    """The abbreviations of the groups that a medicine belongs to: longer names are of common words.

    >>> subclass_names("apixaban"), subclass_names("warfarin")
    (('DOAC', 'NOAC'), ())
    """
    return tuple(name for names, _, of in _table() if medicine in of for name in names if name.isupper())
