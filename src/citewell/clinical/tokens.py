"""The words of a text as names are compared: in US spelling, singular, and without endings that change no meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from citewell.vocabulary.uk_us_spelling import us_spelling
from citewell.work import spend

SKIPPED = frozenset("the my your his her our their".split())
"""Words that may stand inside a name of the ontology without changing it: “blood in my urine”."""

SIDES = frozenset("left right l r lt rt both one bilateral unilateral".split())
"""Words for a side: most names go without them, some are of one side alone."""

FILLERS = (
    SKIPPED
    | SIDES
    | frozenset(
        """a an this that these those some any its of in on at from to into by is are was were am be been being has have
        had having i he she they it we you me him them very really quite so just still also up""".split()
    )
)
"""Words that may stand inside a name of Citewell's table, or be missing there, without changing it."""

_WORD = re.compile(r"[^\W\d_]+n[’']t\b|[^\W\d_][&+/][^\W\d_](?![\w’'])|[^\W_]+(?:&[^\W_]+)?")
_GAP = re.compile(r"[\s\-‐‑–'’]*")
_DENYING = {
    **dict.fromkeys(("can't", "couldn't", "cant", "couldnt"), "cannot"),
    **dict.fromkeys("dont doesnt didnt hasnt havent isnt wasnt wont".split(), "not"),
}
_FORMS = """los lost lose|feel felt|swell swollen|bleed bled|stick stuck|go gone went goes going|throw threw thrown
wak woke woken wake|fall fell fallen|break broke broken|keep kept|get got gotten|com came come|shak shook shaken
eat ate eaten|sleep slept|grow grew grown|burn burnt|bit bitten bite|wear worn|driv drove driven|see saw seen
hav have has had"""
_IRREGULAR = {form: line.split()[0] for line in re.split(r"[|\n]", _FORMS) for form in line.split()[1:]}
"""Forms of verbs that no ending tells."""
SHORTEST_STEM = 3


class Word(NamedTuple):
    """A word of a text, and the forms of it that names are compared by."""

    start: int
    end: int
    text: str
    folded: str
    stem: str
    joins: bool
    """Whether only space or a hyphen stands between it and the word before."""
    corrected: str | None = None
    """The word that it is read as, where it is misspelt."""

    @property
    def is_filler(self) -> bool:
        return self.folded in FILLERS


@lru_cache(maxsize=100_000)
def fold(word: str) -> str:
    """A word as it is compared: lower case, US spelling, singular.

    >>> [fold(word) for word in ("Haemorrhoids", "babies", "stress", "diagnosis", "tumours", "can’t")]
    ['hemorrhoid', 'baby', 'stress', 'diagnosis', 'tumor', 'cannot']
    """
    word = us_spelling(word.casefold())
    if word.endswith(("n't", "n’t")) or word in _DENYING:
        return _DENYING.get(word.replace("’", "'"), "not")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=100_000)
def stem(folded: str) -> str:
    """A folded word without the endings of a verb.

    >>> [stem(fold(word)) for word in ("coughing", "coughed", "lost", "losing", "bleeding", "swollen", "bruises")]
    ['cough', 'cough', 'los', 'los', 'bleed', 'swell', 'bruis']
    """
    if (base := _IRREGULAR.get(folded)) is not None:
        return base
    for ending in ("ing", "ed"):
        left = folded.removesuffix(ending)
        if left != folded and len(left) >= SHORTEST_STEM and not left.endswith("e") and re.search("[aeiouy]", left):
            is_doubled = left[-1] == left[-2] and left[-1] not in "lsz"
            return left[:-1] if is_doubled else left
    return folded[:-1] if len(folded) > SHORTEST_STEM + 1 and folded.endswith("e") else folded


def joins(text: str, end: int, start: int) -> bool:
    """Whether only space, a hyphen or an apostrophe stands between two words, so that a name may run over both.

    >>> joins("hepatitis A", 9, 10), joins("hepatitis, a biopsy", 9, 11)
    (True, False)
    """
    return _GAP.fullmatch(text, end, start) is not None


def words(text: str) -> Iterator[Word]:
    """Every word of a text, with its place.

    >>> [word.folded for word in words("Can’t swallow, N+V, U&Es")]
    ['cannot', 'swallow', 'n+v', 'u&e']
    """
    spend()
    end = 0
    for match in _WORD.finditer(text):
        word = match.group()
        folded = fold(word)
        yield Word(match.start(), match.end(), word, folded, stem(folded), end > 0 and joins(text, end, match.start()))
        end = match.end()
