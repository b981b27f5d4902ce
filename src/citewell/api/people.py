"""Changes to users and to who owns a tag, as the API and the admin page make them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

from citewell.adapters.store.second_factor import SetUp
from citewell.adapters.store.users import UserAccount
from citewell.api.bodies.people import NewUserRequest
from citewell.api.confirmation import confirmed
from citewell.api.problems import Problem, Refused
from citewell.api.server_state import ServerState
from citewell.api.trail import also
from citewell.api.visitor import Visitor
from citewell.errors import InputError, NotFound, ScopeRefused
from citewell.types import OWNER_ID, Role
from citewell.types.tags import RESERVED_TAGS, checked_tags

YOURSELF = "You cannot remove your own access. Ask another administrator to do it."
TAKEN = Problem(
    HTTPStatus.CONFLICT, "AlreadyThere", "A user with this email address already exists. Edit that user instead."
)
LINK_ONLY = (
    "The owner signs in with the printed link and has no password. Add a user on the Admin page if you need one "
    "with a password."
)
OWN_KEYS_ONLY = Problem(
    HTTPStatus.FORBIDDEN,
    "OwnKeysOnly",
    "Nobody can create a key for another person. Ask them to create it on their Account page.",
)
NO_KEYS = "The owner cannot have API keys: use the token in the printed link, or add a user and create keys for them."


@dataclass(frozen=True, slots=True)
class OwnedTag:
    """A tag, and who answers questions about it."""

    tag: str
    owner_id: str | None
    owner: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """What is to change of a user; None leaves it as it is."""

    role: Role | None = None
    tags: Sequence[str] | None = None
    is_active: bool | None = None
    password: str | None = None
    name: str | None = None
    registration: str | None = None


def own_id(visitor: Visitor) -> str:
    """The user whose keys these are; the owner with the link is none."""
    if visitor.user_id == OWNER_ID:
        raise ScopeRefused(NO_KEYS)
    return visitor.user_id


def added(site: ServerState, visitor: Visitor, new: NewUserRequest) -> UserAccount:
    """A new user of the visitor's tenant."""
    with suppress(NotFound):
        site.people.by_email(new.email, tenant=visitor.tenant)
        raise Refused(TAKEN)
    user = site.people.add(
        tenant=visitor.tenant,
        email=new.email,
        name=new.name,
        role=new.role,
        tags=new.tags,
        password=new.password,
    )
    also("user.add", user.id)
    return user


def changed(site: ServerState, visitor: Visitor, user_id: str, change: Change) -> UserAccount:
    """A user after a change; nobody locks themselves out."""
    gives_up = (change.role is not None and change.role is not Role.ADMIN) or change.is_active is False
    if user_id == visitor.user_id and gives_up:
        raise InputError(YOURSELF)
    user = site.people.change(
        user_id,
        tenant=visitor.tenant,
        role=change.role,
        tags=change.tags,
        is_active=change.is_active,
        password=change.password,
        name=change.name,
        registration=change.registration,
    )
    for action in _done(change):
        also(action, user.id)
    return user


def _done(change: Change) -> list[str]:
    """What a change was, as the trail tells it."""
    told = [] if change.role is None else [f"user.role.{change.role}"]
    told += [] if change.is_active is None else ["user.enable" if change.is_active else "user.disable"]
    named = {"tags": change.tags, "password": change.password, "name": change.name, "number": change.registration}
    return told + [f"user.{name}" for name, value in named.items() if value is not None]


def make_key(site: ServerState, visitor: Visitor, name: str, days: int | None) -> tuple[str, str]:
    """A key of the visitor's own: its id and the key."""
    key_id, key = site.people.add_key(own_id(visitor), tenant=visitor.tenant, name=name, days=key_days(site, days))
    also("key.add", key_id)
    return key_id, key


def rotate_key(site: ServerState, visitor: Visitor, key_id: str, days: int | None = None) -> tuple[str, str]:
    """A new key in the place of one of the visitor's own, which works for a day more."""
    return site.people.rotate_key(key_id, user_id=own_id(visitor), tenant=visitor.tenant, days=key_days(site, days))


def key_days(site: ServerState, asked: int | None) -> int:
    """How long a key lasts: as long as was asked for, at most as long as the settings allow."""
    longest = site.app.settings.key_days
    return longest if asked is None else min(asked, longest)


def set_up_factor(site: ServerState, visitor: Visitor, *, password: str) -> SetUp:
    """A secret for the visitor's authenticator, once they have confirmed that it is them."""
    own_id(visitor)
    confirmed(site, visitor, password=password)
    return site.app.second_factors.begin(visitor.user_id, label=visitor.email or visitor.user_id)


def turn_on_factor(site: ServerState, visitor: Visitor, code: str) -> list[str]:
    """Ask for codes at every sign-in from now on; the other sessions end."""
    codes = site.app.second_factors.turn_on(own_id(visitor), code)
    site.people.end_sessions(visitor.user_id, tenant=visitor.tenant, but=visitor.session)
    return codes


def turn_off_factor(site: ServerState, visitor: Visitor, *, password: str, code: str) -> None:
    """Ask the visitor for no codes any more, once they have shown a last one."""
    own_id(visitor)
    confirmed(site, visitor, password=password, code=code)
    site.app.second_factors.turn_off(visitor.user_id)


def remove_factor_of(site: ServerState, visitor: Visitor, user_id: str) -> None:
    """An administrator helps somebody who lost their authenticator: it is off, and they sign in anew."""
    site.people.user(user_id, tenant=visitor.tenant)
    if not site.app.second_factors.turn_off(user_id):
        raise NotFound("This user has no second factor.")
    site.people.end_sessions(user_id, tenant=visitor.tenant)


def new_password(site: ServerState, visitor: Visitor, *, current: str, new: str) -> None:
    """Change the visitor's own password; all their sessions end."""
    if visitor.email is None:
        raise ScopeRefused(LINK_ONLY)
    account = f"{visitor.tenant}/{visitor.email}"
    site.take_try(account)
    if site.people.by_password(tenant=visitor.tenant, email=visitor.email, password=current) is None:
        raise InputError("Current password is wrong. Nothing was changed.")
    site.give_back_try(account)
    site.people.change(visitor.user_id, tenant=visitor.tenant, password=new, is_own=True)


def owned_tags(site: ServerState, visitor: Visitor) -> list[OwnedTag]:
    """The tags that documents carry or users hold, by name."""
    users = site.people.all(tenant=visitor.tenant)
    named = {tag for entry in site.app.entries(visitor.whole) for tag in entry.tags}
    named |= {tag for user in users for tag in user.tags}
    return [_owned(site, tag, visitor.tenant) for tag in sorted(named - RESERVED_TAGS)]


def set_owner(site: ServerState, visitor: Visitor, tag: str, owner_id: str | None) -> OwnedTag:
    """Say who answers questions about a tag."""
    (name,) = checked_tags([tag], by_admin=True)
    site.people.set_owner(name, tenant=visitor.tenant, owner_id=owner_id)
    return _owned(site, name, visitor.tenant)


def _owned(site: ServerState, tag: str, tenant: str) -> OwnedTag:
    owner = site.people.owner_of(tag, tenant=tenant)
    return OwnedTag(tag, owner.id if owner else None, owner.email if owner else None)
