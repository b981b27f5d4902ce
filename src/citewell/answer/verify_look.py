"""Hold a claim against source sentences: the nearest ones, each with what it lacks or says otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from citewell.answer.verify_borrowed import borrowed
from citewell.answer.verify_crossed import mixed
from citewell.answer.verify_fill import filled
from citewell.answer.verify_findings import Finding, Grade
from citewell.answer.verify_headings import is_heading, only_names_it
from citewell.answer.verify_held import held_against, known_of
from citewell.answer.verify_populations import of_others
from citewell.answer.verify_read import Reading, Word, is_light, read
from citewell.answer.verify_subjects import Topic
from citewell.answer.verify_support import Profile, coverage, profile
from citewell.answer.verify_weigh import Judged, Look, Passage, support
from citewell.clinical import Lexicon
from citewell.types import Span
from citewell.words import sentences

MAX_PART = 1_500
"""A source sentence of more characters is read in pieces."""

NEAREST = 4
"""Source sentences that are read closely; the others are only weighed."""

PAIR_GAIN = 0.1
"""How much more of a claim two sentences must say than one, for both to be read together."""

CLEAR_FROM = 0.8
"""Support by words alone from which no similarity is asked for: on the train claims it never changed such a verdict."""

HEADED_FROM = 0.8
"""Share of a claim that a heading must say to carry it."""

LIKEST = 3
"""How many of the source sentences most like the claim count together."""

LETTERS = 4
"""How long the runs of letters are that a claim and its source are compared by."""

_GAP = re.compile(r"\W+")


class Similarity(Protocol):
    """Cosines between a sentence and parts of documents, each a sentence with its exact place."""

    def __call__(self, sentence: str, parts: Sequence[Span]) -> Sequence[float]: ...


class Pair(Protocol):
    """Reads a sentence and its evidence together, as the pair reader does."""

    def __call__(self, sentence: str, evidence: str) -> Judged: ...


@lru_cache(maxsize=1024)
def _cut(span: Span) -> tuple[Span, ...]:
    return tuple(
        Span(
            span.source_id,
            span.start + first,
            span.start + min(first + MAX_PART, end),
            span.text[first:end][:MAX_PART],
            span.titles,
        )
        for start, end in sentences(span.text)
        for first in range(start, end, MAX_PART)
    )


def parts_of(spans: Iterable[Span]) -> list[Span]:
    """The sentences of spans, each with its exact place; what was cited twice comes once.

    >>> [(part.start, part.text) for part in parts_of([Span("a:0", 100, 115, "Rest. Drink up.")])]
    [(100, 'Rest.'), (106, 'Drink up.')]
    """
    found = {(part.source_id, part.start, part.end): part for span in spans for part in _cut(span)}
    return list(found.values())


def looks(
    sentence: str,
    spans: Sequence[Span],
    *,
    lexicon: Lexicon,
    similarity: Similarity | None,
    pair: Pair | None = None,
) -> list[Look]:
    """The nearest source sentences, nearest first, each with its findings; the pair reader needs cosines."""
    claim, parts, rough = _rough(sentence, tuple(spans), lexicon)
    if not rough:
        return []
    if similarity is not None:
        cosines = similarity(sentence, parts)
        judged = None if pair is None else pair(claim.text, evidence(parts, cosines))
        passage = replace(rough[0].passage, likeness=likeness(cosines), judged=judged)
        rough = tuple(replace(look, cosine=one, passage=passage) for look, one in zip(rough, cosines, strict=True))
    known = known_of(claim.text, lexicon)
    nearest = sorted(rough, key=lambda look: -look.nearness)[:NEAREST]
    first = _unmixed(claim, _close(claim, nearest[0], lexicon), parts)
    if similarity is None and _settles(first, claim, nearest):
        return [first]
    close = [first, *(_unmixed(claim, _close(claim, look, lexicon), parts) for look in nearest[1:])]
    close += _together(claim, known, close, lexicon)
    read_closely = [_own(claim, filled(claim, look, close, parts), close, parts) for look in close]
    return sorted(read_closely, key=lambda look: -look.nearness)


def likeness(cosines: Sequence[float]) -> float:
    """How like a claim its source is: the best sentence, and the best three together, each counting half.

    >>> likeness([0.2, 0.9, 0.6, 0.6])
    0.8
    """
    best = sorted(cosines)[-LIKEST:]
    return round(0.5 * best[-1] + 0.5 * sum(best) / len(best), 6)


def evidence(parts: Sequence[Span], cosines: Sequence[float]) -> str:
    """The source sentences most like a claim, in the order in which they stand.

    >>> parts = [Span("a:0", 0, 5, "Rest."), Span("a:0", 6, 15, "Drink up."), Span("a:0", 16, 22, "Sleep.")]
    >>> evidence(parts, [0.2, 0.1, 0.9])
    'Rest. Drink up. Sleep.'
    """
    likest = sorted(range(len(parts)), key=lambda place: -cosines[place])[:NEAREST]
    return " ".join(parts[place].text for place in sorted(likest))


@lru_cache(maxsize=64)
def _rough(
    sentence: str, spans: tuple[Span, ...], lexicon: Lexicon
) -> tuple[Reading, tuple[Span, ...], tuple[Look, ...]]:
    """The claim, the source sentences, and each of them weighed by its words; made once for both rounds of a check."""
    claim, parts = read(sentence), tuple(parts_of(spans))
    if not parts or not (claim.words or claim.quantities):
        return claim, parts, ()
    known = known_of(claim.text, lexicon)
    everything = whole(spans)
    unknown = _unknown(claim, known, everything)
    strange = sum(not is_light(word.form) for word in unknown)
    passage = Passage(coverage(claim, known, everything), strange, _letters(claim, unknown, spans))
    found = (Look(part, coverage(claim, known, profile(part.text)), None, passage) for part in parts)
    return claim, parts, tuple(found)


def _unknown(claim: Reading, known: Sequence[Topic], source: Profile) -> list[Word]:
    """The words of a claim that the source does not say in any wording, nor names under another name."""
    named = [(topic.start, topic.end) for topic in known if topic.is_in(source.forms)]
    return [
        word
        for word in claim.words
        if word.form not in source.forms
        and word.meanings.isdisjoint(source.meanings)
        and not any(start <= word.start < end for start, end in named)
    ]


def _letters(claim: Reading, unknown: Sequence[Word], spans: tuple[Span, ...]) -> float:
    """The share of a claim's words that the source says, one that it does not say counting by its runs of letters.

    It sees a part of “thrombotic” in “antithrombin”.
    """
    if not claim.words:
        return 1.0
    held = _runs_of(spans)
    missed = 0.0
    for word in unknown:
        runs = _runs(claim.text[word.start : word.end])
        missed += 1 - len(runs & held) / len(runs) if runs else 1
    return 1 - missed / len(claim.words)


@lru_cache(maxsize=256)
def _runs_of(spans: tuple[Span, ...]) -> frozenset[str]:
    return frozenset().union(*(_runs(span.text) for span in spans))


def _runs(text: str) -> frozenset[str]:
    plain = _GAP.sub(" ", text.casefold())
    return frozenset(plain[start : start + LETTERS] for start in range(len(plain) - LETTERS + 1))


@lru_cache(maxsize=256)
def whole(spans: tuple[Span, ...]) -> Profile:
    """All the cited words as one."""
    profiles = [profile(part.text) for part in parts_of(spans)]
    return Profile(
        frozenset().union(*(one.forms for one in profiles)), frozenset().union(*(one.meanings for one in profiles))
    )


def _close(claim: Reading, look: Look, lexicon: Lexicon) -> Look:
    """The same look with its findings, and coverage that counts amounts and brands."""
    close = replace(look, **held_against(claim.text, look.part.text, lexicon))
    return _unheaded(close) if is_heading(look.part.text) else close


def _unheaded(look: Look) -> Look:
    """The same look at a heading, which can neither deny a claim nor, unless it says nearly all of it, carry it."""
    findings = [replace(one, grade=Grade.MISSING) for one in look.findings if one.kind != "denial"]
    if only_names_it(look.part.text) or look.coverage < HEADED_FROM:
        findings.append(Finding(Grade.MISSING, "heading", "the source only names it, in a heading", 0, 0))
    return replace(look, findings=tuple(findings))


def _unmixed(claim: Reading, look: Look, parts: Sequence[Span]) -> Look:
    """The same look, told where the claim has in it a word of another cited sentence, or other people than it."""
    others = [part.text for part in parts if part != look.part]
    found = (*mixed(claim.text, look.part.text, others), *of_others(claim.text, look.part, parts))
    return replace(look, findings=(*look.findings, *found)) if found else look


def _own(claim: Reading, look: Look, close: Sequence[Look], parts: Sequence[Span]) -> Look:
    """The same look, told where what it lacks of the claim is said of something else."""
    found = tuple(borrowed(claim, look, close, parts))
    return replace(look, findings=(*look.findings, *found)) if found else look


def _settles(first: Look, claim: Reading, rough: Sequence[Look]) -> bool:
    """Whether the nearest sentence carries the claim so clearly that no other one, read closely, could change that."""
    alone, others = rough[0].coverage, rough[1:]
    if first.findings or first.is_silent or support([first]) < CLEAR_FROM or alone + PAIR_GAIN <= 1.0:
        return False
    drugs = [(drug.start, drug.end) for drug in claim.medicines]
    branded = sum(word.weight for word in claim.words if any(start <= word.start < end for start, end in drugs))
    more, total = branded + len(claim.quantities), claim.weight + len(claim.quantities)
    return all((other.coverage * claim.weight + more) / total <= first.coverage for other in others)


def _together(claim: Reading, known: Sequence[Topic], close: Sequence[Look], lexicon: Lexicon) -> list[Look]:
    """The nearest sentence read with another one, where both say clearly more: an opening line and its list item."""
    first = close[0]
    if first.is_against:
        return []
    alone = coverage(claim, known, profile(first.part.text))
    found = []
    for other in close[1:]:
        text = f"{first.part.text}\n{other.part.text}"
        if other.is_opposed or coverage(claim, known, profile(text)) < alone + PAIR_GAIN:
            continue
        cosine = first.cosine if other.cosine is None else max(first.cosine or 0.0, other.cosine)
        both = replace(first, part=replace(first.part, text=text), cosine=cosine)
        pair = _close(claim, both, lexicon)
        if not pair.findings:
            found.append(replace(pair, part=first.part))
    return found
