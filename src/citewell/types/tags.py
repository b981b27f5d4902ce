"""Tags: the one rule for how they are written, and which are kept for administrators."""

from __future__ import annotations

import re
from collections.abc import Iterable

from citewell.errors import InputError, ScopeRefused

RESERVED_TAGS = frozenset({"public", "system"})
_TAG = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?!-)){0,62}[a-z0-9]|[a-z0-9]")


def checked_tags(names: Iterable[str], *, by_admin: bool) -> frozenset[str]:
    """Tags as they are stored; at least one, well formed, and reserved ones only from an admin.

    >>> sorted(checked_tags(["HR", "hr", "ward-5"], by_admin=False))
    ['hr', 'ward-5']
    """
    found = frozenset(name.strip().lower() for name in names)
    for name in sorted(found):
        if not _TAG.fullmatch(name):
            raise InputError(
                f"“{name[:64]}” is not a valid tag. Use up to 64 lower-case letters, digits and single hyphens inside."
            )
    if not found:
        raise InputError("Enter at least one tag.")
    if not by_admin and found & RESERVED_TAGS:
        raise ScopeRefused(f"Only an administrator can use {' and '.join(sorted(found & RESERVED_TAGS))}.")
    return found


def sought_tags(names: Iterable[str]) -> frozenset[str]:
    """Tags as they are looked for: as they are stored, and as they were written, since old libraries hold such too.

    >>> sorted(sought_tags(["HR", "ward-5"]))
    ['HR', 'hr', 'ward-5']
    """
    return frozenset(form for name in names for form in (name.strip(), name.strip().lower()))
