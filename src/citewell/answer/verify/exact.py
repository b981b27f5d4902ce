"""A claim held against one source sentence: every rule is asked what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypedDict

from citewell.answer.verify.amounts import amounts_missing
from citewell.answer.verify.arms import other_arm
from citewell.answer.verify.clauses import of_other_clause
from citewell.answer.verify.coverage import coverage, names_of, profile
from citewell.answer.verify.crossed import ORDER, crossed, is_same_order, is_until
from citewell.answer.verify.direction import by_chance, course, is_aim, own_course, turned
from citewell.answer.verify.findings import Finding
from citewell.answer.verify.illnesses import illness_topics, illnesses_differ
from citewell.answer.verify.names import Topic, medicines_differ, topics
from citewell.answer.verify.opposites import opposites
from citewell.answer.verify.phrases import phrases_differ, says_more
from citewell.answer.verify.read import Reading, read
from citewell.answer.verify.rewritten import rewritten
from citewell.answer.verify.roles import roles_turned
from citewell.answer.verify.rows import Said, denied, other_topics
from citewell.answer.verify.weigh import FIRM_FROM
from citewell.clinical import Lexicon


def known_of(text: str, lexicon: Lexicon) -> tuple[Topic, ...]:
    """What a claim names, by each of whose names a source may say it."""
    return (*topics(text, lexicon), *illness_topics(text))


class Held(TypedDict):
    """What a look knows of one source sentence once it was read closely."""

    coverage: float
    words: float
    mirrored: float
    findings: tuple[Finding, ...]
    is_unsaid: bool
    agrees: bool | None
    is_null: bool


@lru_cache(maxsize=512)
def held_against(claimed: str, said_there: str, lexicon: Lexicon, row: Said | None = None) -> Held:
    """A claim held against one source text; both rounds of a check ask for the same pairs.

    In a row, what belongs to what is said by its headers: the rules for the clauses of a sentence are not asked.
    """
    claim, source = read(claimed), read(said_there)
    known, there = known_of(claim.text, lexicon), profile(source.text)
    amounts = amounts_missing(claim, source, is_row=row is not None)
    lost = len({finding.start for finding in amounts})
    drugs = names_of(source.medicines)
    share = coverage(claim, known, there, drugs=drugs, amounts_missing=lost)
    named = frozenset().union(
        *(name for topic in topics(claim.text, lexicon) for name in topic.names if name <= there.forms)
    )
    ours, theirs = own_course(claim.text), course(claim, source.text, named=named)
    is_null = ours.sign == theirs.sign == 0
    is_excused = (is_aim(source.text) or is_null) and (share < FIRM_FROM or theirs.is_leaning)
    is_plain = is_null and len(claim.denials) == len(source.denials) == 1
    is_excused = is_excused or is_plain or is_until(claim, source)
    findings = (
        *amounts,
        *medicines_differ(claim, source),
        *(() if is_excused else denied(claim, source, row)),
        *turned(ours, theirs, claim, source),
        *by_chance(ours, claim, source),
        *opposites(claim, source, coverage=share),
        *rewritten(claim, source),
        *crossed(claim, source, ours, theirs),
        *other_topics(claim, source, row, lexicon=lexicon, coverage=share),
        *illnesses_differ(claim, source, coverage=share),
        *(_misplaced(claim, source) if row is None else ()),
        *phrases_differ(claim, source, coverage=share),
        *says_more(claim, source, coverage=share),
    )
    if is_same_order(claim, source):
        findings = tuple(one for one in findings if claim.text[one.start : one.end].casefold() not in ORDER)
    return Held(
        coverage=share,
        words=coverage(claim, known, there, drugs=drugs),
        mirrored=coverage(source, (), profile(claim.text)),
        findings=findings,
        is_unsaid=ours.sign is not None and theirs.sign is None,
        agrees=None if ours.sign is None or theirs.sign is None else ours.sign == theirs.sign,
        is_null=is_null,
    )


def _misplaced(claim: Reading, source: Reading) -> Iterator[Finding]:
    """What a claim takes from another arm, clause or part in the deed of its source."""
    yield from other_arm(claim, source)
    yield from of_other_clause(claim, source)
    yield from roles_turned(claim, source)
