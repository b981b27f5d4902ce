"""What the gate must know of a question: the policy, the evidence, how the answer is worded, whom to ask at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from citewell.answer.cite import mark
from citewell.answer.subjects import Subject
from citewell.types import Check, Citation, Claim, Context, Refuse, Route, Span, Verdict

Verify = Callable[[str, Sequence[Span]], Check]
"""Checks one sentence against the words it cites."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What an assistant shows and when it hands over; a table to be reviewed."""

    threshold: float = 0.6
    shown: frozenset[Verdict] = frozenset({Verdict.SUPPORTED, Verdict.PARTLY})
    min_relevance: float = 0.1
    """Evidence whose best passage is less relevant than this carries no answer."""
    sure_from: float | None = None
    """Below this confidence an answer that does not name what the question is about is passed on, else qualified."""
    cites_from: float | None = None
    """Below this confidence every answer is qualified."""
    keeps_draft: bool = False
    """The draft is kept as the model wrote it, for those who may open it: where clinicians ask, never a patient."""


@dataclass(frozen=True, slots=True)
class Frame:
    """How an assistant words what has passed: how it cites, and what it says of its own before and after."""

    mark: Callable[[Citation], str] = mark
    before: str = ""
    after: str = ""
    closing: Callable[[], str] = str
    """What it says at the very end, where that is known only once the draft is read."""
    gap: str = " "
    """What stands between two statements."""
    reservation: str | None = None
    """Why even a well supported answer is shown with a reservation."""


@dataclass(frozen=True, slots=True)
class Asked:
    """All that the gate must know of a question."""

    id: str
    question: str
    context: Context
    model: str
    prompt_hash: str
    policy: Policy
    rules: str = ""
    """What the writer was told; no sentence of it is shown."""
    frame: Frame = field(default_factory=Frame)
    notes: Mapping[str, Any] = field(default_factory=dict)
    """How the assistant came to what it searched, for programs and the record."""
    query: str = ""
    """What was searched for: the question as it stands on its own; empty where nothing was."""
    subjects: tuple[Subject, ...] = ()
    """What the question is about; an answer that does not speak of it is no answer to it."""


@dataclass(frozen=True, slots=True)
class Judge:
    """What the end of an answer asks of others: the writer's estimate, a calibrated one, and who gets it if routed."""

    rate: Callable[[str], float | None]
    calibrate: Callable[[Sequence[Claim], Context], float]
    route: Callable[[str], Route | Refuse]
    """Who gets a question that is not answered well enough, or what is said where nobody does."""
    took_ms: Callable[[], float]
