"""Whether each amount of a claim stands in a source sentence with the same meaning, beside the same thing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from itertools import combinations

from citewell.answer.illnesses import illnesses
from citewell.answer.verify.claim_words import ContentWord, ReadSentence, form, forms
from citewell.answer.verify.mismatches import Mismatch, MismatchGrade
from citewell.clinical.quantities import BARE, CHANCE, Quantity


class AmountMatch(IntEnum):
    """How far two quantities mean the same."""

    OTHER = 0
    """Different numbers, or things that cannot be compared."""
    OPPOSED = 1
    """The same number as opposite limits."""
    CLOSE = 2
    """The same number with another kind of limit."""
    SAME = 3


def agreement(claim: Quantity, source: Quantity) -> AmountMatch:
    """Whether a source's quantity is the claim's.

    >>> from citewell.clinical.quantities import quantities
    >>> one, other = quantities("at least 500 mg")[0], quantities("0.5 g or more")[0]
    >>> agreement(one, other), agreement(one, quantities("up to 500 mg")[0])
    (<AmountMatch.SAME: 3>, <AmountMatch.OPPOSED: 1>)
    """
    if claim.dimension == source.dimension == "date":
        fits = all(said in (0, held) for said, held in zip(claim.values, source.values, strict=True))
        return AmountMatch.SAME if fits else AmountMatch.OTHER
    if _is_in_band(claim, source):
        return AmountMatch.SAME
    if _is_rounded(claim, source) or _is_rounded(source, claim):
        return AmountMatch.SAME
    if not _equal(claim, source):
        return AmountMatch.OTHER
    return _limits(claim, source)


def _is_in_band(claim: Quantity, source: Quantity) -> bool:
    """Whether the claim speaks of one age, and the source of an age band that holds it.

    >>> from citewell.clinical.quantities import quantities
    >>> _is_in_band(quantities("a four-month-old baby")[0], quantities("patients aged 2 months or over")[0])
    True
    """
    if not (claim.told == source.told == "age") or claim.sign != "=" or len(claim.values) != 1:
        return False
    age = claim.values[0]
    if source.shape == "range":
        return source.values[0] <= age <= source.values[1]
    limit = source.values[0]
    return {"<": age < limit, "<=": age <= limit, ">": age > limit, ">=": age >= limit}.get(source.sign, False)


SPOKEN = 3.5
"""How many points of a hundred a share in words may be off: “about four in five” is 78%, “more than half” 53%."""


def _is_rounded(spoken: Quantity, exact: Quantity) -> bool:
    """Whether a share told in words is the other's percentage, or the other's so many out of so many, rounded.

    >>> from citewell.clinical.quantities import quantities
    >>> read = lambda text: quantities(text)[0]
    >>> half = read("more than half of them")
    >>> _is_rounded(half, read("53%")), _is_rounded(half, read("47%"))
    (True, False)
    >>> _is_rounded(read("roughly one in five"), read("8 of 38"))
    True
    """
    is_spoken = spoken.unit == "share" or (spoken.shape == "pair" and (spoken.is_word or spoken.loose))
    share, other = _percent(spoken), _percent(exact)
    if not is_spoken or share is None or other is None or exact.sign != "=":
        return False
    more = other - share
    is_within = more >= 0 if spoken.sign[0] == ">" else more <= 0 if spoken.sign[0] == "<" else True
    return is_within and abs(more) <= SPOKEN


def _percent(share: Quantity) -> float | None:
    """A percentage, or so many out of so many, of a hundred."""
    if share.dimension == "percent" and len(share.values) == 1:
        return share.values[0]
    if share.shape == "pair" and share.dimension == BARE and 0 < share.values[1] >= share.values[0]:
        return 100 * share.values[0] / share.values[1]
    return None


_COUNTABLE = [
    {BARE, dimension} for dimension in ("time", "tablets", "capsules", "puffs", "drops", "sprays", "doses", "fold")
]
"""A number without a unit may be an age in years or a count; never an amount."""


def comparable(claim: Quantity, source: Quantity) -> bool:
    """Whether two quantities could stand for each other."""
    if is_age_and_length(claim, source):
        return False
    if claim.dimension == source.dimension or {claim.dimension, source.dimension} == {"time", "period"}:
        return True
    return {claim.dimension, source.dimension} in _COUNTABLE


def is_age_and_length(one: Quantity, other: Quantity) -> bool:
    """Whether one time is somebody's age and the other how long, or how often: they answer other questions.

    >>> from citewell.clinical.quantities import quantities
    >>> age, hours = quantities("people over 40")[0], quantities("within 24 hours")[0]
    >>> is_age_and_length(age, hours), is_age_and_length(age, quantities("from 30 years")[0])
    (True, False)
    """
    kinds = {"period" if quantity.dimension == "period" else quantity.told for quantity in (one, other)}
    return "age" in kinds and not kinds.isdisjoint(("length", "period"))


def _equal(claim: Quantity, source: Quantity) -> bool:
    if not comparable(claim, source):
        return _share_of(claim, source) or _share_of(source, claim)
    if claim.dimension != source.dimension and BARE in (claim.dimension, source.dimension):
        ours, theirs, slack = claim.written, source.written, 1e-9
    else:
        ours, theirs = claim.values, source.values
        slack = (
            1e-9
            if claim.unit == source.unit != "mixed"
            else 0.02
            if claim.dimension in ("time", "period", "percent")
            else 0.003
        )
    if len(ours) != len(theirs) or ("range" in (claim.shape, source.shape) and claim.shape != source.shape):
        return False
    pairs = list(zip(ours, theirs, strict=True))
    if all(abs(one - other) <= slack * max(abs(one), abs(other)) for one, other in pairs):
        return True
    may_round = claim.dimension in ("percent", BARE) and claim.unit == source.unit
    return may_round and all(one >= 10 and one == int(one) == round(other) for one, other in pairs)


def _share_of(pair: Quantity, percent: Quantity) -> bool:
    """Whether “1 in 5” is the other's 20 %."""
    if pair.shape != "pair" or percent.dimension != "percent" or len(percent.values) != 1 or not pair.values[1]:
        return False
    return abs(100 * pair.values[0] / pair.values[1] - percent.values[0]) <= 0.5


def _limits(claim: Quantity, source: Quantity) -> AmountMatch:
    if claim.sign == source.sign:
        return AmountMatch.SAME
    if (claim.sign == "=" and source.loose) or (source.sign == "=" and claim.loose):
        return AmountMatch.SAME
    if {claim.sign[0], source.sign[0]} == {"<", ">"}:
        return AmountMatch.OPPOSED
    return AmountMatch.CLOSE


_OF_DRUG = re.compile(r"\s*(?:of\s+|once\s+|twice\s+|oral\s+|intravenous\s+)?$")
_BINDS_AHEAD = 12
"""Characters between an amount and the drug it belongs to, where the drug comes second: “75 mg of aspirin”."""

_BINDS_BACK = 80


def amounts_missing(claim: ReadSentence, source: ReadSentence, *, is_row: bool = False) -> list[Mismatch]:
    """Each quantity of the claim that the source sentence lacks, changes or gives to something else.

    What a row of a table says, it says of all the medicines that it names.
    """
    if not claim.quantities:
        return []
    matched = matched_amounts(claim, source, is_row=is_row)
    used = {theirs for theirs, _ in matched.values()}
    unused = [theirs for theirs in source.quantities if theirs not in used]
    quantities = [ours for ours in claim.quantities if not _is_in_illness(ours, claim, source)]
    mismatches = [_finding(ours, matched.get(ours), unused, claim, source) for ours in quantities]
    return [finding for finding in mismatches if finding is not None] + _exchanged(claim, source, matched)


def _is_in_illness(ours: Quantity, claim: ReadSentence, source: ReadSentence) -> bool:
    """Whether a number is a part of the name of an illness that the source names otherwise: T2DM is type 2 diabetes."""
    if not ours.dimension.startswith("label"):
        return False
    inside = [
        illness.name for illness in illnesses(claim.text) if illness.start <= ours.start and ours.end <= illness.end
    ]
    return bool(inside) and any(illness.name in inside for illness in illnesses(source.text))


Matched = dict[Quantity, tuple[Quantity, AmountMatch]]
"""For each quantity of the claim the one of the source that comes nearest to it."""


def matched_amounts(claim: ReadSentence, source: ReadSentence, *, is_row: bool = False) -> Matched:
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


def _with_parts(claim: ReadSentence, source: ReadSentence, matched: Matched) -> Matched:
    """“36 of 120” is said by “of 120 patients, 36 …”, and a range by both of its ends, each on its own."""
    found = dict(matched)
    for whole in claim.quantities:
        if whole not in found and len(whole.values) == 2:
            ends = [part for part in source.quantities if _is_end(part, whole)]
            if {part.values[0] for part in ends} == set(whole.values):
                found[whole] = ends[0], AmountMatch.SAME
    for whole in source.quantities:
        parts = [part for part in claim.quantities if part not in found and _is_end(part, whole)]
        if len(whole.values) == 2 and {part.values[0] for part in parts} == set(whole.values):
            found |= dict.fromkeys(parts, (whole, AmountMatch.SAME))
    return found


def _is_end(part: Quantity, whole: Quantity) -> bool:
    same = part.dimension == whole.dimension or BARE in (part.dimension, whole.dimension)
    return same and len(part.values) == 1 and part.values[0] in whole.values and part.sign == whole.sign


def _finding(
    ours: Quantity,
    match: tuple[Quantity, AmountMatch] | None,
    unused: list[Quantity],
    claim: ReadSentence,
    source: ReadSentence,
) -> Mismatch | None:
    """What is wrong with one quantity of the claim, if anything is."""
    if match is not None:
        theirs, level = match
        if level == AmountMatch.SAME:
            return None
        grade = MismatchGrade.WEAKER if level == AmountMatch.CLOSE else MismatchGrade.AGAINST
        reason = f"the source says “{theirs.text}”, not “{ours.text}”"
        return Mismatch(grade, "amount", reason, ours.start, ours.end)
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
            reason = f"“{ours.text}” refers to something else in the source"
        return Mismatch(MismatchGrade.AGAINST, "amount", reason, ours.start, ours.end)
    if ours.is_word:
        return None
    return Mismatch(MismatchGrade.MISSING, "amount", f"“{ours.text}” is not in the source", ours.start, ours.end)


def _is_name(ours: Quantity, claim: ReadSentence, source: ReadSentence) -> bool:
    """Whether the source writes the number as part of a name: “BRCA 1” is BRCA1 there."""
    before = re.search(r"(?<![^\W_])([^\W_]++)[\s-]*+$", claim.text[: ours.start])
    return before is not None and form(before.group(1) + ours.text) in forms(source.text)


def _rivals(ours: Quantity, theirs: Quantity) -> bool:
    """Whether the source's quantity answers the same question with another number."""
    if is_age_and_length(ours, theirs):
        return False
    return ours.dimension == theirs.dimension or ours.dimension.split("/")[0] == theirs.dimension.split("/")[0] != BARE


# ------------------------------------------------------------------------------------------- beside the same thing


def _bound(amount: Quantity, reading: ReadSentence) -> str | None:
    """The medicine that an amount belongs to."""
    after = [drug for drug in reading.medicines if 0 <= drug.start - amount.end <= _BINDS_AHEAD]
    if after and _OF_DRUG.fullmatch(reading.text[amount.end : after[0].start]):
        return after[0].name
    before = [drug for drug in reading.medicines if 0 <= amount.start - drug.end <= _BINDS_BACK]
    return before[-1].name if before else None


def _same_drug(ours: Quantity, theirs: Quantity, claim: ReadSentence, source: ReadSentence) -> bool:
    """False where both sentences name the claim's drug, and the source gives the amount to another one."""
    if len({drug.name for drug in source.medicines}) < 2:
        return True
    wanted, held = _bound(ours, claim), _bound(theirs, source)
    if wanted is None or held is None or wanted == held:
        return True
    return wanted not in {drug.name for drug in source.medicines} or "respectively" in source.text


def _exchanged(claim: ReadSentence, source: ReadSentence, matched: Matched) -> list[Mismatch]:
    """Two numbers of one kind that changed places between the same two things."""
    mismatches = []
    for quantity, other in combinations([ours for ours in claim.quantities if ours in matched], 2):
        first, second = matched[quantity][0], matched[other][0]
        if quantity.dimension != other.dimension or first is second or quantity.values == other.values:
            continue
        ours_one, ours_other = _own(claim, quantity, other)
        theirs_one, theirs_other = _own(source, first, second)
        kept = len(ours_one & theirs_one) + len(ours_other & theirs_other)
        crossed = min(len(ours_one & theirs_other), len(ours_other & theirs_one))
        if crossed and not kept and "respectively" not in source.text:
            reason = f"“{quantity.text}” and “{other.text}” are the other way round in the source"
            mismatches.append(Mismatch(MismatchGrade.AGAINST, "amount", reason, quantity.start, quantity.end))
    return mismatches


def _own(reading: ReadSentence, quantity: Quantity, other: Quantity) -> tuple[frozenset[str], frozenset[str]]:
    """The words beside each of two quantities, as far as the next number; without those beside both."""
    left, right = _beside(reading, quantity), _beside(reading, other)
    return left - right, right - left


def _beside(reading: ReadSentence, amount: Quantity) -> frozenset[str]:
    low = max((other.end for other in reading.quantities if other.end <= amount.start), default=0)
    high = min((other.start for other in reading.quantities if other.start >= amount.end), default=len(reading.text))
    before = [word.form for word in reading.words if low <= word.start < amount.start][-2:]
    after = [word.form for word in reading.words if amount.end <= word.start < high][:2]
    return frozenset(before + after)


_END = re.compile(r"[;(\[]|\.\s")
"""Where the words of a number end."""


def other_arm(claim: ReadSentence, source: ReadSentence) -> list[Mismatch]:
    """Each number of the claim that the source sentence gives to something else that the claim names."""
    mismatches = []
    for ours in claim.quantities:
        theirs = [quantity for quantity in source.quantities if quantity.dimension == ours.dimension]
        same = [quantity for quantity in theirs if agreement(ours, quantity) == AmountMatch.SAME]
        if len(theirs) < 2 or len(same) != 1 or not _is_told(ours, claim):
            continue
        bound = _after(source, theirs) or _before(source, theirs)
        if bound and _is_crossed(claim.words, bound[theirs.index(same[0])], bound, theirs.index(same[0])):
            reason = f"“{ours.text}” refers to something else in the source"
            mismatches.append(Mismatch(MismatchGrade.AGAINST, "amount", reason, ours.start, ours.end))
    return mismatches


def _is_told(ours: Quantity, claim: ReadSentence) -> bool:
    """Whether a number has a unit, and is the only one with it."""
    is_alone = sum(quantity.dimension == ours.dimension for quantity in claim.quantities) == 1
    return is_alone and ours.dimension not in (BARE, CHANCE, "date") and not ours.dimension.startswith("label")


def _is_crossed(
    claimed: Sequence[ContentWord], own: list[ContentWord], bound: list[list[ContentWord]], place: int
) -> bool:
    """Whether the claim has words of another number and none of its own."""
    others = [word for number, words in enumerate(bound) if number != place for word in words]
    alone = [word for word in own if not _has(others, word)]
    foreign = [word for word in others if not _has(own, word)]
    return any(_has(claimed, word) for word in foreign) and not any(_has(claimed, word) for word in alone)


def _has(words: Sequence[ContentWord], wanted: ContentWord) -> bool:
    return any(word.form == wanted.form or word.meanings & wanted.meanings for word in words)


def _after(source: ReadSentence, numbers: Sequence[Quantity]) -> list[list[ContentWord]] | None:
    """The words that follow each number, if each has some of its own."""
    ends = [*(number.start for number in numbers[1:]), len(source.text)]
    parts = [(quantity.end, end) for quantity, end in zip(numbers, ends, strict=True)]
    return _each_own(source, [(start, _cut(source.text, start, end)) for start, end in parts])


def _before(source: ReadSentence, numbers: Sequence[Quantity]) -> list[list[ContentWord]] | None:
    """The words that lead to each number, if each has some of its own."""
    edges = [0, *(number.end for number in numbers)]
    parts = [(edge, quantity.start) for edge, quantity in zip(edges, numbers, strict=False)]
    near = [(_begin(source.text, start, end), end) for start, end in parts]
    return _each_own(source, near) or _each_own(source, parts)


def _cut(text: str, start: int, end: int) -> int:
    stop = _END.search(text, start, end)
    return stop.start() if stop else end


def _begin(text: str, start: int, end: int) -> int:
    return max((stop.end() for stop in _END.finditer(text, start, end)), default=start)


def _each_own(source: ReadSentence, parts: Sequence[tuple[int, int]]) -> list[list[ContentWord]] | None:
    words_of_parts = [[word for word in source.words if start <= word.start < end] for start, end in parts]
    return words_of_parts if all(_is_each_own(place, words_of_parts) for place in range(len(words_of_parts))) else None


def _is_each_own(place: int, words_of_parts: Sequence[list[ContentWord]]) -> bool:
    """Whether a number has a word that no other has."""
    others = [word for number, words in enumerate(words_of_parts) if number != place for word in words]
    return any(not _has(others, word) for word in words_of_parts[place])
