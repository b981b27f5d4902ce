"""What a visitor changes in the library, only where it is theirs: files queued, edited, tried again, erased."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from citewell.adapters.store.document_lists import Edit
from citewell.adapters.store.library import NEVER_READ
from citewell.api.bodies.documents import MAX_CHOSEN, Action, DocumentOutcome
from citewell.api.server_state import UNDER_WAY, ServerState
from citewell.api.visitor import NOT_YOURS_TO_CHANGE, Visitor
from citewell.errors import CitewellError, InputError, NotFound, ScopeRefused
from citewell.ingest.library_changes import AddedDocument, check_embedder, refiled
from citewell.types import Chunking, Filing, LibraryEntry, LifecycleState, Scope, Source
from citewell.types.hashed_ids import logged
from citewell.types.lifecycle import QueueStatus

log = logging.getLogger(__name__)

NONE_CHOSEN = "No documents selected. Tick one or more in the list first."
ALL_TENANTS = (
    "Changing the embedding model affects every organisation's documents, so an administrator of the organisation "
    "that runs this server must start it. Nothing was changed."
)
NEVER_DONE = frozenset({LifecycleState.PENDING, LifecycleState.QUEUED, LifecycleState.FAILED})


def origin(site: ServerState, document_id: str, visitor: Visitor) -> str:
    """The files of watched folders that hold a document; only administrators see where the folders are."""
    places = site.app.watched.places(document_id, tenant=visitor.tenant)
    is_told = visitor.may("govern")
    return ", ".join(f"{folder.address}/{file.path}" if is_told else file.path for folder, file in places)


def queue(site: ServerState, source: Source, filing: Filing, visitor: Visitor) -> AddedDocument:
    """Keep a file for the worker; the same bytes twice are kept once."""
    worker, scope, library = site.worker(), visitor.whole, site.app.library
    if site.is_reading:
        check_embedder(library, site.app.embedder.fingerprint)
    with site.queueing:
        known = None if filing.replaces else _known(site, source, filing, scope)
        if known is not None:
            tags = visitor.filed(filing.tags, before=frozenset(known.tags), subject=filing.subject)
            return refiled(known, filing=replace(filing, tags=tags), scope=scope, library=library)
        before = None if filing.replaces is None else _followed(site, filing.replaces, visitor)
        tags = visitor.filed(filing.tags, before=before, subject=filing.subject)
        entry = library.enqueue(source, filing=replace(filing, tags=tags), scope=scope)
    worker.nudge()
    log.info("document %s queued: %d bytes", logged(entry.id), entry.size_bytes)
    return AddedDocument(entry, was_there=False)


def _known(site: ServerState, source: Source, filing: Filing, scope: Scope) -> LibraryEntry | None:
    """The same bytes, on the shelf or on the way to it."""
    there = site.app.library.same(source, subject=filing.subject, scope=scope)
    if there is not None:
        return there
    content_hash = hashlib.sha256(source.data).hexdigest()
    waiting = (entry for entry in site.app.entries(scope) if entry.state in UNDER_WAY)
    same = (entry for entry in waiting if entry.content_hash == content_hash and entry.subject == filing.subject)
    return next(same, None)


def refile(
    site: ServerState, document_id: str, filing: Filing, visitor: Visitor, *, revision: int | None = None
) -> LibraryEntry:
    """Change tags and journeys of a document; nothing is embedded again."""
    before = frozenset(site.entry(document_id, visitor.whole).tags)
    tags = visitor.filed(filing.tags, before=before)
    filing = replace(filing, tags=tags)
    return site.app.library.refile(document_id, filing=filing, scope=visitor.whole, by=who(visitor), revision=revision)


def _followed(site: ServerState, document_id: str, visitor: Visitor) -> frozenset[str]:
    """The tags of a document that the visitor may give a next version to: one that puts away no other's."""
    entry = site.entry(document_id, visitor.whole)
    standing = [version for version in _family(site, entry) if version.is_current or version.state in UNDER_WAY]
    refuse_unless_theirs([entry, *standing], visitor)
    return frozenset(entry.tags)


def _family(site: ServerState, entry: LibraryEntry) -> list[LibraryEntry]:
    """All versions of a document, whoever may see them."""
    return [version for version in site.app.entries(Scope.owner(entry.tenant)) if version.lineage == entry.lineage]


def erasable(site: ServerState, document_id: str, visitor: Visitor) -> list[LibraryEntry]:
    """What goes with a document when this visitor deletes it; refused where a part of it is not theirs."""
    entry = site.entry(document_id, visitor.whole)
    gone = [entry] if entry.state in NEVER_READ else _family(site, entry)
    refuse_unless_theirs(gone, visitor)
    return gone


def delete(site: ServerState, document_id: str, visitor: Visitor) -> list[LibraryEntry]:
    """Erase all versions of a document; none are left to erase where this visitor did so before."""
    try:
        erasable(site, document_id, visitor)
    except NotFound:
        if site.app.library.is_erased(document_id, visitor.whole, by=who(visitor)):
            return []
        raise
    return site.app.erase(document_id, visitor.whole, by=who(visitor))


def retry(site: ServerState, document_id: str, visitor: Visitor, *, revision: int | None = None) -> LibraryEntry:
    """Queue a document again that could not be read; where it replaces another, that one is theirs too."""
    _followed(site, document_id, visitor)
    entry = site.app.library.requeue(document_id, visitor.whole, by=who(visitor), revision=revision)
    site.worker().nudge()
    return entry


def withdraw(site: ServerState, document_id: str, visitor: Visitor, *, revision: int | None = None) -> LibraryEntry:
    """Withdraw a document from search; it is kept."""
    _theirs(site, document_id, visitor)
    return site.app.library.withdraw(document_id, visitor.whole, by=who(visitor), revision=revision)


def restore(site: ServerState, document_id: str, visitor: Visitor, *, revision: int | None = None) -> LibraryEntry:
    """Restore a withdrawn document."""
    _theirs(site, document_id, visitor)
    return site.app.library.restore(document_id, visitor.whole, by=who(visitor), revision=revision)


def reread(site: ServerState, document_id: str, visitor: Visitor, *, revision: int | None = None) -> LibraryEntry:
    """Read a document a second time, while the first reading goes on answering."""
    _theirs(site, document_id, visitor)
    embedder = site.loaded().embedder.fingerprint
    scope = visitor.whole
    site.app.library.reread(scope, by=who(visitor), embedder=embedder, document_id=document_id, revision=revision)
    site.worker().nudge()
    return site.entry(document_id, scope)


def _theirs(site: ServerState, document_id: str, visitor: Visitor) -> None:
    """Refuse a document that the visitor may see but not change."""
    refuse_unless_theirs([site.entry(document_id, visitor.whole)], visitor)


def who(visitor: Visitor) -> str:
    """How the history names a visitor."""
    return visitor.email or visitor.user_id


def refuse_unless_theirs(entries: Iterable[LibraryEntry], visitor: Visitor) -> None:
    """Refuse a change to documents of which the visitor may not change every one."""
    if not all(visitor.may_change(entry.tags) for entry in entries):
        raise ScopeRefused(NOT_YOURS_TO_CHANGE)


# ------------------------------------------------------------------------------------------ lists, edits and selections


def chosen(site: ServerState, visitor: Visitor, document_ids: Sequence[str]) -> list[LibraryEntry]:
    """The documents of a selection, all of them the visitor's to change."""
    ids = list(dict.fromkeys(document_ids))
    if not ids:
        raise InputError(NONE_CHOSEN)
    if len(ids) > MAX_CHOSEN:
        raise InputError(f"Too many documents selected. You can change up to {MAX_CHOSEN:,} at once.")
    entries = site.app.catalogue.chosen(ids, visitor.whole)
    refuse_unless_theirs(entries, visitor)
    return entries


def acted(site: ServerState, visitor: Visitor, action: Action, document_ids: Sequence[str]) -> list[DocumentOutcome]:
    """Do the same to every document of a selection; one that it cannot be done to does not stop the others."""
    entries = chosen(site, visitor, document_ids)
    deed = _deed(site, visitor, action)
    gone: set[str] = set()
    outcomes = []
    for entry in entries:
        if entry.id in gone:  # it went with another version
            outcomes.append(DocumentOutcome(entry.id, entry.title, is_done=True, detail="erased"))
            continue
        try:
            detail, more = deed(entry)
            gone |= more
            outcomes.append(DocumentOutcome(entry.id, entry.title, is_done=True, detail=detail))
        except CitewellError as error:
            outcomes.append(DocumentOutcome(entry.id, entry.title, is_done=False, detail=str(error)))
    if action == "ingest":
        site.worker().nudge()
    return outcomes


def _deed(site: ServerState, visitor: Visitor, action: Action) -> Callable[[LibraryEntry], tuple[str, set[str]]]:
    """What is done to one document: the words for it, and which versions are no more."""
    library, scope, by = site.app.library, visitor.whole, who(visitor)

    def ingest(entry: LibraryEntry) -> tuple[str, set[str]]:
        if entry.state in NEVER_DONE:
            retry(site, entry.id, visitor)
            return "queued", set()
        library.reread(scope, by=by, embedder=site.loaded().embedder.fingerprint, document_id=entry.id)
        return "queued for re-processing; stays in use until then", set()

    def withdraw(entry: LibraryEntry) -> tuple[str, set[str]]:
        library.withdraw(entry.id, scope, by=by)
        return "withdrawn from search but kept", set()

    def restore(entry: LibraryEntry) -> tuple[str, set[str]]:
        library.restore(entry.id, scope, by=by)
        return "in use again", set()

    def erase(entry: LibraryEntry) -> tuple[str, set[str]]:
        family = site.app.catalogue.versions(entry.lineage, Scope.owner(entry.tenant))
        refuse_unless_theirs([entry] if entry.state in NEVER_READ else family, visitor)
        return "erased", {version.id for version in site.app.erase(entry.id, scope, by=by)}

    match action:
        case "ingest":
            return ingest
        case "withdraw":
            return withdraw
        case "restore":
            return restore
        case "erase":
            return erase
        case _:
            assert_never(action)


def runs_server(site: ServerState, visitor: Visitor) -> bool:
    """Whether this is an administrator of the tenant that runs the server: what concerns all tenants is theirs."""
    return visitor.may("govern") and visitor.tenant == site.tenant


def reread_all(site: ServerState, visitor: Visitor, *, is_dry: bool = False) -> list[str]:
    """Queue everything to be read a second time, or only say what that is: the visitor's own documents of it."""
    library, embedder = site.app.library, site.loaded().embedder.fingerprint
    is_new = library.embedder() not in (None, embedder)
    if is_new and not runs_server(site, visitor):
        raise ScopeRefused(ALL_TENANTS)
    if is_dry:
        queued = library.to_reread(visitor.whole, embedder=embedder)
    else:
        queued = library.reread(visitor.whole, by=who(visitor), embedder=embedder)
        site.worker().nudge()
    theirs = {entry.id for entry in site.app.entries(visitor.whole)} if is_new else set(queued)
    return [document_id for document_id in queued if document_id in theirs]


def queue_of(site: ServerState, visitor: Visitor) -> QueueStatus:
    """How the queue stands, without the workers where they work for others too."""
    status = site.app.library.status(visitor.whole)
    return status if runs_server(site, visitor) else replace(status, workers=())


def edited(
    site: ServerState, visitor: Visitor, document_id: str, fields: Mapping[str, Any], revision: int | None
) -> LibraryEntry:
    """A document after an edit: journeys that exist, tags that the visitor may give, and nobody else's edit undone."""
    before = site.entry(document_id, visitor.whole)
    tags = visitor.filed(fields.get("tags"), before=frozenset(before.tags))
    journeys = fields.get("journeys")
    known = None if journeys is None else site.app.journeys.known(journeys, visitor.whole)
    edit = Edit(fields.get("title"), tags, known, fields.get("chunking"))
    return site.app.catalogue.edit(document_id, edit, scope=visitor.whole, by=who(visitor), revision=revision)


def chunking(strategy: str, size: int, overlap: int) -> Chunking:
    """How a document is cut, as a form says it."""
    match strategy:
        case "sections" | "headings":
            return Chunking(strategy, size, overlap, "tokens")
        case "characters":
            return Chunking(strategy, size, overlap, "characters")
        case _:
            raise InputError("Choose sections, headings or characters to split the document by.")
