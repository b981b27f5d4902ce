"""What the search page shows of each hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from citewell.answer.expand import Expansion
from citewell.answer.retrieve import matched_spans, weighted_terms
from citewell.types import Hit
from citewell.web.excerpt import best_within, excerpt
from citewell.web.marks import best, marked, words
from citewell.web.source import SourceTarget
from citewell.words import terms


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
