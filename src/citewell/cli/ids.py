"""Ids on the command line: the first characters are enough."""

from __future__ import annotations

from collections.abc import Iterable

from citewell.errors import InputError, NotFound


def find(prefix: str, ids: Iterable[str], *, missing: str) -> str:
    """The one id that starts with these characters.

    >>> find("5F", ["5f2a", "7b00"], missing="There is none.")
    '5f2a'
    """
    found = {one for one in ids if one.startswith(prefix.lower())} if prefix else set()
    if len(found) > 1:
        raise InputError(f"{len(found)} ids start with these characters: give more of them.")
    if not found:
        raise NotFound(missing)
    return found.pop()
