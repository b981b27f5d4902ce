"""Reads a misspelt clinical word as the one that is meant, where only one can be; the reader is always told."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from citewell import vocabulary
from citewell.clinical.medicines import medicine_endings, medicine_words
from citewell.clinical.tables import rows
from citewell.clinical.tokens import FILLERS, fold, words
from citewell.minilm.tokenizer import WordPiece

SHORTEST = 5
"""Letters below which one other letter makes another word."""
SHORTEST_MEDICINE = 6
"""Letters below which an unknown word is not read as a medicine: “stents” are no Sutent."""
LONG = 9
"""Letters from which two may be wrong."""


@cache
def _meant() -> dict[str, str]:
    """The clinical words that a misspelt one may be read as: folded, and as the tables write them."""
    texts = [cell for row in rows("names.tsv") for cell in row[1:5]]
    texts += [cell for row in rows("sites.tsv") for cell in row[1:3]]
    texts += [cell for row in rows("compositions.tsv") for cell in row]
    found = dict.fromkeys(medicine_words(), "")
    for word in (word for text in texts for word in words(text.replace("|", " | "))):
        found.setdefault(word.folded, word.text.casefold())
    return {word: written or word for word, written in found.items() if len(word) >= SHORTEST and word.isalpha()}


@cache
def _ontology_words() -> frozenset[str]:
    lines = (line.partition("\t")[2] for line in vocabulary.packed_lines("hpo-keys.gz"))
    keys = (entry.rpartition("=")[0] for line in lines for entry in line.split("|"))
    return frozenset(word for key in keys for word in key.split())


@lru_cache(maxsize=50_000)
def is_word(word: str) -> bool:
    """Whether a word is English, or a clinical one that some list has."""
    folded = fold(word)
    if folded in _meant() or folded in FILLERS or folded in _ontology_words():
        return True
    return any(WordPiece.load().count(form) == 1 for form in {word.casefold(), folded})


def is_clinical(word: str) -> bool:
    """Whether a word stands in a list of clinical ones.

    >>> is_clinical("swelling"), is_clinical("dealing")
    (True, False)
    """
    folded = fold(word)
    return folded in _meant() or folded in _ontology_words()


@lru_cache(maxsize=20_000)
def corrected(word: str) -> str | None:
    """The clinical word that a misspelt one is read as; None for a word that is known or could be several.

    >>> [corrected(word) for word in ("brusing", "tetnus", "haematura", "bruising", "stable", "xqzvw")]
    ['bruising', 'tetanus', 'haematuria', None, None, None]
    """
    if len(word) < SHORTEST or not word.isalpha() or not word.isascii() or word.isupper():
        return None
    folded = fold(word)
    if len(folded) < SHORTEST or is_word(word) or folded.endswith(medicine_endings()):
        return None
    most = 2 if len(folded) >= LONG else 1
    near = process.extract(folded, _choices(), scorer=OSA.distance, score_cutoff=most, limit=2)
    if not near or (len(near) > 1 and near[0][1] == near[1][1]):
        return None
    best = str(near[0][0])
    is_doubtful = best in medicine_words() and (near[0][1] > 1 or len(folded) < SHORTEST_MEDICINE)
    return None if best[0] != folded[0] or is_doubtful else _meant()[best]


@cache
def _choices() -> tuple[str, ...]:
    return tuple(sorted(_meant()))


def corrections(text: str) -> dict[str, str]:
    """The misspelt words of a text, each with the word that it is read as.

    >>> corrections("I need a tetnus jab")
    {'tetnus': 'tetanus'}
    """
    return {word.text: right for word in words(text) if (right := corrected(word.text)) is not None}


def spelled(text: str) -> str:
    """A text with its misspelt words as they are read.

    >>> spelled("Potasium 4.9, what next?")
    'potassium 4.9, what next?'
    """
    for word, right in corrections(text).items():
        text = text.replace(word, right)
    return text


def is_misspelling(asked: str, held: str) -> bool:
    """Whether two words are one but for a letter, long ones but for two; two that are both known are never one.

    >>> is_misspelling("simvastatin", "simvistatin"), is_misspelling("metropolol", "metoprolol")
    (True, True)
    >>> is_misspelling("prednisone", "prednisolone"), is_misspelling("ablasion", "ablation")
    (False, True)
    """
    if asked == held or min(len(asked), len(held)) <= SHORTEST or asked[0] != held[0]:
        return False
    most = 2 if min(len(asked), len(held)) >= LONG and not is_word(asked) else 1
    return not {asked, held} <= medicine_words() and OSA.distance(asked, held, score_cutoff=most) <= most


def long_words(names: Iterable[str]) -> frozenset[str]:
    """The words of names that are long enough to be misspelt."""
    said = (word.text.casefold() for name in names for word in words(name))
    return frozenset(word for word in said if len(word) > SHORTEST and word.isalpha())
