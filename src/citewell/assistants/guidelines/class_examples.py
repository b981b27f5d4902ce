"""How near a message is in meaning to the examples of each class."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from citewell.assistants.guidelines.classify import InputClass, Nearness
from citewell.assistants.guidelines.tables import rows
from citewell.ports import Vectors, products

NEAREST = 3
"""How many of the nearest examples of a class count: one or two may be a chance."""

Embed = Callable[[list[str]], Vectors]


@cache
def examples() -> tuple[tuple[InputClass, ...], list[str]]:
    """The classes of the examples and their words."""
    found = rows("chat_examples.tsv")
    return tuple(_class(name) for name, _ in found), [text for _, text in found]


def _class(name: str) -> InputClass:
    known: dict[str, InputClass] = {
        "smalltalk": "smalltalk",
        "meta": "meta",
        "chitchat_redirect": "chitchat_redirect",
        "safety_urgent": "safety_urgent",
        "medical_out_of_scope": "medical_out_of_scope",
        "needs_clarification": "needs_clarification",
        "proceed": "proceed",
    }
    return known[name]


def nearness(embed: Embed, vectors: Vectors) -> Nearness:
    """Measures messages against the examples, whose vectors are given."""
    classes, _ = examples()

    def measured(message: str) -> dict[InputClass, float]:
        scores = products(vectors, embed([message])[0])
        return {
            name: float(np.sort(scores[[class_ == name for class_ in classes]])[-NEAREST:].mean())
            for name in dict.fromkeys(classes)
        }

    return measured
