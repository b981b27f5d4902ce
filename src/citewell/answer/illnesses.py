"""Illnesses that a text names, by any of their names, and how they are related: flu is influenza, and an infection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from citewell import vocabulary
from citewell.clinical import fold, joins
from citewell.work import spend

NONE = "-"
"""The row of phrases that look like an illness and are none."""

SHORTEST_FOLDED = 4
"""Letters from which a word in capitals that is no abbreviation of the table is read as any other: MALARIA, HEART."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Illness:
    """Where a text names an illness."""

    start: int
    end: int
    name: str
    """The name of the row, so that “flu” and “influenza” are one."""
    is_sure: bool
    """Whether the name means nothing else."""


@dataclass(frozen=True, slots=True)
class _IllnessTable:
    names: dict[tuple[str, ...], tuple[str, bool]]
    longest: dict[str, int]
    broader: dict[str, frozenset[str]]
    others: dict[str, tuple[str, ...]]


@cache
def _table() -> _IllnessTable:
    table = _IllnessTable({}, {}, {}, {})
    for row in vocabulary.rows("illnesses.tsv"):
        name, broader, others = [*row, "", ""][:3]
        table.broader[name] = frozenset(filter(None, broader.split("|")))
        table.others[name] = tuple(filter(None, others.split("|")))
        for written in (*((name,) if name != NONE else ()), *table.others[name]):
            words = _folded(written.rstrip("?"))
            table.names.setdefault(words, (name, not written.endswith("?")))
            table.longest[words[0]] = max(table.longest.get(words[0], 0), len(words))
    return table


def _folded(text: str) -> tuple[str, ...]:
    return tuple(_as_read(word) for word in _WORD.findall(text))


@cache
def _abbreviations() -> frozenset[str]:
    """The words that the table writes in capitals."""
    written = (word for row in vocabulary.rows("illnesses.tsv") for cell in row for word in _WORD.findall(cell))
    return frozenset(word for word in written if _is_capital(word))


def _is_capital(word: str) -> bool:
    return len(word) > 1 and word[:2].isupper()


@lru_cache(maxsize=50_000)
def _as_read(word: str) -> str:
    """A word as it is looked up; abbreviations keep their capitals, for they are read as written."""
    short = word.rstrip("s")
    if _is_capital(word) and (short in _abbreviations() or len(short) < SHORTEST_FOLDED):
        return short
    return fold(word)


@lru_cache(maxsize=4096)
def illnesses(text: str) -> tuple[Illness, ...]:
    """Every illness that a text names, in order, the longest name first.

    >>> [found.name for found in illnesses("Heart attacks in people with type 2 diabetes, not respiratory depression")]
    ['myocardial infarction', 'type 2 diabetes']
    >>> [found.name for found in illnesses("SEVERE MALARIA. In hepatitis, a biopsy.")]
    ['malaria', 'hepatitis']
    """
    spend()
    table = _table()
    spans = [match.span() for match in _WORD.finditer(text)]
    words = [_as_read(text[start:end]) for start, end in spans]
    found: list[Illness] = []
    at = 0
    while at < len(words):
        size = _joined(text, spans[at : at + table.longest.get(words[at], 0)])
        known = None
        while size and known is None:
            known = table.names.get(tuple(words[at : at + size]))
            size -= known is None
        if known is not None and known[0] != NONE:
            found.append(Illness(spans[at][0], spans[at + size - 1][1], *known))
        at += max(size, 1)
    return tuple(found)


MOST_BETWEEN = 2
"""Words that may stand between two of a name that is told in parts."""


@lru_cache(maxsize=1_000)
def parted_illnesses(text: str) -> frozenset[str]:
    """The illnesses whose names stand in a short text in parts: “sickle cell bone pain crisis”.

    >>> parted_illnesses("Sickle cell bone pain crisis"), parted_illnesses("Pain in the heart, liver failure")
    (frozenset({'sickle cell disease'}), frozenset())
    """
    found: set[str] = set()
    for clause in re.split(r"[,;.()]", text):
        words = _folded(clause)
        for name, (illness, is_sure) in _table().names.items():
            if is_sure and illness != NONE and len(name) > 2 and _is_in_parts(name, words):
                found.add(illness)
    return frozenset(found)


def _is_in_parts(name: Sequence[str], words: Sequence[str]) -> bool:
    at = -1
    for word in name:
        near = words[at + 1 : at + 2 + MOST_BETWEEN] if at >= 0 else words
        if word not in near:
            return False
        at = at + 1 + near.index(word) if at >= 0 else words.index(word)
    return True


def _joined(text: str, spans: Sequence[tuple[int, int]]) -> int:
    """How many words from the first on may make one name: none runs across a comma or full stop."""
    size = min(1, len(spans))
    while size < len(spans) and joins(text, spans[size - 1][1], spans[size][0]):
        size += 1
    return size


@cache
def wider(name: str) -> frozenset[str]:
    """An illness and all that it is a kind of."""
    above = _table().broader.get(name, frozenset())
    return frozenset((name,)).union(*(wider(one) for one in above))


def are_related(one: str, other: str) -> bool:
    """Whether two names mean the same, or one is a kind of the other.

    >>> are_related("pneumonia", "community-acquired pneumonia"), are_related("type 1 diabetes", "type 2 diabetes")
    (True, False)
    """
    return one in wider(other) or other in wider(one)


def other_names(name: str) -> tuple[str, ...]:
    """What else an illness is called."""
    return _table().others[name]


def named_illnesses(text: str) -> frozenset[str]:
    """The usual names of the illnesses in a text."""
    return frozenset(illness.name for illness in illnesses(text))


def speaks_of(text: str, illness: str) -> bool:
    """Whether a text names an illness, a kind of it, or what it is called with fewer words.

    >>> [speaks_of("Type 2 diabetes", name) for name in ("diabetes", "type 2 diabetes", "type 1 diabetes")]
    [True, True, False]
    >>> speaks_of("In diabetes", "type 2 diabetes"), speaks_of("In infections", "malaria")
    (True, False)
    """
    return any(illness in wider(name) or _is_shorter(name, illness) for name in named_illnesses(text))


def _is_shorter(name: str, illness: str) -> bool:
    return name in wider(illness) and set(name.split()) <= set(re.split(r"[ -]", illness))


def is_of_another_illness(asked: frozenset[str], text: str, titles: Iterable[str]) -> bool:
    """Whether a text names none of the illnesses asked about, and stands under titles that name others alone.

    >>> dengue = named_illnesses("Pain relief in dengue?")
    >>> [is_of_another_illness(dengue, "Offer paracetamol.", [title]) for title in ("Dengue", "Malaria", "Pain")]
    [False, True, False]
    """
    if not asked or any(speaks_of(text, name) for name in asked):
        return False
    above = frozenset[str]().union(*map(named_illnesses, titles))
    return bool(above) and not any(are_related(one, name) for one in above for name in asked)
