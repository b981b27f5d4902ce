"""The bytes as they came: in the library by default, or in a store outside of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from sqlalchemy import Connection, and_, delete, insert, select

from citewell.adapters.store.schema import documents, originals
from citewell.errors import LibraryError
from citewell.ports.blobs import Blobs

ELSEWHERE = (
    "The original of this document is kept in another store ({kept_in}). Set CITEWELL_BLOBS to that one and try again."
)


def key_of(tenant: str, content_hash: str) -> str:
    """Where a file lies in a store outside: no name of a tenant or file is told there.

    >>> key_of("clinic", "ab" * 32)[:24]
    'bbfeb74a4b4216df/ab/abab'
    """
    return f"{hashlib.sha256(tenant.encode()).hexdigest()[:16]}/{content_hash[:2]}/{content_hash}"


def keep(connection: Connection, tenant: str, content_hash: str, data: bytes, blobs: Blobs | None) -> None:
    """Remember a file, once per tenant; where there is a store outside, it has the bytes already."""
    kept = and_(originals.c.tenant == tenant, originals.c.content_hash == content_hash)
    if connection.execute(select(originals.c.tenant).where(kept)).first() is None:
        where = {"data": data, "kept_in": None} if blobs is None else {"data": b"", "kept_in": blobs.name}
        connection.execute(insert(originals).values(tenant=tenant, content_hash=content_hash, **where))


def fetch(connection: Connection, tenant: str, content_hash: str, blobs: Blobs | None) -> bytes | None:
    """The bytes of a file, wherever they are; None when nothing is known of them."""
    kept = and_(originals.c.tenant == tenant, originals.c.content_hash == content_hash)
    row = connection.execute(select(originals).where(kept)).first()
    if row is None or row.kept_in is None:
        return None if row is None else bytes(row.data)
    if blobs is None or blobs.name != row.kept_in:
        raise LibraryError(ELSEWHERE.format(kept_in=row.kept_in))
    return blobs.get(key_of(tenant, content_hash))


def drop_unused(connection: Connection, tenant: str, hashes: Iterable[str], blobs: Blobs | None) -> None:
    """Remove those files of a tenant that no document has any more; the store outside first.

    A store that does not answer undoes the whole change: what is said to be erased is erased.
    """
    used = select(documents.c.content_hash).where(documents.c.tenant == tenant)
    unused = and_(
        originals.c.tenant == tenant, originals.c.content_hash.in_(list(hashes)), originals.c.content_hash.not_in(used)
    )
    for row in connection.execute(select(originals.c.content_hash, originals.c.kept_in).where(unused)).all():
        if row.kept_in is not None:
            if blobs is None or blobs.name != row.kept_in:
                raise LibraryError(ELSEWHERE.format(kept_in=row.kept_in))
            blobs.remove(key_of(tenant, row.content_hash))
    connection.execute(delete(originals).where(unused))


def strays(connection: Connection, blobs: Blobs) -> list[str]:
    """The keys in the store outside that belong to no document."""
    rows = connection.execute(select(originals.c.tenant, originals.c.content_hash))
    known = {key_of(row.tenant, row.content_hash) for row in rows}
    return [key for key in blobs.keys() if key not in known]  # noqa: SIM118 -- a store, not a mapping
