"""What the API and the pages for those who keep documents share: lists, edits, and actions on a selection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, assert_never

from citewell.adapters.store.catalogue import Edit
from citewell.adapters.store.library import NEVER_READ
from citewell.api import changes
from citewell.api.bodies.documents import Outcome
from citewell.api.changes import who
from citewell.api.site import Site
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError, InputError, ScopeRefused
from citewell.types import Chunking, Entry, Scope, State
from citewell.types.lifecycle import QueueStatus

Action = Literal["ingest", "withdraw", "restore", "erase"]
MAX_CHOSEN = 1_000
NONE_CHOSEN = "No documents selected. Tick one or more in the list first."
ALL_TENANTS = (
    "Changing the embedding model affects every organisation's documents, so an administrator of the organisation "
    "that runs this server must start it. Nothing was changed."
)
NEVER_DONE = frozenset({State.PENDING, State.QUEUED, State.FAILED})


def chosen(site: Site, visitor: Visitor, document_ids: Sequence[str]) -> list[Entry]:
    """The documents of a selection, all of them the visitor's to change."""
    ids = list(dict.fromkeys(document_ids))
    if not ids:
        raise InputError(NONE_CHOSEN)
    if len(ids) > MAX_CHOSEN:
        raise InputError(f"Too many documents selected. You can change up to {MAX_CHOSEN:,} at once.")
    entries = site.app.catalogue.chosen(ids, visitor.whole)
    changes.refuse_unless_theirs(entries, visitor)
    return entries


def acted(site: Site, visitor: Visitor, action: Action, document_ids: Sequence[str]) -> list[Outcome]:
    """Do the same to every document of a selection; one that it cannot be done to does not stop the others."""
    entries = chosen(site, visitor, document_ids)
    deed = _deed(site, visitor, action)
    gone: set[str] = set()
    outcomes = []
    for entry in entries:
        if entry.id in gone:  # it went with another version
            outcomes.append(Outcome(entry.id, entry.title, is_done=True, detail="erased"))
            continue
        try:
            detail, more = deed(entry)
            gone |= more
            outcomes.append(Outcome(entry.id, entry.title, is_done=True, detail=detail))
        except CitewellError as error:
            outcomes.append(Outcome(entry.id, entry.title, is_done=False, detail=str(error)))
    if action == "ingest":
        site.worker().nudge()
    return outcomes


def _deed(site: Site, visitor: Visitor, action: Action) -> Callable[[Entry], tuple[str, set[str]]]:
    """What is done to one document: the words for it, and which versions are no more."""
    library, scope, by = site.app.library, visitor.whole, who(visitor)

    def ingest(entry: Entry) -> tuple[str, set[str]]:
        if entry.state in NEVER_DONE:
            changes.retry(site, entry.id, visitor)
            return "queued", set()
        library.reread(scope, by=by, embedder=site.loaded().embedder.fingerprint, document_id=entry.id)
        return "queued for re-processing; stays in use until then", set()

    def withdraw(entry: Entry) -> tuple[str, set[str]]:
        library.withdraw(entry.id, scope, by=by)
        return "withdrawn from search but kept", set()

    def restore(entry: Entry) -> tuple[str, set[str]]:
        library.restore(entry.id, scope, by=by)
        return "in use again", set()

    def erase(entry: Entry) -> tuple[str, set[str]]:
        family = site.app.catalogue.versions(entry.lineage, Scope.owner(entry.tenant))
        changes.refuse_unless_theirs([entry] if entry.state in NEVER_READ else family, visitor)
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


def runs_server(site: Site, visitor: Visitor) -> bool:
    """Whether this is an administrator of the tenant that runs the server: what concerns all tenants is theirs."""
    return visitor.may("govern") and visitor.tenant == site.tenant


def reread_all(site: Site, visitor: Visitor, *, is_dry: bool = False) -> list[str]:
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


def queue_of(site: Site, visitor: Visitor) -> QueueStatus:
    """How the queue stands, without the workers where they work for others too."""
    status = site.app.library.status(visitor.whole)
    return status if runs_server(site, visitor) else replace(status, workers=())


def edited(site: Site, visitor: Visitor, document_id: str, fields: Mapping[str, Any], revision: int | None) -> Entry:
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
