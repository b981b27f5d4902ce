"""Finds what a sentence names: symptoms, conditions, habits and medicines, each with its exact words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from citewell import clinical
from citewell.answer.verify_names import medicines
from citewell.types.consult import Category

CATEGORIES: dict[clinical.Kind, Category] = {
    "symptom": Category.SYMPTOM,
    "condition": Category.MEDICAL_HISTORY,
    "lifestyle": Category.MEDICAL_HISTORY,
    "medicine": Category.MEDICATION,
}
"""Where each kind of mention goes; tests and procedures are no findings."""


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a sentence that name something."""

    start: int
    end: int
    name: str
    concept: str | None
    category: Category
    corrected: str | None = None


def find_mentions(sentence: str) -> list[Mention]:
    """Everything that is named, in order; medicines come before other names.

    >>> text = "Stiff neck and a tummy ache, on metformin"
    >>> [(text[one.start : one.end], one.name) for one in find_mentions(text)]
    [('Stiff neck', 'neck stiffness'), ('tummy ache', 'Abdominal pain'), ('metformin', 'metformin')]
    """
    taken = [Mention(one.start, one.end, one.name, None, Category.MEDICATION) for one in medicines(sentence)]
    found = [
        Mention(one.start, one.end, clinical.kept_name(one), one.id, CATEGORIES[one.kind], one.corrected)
        for one in clinical.mentions(sentence)
        if one.kind in CATEGORIES and not any(one.start < other.end and other.start < one.end for other in taken)
    ]
    return sorted([*taken, *found], key=lambda one: one.start)


@lru_cache(maxsize=10_000)
def concept_of(name: str) -> tuple[str, str | None, Category]:
    """Name, concept and category of something that was typed as a name of its own.

    >>> concept_of("high temperature")[:2]
    ('Fever', 'HP:0001945')
    """
    for one in find_mentions(name):
        if one.end - one.start >= len(name.strip()) - 1:
            return one.name, one.concept, one.category
    return " ".join(name.split()), None, Category.SYMPTOM
