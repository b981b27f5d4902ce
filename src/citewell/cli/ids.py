"""Ids on the command line: the first characters are enough, and so is the hash that a log holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from citewell.errors import InputError, NotFound
from citewell.types.hashed_ids import is_logged, is_meant

ALL = 10_000_000


@dataclass(frozen=True, slots=True)
class ListPart:
    """Which of a list may hold the one that is meant."""

    starting: str
    limit: int


def part_of(given: str) -> ListPart:
    """Those that start so, two of them being one too many; a hash is looked for among all."""
    return ListPart("", ALL) if is_logged(given) else ListPart(given, 2)


def find(given: str, ids: Iterable[str], *, missing: str) -> str:
    """The one id that starts with these characters, or whose hash in a log does.

    >>> find("5F", ["5f2a", "7b00"], missing="There is none.")
    '5f2a'
    """
    found = {id_ for id_ in ids if is_meant(id_, given)}
    if len(found) > 1:
        raise InputError(f"{len(found)} IDs start with these characters. Give more characters.")
    if not found:
        raise NotFound(missing)
    return found.pop()
