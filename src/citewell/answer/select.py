"""Chooses the statements that answer a question: a trained reader and a few plain features, weighed by one table."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Protocol

from citewell.answer.denial_cues import NEGATIONS
from citewell.answer.expand import Expansion
from citewell.answer.filters import QuestionFilter, is_in_company_of_others, is_set_aside, question_filter
from citewell.answer.question_amounts import Amount, amounts, states
from citewell.answer.statements import Piece, Statement, statements, titled, with_doses
from citewell.answer.verify.support_model import calibrated, log_odds, sigmoid
from citewell.clinical.medicines import Medicine
from citewell.clinical.result_bands import as_bands, given_results, is_within
from citewell.clinical.spelling_correction import spelled
from citewell.sentences import terms
from citewell.types import Claim, Context, Evidence, EvidenceSpan, Hit, Near
from citewell.work import spend

# ---------------------------------------------------------------------------------------- statements and their features


class AnswerScorer(Protocol):
    """Tells how likely statements answer questions."""

    @property
    def name(self) -> str: ...

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The log-odds that the statement of each pair answers its question."""
        ...


EXPLAINED = frozenset({"lay word", "abbreviation", "misspelling"})
"""Words of a question that the reader is given with their clinical names."""
MOST_ODDS, LEAST_SHARE = 12.0, -8.0
MOST_READ = 16
"""Statements that the reader reads for one answer: the best by words and cosine."""
ASKING = frozenset(
    terms(
        """what which who whom whose when where why how much many long often is are was were be do does did done can
        could should would may might must shall will has have had i me my we our you your he she they it its the a an of
        in on for to with at by from and or if there any some this that these those please tell about need get give
        mean means way best"""
    )
)
"""Words that make a question of what it is about."""


@dataclass(frozen=True, slots=True)
class Features:
    """What is seen of a statement beside a question; every number grows with how well it fits."""

    reader: float
    """Log-odds of the reader, within ±12; 0 without one."""
    share: float
    """Log of its share among all that the reader has read, at least -8; 0 without a reader."""
    coverage: float
    """Share of the question's words that the statement holds, or says by another name."""
    nearness: float
    """Cosine of question and nearest sentence of the statement."""
    relevance: float
    """Chance that its passage is about the question."""
    rank: float
    """Rank score of its passage beside the best at hand, which has 1."""
    amount: float
    """1 where it states an amount of the question, such as the weight of a child, or a band with a result of it."""

    def values(self) -> tuple[float, ...]:
        return astuple(self)


NAMES = tuple(field.name for field in fields(Features))


@dataclass(frozen=True, slots=True)
class ScoredStatement:
    """A statement, where it was found, what is seen of it, and the chance that it answers."""

    statement: Statement
    hit: Hit
    features: Features
    chance: float = 0.0

    def is_cited(self, cited: Sequence[EvidenceSpan]) -> bool:
        """Whether a citation lies in its words."""
        return any(
            span.source_id == self.hit.source_id and span.start < end and start < span.end
            for span in cited
            for start, end in self.statement.pieces
        )


def candidates(
    question: str,
    evidence: Sequence[Evidence],
    *,
    reader: AnswerScorer | None,
    expansions: Sequence[Expansion],
    cited: Sequence[EvidenceSpan] = (),
) -> list[ScoredStatement]:
    """The statements that may answer, with what is seen of them; what speaks of another patient or medicine may not.

    The best by words and cosine are read, and those that are cited.
    """
    seen = sorted(
        _with_features(question, evidence, expansions), key=lambda candidate: -_score_before_reading(candidate.features)
    )
    is_admitted = _admission(seen, question_filter(question), expansions)
    chosen: list[ScoredStatement] = []
    for candidate in seen:  # whether a statement may answer is costly to tell: no further than needed
        if (len(chosen) < MOST_READ or candidate.is_cited(cited)) and is_admitted(candidate):
            chosen.append(candidate)
    return chosen if reader is None else _read_by(reader, question, explanations(question, expansions), chosen)


Edit = tuple[int, int, str]
"""Words of a question to be said otherwise: where they begin and end, and what to say."""


def explanations(question: str, expansions: Sequence[Expansion]) -> list[Edit]:
    """The clinical names of lay words and abbreviations, to stand behind them, and misspelt words mended.

    >>> words = "Does he need a drip?"
    >>> worded(words, explanations(words, [Expansion("intravenous fluid", "lay word", (15, 19))]))
    'Does he need a drip (intravenous fluid)?'
    """
    edits: dict[tuple[int, int], str] = {}
    for expansion in expansions:
        if expansion.reason in EXPLAINED:
            is_mended = expansion.reason == "misspelling"
            edits.setdefault(
                expansion.from_words,
                expansion.phrase if is_mended else f"{question[slice(*expansion.from_words)]} ({expansion.phrase})",
            )
    return [(*place, words) for place, words in edits.items()]


def worded(question: str, edits: Sequence[Edit]) -> str:
    """A question with some of its words said otherwise; where two edits meet, the first of them counts."""
    taken: list[Edit] = []
    for edit in edits:
        if all(edit[1] <= start or end <= edit[0] for start, end, _ in taken):
            taken.append(edit)
    for start, end, words in sorted(taken, reverse=True):
        question = f"{question[:start]}{words}{question[end:]}"
    return question


def _score_before_reading(seen: Features) -> float:
    """By what statements are chosen to be read."""
    return 2 * seen.coverage + 3 * seen.nearness + seen.amount


def _read_by(
    reader: AnswerScorer, question: str, edits: Sequence[Edit], chosen: Sequence[ScoredStatement]
) -> list[ScoredStatement]:
    """The statements with what the reader says of them; it reads a value as the band of the statement that holds it."""
    texts = (
        f"{titled(candidate.hit.document, candidate.statement)} : {candidate.statement.text}" for candidate in chosen
    )
    pairs = [(worded(question, [*as_bands(question, text), *edits]), text) for text in texts]
    scores = [max(-MOST_ODDS, min(MOST_ODDS, odds)) for odds in reader(pairs)]
    whole = math.log(sum(map(math.exp, scores))) if scores else 0.0
    return [
        replace(candidate, features=replace(candidate.features, reader=score, share=max(LEAST_SHARE, score - whole)))
        for candidate, score in zip(chosen, scores, strict=True)
    ]


def _with_features(
    question: str, evidence: Sequence[Evidence], expansions: Sequence[Expansion]
) -> Iterator[ScoredStatement]:
    """The distinct statements, before the reader has read them."""
    words, results = QuestionWords.of(question, expansions), given_results(spelled(question))
    best = max((passage.hit.rank_score for passage in evidence), default=0.0)
    known: set[tuple[str, tuple[Piece, ...]]] = set()
    for passage in sorted(evidence, key=lambda passage: -passage.hit.rank_score):
        for statement in with_doses(statements(passage)):
            hit, text = passage.hit, statement.text
            if (hit.document_id, statement.pieces) in known:  # passages overlap
                continue
            known.add((hit.document_id, statement.pieces))
            stated = any(states(text, amount) for amount in words.amounts) or is_within(text, results) is True
            features = Features(
                reader=0.0,
                share=0.0,
                coverage=words.covered(text),
                nearness=_nearness(statement.pieces, hit.why.near, hit.raw_cosine),
                relevance=hit.relevance,
                rank=hit.rank_score / best if best > 0 else 0.0,
                amount=float(stated),
            )
            yield ScoredStatement(statement, hit, features)


def _admission(
    every: Sequence[ScoredStatement], allowed: QuestionFilter, expansions: Sequence[Expansion]
) -> Callable[[ScoredStatement], bool]:
    """Tells whether a statement may answer; of a section on other medicines than the one in the question, none may."""
    words = QuestionWords.of(allowed.question, expansions)
    sections: dict[tuple[str, tuple[str, ...]], list[Statement]] = {}
    for candidate in every:
        sections.setdefault((candidate.hit.document_id, candidate.statement.titles), []).append(candidate.statement)

    def is_admitted(candidate: ScoredStatement) -> bool:
        statement, hit = candidate.statement, candidate.hit
        section = sections[hit.document_id, statement.titles]
        if is_in_company_of_others(statement, section, hit.document, allowed.named) and not any(
            words.held(statement.text) >= frozenset(terms(named.name)) for named in allowed.named
        ):
            return False
        return allowed.admits(statement, hit.document)

    return is_admitted


def _nearness(pieces: Sequence[Piece], near: Sequence[Near], otherwise: float) -> float:
    """The cosine of the nearest sentence that lies in the pieces for the most part."""
    inside = (
        cosine
        for start, end, cosine in near
        if any(2 * (min(end, last) - max(start, first)) >= end - start for first, last in pieces)
    )
    return max(inside, default=otherwise)


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The words of a question, and other names for them."""

    words: frozenset[str]
    names: tuple[tuple[frozenset[str], frozenset[str]], ...]
    """Words of the question, and words that say the same."""
    amounts: tuple[Amount, ...]

    @classmethod
    def of(cls, question: str, expansions: Sequence[Expansion]) -> QuestionWords:
        """What a question is about."""
        words = frozenset(terms(question)) - ASKING or frozenset(terms(question))
        names = tuple(
            (frozenset(terms(question[slice(*expansion.from_words)])) & words, frozenset(terms(expansion.phrase)))
            for expansion in expansions
        )
        return cls(words, names, tuple(amounts(question)))

    def held(self, text: str) -> frozenset[str]:
        """The words that a text holds, or says by another name."""
        said = frozenset(terms(text))
        return (self.words & said).union(*(words for words, phrase in self.names if phrase and phrase <= said))

    def covered(self, text: str) -> float:
        """The share of the words that a text holds, or says by another name."""
        return len(self.held(text)) / len(self.words) if self.words else 0.0


# ----------------------------------------------------------------------------------------------------------- the choice


WEIGHTS = Path(__file__).with_name("select.json")
"""What each feature counts; `bench/reader/fit_select.py` fits it."""

REFERENCE_NUMBERS = re.compile(r"^\s*(?:\d+(?:\.\d+)+|\d{1,3}[a-h]?[.)])\s|\[[^\]]{0,400}\]")
"""Numbers that name a recommendation, an item or a year of review."""


@dataclass(frozen=True, slots=True)
class SelectionWeights:
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

    def chance(self, features: Features) -> float:
        """The chance that a statement answers."""
        score = self.bias + sum(weight * value for weight, value in zip(self.features, features.values(), strict=True))
        return sigmoid(max(-30.0, min(30.0, score)))


@dataclass(frozen=True, slots=True)
class AnswerSize:
    """How much is shown."""

    statements: int = 3
    characters: int = 1_800
    overlap: float = 0.85
    """A line that has this part of its words in common with one that is shown says nothing new."""


ANSWER_SIZE = AnswerSize()


def select(
    question: str,
    evidence: Sequence[Evidence],
    *,
    reader: AnswerScorer | None,
    expansions: Iterable[Expansion] = (),
    room: AnswerSize = ANSWER_SIZE,
) -> list[Statement]:
    """The statements that answer a question, best first; none where nothing does."""
    spend()
    weights = loaded(is_read=reader is not None)
    judged = [
        replace(candidate, chance=weights.chance(candidate.features))
        for candidate in candidates(question, evidence, reader=reader, expansions=tuple(expansions))
    ]
    named = question_filter(question).named
    judged.sort(key=lambda statement: (_is_aside(statement, named, weights.least), -statement.chance))
    chosen: list[ScoredStatement] = []
    for scored_statement in judged:
        least = max(weights.least, weights.further * chosen[0].chance) if chosen else weights.least
        if scored_statement.chance < least or len(chosen) == room.statements:
            break
        used = sum(len(other.statement.text) for other in chosen)
        if chosen and used + len(scored_statement.statement.text) > room.characters:
            continue
        if not any(_repeats(scored_statement, other, room.overlap) for other in chosen):
            chosen.append(scored_statement)
    return laid_out([statement.statement for statement in chosen])


def _is_aside(statement: ScoredStatement, named: Sequence[Medicine], least: float) -> bool:
    """Whether a statement comes last: it is too unlikely, or on what is given where the medicine asked about is not."""
    return statement.chance < least or is_set_aside(statement.statement.text, named)


def rerank(
    question: str, hits: Sequence[Hit], *, reader: AnswerScorer, expansions: Sequence[Expansion], limit: int
) -> tuple[Hit, ...]:
    """The passages whose statements answer best, first."""
    spend()
    weights = loaded(is_read=True)
    evidence = [Evidence(number, hit, hit.start, hit.end) for number, hit in enumerate(hits, 1)]
    best: dict[str, float] = {}
    for candidate in candidates(question, evidence, reader=reader, expansions=expansions):
        best[candidate.hit.source_id] = max(best.get(candidate.hit.source_id, 0.0), weights.chance(candidate.features))
    return tuple(sorted(hits, key=lambda hit: -best.get(hit.source_id, 0.0))[:limit])


def answer_chance(
    question: str,
    claims: Sequence[Claim],
    context: Context,
    *,
    reader: AnswerScorer | None,
    expansions: Sequence[Expansion],
) -> float:
    """The chance that claims answer a question and hold: of the best statement that they cite, times their support."""
    if not claims:
        return 0.0
    weights = loaded(is_read=reader is not None)
    cited = [span for claim in claims for span in claim.check.spans]
    read = candidates(question, context.evidence, reader=reader, expansions=expansions, cited=cited)
    best = max((weights.chance(candidate.features) for candidate in read if candidate.is_cited(cited)), default=0.0)
    return weights.answered(best) * calibrated([claim.check for claim in claims])


@cache
def loaded(*, is_read: bool) -> SelectionWeights:
    """The weights that were fitted: with the reader, or for words and cosines alone."""
    read = json.loads(WEIGHTS.read_text("utf-8"))["reader" if is_read else "words"]
    features = tuple(read["features"][name] for name in NAMES)
    return SelectionWeights(read["bias"], features, read["least"], read["further"], read["slope"], read["shift"])


def weights_sha256() -> str:
    """Which weights choose, as every record tells."""
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()


def _repeats(statement: ScoredStatement, other: ScoredStatement, overlap: float) -> bool:
    """Whether a statement says what another one says: the same words of a document, or nearly the same words."""
    mine, theirs = statement.statement, other.statement
    if statement.hit.document_id == other.hit.document_id and mine.pieces[-1] == theirs.pieces[-1]:
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


def _place(statement: Statement, shown: Sequence[Statement]) -> int | None:
    """Where the words of a statement are shown."""
    return next((at for at, other in enumerate(shown) if frozenset(statement.lines) <= frozenset(other.lines)), None)


def _is_of_one_list(statement: Statement, other: Statement) -> bool:
    return len(statement.pieces) > 1 and (statement.number, statement.pieces[0]) == (other.number, other.pieces[0])


def _joined(statement: Statement, other: Statement) -> Statement:
    """Two parts of one list under their lead-in, in the order of the list."""
    items = sorted({*zip(statement.pieces, statement.lines, strict=True), *zip(other.pieces, other.lines, strict=True)})
    return replace(statement, pieces=tuple(piece for piece, _ in items), lines=tuple(line for _, line in items))
