"""Chooses the index that fits where the library is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewell.adapters.index.exact import ExactIndex
    from citewell.adapters.index.postgres import PostgresIndex
    from citewell.adapters.store.library import SqlLibrary
    from citewell.config import Settings


def make_index(library: SqlLibrary, settings: Settings) -> ExactIndex | PostgresIndex:
    """All of a file in memory; of a database that many tenants share, those who are searched."""
    if library.engine.dialect.name == "sqlite":
        from citewell.adapters.index.exact import ExactIndex

        return ExactIndex(library)
    from citewell.adapters.index.postgres import PostgresIndex
    from citewell.adapters.store.tenants import TenantShelf

    return PostgresIndex(partial(TenantShelf, library), memory_bytes=settings.index_memory_mb << 20)
