"""Who is asking: a user or the owner with the printed link, what their role lets them do, and what they may see."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Depends, Request

from citewell.adapters.store.users import UserAccount
from citewell.api.problems import Problem, Refused
from citewell.errors import ScopeRefused
from citewell.types import EVERY, OWNER_ID, Role, Scope, User
from citewell.types.tags import RESERVED_TAGS, checked_tags, sought_tags

VISITOR = "citewell.visitor"
"""In the scope of a request: who sent it."""

Deed = Literal["read", "ask", "change", "govern"]
Way = Literal["link", "session", "key"]

MAY: dict[Role, frozenset[Deed]] = {
    Role.READER: frozenset({"read"}),
    Role.MEMBER: frozenset({"read", "ask"}),
    Role.EDITOR: frozenset({"read", "ask", "change"}),
    Role.ADMIN: frozenset({"read", "ask", "change", "govern"}),
}
"""What each role may do. read: search and open documents; ask: questions, checks, conversations; change: add, file
and delete documents; govern: users, tag owners, the audit log of all, people's papers."""

NOT_THIS_ROLE = Problem(
    HTTPStatus.FORBIDDEN, "NotThisRole", "Your role does not allow this. Ask an administrator if you need it."
)
ONLY_ADMINS_FILE_PUBLIC = "Only an administrator can add documents that everyone sees. Use one of your own tags."
NOT_YOUR_TAG = "You can add documents only under your own tags. Ask an administrator to add others."
NOT_YOURS_TO_CHANGE = (
    "You can change a document only if you have all of its tags and none of them is public or system. Ask an "
    "administrator to change this one."
)
NOBODYS_PAPERS = "Only an administrator can view or add documents about a person."


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person, or a program that holds a person's key."""

    user_id: str
    tenant: str
    name: str
    email: str | None
    role: Role
    tags: frozenset[str]
    way: Way
    csrf: str
    """What a form must carry to prove that one of our own pages made it for this visitor."""
    registration: str | None = None
    session: str | None = field(default=None, repr=False)
    """The token of the session that the request came in."""
    lacks_factor: bool = False
    """Whether they came by a password alone where their role must show a second factor."""

    @classmethod
    def owner(cls, tenant: str, *, way: Way, csrf: str, session: str | None = None) -> Visitor:
        """Whoever opened the link that `serve` printed."""
        return cls(OWNER_ID, tenant, "Owner", None, Role.ADMIN, frozenset(), way, csrf, session=session)

    @classmethod
    def of(cls, user: UserAccount, *, way: Way, csrf: str, session: str | None = None) -> Visitor:
        """A user; the sign for “all” is no tag, whoever wrote it down."""
        tags = user.tags - {EVERY}
        return cls(user.id, user.tenant, user.name, user.email, user.role, tags, way, csrf, user.registration, session)

    @property
    def is_owner(self) -> bool:
        """Whether this is whoever keeps the library; the vaults beside it are theirs alone."""
        return self.user_id == OWNER_ID

    @property
    def deeds(self) -> frozenset[Deed]:
        """All that the role includes."""
        return MAY[self.role]

    def may(self, deed: Deed) -> bool:
        """Whether the role includes a deed."""
        return deed in self.deeds

    def may_change(self, tags: Iterable[str]) -> bool:
        """Whether this visitor may replace, file anew or erase a document that carries these tags."""
        if self.may("govern"):
            return True
        carried = frozenset(tags)
        return self.may("change") and bool(carried) and carried <= self.tags - RESERVED_TAGS

    @property
    def whole(self) -> Scope:
        """All that this visitor may see: for lists, and for looking at one document."""
        if self.may("govern"):
            return Scope.owner(self.tenant)
        return Scope(self.tenant, self.tags, EVERY, None)

    def scope(
        self, *, tags: Iterable[str] | None = None, journey: str | None = None, subject: str | None = None
    ) -> Scope:
        """What a search looks through: never more than the visitor may see, less where they say so."""
        wanted = None if tags is None else sought_tags(tags) - {EVERY}
        journey = None if journey == EVERY else journey
        if self.may("govern"):
            return Scope(self.tenant, frozenset({EVERY}) if wanted is None else wanted, journey, subject)
        if subject is not None:
            raise ScopeRefused(NOBODYS_PAPERS)
        return Scope(self.tenant, self.tags if wanted is None else wanted & self.tags, journey, None)

    def asker(
        self, *, tags: Iterable[str] | None = None, journey: str | None = None, subject: str | None = None
    ) -> User:
        """The visitor as the service knows them."""
        return User(self.user_id, self.role, self.scope(tags=tags, journey=journey, subject=subject))

    def filed(
        self, tags: frozenset[str] | None, *, before: frozenset[str] | None, subject: str | None = None
    ) -> frozenset[str] | None:
        """The tags a document may get from this visitor; `before` are those it has, None where it is new."""
        chosen = None if tags is None else checked_tags(tags, by_admin=self.may("govern"))
        if self.may("govern"):
            return chosen
        if subject is not None:
            raise ScopeRefused(NOBODYS_PAPERS)
        if before is not None and not self.may_change(before):
            raise ScopeRefused(NOT_YOURS_TO_CHANGE)
        if chosen is None and before is None:
            raise ScopeRefused(ONLY_ADMINS_FILE_PUBLIC)
        if chosen is not None and not self.may_change(chosen):
            raise ScopeRefused(NOT_YOUR_TAG)
        return chosen


def visitor_of(request: Request) -> Visitor:
    """Who sent a request."""
    visitor: Visitor = request.scope[VISITOR]
    return visitor


def must(deed: Deed) -> Callable[[Request], Visitor]:
    """Lets a request through whose sender's role includes a deed."""

    def permitted(request: Request) -> Visitor:
        visitor = visitor_of(request)
        if not visitor.may(deed):
            raise Refused(NOT_THIS_ROLE)
        return visitor

    permitted.__name__ = f"must_{deed}"
    return permitted


Reader = Annotated[Visitor, Depends(must("read"))]
Member = Annotated[Visitor, Depends(must("ask"))]
Editor = Annotated[Visitor, Depends(must("change"))]
Governor = Annotated[Visitor, Depends(must("govern"))]
