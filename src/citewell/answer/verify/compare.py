"""Hold a claim against the cited words: the nearest sentences, each with what it lacks or says otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol, TypedDict, runtime_checkable

from citewell.answer.table_rows import TableRow, tabled
from citewell.answer.verify.amounts import AmountMatch, agreement, amounts_missing, other_arm
from citewell.answer.verify.claim_words import ContentWord, ReadSentence, forms, is_light, read
from citewell.answer.verify.coverage import WordProfile, coverage, names_of, profile
from citewell.answer.verify.mismatches import Mismatch, MismatchGrade
from citewell.answer.verify.named_things import Topic, grades_differ, is_of_other_medicine, known_of, medicines_differ
from citewell.answer.verify.near_copies import edits, opposite_edits
from citewell.answer.verify.source_match import Match, PairScores, SourceMatch, support
from citewell.answer.verify.source_sentences import (
    in_context,
    is_heading,
    may_tell_one,
    of_others,
    only_names_it,
    parts_of,
)
from citewell.answer.verify.table_claims import (
    RowStatement,
    apart,
    denials_in,
    is_other_case,
    is_same_case,
    said,
    swapped,
)
from citewell.clinical import Lexicon
from citewell.clinical.medicines import medicines
from citewell.types import EvidenceSpan


class ComparedSentence(TypedDict):
    """What a match knows of one source sentence once it was read closely."""

    coverage: float
    words: float
    reverse_coverage: float
    findings: tuple[Mismatch, ...]


@lru_cache(maxsize=512)
def compared(claimed: str, said_there: str, lexicon: Lexicon, row: RowStatement | None = None) -> ComparedSentence:
    """A claim held against one source text; both rounds of a check ask for the same pairs.

    In a row, what belongs to what is said by its headers: the rules for the clauses of a sentence are not asked.
    """
    claim, source = read(claimed), read(said_there)
    known, there = known_of(claim.text, lexicon), profile(source.text)
    amounts = amounts_missing(claim, source, is_row=row is not None)
    lost = len({finding.start for finding in amounts})
    drugs = names_of(source.medicines)
    share = coverage(claim, known, there, drugs=drugs, amounts_missing=lost)
    findings = (
        *amounts,
        *medicines_differ(claim, source),
        *grades_differ(claim, source),
        *denials_in(claim, source, row),
        *edits(claim, source),
        *opposite_edits(claim, source, coverage=share),
        *(other_arm(claim, source) if row is None else ()),
    )
    return ComparedSentence(
        coverage=share,
        words=coverage(claim, known, there, drugs=drugs),
        reverse_coverage=coverage(source, (), profile(claim.text)),
        findings=findings,
    )


LETTERS = 4
"""How long the runs of letters are that a claim and its source are compared by."""

_GAP = re.compile(r"\W+")


@lru_cache(maxsize=256)
def passage_of(sentence: str, spans: tuple[EvidenceSpan, ...], source_id: str, lexicon: Lexicon) -> SourceMatch:
    """What the words cited of one source have of a claim."""
    claim, spans = read(sentence), tuple(span for span in spans if span.source_id == source_id)
    known, everything = known_of(claim.text, lexicon), whole(spans)
    unknown = _unknown(claim, known, everything)
    strange = sum(not is_light(word.form) for word in unknown)
    return SourceMatch(coverage(claim, known, everything), strange, _letters(claim, unknown, spans))


def _unknown(claim: ReadSentence, known: Sequence[Topic], source: WordProfile) -> list[ContentWord]:
    """The words of a claim that the source does not say in any wording, nor names under another name."""
    named = [(topic.start, topic.end) for topic in known if topic.is_in(source.forms)]
    return [
        word
        for word in claim.words
        if word.form not in source.forms
        and word.meanings.isdisjoint(source.meanings)
        and not any(start <= word.start < end for start, end in named)
    ]


def _letters(claim: ReadSentence, unknown: Sequence[ContentWord], spans: tuple[EvidenceSpan, ...]) -> float:
    """The share of a claim's words that the source says, one that it does not say counting by its runs of letters.

    It sees a part of “thrombotic” in “antithrombin”.
    """
    if not claim.words:
        return 1.0
    held = _letters_of(spans)
    missed = 0.0
    for word in unknown:
        runs = _runs(claim.text[word.start : word.end])
        missed += 1 - sum(run in held for run in runs) / len(runs) if runs else 1
    return 1 - missed / len(claim.words)


@lru_cache(maxsize=256)
def _letters_of(spans: tuple[EvidenceSpan, ...]) -> str:
    return "\n".join(_GAP.sub(" ", span.text.casefold()) for span in spans)


def _runs(text: str) -> frozenset[str]:
    plain = _GAP.sub(" ", text.casefold())
    return frozenset(plain[start : start + LETTERS] for start in range(len(plain) - LETTERS + 1))


@lru_cache(maxsize=256)
def whole(spans: tuple[EvidenceSpan, ...]) -> WordProfile:
    """All the cited words as one."""
    profiles = [profile(part.text) for part in (*parts_of(spans), *tabled(spans).others)]
    profiles += [profile(title) for span in spans for title in span.titles]
    return WordProfile(
        frozenset().union(*(word_profile.forms for word_profile in profiles)),
        frozenset().union(*(word_profile.meanings for word_profile in profiles)),
    )


def filled(claim: ReadSentence, match: Match, close: Sequence[Match], parts: Sequence[EvidenceSpan]) -> Match:
    """Without the gaps that other cited sentences fill; a row of a table speaks of its own case alone."""
    if all(finding.grade != MismatchGrade.MISSING for finding in match.findings):
        return match
    kept = tuple(finding for finding in match.findings if not _is_filled(claim, finding, match, close, parts))
    return replace(match, findings=kept)


def _is_filled(
    claim: ReadSentence, finding: Mismatch, match: Match, close: Sequence[Match], parts: Sequence[EvidenceSpan]
) -> bool:
    """Whether another sentence says what this one leaves out, beside the same words or as the passage's subject."""
    if finding.grade != MismatchGrade.MISSING or finding.kind == "heading":
        return False
    if finding.kind == "medicine" and not read(match.text).medicines:
        wanted = {drug.name for drug in claim.medicines if drug.start == finding.start}
        passage = [
            read(part.text)
            for part in parts
            if may_tell_one(match.part, part) and wanted & {drug.name for drug in medicines(part.text)}
        ]
        is_denied = claim.is_clause_denied(finding.start)
        return any(
            drug.name in wanted and sentence.is_clause_denied(drug.start) == is_denied
            for sentence in passage
            for drug in sentence.medicines
        )
    context = claim.near(finding.start, finding.end)
    least = max(1, len(context & forms(match.text)))
    if finding.kind == "amount":
        rows = tabled(tuple(parts)).rows
        return any(
            len(context & forms(part.text)) >= least and _says(claim, finding, part.text)
            for part in parts
            if part != match.part and part not in rows and may_tell_one(match.part, part)
            if not is_of_other_medicine(claim, part.text)
        )
    return any(
        len(context & forms(other.text)) >= least and not any(lack.start == finding.start for lack in other.findings)
        for other in close
        if other.part != match.part and other.row is None and may_tell_one(match.part, other.part)
    )


def _says(claim: ReadSentence, finding: Mismatch, text: str) -> bool:
    """Whether a text holds the quantity of the claim that was found missing, and does not deny it."""
    ours = next(amount for amount in claim.quantities if amount.start == finding.start)
    source, is_denied = read(text), claim.is_clause_denied(ours.start)
    return any(
        agreement(ours, theirs) == AmountMatch.SAME and (is_denied or not source.is_clause_denied(theirs.start))
        for theirs in source.quantities
    )


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

SAME_FROM = 0.85
"""Coverage, of the claim by a source sentence and of that by the claim, from which the two are one sentence."""


class Similarity(Protocol):
    """Cosines between a sentence and parts of documents, each a sentence with its exact place."""

    def __call__(self, sentence: str, parts: Sequence[EvidenceSpan]) -> Sequence[float]: ...


class SentencePair(Protocol):
    """Reads a sentence and its evidence together, as the pair reader does."""

    def __call__(self, sentence: str, evidence: str) -> PairScores: ...


@runtime_checkable
class ApproximateReader(SentencePair, Protocol):
    """A pair reader that is quick and a little off."""

    within: float
    """How far its log-odds may be off."""

    def exactly(self, sentence: str, evidence: str) -> PairScores:
        """What it would say if it were not."""
        ...


def matches(
    sentence: str,
    spans: Sequence[EvidenceSpan],
    *,
    lexicon: Lexicon,
    similarity: Similarity | None,
) -> list[Match]:
    """The nearest source sentences, nearest first, each with its findings."""
    spans = tuple(spans)
    claim, parts, rough = _rough(sentence, spans, lexicon)
    if not rough:
        return []
    like: dict[str, Any] = {}
    if similarity is not None:
        cosines = similarity(sentence, parts)
        like = {"likeness": likeness(cosines), "likest": evidence([match.text for match in rough], cosines)}
        rough = tuple(replace(match, cosine=one) for match, one in zip(rough, cosines, strict=True))
    known = known_of(claim.text, lexicon)
    nearest = sorted(rough, key=lambda match: -match.nearness)[:NEAREST]

    def closely(match: Match) -> Match:
        passage = replace(passage_of(sentence, spans, match.part.source_id, lexicon), **like)
        return _for_others(claim, _close(claim, replace(match, passage=passage), lexicon), parts)

    first = closely(nearest[0])
    if similarity is None and _settles(first, claim, nearest):
        return [first]
    close = [first, *map(closely, nearest[1:])]
    close = _without_other_cases(claim, close)
    close += _together(claim, known, close, lexicon)
    read_closely = [filled(claim, match, close, parts) for match in close]
    return sorted(read_closely, key=lambda match: -match.nearness)


def with_reader(found: Sequence[Match], judged: PairScores) -> list[Match]:
    """The same matches with the word of the pair reader."""
    return [replace(match, passage=replace(match.passage, judged=judged)) for match in found]


def likeness(cosines: Sequence[float]) -> float:
    """How like a claim its source is: the best sentence, and the best three together, each counting half.

    >>> likeness([0.2, 0.9, 0.6, 0.6])
    0.8
    """
    best = sorted(cosines)[-LIKEST:]
    return round(0.5 * best[-1] + 0.5 * sum(best) / len(best), 6)


def evidence(texts: Sequence[str], cosines: Sequence[float]) -> str:
    """The source sentences most like a claim, in the order in which they stand.

    >>> evidence(["Rest.", "Drink up.", "Sleep."], [0.2, 0.1, 0.9])
    'Rest. Drink up. Sleep.'
    """
    likest = sorted(range(len(texts)), key=lambda place: -cosines[place])[:NEAREST]
    return " ".join(texts[place] for place in sorted(likest))


@lru_cache(maxsize=64)
def _rough(
    sentence: str, spans: tuple[EvidenceSpan, ...], lexicon: Lexicon
) -> tuple[ReadSentence, tuple[EvidenceSpan, ...], tuple[Match, ...]]:
    """The claim, the source sentences, and each of them weighed by its words; made once for both rounds of a check."""
    claim, parts = read(sentence), tuple(parts_of(spans))
    if not parts or not (claim.words or claim.quantities):
        return claim, parts, ()
    known = known_of(claim.text, lexicon)
    rows = tabled(spans).rows
    found = (
        _weighed(claim, known, part, rows[part]) if rows and part in rows else _read_there(claim, known, part)
        for part in parts
    )
    return claim, parts, tuple(found)


def _read_there(claim: ReadSentence, known: Sequence[Topic], part: EvidenceSpan) -> Match:
    """A sentence as it reads under its titles, with the share of the claim that it says."""
    context = in_context(part, claim.text) if part.titles else part.text
    return Match(part, coverage(claim, known, profile(context)), None, context=context)


def _weighed(claim: ReadSentence, known: Sequence[Topic], part: EvidenceSpan, row: TableRow) -> Match:
    """A row with the share of the claim that it says; rows differ in their numbers, so these count too."""
    statement = said(row, claim.text)
    lost = len({finding.start for finding in amounts_missing(claim, read(statement.text), is_row=True)})
    share = coverage(claim, known, profile(statement.text), amounts_missing=lost)
    return Match(part, share, None, row=row, said=statement)


def _close(claim: ReadSentence, match: Match, lexicon: Lexicon) -> Match:
    """The same match with its findings, and coverage that counts amounts and brands."""
    # Where no other row shows what is a header, a row is read as prose.
    row = match.said if match.row is not None and len(match.row.table.rows) > 1 else None
    close = replace(match, **compared(claim.text, match.text, lexicon, row))
    if match.row is None:
        return _unheaded(close) if is_heading(match.part.text) else close
    known = known_of(claim.text, lexicon)
    findings = (*close.findings, *swapped(claim, match.row, known), *apart(claim, match.row))
    rows = (replace(match.row, cells=cells) for cells in match.row.table.rows)
    if not any(is_same_case(claim, row) for row in rows):  # no number of a case speaks against a claim that names none
        findings = tuple(
            replace(finding, grade=MismatchGrade.MISSING) if finding.kind == "amount" else finding
            for finding in findings
        )
    if is_other_case(known, match.row):
        findings = tuple(
            replace(mismatch, grade=MismatchGrade.MISSING) if mismatch.grade == MismatchGrade.AGAINST else mismatch
            for mismatch in findings
        )
    return replace(close, findings=findings, is_same_case=is_same_case(claim, match.row))


def _without_other_cases(claim: ReadSentence, close: Sequence[Match]) -> list[Match]:
    """Without what says otherwise of other cases, where one row carries the claim: the other rows of its table.

    A row that has two numbers of a claim, that of the case and that of the matter, is not outvoted by other numbers in
    prose either; what prose denies or says otherwise stands.
    """
    carrying = [match for match in close if match.row is not None and not match.findings]
    if not carrying:
        return list(close)
    tables = [match.row.table for match in carrying if match.row is not None]
    is_sure = len(claim.quantities) > 1
    return [
        match
        for match in close
        if not (
            match.is_against
            and ((is_sure and _is_of_another_case(match)) or (match.row is not None and match.row.table in tables))
        )
    ]


def _is_of_another_case(match: Match) -> bool:
    """Whether a row, or in prose nothing but numbers, speaks against a claim."""
    against = [finding for finding in match.findings if finding.grade == MismatchGrade.AGAINST]
    return match.row is not None or all(mismatch.kind == "amount" for mismatch in against)


def _unheaded(match: Match) -> Match:
    """The same match at a heading, which can neither deny a claim nor, unless it says nearly all of it, carry it."""
    findings = [replace(finding, grade=MismatchGrade.MISSING) for finding in match.findings if finding.kind != "denial"]
    if only_names_it(match.part.text) or match.both_ways < HEADED_FROM:
        findings.append(Mismatch(MismatchGrade.MISSING, "heading", "the source mentions this only in a heading", 0, 0))
    return replace(match, findings=tuple(findings))


def _for_others(claim: ReadSentence, match: Match, parts: Sequence[EvidenceSpan]) -> Match:
    """The same match, told where it stands under a heading of other people."""
    mismatches = tuple(of_others(claim.text, match.part, parts))
    return replace(match, findings=(*match.findings, *mismatches)) if mismatches else match


def _settles(first: Match, claim: ReadSentence, rough: Sequence[Match]) -> bool:
    """Whether the nearest sentence carries the claim so clearly that no other one, read closely, could change that."""
    alone, others = rough[0].coverage, rough[1:]
    if not first.findings and first.both_ways >= SAME_FROM:
        return True
    if first.findings or support(first) < CLEAR_FROM or alone + PAIR_GAIN <= 1.0:
        return False
    drugs = [(drug.start, drug.end) for drug in claim.medicines]
    branded = sum(word.weight for word in claim.words if any(start <= word.start < end for start, end in drugs))
    more, total = branded + len(claim.quantities), claim.weight + len(claim.quantities)
    return all((other.coverage * claim.weight + more) / total <= first.coverage for other in others)


def _together(claim: ReadSentence, known: Sequence[Topic], close: Sequence[Match], lexicon: Lexicon) -> list[Match]:
    """The nearest sentence read with another one, where both say clearly more: an opening line and its list item."""
    first = close[0]
    if first.is_against:
        return []
    alone = coverage(claim, known, profile(first.text))
    found = []
    for other in close[1:]:
        text = f"{first.text}\n{other.text}"
        if first.row is not None and other.row is not None:
            continue
        if not may_tell_one(first.part, other.part):
            continue
        if other.is_opposed or coverage(claim, known, profile(text)) < alone + PAIR_GAIN:
            continue
        cosine = first.cosine if other.cosine is None else max(first.cosine or 0.0, other.cosine)
        both = replace(first, part=first.part, context=text, cosine=cosine, row=None, said=None)
        pair = _close(claim, both, lexicon)
        if not pair.findings:
            found.append(replace(pair, part=first.part, row=first.row, said=first.said))
    return found
