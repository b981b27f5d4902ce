"""A claim held against one source sentence: every rule is asked what it finds."""

from __future__ import annotations

from functools import lru_cache
from typing import TypedDict

from citewell.answer.verify.amounts import amounts_missing
from citewell.answer.verify.coverage import coverage, names_of, profile
from citewell.answer.verify.direction import course, is_aim, own_course, turned
from citewell.answer.verify.findings import Finding
from citewell.answer.verify.names import Topic, illness_topics, medicines_differ, topics
from citewell.answer.verify.opposites import opposites
from citewell.answer.verify.read import read
from citewell.answer.verify.rewritten import rewritten
from citewell.answer.verify.rows import Said, denied
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
    is_excused = is_excused or is_plain
    findings = (
        *amounts,
        *medicines_differ(claim, source),
        *(() if is_excused else denied(claim, source, row)),
        *turned(ours, theirs, claim, source),
        *opposites(claim, source, coverage=share),
        *rewritten(claim, source),
    )
    return Held(
        coverage=share,
        words=coverage(claim, known, there, drugs=drugs),
        mirrored=coverage(source, (), profile(claim.text)),
        findings=findings,
        is_unsaid=ours.sign is not None and theirs.sign is None,
        agrees=None if ours.sign is None or theirs.sign is None else ours.sign == theirs.sign,
        is_null=is_null,
    )
