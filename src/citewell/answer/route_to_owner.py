"""Finds the person who should answer when the documents do not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from citewell.ports import Owners
from citewell.types import EVERY, Route, Scope

UNROUTED = frozenset({"public", "system"})
"""Tags that say nothing about who knows."""

NOBODY = (
    "No one is set to answer these questions yet. Yours is in the administrators' inbox; the reply will appear "
    "under Sent."
)
"""What an asker reads whose tenant has no administrator; those of other tenants are never named."""

REPORTED = "Reported by the person who asked: "
"""What the reason opens with for which an answer was sent to its owner as wrong."""

OWN_TAG = "you answer for tag “{tag}” yourself"
"""Why the owner of a tag is not sent a question of their own, as they read it."""
_OWN_TAG = re.compile(r"; you answer for tag “([^”]*)” yourself$")


class Tagged(Protocol):
    """A passage or a document, with the tags that it carries."""

    @property
    def tags(self) -> tuple[str, ...]: ...


def route(reason: str, hits: Sequence[Tagged], *, scope: Scope, owners: Owners, admin_email: str | None) -> Route:
    """The owner of the tag that most of the passages carry and the asker holds, else an administrator, if any.

    Of tags that occur equally often the one of the better passage wins, then the alphabet.
    """
    held = {tag for hit in hits for tag in hit.tags} if EVERY in scope.tags else scope.tags
    counts = Counter(tag for hit in hits for tag in hit.tags if tag in held and tag not in UNROUTED)
    first = {tag: rank for rank, hit in reversed(list(enumerate(hits))) for tag in hit.tags}
    for tag in sorted(counts, key=lambda tag: (-counts[tag], first[tag], tag))[:1]:
        owner = owners.owner_of(tag, tenant=scope.tenant)
        if owner is not None:
            return Route(tag, owner.id, owner.email, reason, fallback=False)
        administrator = _administrator(owners.administrators(tenant=scope.tenant), admin_email)
        return Route(tag, None, administrator, reason, fallback=True)
    administrator = _administrator(owners.administrators(tenant=scope.tenant), admin_email)
    return Route("system", None, administrator, reason, fallback=True)


def told_to_others(reason: str) -> str:
    """Why a question was passed on, as anybody but its asker reads it.

    >>> told_to_others("no passage fits; you answer for tag “ward” yourself")
    'no passage fits; the asker answers for tag “ward”'
    """
    return _OWN_TAG.sub(r"; the asker answers for tag “\1”", reason)


def _administrator(own: Sequence[str], named: str | None) -> str | None:
    """Whom to name: the tenant's own administrator where it has one, else the one whom the settings name for it.

    >>> _administrator(["ann@ward.example", "bob@ward.example"], "bob@ward.example"), _administrator([], "it@x.example")
    ('bob@ward.example', 'it@x.example')
    """
    return named if named in own or not own else own[0]
