"""Legal holds: what must not be erased, by whose order and why."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, insert, select

from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import library
from citewell.errors import AlreadyThere, DoesNotFit, InputError, NotFound

PREFIX = "hold:"
HELD = "This is under a legal hold and cannot be erased. `citewell holds list` shows who ordered it and why."
NO_SUCH_HOLD = "No such hold. `citewell holds list` shows them."
MAX_CHARACTERS = 2_000


class HoldKind(StrEnum):
    """What a hold keeps from being erased."""

    DOCUMENT = "document"
    PERSON = "person"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class Hold:
    """One legal hold."""

    kind: HoldKind
    name: str
    """The first version of a document, or the name of a person; empty for everything."""
    reason: str
    by: str
    made_at: datetime


class SqlHolds:
    """The holds of each tenant; what they are about is sealed."""

    def __init__(self, engine: Engine, path: Path, seal: Callable[[], TextCipher]) -> None:
        self._engine, self._path, self._seal = engine, path, seal

    def add(self, kind: HoldKind, name: str, *, reason: str, by: str, tenant: str) -> Hold:
        """Keep something from being erased."""
        if not reason.strip() or len(reason) > MAX_CHARACTERS:
            raise InputError(f"Give a reason for the hold, of at most {MAX_CHARACTERS:,} characters.")
        hold = Hold(kind, name, reason.strip(), by, datetime.now(UTC))
        key = _key(tenant, kind, name)
        sealed = self._seal().close(json.dumps({**asdict(hold), "tenant": tenant}, default=str), about=key)
        with writing(self._engine, self._path) as connection:
            if _is_there(connection, key):
                raise AlreadyThere("There is a hold on this already. `citewell holds list` shows it.")
            connection.execute(insert(library).values(key=key, value=base64.b64encode(sealed).decode()))
        return hold

    def remove(self, kind: HoldKind, name: str, *, tenant: str) -> None:
        """Lift a hold."""
        with writing(self._engine, self._path) as connection:
            if connection.execute(delete(library).where(library.c.key == _key(tenant, kind, name))).rowcount == 0:
                raise NotFound(NO_SUCH_HOLD)

    def all(self, *, tenant: str) -> list[Hold]:
        """The holds of a tenant, oldest first."""
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(select(library).where(library.c.key.startswith(PREFIX))).all()
        kept = [json.loads(self._seal().open(base64.b64decode(row.value), about=row.key)) for row in rows]
        holds = [
            Hold(
                HoldKind(hold["kind"]),
                hold["name"],
                hold["reason"],
                hold["by"],
                datetime.fromisoformat(hold["made_at"]),
            )
            for hold in kept
            if hold["tenant"] == tenant
        ]
        return sorted(holds, key=lambda hold: hold.made_at)

    def refuse(self, *, tenant: str, lineage: str | None = None, person: str | None = None) -> None:
        """Refuse to erase what is held."""
        keys = [_key(tenant, HoldKind.EVERYTHING, "")]
        keys += [_key(tenant, HoldKind.DOCUMENT, lineage)] if lineage else []
        keys += [_key(tenant, HoldKind.PERSON, person)] if person else []
        with reading(self._engine, self._path) as connection:
            if any(_is_there(connection, key) for key in keys):
                raise DoesNotFit(HELD)


def is_everything_held(connection: Connection, tenant: str) -> bool:
    """Whether nothing of a tenant may be erased, by a person or by its age."""
    return _is_there(connection, _key(tenant, HoldKind.EVERYTHING, ""))


def _is_there(connection: Connection, key: str) -> bool:
    return connection.execute(select(library.c.key).where(library.c.key == key)).first() is not None


def _key(tenant: str, kind: HoldKind, name: str) -> str:
    return PREFIX + hashlib.sha256(json.dumps([tenant, kind, name]).encode()).hexdigest()[:27]
