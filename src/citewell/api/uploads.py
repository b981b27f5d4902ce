"""Takes uploaded files to the queue, each on its own: one that is refused does not stop the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from citewell.api import document_changes
from citewell.api.multipart import CSRF_FIELD, Form, Received, received
from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError, InputError
from citewell.ingest.library_changes import AddedDocument
from citewell.ingest.parse import kind_of
from citewell.types import Filing, Source

ACCEPTED = ".pdf,.docx,.html,.htm,.xhtml,.xml,.nxml,.md,.markdown,.txt,.text"
"""Files that can be read, by their endings."""
ADDED_BY = "web"
MAX_TITLE_CHARACTERS = 300
FIELDS = ("tags", "journeys", "subject", "title", "replaces")
"""What an upload may say beside its files."""


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that was not taken in."""

    name: str
    error: CitewellError


@dataclass(frozen=True, slots=True)
class UploadOutcome:
    """What became of the files of one upload."""

    added: tuple[AddedDocument, ...]
    refused: tuple[RefusedFile, ...]


async def take_in(
    request: Request, site: ServerState, visitor: Visitor, *, replaces: str | None = None
) -> UploadOutcome:
    """Queue every file of an upload."""
    limits = site.app.settings.limits
    async with received(request, max_file_bytes=limits.max_bytes) as form:
        if not form.fields.keys() <= {*FIELDS, CSRF_FIELD, "files"}:  # which is a plain field where no file was chosen
            raise InputError(f"Unexpected form field. As well as “files”, you can send only: {', '.join(FIELDS)}.")
        if not form.files:
            raise InputError("No files selected. Choose one or more, then add them.")
        filing = _filing(form, replaces, added_by=visitor.email or ADDED_BY)
        added, refused = [], []
        for file in form.files:
            outcome = await run_in_threadpool(_queued, file, site, filing, visitor)
            if isinstance(outcome, AddedDocument):
                added.append(outcome)
            else:
                refused.append(outcome)
        return UploadOutcome(tuple(added), tuple(refused))


@asynccontextmanager
async def files_of(
    request: Request, site: ServerState
) -> AsyncIterator[tuple[list[Source], dict[str, frozenset[str]]]]:
    """The files of a form in memory, and the tags and journeys that it names."""
    async with received(request, max_file_bytes=site.app.settings.limits.max_bytes) as form:
        if not form.files:
            raise InputError("No files selected. Choose one or more, then add them.")
        sources = []
        for file in form.files:
            if file.file is None or file.error is not None:
                raise file.error or InputError("The file did not arrive. Send it again.")
            sources.append(Source(file.file.file.read(), file.name))
        yield sources, {name: _words(form.fields.get(name, "")) for name in ("tags", "journeys")}


def _queued(file: Received, site: ServerState, filing: Filing, visitor: Visitor) -> AddedDocument | RefusedFile:
    if file.file is None or file.error is not None:
        return RefusedFile(file.name, file.error or InputError("The file did not arrive. Send it again."))
    source = Source(file.file.file.read(), file.name)
    try:
        kind_of(source, limits=site.app.settings.limits)
        return document_changes.queue(site, source, filing, visitor)
    except CitewellError as error:  # a full store too: what came before it has been taken in
        return RefusedFile(file.name, error)


def _filing(form: Form, replaces: str | None, *, added_by: str) -> Filing:
    """Where the files belong, as the form says; what it does not say is as in the version before, else public."""
    return Filing(
        tags=_words(form.fields.get("tags", "")) or None,
        journeys=_words(form.fields.get("journeys", "")) or None,
        subject=form.fields.get("subject", "").strip() or None,
        title=_one_line(form.fields.get("title", "")) or None if len(form.files) == 1 else None,
        replaces=replaces or form.fields.get("replaces", "").strip() or None,
        added_by=added_by,
    )


def _one_line(text: str) -> str:
    r"""A title as a list can show it: no line breaks, no signs that cannot be seen, no more than a few lines' worth.

    >>> _one_line(" Iron\r\n\x00ore ")
    'Iron ore'
    """
    seen = "".join(sign for sign in text if sign.isprintable() or sign.isspace())
    return " ".join(seen.split())[:MAX_TITLE_CHARACTERS]


def _words(text: str) -> frozenset[str]:
    """The words of a list that a person typed.

    >>> sorted(_words("lung, referral  2024"))
    ['2024', 'lung', 'referral']
    """
    return frozenset(text.replace(",", " ").split())
