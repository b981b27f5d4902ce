"""Adds a few words to a question: the other spelling, what an abbreviation means, the clinical name of a lay word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from citewell.clinical import Lexicon, NameHit, Tag, fold
from citewell.clinical.medicines import class_names, medicines, members, subclass_names
from citewell.clinical.spelling_correction import corrections
from citewell.vocabulary.uk_us_spelling import other_spelling
from citewell.work import spend

Reason = Literal["spelling", "abbreviation", "lay word", "synonym", "class", "member", "misspelling"]

MAX_ADDED = 12
MAX_CHARACTERS = 4_000
"""How much of a question is looked at; a longer one says enough by itself."""
MAX_WORDS = 4
"""A longer name is a description, whose many common words would find anything."""

ORDER: tuple[Reason, ...] = ("misspelling", "spelling", "abbreviation", "lay word", "synonym", "class", "member")
"""The surest first, for when there are too many."""

REFUSED = frozenset(
    """no not non without absent absence lack lacking never none negative free abnormal abnormality increased
    decreased""".split()
)
"""A name with one of these says less, or the contrary, word by word; it is added to no question."""

REASONS: dict[Tag, Reason] = {
    "lay": "lay word",
    "plain": "lay word",
    "abbrev": "abbreviation",
    "ambiguous": "abbreviation",
}
"""Why the clinical name is added for a name of each kind; for the others it is a synonym."""

ADDED: frozenset[Tag] = frozenset({"exact", "drug", "plain", "abbrev"})
"""Kinds of names that are added. A patient's own words lead to the clinical name, and not back."""

_WORD = re.compile(r"[^\W\d_]+")
_WHICH = re.compile(r"\b(?:which|what)(?:\s+[\w-]+){0,2}\s+\Z|\bfirst[- ]line\s+\Z", re.IGNORECASE)
"""What stands before the kind of thing that is asked for: “which oral …”, “what is the …”."""

_BETWEEN = """is are was were be been being may can could might must should has have had do does did that which i you he
    she they we"""
_PASSIVE = re.compile(
    rf"\b(?P<thing>[a-z]+)(?:\s+(?:{'|'.join(_BETWEEN.split())}))+\s+(?P<done>[a-z]+)(?:\s+(?P<way>up|out|off|down))?\b",
    re.IGNORECASE,
)
"""A thing before what is done with it, and what may stand between: “blood may be coughed up”."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A phrase added to a question, why, and the span of the question that it stands for."""

    phrase: str
    reason: Reason
    from_words: tuple[int, int]


def expand(question: str, *, lexicon: Lexicon, to_answer: bool = False) -> tuple[Expansion, ...]:
    """The phrases worth looking for besides the question's own words: few, and sure.

    To answer it, the class of a medicine too: what holds for all of them is an answer, but no passage on that medicine.
    And where a class is asked for, its members: who asks which painkiller is answered by paracetamol.

    >>> [(added.phrase, added.reason) for added in expand("hemoptysis in COPD", lexicon=Lexicon.load())][:2]
    [('haemoptysis', 'spelling'), ('chronic obstructive pulmonary disease', 'abbreviation')]
    """
    spend()
    question = question[:MAX_CHARACTERS]
    asked = {word.casefold() for word in _WORD.findall(question)}
    phrases = [
        *_corrections(question, lexicon),
        *_spellings(question),
        *_namings(question, lexicon),
        *_turned(question, lexicon),
    ]
    if to_answer:
        phrases += [*_classes(question), *_members(question)]
    chosen: dict[str, Expansion] = {}
    for added in sorted(phrases, key=lambda added: ORDER.index(added.reason)):
        if len(chosen) < MAX_ADDED and _says_more(added, asked) and not _is_part(added, phrases):
            chosen.setdefault(added.phrase, added)
    return tuple(chosen.values())


def _is_part(added: Expansion, others: Iterable[Expansion]) -> bool:
    """Whether its words are part of a longer name: who coughs up blood does not ask about a cough."""
    start, end = added.from_words
    spans = (other.from_words for other in others)
    is_inside = any(low <= start and end <= high and (low, high) != (start, end) for low, high in spans)
    return is_inside and added.reason in ("lay word", "synonym")


def _says_more(added: Expansion, asked: set[str]) -> bool:
    """Whether the phrase brings a word that the question does not have, and no negation."""
    words = set(_WORD.findall(added.phrase.casefold()))
    if added.reason != "spelling":
        known = {fold(word) for word in asked}
        return not words & REFUSED and not {fold(word) for word in words} <= known
    return not words <= asked


def _corrections(question: str, lexicon: Lexicon) -> Iterator[Expansion]:
    """The words that misspelt ones are read as, and the other names of these.

    >>> [(added.phrase, added.reason) for added in _corrections("Haemoptsis?", Lexicon.load())][:1]
    [('haemoptysis', 'misspelling')]
    """
    for word, right in corrections(question).items():
        start = question.index(word)
        yield Expansion(right, "misspelling", (start, start + len(word)))
        for other in (*_spellings(right), *_namings(right, lexicon)):
            yield Expansion(other.phrase, other.reason, (start, start + len(word)))


def _spellings(question: str) -> Iterator[Expansion]:
    for match in _WORD.finditer(question):
        other = other_spelling(match.group().casefold())
        if other is not None:
            yield Expansion(other, "spelling", match.span())


def _namings(question: str, lexicon: Lexicon) -> Iterator[Expansion]:
    """Other names of what the question names; where Citewell's own table knows it, the ontology is not asked."""
    mentions = lexicon.find(question)
    known = {mention.start for mention in mentions if mention.concept.curated}
    for mention in mentions:
        if not mention.concept.curated and (mention.start in known or mention.tag == "abbrev"):
            continue
        span = (mention.start, mention.end)
        said = {fold(word) for word in _WORD.findall(question[mention.start : mention.end])}
        for phrase, reason in _names(mention):
            if said < {fold(word) for word in _WORD.findall(phrase)}:
                continue  # A longer form of what was said, such as “type 2 diabetes mellitus”, is a narrower question.
            yield Expansion(phrase, reason, span)
            respelt = _respelt(phrase)
            if respelt != phrase:
                yield Expansion(respelt, reason, span)


def _turned(question: str, lexicon: Lexicon) -> Iterator[Expansion]:
    """The names of what a question says with the thing before what is done: “blood may be coughed up”.

    >>> [added.phrase for added in _turned("How much blood may be coughed up?", Lexicon.load())]
    ['haemoptysis', 'hemoptysis', 'coughing up blood']
    """
    for match in _PASSIVE.finditer(question):
        active = " ".join(filter(None, (match["done"], match["way"], match["thing"])))
        whole = [
            hit for hit in lexicon.find(active) if (hit.start, hit.end) == (0, len(active)) and hit.concept.curated
        ]
        for phrase in (name for mention in whole for name, _ in _names(mention)):
            for written in dict.fromkeys((phrase, _respelt(phrase))):
                yield Expansion(written, "lay word", match.span())


def _classes(question: str) -> Iterator[Expansion]:
    """The class of the medicine that is named: what is said of NSAIDs is said of ibuprofen.

    Not of two: what is said of their classes need not be said of both together.
    """
    named = medicines(question)
    if len({medicine.name for medicine in named}) == 1 and not named[0].is_class:
        for name in (*class_names(named[0].family), *subclass_names(named[0].name)):
            yield Expansion(name, "class", (named[0].start, named[0].end))


def _members(question: str) -> Iterator[Expansion]:
    """The best known members of the one class of medicines that is asked for; “my blood thinner” asks for none."""
    named = medicines(question)
    if (
        len({medicine.name for medicine in named}) == 1
        and named[0].is_class
        and _WHICH.search(question, 0, named[0].start)
    ):
        for name in members(named[0].name):
            yield Expansion(name, "member", (named[0].start, named[0].end))


def _names(mention: NameHit) -> Iterator[tuple[str, Reason]]:
    """The names to add for a mention: the clinical name for another one, then those of the kinds that documents use."""
    concept, tag = mention.concept, mention.tag
    if tag != "name":
        yield concept.name.casefold(), REASONS.get(tag, "synonym")
    for name in concept.names[1:]:
        if name.tag in ADDED and name.tag != tag and concept.curated and name.text.count(" ") < MAX_WORDS:
            yield (name.text, "abbreviation") if name.tag == "abbrev" else (name.text.casefold(), "synonym")


def _respelt(phrase: str) -> str:
    """The phrase with each word in its other spelling."""
    return _WORD.sub(lambda match: other_spelling(match.group()) or match.group(), phrase)
