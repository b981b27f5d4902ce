"""Check one sentence against the words that it cites: vetoes first, then support."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from citewell.answer.table_rows import is_title
from citewell.answer.verify.amounts import AmountMatch, agreement, matched_amounts
from citewell.answer.verify.arrangement import borrowed, rearranged
from citewell.answer.verify.claim_words import ContentWord, ReadSentence, forms, is_light, read, without_references
from citewell.answer.verify.compare import (
    CLEAR_FROM,
    ApproximateReader,
    SentencePair,
    Similarity,
    matches,
    whole,
    with_reader,
)
from citewell.answer.verify.coverage import WordProfile, profile
from citewell.answer.verify.mismatches import MismatchGrade
from citewell.answer.verify.named_things import Topic, is_of_other_medicine, known_of
from citewell.answer.verify.near_copies import added, replaced
from citewell.answer.verify.opposites import opposite_claims
from citewell.answer.verify.source_match import (
    MOST_ODDS,
    REPEATED_FROM,
    Match,
    PairScores,
    SourceMatch,
    bearing,
    support,
)
from citewell.answer.verify.source_sentences import in_context, parts_of
from citewell.answer.verify.support_model import Known, never_from, opposed_from, supported_from
from citewell.clinical import Lexicon
from citewell.clinical.quantities import Quantity, quantities
from citewell.types import EvidenceSpan, SentenceCheck, Verdict
from citewell.work import spend

MOST_BESIDE = 2
"""How many sentences may be cited besides the nearest. What they still leave uncovered is too scattered to show."""

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
    """Further source sentences that cover what the nearest one leaves out of a claim.

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
    spend()
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


ALIKE_FROM = 0.2
"""Support from which a sentence is carried that says what the source says in much the same words."""

PARTLY_FROM = 0.25
"""Bearing from which a source speaks of the same matter."""

AGAINST_FROM = 0.4
"""Share of words from which a difference is a contradiction and not another subject."""

LEEWAY = 0.05
"""How much farther than a sentence that is vetoed one that carries the claim may be."""

ALIGNED_WITHIN = 0.2
"""How much farther than the nearest sentence, or than a silent one, one that speaks against the claim may be."""

WHOLE_FROM, HALF_FROM = 0.8, 0.5
"""How much of a sentence that speaks against it a claim must say, and how much of the claim that sentence, for no other
one to carry it."""

LEAST_NUMBERS = 2
"""Numbers in which a sentence must differ to be about another thing, where one that has them all is cited too."""

MAX_CHARACTERS = 1_500
"""A longer sentence is none; to check it would take too long."""

_STRANGE = re.compile(
    r"[\u0400-\u052f\u0530-\u058f\u0590-\u06ff\u13a0-\u13ff\u3040-\u30ff\u4e00-\u9fff\uff01-\uff5e\U0001d400-\U0001d7ff"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
)
"""Letters of other scripts, some of which match like Latin ones, and characters that cannot be seen."""


_ASKS = re.compile(r"\?[\W\d]*\Z")
"""At the end of a sentence."""


class Entailment(Protocol):
    """A model that reads two texts: does the first one carry the second?"""

    def score(self, premise: str, hypothesis: str) -> tuple[float, float, float]:
        """The probabilities of entailed, neutral and contradicted."""
        ...


SURE = 0.8
"""Probability from which an entailment model is with_reader."""


def verify(
    sentence: str,
    spans: Sequence[EvidenceSpan],
    *,
    lexicon: Lexicon,
    similarity: Similarity | None,
    pair: SentencePair | None = None,
    entailment: Entailment | None = None,
) -> SentenceCheck:
    """Say whether the cited words carry a sentence, and which of them decided."""
    spend()
    spans = tuple(spans)
    same = _by_words(spans).get(_flat(sentence))
    if same is not None:
        return SentenceCheck(Verdict.SUPPORTED, ("quoted word for word from the source",), same, 1.0)
    if (refused := _refused(sentence, spans)) is not None:
        return refused
    found = matches(sentence, spans, lexicon=lexicon, similarity=None)
    if not found:
        return SentenceCheck(Verdict.NOT_FOUND, ("no source text to check this against",), None, 0.0)
    check = _judged(found)
    if similarity is not None and not _is_clear(check, found, is_read=pair is not None):
        found = matches(sentence, spans, lexicon=lexicon, similarity=similarity)
        if pair is None:
            check = _judged(found)
        else:
            check, found = _read(sentence, found, pair, lexicon, is_asked=entailment is not None)
    check = _with_all(check, sentence, found, spans, lexicon)
    check = _without_additions(check, sentence, found, spans, lexicon)
    check = _without_rearrangement(check, sentence, found, spans)
    return _with_entailment(check, sentence, entailment, is_open=_is_open(check, found)) if entailment else check


def _is_open(check: SentenceCheck, found: Sequence[Match]) -> bool:
    """Whether nothing speaks against a sentence but that the words do not carry it: no veto, no finding, no reader."""
    if check.is_vetoed or _is_read_as_opposed(found[0].passage, never_from()):
        return False
    return not any(match.findings for match in found if match.part == check.span or match.is_opposed)


@lru_cache(maxsize=64)
def _by_words(spans: tuple[EvidenceSpan, ...]) -> dict[str, EvidenceSpan]:
    """The cited words and their sentences by how they read."""
    found: dict[str, EvidenceSpan] = {}
    for part in (*spans, *parts_of(spans)):
        found.setdefault(_flat(part.text), part)
    return found


def _refused(sentence: str, spans: Sequence[EvidenceSpan]) -> SentenceCheck | None:
    """The verdict of a sentence that cannot be read as it will be seen, is too long to be one, or only asks."""
    if len(sentence) > MAX_CHARACTERS:
        told = f"too long to check (over {MAX_CHARACTERS:,} characters): use shorter sentences"
        return SentenceCheck(Verdict.NOT_FOUND, (told,), None, 0.0, is_vetoed=True)
    if _ASKS.search(_flat(sentence)):
        return SentenceCheck(
            Verdict.NOT_FOUND, ("this is a question, so there is nothing to check",), None, 0.0, is_vetoed=True
        )
    strange = set(_STRANGE.findall(sentence))
    if strange and strange - set("".join(span.text for span in spans)):
        return SentenceCheck(
            Verdict.NOT_FOUND, ("contains letters that the source does not use",), None, 0.0, is_vetoed=True
        )
    return None


def _without_additions(
    check: SentenceCheck, sentence: str, found: Sequence[Match], spans: Sequence[EvidenceSpan], lexicon: Lexicon
) -> SentenceCheck:
    """The same verdict, unless the sentence repeats its source and adds what no cited words say, or names another."""
    if check.is_vetoed or check.verdict is Verdict.NOT_FOUND:
        return check
    claim, said = read(sentence), " ".join(span.text for span in check.spans)
    known = known_of(claim.text, lexicon)
    told = None if check.verdict is Verdict.CONTRADICTED else added(claim, said, whole(tuple(spans)), known)
    if (
        told is None
        and check.span is not None
        and all(match.row is None for match in found if match.part == check.span)
    ):
        told = replaced(claim, check.span.text, _joined(spans), known)
    if told is None:
        return check
    verdict = check.verdict if check.verdict is Verdict.CONTRADICTED else Verdict.PARTLY
    return replace(check, verdict=verdict, reasons=(told,), is_vetoed=True)


def _joined(spans: Sequence[EvidenceSpan]) -> str:
    return "\n".join(span.text for span in spans)


def _without_rearrangement(
    check: SentenceCheck, sentence: str, found: Sequence[Match], spans: tuple[EvidenceSpan, ...]
) -> SentenceCheck:
    """The same verdict, unless the sentence arranges the words that carry it otherwise, or turns what they say."""
    match = next((match for match in found if match.part == check.span), None)
    if check.verdict is not Verdict.SUPPORTED or match is None or match.row is not None:
        return check
    claim, source = read(sentence), read(match.part.text)
    told = (
        *rearranged(claim, source),
        *opposite_claims(claim, source, _joined(spans), words=match.words, reverse=match.reverse_coverage),
        *borrowed(claim, match, found, parts_of(spans)),
    )
    return replace(check, verdict=Verdict.CONTRADICTED, reasons=told[:1], is_vetoed=True) if told else check


def _with_all(
    check: SentenceCheck, sentence: str, found: Sequence[Match], spans: tuple[EvidenceSpan, ...], lexicon: Lexicon
) -> SentenceCheck:
    """The same verdict with every source sentence that it rests on."""
    if check.span is None or check.verdict in (Verdict.CONTRADICTED, Verdict.NOT_FOUND):
        return check
    claim, opposed = read(sentence), frozenset(match.part for match in found if match.is_against)
    parts = dict.fromkeys((*(match.part for match in found), *parts_of(spans)))  # the nearest first
    others = beside(claim, known_of(claim.text, lexicon), check.span, parts, opposed=opposed)
    return replace(check, beside=others) if others else check


def _is_clear(check: SentenceCheck, found: Sequence[Match], *, is_read: bool) -> bool:
    """Whether the sentence repeats what carries or vetoes it; embedding and reading it costs far more.

    Without a reader, words that carry most of it are enough.
    """
    if check.is_vetoed:
        return any(
            match.part == check.span and min(match.words, match.reverse_coverage) >= REPEATED_FROM for match in found
        )
    if check.verdict is not Verdict.SUPPORTED:
        return False
    if is_read:
        return any(match.is_repeated for match in found)
    is_repeated = any(match.both_ways >= REPEATED_FROM and not match.findings for match in found)
    return is_repeated or check.support >= CLEAR_FROM


@lru_cache(maxsize=4096)
def _flat(text: str) -> str:
    """A sentence without source marks, its white space evened out."""
    return " ".join(without_references(text).split())


def _judged(found: Sequence[Match]) -> SentenceCheck:
    """The verdict of the nearest sentence without a veto where it carries the claim, or else of the nearest one."""
    nearest, able, share = found[0], best_support(found), support(found[0])
    is_turned = _is_read_as_opposed(nearest.passage, never_from())
    least = ALIKE_FROM if able is not None and able.is_alike else supported_from(_known(nearest.passage))
    if able is not None and not is_turned and share >= least:
        return SentenceCheck(Verdict.SUPPORTED, ("the source says this",), able.part, share)
    opposed = _opposed(found, nearest.nearness)
    if opposed is not None:
        against = [finding.reason for finding in opposed.findings if finding.grade == MismatchGrade.AGAINST]
        reasons = tuple(dict.fromkeys(against))
        return SentenceCheck(Verdict.CONTRADICTED, reasons, opposed.part, share, is_vetoed=True)
    # The pair reader has learned from prose: what it reads out of a row or a heading is no contradiction.
    is_prose = nearest.row is None and all(finding.kind != "heading" for finding in nearest.findings)
    if is_prose and _is_read_as_opposed(nearest.passage, opposed_from()):
        return SentenceCheck(Verdict.CONTRADICTED, ("the source says otherwise",), nearest.part, share)
    if bearing(nearest) < PARTLY_FROM:
        return SentenceCheck(Verdict.NOT_FOUND, ("the source does not mention this",), nearest.part, share)
    reasons = tuple(dict.fromkeys(finding.reason for finding in nearest.findings))
    told = reasons or ("the source supports only part of this",)
    is_vetoed = any(finding.grade != MismatchGrade.WEAKER for finding in nearest.vetoes)
    return SentenceCheck(Verdict.PARTLY, told, nearest.part, share, is_vetoed)


def _read(
    sentence: str, found: list[Match], pair: SentencePair, lexicon: Lexicon, *, is_asked: bool
) -> tuple[SentenceCheck, list[Match]]:
    """The verdict with the reader's word, and the matches with it; it is asked where it could change something.

    What it says in eight bits counts where the same in full, which may be a little more or less, gives one verdict.
    """
    check = _same(found, PairScores(0.0, 0.0), within=MOST_ODDS)
    if check is not None and not is_asked:
        return replace(check, support=support(found[0])), found
    pieces = evidence_of(sentence, found[0], lexicon)
    judged = pair(*pieces)
    if isinstance(pair, ApproximateReader) and _same(found, judged, within=pair.within) is None:
        judged = pair.exactly(*pieces)
    read_there = with_reader(found, judged)
    check = _judged(read_there)
    if found[0].row is not None and not _is_read_as_opposed(read_there[0].passage, never_from()):
        by_words = _judged(found)  # the reader has learned from prose, and misses what a row says
        check = by_words if by_words.verdict is Verdict.SUPPORTED else check
    return check, read_there


def evidence_of(sentence: str, nearest: Match, lexicon: Lexicon) -> tuple[str, str]:
    """What the reader gets: the claim in its source's words, and the sentences most like it under titles it names."""
    ours = {word.form for word in read(sentence).words if not is_light(word.form)}
    titles = [title.rstrip(".") for title in nearest.part.titles if not ours.isdisjoint(forms(title))]
    evidence = ". ".join((*titles, nearest.passage.likest))
    return aligned(read(sentence).text, evidence, lexicon), evidence


def _same(found: Sequence[Match], judged: PairScores, *, within: float) -> SentenceCheck | None:
    """The verdict with every word of the pair reader that is so near to this one, if it is the same with all.

    Support grows with the one of its odds and falls with the other, and no sentence is carried that it surely reads as
    opposed: where the two extremes lead to one verdict, so does all between.
    """
    carried, opposed = judged
    best, worst = (_judged(with_reader(found, PairScores(carried + off, opposed - off))) for off in (within, -within))
    return worst if replace(best, support=0.0) == replace(worst, support=0.0) else None


def _is_read_as_opposed(passage: SourceMatch, least: float) -> bool:
    return passage.judged is not None and passage.judged.opposed >= least


def _known(passage: SourceMatch) -> Known:
    return "pair" if passage.judged is not None else "words" if passage.likeness is None else "likeness"


def best_support(found: Sequence[Match]) -> Match | None:
    """The nearest sentence without a veto that may carry the claim, if no vetoed one is clearly nearer.

    None where the claim says more of a sentence that speaks against it than of this one: “adults under 50 kg, no more
    than 2 g” goes before “adults, 4 g”; or as much, and this one has not its numbers. A heading carries nothing that a
    row speaks against.
    """
    opposed = [match for match in found if match.is_opposed and not _is_answered(match, found)]
    least = max((match.nearness - LEEWAY for match in opposed), default=0.0)
    least = max(least, found[0].nearness - ALIGNED_WITHIN)
    able = [match for match in found if not match.vetoes and match.nearness >= least]
    able = [match for match in able if match is found[0] or not match.is_against]
    if any(match.row is not None and match.words >= HALF_FROM for match in opposed):
        able = [match for match in able if match.row is not None or not is_title(match.part.text)]
    best = max(able, key=lambda match: match.nearness, default=None)
    if best is None:
        return None
    is_numberless = best.coverage < best.words
    outdone = [match for match in opposed if match.words >= HALF_FROM and match.reverse_coverage > WHOLE_FROM]
    least = best.reverse_coverage
    is_outdone = any(
        match.reverse_coverage > least or (is_numberless and match.reverse_coverage == least) for match in outdone
    )
    return None if is_outdone else best


def _is_answered(opposed: Match, found: Sequence[Match]) -> bool:
    """Whether only the numbers of a sentence speak against the claim, and another one has them all, and no veto."""
    amounts = {finding.start for finding in opposed.findings if finding.kind == "amount"}
    if len(amounts) < LEAST_NUMBERS or any(veto.kind != "amount" for veto in opposed.vetoes):
        return False
    return any(not match.vetoes and match.coverage >= HALF_FROM for match in found)


def _opposed(found: Sequence[Match], nearness: float) -> Match | None:
    """The nearest sentence that speaks against the claim, if it is about as near as another.

    A row of the very case that the claim is about goes before all others, the one with the least against it first.
    """
    aligned = [match for match in found if match.nearness >= nearness - ALIGNED_WITHIN]
    against = [match for match in aligned if match.is_against and match.words >= AGAINST_FROM]
    if found[0].is_read:  # what is denied or turned in other words is the reader's to tell
        against = [match for match in against if match.is_firmly_against]
    of_the_case = [match for match in against if match.is_same_case]
    return min(of_the_case, key=lambda match: len(match.findings), default=next(iter(against), None))


def _with_entailment(check: SentenceCheck, sentence: str, entailment: Entailment, *, is_open: bool) -> SentenceCheck:
    """An entailment model may settle what support left open, or turn a verdict; it never lifts a veto or a finding."""
    if check.span is None or check.verdict is Verdict.CONTRADICTED:
        return check
    entailed, _, contradicted = entailment.score(check.span.text, sentence)
    if contradicted >= SURE:
        told = ("the entailment model reads the opposite in the source",)
        return replace(check, verdict=Verdict.CONTRADICTED, reasons=told, is_vetoed=True)
    if check.verdict is Verdict.SUPPORTED and entailed < 1 - SURE:
        return replace(
            check, verdict=Verdict.PARTLY, reasons=("the entailment model does not find this in the source",)
        )
    if is_open and entailed >= SURE:
        return replace(check, verdict=Verdict.SUPPORTED, reasons=("the entailment model finds this in the source",))
    return check
