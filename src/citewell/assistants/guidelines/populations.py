"""Groups of people that rules are about, with the ages that the guideline itself gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from citewell.assistants.guidelines.criteria import Age, Criteria, Sex
from citewell.assistants.guidelines.guideline import Definition
from citewell.assistants.guidelines.tables import rows

_BIRTH = re.compile(r"from birth to (?P<last>\d+) years", re.IGNORECASE)
_SPAN = re.compile(r"aged? (?P<first>\d+) to (?P<last>\d+)", re.IGNORECASE)
_OVER = re.compile(r"aged? (?P<first>\d+)(?: years)? (?:and|or) (?:over|older|above)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Group:
    """A group of people by sex and age."""

    word: str
    sex: str | None
    age_from: int | None
    age_below: int | None


@dataclass(frozen=True, slots=True)
class Terms:
    """The groups of a guideline, longest word first."""

    groups: tuple[Group, ...]

    @classmethod
    def of(cls, definitions: Iterable[Definition]) -> Terms:
        """The table's groups, with the ages that the guideline defines."""
        defined = {one.term.casefold(): _ages(one.text) for one in definitions}
        groups = []
        for word, *cells in rows("populations.tsv"):
            sex, first, below = (*cells, "", "", "")[:3]
            ages = defined.get(word) or defined.get(word + "s") or defined.get(_PLURALS.get(word, word))
            start, end = ages or (int(first) if first else None, int(below) if below else None)
            groups.append(Group(word, sex or None, start or None, end))
        return cls(tuple(sorted(groups, key=lambda group: -len(group.word))))

    @property
    def pattern(self) -> str:
        """A group, with the article it may have."""
        words = "|".join(re.escape(group.word) for group in self.groups)
        return rf"(?:(?:any|an?|all|the|some)\s+)?(?:{words})\b"

    def leading(self, text: str) -> tuple[list[Criteria], str]:
        """What the group at the start of a text asks for, and the rest of the text."""
        match = re.match(self.pattern, text, re.IGNORECASE)
        if match is None:
            return [], text
        named = (
            match.group().split(maxsplit=1)[-1]
            if re.match(r"(?:any|an?|all|the|some)\s", match.group())
            else match.group()
        )
        return self.conditions(named), text[match.end() :]

    def conditions(self, word: str) -> list[Criteria]:
        """What belonging to a group means."""
        group = next((one for one in self.groups if one.word == word.casefold()), None)
        if group is None:
            return []
        found: list[Criteria] = []
        if group.sex in ("female", "male"):
            found.append(Sex(word, "female" if group.sex == "female" else "male"))
        if group.age_from is not None or group.age_below is not None:
            found.append(Age(_told(group), group.age_from, group.age_below, population=group.word))
        return found


_PLURALS = {"child": "children", "woman": "women", "man": "men"}


def _told(group: Group) -> str:
    if group.age_from is None:
        return f"{group.word} (under {group.age_below})"
    return (
        f"{group.word} ({group.age_from} and over)"
        if group.age_below is None
        else f"{group.word} ({group.age_from} to {group.age_below - 1})"
    )


def _ages(text: str) -> tuple[int | None, int | None] | None:
    if match := _BIRTH.search(text):
        return None, int(match.group("last")) + 1
    if match := _SPAN.search(text):
        return int(match.group("first")), int(match.group("last")) + 1
    if match := _OVER.search(text):
        return int(match.group("first")), None
    return None
