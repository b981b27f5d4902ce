"""What the search page shows of each hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from citewell.answer.expand import Expansion
from citewell.answer.retrieve import matched_spans, weighted_terms
from citewell.sentences import sentences, terms
from citewell.types import Hit
from citewell.web.source_highlights import SourceTarget
from citewell.web.text_marks import best, marked, words

MAX_CHARACTERS = 360
"""About five lines: enough to judge a result, short enough to see the next one."""
MIN_LAST_CHARACTERS = 25


def best_within(hit: Hit) -> tuple[int, int] | None:
    """The best sentence as offsets into the hit's own text; None when it lies outside, in the overlap."""
    if hit.why.best_sentence is None:
        return None
    start, end = hit.why.best_sentence
    start, end = max(start, hit.start) - hit.start, min(end, hit.end) - hit.start
    return (start, end) if start < end else None


def excerpt(text: str, centre: tuple[int, int] | None, *, limit: int = MAX_CHARACTERS) -> tuple[int, int]:
    """Offsets of whole sentences round `centre`, about `limit` characters of them.

    >>> text = "One is first. Two is next. Three is last."
    >>> start, end = excerpt(text, (14, 26), limit=30)
    >>> text[start:end]
    'Two is next. Three is last.'
    """
    if len(text) <= limit:
        return 0, len(text)
    spans = sentences(text)
    if not spans:
        return 0, limit
    middle = 0 if centre is None else next((at for at, span in enumerate(spans) if span[1] > centre[0]), 0)
    first = last = middle
    # What follows explains a sentence more often than what stands before it, so it is taken first.
    while True:
        if last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= limit:
            last += 1
        elif (
            first > 0
            and spans[last][1] - spans[first - 1][0] <= limit
            and _leads_in(text, *spans[first - 1 : first + 1])
        ):
            first -= 1
        else:
            break
    # A heading or a list mark that ends the excerpt says nothing without what it opens.
    while last > middle and last + 1 < len(spans) and spans[last][1] - spans[last][0] < MIN_LAST_CHARACTERS:
        last -= 1
    return spans[first][0], _cut(text, spans[first][0], spans[last][1], 2 * limit)


def _leads_in(text: str, before: tuple[int, int], sentence: tuple[int, int]) -> bool:
    """Whether a sentence belongs to the next one: in the same paragraph, or as the line that opens a list."""
    return "\n\n" not in text[before[1] : sentence[0]] or text[before[1] - 1] == ":"


def _cut(text: str, start: int, end: int, limit: int) -> int:
    """The end, or the last gap between words before the limit where one sentence is very long."""
    if end - start <= limit:
        return end
    gap = text.rfind(" ", start, start + limit)
    return gap if gap > start else start + limit


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit, ready to be shown."""

    hit: Hit
    section: tuple[str, ...]
    excerpt: Markup
    cut_before: bool
    cut_after: bool
    whole: Markup | None
    """The whole passage, when the excerpt leaves some of it out."""
    added: tuple[AddedPhrase, ...]
    """Words that were added to the question and stand in the passage."""
    place: SourceTarget


@dataclass(frozen=True, slots=True)
class AddedPhrase:
    """A phrase that was added to the question, and the words it was added for."""

    phrase: str
    reason: str
    given: str


def added_phrases(question: str, expansions: Sequence[Expansion]) -> tuple[AddedPhrase, ...]:
    """What was added to the question, in words."""
    question = " ".join(question.split())
    return tuple(
        AddedPhrase(expansion.phrase, expansion.reason, question[slice(*expansion.from_words)])
        for expansion in expansions
    )


def shown(question: str, hits: Sequence[Hit], expansions: Sequence[Expansion]) -> list[ShownHit]:
    """Hits as the page shows them, with the words that were looked for marked."""
    wanted = weighted_terms(question, expansions)
    added = added_phrases(question, expansions)
    asked = set(terms(question))
    return [_result(hit, wanted, [phrase for phrase in added if set(terms(phrase.phrase)) - asked]) for hit in hits]


def _result(hit: Hit, wanted: dict[str, float], added: Sequence[AddedPhrase]) -> ShownHit:
    held = {term for word in hit.why.matched_terms for term in terms(word)}
    sentence = best_within(hit)
    layers = best(sentence), words(matched_spans(hit.text, wanted))
    start, end = excerpt(hit.text, sentence)
    is_whole = (start, end) == (0, len(hit.text))
    span = hit.why.best_sentence if sentence else None
    return ShownHit(
        hit=hit,
        section=without_title(hit.section, hit.document),
        excerpt=_tight(marked(hit.text, *layers, start=start, end=end)),
        cut_before=start > 0,
        cut_after=end < len(hit.text),
        whole=None if is_whole else _tight(marked(hit.text, *layers)),
        added=tuple(phrase for phrase in added if held.issuperset(terms(phrase.phrase))),
        place=SourceTarget(hit.chunk_index, *(span or (None, None))),
    )


def _tight(html: Markup) -> Markup:
    """The same with one line break between paragraphs, not two: a result is a glance, not a page."""
    return html.replace("\n\n", "\n")


def without_title(section: tuple[str, ...], title: str) -> tuple[str, ...]:
    """The section path without the document's own title, which stands above it already, numbered or not.

    >>> without_title(("3 Asthma", "Dose"), "Asthma")
    ('Dose',)
    """
    is_title = bool(section) and section[0].casefold().lstrip("0123456789. ") == title.casefold().lstrip("0123456789. ")
    return section[1:] if is_title else section
