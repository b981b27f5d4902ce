"""Refuses fields that nobody reads, and names the one that was meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

MAX_SHOWN = 5
MAX_NAME = 60
SHORTEST_PART = 3
NEAR = 0.6
"""How alike two names must be for one to be offered in place of the other; the value of difflib."""


def unknown_fields(given: Iterable[object], known: Sequence[str]) -> str | None:
    """A sentence for each field that is not known, with the nearest that is; None where all are known.

    >>> unknown_fields(["Age", "symptom"], ["age", "symptoms"])
    'Unknown field “Age”. Did you mean “age”? Unknown field “symptom”. Did you mean “symptoms”?'
    >>> unknown_fields(["x"], ["age", "symptoms"])
    'Unknown field “x”. The fields are: age, symptoms.'
    """
    strange = [str(name) for name in given if name not in known]
    told = [_told(name, known) for name in strange[:MAX_SHOWN]]
    if len(strange) > MAX_SHOWN:
        told.append(f"{len(strange) - MAX_SHOWN} more unknown fields.")
    return " ".join(told) or None


def _told(name: str, known: Sequence[str]) -> str:
    nearest = nearest_field(name, known)
    shown = "".join(char if char.isprintable() else " " for char in name[:MAX_NAME]) + "…" * (len(name) > MAX_NAME)
    hint = f"Did you mean “{nearest}”?" if nearest else f"The fields are: {', '.join(known)}."
    return f"Unknown field “{shown}”. {hint}"


def nearest_field(name: str, known: Iterable[str]) -> str | None:
    """The known name nearest to another, whatever its case, number and hyphens; None where none is near.

    >>> nearest_field("Smoking-History", ["smoking_history", "smoking"]), nearest_field("xyz", ["age"])
    ('smoking_history', None)
    >>> nearest_field("days", ["text", "duration_days"])
    'duration_days'
    """
    wanted, folded = _folded(name[:MAX_NAME]), {_folded(one): one for one in known}
    near = get_close_matches(wanted, folded, n=1, cutoff=NEAR)
    near = near or [one for one in folded if len(wanted) >= SHORTEST_PART and wanted in one]
    return folded[near[0]] if near else None


def _folded(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "").rstrip("s")
