"""Which way a sentence says that one thing moves another: more, less, or not at all."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise

from citewell import vocabulary
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, form, read

_WORD = re.compile(r"[^\W_]+")
_CLAUSE = re.compile(
    r"[;:]|\b(?:whereas|but|while|although|though|however|yet|because|thereby|suggesting|indicating|resulting|leading"
    r"|which|using|via|through|due to|accompanied)\b|, and (?=\w+ \w+(?:ed|s)\b)|\bby (?=\w+ing\b|\w+[ts]ion\b)",
    re.IGNORECASE,
)
_AIM = re.compile(
    r"\b(?:whether(?!\s+or\s+not\b)|hypothesi[sz]\w*|aims?|aimed|objectives?|purpose"
    r"|we (?:investigated|examined|assessed|evaluated|studied|sought|tested)"
    r"|not (?:yet )?been (?:\w+ly )?(?:well |fully )?(?:studied|assessed|described|explored|reported|established"
    r"|determined|investigated)|(?:is|are|remains?) (?:largely )?(?:unknown|unclear|uncertain)"
    r"|(?:was|sought|designed) to (?:determine|assess|evaluate|investigate|examine|explore|compare|test|study))\b"
    r"|^(?:to (?:determine|assess|evaluate|investigate|examine|explore|compare|test|study|estimate|summari[sz]e)"
    r"|background|context|importance|methods?|design|setting|interventions?|main\s+outcomes?"
    r"|(?:the\s+)?(?:effects?|impact|role|efficacy|effectiveness)\s+of|associations?\s+(?:between|of)|comparison\s+of)\b",
    re.IGNORECASE,
)
_SAID = {1: "more of it", -1: "less of it", 0: "no effect"}
_AGENTS = ("ive", "itor", "itors", "essor", "essors", "ator", "ators", "hancer", "hancers")
"""Endings of things that act, such as “inhibitor”: they do not say what happens here."""

_REACH = 3
"""Content words on each side of a sign in which a shared word must stand; “no difference” reaches its whole clause."""

_DIFFERENCE = frozenset(map(form, ("difference", "differ", "differed")))
_INSIGNIFICANT = re.compile(r"\b(?:not|non|nor|neither|n't|without|lack\w*|fail\w*)\b.*\bsignifican", re.IGNORECASE)
_OF_SIGNIFICANCE = frozenset(
    map(
        form,
        """significance significant significantly statistical statistically reach reached attain attained achieve
        achieved although though but however yet while level levels difference differences this these it that result
        results trend change changes effect p value values only was were did conventional threshold fail failed
        lack""".split(),
    )
)
"""Words of a clause that says of the one before it no more than that it was not significant."""


@dataclass(frozen=True, slots=True)
class Course:
    """The way of a sentence: 1 for more, -1 for less, 0 for no effect; None where it says nothing of it."""

    sign: int | None
    words: int
    """How many words speak of it."""
    is_leaning: bool = False
    """It has no effect only as the way it leaned was not significant."""


@cache
def _signs() -> dict[str, int]:
    value = {"up": 1, "down": -1, "null": 0}
    return {
        form(word): value[pole]
        for _, weight, pole, words in vocabulary.rows("antonyms.tsv")
        if weight == "signed"
        for word in words.split("|")
    }


@lru_cache(maxsize=20_000)
def is_aim(text: str) -> bool:
    """Whether a sentence says what was asked rather than what was found.

    >>> is_aim("To determine whether folic acid lowers mortality."), is_aim("Folic acid lowered mortality.")
    (True, False)
    """
    return _AIM.search(text) is not None


@lru_cache(maxsize=256)
def own_course(text: str) -> Course:
    """The way of a claim itself."""
    return course(read(text), text)


def course(claim: Reading, text: str, *, named: frozenset[str] = frozenset()) -> Course:
    """The way of the clause of a source sentence that shares most words with the claim, or names what it names.

    >>> claim = read("Smoking lowers the risk of stroke")
    >>> course(claim, claim.text).sign, course(claim, "Smoking brought a higher risk of stroke, but not of gout").sign
    (-1, 1)
    """
    wanted = _unsigned(claim.text) | named
    clauses = _clauses(text)
    best = max(clauses, key=lambda clause: len(wanted & clause.forms))
    sign, count, is_denied = 1, 0, False
    for said in best.signs:
        if not wanted.isdisjoint(said.beside):
            is_denied = is_denied or said.is_denied
            sign, count = (sign * said.value, count + 1) if said.value else (sign, count)
    if is_denied:
        return Course(0, count + 1, best.is_leaning)
    return Course(sign, count) if count else Course(None, 0)


@dataclass(frozen=True, slots=True)
class _Sign:
    """A word that says which way, the words beside it, and whether it is denied."""

    value: int
    beside: frozenset[str]
    is_denied: bool


@dataclass(frozen=True, slots=True)
class _Clause:
    forms: frozenset[str]
    signs: tuple[_Sign, ...]
    is_leaning: bool = False

    def not_significant(self) -> _Clause:
        """The same clause, of which another says that it was not significant."""
        return replace(self, signs=tuple(replace(sign, is_denied=True) for sign in self.signs), is_leaning=True)


@lru_cache(maxsize=256)
def _unsigned(text: str) -> frozenset[str]:
    """The words of a claim that do not say which way."""
    return frozenset(word.form for word in read(text).words) - frozenset(_signs())


@lru_cache(maxsize=4096)
def _clauses(text: str) -> tuple[_Clause, ...]:
    """The clauses of a source sentence with what each says of more and less; read once for all claims."""
    source = read(text)
    edges = [0, *(match.start() for match in _CLAUSE.finditer(source.text)), len(source.text)]
    found = [_clause(source, start, end) for start, end in pairwise(edges)]
    for place, (start, end) in enumerate(pairwise(edges)):
        if place and _INSIGNIFICANT.search(source.text, start, end) and _tells_no_more(found[place]):
            found[place - 1] = found[place - 1].not_significant()
    return tuple(found)


def _tells_no_more(clause: _Clause) -> bool:
    """Whether a clause has no words but those of significance, of direction, and numbers."""
    others = clause.forms - _OF_SIGNIFICANCE - frozenset(_signs())
    return all(not word.isalpha() for word in others)


def _clause(source: Reading, start: int, end: int) -> _Clause:
    words = [word for word in source.words if start <= word.start < end]
    named = [(drug.start, drug.end) for drug in source.medicines]
    named += [(amount.start, amount.end) for amount in source.quantities]
    found = []
    signs = _signs()
    for match in _WORD.finditer(source.text, start, end):
        value = signs.get(form(match.group()))
        if value is None or match.group().endswith(_AGENTS) or any(low <= match.start() < high for low, high in named):
            continue
        before = [word.form for word in words if word.start < match.start()][-_REACH:]
        after = [word.form for word in words if word.start > match.start()][:_REACH]
        is_denied = (source.is_clause_denied if value else source.denied)(match.start())
        is_wide = is_denied and form(match.group()) in _DIFFERENCE
        beside = (word.form for word in words) if is_wide else (*before, *after)
        found.append(_Sign(value, frozenset(beside), is_denied))
    return _Clause(frozenset(word.form for word in words), tuple(found))


_THAN = re.compile(
    r"\b(?:than|compared\s+(?:with|to)|versus|vs\.?|preferred\s+(?:to|over)|in\s+preference\s+to|(?:superior|inferior|preferable)\s+to)(?=\s)",
    re.IGNORECASE,
)


def sides(reading: Reading) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words of what is compared, and of what it is compared with; those of both left out."""
    than = _THAN.search(reading.text)
    if than is None:
        return None
    comma = reading.text.find(",", than.end())
    stop = comma if than.start() == 0 and comma > 0 else len(reading.text)
    other = frozenset(word.form for word in reading.words if than.end() <= word.start < stop)
    one = frozenset(word.form for word in reading.words if word.start < than.start() or word.start >= stop)
    return one - other, other - one


def is_reversed(claim: Reading, source: Reading) -> bool:
    """Whether the two compare the same things the other way round.

    >>> is_reversed(read("Men had more pain than women"), read("Women had less pain than men"))
    True
    """
    ours, theirs = sides(claim), sides(source)
    if ours is None or theirs is None:
        return False
    return bool(ours[1] & theirs[0] and ours[0] & theirs[1])


_P_VALUE = re.compile(r"\bp\s*(?:-?\s?values?\s*)?(?:(?P<less><|≤|⩽)|=|>)\s*(?P<p>0?\.\d+)", re.IGNORECASE)
_INTERVAL = re.compile(
    r"\b(?P<of>(?:hazard|odds|risk|rate)\s+ratio|relative\s+risk|HR|OR|RR|difference)\b[^;)]*?\bCI\b,?:?\s*"
    r"(?P<low>[-−]?\d+\.?\d*)\s*(?:to|–|-|,)\s*(?P<high>[-−]?\d+\.?\d*)",
)
_GAINS = re.compile(
    r"\b(?:improv|prolong|extend|lengthen|benefi|superior|better|worse|shorten|prevent)\w*", re.IGNORECASE
)
_OWNS_UP = re.compile(r"\b(?:non-?\s?significan|not\b.*\bsignifican|numerical|trend)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def is_insignificant(text: str) -> bool:
    """Whether all that a sentence gives by numbers is not significant.

    >>> is_insignificant("Deaths fell (hazard ratio 0.93, 95% CI 0.81 to 1.06).")
    True
    >>> is_insignificant("Fewer died (p = .02).")
    False
    """
    told = [not value["less"] and float(value["p"]) >= 0.05 for value in _P_VALUE.finditer(text)]
    for interval in _INTERVAL.finditer(text):
        low, high = (float(interval[end].replace("−", "-")) for end in ("low", "high"))
        told.append(low <= (0 if interval["of"] == "difference" else 1) <= high)
    return bool(told) and all(told)


def by_chance(ours: Course, claim: Reading, source: Reading) -> list[Finding]:
    """Where the claim says that something helped or harmed, and the numbers of the source that it was chance."""
    is_said = bool(ours.sign) or (ours.sign is None and _GAINS.search(claim.text) is not None)
    if not is_said or claim.denials or _OWNS_UP.search(claim.text) or not is_insignificant(source.text):
        return []
    reason = "the source gives the difference as not significant"
    return [Finding(Grade.AGAINST, "opposite", reason, 0, len(claim.text))]


def turned(ours: Course, theirs: Course, claim: Reading, source: Reading) -> list[Finding]:
    """Where the claim says more and the source less, or one of them no effect; an aim says neither."""
    if is_aim(source.text) or (ours.sign is None) != (theirs.sign is None):
        return []
    is_crossed = is_reversed(claim, source)
    if ours.sign is None or theirs.sign is None:
        reason = "the source compares them the other way round"
        return [Finding(Grade.AGAINST, "direction", reason, 0, len(claim.text))] if is_crossed else []
    sign = -theirs.sign if is_crossed else theirs.sign
    if ours.sign == sign:
        return []
    reason = f"the source says that there is {_SAID[sign]}"
    return [Finding(Grade.AGAINST, "direction", reason, 0, len(claim.text))]
