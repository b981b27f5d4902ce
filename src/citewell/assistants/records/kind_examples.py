"""How near a question is in meaning to the examples of each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from citewell.assistants.records.tables import rows
from citewell.ports import Vectors

NEAREST = 3
"""How many of the nearest examples of a kind count together: one alone may be a chance."""
READ = 300
"""How many characters of a question are held against the examples."""

Embed = Callable[[list[str]], Vectors]


Nearness = Callable[[str], Mapping[str, float]]
"""For each kind, how near a question is to the examples."""


@cache
def examples() -> tuple[tuple[str, ...], list[str]]:
    """The names of the examples and their words."""
    found = rows("examples.tsv")
    return tuple(name for name, _ in found), [words for _, words in found]


def nearness(embed: Embed, vectors: Vectors) -> Nearness:
    """Measures questions against the examples, whose vectors are given."""
    names = np.array(examples()[0])

    def measured(question: str) -> dict[str, float]:
        scores = np.asarray(vectors @ embed([question[:READ]])[0])
        return {name: float(np.sort(scores[names == name])[-NEAREST:].mean()) for name in dict.fromkeys(names.tolist())}

    return measured
