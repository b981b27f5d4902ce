"""Reads the case that a question supposes: “what if she is vomiting?”."""

from __future__ import annotations

from citewell.answer.amounts import amounts
from citewell.answer.cues_fitting import SUPPOSES
from citewell.answer.verify_read import is_light
from citewell.words import terms


def supposed(question: str) -> frozenset[str]:
    """The words and amounts of the case that a question supposes; none where it supposes none.

    >>> sorted(supposed("What if a child of 5 kg is vomiting? — ORS")), supposed("What is vomiting?")
    (['5', '5 kg', 'child', 'kg', 'vomit'], frozenset())
    """
    found = SUPPOSES.search(question)
    if found is None:
        return frozenset()
    case = found["case"]
    return frozenset((*(word for word in terms(case) if not is_light(word)), *(one.text for one in amounts(case))))
