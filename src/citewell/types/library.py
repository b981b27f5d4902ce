"""What the library keeps and who may see it: Scope, User, Filing, LibraryEntry, and the ids of passages."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from citewell.errors import InputError, ScopeRefused
from citewell.types.documents import Metadata
from citewell.types.literature import CitedNotice, Notice
from citewell.types.tags import checked_tags

EVERY = "*"
"""In a scope: no restriction. Not a legal tag, journey or subject, so no document can carry it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Who is asking, decided before anything is ranked; every field must be said.

    A document is visible when its tenant is the same, it is tagged `public` or shares a tag, it is universal or in the
    journey, and it has no subject or the same one.

    >>> Scope.owner("clinic").tags == frozenset({EVERY})
    True
    """

    tenant: str
    tags: frozenset[str]
    journey: str | None
    subject: str | None
    document: str | None = None
    """The lineage of the one document that is looked at, where a question is narrowed to it."""

    def __post_init__(self) -> None:
        if not isinstance(self.tags, frozenset):
            raise ScopeRefused("A scope needs its tags as a frozenset; an empty one sees only public documents.")

    @classmethod
    def owner(cls, tenant: str) -> Scope:
        """All that a tenant has: for the person who keeps the library."""
        return cls(tenant, frozenset({EVERY}), EVERY, EVERY)


class Role(StrEnum):
    """What a user may do: read, ask, add documents, or everything."""

    READER = "reader"
    MEMBER = "member"
    EDITOR = "editor"
    ADMIN = "admin"


OWNER_ID = "owner"
"""The person at the machine who keeps the library; ids of users are UUIDs, so no user can have this one."""


@dataclass(frozen=True, slots=True)
class User:
    """Who asks, and what they may see.

    >>> User.owner(Scope.owner("clinic")).is_admin
    True
    """

    user_id: str
    role: Role
    scope: Scope

    @classmethod
    def owner(cls, scope: Scope) -> User:
        """The person who keeps the library."""
        return cls(OWNER_ID, Role.ADMIN, scope)

    @property
    def tenant(self) -> str:
        return self.scope.tenant

    @property
    def is_admin(self) -> bool:
        return self.role is Role.ADMIN

    @property
    def may_ask(self) -> bool:
        return self.role is not Role.READER


class LifecycleState(StrEnum):
    """Where a document is in its life."""

    PENDING = "pending"
    QUEUED = "queued"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


MAX_CHUNK = 8_000


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a document is cut; `size` and `overlap` are in `unit`."""

    strategy: Literal["sections", "characters", "headings"]
    size: int
    overlap: int
    unit: Literal["tokens", "characters"]

    def __post_init__(self) -> None:
        if (self.unit == "characters") != (self.strategy == "characters"):
            raise InputError("Use tokens for sections and headings, and characters for characters.")
        if not 50 <= self.size <= MAX_CHUNK or not 0 <= 2 * self.overlap <= self.size:
            raise InputError(
                f"A passage must have 50 to {MAX_CHUNK:,} units, and overlap its neighbours by at most half."
            )


@dataclass(frozen=True, slots=True)
class Filing:
    """Where a document belongs, as said by the person who adds it.

    What is not said (None) is as it was in the version before; else public, for all journeys, about nobody.
    Tags are kept as `checked_tags` writes them; one that is malformed is refused here, before anything is changed.

    >>> Filing(tags=frozenset({"HR"})).tags
    frozenset({'hr'})
    """

    tags: frozenset[str] | None = None
    journeys: frozenset[str] | None = None
    """Empty: universal."""
    subject: str | None = None
    title: str | None = None
    replaces: str | None = None
    """The id of the document that this one is the next version of."""
    chunking: Chunking | None = None
    added_by: str | None = None
    is_separate: bool = False
    """It is the next version of nothing, whatever is called like it."""

    def __post_init__(self) -> None:
        if self.tags is not None:  # who may use a reserved one is decided where it is known who files
            object.__setattr__(self, "tags", checked_tags(self.tags, by_admin=True))


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """One document version as the library lists it."""

    id: str
    tenant: str
    lineage: str
    version: int
    name: str
    title: str
    media_type: str
    state: LifecycleState
    is_current: bool
    content_hash: str
    size_bytes: int
    tags: tuple[str, ...]
    journeys: tuple[str, ...]
    subject: str | None
    page_count: int
    chunk_count: int
    sentence_count: int
    chunking: Chunking
    embedder: str | None
    metadata: Metadata
    notes: tuple[str, ...]
    error: str | None
    added_at: datetime
    added_by: str | None
    processed_at: datetime | None
    took_s: float | None
    attempts: int = 0
    next_attempt_at: datetime | None = None
    """When a reading that did not work is tried again."""
    rework: Literal["queued", "processing"] | None = None
    """How far a second reading has come, while the first one goes on answering."""
    revision: int = 0
    """Grows with every edit by a person, so that two of them notice each other."""
    notices: tuple[Notice, ...] = ()
    """What was published about it since: its retraction, doubts, corrections."""

    @property
    def is_usable(self) -> bool:
        """Whether it answers."""
        return self.is_current and self.state is LifecycleState.COMPLETED

    @property
    def said_since(self) -> tuple[str, ...]:
        """The same in words."""
        return tuple(CitedNotice.of(self.id, self.title, notice).text for notice in self.notices)


CHUNK_NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def source_id(document_id: str, chunk_index: int) -> str:
    """The name that a citation carries.

    >>> source_id("550e8400-e29b-41d4-a716-446655440000", 3)
    '550e8400-e29b-41d4-a716-446655440000:3'
    """
    return f"{document_id}:{chunk_index}"


def chunk_id(document_id: str, chunk_index: int) -> str:
    """A chunk's own stable id.

    >>> chunk_id("550e8400-e29b-41d4-a716-446655440000", 0)
    '94a95541-fb48-5918-9a19-2a9e3932b380'
    """
    return str(uuid.uuid5(CHUNK_NAMESPACE, source_id(document_id, chunk_index)))
