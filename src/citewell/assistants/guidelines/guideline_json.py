"""A guideline as `citewell guidelines check` and the API show it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from citewell.assistants.guidelines.criteria import as_json, render
from citewell.assistants.guidelines.guideline import Guideline, GuidelineRule, RuleTable, SymptomRow


def guideline_json(guideline: Guideline) -> dict[str, Any]:
    """The whole guideline."""
    return {
        "title": guideline.title,
        "name": guideline.name,
        "edition": guideline.edition,
        "rules": [rule_json(rule) for rule in guideline.rules],
        "symptoms": [_symptom(row) for row in guideline.symptoms],
        "definitions": [
            {"term": definition.term, "text": definition.text, "page": definition.page}
            for definition in guideline.definitions
        ],
        "tables": [_table(table, guideline) for table in guideline.tables],
        "notes": [
            {"text": note.text, "page": note.page, "section": note.section, "rule": note.rule}
            for note in guideline.notes
        ],
        "coverage": coverage_json(guideline),
        "problems": [asdict(problem) for problem in guideline.problems],
    }


def coverage_json(guideline: Guideline) -> dict[str, Any]:
    """How much of the recommendations was read, and which words were not."""
    coverage = guideline.coverage
    return {
        "recommendations": len(guideline.rules),
        "numbered": coverage.numbered,
        "characters": dict(coverage.characters),
        "unread": [
            {"page": text.page, "rule": text.rule, "text": text.text} for text in (*coverage.unread, *coverage.stray)
        ],
        "left_out": [{"text": text, "pages": pages} for text, pages in coverage.left_out.items()],
    }


def _table(table: RuleTable, guideline: Guideline) -> dict[str, Any]:
    rules = [rule.id for rule in guideline.rules if table in rule.tables]
    return {"name": table.name, "page": table.page, "text": table.whole, "rules": rules}


def counts_json(guideline: Guideline) -> dict[str, Any]:
    """A guideline in a line: what it is, and how much was read."""
    entry = guideline.entry
    return {
        "document_id": None if entry is None else entry.id,
        "version": 0 if entry is None else entry.version,
        "name": guideline.name,
        "title": guideline.title,
        "edition": guideline.edition,
        "rules": len(guideline.rules),
        "sections": len(guideline.sections),
        "rules_with_criteria": sum(rule.criteria is not None for rule in guideline.rules),
        "symptoms": len(guideline.symptoms),
        "definitions": len(guideline.definitions),
        "tables": len(guideline.tables),
        "unread": guideline.coverage.unread_characters,
        "problems": len(guideline.problems),
    }


def rule_json(rule: GuidelineRule) -> dict[str, Any]:
    """One rule; `criteria` is null where there is no criteria language."""
    tree = None if rule.criteria is None else {"sentence": render(rule.criteria), "tree": as_json(rule.criteria)}
    return {
        "id": rule.id,
        "section": rule.section,
        "site": rule.site,
        "page": rule.page,
        "page_end": rule.page_end,
        "text": rule.text,
        "table": "\n\n".join(table.whole for table in rule.tables) or None,
        "tables": [{"name": table.name, "page": table.page, "text": table.whole} for table in rule.tables],
        "date": rule.date,
        "boxes": [asdict(box) for box in rule.boxes],
        "action": rule.action.label,
        "criteria": tree,
    }


def _symptom(row: SymptomRow) -> dict[str, Any]:
    shown = asdict(row)
    return {**{key: shown[key] for key in shown if key not in ("start", "end")}, "references": list(row.references)}
