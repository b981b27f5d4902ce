"""What of a message nothing was taken from: whole phrases, with why; small talk is left alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from citewell.assistants.consult.extract import LONGEST
from citewell.assistants.consult.measures import find_measures
from citewell.assistants.consult.mentions import find_mentions
from citewell.clinical.phrases import Span, content_words, numbers, phrases
from citewell.types.consult import Category, Finding, UnusedWords
from citewell.words import sentences

NOT_UNDERSTOOD = "not understood"
NO_USE = "nothing uses the value {value}"


def unused(text: str, position: int, findings: Sequence[Finding]) -> Iterator[UnusedWords]:
    """The phrases of a message that gave no finding; a sentence that gave none at all is one phrase.

    >>> one = unused("I feel okay. The frobnicase is 12 zots.", 1, ())
    >>> [(each.text, each.why) for each in one]
    [('The frobnicase is 12 zots.', 'nothing uses the value 12')]
    """
    names = {finding.name for finding in findings}
    told = [
        (finding.words.start, finding.words.end)
        for finding in findings
        if finding.words and finding.category is not Category.LOCATION
    ]
    for start, end in _sentences(text):
        sentence = text[start:end]
        used = [(low - start, high - start) for low, high in told if low < end and start < high]
        used += [
            (mention.start, mention.end) for mention in find_mentions(sentence) if mention.name in names
        ]  # said again
        used += [(measure.start, measure.end) for measure in find_measures(sentence) if measure.trouble]  # asked about
        free = _without(sentence, used)
        for low, high in phrases(sentence, used) if used else [(0, len(sentence))]:
            if why := _why(sentence[low:high], free[low:high]):
                yield UnusedWords(position, start + low, start + high, sentence[low:high], why)


def _without(sentence: str, spans: Sequence[Span]) -> str:
    """The sentence with blanks where these spans stand."""
    left = list(sentence)
    for low, high in spans:
        left[max(low, 0) : high] = " " * (min(high, len(left)) - max(low, 0))
    return "".join(left)


def _sentences(text: str) -> Iterator[Span]:
    """The sentences of each line; one that goes on for longer than anybody speaks is cut."""
    at = 0
    for line in text.splitlines(keepends=True):
        for start, end in sentences(text, at, at + len(line)):
            low = start
            while end - low > LONGEST:
                space = text.rfind(" ", low + 1, low + LONGEST)
                cut = space if space > 0 else low + LONGEST
                yield low, cut
                low = cut
            yield low, end
        at += len(line)


def _why(phrase: str, free: str) -> str | None:
    """Why a phrase is told; None where something was taken from it, or where it says nothing to take."""
    if values := numbers(free):
        return NO_USE.format(value=values[0])
    is_taken = phrase != free
    return None if is_taken or not content_words(phrase, without=("function", "talk")) else NOT_UNDERSTOOD
