"""What the record says, ready to be held against a sentence: its quotes and its claims."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from citewell.sentences import sentences, terms

_QUOTE = re.compile(r"“([^“”]+)”|„([^„“”]+)[“”]|«\s?([^«»]+?)\s?»|\"([^\"]+)\"")
_DENIAL = re.compile(
    r"\b(?:no|not|never|none|without|nor|cannot|denies|denied|nicht|kein\w*|ohne|nie|pas|aucune?|jamais|sans)\b|n[’']t\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d+(?:[.,]\d+)?|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|half|twice|double|triple|extra|another|more|less"
    r"|deux|trois|quatre|cinq|six|dix|demi\w*|double\w*|zwei|drei|vier|fünf|sechs|zehn|halbe?\w*|doppelt\w*)\b",
    re.IGNORECASE,
)
"""Numbers, and the words that change an amount."""
_EMPTY = frozenset(
    """you your document record mention doctor might want discuss whether also now still that this it be been do
    does""".split()
)
"""Terms that a claim about the record may have without the record having them."""


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """One sentence of the record as it is compared."""

    terms: frozenset[str]
    numbers: frozenset[str]
    is_denied: bool


@dataclass(frozen=True, slots=True)
class Sources:
    """The passages and facts that an answer rests on."""

    words: tuple[str, ...]
    said: tuple[SourceSentence, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Sources:
        """Read once, asked for each sentence of an answer."""
        kept = list(texts)
        cut = (text[start:end] for text in kept for start, end in sentences(text))
        return cls(tuple(_plain(text) for text in kept), tuple(_read(sentence) for sentence in cut))

    def tell(self, claim: str) -> bool:
        """Whether one sentence of the record has all words and numbers of a claim, and denies no less and no more.

        >>> record = Sources.of(["Type 2 diabetes since 2019. No asthma."])
        >>> record.tell("type 2 diabetes"), record.tell("asthma"), record.tell("type 1 diabetes")
        (True, False, False)
        """
        read = _read(claim)
        wanted = read.terms - _EMPTY
        return bool(wanted) and any(
            wanted <= sentence.terms and read.numbers <= sentence.numbers and read.is_denied == sentence.is_denied
            for sentence in self.said
        )

    def have_amounts(self, claim: str) -> bool:
        """Whether the record has the numbers of a claim in one sentence; a claim without numbers needs none."""
        numbers = _read(claim).numbers
        return not numbers or any(numbers <= sentence.numbers for sentence in self.said)

    def without_quotes(self, sentence: str) -> str:
        """A sentence without what it quotes word for word from the record.

        >>> Sources.of(["Do not take with milk."]).without_quotes('The label says: “Do not take with milk.”')
        'The label says: “…”'
        """
        return _QUOTE.sub(self._dots, sentence)

    def _dots(self, quote: re.Match[str]) -> str:
        quoted = _plain(next(group for group in quote.groups() if group))
        return "“…”" if any(f" {quoted} " in f" {text} " for text in self.words) else quote.group()


def _plain(text: str) -> str:
    """The words of a text alone, so that punctuation and line breaks make no difference."""
    return " ".join(re.findall(r"\w+(?:[.,]\d+)?", text.casefold()))


def is_denied(sentence: str) -> bool:
    """Whether a sentence denies something.

    >>> is_denied("No known asthma"), is_denied("Asthma since 2019")
    (True, False)
    """
    return _DENIAL.search(sentence) is not None


def _read(sentence: str) -> SourceSentence:
    numbers = frozenset(number.replace(",", ".").casefold() for number in _NUMBER.findall(sentence))
    return SourceSentence(frozenset(terms(sentence)), numbers, is_denied(sentence))
