"""What one check has to say: how grave it is, and the reason in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class MismatchGrade(IntEnum):
    """How a finding bears on the verdict."""

    MISSING = 1
    """The source sentence does not speak of it; another sentence may."""
    WEAKER = 2
    """Nearly the same: the sentence is carried in part."""
    AGAINST = 3
    """The source says otherwise."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing of the claim that the source sentence does not carry."""

    grade: MismatchGrade
    kind: str
    reason: str
    start: int
    end: int
    """Where in the claim it stands."""
