"""How well a source sentence carries a claim: the share of its words found there, and nearness of meaning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from citewell.answer.verify.claim_words import ReadSentence, forms, meanings
from citewell.answer.verify.named_things import Topic
from citewell.clinical.medicines import Medicine
from citewell.work import spend

SYNONYM_CREDIT = 0.9
"""A word found as a synonym counts a little less than the word itself."""


@dataclass(frozen=True, slots=True)
class WordProfile:
    """The word forms of a source sentence and all that they may mean."""

    forms: frozenset[str]
    meanings: frozenset[int]


@lru_cache(maxsize=20_000)
def profile(text: str) -> WordProfile:
    """The profile of a text; equal texts are read once."""
    spend()
    words = forms(text)
    return WordProfile(words, frozenset().union(*filter(None, map(meanings, words))))


def coverage(
    claim: ReadSentence,
    topics: Iterable[Topic],
    source: WordProfile,
    *,
    drugs: frozenset[str] = frozenset(),
    amounts_missing: int | None = None,
) -> float:
    """The weighted share of the claim's words that a source says, in its words or others, and of its quantities.

    >>> from citewell.answer.verify.claim_words import read
    >>> coverage(read("Take the tablets with food"), (), profile("The tablets should be taken with a meal"))
    0.94...
    """
    amounts = 0 if amounts_missing is None else len(claim.quantities)
    total = claim.weight + amounts
    if not total:
        return 0.0
    there, senses = source.forms, source.meanings
    lacking = [word for word in claim.words if word.form not in there]
    missed: float = amounts_missing or 0
    if lacking:
        spans = [(topic.start, topic.end) for topic in topics if topic.is_in(there)]
        spans += [(drug.start, drug.end) for drug in claim.medicines if drug.name in drugs]
        for word in lacking:
            if spans and any(start <= word.start < end for start, end in spans):
                continue
            is_meant = bool(word.meanings) and not word.meanings.isdisjoint(senses)
            missed += word.weight * (1 - SYNONYM_CREDIT) if is_meant else word.weight
    return min(1.0, 1 - missed / total)


def names_of(medicines: Iterable[Medicine]) -> frozenset[str]:
    """The names of medicines, brands resolved."""
    return frozenset(drug.name for drug in medicines)
