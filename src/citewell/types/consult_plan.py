"""The plan of a consult: statements with their source, doses with their arithmetic, what speaks against them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatementPlace:
    """Where a statement stands, so that a person can look it up."""

    document_id: str
    document: str
    version: int
    section: tuple[str, ...]
    page: int | None
    start: int
    end: int
    quote: str
    published: str | None = None
    publisher: str | None = None
    country: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class WorkedDose:
    """A dose by weight: the words, what they come to for this patient, and how."""

    words: str
    amount: str | None
    arithmetic: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that speaks against a medicine for this patient."""

    kind: str
    medicine: str
    text: str
    source: str
    is_grave: bool


@dataclass(frozen=True, slots=True)
class PlanStatement:
    """One sentence of the plan, checked against the words that it cites."""

    id: str
    text: str
    place: StatementPlace
    support: float
    strength: str | None = None
    certainty: str | None = None
    doses: tuple[WorkedDose, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    reservations: tuple[str, ...] = ()
    role: str = "treat"
    """The part of the plan that it belongs to."""

    @property
    def is_held_back(self) -> bool:
        """Whether it must not be offered to this patient as it stands."""
        return any(conflict.is_grave for conflict in self.conflicts)


@dataclass(frozen=True, slots=True)
class ExcludedPassage:
    """A passage that was found and is not for this patient, or not near enough; or one sentence of it."""

    document: str
    section: tuple[str, ...]
    reason: str
    words: str = ""
    """The sentence, where only that is left out."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two sources that do not say the same, side by side."""

    about: str
    why: str
    statements: tuple[str, str]


@dataclass(frozen=True, slots=True)
class DiagnosisPlan:
    """What the guidelines say of one diagnosis for this patient."""

    condition: str
    confidence: str
    said: str
    """What the gate let through, or why there is nothing."""
    is_found: bool
    offered: tuple[PlanStatement, ...] = ()
    held_back: tuple[PlanStatement, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    left_out: tuple[ExcludedPassage, ...] = ()
    withheld: int = 0
    """Sentences of a draft that the gate did not let through."""
    shared: tuple[str, ...] = ()
    """Statements of earlier diagnoses that hold for this one too, such as 1.2."""


@dataclass(frozen=True, slots=True)
class SectionLead:
    """A section that the findings alone point at, whatever the differentials are."""

    document: str
    section: tuple[str, ...]
    relevance: float
    quote: str
    """The sentence that names most of the findings."""
    names: tuple[str, ...] = ()
    """The findings that it names."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The assessment and plan: a draft until a clinician signs it."""

    summary: str
    diagnoses: tuple[DiagnosisPlan, ...]
    leads: tuple[SectionLead, ...]
    red_flags: tuple[str, ...]
    notes: tuple[str, ...]
    model: str
    prompt_hash: str
    warnings: tuple[Conflict, ...] = ()
    """What speaks against the medicines that the patient takes: the record, and the guidelines on the diagnoses."""
