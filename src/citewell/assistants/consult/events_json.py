"""Findings and differentials as they were written down in events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citewell.types.codes import Code
from citewell.types.consult import (
    Category,
    Differential,
    Finding,
    FindingBearing,
    FindingSource,
    MessageWords,
    Polarity,
)


def finding_of(entry: Mapping[str, Any]) -> Finding:
    """The finding that was written down.

    >>> from dataclasses import asdict
    >>> words = MessageWords(1, 0, 5, "fever")
    >>> fever = Finding("f1", Category.SYMPTOM, "Fever", Polarity.PRESENT, FindingSource.RULES, words)
    >>> finding_of(asdict(fever)) == fever
    True
    """
    words = entry.get("words")
    return Finding(
        **{
            **entry,
            "category": Category(entry["category"]),
            "polarity": Polarity(entry["polarity"]),
            "by": FindingSource(entry["by"]),
            "words": None if words is None else MessageWords(**words),
            "codes": tuple(Code(**code) for code in entry.get("codes", ())),
        }
    )


def differential_of(entry: Mapping[str, Any]) -> Differential:
    """The differential that was written down."""
    return Differential(
        condition=entry["condition"],
        confidence=entry["confidence"],
        by=FindingSource(entry["by"]),
        supports=tuple(FindingBearing(**one) for one in entry["supports"]),
        opposes=tuple(FindingBearing(**one) for one in entry["opposes"]),
        ask=tuple(entry.get("ask", ())),
    )
