"""Locked copies of vaults over HTTP: one that is made passes through a temporary folder, encrypted already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from citewell.adapters.vault.header import Header
from citewell.api.multipart import received, whole_body
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import site_of
from citewell.api.vault_sessions import OpenVaults
from citewell.errors import InputError, TooLarge

TOO_LARGE = "The copy is larger than the {:,} MiB limit for uploads. Run `citewell vault restore` on it instead."
NO_COPY = "No file selected. Choose the copy you downloaded from Settings."


@contextmanager
def _apart() -> Iterator[Path]:
    """A place for one copy, gone at the end."""
    with TemporaryDirectory(prefix="citewell-") as folder:
        yield Path(folder) / "copy.vault"


def exported(safe: OpenVaults, vault_id: str, passphrase: str) -> bytes:
    """A vault as one encrypted file."""
    with _apart() as target:
        safe.vaults.export(vault_id, passphrase, target)
        return target.read_bytes()


async def restored(request: Request, safe: OpenVaults) -> Header:
    """The vault of a copy that a form or a body brings."""
    max_bytes = site_of(request).app.settings.limits.max_bytes
    try:
        return await _restored(request, safe, max_bytes)
    except TooLarge as error:
        raise TooLarge(TOO_LARGE.format(max_bytes // 1_048_576)) from error


async def _restored(request: Request, safe: OpenVaults, max_bytes: int) -> Header:
    """A copy stays in memory until it has proved to be one: somebody may have chosen a letter by mistake."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        require_our_form(request)
        data = await whole_body(request, max_file_bytes=max_bytes)
        return await run_in_threadpool(safe.vaults.restore, BytesIO(data))
    async with received(request, max_file_bytes=max_bytes, to_disk=False) as form:
        first = form.files[0] if form.files else None
        if first is None or first.file is None:
            raise (first.error if first else None) or InputError(NO_COPY)
        return await run_in_threadpool(safe.vaults.restore, first.file.file)
