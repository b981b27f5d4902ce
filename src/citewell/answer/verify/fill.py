"""What one source sentence leaves out of a claim, and another of the cited ones says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.answer.rows import tabled
from citewell.answer.verify.agreement import Agreement, agreement
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.names import is_of_other_medicine
from citewell.answer.verify.parts import may_tell_one
from citewell.answer.verify.read import Reading, forms, read
from citewell.answer.verify.weigh import Look
from citewell.clinical.medicines import medicines
from citewell.types import Span


def filled(claim: Reading, look: Look, close: Sequence[Look], parts: Sequence[Span]) -> Look:
    """Without the gaps that other cited sentences fill; a row of a table speaks of its own case alone."""
    if all(finding.grade != Grade.MISSING for finding in look.findings):
        return look
    kept = tuple(finding for finding in look.findings if not _is_filled(claim, finding, look, close, parts))
    return replace(look, findings=kept)


def _is_filled(claim: Reading, finding: Finding, look: Look, close: Sequence[Look], parts: Sequence[Span]) -> bool:
    """Whether another sentence says what this one leaves out, beside the same words or as the passage's subject."""
    if finding.grade != Grade.MISSING or finding.kind == "heading":
        return False
    if finding.kind == "medicine" and not read(look.text).medicines:
        wanted = {drug.name for drug in claim.medicines if drug.start == finding.start}
        passage = [
            read(part.text)
            for part in parts
            if may_tell_one(look.part, part) and wanted & {drug.name for drug in medicines(part.text)}
        ]
        is_denied = claim.is_clause_denied(finding.start)
        return any(
            drug.name in wanted and one.is_clause_denied(drug.start) == is_denied
            for one in passage
            for drug in one.medicines
        )
    context = claim.near(finding.start, finding.end)
    least = max(1, len(context & forms(look.text)))
    if finding.kind == "amount":
        rows = tabled(tuple(parts)).rows
        return any(
            len(context & forms(part.text)) >= least and _says(claim, finding, part.text)
            for part in parts
            if part != look.part and part not in rows and may_tell_one(look.part, part)
            if not is_of_other_medicine(claim, part.text)
        )
    return any(
        len(context & forms(other.text)) >= least and not any(lack.start == finding.start for lack in other.findings)
        for other in close
        if other.part != look.part and other.row is None and may_tell_one(look.part, other.part)
    )


def _says(claim: Reading, finding: Finding, text: str) -> bool:
    """Whether a text holds the quantity of the claim that was found missing, and does not deny it."""
    ours = next(amount for amount in claim.quantities if amount.start == finding.start)
    source, is_denied = read(text), claim.is_clause_denied(ours.start)
    return any(
        agreement(ours, theirs) == Agreement.SAME and (is_denied or not source.is_clause_denied(theirs.start))
        for theirs in source.quantities
    )
