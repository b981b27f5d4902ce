"""What the words of a record say of a patient: clause by clause, with what is denied, stated and how long it lasted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain, pairwise

from citewell.assistants.guidelines.concept_match import Unit, is_clinical, names, placed
from citewell.assistants.guidelines.concept_match import units as named_units
from citewell.assistants.guidelines.tables import rows, rows_of
from citewell.clinical import Mention, broader
from citewell.clinical.assertion import AssertionContext, read_context
from citewell.clinical.implied_findings import is_misread, is_normal, meant
from citewell.clinical.lexicon import Lexicon, concept_ids, ids_of
from citewell.clinical.medicines import medicines
from citewell.clinical.quantities import durations
from citewell.types.consult import Polarity


@dataclass(frozen=True, slots=True)
class RecordClause:
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
    found = (duration for duration in durations(text) if duration.is_of_complaint)
    return [(duration.start, duration.compared_days) for duration in found if duration.compared_days is not None]


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


def said(text: str, *, given_days: float | None = None) -> list[RecordClause]:
    """What a text of a record says of the patient, clause by clause; what is past, of others or feared is left out.

    >>> denied = {name for clause in said("No fever, haemoptysis for 2 days") for name in clause.denied}
    >>> sorted(name for name in denied if ":" in name)
    ['CW:fever', 'HP:0001945']
    """
    text = as_read(text)
    lengths = _lengths(text)
    told = lengths[0][1] if len(lengths) == 1 else None
    if not lengths and any(duration.is_of_complaint for duration in durations(text)):
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
    return frozenset(name for concept in concepts if concept.name.split()[-1] == "pain" for name in ids_of(concept))


def _joined(clauses: Sequence[RecordClause]) -> list[RecordClause]:
    """The clauses, each with the qualities of those behind it that name nothing themselves: “a lump, does not hurt”."""
    joined: list[RecordClause] = []
    last = None
    for at, clause in enumerate(clauses):
        joined.append(clause)
        if any(":" in name for name in (clause.exact | clause.denied | clause.doubted) - pains()):
            last = at if any(":" in name for name in clause.exact) else None
        elif last is not None:
            whole = joined[last]
            joined[last] = replace(whole, stated=whole.stated | clause.stated, refuted=whole.refuted | clause.refuted)
    return joined


def as_read(text: str) -> str:
    """A text as it is read: without short forms of “not”."""
    return spelled(" ".join(text.split()))


def spelled(text: str) -> str:
    """The text with “won't” and “can't” in full, as the tables have them."""
    for arrow, word in (("↓", "reduced "), ("↑", "increased ")):
        text = re.sub(rf"{arrow}+\s*(?=[^\W\d_])", word, text)
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
    r"|\bdespite\b|\bin spite of\b|\bfailed\b|\bunresponsive\b"
    r"|\bstill (?:there|here|present|happening|getting|having|got)\b"
    r"|\bpersist(?:s|ed|ing)\b",
    re.IGNORECASE,
)
_TREATED = re.compile(
    r"\b(?:treat\w*|tablets?|medic\w*|meds|abx|courses?|antibiotics?|creams?|PPIs?|inhalers?|steroids?|drops)\b",
    re.IGNORECASE,
)
"""What was given and did not help makes a symptom treatment-resistant."""
_AGAIN = re.compile(
    r"\b(?:[2-9]|1\d|two|three|four|five|six|several|multiple|numerous|many|repeated)\s+(?:[\w-]+\s+){0,3}"
    r"(?:infections|infxns|utis|lrtis|episodes|bouts|courses|attacks)\b|\b(?:back|started|here|same)\s+again\b"
    r"|\b(?:2nd|3rd|[4-9]th|second|third|fourth|fifth)\s+(?:[\w-]+\s+){0,2}"
    r"(?:infection|infxn|uti|lrti|episode|bout|course|attack|time)\b"
    r"|\b(?:infections?|infxns?|utis?|lrtis?)\s*x\s?[2-9]\b|\bback within (?:days|weeks|a week|a fortnight|a month)\b",
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


def _clause(
    context: AssertionContext, learned: Sequence[Mention], start: int, end: int, days: float | None
) -> RecordClause:
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
    for status, unit in _understood(context, learned, start, end):
        units.setdefault(status, set()).add(unit)
    _settle_bleeding(context.text, units.get(Polarity.PRESENT, set()))
    absent = units.get(Polarity.ABSENT, set())
    if any(unit & pains() for unit in absent):
        stated.add("non-painful")
    exact, doubted = units.get(Polarity.PRESENT, set()), units.get(Polarity.UNCLEAR, set())
    given = names(unit | broader(unit) for unit in exact)
    maybe = names(unit | broader(unit) for unit in doubted)
    return RecordClause(
        clause.strip(" ,;."), given, names(exact), names(absent), maybe,
        frozenset(stated), frozenset(refuted), days, is_of_others=any(status in units for status in _LEFT_OUT),
    )  # fmt: skip


_PERIODS = re.compile(
    r"\b(?:LMP|last (?:menstrual )?period|(?P<without>no|without a|without) periods?"
    r"|periods? (?:stopped|ended|finished|ceased)|(?:been )?through the (?:menopause|change)|menopause)\b",
    re.IGNORECASE,
)
_BESIDE = 15
"""Characters between the last period and how long ago it was."""
MENOPAUSE = 365.0
"""Days without a period after which bleeding is post-menopausal."""


@lru_cache(maxsize=1_000)
def days_since_period(text: str) -> float | None:
    """How long ago the last period was, where a text tells it.

    >>> days_since_period("PV bleed, LMP 2 years ago"), days_since_period("bled after eight months with no period")
    (730.0, 240.0)
    """
    for period in _PERIODS.finditer(text):
        for length in durations(text):
            is_behind = 0 <= length.start - period.end() <= _BESIDE  # “LMP 2 years ago”
            is_without = period["without"] and 0 <= period.start() - length.end <= _BESIDE  # “8 months with no period”
            if (is_behind or is_without) and length.days is not None and length.kind in ("ago", "lasting"):
                return length.days
    return None


def _settle_bleeding(text: str, present: set[Unit]) -> None:
    """Bleeding is post-menopausal by how long ago the last period was, where that is told."""
    days = days_since_period(text)
    if days is None:
        return
    if days < MENOPAUSE:
        present.discard(concept_ids("post-menopausal bleeding"))
    elif not present.isdisjoint(map(concept_ids, ("vaginal bleeding", "bleeding"))):
        present.add(concept_ids("post-menopausal bleeding"))


def _understood(
    context: AssertionContext, learned: Sequence[Mention], start: int, end: int
) -> Iterator[tuple[Polarity, Unit]]:
    """What a clause means without naming it, and how that holds."""
    for unit in suggested(context, start, end):
        yield Polarity.UNCLEAR, unit
    if any(start <= max(low - 2, 0) < end for low, _ in growths(context.text)):
        yield Polarity.PRESENT, concept_ids("increasing in size")
    for mention in learned:
        if start <= mention.start < end and not is_normal(
            context, mention.start, mention.end
        ):  # soup goes down, and bread does not
            status = status_of(context, mention.start, mention.end)
            yield status, mention.ids
            if status is Polarity.PRESENT and mention.kind == "condition":
                yield Polarity.UNCLEAR, mention.ids  # what is described raises a suspicion


def status_of(context: AssertionContext, start: int, end: int) -> Polarity:
    """How words hold; what was never there before is denied of the past alone."""
    status = context.assertion(start, end).status
    text = context.text
    around = (max(0, start - LOOK_ROUND), min(len(text), end + LOOK_ROUND))
    if status is Polarity.ABSENT and any(
        match.start() <= start and end <= match.end() for match in _NEVER_BEFORE.finditer(text, *around)
    ):
        return Polarity.PAST
    if status is Polarity.PAST and any(0 <= low - end <= LOOK_ROUND for low, _ in growths(text)):
        return Polarity.PRESENT  # what was a grape and is a plum is there now
    if status is Polarity.PAST and _BLEEDS.search(text, start, end) and _is_recent(text[around[0] : around[1]]):
        return Polarity.PRESENT  # blood that was seen last week counts, though none was seen since
    return status


_BLEEDS = re.compile(
    r"blood|bleed|\bbled\b|ha?emat(?:uria|emesis)|ha?emoptysis|\bred (?:urine|wee|pee)\b", re.IGNORECASE
)
_JUST_NOW = re.compile(
    r"\b(?:yesterday|today|this (?:morning|week|month)|(?:last|over the) (?:night|week(?:end)?|month|few days)"
    r"|(?:on|last|since) (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
RECENT_DAYS = 92


def _is_recent(words: str) -> bool:
    """Whether words tell of the last three months."""
    lately = (duration.days for duration in durations(words) if duration.kind == "ago" and duration.days is not None)
    return _JUST_NOW.search(words) is not None or any(days <= RECENT_DAYS for days in lately)


@cache
def descriptions() -> tuple[tuple[frozenset[Unit], re.Pattern[str], re.Pattern[str] | None], ...]:
    """What descriptions suggest: the suspicion, words for it, and words that must stand in the same text."""
    return tuple(
        (named_units(name), described, _words(beside))
        for name, words, beside in ((*row, "")[:3] for row in rows_of("assumed.tsv", "suggesting"))
        if (described := _words(words)) is not None
    )


def suggested(context: AssertionContext, start: int, end: int) -> set[Unit]:
    """What the words from `start` to `end` describe without its name: “pearly” suggests a basal cell carcinoma."""
    found: set[Unit] = set()
    for units_of, described, beside in descriptions():
        match = described.search(context.text, start, end)
        is_whole = match is not None and (beside is None or beside.search(context.text) is not None)
        if match and is_whole and status_of(context, *match.span()) in (Polarity.PRESENT, Polarity.UNCLEAR):
            found |= units_of
    return found


@cache
def _growth() -> tuple[re.Pattern[str], dict[str, int]]:
    """A comparison of then and now, and how large each thing is that people compare with."""
    sizes = {thing: size for size, (things,) in enumerate(rows("sizes.tsv")) for thing in things.split("|")}
    thing = "|".join(sorted(map(re.escape, sizes), key=len, reverse=True))
    like = r"(?:about |like |more like |the size of |size of |as big as )*(?:an? )?"
    return (
        re.compile(
            rf"\bwas {like}(?P<then>{thing})\b.{{0,40}}?\bnow (?:it is |it's |it’s |its |is )?{like}(?P<now>{thing})\b",
            re.IGNORECASE,
        ),
        sizes,
    )


@lru_cache(maxsize=1_000)
def growths(text: str) -> tuple[tuple[int, int], ...]:
    """Where a text compares what was small with what is large now.

    >>> growths("a lump, was a grape at Christmas, now it's a plum"), growths("was a plum, now a pea")
    (((8, 49),), ())
    """
    pattern, sizes = _growth()
    return tuple(
        match.span() for match in pattern.finditer(text) if sizes[match["now"].lower()] > sizes[match["then"].lower()]
    )


def held_by_all(held: Sequence[Polarity]) -> Polarity:
    """How a finding holds that several words make together: it is there only where each of them is."""
    order = (*_LEFT_OUT, Polarity.ABSENT, Polarity.UNCLEAR)
    return next((status for status in order if status in held), Polarity.PRESENT)
