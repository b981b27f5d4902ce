"""Whether each quantity of a claim stands in a source sentence with the same meaning, beside the same thing."""

from __future__ import annotations

import re
from itertools import combinations

from citewell.answer.illnesses import illnesses
from citewell.answer.verify.agreement import Agreement, agreement, is_age_and_length
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, form, forms
from citewell.clinical.quantities import BARE, Quantity

_OF_DRUG = re.compile(r"\s*(?:of\s+|once\s+|twice\s+|oral\s+|intravenous\s+)?$")
_BINDS_AHEAD = 12
"""Characters between an amount and the drug it belongs to, where the drug comes second: “75 mg of aspirin”."""

_BINDS_BACK = 80


def amounts_missing(claim: Reading, source: Reading, *, is_row: bool = False) -> list[Finding]:
    """Each quantity of the claim that the source sentence lacks, changes or gives to something else.

    What a row of a table says, it says of all the medicines that it names.
    """
    if not claim.quantities:
        return []
    matched = matched_amounts(claim, source, is_row=is_row)
    used = {theirs for theirs, _ in matched.values()}
    unused = [theirs for theirs in source.quantities if theirs not in used]
    told = [ours for ours in claim.quantities if not _is_in_illness(ours, claim, source)]
    found = [_finding(ours, matched.get(ours), unused, claim, source) for ours in told]
    return [finding for finding in found if finding is not None] + _exchanged(claim, source, matched)


def _is_in_illness(ours: Quantity, claim: Reading, source: Reading) -> bool:
    """Whether a number is a part of the name of an illness that the source names otherwise: T2DM is type 2 diabetes."""
    if not ours.dimension.startswith("label"):
        return False
    inside = [one.name for one in illnesses(claim.text) if one.start <= ours.start and ours.end <= one.end]
    return bool(inside) and any(one.name in inside for one in illnesses(source.text))


Matched = dict[Quantity, tuple[Quantity, Agreement]]
"""For each quantity of the claim the one of the source that comes nearest to it."""


def matched_amounts(claim: Reading, source: Reading, *, is_row: bool = False) -> Matched:
    """Each quantity of the claim beside the one of the source that is the same, or comes nearest to it."""
    found: Matched = {}
    for ours in claim.quantities:
        context = claim.near(ours.start, ours.end)
        fits = [
            (level, len(context & source.near(theirs.start, theirs.end)), -number, theirs)
            for number, theirs in enumerate(source.quantities)
            if (level := agreement(ours, theirs)) and (is_row or _same_drug(ours, theirs, claim, source))
        ]
        if fits:
            level, _, _, theirs = max(fits, key=lambda fit: fit[:3])
            found[ours] = theirs, level
    return _with_parts(claim, source, found)


def _with_parts(claim: Reading, source: Reading, matched: Matched) -> Matched:
    """“36 of 120” is said by “of 120 patients, 36 …”, and a range by both of its ends, each on its own."""
    found = dict(matched)
    for whole in claim.quantities:
        if whole not in found and len(whole.values) == 2:
            ends = [part for part in source.quantities if _is_end(part, whole)]
            if {part.values[0] for part in ends} == set(whole.values):
                found[whole] = ends[0], Agreement.SAME
    for whole in source.quantities:
        parts = [part for part in claim.quantities if part not in found and _is_end(part, whole)]
        if len(whole.values) == 2 and {part.values[0] for part in parts} == set(whole.values):
            found |= dict.fromkeys(parts, (whole, Agreement.SAME))
    return found


def _is_end(part: Quantity, whole: Quantity) -> bool:
    same = part.dimension == whole.dimension or BARE in (part.dimension, whole.dimension)
    return same and len(part.values) == 1 and part.values[0] in whole.values and part.sign == whole.sign


def _finding(
    ours: Quantity, match: tuple[Quantity, Agreement] | None, unused: list[Quantity], claim: Reading, source: Reading
) -> Finding | None:
    """What is wrong with one quantity of the claim, if anything is."""
    if match is not None:
        theirs, level = match
        if level == Agreement.SAME:
            return None
        grade = Grade.WEAKER if level == Agreement.CLOSE else Grade.AGAINST
        reason = f"“{ours.text}” is not what the source says: “{theirs.text}”"
        return Finding(grade, "amount", reason, ours.start, ours.end)
    if _is_name(ours, claim, source):
        return None
    context = claim.near(ours.start, ours.end)
    rivals = [theirs for theirs in unused if _rivals(ours, theirs)]
    if ours.dimension == BARE:
        rivals = [theirs for theirs in rivals if context & source.near(theirs.start, theirs.end)]
    if rivals:
        beside = _beside(claim, ours)
        nearest = max(
            rivals,
            key=lambda theirs: (
                len(beside & _beside(source, theirs)),
                len(context & source.near(theirs.start, theirs.end)),
            ),
        )
        reason = f"“{ours.text}” is not in the source, which says “{nearest.text}”"
        if ours.text == nearest.text:
            reason = f"“{ours.text}” is said of something else in the source"
        return Finding(Grade.AGAINST, "amount", reason, ours.start, ours.end)
    if ours.is_word:
        return None
    return Finding(Grade.MISSING, "amount", f"“{ours.text}” is not in the source", ours.start, ours.end)


def _is_name(ours: Quantity, claim: Reading, source: Reading) -> bool:
    """Whether the source writes the number as part of a name: “BRCA 1” is BRCA1 there."""
    before = re.search(r"([^\W_]+)[\s-]*$", claim.text[: ours.start])
    return before is not None and form(before.group(1) + ours.text) in forms(source.text)


def _rivals(ours: Quantity, theirs: Quantity) -> bool:
    """Whether the source's quantity answers the same question with another number."""
    if is_age_and_length(ours, theirs):
        return False
    return ours.dimension == theirs.dimension or ours.dimension.split("/")[0] == theirs.dimension.split("/")[0] != BARE


# ------------------------------------------------------------------------------------------- beside the same thing


def _bound(amount: Quantity, reading: Reading) -> str | None:
    """The medicine that an amount belongs to."""
    after = [drug for drug in reading.medicines if 0 <= drug.start - amount.end <= _BINDS_AHEAD]
    if after and _OF_DRUG.fullmatch(reading.text[amount.end : after[0].start]):
        return after[0].name
    before = [drug for drug in reading.medicines if 0 <= amount.start - drug.end <= _BINDS_BACK]
    return before[-1].name if before else None


def _same_drug(ours: Quantity, theirs: Quantity, claim: Reading, source: Reading) -> bool:
    """False where both sentences name the claim's drug, and the source gives the amount to another one."""
    if len({drug.name for drug in source.medicines}) < 2:
        return True
    wanted, held = _bound(ours, claim), _bound(theirs, source)
    if wanted is None or held is None or wanted == held:
        return True
    return wanted not in {drug.name for drug in source.medicines} or "respectively" in source.text


def _exchanged(claim: Reading, source: Reading, matched: Matched) -> list[Finding]:
    """Two numbers of one kind that changed places between the same two things."""
    found = []
    for one, other in combinations([ours for ours in claim.quantities if ours in matched], 2):
        first, second = matched[one][0], matched[other][0]
        if one.dimension != other.dimension or first is second or one.values == other.values:
            continue
        ours_one, ours_other = _own(claim, one, other)
        theirs_one, theirs_other = _own(source, first, second)
        kept = len(ours_one & theirs_one) + len(ours_other & theirs_other)
        crossed = min(len(ours_one & theirs_other), len(ours_other & theirs_one))
        if crossed and not kept and "respectively" not in source.text:
            reason = f"“{one.text}” and “{other.text}” belong to other things in the source"
            found.append(Finding(Grade.AGAINST, "amount", reason, one.start, one.end))
    return found


def _own(reading: Reading, one: Quantity, other: Quantity) -> tuple[frozenset[str], frozenset[str]]:
    """The words beside each of two quantities, as far as the next number; without those beside both."""
    left, right = _beside(reading, one), _beside(reading, other)
    return left - right, right - left


def _beside(reading: Reading, amount: Quantity) -> frozenset[str]:
    low = max((other.end for other in reading.quantities if other.end <= amount.start), default=0)
    high = min((other.start for other in reading.quantities if other.start >= amount.end), default=len(reading.text))
    before = [word.form for word in reading.words if low <= word.start < amount.start][-2:]
    after = [word.form for word in reading.words if amount.end <= word.start < high][:2]
    return frozenset(before + after)
