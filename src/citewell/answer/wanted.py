"""What a question wants of its answer: words, amounts, and the kind of answer that it asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.answer.amounts import Amount, admits, amounts, states
from citewell.answer.cues import ASKING, ASKS_WHAT, CUES, EMPTY, Cue
from citewell.answer.expand import Expansion
from citewell.words import terms

Held = frozenset[str]
"""The words and amounts of a question that a text holds."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question as statements are compared with it."""

    words: tuple[str, ...]
    """Its terms, without those by which it only asks."""
    synonyms: Mapping[str, tuple[frozenset[str], ...]]
    """By term, the phrases that say the same."""
    amounts: tuple[Amount, ...]
    cues: tuple[Cue, ...]
    asks_what: bool
    """It asks what something is."""
    weights: Mapping[str, float]
    """What each word and amount counts."""

    def held(self, text: str, *, is_looked_up: bool = False) -> Held:
        """The words and amounts that a text holds; a range holds an amount only where people look amounts up."""
        found = frozenset(terms(text))
        words = {word for word in self.words if word in found or self._is_said(word, found)}
        given = {
            amount.text for amount in self.amounts if states(text, amount) or (is_looked_up and admits(text, amount))
        }
        return frozenset(words | given)

    def _is_said(self, word: str, found: frozenset[str]) -> bool:
        return any(phrase <= found for phrase in self.synonyms.get(word, ()))

    def part(self, held: Held) -> float:
        """How much of the question is held, in [0, 1]."""
        total = sum(self.weights.values())
        return sum(self.weights[one] for one in held) / total if total else 0.0

    def weighed(self, all_held: Sequence[Held]) -> Wanted:
        """The same, with what few of the statements at hand hold counting more."""
        counts = dict.fromkeys(self.weights, 0)
        for held in all_held:
            for one in held:
                counts[one] += 1
        weights = {one: math.log(1 + len(all_held) / (1 + count)) for one, count in counts.items()}
        return replace(self, weights=weights)


def wanted(question: str, expansions: Iterable[Expansion] = ()) -> Wanted:
    """What a question wants.

    >>> asked = wanted("How much ORS for a 12 kg child?")
    >>> asked.words, [amount.text for amount in asked.amounts], [cue.name for cue in asked.cues]
    (('or', 'child'), ['12 kg'], ['dose'])
    """
    given = amounts(question)
    rest = ASKING.sub(" ", question)
    for amount in given:
        rest = rest.replace(amount.text, " ")
    words = tuple(dict.fromkeys(word for word in terms(rest) if word not in EMPTY))
    if not words and not given:
        words = tuple(dict.fromkeys(terms(question)))
    synonyms: dict[str, tuple[frozenset[str], ...]] = {}
    for added in expansions:
        phrase = frozenset(terms(added.phrase))
        for word in terms(question[slice(*added.from_words)]):
            synonyms[word] = (*synonyms.get(word, ()), phrase)
    cues = tuple(cue for cue in CUES if cue.asks.search(question))
    weights = dict.fromkeys((*words, *(amount.text for amount in given)), 1.0)
    return Wanted(words, synonyms, given, cues, ASKS_WHAT.search(question) is not None, weights)
