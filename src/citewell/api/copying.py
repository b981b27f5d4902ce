"""Locked copies of vaults over HTTP: what passes through a temporary folder on the way is encrypted already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from citewell.adapters.vault.header import Header
from citewell.api.records import Safe
from citewell.api.requests import require_our_form
from citewell.api.site import site_of
from citewell.api.upload import received, whole_body
from citewell.errors import InputError

NO_COPY = "No copy was chosen. Choose the file that was downloaded under Settings."


@contextmanager
def _apart() -> Iterator[Path]:
    """A place for one copy, gone at the end."""
    with TemporaryDirectory(prefix="citewell-") as folder:
        yield Path(folder) / "copy.vault"


def exported(safe: Safe, vault_id: str, passphrase: str) -> bytes:
    """A vault as one encrypted file."""
    with _apart() as target:
        safe.vaults.export(vault_id, passphrase, target)
        return target.read_bytes()


async def restored(request: Request, safe: Safe) -> Header:
    """The vault of a copy that a form or a body brings."""
    max_bytes = site_of(request).app.settings.limits.max_unpacked_bytes
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        require_our_form(request)
        data = await whole_body(request, max_file_bytes=max_bytes)
        return await run_in_threadpool(_taken, safe, lambda: data)
    async with received(request, max_file_bytes=max_bytes, to_disk=False) as form:
        first = form.files[0] if form.files else None
        if first is None or first.file is None:
            raise (first.error if first else None) or InputError(NO_COPY)
        return await run_in_threadpool(_taken, safe, first.file.file.read)


def _taken(safe: Safe, read: Callable[[], bytes]) -> Header:
    with _apart() as source:
        source.write_bytes(read())
        return safe.vaults.restore(source)
