"""Moves a library between a file and PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.errors import InputError
from citewell.wiring import LIBRARY_FILE

if TYPE_CHECKING:
    from sqlalchemy import Engine

FILE = "sqlite:///"
WRITTEN = "Write the address as sqlite:///folder/library.sqlite or postgresql://user:password@host:5432/name."


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move brought over, and what is still wrong with the audit log there."""

    rows: dict[str, int]
    vectors: int
    resumed: bool
    tenants: int
    """Audit logs that were proved."""
    problems: tuple[str, ...]


def move_library(source: str, target: str, *, home: Path, watch: Callable[[str, int, int], None]) -> Moved:
    """Copy a library to an empty place, prove that all of it arrived, and prove its audit logs there."""
    from citewell.adapters.store.copy_rows import migrate
    from citewell.adapters.store.engine import plain_errors

    if source.rstrip("/") == target.rstrip("/"):
        raise InputError("--from and --to are the same place. Choose another target.")
    old = _opened(source, is_new=False)
    try:
        new = _opened(target, is_new=True)
        try:
            with plain_errors(_path(target) or _path(source) or home / LIBRARY_FILE):
                moved = migrate(old, new, place=_place(target), watch=watch)
            tenants, problems = _proved(new, (_path(source) or home / LIBRARY_FILE).parent)
        finally:
            new.dispose()
    finally:
        old.dispose()
    return Moved(moved.rows, moved.vectors, moved.resumed, tenants, problems)


def _path(address: str) -> Path | None:
    return Path(address.removeprefix(FILE)) if address.startswith(FILE) else None


def _place(address: str) -> str:
    from citewell.adapters.store.postgres import place_of, read_url

    path = _path(address)
    return str(path) if path is not None else place_of(read_url(address))


def _opened(address: str, *, is_new: bool) -> Engine:
    from citewell.adapters.store.engine import open_engine
    from citewell.adapters.store.postgres import open_postgres

    path = _path(address)
    if path is None:
        if not address.startswith(("postgresql", "postgres:")):
            raise InputError(WRITTEN)
        return open_postgres(address)
    if not is_new and not path.is_file():
        raise InputError(f"There is no library at {path}. {WRITTEN}")
    if not path.parent.is_dir():
        raise InputError(f"The folder {path.parent} does not exist. Create it first.")
    if is_new:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # what SQLite puts beside it gets the same mode
    return open_engine(path)


def _proved(engine: Engine, home: Path) -> tuple[int, tuple[str, ...]]:
    """Walk the audit log of every tenant where it is now, with the key that stays in the home folder."""
    from sqlalchemy import select

    from citewell.adapters.store.audit import SqlAudit
    from citewell.adapters.store.encryption import KEY_FILE, TextCipher
    from citewell.adapters.store.schema import answers

    with engine.connect() as connection, connection.begin():
        tenants = list(connection.execute(select(answers.c.tenant).distinct()).scalars())
    if not tenants:
        return 0, ()
    if not (home / KEY_FILE).exists():
        return 0, (
            f"{KEY_FILE} is missing from {home}. Without it the audit log cannot be verified. Restore it, then try "
            "again.",
        )
    audit = SqlAudit(engine, home / LIBRARY_FILE, TextCipher.of(home))
    return len(tenants), tuple(
        f"{tenant}: {problem}" for tenant in sorted(tenants) for problem in audit.verify_chain(tenant).problems
    )
