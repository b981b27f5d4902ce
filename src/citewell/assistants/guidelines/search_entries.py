"""A guideline as pieces that can be found: rules, the texts they are matched by, rows of the index, definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from citewell.assistants.guidelines.criteria import Absence, AgeRange, Exposure, FindingCriterion, Sex, conditions
from citewell.assistants.guidelines.guideline import (
    Definition,
    Guideline,
    GuidelineRule,
    GuidelineSection,
    RuleTable,
    SymptomRow,
)

Kind = Literal["rule", "search", "symptom", "definition", "section", "table"]
"""A rule is what is cited, a search text what it is matched by; rows of the index and definitions are both.

A table is a row of a table, or a box, that is quoted without the rules that name it.

A section is a part of a guideline that does not number its recommendations.
"""


_PLAIN = str.maketrans("[]\n", "() ")
"""A label stands in brackets."""


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """One thing that can be found in a guideline."""

    kind: Kind
    id: str
    text: str
    """For a search text the enriched words; else exactly the document's."""
    label: str
    """How it is cited, such as “NG12 §1.1.1”."""
    page: int
    start: int
    end: int
    rules: tuple[GuidelineRule, ...]
    """The canonical rules that it stands for."""
    matched: str = ""
    """What is embedded; a rule itself is only looked up."""

    @property
    def rule_ids(self) -> list[str]:
        return [rule.id for rule in self.rules]

    @property
    def sites(self) -> list[str]:
        return list(dict.fromkeys(rule.site for rule in self.rules if rule.site))

    @property
    def actions(self) -> list[str]:
        return list(dict.fromkeys(rule.action.label for rule in self.rules))


def pieces(guideline: Guideline, text: str) -> tuple[SearchEntry, ...]:
    """Everything in a guideline that can be found, in its order; `text` is that of its document."""
    return (
        *(piece for rule in guideline.rules for piece in _of_rule(guideline, rule)),
        *(piece for table in guideline.tables for piece in _of_table(guideline, table, text)),
        *(_of_row(guideline, number, row, text) for number, row in enumerate(guideline.symptoms, 1)),
        *(_of_definition(guideline, definition) for definition in guideline.definitions),
        *(_of_section(guideline, section, text) for section in guideline.sections),
    )


def _of_rule(guideline: Guideline, rule: GuidelineRule) -> Iterator[SearchEntry]:
    label = f"{guideline.name} §{rule.id}"
    place = (label, rule.page, rule.start, rule.end, (rule,))
    yield SearchEntry("rule", rule.id, rule.text, *place)
    enriched = _enriched(rule)
    yield SearchEntry("search", rule.id, enriched, *place, matched=enriched)


def _of_row(guideline: Guideline, number: int, row: SymptomRow, text: str) -> SearchEntry:
    """A row of the index by symptom, which stands for the rules that it refers to."""
    rules = tuple(guideline.by_id[reference] for reference in row.references if reference in guideline.by_id)
    matched = _sentence(row.symptom, f"Possible cancer: {row.possible_cancer}", row.recommendation)
    words, label = text[row.start : row.end], f"{guideline.name} Part B"
    return SearchEntry("symptom", f"B{number}", words, label, row.page, row.start, row.end, rules, matched)


def _of_table(guideline: Guideline, table: RuleTable, text: str) -> Iterator[SearchEntry]:
    """The rows of a table that no rule has to itself, under its caption, which says for whom it is; a box whole."""
    rules = [rule for rule in guideline.rules if table in rule.tables]
    if not rules or any(rule.table == table for rule in rules):
        return
    label = f"{guideline.name} §{rules[0].id}, {table.title}".translate(_PLAIN)
    for number, (start, end, page) in enumerate(table.rows or ((table.start, table.end, table.page),), 1):
        name = f"{table.name or table.title} row {number}"
        matched = _sentence(table.title, " ".join(text[start:end].split()))
        yield SearchEntry("table", name, text[start:end], label, page, start, end, (), matched)


def _of_section(guideline: Guideline, section: GuidelineSection, text: str) -> SearchEntry:
    """A section under its two innermost headings; a question is answered from its statements."""
    headings = [heading for heading in section.headings if heading != guideline.title][-2:]
    label = ", ".join((guideline.name, *headings)).translate(_PLAIN)
    place = (section.page, section.start, section.end)
    return SearchEntry("section", str(section.start), text[section.start : section.end], label, *place, ())


def _of_definition(guideline: Guideline, definition: Definition) -> SearchEntry:
    label = f"{guideline.name} Terms, “{definition.term}”"
    matched = f"What does “{definition.term}” mean? {definition.term}: {' '.join(definition.text.split())}"
    return SearchEntry(
        "definition",
        definition.term.casefold(),
        definition.text,
        label,
        definition.page,
        definition.start,
        definition.end,
        (),
        matched,
    )


def _enriched(rule: GuidelineRule) -> str:
    """A rule's words in one line, with its site; a question is asked with the names that a guideline uses."""
    return _sentence(rule.site or rule.section, " ".join(rule.text.split()))


def _sentence(*parts: str) -> str:
    return " ".join(part.rstrip(". ") + "." for part in parts if part.strip(". "))


# ------------------------------------------------------------------------------------------------ canonical metadata


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """What a canonical rule asks of a person and tells to do; reranking reads nothing else."""

    ages: tuple[AgeRange, ...]
    sexes: tuple[Sex, ...]
    exposures: tuple[Exposure, ...]
    findings: tuple[FindingCriterion, ...]
    absences: tuple[Absence, ...]


@cache
def facts(rule: GuidelineRule) -> RuleFacts:
    """The canonical metadata of a rule, from its criteria and its words."""
    leaves = [] if rule.criteria is None else list(conditions(rule.criteria))
    return RuleFacts(
        ages=tuple(leaf for leaf in leaves if isinstance(leaf, AgeRange)),
        sexes=tuple(sex for sex in leaves if isinstance(sex, Sex)),
        exposures=tuple(exposure for exposure in leaves if isinstance(exposure, Exposure)),
        findings=tuple(criterion for criterion in leaves if isinstance(criterion, FindingCriterion)),
        absences=tuple(absence for absence in leaves if isinstance(absence, Absence)),
    )
