"""What the words of a record say of a patient: clause by clause, with what is denied, stated and how long it lasted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, pairwise

from citewell.assistants.guidelines.match import Unit, is_clinical, names, placed
from citewell.assistants.guidelines.tables import rows
from citewell.clinical import Mention, broader
from citewell.clinical.context import Context, read_context
from citewell.clinical.lexicon import Lexicon, ids_of
from citewell.clinical.meanings import is_misread, is_normal, meant
from citewell.clinical.medicines import medicines
from citewell.clinical.quantities import durations
from citewell.types.consult import Polarity


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
    told_days: float | None = None
    """How long, where its own words say so; a duration that is given for all symptoms may be of another."""
    is_of_others: bool = False
    """Something in it is past, of somebody else, feared or wanted."""


_CLAUSE = re.compile(r";|[,.](?!\d)|\band\b|\bbut\b|\bwith\b(?!out)|\balso\b", re.IGNORECASE)


def duration_days(text: str) -> float | None:
    """How long something has lasted, where the words say so once.

    >>> duration_days("mouth ulcer for four weeks"), duration_days("cough"), duration_days("hoarse 3/52")
    (28.0, None, 21.0)
    """
    lengths = _lengths(text)
    return lengths[0][1] if len(lengths) == 1 else None


def _lengths(text: str) -> list[tuple[int, float]]:
    """How long complaints of a text have lasted: where each duration stands, and its days."""
    found = (one for one in durations(text) if one.is_of_complaint)
    return [(one.start, one.compared_days) for one in found if one.compared_days is not None]


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
    """What a text of a record says of the patient, clause by clause; what is past, of others or feared is left out.

    >>> denied = {name for clause in said("No fever, haemoptysis for 2 days") for name in clause.denied}
    >>> sorted(name for name in denied if ":" in name)
    ['CW:fever', 'HP:0001945']
    """
    text = as_read(text)
    lengths = _lengths(text)
    told = lengths[0][1] if len(lengths) == 1 else None
    if not lengths and any(one.is_of_complaint for one in durations(text)):
        told = given_days  # “since June” is what was given as a number
    everywhere = given_days if told is None else told
    context = read_context(text)
    learned = meant(context)
    bounds = [0, *(match.start() for match in _CLAUSE.finditer(text)), len(text)]
    clauses = []
    for start, end in pairwise(bounds):
        own = [days for place, days in lengths if start <= place < end]
        if text[start:end].strip():
            clause = _clause(context, learned, start, end, own[0] if own else everywhere)
            clauses.append(replace(clause, told_days=own[0] if own else told))
    clauses = _joined(clauses)
    if len(clauses) > 1 and not any(clause.is_of_others for clause in clauses):
        whole = _clause(context, learned, 0, len(text), everywhere)
        clauses.append(replace(whole, told_days=told))  # “pain in the chest and the arm”
    return clauses


@cache
def pains() -> frozenset[str]:
    """Pain, wherever it is."""
    concepts = Lexicon.load().concepts.values()
    return frozenset(name for one in concepts if one.name.split()[-1] == "pain" for name in ids_of(one))


def _joined(clauses: Sequence[Said]) -> list[Said]:
    """The clauses, each with the qualities of those behind it that name nothing themselves: “a lump, does not hurt”."""
    joined: list[Said] = []
    last = None
    for at, one in enumerate(clauses):
        joined.append(one)
        if any(":" in name for name in (one.exact | one.denied | one.doubted) - pains()):
            last = at if any(":" in name for name in one.exact) else None
        elif last is not None:
            whole = joined[last]
            joined[last] = replace(whole, stated=whole.stated | one.stated, refuted=whole.refuted | one.refuted)
    return joined


def as_read(text: str) -> str:
    """A text as it is read: without short forms of “not”."""
    return spelled(" ".join(text.split()))


def spelled(text: str) -> str:
    """The text with “won't” and “can't” in full, as the tables have them."""
    for short, full in (("won't", "will not"), ("can't", "cannot"), ("n't", " not")):
        text = re.sub(rf"{short[:-2]}[’']t\b", full, text, flags=re.IGNORECASE)
    return text


_BRACKET = re.compile(r"[()]")
"""Names are read over brackets, “haematuria (visible)”; how they hold is read with them."""
_REFUTED = re.compile(
    r"\b(?:not|never|no longer|isn't|is not|without)\s+(?:a\s+|any\s+|been\s+|very\s+|particularly\s+)?$", re.I
)
"""What turns a quality round: “not persistent”."""
_UNHELPED = re.compile(
    r"\b(?:no|not|never|hardly|nothing|fail\w*|despite|unrelieved|unresponsive|still)\b.{0,30}?"
    r"\b(?:better|settl\w*|respon\w*|improv\w*|help\w*|touch\w*|work\w*|relie\w*|differen\w*|resol\w*|clear\w*)\b"
    r"|\bdespite\b|\bin spite of\b|\bfailed\b|\bunresponsive\b",
    re.IGNORECASE,
)
_TREATED = re.compile(
    r"\b(?:treat\w*|tablets?|medic\w*|meds|abx|courses?|antibiotics?|creams?|PPIs?|inhalers?|steroids?|drops)\b",
    re.IGNORECASE,
)
"""What was given and did not help makes a symptom treatment-resistant."""
_AGAIN = re.compile(
    r"\b(?:[2-9]|1\d|two|three|four|five|six|several|multiple|numerous|many|repeated)\s+(?:\w+\s+){0,2}"
    r"(?:infections|utis|episodes|bouts|courses|attacks)\b|\b(?:back|started|here|same)\s+again\b"
    r"|\b(?:2nd|3rd|[4-9]th|second|third|fourth|fifth)\s+(?:[\w-]+\s+)?(?:infection|uti|episode|bout|course|attack|time)\b",
    re.IGNORECASE,
)
"""What is counted more than once is recurrent: “4 UTIs this year”."""
_NEVER_BEFORE = re.compile(
    r"\b(?:never|not|no)(?:\s+\w+){0,4}?\s+(?:before(?!\s+(?:or|and|meals|food|bed|eating))|previously|in the past)\b"
    r"|\bno (?:previous|prior)(?:\s+(?!and\b|or\b|but\b)\w+){1,3}",
    re.IGNORECASE,
)
"""What was never there before may be there now: “new IBS symptoms, never had IBS before”."""
_DENIED_COUNT = re.compile(r"\b(?:no|not|never|nil|without)\b", re.IGNORECASE)
LOOK_ROUND = 40
"""Characters on either side of words that may say when it was."""
_LEFT_OUT = (Polarity.PAST, Polarity.FAMILY, Polarity.OTHER, Polarity.HYPOTHETICAL, Polarity.INTENDED)


def _clause(context: Context, learned: Sequence[Mention], start: int, end: int, days: float | None) -> Said:
    whole = context.text[start:end]
    clause = _BRACKET.sub(" ", whole)
    stated: set[str] = set()
    refuted: set[str] = set()
    bare = clause
    for name, (_, stating, denying) in qualities().items() if _any_quality().search(clause) else ():
        if denying and denying.search(clause):
            refuted.add(name)
        elif stating and (match := stating.search(clause)):
            (refuted if _REFUTED.search(clause, 0, match.start()) else stated).add(name)
        if stating:
            bare = stating.sub(lambda match: " " * len(match.group()), bare)
    if _UNHELPED.search(clause) and (_TREATED.search(clause) or medicines(clause)):
        stated.add("treatment-resistant")
    if (again := _AGAIN.search(clause)) and not _DENIED_COUNT.search(clause, 0, again.start()):
        stated.add("recurrent")
    units: dict[Polarity, set[Unit]] = {}
    for within, unit in dict.fromkeys(chain(*map(placed, dict.fromkeys((bare, clause, whole))))):
        places = [(start + low, start + high) for low, high in within]
        if not is_clinical(unit) or not is_misread(context, places, unit):
            units.setdefault(held_by_all([status_of(context, *place) for place in places]), set()).add(unit)
    for one in learned:
        if start <= one.start < end and not is_normal(context, one.end):  # soup goes down fine, and bread does not
            status = status_of(context, one.start, one.end)
            units.setdefault(status, set()).add(one.ids)
            if status is Polarity.PRESENT and one.kind == "condition":
                units.setdefault(Polarity.UNCLEAR, set()).add(one.ids)  # what is described raises a suspicion
    absent = units.get(Polarity.ABSENT, set())
    if any(unit & pains() for unit in absent):
        stated.add("non-painful")
    exact, doubted = units.get(Polarity.PRESENT, set()), units.get(Polarity.UNCLEAR, set())
    given = names(unit | broader(unit) for unit in exact)
    maybe = names(unit | broader(unit) for unit in doubted)
    return Said(
        clause.strip(" ,;."), given, names(exact), names(absent), maybe,
        frozenset(stated), frozenset(refuted), days, is_of_others=any(status in units for status in _LEFT_OUT),
    )  # fmt: skip


def status_of(context: Context, start: int, end: int) -> Polarity:
    """How words hold; what was never there before is denied of the past alone."""
    status = context.assertion(start, end).status
    text = context.text
    around = (max(0, start - LOOK_ROUND), min(len(text), end + LOOK_ROUND))
    if status is Polarity.ABSENT and any(
        one.start() <= start and end <= one.end() for one in _NEVER_BEFORE.finditer(text, *around)
    ):
        return Polarity.PAST
    return status


def held_by_all(held: Sequence[Polarity]) -> Polarity:
    """How a finding holds that several words make together: it is there only where each of them is."""
    order = (*_LEFT_OUT, Polarity.ABSENT, Polarity.UNCLEAR)
    return next((status for status in order if status in held), Polarity.PRESENT)
