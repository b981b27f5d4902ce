"""What changed from one edition of a guideline to the next: rules added, removed, moved and reworded, word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, TypeVar

from citewell.assistants.guidelines.criteria import (
    Absence,
    AgeRange,
    AllOf,
    AnyOf,
    Criteria,
    Exposure,
    FindingCriterion,
    MeetsOtherRules,
    NeedsReading,
    Sex,
    Threshold,
    described,
    render,
)
from citewell.assistants.guidelines.guideline import Guideline, GuidelineRule, RuleTable


@dataclass(frozen=True, slots=True)
class _Asked:
    """One thing that a rule asks for, and of whom."""

    name: str
    words: str
    people: tuple[str, ...]
    at_least: int


def criteria_changes(old: Criteria | None, new: Criteria | None) -> tuple[str, ...]:
    """Each thing that criteria ask for and did not, ask for no more, or ask of other people or to another extent.

    >>> finding = FindingCriterion("leukopenia", "leukopenia")
    >>> criteria_changes(finding, AllOf((AgeRange("aged 60 and over", 60), finding)))
    ('leukopenia: now only for people aged 60 and over',)
    >>> ten = Threshold("FIT of 10 or more", "FIT", ">=", 10, None)
    >>> criteria_changes(ten, Threshold("FIT over 20", "FIT", ">", 20, None))
    ('FIT: now “FIT over 20” (was “FIT of 10 or more”)',)
    """
    before, now = _by_name(old), _by_name(new)
    lines = [f"criterion removed: {asked[0].words}" for name, asked in before.items() if name not in now]
    lines += [f"new criterion: {_whole(asked[0])}" for name, asked in now.items() if name not in before]
    for name, asked in now.items():
        lines += _changes(name, before.get(name, asked), asked)
    return tuple(lines)


def _changes(name: str, before: list[_Asked], now: list[_Asked]) -> Iterator[str]:
    """What differs between what was asked of one name and what is asked."""
    old, new = (
        "; or ".join(dict.fromkeys(each)) for each in ([one.words for one in before], [one.words for one in now])
    )
    if old != new:
        yield f"{name}: now “{new}” (was “{old}”)"
    whom, people = (" or ".join(dict.fromkeys(" ".join(one.people) for one in each)) for each in (before, now))
    if whom != people:
        then = f" (was {whom})" if whom else ""
        only = f"only {' or '.join(dict.fromkeys(_for(one.people) for one in now))}"
        yield f"{name}: now {only if people and not then else people or 'for everyone'}{then}"
    for count, other in zip((one.at_least for one in before), (one.at_least for one in now), strict=False):
        if count != other:
            yield f"{name}: now at least {other} of the listed criteria must be met (was {count})"


def _for(people: Sequence[str]) -> str:
    """For whom a criterion is: women aged 60 and over."""
    sexes = [one for one in people if one in ("in women", "in men")]
    who = " and ".join(one.removeprefix("in ") for one in sexes) or "people"
    return " ".join(["for", who, *(one for one in people if one not in sexes)])


def _whole(asked: _Asked) -> str:
    return " ".join((asked.words, *asked.people))


def _by_name(tree: Criteria | None) -> dict[str, list[_Asked]]:
    found: dict[str, list[_Asked]] = {}
    for asked in _asked(tree, (), 1) if tree is not None else ():
        found.setdefault(asked.name, []).append(asked)
    return found


def _asked(tree: Criteria, people: tuple[str, ...], at_least: int) -> Iterator[_Asked]:
    """The leaves other than age and sex, each with those that hold for it."""
    match tree:
        case AllOf(parts=parts):
            own = tuple(limit for part in parts if (limit := _people(part)))
            for part in parts:
                if not _people(part) or len(parts) == len(own):
                    yield from _asked(part, (*people, *own), at_least)
        case AnyOf(parts=parts, at_least=count):
            for part in parts:
                yield from _asked(part, people, count)
        case FindingCriterion(phrase=phrase):
            yield _Asked(phrase.casefold(), described(tree), people, at_least)
        case Threshold(test=test):
            yield _Asked(test, described(tree), people, at_least)
        case Exposure(name=name):
            yield _Asked(name, described(tree), people, at_least)
        case Absence() | MeetsOtherRules() | NeedsReading():
            yield _Asked(described(tree), described(tree), people, at_least)
        case AgeRange() | Sex():
            yield _Asked("who", "", (*people, _people(tree)), at_least)


def _people(tree: Criteria) -> str:
    """Whom an age, a sex or a choice among them is about, in words; nothing where it is anything else."""
    match tree:
        case AgeRange(age_from=None, age_below=None):
            return ""
        case AgeRange(age_from=low, age_below=high):
            if low is None:
                return f"aged under {high}"
            return f"aged {low} and over" if high is None else f"aged {low} to {high - 1}"
        case Sex(sex=sex):
            return f"in {'women' if sex == 'female' else 'men'}"
        case AnyOf(parts=parts) if all(isinstance(part, AgeRange | Sex) for part in parts):
            return " or ".join(filter(None, map(_people, parts)))
        case _:
            return ""


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
