"""How near a text is in meaning to the examples of each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from citewell.ports import Vectors, products

NEAREST = 3
"""How many of the nearest examples of a kind count together: one or two may be a chance."""

Kind = TypeVar("Kind", bound=str)
Embed = Callable[[list[str]], Vectors]


def nearness_to(kinds: Sequence[Kind], vectors: Vectors, embed: Embed) -> Callable[[str], dict[Kind, float]]:
    """Measures texts against examples, whose kinds and vectors are given."""

    def measured(text: str) -> dict[Kind, float]:
        scores = products(vectors, embed([text])[0])
        return {
            kind: float(np.sort(scores[[other == kind for other in kinds]])[-NEAREST:].mean())
            for kind in dict.fromkeys(kinds)
        }

    return measured
