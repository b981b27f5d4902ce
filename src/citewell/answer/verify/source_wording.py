"""A claim in the words of its source: amounts, medicines, names and synonyms that mean the same are written alike.

The trained reader compares meanings well and numbers badly: “1,500 mg” beside “1.5 g” is another amount to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from citewell.answer.verify.amounts import AmountMatch, matched_amounts
from citewell.answer.verify.claim_words import ReadSentence, read
from citewell.clinical import Lexicon

Change = tuple[int, int, str]
"""Where in the claim the words stand, and the source's words for them."""


@lru_cache(maxsize=1024)
def aligned(claim: str, source: str, lexicon: Lexicon) -> str:
    """The claim with the source's words for what both say.

    >>> aligned("Begin with 1,500 mg of epinephrine", "Start at 1.5 g of adrenaline", Lexicon.load())
    'Start with 1.5 g of adrenaline'
    """
    ours, theirs = read(claim), read(source)
    changes = [
        *_amounts(ours, theirs),
        *_medicines(ours, theirs, claim, source),
        *_names(claim, source, lexicon),
        *_synonyms(ours, theirs, source),
    ]
    text, changed_from = claim, len(claim) + 1
    for start, end, words in sorted(changes, key=lambda change: (-change[0], change[0] - change[1])):
        if end <= changed_from:
            text, changed_from = text[:start] + words + text[end:], start
    return text


def _amounts(ours: ReadSentence, theirs: ReadSentence) -> Iterator[Change]:
    for amount, (same, level) in matched_amounts(ours, theirs).items():
        if level == AmountMatch.SAME and len(amount.values) == len(same.values):
            yield amount.start, amount.end, same.text


def _medicines(ours: ReadSentence, theirs: ReadSentence, claim: str, source: str) -> Iterator[Change]:
    for medicine in ours.medicines:
        same = next((other for other in theirs.medicines if other.name == medicine.name), None)
        if same and not _is_in(claim[medicine.start : medicine.end], source):
            yield medicine.start, medicine.end, source[same.start : same.end]


def _names(claim: str, source: str, lexicon: Lexicon) -> Iterator[Change]:
    there = {hit.concept.id: source[hit.start : hit.end] for hit in lexicon.find(source)}
    for hit in lexicon.find(claim):
        if hit.concept.id in there and not _is_in(claim[hit.start : hit.end], source):
            yield hit.start, hit.end, there[hit.concept.id]


def _synonyms(ours: ReadSentence, theirs: ReadSentence, source: str) -> Iterator[Change]:
    forms = {word.form for word in theirs.words}
    for word in ours.words:
        if word.meanings and word.form not in forms:
            same = next((other for other in theirs.words if other.meanings & word.meanings), None)
            if same:
                yield word.start, word.end, source[same.start : same.end]


def _is_in(words: str, source: str) -> bool:
    return words.casefold() in source.casefold()
