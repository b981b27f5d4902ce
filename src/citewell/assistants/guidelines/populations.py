"""Groups of people that rules are about, with the ages that the guideline itself gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from citewell.assistants.guidelines.criteria import AgeRange, Criteria, Sex
from citewell.assistants.guidelines.guideline import Definition
from citewell.clinical.populations import age_limits, leading_group

_BIRTH = re.compile(r"\bfrom birth to (?=\d)", re.IGNORECASE)
_IN = re.compile(r"(?:^|\bin )(?=\w)", re.IGNORECASE)
Ages = tuple[int | None, int | None]
"""From an age, below another."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The ages of groups that a guideline defines, by their names."""

    defined: Mapping[str, Ages]

    @classmethod
    def of(cls, definitions: Iterable[Definition]) -> Terms:
        """The ages that definitions give."""
        return cls(
            {
                definition.term.casefold(): ages
                for definition in definitions
                if (ages := _ages(definition.text)) is not None
            }
        )

    def leading(self, text: str) -> tuple[list[Criteria], str]:
        """What the group at the start of a text asks for, and the rest of the text."""
        named = leading_group(text)
        if named is None:
            return [], text
        word, group, end = named
        found: list[Criteria] = [Sex(word, group.sex)] if group.sex else []
        limits = group.limits[0] if group.limits else None
        plain = (limits.low or None, limits.high) if limits else (None, None)
        low, high = self._defined(word.casefold()) or tuple(None if end is None else int(end) for end in plain)
        if low is not None or high is not None:
            name = word.casefold()
            found.append(AgeRange(_told(name, low, high), low, high, population=name))
        return found, text[end:]

    def heading(self, title: str) -> list[Criteria]:
        """The ages of the group that a heading is about: “Adults”, “Symptoms of concern in adults”."""
        for match in _IN.finditer(title):
            found, rest = self.leading(title[match.end() :])
            if not rest and found:
                return [age_range for age_range in found if isinstance(age_range, AgeRange)]
        return []

    def _defined(self, word: str) -> Ages | None:
        names = (word, f"{word}s", _PLURALS.get(word, word))
        return next((self.defined[name] for name in names if name in self.defined), None)


_PLURALS = {"child": "children", "woman": "women", "man": "men"}


def _told(word: str, low: int | None, high: int | None) -> str:
    if low is None:
        return f"{word} (under {high})"
    return f"{word} ({low} and over)" if high is None else f"{word} ({low} to {high - 1})"


def _ages(text: str) -> Ages | None:
    """The ages that a definition gives: “from birth to 15 years”, “aged 16 to 24”, “aged 18 and over”."""
    limits = next(iter(age_limits(_BIRTH.sub("aged 0 to ", text))), None)
    return None if limits is None else (int(limits.low or 0) or None, None if limits.high is None else int(limits.high))
