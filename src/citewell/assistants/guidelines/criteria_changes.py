"""What has changed in the criteria of a rule, in words: “leukopenia: now only aged 60 and over”."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
)


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
    ('leukopenia: now only aged 60 and over',)
    >>> ten = Threshold("FIT of 10 or more", "FIT", ">=", 10, None)
    >>> criteria_changes(ten, Threshold("FIT over 20", "FIT", ">", 20, None))
    ('FIT: now “FIT over 20” (was “FIT of 10 or more”)',)
    """
    before, now = _by_name(old), _by_name(new)
    lines = [f"no longer a criterion: {asked[0].words}" for name, asked in before.items() if name not in now]
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
        yield f"{name}: now {f'only {people}' if people and not then else people or 'for everyone'}{then}"
    for count, other in zip((one.at_least for one in before), (one.at_least for one in now), strict=False):
        if count != other:
            yield f"{name}: now at least {other} of the listed criteria must be met (was {count})"


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
