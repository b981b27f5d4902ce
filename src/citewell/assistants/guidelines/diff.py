"""What changed from one edition of a guideline to the next: rules added, removed, moved and reworded, word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, TypeVar

from citewell.assistants.guidelines.criteria import render
from citewell.assistants.guidelines.criteria_changes import criteria_changes
from citewell.assistants.guidelines.guideline import Guideline, GuidelineRule, RuleTable

ALIKE_WITH_NUMBER = 0.5
"""Two rules of one number are the same rule, reworded, when this part of their words is the same."""
ALIKE = 0.8
"""Two rules of different numbers are: the rule has moved."""
ALIKE_ROWS = 0.6
"""Two rows of a table or an index are: the row has changed."""

T = TypeVar("T")
Words = tuple[Literal["same", "removed", "added"], str]


@dataclass(frozen=True, slots=True)
class RulePair:
    """One rule in both editions."""

    old: GuidelineRule
    new: GuidelineRule

    @property
    def is_reworded(self) -> bool:
        return self.old.text.split() != self.new.text.split()

    @property
    def is_moved(self) -> bool:
        return self.old.id != self.new.id


@dataclass(frozen=True, slots=True)
class Diff:
    """Two editions side by side."""

    old: Guideline
    new: Guideline
    pairs: tuple[RulePair, ...]
    removed: tuple[GuidelineRule, ...]
    added: tuple[GuidelineRule, ...]


def diff(old: Guideline, new: Guideline) -> Diff:
    """Each rule of one edition beside the one that it became."""
    pairs = list(_pairs(old.rules, new.rules))
    kept, came = {id(pair.old) for pair in pairs}, {id(rule_pair.new) for rule_pair in pairs}
    order = {id(rule): at for at, rule in enumerate(new.rules)}
    return Diff(
        old,
        new,
        tuple(sorted(pairs, key=lambda pair: order[id(pair.new)])),
        tuple(rule for rule in old.rules if id(rule) not in kept),
        tuple(rule for rule in new.rules if id(rule) not in came),
    )


def _pairs(old: Sequence[GuidelineRule], new: Sequence[GuidelineRule]) -> Iterator[RulePair]:
    """First the same words, then the same number, then the most alike: a number may have gone to another rule."""
    left, right = list(old), list(new)
    by_words: dict[tuple[str, ...], list[GuidelineRule]] = {}
    for rule in right:
        by_words.setdefault(tuple(rule.text.split()), []).append(rule)
    for rule in old:
        same = by_words.get(tuple(rule.text.split()))
        if same:
            guideline_rule = next((one for one in same if one.id == rule.id), same[0])
            same.remove(guideline_rule)
            left.remove(rule)
            right.remove(guideline_rule)
            yield RulePair(rule, guideline_rule)
    numbered = list(_alike_pairs(left, right, _text, ALIKE_WITH_NUMBER, lambda rule, other: rule.id == other.id))
    yield from (RulePair(*pair) for pair in [*numbered, *_alike_pairs(left, right, _text, ALIKE)])


def _text(of: GuidelineRule | RuleTable) -> str:
    return of.text


def _alike_pairs(
    left: list[T],
    right: list[T],
    words: Callable[[T], str],
    least: float,
    may: Callable[[T, T], bool] = lambda _, __: True,
) -> Iterator[tuple[T, T]]:
    """The pairs that share most words, the most alike first; both lists keep what is left."""
    scored = [
        (ratio, -at, one, other)
        for at, one in enumerate(left)
        for other in right
        if may(one, other) and (ratio := _alike(words(one), words(other), least)) >= least
    ]
    for _, _, one, other in sorted(scored, key=lambda each: each[:2], reverse=True):
        if one in left and other in right:
            left.remove(one)
            right.remove(other)
            yield one, other


def _alike(first: str, second: str, least: float) -> float:
    matcher = SequenceMatcher(None, first.split(), second.split(), autojunk=False)
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return 0.0
    return matcher.ratio()


def _words(old: Sequence[str], new: Sequence[str]) -> Iterator[Words]:
    """
    >>> list(_words("aged 40 and over".split(), "aged 45 and over".split()))
    [('same', 'aged'), ('removed', '40'), ('added', '45'), ('same', 'and over')]
    """
    for kind, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "same", " ".join(old[first:last])
            continue
        if first < last:
            yield "removed", " ".join(old[first:last])
        if begin < end:
            yield "added", " ".join(new[begin:end])


def diff_json(found: Diff) -> dict[str, Any]:
    """The difference as its views show it."""
    return {
        "old": _edition(found.old),
        "new": _edition(found.new),
        "added": [_rule(rule) for rule in found.added],
        "removed": [_rule(guideline_rule) for guideline_rule in found.removed],
        "changed": [_changed(pair) for pair in found.pairs if pair.is_reworded],
        "moved": [
            {"from": rule_pair.old.id, "to": rule_pair.new.id} for rule_pair in found.pairs if rule_pair.is_moved
        ],
        "unchanged": sum(not pair.is_reworded for pair in found.pairs),
        "symptoms": _rows(found),
        "symptoms_changed": _changed_rows(_index_rows(found.old), _index_rows(found.new)),
        "tables": _tables(found),
        "definitions": _definitions(found),
    }


def _edition(guideline: Guideline) -> dict[str, Any]:
    entry = guideline.entry
    document_id = None if entry is None else entry.id
    return {"document_id": document_id, "name": guideline.name, "title": guideline.title, "edition": guideline.edition}


def _rule(rule: GuidelineRule) -> dict[str, Any]:
    return {"rule": rule.id, "section": rule.section, "page": rule.page, "text": rule.text}


def _changed(pair: RulePair) -> dict[str, Any]:
    criteria = {
        "old": render(pair.old.criteria) if pair.old.criteria else None,
        "new": render(pair.new.criteria) if pair.new.criteria else None,
    }
    return {
        "rule": pair.new.id,
        "was": pair.old.id,
        "page": pair.new.page,
        "words": _marked(pair.old.text, pair.new.text),
        "differences": list(criteria_changes(pair.old.criteria, pair.new.criteria)),
        "criteria": criteria,
        "criteria_changed": criteria["old"] != criteria["new"],
        "action": {"old": pair.old.action.label, "new": pair.new.action.label},
    }


def _marked(old: str, new: str) -> list[dict[str, str]]:
    """A text word by word: what stayed, what went, what came."""
    return [{"op": kind, "text": text} for kind, text in _words(old.split(), new.split())]


def _index_rows(guideline: Guideline) -> list[str]:
    """Rows of the index by symptom, told by their words and not by their page."""
    return list(
        dict.fromkeys(f"{row.symptom} — {row.possible_cancer} — {row.recommendation}" for row in guideline.symptoms)
    )


def _rows(found: Diff) -> dict[str, list[str]]:
    old, new = _index_rows(found.old), _index_rows(found.new)
    return {"added": [one for one in new if one not in old], "removed": [one for one in old if one not in new]}


def _changed_rows(old: Sequence[str], new: Sequence[str]) -> list[dict[str, Any]]:
    """The rows that are in both, in other words."""
    gone, came = [row for row in old if row not in new], [row for row in new if row not in old]
    pairs = list(_alike_pairs(gone, came, str, ALIKE_ROWS))
    return [{"was": was, "now": now, "words": _marked(was, now)} for was, now in pairs]


def _tables(found: Diff) -> dict[str, Any]:
    """The tables and boxes that came, went and changed, row by row."""
    left, right = list(found.old.tables), list(found.new.tables)
    pairs = list(_alike_pairs(left, right, lambda table: table.title, 1.0))
    pairs += _alike_pairs(left, right, _text, ALIKE_WITH_NUMBER)
    changed = [_changed_table(old, new) for old, new in pairs if old.text.split() != new.text.split()]
    return {
        "added": [table.title for table in right],
        "removed": [table.title for table in left],
        "changed": sorted(changed, key=lambda table: int(table["page"])),
    }


def _changed_table(old: RuleTable, new: RuleTable) -> dict[str, Any]:
    """A table whose rows are told one by one: those that changed, came and went."""
    before, now = _table_rows(old), _table_rows(new)
    changed = _changed_rows(before, now)
    was, became = {row["was"] for row in changed}, {row["now"] for row in changed}
    return {
        "title": new.title,
        "page": new.page,
        "rows": changed,
        "added": [row for row in now if row not in before and row not in became],
        "removed": [row for row in before if row not in now and row not in was],
    }


def _table_rows(table: RuleTable) -> list[str]:
    """The rows of a table, and what stands above, between and below them."""
    rows, at = [], table.start
    for start, end in (*((first, last) for first, last, _ in table.rows), (table.end, table.end)):
        rows += [
            table.text[at - table.start : start - table.start],
            table.text[start - table.start : end - table.start],
        ]
        at = end
    return [words for row in rows if (words := " ".join(row.split()))]


def _definitions(found: Diff) -> dict[str, list[str]]:
    old, new = (
        {definition.term: definition.text.split() for definition in edition.definitions}
        for edition in (found.old, found.new)
    )
    return {
        "added": [term for term in new if term not in old],
        "removed": [term for term in old if term not in new],
        "changed": [term for term in new if term in old and new[term] != old[term]],
    }
