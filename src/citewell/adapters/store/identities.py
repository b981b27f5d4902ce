"""Users who are known by the name that a sign-in provider has for them."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, delete, insert, select

from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import api_keys, identities
from citewell.adapters.store.users import SqlPeople, UserAccount
from citewell.errors import NotFound, SignInRefused
from citewell.types import Role

NOT_ACTIVE = "Your account here has been disabled. Ask an administrator."


class SqlIdentities:
    """Finds the user behind a provider's name; the first time by a verified e-mail address, or makes one."""

    def __init__(self, engine: Engine, path: Path, people: SqlPeople) -> None:
        self._engine, self._path, self._people = engine, path, people

    def let_in(
        self, *, tenant: str, issuer: str, subject: str, email: str, name: str, role: Role, tags: list[str] | None
    ) -> tuple[UserAccount, str]:
        """The user with the rights that the provider gives now, and a new session's token."""
        key = {"tenant": tenant, "issuer": issuer, "subject": subject}
        with reading(self._engine, self._path) as connection:
            known = connection.execute(select(identities.c.user_id).filter_by(**key)).scalar()
        user = (
            self._people.user(known, tenant=tenant)
            if known
            else self._first_time(key, email=email, name=name, role=role)
        )
        if not user.is_active:
            raise SignInRefused(NOT_ACTIVE)
        if user.role is not role or (tags is not None and frozenset(tags) != user.tags):
            user = self._people.change(user.id, tenant=tenant, role=role, tags=tags)
        return user, self._people.open_session(user.id, way="provider")

    def _first_time(self, key: dict[str, str], *, email: str, name: str, role: Role) -> UserAccount:
        tenant = key["tenant"]
        try:
            user = self._people.by_email(email, tenant=tenant)
        except NotFound:
            user = self._people.add(tenant=tenant, email=email, name=name, role=role, tags=[])
        with writing(self._engine, self._path) as connection:
            bound = select(identities.c.subject).where(
                identities.c.user_id == user.id, identities.c.issuer == key["issuer"]
            )
            if connection.execute(bound).first():
                raise SignInRefused(
                    "Another account at your provider is linked to this email address. Ask an administrator."
                )
            connection.execute(insert(identities).values(**key, user_id=user.id))
            if not self._people.has_password(user.id):  # its keys were made by whoever ran the program it was for
                connection.execute(delete(api_keys).where(api_keys.c.user_id == user.id))
        return user
