"""What a visitor changes in the library: files queued, filed anew, tried again, erased; only where it is theirs."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import replace

from citewell.adapters.store.library import NEVER_READ
from citewell.api.site import UNDER_WAY, Site
from citewell.api.visitor import NOT_YOURS_TO_CHANGE, Visitor
from citewell.errors import NotFound, ScopeRefused
from citewell.ingest.library_changes import AddedDocument, check_embedder, refiled
from citewell.types import Filing, LibraryEntry, Scope, Source
from citewell.types.hashed_ids import logged

log = logging.getLogger(__name__)


def queue(site: Site, source: Source, filing: Filing, visitor: Visitor) -> AddedDocument:
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


def _known(site: Site, source: Source, filing: Filing, scope: Scope) -> LibraryEntry | None:
    """The same bytes, on the shelf or on the way to it."""
    there = site.app.library.same(source, subject=filing.subject, scope=scope)
    if there is not None:
        return there
    content_hash = hashlib.sha256(source.data).hexdigest()
    waiting = (entry for entry in site.app.entries(scope) if entry.state in UNDER_WAY)
    same = (entry for entry in waiting if entry.content_hash == content_hash and entry.subject == filing.subject)
    return next(same, None)


def refile(
    site: Site, document_id: str, filing: Filing, visitor: Visitor, *, revision: int | None = None
) -> LibraryEntry:
    """Change tags and journeys of a document; nothing is embedded again."""
    before = frozenset(site.entry(document_id, visitor.whole).tags)
    tags = visitor.filed(filing.tags, before=before)
    filing = replace(filing, tags=tags)
    return site.app.library.refile(document_id, filing=filing, scope=visitor.whole, by=who(visitor), revision=revision)


def _followed(site: Site, document_id: str, visitor: Visitor) -> frozenset[str]:
    """The tags of a document that the visitor may give a next version to: one that puts away no other's."""
    entry = site.entry(document_id, visitor.whole)
    standing = [one for one in _family(site, entry) if one.is_current or one.state in UNDER_WAY]
    refuse_unless_theirs([entry, *standing], visitor)
    return frozenset(entry.tags)


def _family(site: Site, entry: LibraryEntry) -> list[LibraryEntry]:
    """All versions of a document, whoever may see them."""
    return [one for one in site.app.entries(Scope.owner(entry.tenant)) if one.lineage == entry.lineage]


def erasable(site: Site, document_id: str, visitor: Visitor) -> list[LibraryEntry]:
    """What goes with a document when this visitor deletes it; refused where a part of it is not theirs."""
    entry = site.entry(document_id, visitor.whole)
    gone = [entry] if entry.state in NEVER_READ else _family(site, entry)
    refuse_unless_theirs(gone, visitor)
    return gone


def delete(site: Site, document_id: str, visitor: Visitor) -> list[LibraryEntry]:
    """Erase all versions of a document; none are left to erase where this visitor did so before."""
    try:
        erasable(site, document_id, visitor)
    except NotFound:
        if site.app.library.is_erased(document_id, visitor.whole, by=who(visitor)):
            return []
        raise
    return site.app.erase(document_id, visitor.whole, by=who(visitor))


def retry(site: Site, document_id: str, visitor: Visitor, *, revision: int | None = None) -> LibraryEntry:
    """Queue a document again that could not be read; where it replaces another, that one is theirs too."""
    _followed(site, document_id, visitor)
    entry = site.app.library.requeue(document_id, visitor.whole, by=who(visitor), revision=revision)
    site.worker().nudge()
    return entry


def withdraw(site: Site, document_id: str, visitor: Visitor, *, revision: int | None = None) -> LibraryEntry:
    """Withdraw a document from search; it is kept."""
    _theirs(site, document_id, visitor)
    return site.app.library.withdraw(document_id, visitor.whole, by=who(visitor), revision=revision)


def restore(site: Site, document_id: str, visitor: Visitor, *, revision: int | None = None) -> LibraryEntry:
    """Restore a withdrawn document."""
    _theirs(site, document_id, visitor)
    return site.app.library.restore(document_id, visitor.whole, by=who(visitor), revision=revision)


def reread(site: Site, document_id: str, visitor: Visitor, *, revision: int | None = None) -> LibraryEntry:
    """Read a document a second time, while the first reading goes on answering."""
    _theirs(site, document_id, visitor)
    embedder = site.loaded().embedder.fingerprint
    scope = visitor.whole
    site.app.library.reread(scope, by=who(visitor), embedder=embedder, document_id=document_id, revision=revision)
    site.worker().nudge()
    return site.entry(document_id, scope)


def _theirs(site: Site, document_id: str, visitor: Visitor) -> None:
    """Refuse a document that the visitor may see but not change."""
    refuse_unless_theirs([site.entry(document_id, visitor.whole)], visitor)


def who(visitor: Visitor) -> str:
    """How the history names a visitor."""
    return visitor.email or visitor.user_id


def refuse_unless_theirs(entries: Iterable[LibraryEntry], visitor: Visitor) -> None:
    """Refuse a change to documents of which the visitor may not change every one."""
    if not all(visitor.may_change(entry.tags) for entry in entries):
        raise ScopeRefused(NOT_YOURS_TO_CHANGE)
