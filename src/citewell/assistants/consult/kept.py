"""Between the nouns of a consult and JSON: what events hold, and what views show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from citewell.types.consult import By, Category, Differential, Finding, Polarity, Speaks, Words


def finding_json(one: Finding) -> dict[str, Any]:
    """A finding as it is written down."""
    return asdict(one)


def finding_of(told: Mapping[str, Any]) -> Finding:
    """The finding that was written down.

    >>> one = Finding("f1", Category.SYMPTOM, "Fever", Polarity.PRESENT, By.RULES, Words(1, 0, 5, "fever"))
    >>> finding_of(finding_json(one)) == one
    True
    """
    words = told.get("words")
    return Finding(
        **{
            **told,
            "category": Category(told["category"]),
            "polarity": Polarity(told["polarity"]),
            "by": By(told["by"]),
            "words": None if words is None else Words(**words),
        }
    )


def differential_json(one: Differential) -> dict[str, Any]:
    """A differential as it is written down."""
    return asdict(one)


def differential_of(told: Mapping[str, Any]) -> Differential:
    """The differential that was written down."""
    return Differential(
        condition=told["condition"],
        confidence=told["confidence"],
        by=By(told["by"]),
        supports=tuple(Speaks(**one) for one in told["supports"]),
        opposes=tuple(Speaks(**one) for one in told["opposes"]),
    )
