"""Which source sentences carry a claim together: the nearest one, and those that say what it leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from citewell.answer.verify.amounts import AmountMatch, agreement
from citewell.answer.verify.claim_words import ContentWord, ReadSentence, is_light
from citewell.answer.verify.coverage import WordProfile, profile
from citewell.answer.verify.named_things import Topic, is_of_other_medicine
from citewell.answer.verify.source_sentences import in_context
from citewell.clinical.quantities import Quantity, quantities
from citewell.types import EvidenceSpan

MOST_BESIDE = 2
"""Sentences beside the nearest one; what is left then is said in too many places to be shown."""

_WORD = re.compile(r"[^\W\d_]")
"""The number of a list item, cut off from it, says nothing."""

_Said = ContentWord | Quantity


def beside(
    claim: ReadSentence,
    known: Sequence[Topic],
    first: EvidenceSpan,
    parts: Iterable[EvidenceSpan],
    *,
    opposed: frozenset[EvidenceSpan],
) -> tuple[EvidenceSpan, ...]:
    """The source sentences that say what one leaves out of a claim.

    One that speaks against the claim is among them only where no other names what the claim is about.
    """
    every = [part for part in parts if part != first and _WORD.search(part.text)]
    lacking: Sequence[_Said] = _lacking(claim, known, in_context(first, claim.text))
    evidence_spans, lacking = _telling(claim, known, first, [part for part in every if part not in opposed], lacking)
    about = [one for one in lacking if any(topic.start <= one.start < topic.end for topic in known)]
    evidence_spans += (
        _telling(claim, known, first, [part for part in every if part in opposed], about)[0] if about else []
    )
    return tuple(evidence_spans)


def _telling(
    claim: ReadSentence,
    known: Sequence[Topic],
    first: EvidenceSpan,
    others: list[EvidenceSpan],
    lacking: Sequence[_Said],
) -> tuple[list[EvidenceSpan], Sequence[_Said]]:
    """The sentences that say most of what is lacking, one after another, and what none of them says."""
    evidence_spans: list[EvidenceSpan] = []
    while lacking and others and len(evidence_spans) < MOST_BESIDE:
        left = {part: _lacking(claim, known, in_context(part, claim.text), of=lacking) for part in others}
        best = min(others, key=lambda part: (_weight(left[part]), part.source_id != first.source_id))
        if _weight(left[best]) >= _weight(lacking):
            break
        evidence_spans.append(best)
        others.remove(best)
        lacking = left[best]
    return evidence_spans, lacking


def _lacking(
    claim: ReadSentence, known: Sequence[Topic], text: str, *, of: Sequence[_Said] | None = None
) -> tuple[_Said, ...]:
    """Of the words and amounts of a claim those that a text does not say, in its words or others."""
    there = profile(text)
    said: Sequence[_Said] = [*_telling_words(claim), *claim.quantities] if of is None else of
    is_apart = is_of_other_medicine(claim, text)
    left = [one for one in said if (is_apart and isinstance(one, Quantity)) or not _is_said(one, there, text)]
    named = [(topic.start, topic.end) for topic in known if topic.is_in(there.forms)] if left else []
    return tuple(one for one in left if not _is_named(one, named))


def _telling_words(claim: ReadSentence) -> list[ContentWord]:
    """The words that need a sentence to say them; those of many sentences need none."""
    return [word for word in claim.words if not is_light(word.form)]


def _is_said(one: _Said, there: WordProfile, text: str) -> bool:
    if isinstance(one, Quantity):
        return any(agreement(one, theirs) == AmountMatch.SAME for theirs in quantities(text))
    return one.form in there.forms or not one.meanings.isdisjoint(there.meanings)


def _is_named(word: _Said, named: Sequence[tuple[int, int]]) -> bool:
    return isinstance(word, ContentWord) and any(start <= word.start < end for start, end in named)


def _weight(lacking: Sequence[_Said]) -> float:
    return sum(1.0 if isinstance(word, Quantity) else word.weight for word in lacking)
