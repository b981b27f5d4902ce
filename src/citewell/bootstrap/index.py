"""Chooses the index that fits where the library is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.adapters.index.postgres import PostgresIndex
    from citewell.adapters.index.qdrant import QdrantIndex
    from citewell.adapters.index.replica import Replica
    from citewell.adapters.index.tenant_indexes import TenantIndex
    from citewell.adapters.store.library import SqlLibrary
    from citewell.adapters.store.replica_feed import SqlFilings
    from citewell.config import Settings


def make_index(library: SqlLibrary, settings: Settings) -> TenantIndex | PostgresIndex | QdrantIndex:
    """The library's own index; before it the replica, where there is one."""
    own = _own_index(library, settings)
    if settings.qdrant_url is None:
        return own
    from citewell.adapters.index.qdrant import QdrantIndex

    return QdrantIndex(shelf_for_replica(library), make_replica(settings), own)


def make_replica(settings: Settings) -> Replica:
    """The copy of the library that the settings name."""
    from citewell.adapters.index.replica import connect

    if settings.qdrant_url is None:
        raise InputError("No search copy is set up. Set CITEWELL_QDRANT_URL to the address of a Qdrant server first.")
    key = settings.qdrant_key
    return connect(settings.qdrant_url, key=key.get_secret_value() if key else None)


def shelf_for_replica(library: SqlLibrary) -> SqlFilings:
    """The library as a replica is fed from it."""
    from citewell.adapters.store.replica_feed import SqlFilings

    return SqlFilings(library)


def _own_index(library: SqlLibrary, settings: Settings) -> TenantIndex | PostgresIndex:
    """Of each tenant that is searched, all of it in memory; in a database, as far as the settings allow."""
    from citewell.adapters.store.tenant_shelf import TenantShelf

    if library.engine.dialect.name == "sqlite":
        from citewell.adapters.index.tenant_indexes import TenantIndex

        return TenantIndex(partial(TenantShelf, library))
    from citewell.adapters.index.postgres import PostgresIndex

    return PostgresIndex(partial(TenantShelf, library), memory_bytes=settings.index_memory_mb << 20)
