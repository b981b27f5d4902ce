"""Reads a parsed document as a guideline: numbered rules, index by symptom, definitions, and what to look at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from citewell.assistants.guidelines.guideline import Definition, Guideline, GuidelineRule, GuidelineSection
from citewell.assistants.guidelines.parse_rules import Terms, parse_rules, tells
from citewell.assistants.guidelines.problems import problems
from citewell.assistants.guidelines.read_rules import RawRule, read_passages
from citewell.assistants.guidelines.read_tables import bound, read_symptoms, read_tables
from citewell.assistants.guidelines.unread_text import account
from citewell.errors import InputError
from citewell.types import Document

TERMS_HEADING = re.compile(r"\bterms used\b|\bglossary\b|\bdefinitions\b", re.IGNORECASE)
_GUIDANCE = re.compile(r"/guidance/([a-z]{2,4}\d+)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"\bguideline ([A-Z]{2,4}\d{1,4})\b")
_UPDATED = re.compile(r"\blast (?:updated|modified|amended)(?: on)?:?\s*(\d{1,2} \w+ \d{4})", re.IGNORECASE)
_PUBLISHED = re.compile(r"\bpublished(?: on)?(?: date)?:?\s*(\d{1,2} \w+ \d{4})", re.IGNORECASE)
MIN_SECTIONS = 2
"""A guideline that numbers no recommendations has at least these."""
FRONT_CHARACTERS = 1_500
"""Name and dates stand on the first page."""
FEWEST, MOST = 3, 0.5
"""So many numbered paragraphs of a guideline, and so great a share of them, say what to do."""


def read(document: Document) -> Guideline:
    """One document, one guideline, by its numbered recommendations or else by its headed sections."""
    passages = read_passages(document)
    sections: tuple[GuidelineSection, ...] = ()
    if not any(_recommends(passage) for passage in passages.rules):
        passages, sections = replace(passages, rules=(), starts=()), read_sections(document)
        if len(sections) < MIN_SECTIONS:
            raise InputError(
                "No numbered recommendations (1.1.1, 1.1.2, …) and no headed sections were found in this file. Add a "
                "guideline that has them, or add the file as a document with `citewell add`."
            )
    definitions, symptoms = read_definitions(document), read_symptoms(document)
    tables = read_tables(document, passages, symptoms)
    of_rule = bound(document, passages.rules, tables)
    raw_rules = [replace(rule, tables=of_rule.get(rule.id, ())) for rule in passages.rules]
    rules = _with_own_tables(parse_rules(raw_rules, Terms.of(definitions)))
    accounted = account(document, passages, tables=tables, symptoms=symptoms, definitions=definitions)
    front = document.text[:FRONT_CHARACTERS]
    guideline = Guideline(
        title=document.title,
        name=_name(document, front),
        edition=_edition(document, front),
        rules=rules,
        symptoms=symptoms,
        definitions=definitions,
        tables=tables,
        notes=accounted.notes,
        coverage=accounted.coverage,
        sections=sections,
    )
    return replace(guideline, problems=problems(document, guideline))


def guideline_name(document: Document) -> str | None:
    """The name of the guideline that a document looks like: most of its numbered paragraphs say what to do."""
    rules = [rule for rule in read_passages(document).rules if _recommends(rule)]
    telling = [rule for rule in rules if tells(rule.head) or tells(rule.items[0].text if rule.items else "")]
    looks_like_one = len(telling) >= FEWEST and len(telling) >= MOST * len(rules)
    return _name(document, document.text[:FRONT_CHARACTERS]) if looks_like_one else None


def _with_own_tables(rules: Sequence[GuidelineRule]) -> tuple[GuidelineRule, ...]:
    """The rules, each with its one table; of several that name it, the nearest above it has it."""
    owners: dict[int, GuidelineRule] = {}
    for rule in rules:
        table = rule.tables[0] if len(rule.tables) == 1 else None
        if table is not None and (table.start not in owners or rule.start < table.start):
            owners[table.start] = rule
    own = {rule.id: rule.tables[0] for rule in owners.values()}
    return tuple(replace(rule, table=own.get(rule.id)) for rule in rules)


def _recommends(passage: RawRule) -> bool:
    """Whether it is a sentence: the numbered entries of a table or of a list of functions are none."""
    return passage.date is not None or passage.text.rstrip(')”"’ ').endswith((".", "!", "?"))


def read_sections(document: Document) -> tuple[GuidelineSection, ...]:
    """What stands under each heading, without the headings themselves."""
    sections: list[GuidelineSection] = []
    for headings, blocks in groupby(document.blocks, key=lambda block: block.section):
        told = [block for block in blocks if block.kind != "heading"]
        if headings and told:
            page = document.layout.page_at(told[0].start) or 0
            sections.append(GuidelineSection(headings, page, told[0].start, told[-1].end))
    return tuple(sections)


def read_definitions(document: Document) -> tuple[Definition, ...]:
    """Each heading under “Terms used”, with the text below it."""
    definitions: list[Definition] = []
    term: tuple[str, ...] | None = None
    for block in document.blocks:
        depth = next((n for n, title in enumerate(block.section) if TERMS_HEADING.search(title)), None)
        if depth is None or len(block.section) <= depth + 1:
            term = None
        elif block.kind == "heading":
            term = block.section
        elif term is not None and block.section == term:
            start = definitions[-1].start if definitions and definitions[-1].term == term[-1] else block.start
            if start != block.start:
                definitions.pop()
            page = document.layout.page_at(start) or 0
            definitions.append(Definition(term[-1], document.text[start : block.end], page, start, block.end))
    return tuple(definitions)


def _name(document: Document, front: str) -> str:
    """The short name by which a guideline is cited; its title where it has none."""
    address = document.metadata.source_url or ""
    guidance = _GUIDANCE.search(front) or _GUIDANCE.search(address) or _NUMBERED.search(front)
    return guidance.group(1).upper() if guidance else document.title


def _edition(document: Document, front: str) -> str | None:
    dated = _UPDATED.search(front) or _PUBLISHED.search(front)
    if dated:
        return dated.group(1)
    return document.metadata.published.isoformat() if document.metadata.published else None
