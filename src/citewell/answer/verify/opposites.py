"""Whether a claim says the opposite of a source sentence: more for less, before for after, oral for intravenous."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from citewell import vocabulary
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, form, read

_WORD = re.compile(r"[^\W_]+")
_ANATOMICAL = re.compile(
    r"\s+(?:limbs?|respiratory|back|legs?|abdom\w*|urinary|limit|extremit\w*|airways?|lobe|gastrointestinal|gi|lip|jaw"
    r"|eyelid|body)\b"
    r"|\s+than\b",
    re.IGNORECASE,
)
"""After “lower” these make it a place, or a comparison whose order may have been turned."""

_CLAUSE = re.compile(r";|,?\s+(?:and|but)\s+(?=(?:consider|offer|give|do|may|should|must)\b)", re.IGNORECASE)

ROUTE = "route"
"""The axis of ways in which a medicine is given, which a source must name too."""

_SCALES = ("severity",)
"""Words with the stem of one end of a scale that name the whole of it."""

_COMMANDS = frozenset(
    """refer offer give start use admit stop prescribe treat measure check repeat review arrange ensure
    monitor advise tell discuss assess carry perform provide ask take do""".split()
)
"""A recommendation that opens with one of these is a strong one."""


@dataclass(frozen=True, slots=True)
class _Pole:
    axis: str
    value: str
    is_firm: bool


@dataclass(frozen=True, slots=True)
class _Said:
    start: int
    end: int
    pole: _Pole

    def near(self, reading: Reading) -> frozenset[str]:
        return reading.near(self.start, self.end, words=3)


@cache
def _poles() -> dict[str, tuple[_Pole, ...]]:
    found: dict[str, tuple[_Pole, ...]] = {}
    for axis, weight, value, words in vocabulary.rows("antonyms.tsv"):
        if weight in ("signed", "put"):
            continue
        for word in words.split("|"):
            place = word if word.isupper() else form(word)
            pole = _Pole(axis, value, weight == "firm")
            if pole not in found.get(place, ()):
                found[place] = (*found.get(place, ()), pole)
    return found


@lru_cache(maxsize=4096)
def _said(text: str) -> tuple[_Said, ...]:
    """Every word of the table in a sentence, outside its quantities."""
    return tuple(_found(read(text)))


def _found(reading: Reading) -> Iterator[_Said]:
    table = _poles()
    taken = [(amount.start, amount.end) for amount in reading.quantities]
    for match in _WORD.finditer(reading.text):
        word = match.group()
        poles = table.get(word) or table.get(form(word))
        if not poles or word.casefold() in _SCALES or any(start <= match.start() < end for start, end in taken):
            continue
        if word.casefold() in ("lower", "upper") and _ANATOMICAL.match(reading.text, match.end()):
            continue
        for pole in poles:
            yield _Said(*match.span(), pole)


def opposites(claim: Reading, source: Reading, *, coverage: float) -> list[Finding]:
    """Where the claim has one value of an axis and the source another, of the same things."""
    theirs_by_axis: dict[str, list[_Said]] = {}
    for said in _said(source.text):
        theirs_by_axis.setdefault(said.pole.axis, []).append(said)
    ours_by_axis: dict[str, list[_Said]] = {}
    for said in _said(claim.text):
        ours_by_axis.setdefault(said.pole.axis, []).append(said)
    found = []
    for axis, ours in ours_by_axis.items():
        theirs = theirs_by_axis.get(axis, [])
        if axis == ROUTE and not theirs and claim.medicines:
            told = f"the source does not say “{claim.text[ours[0].start : ours[0].end]}” of it"
            found.append(Finding(Grade.MISSING, ROUTE, told, ours[0].start, ours[0].end))
            continue
        finding = (
            _strength(ours, _in_clause(claim, source, theirs), source)
            if axis == "strength"
            else _opposed(ours, theirs, claim=claim, source=source, coverage=coverage)
        )
        if finding is not None:
            found.append(finding)
    return found


def _opposed(
    ours: list[_Said], theirs: list[_Said], *, claim: Reading, source: Reading, coverage: float
) -> Finding | None:
    values = {said.pole.value for said in theirs}
    claimed = {said.pole.value for said in ours}
    if not values - claimed:
        return None
    for said in ours:
        rivals = [other for other in theirs if other.pole.value not in claimed]
        same = [other for other in theirs if other.pole.value == said.pole.value]
        if same and len(claimed) == len(values):
            continue
        beside = said.near(claim)
        shares = {other: len(beside & other.near(source)) for other in theirs}
        rival = max(rivals, key=lambda other: shares[other])
        kept = max((shares[other] for other in same), default=-1)
        is_near = shares[rival] > kept + 1 if same else shares[rival] > 0 or coverage >= 0.7
        if is_near and claim.denied(said.start) == source.denied(rival.start):
            reason = f"the source says “{source.text[rival.start : rival.end]}”"
            grade = Grade.AGAINST if said.pole.is_firm else Grade.WEAKER
            return Finding(grade, "opposite", reason, said.start, said.end)
    return None


def _in_clause(claim: Reading, source: Reading, theirs: list[_Said]) -> list[_Said]:
    """What is said in the clause of the source that alone holds all that it shares with the claim."""
    ours = frozenset(word.form for word in claim.words)
    edges = [0, *(match.start() for match in _CLAUSE.finditer(source.text)), len(source.text)]
    held = [
        (start, end, frozenset(word.form for word in source.words if start <= word.start < end) & ours)
        for start, end in pairwise(edges)
    ]
    start, end, most = max(held, key=lambda clause: len(clause[2]))
    if any(not others <= most for _, _, others in held):
        return theirs
    return [said for said in theirs if start <= said.start < end]


def _strength(ours: list[_Said], theirs: list[_Said], source: Reading) -> Finding | None:
    """“Offer” and “consider” are not the same advice."""
    claimed = {said.pole.value for said in ours}
    held = {said.pole.value for said in theirs}
    first = _WORD.search(source.text)
    if not held and first and first.group().casefold() in _COMMANDS:
        held = {"strong"}
    if "weak" in held and "weak" not in claimed and "strong" in claimed:
        reason = "the source only suggests it"
    elif "strong" in held and "weak" not in held and "strong" not in claimed and "weak" in claimed:
        reason = "the source recommends it more strongly"
    else:
        return None
    return Finding(Grade.WEAKER, "strength", reason, ours[0].start, ours[0].end)
