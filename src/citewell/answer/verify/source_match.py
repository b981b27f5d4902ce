"""A source sentence beside a claim, and what the score of support is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from citewell.answer.table_rows import TableRow
from citewell.answer.verify.mismatches import Mismatch, MismatchGrade
from citewell.answer.verify.support_model import READ, carried
from citewell.answer.verify.table_claims import RowStatement
from citewell.types import EvidenceSpan

FIRM_FROM = 0.7
"""Coverage from which a denial or a turned direction is a veto; below, it only lowers support."""

BOTH_WAYS_FROM = 0.5
"""Or both coverages, of the claim by the source and of the source by the claim: the two say much the same."""

MOST_STRANGE = 5
"""Words that the source does not have; more of them say nothing more."""

CLOSE_FROM = 0.6
"""The same of the source sentence where the reader has a say: what is farther from it is the reader's to tell."""

REPEATED_FROM = 0.8
"""Both coverages from which a claim repeats a sentence."""

ALIKE_SHARE = 0.75
"""The same from which the two are said in much the same words."""

SIMILAR_FROM = 0.25
"""The same for what is neither a denial nor a direction."""

COPY_FROM = 0.5
"""Both coverages from which a difference is a contradiction, and not another subject."""

MOST_ODDS = 6.0
"""Log-odds of the pair reader; more of them say nothing more."""

_SOFT = frozenset(("denial", "direction"))


def _is_firm(finding: Mismatch) -> bool:
    """Whether a finding speaks against a claim in whatever words."""
    return finding.grade == MismatchGrade.AGAINST and finding.kind not in _SOFT


class PairScores(NamedTuple):
    """What the pair reader says of a claim and the words it cites, as log-odds."""

    carried: float
    opposed: float

    @classmethod
    def of(cls, carried: float, opposed: float, neither: float) -> PairScores:
        """The log-odds from the three scores of the reader, or the logarithms of its probabilities.

        >>> PairScores.of(2.0, 2.0, -50.0)
        PairScores(carried=0.0, opposed=0.0)
        """
        return cls(carried - _summed(opposed, neither), opposed - _summed(carried, neither))


def _summed(one: float, other: float) -> float:
    """The logarithm of the sum of two numbers that are given by theirs."""
    return max(one, other) + math.log1p(math.exp(-abs(one - other)))


@dataclass(frozen=True, slots=True)
class SourceMatch:
    """What the words cited of one source have of a claim together."""

    coverage: float = 0.0
    strange: int = 0
    """Content words of the claim that none of them says in any wording."""
    letters: float = 0.0
    """The share of the claim's words that they say; one that they do not say counts by its runs of four letters."""
    likeness: float | None = None
    """How like the claim its sentences are, where there are cosines."""
    likest: str = ""
    """The sentences most like the claim, as the pair reader gets them, where there are cosines."""
    judged: PairScores | None = None
    """What the pair reader says of the claim and the sentences most like it, where it was asked."""


@dataclass(frozen=True, slots=True)
class Match:
    """One source sentence, or two read together, held against the claim."""

    part: EvidenceSpan
    coverage: float
    cosine: float | None
    passage: SourceMatch = SourceMatch()
    words: float = 0.0
    """Coverage without the quantities."""
    reverse_coverage: float = 0.0
    """Coverage of the source sentence by the claim."""
    findings: tuple[Mismatch, ...] = ()
    row: TableRow | None = None
    """The row of a table that it is."""
    said: RowStatement | None = None
    """What a row says of the matter of the claim."""
    context: str = ""
    """The words as they read where they stand; nothing where they are those of the part."""

    is_same_case: bool = False
    """It is a row, and the claim names what the row is about."""

    @property
    def text(self) -> str:
        """The words that are read."""
        return self.said.text if self.said is not None else self.context or self.part.text

    @property
    def nearness(self) -> float:
        """How near the sentence is to the claim, vetoes left aside."""
        share = max(self.coverage, self.words)
        return share if self.cosine is None else 0.5 * share + 0.5 * max(0.0, self.cosine)

    @property
    def vetoes(self) -> tuple[Mismatch, ...]:
        """The findings that no score outweighs, the gravest first."""
        if self.is_read:
            is_close = self.words >= FIRM_FROM and self.reverse_coverage >= CLOSE_FROM
        else:
            is_close = self.coverage >= FIRM_FROM or min(self.words, self.reverse_coverage) >= BOTH_WAYS_FROM
        is_aligned = is_close or self.is_same_case
        firm = [finding for finding in self.findings if finding.kind not in _SOFT or is_aligned]
        return tuple(sorted(firm, key=lambda finding: -finding.grade))

    @property
    def is_read(self) -> bool:
        """Whether the pair reader has said what it makes of the claim."""
        return self.passage.judged is not None

    @property
    def is_firmly_against(self) -> bool:
        """Whether more than a denial or a direction speaks against the claim, or the two say much the same."""
        is_copy = min(self.words, self.reverse_coverage) >= COPY_FROM or self.is_same_case
        is_similar = min(self.words, self.reverse_coverage) >= SIMILAR_FROM
        return is_copy or (is_similar and any(map(_is_firm, self.findings)))

    @property
    def both_ways(self) -> float:
        """The lesser coverage, of the claim by the sentence and of the sentence by the claim."""
        return min(self.coverage, self.reverse_coverage)

    @property
    def is_repeated(self) -> bool:
        """Whether the claim repeats the sentence, adds no word of its own, and no check finds anything."""
        return (
            min(self.coverage, self.reverse_coverage) >= REPEATED_FROM
            and not self.findings
            and not self.passage.strange
        )

    @property
    def is_alike(self) -> bool:
        """Whether the two say much the same in much the same words, and no check finds anything."""
        return self.both_ways >= ALIKE_SHARE and not self.findings

    @property
    def is_against(self) -> bool:
        """Whether something in it speaks against the claim."""
        return any(finding.grade == MismatchGrade.AGAINST for finding in self.findings)

    @property
    def is_opposed(self) -> bool:
        """Whether it speaks against the claim so that no score outweighs it."""
        return any(finding.grade == MismatchGrade.AGAINST for finding in self.vetoes)


def support(nearest: Match) -> float:
    """The probability that the cited words carry the claim."""
    return carried(facts(nearest))


def bearing(nearest: Match) -> float:
    """The same from words and likeness alone: whether both speak of one matter, whatever they say of it."""
    return carried({name: value for name, value in facts(nearest).items() if name != READ})


def facts(nearest: Match) -> dict[str, float]:
    """What the score is made of; `support.tsv` says what each is worth."""
    passage = nearest.passage
    told = {
        "passage": max(nearest.coverage, passage.coverage),
        "strange": min(passage.strange, MOST_STRANGE) / MOST_STRANGE,
        "letters": passage.letters,
    }
    if passage.likeness is not None:
        told["likeness"] = passage.likeness
    if passage.judged is not None:
        told[READ] = max(-MOST_ODDS, min(MOST_ODDS, passage.judged.carried))
    return told
