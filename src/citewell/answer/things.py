"""The things of a question whose place another of their kind can take: a grade, a person, an amount, a medicine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from citewell.answer.grades import grades
from citewell.answer.illnesses import illnesses
from citewell.answer.subjects import subjects
from citewell.clinical import Lexicon
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import people_words
from citewell.clinical.quantities import labels, unit_named

Kind = Literal["label", "age", "people", "amount", "grade", "medicine", "matter"]

PREPOSITIONS = "for in of with on before after at from during without under by to over".split()
_BEFORE = re.compile(
    rf"\b(?P<word>{'|'.join(PREPOSITIONS)})\s+(?:(?:an?|the|my|our|some|any)\s+)?(?:[a-z-]{{3,}}\s+)?$", re.IGNORECASE
)
"""A preposition, with a word between that says how the thing is: “for worsening asthma”."""

_PREPOSITION = re.compile(rf"\b(?:{'|'.join(PREPOSITIONS)})\b", re.IGNORECASE)
_LENGTH = r"\d+(?:\.\d+)?[\s-]*(?:years?|yrs?|months?|weeks?|days?)"
_AGE = re.compile(
    rf"\b(?:(?:an?|my|the)\s+)?{_LENGTH}[\s-]*(?:old\b|of age\b)|(?<=aged )(?:{_LENGTH}|\d{{1,3}})\b"
    rf"|(?<=\bat ){_LENGTH}\b(?!\s*(?:before|after))",
    re.IGNORECASE,
)
_AGE_BEHIND = re.compile(rf"\s+(?P<link>of|aged|at|under|over)\s+(?P<age>{_LENGTH})\b", re.IGNORECASE)
"""An age right behind a person: “a baby of 4 months”."""
_AMOUNT = re.compile(r"(?<![\w.,-])(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?:[\s-]?(?P<unit>[a-zA-Zµ%°][\w/%]*))?")


@dataclass(frozen=True, slots=True)
class Thing:
    """Where a text names a thing, of which kind, and what of it must agree with what it replaces."""

    start: int
    end: int
    kind: Kind
    name: str
    """The scale of a grade, the unit of an amount, the family of a medicine, the dimension of a label."""
    preposition: str
    is_sure: bool = True


def things(text: str, *, lexicon: Lexicon) -> tuple[Thing, ...]:
    """All things of a text, in order; where two readings overlap, the more particular one counts.

    >>> text = "How much ORS for a child of 12 kg with some dehydration?"
    >>> [(text[one.start : one.end], one.kind) for one in things(text, lexicon=Lexicon.load())][1:]
    [('a child', 'people'), ('12 kg', 'amount'), ('some', 'grade'), ('dehydration', 'matter')]
    """
    found: list[Thing] = []
    named = list(_matters(text, lexicon))
    for one in (*_labels(text), *_ages(text), *_people(text), *_amounts(text), *_grades(text, named), *named):
        if all(one.end <= other.start or other.end <= one.start for other in found):
            found.append(one)
    return tuple(sorted(found, key=lambda one: one.start))


def _thing(text: str, span: tuple[int, int], kind: Kind, name: str, *, is_sure: bool = True) -> Thing:
    before = _BEFORE.search(text, 0, span[0])
    return Thing(*span, kind, name, before["word"].casefold() if before else "", is_sure)


def _labels(text: str) -> Iterator[Thing]:
    for mark in labels(text):
        yield _thing(text, (mark.start, mark.end), "label", mark.dimension)


def _ages(text: str) -> Iterator[Thing]:
    for found in _AGE.finditer(text):
        yield _thing(text, found.span(), "age", "old" if found.group().casefold().endswith("old") else "")
    for person in _persons(text):
        if behind := _AGE_BEHIND.match(text, person.end()):
            yield _thing(text, behind.span("age"), "age", "")


def _people(text: str) -> Iterator[Thing]:
    for found in _persons(text):
        yield _thing(text, found.span(), "people", "")


def _persons(text: str) -> Iterable[re.Match[str]]:
    words = "|".join(word.words for word in people_words() if word.group)
    how = r"(?:(?:older|younger|young|small|pregnant|breastfeeding|healthy)\s+)?"
    return re.finditer(rf"\b(?:(?:an?|my|the|our)\s+)?{how}(?:{words})\b", text, re.IGNORECASE)


def _amounts(text: str) -> Iterator[Thing]:
    for found in _AMOUNT.finditer(text):
        unit = found["unit"] or ""
        known = unit == "%" or unit_named(unit) is not None
        yield _thing(text, found.span() if known else found.span("number"), "amount", unit if known else "")


def _grades(text: str, named: Iterable[Thing]) -> Iterator[Thing]:
    """Grades; a word that means other things too where a thing follows it, or where it says the order."""
    starts = {one.start for one in named}
    for found in grades(text):
        is_alone = not _PREPOSITION.sub("", text[: found.start]).strip() and not text[found.end :].strip()
        if found.is_sure or is_alone or found.end + 1 in starts or found.scale == "order":
            yield _thing(text, (found.start, found.end), "grade", found.scale, is_sure=found.is_sure)


def _matters(text: str, lexicon: Lexicon) -> Iterator[Thing]:
    """Medicines, then illnesses and findings."""
    for drug in medicines(text):
        yield _thing(text, (drug.start, drug.end), "medicine", drug.family)
    at = 0
    for subject in subjects(text, lexicon=lexicon):
        start = text.find(subject.text, at)
        if subject.medicine is None and not subject.people and start >= 0:
            at = start + len(subject.text)
            name = "illness" if illnesses(subject.text) else "finding"
            yield _thing(text, (start, at), "matter", name)
