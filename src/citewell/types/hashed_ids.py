"""Ids as logs hold them: a hash that leads back to a document, an answer or a person only for who has the library."""

from __future__ import annotations

import hashlib
import re

MARK = "h"
"""What a hash opens with; no id does, since ids are hexadecimal."""
DIGITS = 12
_LOGGED = re.compile(f"{MARK}[0-9a-f]{{1,{DIGITS}}}", re.IGNORECASE)


def logged(one: str) -> str:
    """What a log says in place of an id.

    >>> logged("550e8400-e29b-41d4-a716-446655440000")
    'ha3a9e1ed9732'
    """
    return MARK + hashlib.sha256(one.encode()).hexdigest()[:DIGITS]


def is_logged(given: str) -> bool:
    """Whether somebody typed what a log says rather than an id."""
    return _LOGGED.fullmatch(given) is not None


def is_meant(one: str, given: str) -> bool:
    """Whether these characters are the first of an id, or of what a log says in its place.

    >>> is_meant("5f2a", "5F"), is_meant("5f2a", logged("5f2a")), is_meant("5f2a", ""), is_meant("5f2a", "h")
    (True, True, False, False)
    """
    if is_logged(given):
        return logged(one).startswith(given.lower())
    return bool(given) and one.startswith(given.lower())
