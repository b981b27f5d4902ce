"""Whether a claim that the cited words seem to carry says the opposite of them in words of its own.

More where the source says less, a comparison the other way round, an effect where the numbers say chance, another
illness in the same place, a phrase that excludes the source's. Each rule only takes support away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise

from citewell import vocabulary
from citewell.answer.illnesses import Illness, are_related, illnesses
from citewell.answer.verify.claim_words import ReadSentence, form, forms, read
from citewell.clinical.populations import ages_in, any_age
from citewell.sentences import STOP_WORDS

WORDS_FROM, REVERSE_FROM = 0.65, 0.5
"""Share of the claim's words that the source sentence says, and of its words that the claim says, from which both
speak of the same change."""


_VERB = r"\bwho\s+(?:do|does|did|was|were|is|are|has|have|had|could|can)"
_ELIDED, _ELIDED_NOT = (re.compile(rf"{_VERB}{end}\s*(?=[.,;:)]|\Z)", re.IGNORECASE) for end in ("", r"\s+not"))
"""“Those who did”, “those who did not”: a denial of what is left out."""


def opposite_claims(
    claim: ReadSentence, source: ReadSentence, cited: str, *, words: float, reverse: float
) -> Iterator[str]:
    """How a claim says otherwise than one source sentence, which says this share of its words, and it the reverse."""
    yield from _other_way(claim, source, is_same_matter=words >= WORDS_FROM and reverse >= REVERSE_FROM)
    yield from _by_chance(claim, source)
    yield from _other_illness(claim, source)
    yield from _other_phrase(claim, source)
    if _ELIDED.search(claim.text) and _ELIDED_NOT.search(source.text) and not _ELIDED.search(source.text):
        yield "the source says “not” here"
    if any_age(claim.text) and ages_in(cited) and not any_age(cited):
        yield "the source says this only for some ages"


# ------------------------------------------------------------------------------------------------ more, less, by chance

_WORD = re.compile(r"[^\W_]+")
_CLAUSE = re.compile(
    r"[;:]|\b(?:whereas|but|while|although|though|however|yet|because|thereby|suggesting|indicating|resulting|leading"
    r"|which|using|via|through|due to|accompanied)\b|, and (?=\w+ \w+(?:ed|s)\b)|\bby (?=\w+ing\b|\w+[ts]ion\b)",
    re.IGNORECASE,
)
_AIM = re.compile(r"\b(?:whether(?!\s+or\s+not\b)|hypothesi[sz]\w*|aims?|aimed|objectives?|purpose)\b", re.IGNORECASE)
_AGENTS = ("ive", "itor", "itors", "essor", "essors", "ator", "ators", "hancer", "hancers")
"""Endings of things that act, such as “inhibitor”: they do not say what happens here."""

_REACH = 3
"""Content words on each side of a word of more or less in which a shared word must stand."""

_THAN = re.compile(
    r"\b(?:than|compared\s+(?:with|to)|versus|vs\.?|preferred\s+(?:to|over)|in\s+preference\s+to"
    r"|(?:superior|inferior|preferable)\s+to)(?=\s)",
    re.IGNORECASE,
)
_P_VALUE = re.compile(r"\bp\s*(?:-?\s?values?\s*)?(?:(?P<less><|≤|⩽)|=|>)\s*(?P<p>0?\.\d+)", re.IGNORECASE)
_INTERVAL = re.compile(
    r"\b(?P<of>(?:hazard|odds|risk|rate)\s+ratio|relative\s+risk|HR|OR|RR|difference)\b[^;)]{0,300}?\bCI\b,?:?\s*"
    r"(?P<low>[-−]?\d++(?:\.\d*+)?)\s*(?:to|–|-|,)\s*(?P<high>[-−]?\d++(?:\.\d*+)?)",
)
_LEANED = re.compile(
    r"\b(?:but|although|though|however|yet|while)\s+(?:(?:it|this|that|these|the\s+(?:difference|change|effect|result)s?"
    r"|was|were|is|are|did|fail(?:ed|s)?|to|not|non|reach(?:ed)?|attain(?:ed)?|achieve[d]?|statistical(?:ly)?)[\s-]+)+"
    r"significan\w+\s*(?=[.;,(]|\Z)",
    re.IGNORECASE,
)
"""A clause that says of the one before it no more than that it was not significant."""

_NO_DIFFERENCE = re.compile(
    r"\bno\s+(?:statistically\s+)?significant\s+(?:difference|effect|change|improvement|reduction|increase|benefit)s?\b",
    re.IGNORECASE,
)
_GAINS = re.compile(
    r"\b(?:improv|prolong|extend|lengthen|benefi|superior|better|worse|shorten|prevent)\w*", re.IGNORECASE
)
_OWNS_UP = re.compile(r"\b(?:non-?\s?significan|not\b.{0,300}\bsignifican|numerical|trend)", re.IGNORECASE)


def _other_way(claim: ReadSentence, source: ReadSentence, *, is_same_matter: bool) -> Iterator[str]:
    """More where the source says less, or both compared the other way round."""
    if _AIM.search(source.text):
        return
    ours, theirs = _way(claim, claim.text), _way(claim, source.text)
    if _is_reversed(claim, source):
        if ours == theirs:
            yield "the source compares them the other way round"
    elif sum(bool(ways) for _, ways in _clauses(claim.text)) > 1:
        return  # it says more of one thing and less of another
    elif is_same_matter and ours is not None and theirs is not None and ours != theirs:
        yield f"the source says {'more' if theirs > 0 else 'less'}, not {'less' if theirs > 0 else 'more'}"


def _way(claim: ReadSentence, text: str) -> int | None:
    """1 for more, -1 for less in the clause that shares most words with the claim; None where it says neither."""
    wanted = frozenset(word.form for word in claim.words) - frozenset(_ways())
    clause = max(_clauses(text), key=lambda one: len(wanted & one[0]))
    sign, is_told = 1, False
    for value, beside in clause[1]:
        if not wanted.isdisjoint(beside):
            sign, is_told = sign * value, True
    return sign if is_told else None


@cache
def _ways() -> dict[str, int]:
    return {
        form(word): 1 if pole == "up" else -1
        for axis, _, pole, words in vocabulary.rows("antonyms.tsv")
        if axis == "direction"
        for word in words.split("|")
    }


_Clause = tuple[frozenset[str], tuple[tuple[int, frozenset[str]], ...]]
"""The words of a clause, and each of its words of more or less that is not denied, with the words beside it."""


@lru_cache(maxsize=4096)
def _clauses(text: str) -> tuple[_Clause, ...]:
    source = read(text)
    edges = [0, *(match.start() for match in _CLAUSE.finditer(source.text)), len(source.text)]
    return tuple(_clause(source, start, end) for start, end in pairwise(edges))


def _clause(source: ReadSentence, start: int, end: int) -> _Clause:
    words = [word for word in source.words if start <= word.start < end]
    named = [(drug.start, drug.end) for drug in source.medicines]
    named += [(amount.start, amount.end) for amount in source.quantities]
    found = []
    for match in _WORD.finditer(source.text, start, end):
        value = _ways().get(form(match.group()))
        if value is None or match.group().endswith(_AGENTS) or source.is_clause_denied(match.start()):
            continue
        if any(low <= match.start() < high for low, high in named):
            continue
        before = [word.form for word in words if word.start < match.start()][-_REACH:]
        after = [word.form for word in words if word.start > match.start()][:_REACH]
        found.append((value, frozenset((*before, *after))))
    return frozenset(word.form for word in words), tuple(found)


def _is_reversed(claim: ReadSentence, source: ReadSentence) -> bool:
    """Whether the two compare the same things the other way round."""
    ours, theirs = _sides(claim), _sides(source)
    return bool(ours and theirs and ours[1] & theirs[0] and ours[0] & theirs[1])


def _sides(reading: ReadSentence) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words of what is compared, and of what it is compared with; those of both left out."""
    than = _THAN.search(reading.text)
    if than is None:
        return None
    comma = reading.text.find(",", than.end())
    stop = comma if than.start() == 0 and comma > 0 else len(reading.text)
    other = _words(reading.text[than.end() : stop])
    one = _words(f"{reading.text[: than.start()]} {reading.text[stop:]}")
    return one - other, other - one


def _words(text: str) -> frozenset[str]:
    """The words that tell things apart, “same” and “other” too."""
    return frozenset(form(word) for word in _WORD.findall(text) if word.casefold() not in STOP_WORDS)


def _by_chance(claim: ReadSentence, source: ReadSentence) -> Iterator[str]:
    """That something helped or harmed, where the source gives it as not significant."""
    is_said = _way(claim, claim.text) is not None or _GAINS.search(claim.text)
    if is_said and not claim.denials and not _OWNS_UP.search(claim.text) and _is_insignificant(source.text):
        yield "the source says the difference is not significant"


@lru_cache(maxsize=4096)
def _is_insignificant(text: str) -> bool:
    """Whether all that a sentence gives by numbers, or else all that it says, is not significant.

    >>> _is_insignificant("Deaths fell (hazard ratio 0.93, 95% CI 0.81 to 1.06).")
    True
    >>> _is_insignificant("Fewer died (p = .02).")
    False
    """
    told = [not value["less"] and float(value["p"]) >= 0.05 for value in _P_VALUE.finditer(text)]
    for interval in _INTERVAL.finditer(text):
        low, high = (float(interval[end].replace("−", "-")) for end in ("low", "high"))
        told.append(low <= (0 if interval["of"] == "difference" else 1) <= high)
    is_none = _NO_DIFFERENCE.search(text) is not None and len(_clauses(text)) == 1
    return all(told) if told else is_none or _LEANED.search(text) is not None


# ------------------------------------------------------------------------------------------------------ another illness

_PLACE = re.compile(
    r"\b(?P<of>in|with|of|for|from|against|to|has|have|had|having|as|treats?|treating|diagnosed)"
    r"(?:\s+(?!in\b|with\b|of\b|for\b|from\b|to\b|and\b|or\b)[\w-]+){0,4}?\s+\Z",
    re.IGNORECASE,
)
_RELATED = re.compile(r"[-‐‑–](?:related|associated|like|specific)\b", re.IGNORECASE)
"""After an illness: what is spoken of is another thing, be it of that illness."""

_OF_PATIENTS = frozenset("in with has have had having of for treat treats treating".split())
"""Words after which an illness is that of the patient: “fever in malaria”, “children with dengue”."""


def _other_illness(claim: ReadSentence, source: ReadSentence) -> Iterator[str]:
    """An illness that the source does not name, where it names another."""
    ours = [other for other in illnesses(claim.text) if other.is_sure and not _RELATED.match(claim.text, other.end)]
    theirs = illnesses(source.text) if ours else ()
    rivals = [one for one in theirs if one.is_sure and not any(are_related(one.name, our.name) for our in ours)]
    for illness in ours:
        written = claim.text[illness.start : illness.end]
        is_said = forms(written) <= forms(source.text) or any(are_related(illness.name, one.name) for one in theirs)
        rival = next((one for one in rivals if not is_said and _is_in_place(illness, one, claim, source)), None)
        if rival is not None:
            yield f"{written} is not in the source, which mentions {source.text[rival.start : rival.end]}"


def _is_in_place(illness: Illness, other: Illness, claim: ReadSentence, source: ReadSentence) -> bool:
    """Whether two illnesses stand after the same words, or beside them."""
    here, there = (_place(text.text, one) for text, one in ((claim, illness), (source, other)))
    is_same = here == there == "against" or {here, there} <= _OF_PATIENTS
    beside = claim.near(illness.start, illness.end, words=3) & source.near(other.start, other.end, words=3)
    return len(beside) >= (1 if is_same else 2)


def _place(text: str, illness: Illness) -> str:
    match = _PLACE.search(text[max(0, illness.start - 80) : illness.start])
    return match["of"].casefold() if match else ""


# ------------------------------------------------------------------------------------------------------- another phrase


@cache
def _phrases() -> tuple[re.Pattern[str], dict[str, tuple[str, str]]]:
    values = {
        phrase: (axis, value)
        for axis, value, phrases in vocabulary.rows("phrases.tsv")
        for phrase in phrases.split("|")
    }
    words = "|".join(re.escape(phrase) for phrase in sorted(values, key=len, reverse=True))
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE), values


@lru_cache(maxsize=4096)
def _told(text: str) -> tuple[tuple[str, str, str], ...]:
    """Axis, value and words of every phrase of the table in a text; one that is denied is left out."""
    pattern, values = _phrases()
    reading = read(text)
    found = (match for match in pattern.finditer(reading.text) if not reading.denied(match.start()))
    return tuple((*values[match.group().casefold()], match.group()) for match in found)


def _other_phrase(claim: ReadSentence, source: ReadSentence) -> Iterator[str]:
    """A phrase of the claim, where the source has only others that exclude it."""
    for axis, value, _ in _told(claim.text):
        same = [one for one in _told(source.text) if one[0] == axis]
        if same and all(one[1] != value for one in same):
            yield f"the source says “{same[0][2]}”"
