"""What one source sentence leaves out of a claim, and another of the cited ones says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.answer.illnesses import are_related, illnesses, names_illness
from citewell.answer.quantities import quantities
from citewell.answer.rows import tabled
from citewell.answer.verify_agreement import Agreement, agreement
from citewell.answer.verify_findings import Finding, Grade
from citewell.answer.verify_names import medicines
from citewell.answer.verify_read import Reading, forms, read
from citewell.answer.verify_things import KIND
from citewell.answer.verify_weigh import Look
from citewell.types import Span


def filled(claim: Reading, look: Look, close: Sequence[Look], parts: Sequence[Span]) -> Look:
    """Without the gaps that other cited sentences fill; a row of a table speaks of its own case alone."""
    if all(finding.grade != Grade.MISSING for finding in look.findings):
        return look
    kept = tuple(finding for finding in look.findings if not _is_filled(claim, finding, look, close, parts))
    return replace(look, findings=kept)


def _is_filled(claim: Reading, finding: Finding, look: Look, close: Sequence[Look], parts: Sequence[Span]) -> bool:
    """Whether another sentence says what this one leaves out, beside the same words or as the passage's subject."""
    if finding.grade != Grade.MISSING or finding.kind in ("heading", KIND):
        return False
    if finding.kind == "medicine" and not read(look.text).medicines:
        wanted = {drug.name for drug in claim.medicines if drug.start == finding.start}
        passage = [
            read(part.text)
            for part in parts
            if part.source_id == look.part.source_id and wanted & {drug.name for drug in medicines(part.text)}
        ]
        is_denied = claim.is_clause_denied(finding.start)
        return any(
            drug.name in wanted and one.is_clause_denied(drug.start) == is_denied
            for one in passage
            for drug in one.medicines
        )
    if finding.kind == "illness":
        return _is_of_illness(claim, finding, look, parts)
    context = claim.near(finding.start, finding.end)
    least = max(1, len(context & forms(look.text)))
    if finding.kind == "amount":
        rows = tabled(tuple(parts)).rows
        return any(
            len(context & forms(part.text)) >= least and _says(claim, finding, part.text)
            for part in parts
            if part != look.part and part not in rows
        )
    return any(
        len(context & forms(other.text)) >= least and not any(lack.start == finding.start for lack in other.findings)
        for other in close
        if other.part != look.part and other.row is None
    )


def _is_of_illness(claim: Reading, finding: Finding, look: Look, parts: Sequence[Span]) -> bool:
    """Whether the titles above a sentence name the claim's illness, or its passage does and it names no other."""
    name = next(one.name for one in illnesses(claim.text) if one.start == finding.start)
    if any(names_illness(title, name) for title in look.part.titles):
        return True
    ours = [one.name for one in illnesses(claim.text)]
    foreign = [one for one in illnesses(look.text) if not any(are_related(one.name, its) for its in ours)]
    passage = (part.text for part in parts if part.source_id == look.part.source_id)
    return not foreign and any(names_illness(text, name) for text in passage)


def _says(claim: Reading, finding: Finding, text: str) -> bool:
    """Whether a text holds the quantity of the claim that was found missing."""
    ours = next(amount for amount in claim.quantities if amount.start == finding.start)
    return any(agreement(ours, theirs) == Agreement.SAME for theirs in quantities(text))
