"""A claim held against one source sentence: every rule is asked what it finds."""

from __future__ import annotations

from functools import lru_cache
from typing import TypedDict

from citewell.answer.verify.amounts import amounts_missing
from citewell.answer.verify.arms import other_arm
from citewell.answer.verify.coverage import coverage, names_of, profile
from citewell.answer.verify.edits import edits, opposites
from citewell.answer.verify.findings import Finding
from citewell.answer.verify.names import known_of, medicines_differ
from citewell.answer.verify.read import read
from citewell.answer.verify.rows import Said, denied
from citewell.clinical import Lexicon


class Held(TypedDict):
    """What a look knows of one source sentence once it was read closely."""

    coverage: float
    words: float
    mirrored: float
    findings: tuple[Finding, ...]


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
    findings = (
        *amounts,
        *medicines_differ(claim, source),
        *denied(claim, source, row),
        *edits(claim, source),
        *opposites(claim, source, coverage=share),
        *(other_arm(claim, source) if row is None else ()),
    )
    return Held(
        coverage=share,
        words=coverage(claim, known, there, drugs=drugs),
        mirrored=coverage(source, (), profile(claim.text)),
        findings=findings,
    )
