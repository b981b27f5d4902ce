"""Chooses the statements that answer a question: a trained reader and a few plain features, weighed by one table."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from citewell.answer.candidates import NAMES, Candidate, Features, Reader, candidates
from citewell.answer.expand import Expansion
from citewell.answer.negation import NEGATIONS
from citewell.answer.statements import Statement
from citewell.answer.verify_score import calibrated, log_odds, sigmoid
from citewell.types import Claim, Context, Evidence, Hit
from citewell.words import terms

WEIGHTS = Path(__file__).with_name("select.json")
"""What each feature counts; `bench/reader/fit_select.py` fits it."""

REFERENCE_NUMBERS = re.compile(r"^\s*(?:\d+(?:\.\d+)+|\d{1,3}[a-h]?[.)])\s|\[[^\]]*\]")
"""Numbers that name a recommendation, an item or a year of review."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What each feature counts, and how sure a statement must be."""

    bias: float
    features: tuple[float, ...]
    least: float
    """Chance below which nothing is shown first."""
    further: float
    """Share of the first one's chance below which nothing is shown beside it."""
    slope: float
    shift: float
    """From the log-odds of the best statement to those of an answer that is right."""

    def answered(self, chance: float) -> float:
        """The chance that an answer is right whose best statement has some chance."""
        return sigmoid(self.slope * log_odds(chance) + self.shift)

    def chance(self, seen: Features) -> float:
        """The chance that a statement answers."""
        odds = self.bias + sum(weight * value for weight, value in zip(self.features, seen.values(), strict=True))
        return sigmoid(max(-30.0, min(30.0, odds)))


@dataclass(frozen=True, slots=True)
class Room:
    """How much is shown."""

    statements: int = 3
    characters: int = 1_800
    overlap: float = 0.85
    """A line that has this part of its words in common with one that is shown says nothing new."""


ROOM = Room()


def select(
    question: str,
    evidence: Sequence[Evidence],
    *,
    reader: Reader | None,
    expansions: Iterable[Expansion] = (),
    room: Room = ROOM,
) -> list[Statement]:
    """The statements that answer a question, best first; none where nothing does."""
    weights = loaded(is_read=reader is not None)
    judged = [
        replace(one, chance=weights.chance(one.features))
        for one in candidates(question, evidence, reader=reader, expansions=tuple(expansions))
    ]
    judged.sort(key=lambda one: -one.chance)
    chosen: list[Candidate] = []
    for one in judged:
        least = max(weights.least, weights.further * chosen[0].chance) if chosen else weights.least
        if one.chance < least or len(chosen) == room.statements:
            break
        used = sum(len(other.statement.text) for other in chosen)
        if chosen and used + len(one.statement.text) > room.characters:
            continue
        if not any(_repeats(one, other, room.overlap) for other in chosen):
            chosen.append(one)
    return laid_out([one.statement for one in chosen])


def rerank(
    question: str, hits: Sequence[Hit], *, reader: Reader, expansions: Sequence[Expansion], limit: int
) -> tuple[Hit, ...]:
    """The passages whose statements answer best, first."""
    weights = loaded(is_read=True)
    evidence = [Evidence(number, hit, hit.start, hit.end) for number, hit in enumerate(hits, 1)]
    best: dict[str, float] = {}
    for one in candidates(question, evidence, reader=reader, expansions=expansions):
        best[one.hit.source_id] = max(best.get(one.hit.source_id, 0.0), weights.chance(one.features))
    return tuple(sorted(hits, key=lambda hit: -best.get(hit.source_id, 0.0))[:limit])


def answer_chance(
    question: str,
    claims: Sequence[Claim],
    context: Context,
    *,
    reader: Reader | None,
    expansions: Sequence[Expansion],
) -> float:
    """The chance that claims answer a question and hold: of the best statement that they cite, times their support."""
    if not claims:
        return 0.0
    weights = loaded(is_read=reader is not None)
    cited = [span for claim in claims for span in claim.check.spans]
    read = candidates(question, context.evidence, reader=reader, expansions=expansions, cited=cited)
    best = max((weights.chance(one.features) for one in read if one.is_cited(cited)), default=0.0)
    return weights.answered(best) * calibrated([claim.check for claim in claims])


@cache
def loaded(*, is_read: bool) -> Weights:
    """The weights that were fitted: with the reader, or for words and cosines alone."""
    read = json.loads(WEIGHTS.read_text("utf-8"))["reader" if is_read else "words"]
    features = tuple(read["features"][name] for name in NAMES)
    return Weights(read["bias"], features, read["least"], read["further"], read["slope"], read["shift"])


def weights_sha256() -> str:
    """Which weights choose, as every record tells."""
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()


def _repeats(one: Candidate, other: Candidate, overlap: float) -> bool:
    """Whether a statement says what another one says: the same words of a document, or nearly the same words."""
    mine, theirs = one.statement, other.statement
    if one.hit.document_id == other.hit.document_id and mine.pieces[-1] == theirs.pieces[-1]:
        return True
    return all(any(same_line(line, against, overlap) for against in theirs.lines) for line in mine.lines)


def same_line(line: str, other: str, overlap: float) -> bool:
    """Whether a line adds no word to another one.

    A number of its own or a negation on one side only makes another statement of it: 5 mg is not 50 mg.

    >>> shown = "1.2 Take one tablet of 5 mg each morning. [2024]"
    >>> texts = "Take one 5 mg tablet each morning", "Do not take one tablet of 5 mg"
    >>> [same_line(text, shown, 0.85) for text in texts]
    [True, False]
    """
    mine, theirs = (frozenset(terms(REFERENCE_NUMBERS.sub(" ", text))) for text in (line, other))
    if (mine ^ theirs) & _negating() or any(term[0].isdigit() for term in mine - theirs):
        return False
    return len(mine & theirs) >= overlap * len(mine)


@cache
def _negating() -> frozenset[str]:
    return frozenset(terms(" ".join(NEGATIONS)))


def laid_out(chosen: Sequence[Statement]) -> list[Statement]:
    """Best first; a sentence that leans on another comes right behind it, and parts of one list under one lead-in."""
    shown: list[Statement] = []
    for statement in chosen:
        same = [at for at, other in enumerate(shown) if _is_of_one_list(statement, other)]
        if same:
            shown[same[0]] = _joined(shown[same[0]], statement)
            continue
        chain = _chain(statement)
        known = [_place(one, shown) for one in chain]
        leant_on = next((at for at, place in reversed(list(enumerate(known))) if place is not None), None)
        if leant_on is None:
            shown += chain
        else:
            behind = known[leant_on]
            assert behind is not None
            shown[behind + 1 : behind + 1] = chain[leant_on + 1 :]
    return shown


def _chain(statement: Statement) -> list[Statement]:
    """A statement behind those that it leans on."""
    chain = [statement]
    while chain[0].previous is not None:
        chain.insert(0, chain[0].previous)
    return chain


def _place(one: Statement, shown: Sequence[Statement]) -> int | None:
    """Where the words of a statement are shown."""
    return next((at for at, other in enumerate(shown) if frozenset(one.lines) <= frozenset(other.lines)), None)


def _is_of_one_list(one: Statement, other: Statement) -> bool:
    return len(one.pieces) > 1 and (one.number, one.pieces[0]) == (other.number, other.pieces[0])


def _joined(one: Statement, other: Statement) -> Statement:
    """Two parts of one list under their lead-in, in the order of the list."""
    items = sorted({*zip(one.pieces, one.lines, strict=True), *zip(other.pieces, other.lines, strict=True)})
    return replace(one, pieces=tuple(piece for piece, _ in items), lines=tuple(line for _, line in items))
