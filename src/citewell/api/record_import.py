"""Takes files into an open vault, each on its own; they stay in memory until they are in it, encrypted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fastapi import Request

from citewell.api.asking import in_turn
from citewell.api.multipart import Received, received, whole_body
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import site_of
from citewell.api.vault_sessions import VaultSession, in_use
from citewell.errors import CitewellError, InputError, VaultLocked
from citewell.types import Source
from citewell.vaults.health_record import Imported

log = logging.getLogger(__name__)

UNNAMED = "record"
NOTHING_CHOSEN = "No files selected. Choose one or more, then add them."


@dataclass(frozen=True, slots=True)
class FileImport:
    """What became of one file."""

    name: str
    imported: Imported | None
    error: CitewellError | None = None


async def import_files(request: Request, room: Callable[[], VaultSession]) -> list[FileImport]:
    """Every file of a form, or a body that is one file; one that is refused does not stop the others.

    The vault is looked up when the request has proved that it is ours.
    """
    site = site_of(request)
    max_bytes = site.app.settings.limits.max_bytes
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        require_our_form(request)
        room()
        body = Source(await whole_body(request, max_file_bytes=max_bytes), UNNAMED)
        return [await in_turn(site, partial(_outcome, room(), body))]
    async with received(request, max_file_bytes=max_bytes, to_disk=False) as form:
        if not form.files:
            raise InputError(NOTHING_CHOSEN)
        opened = room()
        return [await in_turn(site, partial(_taken, opened, file)) for file in form.files]


def _taken(room: VaultSession, file: Received) -> FileImport:
    if file.file is None or file.error is not None:
        return FileImport(file.name, None, file.error or InputError("The file did not arrive. Send it again."))
    return _outcome(room, Source(file.file.file.read(), file.name))


def _outcome(room: VaultSession, source: Source) -> FileImport:
    started = time.perf_counter()
    try:
        with in_use(room.profile), room.safe.importing(room.id) as watch:
            imported = room.record.import_source(source, watch=watch)
    except VaultLocked:
        raise
    except CitewellError as error:
        return FileImport(source.name, None, error)
    change = imported.change
    log.info(
        "import: %d new, %d changed in %.0f ms", change.added, change.changed, (time.perf_counter() - started) * 1000
    )
    return FileImport(source.name, imported)
