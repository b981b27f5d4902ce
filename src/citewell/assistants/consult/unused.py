"""What of a message nothing was taken from: whole phrases, with why; small talk is left alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from citewell.assistants.consult.measures import find_measures
from citewell.assistants.consult.mentions import find_mentions
from citewell.clinical import Lexicon
from citewell.clinical.phrases import Span, content_words, numbers, phrases
from citewell.types.consult import Category, Finding, Unused
from citewell.words import sentences

NOT_UNDERSTOOD = "not understood"
NO_USE = "nothing uses the value {value}"


def unused(text: str, position: int, found: Sequence[Finding], *, lexicon: Lexicon) -> Iterator[Unused]:
    """The phrases of a message that gave no finding; a sentence that gave none at all is one phrase.

    >>> one = unused("I feel okay. The frobnicase is 12 zots.", 1, (), lexicon=Lexicon.load())
    >>> [(each.text, each.why) for each in one]
    [('The frobnicase is 12 zots.', 'nothing uses the value 12')]
    """
    used = _used(text, found, lexicon)
    for start, end in _sentences(text):
        spans = [(low, high) for low, high in used if low < end and start < high]
        if not spans:
            pieces = [(start, end)]
        else:
            inside = [(max(low, start) - start, min(high, end) - start) for low, high in spans]
            pieces = [(start + low, start + high) for low, high in phrases(text[start:end], inside)]
        for low, high in pieces:
            if why := _why(text, low, high, spans):
                yield Unused(position, low, high, text[low:high], why)


def _used(text: str, found: Sequence[Finding], lexicon: Lexicon) -> list[Span]:
    """Where the words of the findings stand, and where a thing is named again; where it is does not tell what it is."""
    names = {one.name for one in found}
    spans = [(one.words.start, one.words.end) for one in found if one.words and one.category is not Category.LOCATION]
    spans += [(one.start, one.end) for one in find_measures(text) if one.trouble]  # asked about
    return spans + [(one.start, one.end) for one in find_mentions(text, lexicon) if one.name in names]


def _sentences(text: str) -> Iterator[Span]:
    at = 0
    for line in text.splitlines(keepends=True):
        yield from sentences(text, at, at + len(line))
        at += len(line)


def _why(text: str, start: int, end: int, used: Sequence[Span]) -> str | None:
    """Why a phrase is told; None where something was taken from it, or where it says nothing to take."""
    phrase = text[start:end]
    inside = [(low, high) for low, high in used if low < end and start < high]
    free = "".join(
        " " if any(low <= start + at < high for low, high in inside) else char for at, char in enumerate(phrase)
    )
    if values := numbers(free):
        return NO_USE.format(value=values[0])
    if inside or not content_words(phrase, without=("function", "talk")):
        return None
    return NOT_UNDERSTOOD
