"""Users, their tags and roles, their passwords and keys, and who owns a tag."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from sqlalchemy import Connection, Engine, Row, Select, Table, delete, func, insert, or_, select, update

from citewell.adapters.store import sessions
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.row_mapping import hashed, now
from citewell.adapters.store.schema import api_keys, identities, owner_sessions, owners, tags, user_tags, users
from citewell.adapters.store.schema import sessions as sessions_table
from citewell.errors import DoesNotFit, InputError, NotFound
from citewell.types import EVERY, OWNER_ID, Role, Scope, User
from citewell.types.tags import checked_tags

KEY_USE = timedelta(hours=1)
"""How closely the last use of a key is noted."""
MIN_PASSWORD_CHARACTERS = 10
KEY_PREFIX = "cw_"
KEY_DAYS = 365
"""How long a key lasts unless a shorter time is asked for."""
KEY_OVERLAP = timedelta(hours=24)
"""How long a key that was replaced goes on working, so that a program can be changed over."""
MAX_REGISTRATION = 64
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")


@dataclass(frozen=True, slots=True)
class UserAccount:
    """A person who may sign in."""

    id: str
    tenant: str
    email: str
    name: str
    role: Role
    tags: frozenset[str]
    is_active: bool
    registration: str | None = None
    """The number under which a professional body lists them."""
    has_own_password: bool = False
    """Whether they set their password themselves, so that nobody else knows it."""

    def asker(self, *, journey: str | None = None, subject: str | None = None) -> User:
        """This user as the service knows them: an administrator asks of everything, others of their tags."""
        tags = frozenset({EVERY}) if self.role is Role.ADMIN else self.tags
        return User(self.id, self.role, Scope(self.tenant, tags, journey, subject))


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key for programs, as it is listed."""

    id: str
    name: str
    made_at: datetime
    used_at: datetime | None
    ends_at: datetime | None = None
    """When it stops working; None for one from before keys ended."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Under which name and number somebody signs."""

    name: str
    registration: str | None


def _key(row: Row[Any]) -> ApiKey:
    used_at, ends_at = (at.replace(tzinfo=UTC) if at else None for at in (row.used_at, row.ends_at))
    return ApiKey(row.id, row.name, row.made_at.replace(tzinfo=UTC), used_at, ends_at)


def _held(names: Iterable[str]) -> list[str]:
    """The tags that a user holds, perhaps none; the sign for “all” is not one."""
    named = list(names)
    return sorted(checked_tags(named, by_admin=True)) if named else []


def _registration(text: str) -> str | None:
    """A registration number as it is kept; none where the text is empty."""
    told = " ".join(text.split())
    if len(told) > MAX_REGISTRATION:
        raise InputError(f"A registration number has at most {MAX_REGISTRATION} characters.")
    return told or None


class SqlPeople:
    """Users of all tenants; every call names one."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path
        self._hasher = PasswordHasher()

    # ------------------------------------------------------------------------------------------------------ users

    def add(
        self, *, tenant: str, email: str, name: str, role: Role, tags: Iterable[str], password: str | None = None
    ) -> UserAccount:
        """A new user."""
        if not _EMAIL.fullmatch(email):
            raise InputError("Enter a valid email address.")
        row = {
            "id": str(uuid.uuid4()),
            "tenant": tenant,
            "email": email.lower(),
            "name": name or email,
            "role": role.value,
            "password_hash": None if password is None else self._hashed(password),
            "is_active": True,
            "made_at": now(),
        }
        mine = _held(tags)
        with writing(self._engine, self._path) as connection:
            if connection.execute(self._query(tenant).where(users.c.email == email.lower())).first():
                raise InputError("A user with this email address already exists.")
            connection.execute(insert(users).values(**row))
            if mine:
                connection.execute(insert(user_tags), [{"user_id": row["id"], "tag": tag} for tag in mine])
            return self._user(connection, self._query(tenant).where(users.c.id == row["id"]))

    def change(
        self,
        user_id: str,
        *,
        tenant: str,
        role: Role | None = None,
        tags: Iterable[str] | None = None,
        is_active: bool | None = None,
        password: str | None = None,
        name: str | None = None,
        registration: str | None = None,
        is_own: bool = False,
    ) -> UserAccount:
        """Change a user; a new password or a deactivation ends all of their sessions.

        A password that somebody else set (`is_own` is false) revokes their keys as well.
        """
        values: dict[str, Any] = {}
        if name is not None:
            if not name.strip():
                raise InputError("Enter the person's name.")
            values["name"] = name.strip()
        if registration is not None:
            values["registration"] = _registration(registration)
        if role is not None:
            values["role"] = role.value
        if is_active is not None:
            values["is_active"] = is_active
        if password is not None:
            values |= {"password_hash": self._hashed(password), "has_own_password": is_own}
        one = self._query(tenant).where(users.c.id == user_id)
        with writing(self._engine, self._path) as connection:
            self._user(connection, one)
            if values:
                connection.execute(update(users).where(users.c.id == user_id).values(**values))
            if tags is not None:
                connection.execute(delete(user_tags).where(user_tags.c.user_id == user_id))
                for tag in _held(tags):
                    connection.execute(insert(user_tags).values(user_id=user_id, tag=tag))
            if password is not None or is_active is False:
                sessions.end_sessions_of(connection, user_id)
            if password is not None and not is_own:
                connection.execute(delete(api_keys).where(api_keys.c.user_id == user_id))
            return self._user(connection, one)

    def user(self, user_id: str, *, tenant: str) -> UserAccount:
        with reading(self._engine, self._path) as connection:
            return self._user(connection, self._query(tenant).where(users.c.id == user_id))

    def names(self, user_ids: Iterable[str], *, tenant: str) -> dict[str, str]:
        """What users of a tenant are called, by id."""
        query = select(users.c.id, users.c.name).where(users.c.tenant == tenant, users.c.id.in_(list(user_ids)))
        with reading(self._engine, self._path) as connection:
            return {row.id: row.name for row in connection.execute(query)}

    def by_email(self, email: str, *, tenant: str) -> UserAccount:
        """The user of a tenant with this e-mail address."""
        with reading(self._engine, self._path) as connection:
            return self._user(connection, self._query(tenant).where(users.c.email == email.strip().lower()))

    def all(self, *, tenant: str) -> list[UserAccount]:
        """The users of a tenant, by e-mail."""
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(self._query(tenant).order_by(users.c.email)).all()
            return [self._made(connection, row) for row in rows]

    def count(self) -> int:
        """How many accounts there are, of all tenants."""
        with reading(self._engine, self._path) as connection:
            return connection.execute(select(func.count()).select_from(users)).scalar_one()

    # ---------------------------------------------------------------------------------------------------- signing in

    def sign_in(self, *, tenant: str, email: str, password: str) -> tuple[UserAccount, str] | None:
        """The user and a new session's token, or None; as slow for a user who does not exist."""
        user = self.by_password(tenant=tenant, email=email, password=password)
        return None if user is None else (user, self.open_session(user.id))

    def by_password(self, *, tenant: str, email: str, password: str) -> UserAccount | None:
        """The user whose password this is; no session is opened."""
        query = self._query(tenant).where(users.c.email == email.lower())
        with reading(self._engine, self._path) as connection:
            row = connection.execute(query).first()
        known = row.password_hash if row is not None and row.is_active else None
        if not self._matches(known, password) or row is None:
            return None
        return self.user(row.id, tenant=tenant)

    def has_password(self, user_id: str) -> bool:
        """Whether a user has a password, rather than a provider or keys alone."""
        query = select(users.c.password_hash).where(users.c.id == user_id)
        with reading(self._engine, self._path) as connection:
            return connection.execute(query).scalar() is not None

    def has_identity(self, user_id: str) -> bool:
        """Whether a provider signs this user in."""
        query = select(identities.c.user_id).where(identities.c.user_id == user_id)
        with reading(self._engine, self._path) as connection:
            return connection.execute(query).first() is not None

    def open_session(self, user_id: str, *, way: str = "password") -> str:
        """A new session's token, for a user who has shown who they are."""
        with writing(self._engine, self._path) as connection:
            return sessions.open_session(connection, user_id, way=way)

    def by_session(self, token: str) -> UserAccount | None:
        """Who holds this session, while it lasts."""
        holder = sessions.held(token).with_only_columns(sessions_table.c.user_id)
        return self._active(select(users).where(users.c.id.in_(holder)))

    def sign_out(self, token: str) -> None:
        """End a session, a user's or the owner's."""
        with writing(self._engine, self._path) as connection:
            for table in (sessions_table, owner_sessions):
                sessions.end_session(connection, token, table=table)

    def open_sessions(self, user_id: str, *, tenant: str, token: str | None = None) -> list[sessions.Session]:
        """The open sessions of a user or of the owner, newest first."""
        holder, table = self._holder(user_id, tenant)
        with reading(self._engine, self._path) as connection:
            return sessions.listed(connection, holder, token=token, table=table)

    def session(self, token: str) -> sessions.Session | None:
        """The session with this token, while it lasts."""
        with reading(self._engine, self._path) as connection:
            for table in (sessions_table, owner_sessions):
                row = connection.execute(sessions.held(token, table=table)).first()
                if row is not None:
                    known = sessions.session_id(row.id, row.token_hash)
                    made_at, ends_at = (at.replace(tzinfo=UTC) for at in (row.made_at, row.ends_at))
                    return sessions.Session(known, made_at, ends_at, row.way or "password", is_this=True)
        return None

    def end_sessions(self, user_id: str, *, tenant: str, only: str | None = None, but: str | None = None) -> int:
        """End the sessions of a user or of the owner: all, the one with this id, or all but one; how many."""
        holder, table = self._holder(user_id, tenant)
        with writing(self._engine, self._path) as connection:
            ended = sessions.end_sessions_of(connection, holder, only=only, but=but, table=table)
        if only is not None and not ended:
            raise NotFound("Session not found. It may have ended already.")
        return ended

    def _holder(self, user_id: str, tenant: str) -> tuple[str, Table]:
        if user_id == OWNER_ID:
            return tenant, owner_sessions
        return self.user(user_id, tenant=tenant).id, sessions_table

    def add_key(self, user_id: str, *, tenant: str, name: str, days: int = KEY_DAYS) -> tuple[str, str]:
        """A key for programs: its id, and the key itself, which is told only once."""
        self.user(user_id, tenant=tenant)
        key_id, key = str(uuid.uuid4()), KEY_PREFIX + secrets.token_urlsafe(32)
        row = {"id": key_id, "user_id": user_id, "name": name, "key_hash": hashed(key), "made_at": now()}
        with writing(self._engine, self._path) as connection:
            connection.execute(insert(api_keys).values(**row, ends_at=now() + timedelta(days=days)))
        return key_id, key

    def rotate_key(self, key_id: str, *, user_id: str, tenant: str, days: int = KEY_DAYS) -> tuple[str, str]:
        """A new key in the place of another, which goes on for a day."""
        known = next((key for key in self.keys(user_id, tenant=tenant) if key.id == key_id), None)
        if known is None:
            raise NotFound("Key not found.")
        made = self.add_key(user_id, tenant=tenant, name=known.name, days=days)
        until = now() + KEY_OVERLAP
        longer = (api_keys.c.id == key_id) & (api_keys.c.ends_at.is_(None) | (api_keys.c.ends_at > until))
        with writing(self._engine, self._path) as connection:
            connection.execute(update(api_keys).where(longer).values(ends_at=until))
        return made

    def by_key(self, key: str) -> UserAccount | None:
        """Who holds this key while it lasts; when it was last used is noted, to the hour."""
        lasts = api_keys.c.ends_at.is_(None) | (api_keys.c.ends_at > now())
        user = self._active(select(users).join(api_keys).where(api_keys.c.key_hash == hashed(key), lasts))
        if user is not None:
            self._note_use(hashed(key))
        return user

    def _note_use(self, key_hash: str) -> None:
        long_ago = or_(api_keys.c.used_at.is_(None), api_keys.c.used_at < now() - KEY_USE)
        stale = (api_keys.c.key_hash == key_hash) & long_ago
        with reading(self._engine, self._path) as connection:
            if connection.execute(select(api_keys.c.id).where(stale)).first() is None:
                return
        with writing(self._engine, self._path) as connection:
            connection.execute(update(api_keys).where(stale).values(used_at=now()))

    def keys(self, user_id: str, *, tenant: str) -> list[ApiKey]:
        """The keys of a user, oldest first; what they are nobody can tell any more."""
        self.user(user_id, tenant=tenant)
        query = select(api_keys).where(api_keys.c.user_id == user_id).order_by(api_keys.c.made_at, api_keys.c.id)
        with reading(self._engine, self._path) as connection:
            return [_key(row) for row in connection.execute(query)]

    def remove_key(self, key_id: str, *, user_id: str) -> None:
        """Make a key worthless."""
        mine = (api_keys.c.id == key_id) & (api_keys.c.user_id == user_id)
        with writing(self._engine, self._path) as connection:
            if connection.execute(delete(api_keys).where(mine)).rowcount == 0:
                raise NotFound("Key not found.")

    # ---------------------------------------------------------------------------------------- the owner of it all

    def open_owner_session(self, tenant: str) -> str:
        """A new session's token for the owner of the installation, who came by the printed link."""
        with writing(self._engine, self._path) as connection:
            return sessions.open_session(connection, tenant, way="link", table=owner_sessions)

    def is_owner_session(self, token: str, *, tenant: str) -> bool:
        """Whether this is a session of the owner, while it lasts."""
        query = sessions.held(token, table=owner_sessions).where(owner_sessions.c.tenant == tenant)
        with reading(self._engine, self._path) as connection:
            return connection.execute(query).first() is not None

    def owner_profile(self, tenant: str) -> Profile | None:
        """Under which name the owner signs, once they have said so."""
        with reading(self._engine, self._path) as connection:
            row = connection.execute(select(owners).where(owners.c.tenant == tenant)).first()
        return None if row is None else Profile(row.name, row.registration or None)

    def set_owner_profile(self, tenant: str, *, name: str | None, registration: str | None) -> Profile:
        """Say under which name and number the owner signs; what is None stays."""
        known = self.owner_profile(tenant)
        if known is None and name is None:
            raise DoesNotFit("Enter your name.")  # only the first time: later it may be left out
        known = known or Profile("", None)
        told = known.name if name is None else name.strip()
        number = known.registration if registration is None else _registration(registration)
        if not told:
            raise InputError("Enter your name.")
        with writing(self._engine, self._path) as connection:
            connection.execute(delete(owners).where(owners.c.tenant == tenant))
            connection.execute(insert(owners).values(tenant=tenant, name=told, registration=number or ""))
        return Profile(told, number)

    # ------------------------------------------------------------------------------------------------------- owners

    def set_owner(self, tag: str, *, tenant: str, owner_id: str | None) -> None:
        """Say who answers questions about a tag: a user of the same tenant, or nobody."""
        (name,) = checked_tags([tag], by_admin=True)
        if owner_id is not None:
            self.user(owner_id, tenant=tenant)
        with writing(self._engine, self._path) as connection:
            connection.execute(delete(tags).where(tags.c.tenant == tenant, tags.c.name == name))
            connection.execute(insert(tags).values(tenant=tenant, name=name, owner_id=owner_id))

    def owner_of(self, tag: str, *, tenant: str) -> UserAccount | None:
        """Who answers questions about a tag, in this tenant."""
        owner = select(tags.c.owner_id).where(tags.c.tenant == tenant, tags.c.name == tag)
        return self._active(select(users).where(users.c.tenant == tenant, users.c.id.in_(owner)))

    def administrators(self, *, tenant: str) -> list[str]:
        """The e-mail addresses of a tenant's administrators, the oldest account first."""
        query = select(users.c.email).where(
            users.c.tenant == tenant, users.c.role == Role.ADMIN.value, users.c.is_active
        )
        with reading(self._engine, self._path) as connection:
            return list(connection.execute(query.order_by(users.c.made_at, users.c.id)).scalars())

    # -------------------------------------------------------------------------------------------------------- inside

    @staticmethod
    def _query(tenant: str) -> Select[Any]:
        return select(users).where(users.c.tenant == tenant)

    def _user(self, connection: Connection, query: Select[Any]) -> UserAccount:
        row = connection.execute(query).first()
        if row is None:
            raise NotFound("User not found. `citewell users list` shows all users.")
        return self._made(connection, row)

    def _active(self, query: Select[Any]) -> UserAccount | None:
        with reading(self._engine, self._path) as connection:
            row = connection.execute(query.where(users.c.is_active)).first()
            return None if row is None else self._made(connection, row)

    @staticmethod
    def _made(connection: Connection, row: Row[Any]) -> UserAccount:
        held = connection.execute(select(user_tags.c.tag).where(user_tags.c.user_id == row.id)).scalars()
        return UserAccount(
            row.id,
            row.tenant,
            row.email,
            row.name,
            Role(row.role),
            frozenset(held),
            row.is_active,
            row.registration,
            bool(row.has_own_password),
        )

    def _hashed(self, password: str) -> str:
        if len(password) < MIN_PASSWORD_CHARACTERS:
            raise InputError(f"The password must have at least {MIN_PASSWORD_CHARACTERS} characters.")
        return self._hasher.hash(password)

    def _matches(self, known: str | None, password: str) -> bool:
        """Whether the password is right; an unknown user costs the same time."""
        try:
            return self._hasher.verify(known or _STAND_IN, password) and known is not None
        except VerificationError:
            return False


_STAND_IN = "$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
"""A hash that no password has, checked where there is no user."""
