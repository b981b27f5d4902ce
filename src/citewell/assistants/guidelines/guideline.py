"""The nouns of a guideline that was read: rules, symptom rows, definitions, and what to look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from citewell.assistants.guidelines.criteria import Criteria, NeedsReading, conditions
from citewell.types import Box, LibraryEntry

Deed = Literal["referral", "investigation", "advice"]
Strength = Literal["do", "consider", "do not"]
Urgency = Literal["immediate", "very urgent", "suspected cancer pathway", "urgent", "non-urgent"]


@dataclass(frozen=True, slots=True)
class Action:
    """What a rule tells to do."""

    text: str
    """The guideline's own words."""
    deed: Deed
    strength: Strength
    urgency: Urgency | None

    @property
    def label(self) -> str:
        """The action in a few words of one vocabulary.

        >>> Action("Consider an urgent chest X-ray", "investigation", "consider", "urgent").label
        'consider urgent investigation'
        """
        if self.deed == "advice":
            return "advice"
        first = {"do": "", "consider": "consider ", "do not": "do not: "}[self.strength]
        return first + (f"{self.urgency} " if self.urgency else "") + self.deed


@dataclass(frozen=True, slots=True)
class RuleTable:
    """The table that stands below a rule, with its caption, as the document has it."""

    text: str
    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class GuidelineRule:
    """One numbered recommendation, whole."""

    id: str
    section: str
    """The numbered section it stands in, such as “1.4 Breast cancer”."""
    site: str | None
    page: int
    page_end: int
    start: int
    end: int
    """Where its words stand in the document's text."""
    text: str
    """Exactly those words, without number and date."""
    date: str | None
    """“2015, amended 2025”."""
    boxes: tuple[Box, ...]
    action: Action
    criteria: Criteria | None
    """None: no criteria language found."""
    table: RuleTable | None = None
    """What it refers to and is not whole without."""

    @property
    def unread(self) -> tuple[str, ...]:
        """The words of its criteria that have to be read by a person."""
        if self.criteria is None:
            return ()
        return tuple(condition.text for condition in conditions(self.criteria) if isinstance(condition, NeedsReading))


@dataclass(frozen=True, slots=True)
class SymptomRow:
    """One row of the index by symptom."""

    system: str
    group: str
    page: int
    symptom: str
    possible_cancer: str
    recommendation: str
    references: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Definition:
    """A term and what the guideline means by it."""

    term: str
    text: str
    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class GuidelineProblem:
    """Something that a person should look at."""

    kind: Literal["gap", "reference", "needs_reading", "incomplete", "no_criteria", "symptom_row", "cut_off", "scanned"]
    rule: str | None
    message: str


@dataclass(frozen=True)
class Guideline:
    """A guideline as its rules, rows and terms."""

    title: str
    name: str
    """The short name by which it is cited, such as “NG12”."""
    edition: str | None
    rules: tuple[GuidelineRule, ...]
    symptoms: tuple[SymptomRow, ...]
    definitions: tuple[Definition, ...]
    problems: tuple[GuidelineProblem, ...] = field(default=())
    entry: LibraryEntry | None = None
    """The document version that it was read from; None outside a library."""

    @cached_property
    def by_id(self) -> dict[str, GuidelineRule]:
        return {rule.id: rule for rule in self.rules}

    @cached_property
    def unread(self) -> int:
        """How many rules have criteria of which a part needs reading."""
        return sum(bool(rule.unread) for rule in self.rules)
