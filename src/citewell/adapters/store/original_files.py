"""The bytes as they came: in the library by default, or in a store outside of it."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, exists, insert, or_, select, update

from citewell.adapters.store.clock import clock
from citewell.adapters.store.schema import documents, originals, outside
from citewell.errors import LibraryError
from citewell.ports.blobs import Blobs

ELSEWHERE = (
    "The original of this document is in different storage ({kept_in}). Set CITEWELL_BLOBS to that and try again."
)
KEPT = select(originals.c.tenant).where(
    originals.c.tenant == bindparam("of"), originals.c.content_hash == bindparam("hash")
)
SETTLED = timedelta(days=1)
"""Within so long, what is put outside has found its document or never will."""


def announce(connection: Connection, blobs: Blobs) -> str:
    """Write down that a file is about to be put outside; its key.

    No key is ever used twice, so what is removed under one was never another document's, or another library's.
    """
    name = uuid.uuid4().hex
    key = f"{name[:2]}/{name}"
    connection.execute(insert(outside).values(key=key, kept_in=blobs.name, at=clock(connection)))
    return key


def keep(
    connection: Connection, tenant: str, content_hash: str, data: bytes, *, key: str | None, blobs: Blobs | None
) -> None:
    """Remember a file, once per tenant; where there is a store outside, it has the bytes already, under this key."""
    if connection.execute(KEPT, {"of": tenant, "hash": content_hash}).first() is None:
        where: dict[str, Any] = {"data": data}
        if key is not None and blobs is not None:
            where = {"data": b"", "kept_in": blobs.name, "key": key}
        connection.execute(insert(originals), {"tenant": tenant, "content_hash": content_hash, **where})


def fetch(connection: Connection, tenant: str, content_hash: str, blobs: Blobs | None) -> bytes | None:
    """The bytes of a file, wherever they are; None when nothing is known of them."""
    kept = and_(originals.c.tenant == tenant, originals.c.content_hash == content_hash)
    row = connection.execute(select(originals).where(kept)).first()
    if row is None or row.kept_in is None:
        return None if row is None else bytes(row.data)
    return store_of(row.kept_in, blobs).get(row.key)


def store_of(kept_in: str, blobs: Blobs | None) -> Blobs:
    """The store that has a file, where it is the one in the settings."""
    if blobs is None or blobs.name != kept_in:
        raise LibraryError(ELSEWHERE.format(kept_in=kept_in))
    return blobs


def drop_unused(connection: Connection, tenant: str, hashes: Iterable[str], blobs: Blobs | None) -> list[str]:
    """Forget those files of a tenant that no document has any more; the keys of those to be removed outside.

    They are removed once this is committed. A crash in between leaves them written down, and `unused` finds them.
    """
    used = select(documents.c.content_hash).where(documents.c.tenant == tenant)
    loose = and_(
        originals.c.tenant == tenant, originals.c.content_hash.in_(list(hashes)), originals.c.content_hash.not_in(used)
    )
    columns = select(originals.c.key, originals.c.kept_in)
    keys = []
    for row in connection.execute(columns.where(loose, originals.c.kept_in.is_not(None))):
        store_of(row.kept_in, blobs)
        keys.append(row.key)
    connection.execute(delete(originals).where(loose))
    connection.execute(update(outside).where(outside.c.key.in_(keys)).values(at=None))
    return keys


def unused(connection: Connection, blobs: Blobs, *, keys: Collection[str] | None = None) -> list[str]:
    """The files that this library put into a store and that belong to no document; of these keys, or all settled ones.

    What it has not put there itself it does not know, so a store may hold other libraries' files, and anything else.
    """
    is_used = exists(select(1).where(originals.c.key == outside.c.key))
    settled = or_(outside.c.at.is_(None), outside.c.at < clock(connection) - SETTLED)
    which = settled if keys is None else outside.c.key.in_(keys)
    mine = and_(outside.c.kept_in == blobs.name, ~is_used, which)
    return list(connection.execute(select(outside.c.key).where(mine)).scalars())


def forget(connection: Connection, key: str) -> None:
    """Strike a file off that is removed."""
    connection.execute(delete(outside).where(outside.c.key == key))
