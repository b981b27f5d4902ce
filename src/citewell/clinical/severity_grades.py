"""Grades of an illness, and other words of which one takes the place of another: some, mild or severe dehydration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from citewell import vocabulary

OF_ILLNESS = "illness"
ANY_ILLNESS = frozenset({"disease", "illness", "infection", "signs", "symptoms"})
"""What stands for the illness that a text is about: “non-severe symptoms”."""
NOT_SEVERE = "non-severe"
SEVERE = frozenset({"severe", "life-threatening"})


@dataclass(frozen=True, slots=True)
class GradeMention:
    """Where a text says a grade."""

    start: int
    end: int
    scale: str
    name: str
    is_sure: bool
    """Whether the word means nothing else."""
    is_of_illness: bool


@dataclass(frozen=True, slots=True)
class GradedIllness:
    """An illness with its grade, as a question names it."""

    scale: str
    grade: str
    noun: str
    """The first word behind the grade."""
    text: str


@cache
def _table() -> tuple[re.Pattern[str], dict[str, tuple[str, str, bool, bool]]]:
    known: dict[str, tuple[str, str, bool, bool]] = {}
    for row in vocabulary.rows("grades.tsv"):
        scale, name, words, of = [*row, ""][:4]
        for word in words.split("|"):
            known[word.rstrip("?").casefold()] = scale, name, not word.endswith("?"), of == OF_ILLNESS
    longest = sorted(known, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])", re.IGNORECASE), known


@lru_cache(maxsize=4096)
def grades(text: str) -> tuple[GradeMention, ...]:
    """Every word of a text that may be a grade, in order.

    >>> [(found.scale, found.name) for found in grades("Severe dehydration, if PE is unlikely")]
    [('severity', 'severe'), ('chance', 'unlikely')]
    """
    pattern, known = _table()
    found = ((match.start(), match.end(), known[match.group().casefold()]) for match in pattern.finditer(text))
    return tuple(GradeMention(start, end, *told) for start, end, told in found)


_NOUN = re.compile(r"[\s-]+(?P<noun>[^\W\d_]{3,})")


@lru_cache(maxsize=4096)
def graded(text: str) -> tuple[GradedIllness, ...]:
    """The grades of a text that stand right before what may be an illness."""
    return tuple(_graded(text))


def _graded(text: str) -> Iterator[GradedIllness]:
    for grade in grades(text):
        noun = _NOUN.match(text, grade.end)
        if grade.is_of_illness and noun is not None:
            yield GradedIllness(grade.scale, grade.name, noun["noun"].casefold(), text[grade.start : noun.end()])


def asked_grades(question: str, names: Iterable[str]) -> tuple[GradedIllness, ...]:
    """The graded illnesses of a question, of which `names` are the names of all that it is about.

    >>> [one.text for one in asked_grades("How is severe dehydration treated in mild weather?", ["dehydration"])]
    ['severe dehydration']
    """
    words = {name.casefold().split()[0] for name in names if name}
    return tuple(graded_illness for graded_illness in graded(question) if graded_illness.noun in words)


def says_grade(text: str, asked: GradedIllness) -> bool:
    """Whether a text says the grade that is asked for; a word that means other things too only before the illness.

    >>> severe, none = graded("severe dehydration")[0], graded("no dehydration")[0]
    >>> text = "If the signs become severe, there is no time to lose."
    >>> says_grade(text, severe), says_grade(text, none)
    (True, False)
    """
    here = [grade for grade in grades(text) if (grade.scale, grade.name) == (asked.scale, asked.grade)]
    if any(mention.is_sure for mention in here):
        return True
    return any(
        (graded_illness.grade, graded_illness.noun) == (asked.grade, asked.noun) for graded_illness in graded(text)
    )


def is_of_another_grade(asked: Iterable[GradedIllness], text: str, titles: Iterable[str]) -> bool:
    """Whether a text is on another grade of an illness that is asked for: by its words, else by the nearest title.

    >>> severe = graded("severe dehydration")
    >>> titles = ["Plan B: some dehydration"]
    >>> [is_of_another_grade(severe, text, titles) for text in ("Give ORS.", "If severe, plan C.")]
    [True, False]
    >>> mild = graded("mild pneumonia")
    >>> [is_of_another_grade(mild, text, []) for text in ("Non-severe symptoms: rest.", "High-severity disease: IV.")]
    [False, True]
    """
    said = [text, *reversed(list(titles))]
    return any(_is_of_another(graded_illness, said) for graded_illness in asked)


def _is_of_another(asked: GradedIllness, said: Iterable[str]) -> bool:
    for text in said:
        if says_grade(text, asked):
            return False
        if any(_is_other(asked, graded_illness) for graded_illness in graded(text)):
            return True
    return False


def _is_other(asked: GradedIllness, said: GradedIllness) -> bool:
    """Whether another grade of the illness asked for is said; what is not severe may be mild or moderate."""
    if asked.scale != said.scale or not (asked.noun == said.noun or said.noun in ANY_ILLNESS):
        return False
    if NOT_SEVERE in (asked.grade, said.grade):
        return (asked.grade in SEVERE) != (said.grade in SEVERE)
    return True
