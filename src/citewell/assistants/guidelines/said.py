"""What the words of a record say of a patient: clause by clause, with what is denied, stated and how long it lasted."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from citewell.answer.negation import Denial, denials
from citewell.assistants.guidelines.compose import Place, composed
from citewell.assistants.guidelines.doubts import doubts
from citewell.assistants.guidelines.match import Unit, broader, concept_ids, mentions, names, placed
from citewell.assistants.guidelines.tables import rows
from citewell.words import word_spans

LONG_NAME = 3
"""A name of so many words says what it means; its words stand for nothing else."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one clause of a record says."""

    text: str
    names: frozenset[str]
    """What it speaks of, and the broader things that this implies: the names of their concepts, or words."""
    exact: frozenset[str]
    """What it speaks of, as it is said."""
    denied: frozenset[str]
    doubted: frozenset[str]
    """What may be so or not: “?haematuria”."""
    stated: frozenset[str]
    """Qualities that it states, “persistent”."""
    refuted: frozenset[str]
    """Qualities that it denies."""
    duration_days: float | None = None


_CLAUSE = re.compile(r"[;,.]|\band\b|\bbut\b|\bwith\b(?!out)|\balso\b", re.IGNORECASE)
_FOR = re.compile(
    r"\b(?:for|since|lasting|over|past|within)\s+(?:for\s+)?(?:the\s+)?(?:about\s+|last\s+)?"
    r"(?P<more>over\s+|more than\s+|longer than\s+)?(?:at least\s+)?"
    r"(?P<count>\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)\s+(?P<unit>day|week|month|year)s?\b",
    re.IGNORECASE,
)
_LASTED = re.compile(
    r"(?P<count>\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve)[- /]?(?P<unit>day|week|month|year)s?['’]?"
    r"(?: history\b|\s*$)",
    re.IGNORECASE,
)
_SHORT = re.compile(r"(?<![\w/.])(?P<count>\d{1,2})/(?P<part>7|52|12)(?![\w/.])")
"""“3/52”, as clinicians write three weeks; “4/7” is days and “2/12” months."""
_PARTS = {"7": 1, "52": 7, "12": 30}
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
}
DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


def duration_days(text: str) -> int | None:
    """How long something has lasted, where the words say so.

    >>> duration_days("mouth ulcer for four weeks"), duration_days("cough"), duration_days("hoarse 3/52")
    (28, None, 21)
    """
    match = _FOR.search(text) or _LASTED.search(text)
    if match is None:
        short = _SHORT.search(text)
        return int(short.group("count")) * _PARTS[short.group("part")] if short else None
    count = match.group("count").lower()
    days = (int(count) if count.isdigit() else _NUMBERS[count]) * DAYS[match.group("unit").lower()]
    return days + 1 if match.groupdict().get("more") else days


@cache
def cue(kind: str) -> re.Pattern[str]:
    words = next(words for name, words in rows("cues.tsv") if name == kind)
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


@cache
def qualities() -> dict[str, tuple[str, re.Pattern[str] | None, re.Pattern[str] | None]]:
    """Each quality: whether it may be assumed, and what states and denies it."""
    return {name: (kind, _words(stating), _words(denying)) for name, kind, stating, denying in rows("qualities.tsv")}


@cache
def _any_quality() -> re.Pattern[str]:
    """Whatever states or denies a quality: most clauses have none."""
    return re.compile("|".join(one.pattern for _, *both in qualities().values() for one in both if one), re.IGNORECASE)


def _words(alternatives: str) -> re.Pattern[str] | None:
    ordered = sorted(alternatives.split("|"), key=len, reverse=True)
    return (
        re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, ordered))})(?![\w-])", re.IGNORECASE)
        if alternatives
        else None
    )


def said(text: str, *, given_days: float | None = None) -> list[Said]:
    """What a text of a record says of the patient, clause by clause; family, past and fears are left out.

    >>> [one.text for one in said("Cough for 3 weeks, wife noticed weight loss. Father had jaundice, fever")]
    ['Cough for 3 weeks', 'wife noticed weight loss']
    """
    text = _spelled(" ".join(re.sub(r"[()]", " ", text).split()))
    days: float | None = duration_days(text)
    others = _of_others(text)
    hedged = [_to_sentence_end(text, match.end()) for match in cue("hedge").finditer(text)]
    found = []
    scopes = Scopes(_denials(text), doubts(text))
    bounds = [0, *(match.start() for match in _CLAUSE.finditer(text)), len(text)]
    days = days if days is not None else given_days
    for start, end in pairwise(bounds):
        clause = text[start:end]
        is_own = not any(low < end and start < high for low, high in [*others, *hedged])
        if clause.strip() and is_own and not cue("past").search(_HISTORY.sub("", clause)):
            found.append(_clause(text, start, end, scopes, days))
    if len(found) == len(bounds) - 1 > 1:
        found.append(_clause(text, 0, len(text), scopes, days, is_part=False))  # “pain in the chest and the arm”
    return found


def _of_others(text: str) -> list[tuple[int, int]]:
    """The parts that speak of a relative: from the comma before to the end of the sentence.

    A relative who noticed or reports something speaks of the patient.
    """
    found = []
    for match in cue("family").finditer(text):
        tells = cue("informant").match(text, match.end()) or cue("told by").search(text[: match.start()].rstrip())
        if tells is None:
            found.append((_clause_start(text, match.start()), _to_sentence_end(text, match.end())[1]))
    return found


def _to_sentence_end(text: str, at: int) -> Place:
    stop = _SENTENCE.search(text, at)
    return at, stop.start() if stop else len(text)


_SENTENCE = re.compile(r"[;.](?=\s|$)|\bbut\b", re.IGNORECASE)
_HISTORY = re.compile(r"\b(?:day|week|month|year)s?['’]? history of\b", re.IGNORECASE)
"""“A 3 month history of cough” is no past."""
_AFTERWARDS = re.compile(
    r"(?:(?:[:=–]|\s-)\s*(?:none|nil|no|absent|negative|denied|ve)"
    r"|\b(?:is absent|absent|not present))\s*(?=$|[;,.])",
    re.IGNORECASE,
)
"""“Breast lump: none” denies what stands before it."""
_RULED_OUT = re.compile(
    r"\b(?:is |was |has been |have been )?(?:excluded|ruled out)(?: as (?:a|the) cause)?\s*(?=$|[;,.])", re.IGNORECASE
)
"""“Haematuria and UTI excluded” denies what stands right before it."""
_NIL = re.compile(r"\bnil\b", re.IGNORECASE)
"""“Nil haemoptysis, cough” denies up to the comma."""
_STOP = re.compile(r"[;.]|\bbut\b|\bhas\b|\breports\b|\bcomplains\b", re.IGNORECASE)
"""Where “denies cough, fever” ends."""
_RELATIVE = re.compile(r"\b(?:which|that|who)\s+(?:is|are|was|were|has|have|does|do)\s*$", re.IGNORECASE)
"""“A mass which is not a fibroid” denies what follows, not the mass."""


def _compositions(text: str) -> list[tuple[str, tuple[Place, ...]]]:
    """Findings put together from words of the text that are not part of a longer name."""
    taken = [(one.start, one.end) for one in mentions(text) if text[one.start : one.end].count(" ") >= LONG_NAME - 1]
    free = [
        (text[start:end], (start, end))
        for start, end in word_spans(text)
        if not any(low <= start and end <= high for low, high in taken)
    ]
    return list(composed(free))


@cache
def _named(name: str) -> Unit:
    """The unit of a concept by its name."""
    return concept_ids(name)


def _spelled(text: str) -> str:
    """The text with “won't” and “can't” in full, as the tables have them."""
    for short, full in (("won't", "will not"), ("can't", "cannot"), ("n't", " not")):
        text = re.sub(rf"{short[:-2]}[’']t\b", full, text, flags=re.IGNORECASE)
    return text


def _clause_start(text: str, at: int) -> int:
    return max(text.rfind(mark, 0, at) for mark in ";,.") + 1


def _denials(text: str) -> tuple[Denial, ...]:
    """What the text denies; “no appetite” and “will not go away” are names and qualities, not denials."""
    spans = [(one.start, one.end) for one in mentions(text)]
    spans += [place for _, places in _compositions(text) for place in places]
    spans += [match.span() for _, stating, _ in qualities().values() if stating for match in stating.finditer(text)]
    found = [
        replace(one, reach_start=max(one.reach_start, one.end)) if _RELATIVE.search(text, 0, one.start) else one
        for one in denials(text)
        if not any(low <= one.start and one.end <= high for low, high in spans)
    ]
    for match in cue("denial").finditer(text):
        stop = _STOP.search(text, match.end())
        found.append(Denial(match.start(), match.end(), match.end(), stop.start() if stop else len(text)))
    for match in _NIL.finditer(text):
        stop = _CLAUSE.search(text, match.end())
        found.append(Denial(match.start(), match.end(), match.end(), stop.start() if stop else len(text)))
    found += [
        Denial(match.start(), match.end(), _clause_start(text, match.start()), match.start())
        for match in _AFTERWARDS.finditer(text)
    ]
    for match in _RULED_OUT.finditer(text):
        *_, start = [0, *(mark.end() for mark in _CLAUSE.finditer(text, 0, match.start()))]
        found.append(Denial(match.start(), match.end(), start, match.start()))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Scopes:
    """What of a text is denied, and what is left in doubt."""

    denied: tuple[Denial, ...]
    doubted: tuple[Place, ...]

    def denies(self, at: int) -> bool:
        return any(one.reaches(at) for one in self.denied)

    def doubts(self, at: int) -> bool:
        return any(start <= at < end for start, end in self.doubted)


def _clause(text: str, start: int, end: int, scopes: Scopes, days: float | None, *, is_part: bool = True) -> Said:
    clause = text[start:end]
    stated: set[str] = set()
    refuted: set[str] = set()
    bare = clause
    for name, (_, stating, denying) in qualities().items() if _any_quality().search(clause) else ():
        if denying and (match := denying.search(clause)):
            refuted.add(name)
        elif stating and (match := stating.search(clause)):
            (refuted if scopes.denies(start + match.start()) else stated).add(name)
        if stating:
            bare = stating.sub(lambda match: " " * len(match.group()), bare)
    exact: set[Unit] = set()
    denied: set[Unit] = set()
    doubted: set[Unit] = set()
    spoken: list[tuple[tuple[int, ...], Unit]]
    spoken = [
        (tuple(at for at, _ in places), _named(name)) for name, places in (_compositions(clause) if is_part else ())
    ]
    spoken += [((at,), unit) for at, _, unit in (*placed(bare), *placed(clause))]
    for places, unit in spoken:
        at = [start + place for place in places]
        if any(map(scopes.doubts, at)):  # before denials: “cannot be excluded” denies nothing
            doubted.add(unit)
        else:
            (denied if any(map(scopes.denies, at)) else exact).add(unit)
    given = names(unit | broader(unit) for unit in exact)
    maybe = names(unit | broader(unit) for unit in doubted)
    words = clause.strip(" ,;.")
    return Said(words, given, names(exact), names(denied), maybe, frozenset(stated), frozenset(refuted), days)
