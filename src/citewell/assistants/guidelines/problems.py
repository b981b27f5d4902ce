"""What a person should look at after a guideline was read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from citewell.assistants.guidelines.guideline import (
    Coverage,
    Guideline,
    GuidelineProblem,
    GuidelineRule,
    SymptomRow,
)
from citewell.assistants.guidelines.read_rules import SECTION
from citewell.assistants.guidelines.read_tables import CONTENTS, REFERENCE, table_names
from citewell.errors import InputError
from citewell.types import Document

_LISTED = re.compile(r"\s(\d{1,4})\s*$")
_PAGES = re.compile(r"\bPages? (\d+(?:–\d+)?(?:, \d+(?:–\d+)?)*) (?:was|were)\b")
UNNUMBERED = (
    "No numbered recommendations (1.1.1, 1.1.2, …). The sections can be searched and quoted in plans; patients cannot "
    "be assessed against them."
)
FEW_ENTRIES = 2
SHOWN = 160
"""Characters of a passage that a message quotes."""
IN_ORDER = 0.9
"""So much of what looks like a list of pages has to go up."""
_ELSEWHERE = re.compile(r"NICE(?:'|’)s guideline|guideline on", re.IGNORECASE)


def problems(document: Document, guideline: Guideline) -> tuple[GuidelineProblem, ...]:
    """What is missing, named and not there, not read or not understood."""
    rules, symptoms = guideline.rules, guideline.symptoms
    if not rules:
        return (*_cut_off(document), GuidelineProblem("unnumbered", None, UNNUMBERED), *_rows(symptoms))
    return (
        *_cut_off(document),
        *_scanned(document, rules),
        *_gaps(rules),
        *_missing_sections(document, rules),
        *_left_unread(guideline.coverage),
        *_tables(guideline),
        *_dangling(rules, symptoms),
        *_rows(symptoms),
        *_unfinished(rules),
        *_unread(rules),
    )


def check_whole(guideline: Guideline) -> None:
    """Refuse a guideline of which pages are missing, or whose rules are pictures: it is quoted word for word."""
    for problem in guideline.problems:
        if problem.kind in ("cut_off", "scanned"):
            raise InputError(
                f"{problem.message} Nothing was added. Add the complete PDF from the publisher, or add this file as "
                "a document with `citewell add`."
            )


def _cut_off(document: Document) -> Iterator[GuidelineProblem]:
    """Whether the contents list pages that the file does not have; printed numbers never run ahead of its own."""
    pages = max((page.number for page in document.layout.pages), default=0)
    listed = [
        int(match.group(1))
        for block in document.blocks
        if block.kind != "heading" and block.section and CONTENTS.match(block.section[-1])
        if (match := _LISTED.search(document.text, block.start, block.end))
    ]
    beyond = [number for number in listed if number > pages]
    in_order = sum(before <= after for before, after in pairwise(listed))
    if pages and len(beyond) >= FEW_ENTRIES and in_order >= IN_ORDER * (len(listed) - 1):
        yield GuidelineProblem(
            "cut_off", None, f"The table of contents goes up to page {max(beyond)}, but the file ends at page {pages}."
        )


def _scanned(document: Document, rules: Sequence[GuidelineRule]) -> Iterator[GuidelineProblem]:
    """Notes on pages that are pictures, where rules stand on them."""
    for note in document.notes:
        numbers = {number for match in _PAGES.finditer(note) for number in _spread(match.group(1))}
        if any(rule.page in numbers or rule.page_end in numbers for rule in rules):
            yield GuidelineProblem("scanned", None, note)


def _spread(pages: str) -> Iterator[int]:
    """
    >>> list(_spread("3–5, 9"))
    [3, 4, 5, 9]
    """
    for part in pages.split(", "):
        first, _, last = part.partition("–")
        yield from range(int(first), int(last or first) + 1)


def _gaps(rules: Sequence[GuidelineRule]) -> Iterator[GuidelineProblem]:
    numbers = [tuple(int(part) for part in rule.id.split(".")) for rule in rules]
    if numbers and numbers[0][-1] != 1:
        yield GuidelineProblem(
            "gap", rules[0].id, f"The first recommendation is {rules[0].id}; earlier ones are missing."
        )
    for (before, after), rule in zip(pairwise(numbers), rules[1:], strict=False):
        expected = before[-1] + 1 if after[:-1] == before[:-1] else 1
        if after[-1] != expected:
            first = ".".join(map(str, (*after[:-1], expected)))
            yield GuidelineProblem("gap", rule.id, f"The numbering jumps to {rule.id}; {first} is missing.")
    sections = sorted({number[:2] for number in numbers})
    for before, after in pairwise(sections):
        if before[0] == after[0] and after[1] > before[1] + 1:
            yield GuidelineProblem("gap", None, f"There is no recommendation in section {before[0]}.{before[1] + 1}.")


def _missing_sections(document: Document, rules: Sequence[GuidelineRule]) -> Iterator[GuidelineProblem]:
    """Sections that the contents list, and that no rule stands in: the file is not whole."""
    read = {rule.id.rpartition(".")[0] for rule in rules}
    listed = []
    for block in document.blocks:
        if block.kind != "heading" and block.section and CONTENTS.match(block.section[-1]):
            match = SECTION.match(document.text, block.start, block.end)
            if match and match.group(1) not in listed:
                listed.append(match.group(1))
    for number in listed:
        if number not in read:
            yield GuidelineProblem(
                "gap", None, f"The table of contents lists section {number}, but none of its recommendations was found."
            )


def _left_unread(coverage: Coverage) -> Iterator[GuidelineProblem]:
    for stray in coverage.stray:
        yield GuidelineProblem(
            "unread",
            None,
            f"Page {stray.page}: “{_short(stray.text)}” begins with a number, but was not read as a recommendation.",
        )
    for text in coverage.unread:
        after = f", after recommendation {text.rule}" if text.rule else ""
        message = (
            f"Page {text.page}{after}: “{_short(text.text)}” was not read as part of a recommendation, table or note."
        )
        yield GuidelineProblem("unread", text.rule, message)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= SHOWN else words[:SHOWN].rsplit(" ", 1)[0] + " …"


def _tables(guideline: Guideline) -> Iterator[GuidelineProblem]:
    """Tables that rules name and that are not here or not text, and numbered ones that nothing names."""
    known = {table.name: table for table in guideline.tables}
    named = {name for note in guideline.notes for name in table_names(note.text)}
    for rule in guideline.rules:
        for name in table_names(rule.text):
            if name not in known:
                message = f"Recommendation {rule.id} refers to {name}, which was not found in this file."
                yield GuidelineProblem("table", rule.id, message)
            elif known[name].is_picture:
                message = f"Recommendation {rule.id} refers to {name} on page {known[name].page}, which has no text."
                yield GuidelineProblem("table", rule.id, message)
    named |= {name for rule in guideline.rules for name in table_names(rule.text)}
    last = max((rule.end for rule in guideline.rules), default=0)
    for table in guideline.tables:
        holders = [rule.id for rule in guideline.rules if table in rule.tables]
        is_named = table.name in named or (holders and (table.name is None or not table_names(table.name)))
        if not is_named and table.start < last:
            kept = f" It is kept with recommendation {holders[0]}, above it." if holders else ""
            message = f"Page {table.page}: no recommendation refers to {table.name or 'a table'}.{kept}"
            yield GuidelineProblem("table", holders[0] if holders else None, message)


def _unfinished(rules: Sequence[GuidelineRule]) -> Iterator[GuidelineProblem]:
    for rule in rules:
        if not rule.text.rstrip(")]”’\"' ").endswith((".", "!", "?")):
            message = f"Recommendation {rule.id} ends in the middle of a sentence: “… {rule.text[-40:]}”."
            yield GuidelineProblem("incomplete", rule.id, " ".join(message.split()))


def _dangling(rules: Sequence[GuidelineRule], symptoms: Sequence[SymptomRow]) -> Iterator[GuidelineProblem]:
    known = {rule.id for rule in rules}
    for rule in rules:
        for number in dict.fromkeys(REFERENCE.findall(rule.text)):
            if number not in known and not _ELSEWHERE.search(rule.text):
                yield GuidelineProblem(
                    "reference", rule.id, f"Recommendation {rule.id} refers to {number}, which is not in this file."
                )
    for row in symptoms:
        for number in row.references:
            if number not in known:
                yield GuidelineProblem(
                    "reference",
                    number,
                    f"A symptom row on page {row.page} refers to {number}, which is not in this file.",
                )


def _rows(symptoms: Sequence[SymptomRow]) -> Iterator[GuidelineProblem]:
    for row in symptoms:
        if not row.references:
            yield GuidelineProblem("symptom_row", None, f"A symptom row on page {row.page} names no recommendation.")


def _unread(rules: Sequence[GuidelineRule]) -> Iterator[GuidelineProblem]:
    dated = sum(rule.date is not None for rule in rules)
    for rule in rules:
        if rule.date is None and 2 * dated > len(rules):
            yield GuidelineProblem(
                "incomplete", rule.id, f"Recommendation {rule.id} has no date tag. Check that it is complete."
            )
        if rule.unread:
            count = len(rule.unread)
            words = "criterion needs" if count == 1 else "criteria need"
            yield GuidelineProblem(
                "needs_reading",
                rule.id,
                f"Recommendation {rule.id}: {count} {words} checking by hand.",
            )
    if not any(rule.criteria is not None and not rule.unread for rule in rules):
        yield GuidelineProblem(
            "no_criteria", None, "No criteria found, so patients cannot be assessed against this guideline."
        )
