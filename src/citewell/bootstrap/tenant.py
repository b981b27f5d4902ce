"""Whose library this is, for the person at the machine."""

from __future__ import annotations

from collections.abc import Collection

from citewell.errors import InputError

FIRST = "local"
"""What the tenant of a new library is called where nobody said."""
SEVERAL = "Several organisations share this library. Set CITEWELL_TENANT to the short name of the one to use."


def tenant_of(named: str | None, known: Collection[str]) -> str:
    """The tenant that was named, else the only one there is; of several none is the default.

    >>> tenant_of(None, ()), tenant_of(None, {"clinic"}), tenant_of("ward", {"clinic", "practice"})
    ('local', 'clinic', 'ward')
    """
    if named is not None:
        return named
    if len(known) > 1:
        raise InputError(SEVERAL)
    return next(iter(known), FIRST)
