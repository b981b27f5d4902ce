"""Whether a claim that the cited words seem to carry puts their details together in another way.

All its words stand in the source, but not so: it has the number of another clause, turns round who acts and what is
acted on, says of one thing what another sentence says of another, or puts first what comes second. Each rule only takes
support away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from citewell.answer.verify.amounts import AmountMatch, agreement
from citewell.answer.verify.claim_words import ContentWord, ReadSentence, form, forms, is_light, read
from citewell.answer.verify.coverage import WordProfile, profile
from citewell.answer.verify.mismatches import MismatchGrade
from citewell.answer.verify.source_match import Match
from citewell.clinical.quantities import Quantity
from citewell.types import EvidenceSpan

_SAYS = re.compile(
    r"\b(?:is|are|was|were|be|can|could|may|might|must|should|will|would|has|have|had|do|does|did|led|leads?|causes?|caused"
    r"|occurred|improved|needs?|made)\b",
    re.IGNORECASE,
)
"""What stands before it can be told as the subject."""


def rearranged(claim: ReadSentence, source: ReadSentence) -> Iterator[str]:
    """How a claim puts together anew what one source sentence says."""
    yield from _of_other_clause(claim, source)
    yield from _turned_round(claim, source)
    yield from _in_other_order(claim, source)


# ----------------------------------------------------------------------------------------------------- of other clauses

_SPLIT = re.compile(
    r";\s+|(?:,|(?<!\s))\s+(?:whereas|while|but)\s+|,\s+and\s+|(?:,|(?<!\s))\s+and\s+(?=\d)", re.IGNORECASE
)
_BETWEEN = re.compile(r"\bbetween\s+\S+\Z", re.IGNORECASE)
"""Before an “and” that joins two numbers."""

_JOINS = re.compile(r";|\b(?:and|or|but|while|whereas|than|both)\b", re.IGNORECASE)
"""In a claim: it may tell of both clauses itself."""

_Places = frozenset[int]


@dataclass(frozen=True, slots=True)
class _Clauses:
    """The clauses of a source sentence."""

    source: ReadSentence
    edges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, source: ReadSentence) -> _Clauses:
        """Cut at the words that join clauses."""
        cuts = (
            match.span() for match in _SPLIT.finditer(source.text) if not _BETWEEN.search(source.text, 0, match.start())
        )
        edges = [0, *(edge for cut in cuts for edge in cut), len(source.text)]
        return cls(source, tuple(list(pairwise(edges))[::2]))

    def having(self, starts: Sequence[int]) -> _Places:
        """The clauses in which one of these places is."""
        return frozenset(
            place for place, (low, high) in enumerate(self.edges) if any(low <= start < high for start in starts)
        )

    def of_word(self, word: ContentWord) -> _Places:
        """The clauses that have a word, in its form or another of its meaning."""
        return self.having(
            [
                content_word.start
                for content_word in self.source.words
                if content_word.form == word.form or content_word.meanings & word.meanings
            ]
        )

    def of_amount(self, amount: Quantity) -> _Places:
        """The clauses that have an amount; all where it comes last and may be said of each: “… for three days”."""
        same = [quantity for quantity in self.source.quantities if agreement(amount, quantity) == AmountMatch.SAME]
        last = [quantity for quantity in self.source.quantities if quantity.start >= self.edges[-1][0]]
        if any(quantity in last[1:] for quantity in same):
            return frozenset(range(len(self.edges)))
        return self.having([quantity.start for quantity in same])

    def says(self, place: int) -> bool:
        """Whether a clause has a verb of its own, and is no part of a list."""
        return _SAYS.search(self.source.text, *self.edges[place]) is not None


def _of_other_clause(claim: ReadSentence, source: ReadSentence) -> Iterator[str]:
    """The thing or the number of one clause with what another clause says."""
    clauses = _Clauses.of(source)
    if len(clauses.edges) < 2 or _JOINS.search(claim.text):
        return
    places = {word: clauses.of_word(word) for word in claim.words if not is_light(word.form)}
    amounts = {amount: clauses.of_amount(amount) for amount in claim.quantities}
    if len({its for its in (*places.values(), *amounts.values()) if len(its) == 1}) < 2:
        return
    yield from _amounts(clauses, amounts)
    yield from _medicines(claim, clauses, places)
    yield from _subjects(claim, clauses, places)


def _amounts(clauses: _Clauses, amounts: dict[Quantity, _Places]) -> Iterator[str]:
    """A number of one clause beside a number of another clause that has its own of that kind."""
    for quantity, its in amounts.items():
        for other, others in amounts.items():
            if len(its) != 1 or len(others) != 1 or its == others:
                continue
            start, end = clauses.edges[min(others)]
            own = [held for held in clauses.source.quantities if start <= held.start < end]
            if any(held.dimension == quantity.dimension != other.dimension for held in own):
                yield f"“{quantity.text}” refers to something else in the source"


def _medicines(claim: ReadSentence, clauses: _Clauses, places: dict[ContentWord, _Places]) -> Iterator[str]:
    """A medicine of one clause with what another clause says of another medicine."""
    ours = {drug.name for drug in claim.medicines}
    drugs = {word for word in places for drug in claim.medicines if drug.start <= word.start < drug.end}
    rest = {its for word, its in places.items() if word not in drugs and len(its) == 1}
    for word in drugs:
        if len(places[word]) != 1 or len(rest) != 1 or places[word] in rest or not clauses.says(min(places[word])):
            continue
        start, end = clauses.edges[min(next(iter(rest)))]
        rivals = [
            medicine
            for medicine in clauses.source.medicines
            if start <= medicine.start < end and medicine.name not in ours
        ]
        if rivals:
            yield f"the source says this about {rivals[0].name}"


def _subjects(claim: ReadSentence, clauses: _Clauses, places: dict[ContentWord, _Places]) -> Iterator[str]:
    """The subject of one clause with what another clause says of its own."""
    verb = _SAYS.search(claim.text)
    if verb is None:
        return
    subject = {its for word, its in places.items() if word.start < verb.start()}
    said = {its for word, its in places.items() if word.start > verb.start() and len(its) == 1}
    if len(subject) != 1 or len(said) != 1 or subject == said or len(next(iter(subject))) != 1:
        return
    (here,), (there,) = next(iter(subject)), next(iter(said))
    if not clauses.says(here):
        return
    start, end = clauses.edges[there]
    says = _SAYS.search(clauses.source.text, start, end)
    if says and _LEANS.search(clauses.source.text, start, says.start()):
        return
    head = next((word for word in clauses.source.words if start <= word.start < end and not is_light(word.form)), None)
    if head and all(word.form != head.form and not word.meanings & head.meanings for word in claim.words):
        yield f"the source says this about “{clauses.source.text[head.start : head.end]}”"


# -------------------------------------------------------------------------------------------------------- who does what

_WORD = re.compile(r"[^\W_]+")
_ACTS = frozenset(
    form(word)
    for word in """cause causes induce replace speed displace mask prevent protect inhibit increase raise reduce
    decrease lower suppress block impair enhance augment boost promote stimulate activate worsen improve accelerate slow
    potentiate exacerbate trigger reverse shorten prolong""".split()
)
"""Verbs of one thing acting on another."""

_NOUNS = ("al", "ion", "ions", "ment")
"""Endings of what is no verb, though of its root."""

_MEASURES = frozenset(
    form(word)
    for word in """absorption effect effects action risk level levels concentration breakdown clearance metabolism rate
    toxicity amount activity excretion elimination response chance need use serum plasma blood production
    release""".split()
)
"""What is moved of a thing: it does not tell which thing."""

_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being)\s+(?:not\s+)?(?:\w+ly\s+)?\Z", re.IGNORECASE)
_BY = re.compile(r"\s+(?:up\s+|down\s+)?by\s+", re.IGNORECASE)
_NO_VERB = re.compile(r"\b(?:an?|the|of|with|by|for|and|or|any|no|more|less)\s+\Z", re.IGNORECASE)
"""Before a word that says more or less: it is no verb there."""

_ENDS = re.compile(
    r"[;,.(]|\b(?:and\s+(?:should|must|may|can|is|are)|when|if|before|after|following|because|while|whereas)\b",
    re.IGNORECASE,
)
_LATER = re.compile(r"\b(?:before|after|when|once|if|until|while)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Act:
    verb: str
    by: frozenset[str]
    on: frozenset[str]
    later: frozenset[str] = frozenset()
    """What stands behind “before”, “when” and the like."""


def _turned_round(claim: ReadSentence, source: ReadSentence) -> Iterator[str]:
    """The doer in the place of what is done to, or an effect made of what is to be done."""
    ours, theirs = _act(claim.text), _act(source.text)
    if ours is None or theirs is None or not ours.by or not ours.on:
        return
    if ours.by & theirs.on and ours.on & theirs.by and not (ours.by & theirs.by or ours.on & theirs.on):
        yield "the source says this the other way round"
    elif ours.verb == theirs.verb and not theirs.by and ours.on & theirs.on and ours.by <= theirs.later:
        yield "the source gives this as an instruction, not as an effect"


@lru_cache(maxsize=4096)
def _act(text: str) -> _Act | None:
    """The first thing done in a sentence, by what and to what."""
    reading = read(text)
    for match in _WORD.finditer(reading.text):
        verb = form(match.group())
        if verb not in _ACTS or match.group().endswith(_NOUNS):
            continue
        before = reading.text[: match.start()]
        passive, by = _PASSIVE.search(before), _BY.match(reading.text, match.end())
        if passive and by:
            return _Act(verb, _things(reading, by.end(), None), _things(reading, 0, match.start()))
        if passive or _NO_VERB.search(before):
            continue
        end, later = (pattern.search(reading.text, match.end()) for pattern in (_ENDS, _LATER))
        on = _things(reading, match.end(), end.start() if end else None)
        behind = _things(reading, later.end(), None) if later else frozenset()
        return _Act(verb, _things(reading, 0, match.start()), on, behind)
    return None


def _things(reading: ReadSentence, start: int, end: int | None) -> frozenset[str]:
    stop = len(reading.text) if end is None else end
    words = (word.form for word in reading.words if start <= word.start < stop)
    return frozenset(word for word in words if word not in _MEASURES and not is_light(word))


# ----------------------------------------------------------------------------------------------------- what comes first

_EARLIER = re.compile(r"\b(?:before|prior\s+to|followed\s+by|preced(?:es|ed|ing))\b", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|following|preceded\s+by)\b", re.IGNORECASE)
_FROM_TO = re.compile(r"\bfrom\s++(?P<one>[^,;.]{2,40}?)\s++to\s++(?P<other>[^,;.]{2,40})", re.IGNORECASE)


def _in_other_order(claim: ReadSentence, source: ReadSentence) -> Iterator[str]:
    """First this and then that, where the source says first that and then this."""
    ours, theirs = _steps(claim.text), _steps(source.text)
    if not ours or not theirs or ours[0] & theirs[0] or ours[1] & theirs[1]:
        return
    if ours[0] & theirs[1] and ours[1] & theirs[0]:
        yield "the source gives the opposite order"


@lru_cache(maxsize=4096)
def _steps(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words of what comes first and of what comes next; those of both, and light ones, left out."""
    reading = read(text)
    if change := _FROM_TO.search(reading.text):
        one, other = (frozenset(forms(change[side])) for side in ("one", "other"))
        return one - other, other - one
    for pattern in (_EARLIER, _AFTER):
        matches = list(pattern.finditer(reading.text))
        if len(matches) == 1:
            words = [word for word in reading.words if not is_light(word.form)]
            left = frozenset(word.form for word in words if word.start < matches[0].start())
            right = frozenset(word.form for word in words if word.start >= matches[0].end())
            first, second = (left, right) if pattern is _EARLIER else (right, left)
            return first - second, second - first
    return None


# --------------------------------------------------------------------------------------- of a thing of another sentence

_MOST_SHARED = 0.5
"""Share of what a claim says of its subject that the sentence with that subject may have."""

_LEANS = re.compile(
    r"\b(?:it|its|they|them|their|this|these|those|both|either|latter|former|drugs?|medicines?|treatments?|treated|therapy"
    r"|interventions?|groups?|agents?|same|we|our|patients|participants|inhibit\w*|supplement\w*|effects?)\b",
    re.IGNORECASE,
)
"""In a source sentence: its subject may be one that another sentence names."""


def borrowed(claim: ReadSentence, match: Match, close: Sequence[Match], parts: Sequence[EvidenceSpan]) -> Iterator[str]:
    """What a claim says of its own thing, and the source only of another."""
    there = profile(match.part.text)
    lacks = [word for word in claim.words if not is_light(word.form) and not _has(there, word)]
    if not lacks:
        return
    for other in close:
        is_rival = any(
            finding.grade == MismatchGrade.AGAINST and finding.kind == "medicine" for finding in other.findings
        )
        if other.part != match.part and is_rival and _has_all(profile(other.part.text), lacks):
            yield f"the source says “{claim.text[lacks[0].start : lacks[0].end]}” about something else"
    subject = _subject(claim)
    if subject and _is_of_another(claim, subject, parts):
        yield f"the source does not say this about “{claim.text[subject[0].start : subject[0].end]}”"


def _is_of_another(claim: ReadSentence, subject: Sequence[ContentWord], parts: Sequence[EvidenceSpan]) -> bool:
    """Whether one sentence names the subject of the claim, another says all that it says, and none does both."""
    content_words = [word for word in claim.words if word not in subject and not is_light(word.form)]
    named = [part.text for part in parts if _has_all(profile(_before_verb(part.text)), subject)]
    telling = [part.text for part in parts if _has_all(profile(part.text), content_words)]
    leans = any(_LEANS.search(text) for text in telling) or any(text.endswith(":") for text in named)
    if not content_words or not named or not telling or leans:
        return False
    shares = (sum(_has(profile(text), word) for word in content_words) / len(content_words) for text in named)
    return max(shares) < _MOST_SHARED and not any(_has(profile(text), word) for text in telling for word in subject)


def _subject(claim: ReadSentence) -> list[ContentWord]:
    """The words before the first verb that can be told as one."""
    verb = _SAYS.search(claim.text)
    if verb is None:
        return []
    return [word for word in claim.words if word.start < verb.start() and not is_light(word.form)]


def _before_verb(text: str) -> str:
    verb = _SAYS.search(text)
    return text[: verb.start()] if verb else ""


def _has(there: WordProfile, word: ContentWord) -> bool:
    return word.form in there.forms or not word.meanings.isdisjoint(there.meanings)


def _has_all(there: WordProfile, words: Sequence[ContentWord]) -> bool:
    return all(_has(there, word) for word in words)
