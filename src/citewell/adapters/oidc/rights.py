"""What the claims of a provider let somebody do here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citewell.types import Role

RANK = (Role.READER, Role.MEMBER, Role.EDITOR, Role.ADMIN)


def role_of(claims: Mapping[str, Any], *, claim: str, roles: Mapping[str, Role]) -> Role | None:
    """The highest role that the values of a claim stand for; None where none of them does.

    >>> role_of({"realm": {"roles": ["nurses", "it"]}}, claim="realm.roles", roles={"nurses": Role.MEMBER})
    <Role.MEMBER: 'member'>
    """
    found = [roles[value] for value in values_of(claims, claim) if value in roles]
    return max(found, key=RANK.index, default=None)


def values_of(claims: Mapping[str, Any], claim: str) -> list[str]:
    """The texts of a claim, whose name may lead through several levels by dots."""
    value: Any = claims
    for part in claim.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, str)]
