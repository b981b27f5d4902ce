"""The nouns of a guideline that was read: rules, symptom rows, definitions, and what to look at."""

from __future__ import annotations

from collections.abc import Mapping
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
class GuidelineNote:
    """Words of the recommendations that are no recommendation: an introduction, or what stands below a rule."""

    text: str
    page: int
    start: int
    end: int
    section: str
    """The innermost heading over it."""
    rule: str | None = None
    """The rule that it stands below."""


@dataclass(frozen=True, slots=True)
class RuleTable:
    """A table, box or checklist with its caption and notes, as the document has it."""

    text: str
    page: int
    start: int
    end: int
    name: str | None = None
    """By which rules refer to it, such as “table 2” or “weighted 7-point checklist”."""
    rows: tuple[tuple[int, int, int], ...] = ()
    """Where its rows begin and end, and on which page; those that a page cuts in two are one."""
    notes: tuple[GuidelineNote, ...] = ()
    """Notes on it that stand elsewhere, such as those on two tables."""
    is_picture: bool = False
    """Nothing but its caption is text."""

    @property
    def title(self) -> str:
        """Its caption, which may stand in its rows."""
        head = self.text[: self.rows[0][0] - self.start] if self.rows else self.text.partition("\n")[0]
        in_row = self.text.partition("; ")[0] if self.name else "table"
        return " ".join((head or in_row).split())

    @property
    def whole(self) -> str:
        """Its words with all notes."""
        return "\n".join((self.text, *(note.text for note in self.notes)))


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
    tables: tuple[RuleTable, ...] = ()
    """What it names, or what stands below it unnamed: it is not whole without."""
    table: RuleTable | None = None
    """Its one table, which is quoted with it. Of several, each holds for other people or another step: those, and one
    that a rule nearer to it names too, are found and quoted by themselves."""

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
class GuidelineSection:
    """What stands under a heading, in a guideline that numbers no recommendations."""

    headings: tuple[str, ...]
    """Those over it, outermost first."""
    page: int
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

    kind: Literal[
        "gap",
        "reference",
        "unnumbered",
        "needs_reading",
        "incomplete",
        "no_criteria",
        "symptom_row",
        "cut_off",
        "scanned",
        "unread",
        "table",
    ]
    rule: str | None
    message: str


@dataclass(frozen=True, slots=True)
class UnreadText:
    """Words among the recommendations that belong to no rule, table, heading, definition or note."""

    text: str
    page: int
    start: int
    end: int
    rule: str | None
    """The rule before it, which may not be whole without."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """To what each character of the recommendations belongs."""

    characters: Mapping[str, int] = field(default_factory=dict)
    """By kind: rule, table, row, definition, heading, note, unread."""
    numbered: int = 0
    """Recommendation numbers at the beginning of a line, counted apart from the reading."""
    unread: tuple[UnreadText, ...] = ()
    stray: tuple[UnreadText, ...] = ()
    """Lines that begin with such a number and opened no rule."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Running heads and page numbers that the reading leaves out, each with how many pages have it."""

    @property
    def unread_characters(self) -> int:
        return sum(len(text.text) for text in self.unread)

    @property
    def read_characters(self) -> int:
        return sum(self.characters.values()) - self.characters.get("unread", 0)


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
    tables: tuple[RuleTable, ...] = ()
    """All that were found, also those that no rule names."""
    notes: tuple[GuidelineNote, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    sections: tuple[GuidelineSection, ...] = ()
    """Of a guideline that numbers no recommendations, which is read by them; else none."""
    entry: LibraryEntry | None = None
    """The document version that it was read from; None outside a library."""

    @cached_property
    def by_id(self) -> dict[str, GuidelineRule]:
        return {rule.id: rule for rule in self.rules}

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The headings of its sections, each once."""
        return tuple(dict.fromkeys(section.headings[-1] for section in self.sections))

    @cached_property
    def unread(self) -> int:
        """How many rules have criteria of which a part needs reading."""
        return sum(bool(rule.unread) for rule in self.rules)
