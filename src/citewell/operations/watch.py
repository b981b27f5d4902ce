"""Watches folders: new files are added, changed ones become versions, and what is gone is withdrawn."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from citewell.app import App
from citewell.errors import CitewellError, DoesNotFit, InputError, LibraryError, MissingExtra, NotFound, Unavailable
from citewell.history import TrailEvent
from citewell.ingest.parse import safe_name
from citewell.operations.file_lock import alone
from citewell.ports.folders import DocumentFolder
from citewell.types import OWNER_ID, Filing, LibraryEntry, LifecycleState, Source
from citewell.types.hashed_ids import logged
from citewell.types.tags import checked_tags
from citewell.types.watched import FolderListing, FolderLook, SeenFile, WatchedFile, WatchedFolder
from citewell.wiring import make_folder

log = logging.getLogger(__name__)

PRIVATE_TAG = "watched"
"""For folders without tags of their own: nobody but administrators sees it until somebody is given it."""
LOCK_FILE = ".watch.lock"
RUNNING = "Another process is looking at the watched folders. Wait for it to finish."
MANY, MAX_SKIPPED = 10, 100
HELD = (
    "{count} of {of} files are gone, so nothing was withdrawn: the drive may be missing. If they are meant to be gone, "
    "run `citewell watch --confirm` with this folder."
)
UNREAD = "Some of the folder could not be opened, so nothing was withdrawn."
TOO_LARGE = "It is over the limit of {limit} MiB. Split it, or raise CITEWELL_MAX_FILE_MB."
BY_HAND = "It changed, but its document was withdrawn by hand. Restore the document to follow the file again."
ERASED = "Its document was erased by hand, so it is not added again. Remove the file, or rename it."
NOT_SAFE = "Choose a folder of documents that does not hold the library itself."
NESTED = (
    "This folder and {other}, which is watched already, lie inside each other. Watch the outer one, with --rule for "
    "the inner one."
)
NO_RULE = "“{rule}” is not a rule. Write SUBFOLDER=TAG or SUBFOLDER=TAG,TAG."
RECOVERED = "?"
"""The mark of a file that was added by a look that was broken off: no file has it, so it is read again."""
RETRY_S = 1.0


# ----------------------------------------------------------------------------------------------------------- the list


def watch_folder(
    app: App, address: str, *, tags: frozenset[str], rules: tuple[str, ...] = (), journeys: frozenset[str] = frozenset()
) -> WatchedFolder:
    """Put a folder on the list, or file it anew; what is not said stays as it was.

    What is in it is seen by those who hold its tags, and by nobody else unless it says so.
    """
    address = plain_address(address)
    listed = app.watched.all(tenant=app.tenant)
    before = next((folder for folder in listed if folder.address == address), None)
    if before is None:
        _refuse_place(app, address, listed)
        with closing(make_folder(app.settings, address)) as source:
            source.listing()
    for journey in journeys:
        app.journeys.one(journey, app.scope_of_owner())
    folder = before or WatchedFolder(str(uuid.uuid4()), app.tenant, address, (PRIVATE_TAG,), {}, (), datetime.now(UTC))
    folder = replace(
        folder,
        tags=tuple(sorted(checked_tags(tags, by_admin=True))) if tags else folder.tags,
        rules=dict(map(_rule, rules)) or folder.rules,
        journeys=tuple(sorted(journeys)) or folder.journeys,
    )
    if before is not None:
        _refile(app, before, folder)
    app.watched.put(folder)
    return app.watched.one(address, tenant=app.tenant)


def _refuse_place(app: App, address: str, listed: list[WatchedFolder]) -> None:
    """Refuse the library's own folder, and one file in two watched folders."""
    if "://" not in address and app.settings.home.resolve().is_relative_to(address):
        raise InputError(NOT_SAFE)
    for other in listed:
        inner, outer = sorted((f"{address}/", f"{other.address}/"), key=len, reverse=True)
        if inner.startswith(outer):
            raise InputError(NESTED.format(other=other.address))


def _refile(app: App, before: WatchedFolder, now: WatchedFolder) -> None:
    """Give the documents of a folder its new tags, but for those that people gave others."""
    for file in app.watched.files(before.id).values():
        tags = now.tags_of(file.path)
        if not (file.is_ours and file.document_id) or tags == before.tags_of(file.path):
            continue
        with suppress(NotFound):
            entry = app.library.entry(file.document_id, app.scope_of_owner())
            if frozenset(entry.tags) == before.tags_of(file.path):
                app.refile(entry.id, Filing(tags=tags, added_by=OWNER_ID))


def plain_address(address: str) -> str:
    """A folder as it is listed: with its whole path, and without a slash at the end."""
    return address.rstrip("/") if "://" in address else str(Path(address).expanduser().resolve())


def _rule(rule: str) -> tuple[str, tuple[str, ...]]:
    folder, _, tags = rule.partition("=")
    if not folder.strip("/ ") or not tags:
        raise InputError(NO_RULE.format(rule=rule))
    return folder.strip("/ "), tuple(sorted(checked_tags(tags.split(","), by_admin=True)))


# --------------------------------------------------------------------------------------------------------- one look


def look_at_all(
    app: App, *, only: str | None = None, is_confirmed: bool = False, is_stopped: Callable[[], bool] = lambda: False
) -> Iterator[WatchedFolder]:
    """Look at every folder on the list, or at one; what keeps one from being read does not stop the others."""
    with alone(app.settings.home / LOCK_FILE, running=RUNNING):
        for folder in app.watched.all(tenant=app.tenant):
            if only in (None, folder.address):
                yield _look_at(app, folder, is_stopped, is_confirmed=is_confirmed)


def _look_at(app: App, folder: WatchedFolder, is_stopped: Callable[[], bool], *, is_confirmed: bool) -> WatchedFolder:
    try:
        with closing(make_folder(app.settings, folder.address)) as source:
            look = _Look(app, folder, source, is_stopped)
            problem = look.run(is_confirmed=is_confirmed)
    except (Unavailable, MissingExtra, InputError, LibraryError) as error:
        return app.watched.looked(folder, None, str(error))
    return app.watched.looked(folder, look.result, problem)


@dataclass
class _Look:
    """One look at one folder: every step is kept as soon as it is done, so that the next look goes on from there."""

    app: App
    folder: WatchedFolder
    source: DocumentFolder
    is_stopped: Callable[[], bool]
    known: dict[str, WatchedFile] = field(default_factory=dict)
    result: FolderLook = field(default_factory=FolderLook)

    def run(self, *, is_confirmed: bool) -> str | None:
        """Take in what is new, then withdraw what is gone; what kept it from that."""
        self.known = self.app.watched.files(self.folder.id)
        self._recover([file for file in self.known.values() if file.mark == "" and file.content_hash])
        before = [file for file in self.known.values() if not file.is_gone]
        listing = self.source.listing()
        skipped = dict(list(listing.skipped.items())[:MAX_SKIPPED])
        self.result = replace(self.result, skipped=skipped, skipped_count=len(listing.skipped))
        there = {file.path for file in listing.files}
        for file in self._settled([file for file in listing.files if self._is_news(file)]):
            if self.is_stopped():
                return None
            self._take(file, there)
        gone = [file for path, file in self.known.items() if path not in there and not file.is_gone]
        if not gone:
            return None if listing.is_complete else UNREAD
        if not listing.is_complete:
            return UNREAD
        if not is_confirmed and _is_odd(len(gone), len(before)):
            return HELD.format(count=len(gone), of=len(before))
        for known in gone:
            self._let_go(known)
        return None

    def _recover(self, begun: list[WatchedFile]) -> None:
        """Find what a look that was broken off had done already, whatever became of its file since."""
        current = {entry.content_hash: entry for entry in self.app.entries() if entry.is_current} if begun else {}
        for file in begun:
            entry = current.get(file.content_hash)
            before = None if file.document_id is None else self._entry(file.document_id)
            if entry is not None and (before is None or before.lineage == entry.lineage):
                if before is None or before.id != entry.id:
                    is_new = before is None
                    self._note(
                        "document.add" if is_new else "document.replace", entry.id, "added" if is_new else "changed"
                    )
                self._keep(replace(file, mark=RECOVERED, document_id=entry.id, is_gone=False))
            elif file.is_gone and before is not None and before.is_current:
                self._keep(replace(file, mark=RECOVERED, is_gone=False))

    def _begin(self, known: WatchedFile) -> None:
        """Keep that a document is about to leave search or to come back: the next look finds out whether it did."""
        self._keep(replace(known, mark="", is_gone=True))

    def _is_news(self, file: SeenFile) -> bool:
        known = self.known.get(file.path)
        return known is None or known.is_gone or known.mark != file.mark

    def _settled(self, news: list[SeenFile]) -> list[SeenFile]:
        """Those that have not changed for a moment."""
        if not news or self.source.is_settled:
            return news
        time.sleep(self.app.settings.watch_settle_s)
        again: FolderListing = self.source.listing()
        now = {file.path: file for file in again.files}
        settled = [file for file in news if now.get(file.path) == file]
        self._count("waiting", len(news) - len(settled))
        return settled

    # ---------------------------------------------------------------------------------------------- what is new

    def _take(self, file: SeenFile, there: set[str]) -> None:
        """Take in a file that is new, changed, moved or back."""
        known = self.known.get(file.path)
        limit = self.app.settings.max_file_mb
        if file.size_bytes > limit << 20:
            self._keep(_failed(file, known, "", TOO_LARGE.format(limit=limit)))
            return
        try:
            data = self.source.read(file)
        except Unavailable as error:
            self._keep(replace(_failed(file, known, "", str(error)), mark=""))
            return
        if data is None:
            self._count("waiting", 1)
            return
        content_hash = hashlib.sha256(data).hexdigest()
        is_same = known is not None and known.content_hash == content_hash and known.mark != ""
        if known is not None and is_same and not known.is_gone:
            self._keep(replace(known, mark=file.mark))
        elif known is not None and is_same:
            self._bring_back(known, file)
        elif (known is None or known.is_gone) and (was := self._moved(content_hash, there)) is not None:
            self._bring_back(was, file)
        else:
            self._read(file, known, Source(data, PurePosixPath(file.path).name), content_hash)

    def _moved(self, content_hash: str, there: set[str]) -> WatchedFile | None:
        """The file that had these bytes and is not at its place any more."""
        files = (file for path, file in self.known.items() if path not in there or file.is_gone)
        same = (file for file in files if file.document_id and file.content_hash == content_hash)
        return next((file for file in same if self._has(file.document_id or "", content_hash)), None)

    def _has(self, document_id: str, content_hash: str) -> bool:
        """Whether a document has these bytes, or is erased; that of a version that was only begun has others."""
        entry = self._entry(document_id)
        return entry is None or entry.content_hash == content_hash

    def _bring_back(self, was: WatchedFile, file: SeenFile) -> None:
        """The same bytes at another place, or there again: the document is kept, and answers."""
        assert was.document_id is not None
        entry = self._entry(was.document_id)
        if entry is None:
            self._keep(replace(was, path=file.path, mark=file.mark, is_gone=False, problem=ERASED), was_at=was.path)
            return
        if was.is_gone and was.is_ours and entry.state is LifecycleState.WITHDRAWN:
            self._begin(was)
            self.app.library.restore(entry.id, self.app.scope_of_owner(), by=OWNER_ID)
            self._note("document.restore", entry.id, "restored")
        tags = self.folder.tags_of(file.path)
        if was.is_ours and tags != self.folder.tags_of(was.path) and frozenset(entry.tags) != tags:
            self.app.refile(entry.id, Filing(tags=tags, added_by=OWNER_ID))
        if was.path != file.path:
            self._note("document.move", entry.id, "moved")
        self._keep(replace(was, path=file.path, mark=file.mark, is_gone=False, problem=None), was_at=was.path)

    def _read(self, file: SeenFile, known: WatchedFile | None, source: Source, content_hash: str) -> None:
        """Read a file whose bytes the folder did not have."""
        before = None if known is None or known.document_id is None else self._entry(known.document_id)
        if known is not None and known.document_id is not None and not known.is_gone and _is_left(before):
            told = ERASED if before is None else BY_HAND
            self._keep(_failed(file, known, content_hash, told))
            return
        same = self.app.library.same(source, subject=None, scope=self.app.scope_of_owner())
        if same is None:
            was_gone = known is not None and known.is_gone
            begun = WatchedFile(file.path, "", content_hash, before.id if before else None, is_gone=was_gone)
            self._keep(begun)
            self._add(begun, file, source, before)
            return
        places = self.app.watched.places(same.id, tenant=self.folder.tenant)
        is_mine = any(other.is_ours for _, other in places)
        if known is not None and before is not None and before.lineage != same.lineage:
            self._begin(known)
            self._withdraw(known)
        self._keep(WatchedFile(file.path, file.mark, content_hash, same.id, is_ours=is_mine))

    def _add(self, begun: WatchedFile, file: SeenFile, source: Source, before: LibraryEntry | None) -> None:
        """Add a document, or the next version of one."""
        filing = Filing(
            tags=None if before else self.folder.tags_of(file.path),
            journeys=None if before else frozenset(self.folder.journeys),
            replaces=before.id if before else None,
            added_by=OWNER_ID,
            is_separate=before is None,
        )
        try:
            entry = self.app.add_source(Source(source.data, safe_name(source.name)), filing=filing).entry
        except InputError as error:
            self._keep(_failed(file, begun, begun.content_hash, str(error)))
            return
        self._note("document.replace" if before else "document.add", entry.id, "changed" if before else "added")
        self._keep(replace(begun, mark=file.mark, document_id=entry.id, is_gone=False))

    # ---------------------------------------------------------------------------------------------- what is gone

    def _let_go(self, known: WatchedFile) -> None:
        """A file is gone: its document goes out of search, unless another file or somebody else brought it."""
        if known.document_id is None or not known.is_ours or self._is_elsewhere(known):
            self.app.watched.forget(self.folder.id, known.path)
            del self.known[known.path]
            return
        self._begin(known)
        self._withdraw(known)
        self._keep(replace(known, is_gone=True, problem=None))

    def _withdraw(self, known: WatchedFile) -> None:
        """Take a document out of search, where that is still what it was."""
        entry = self._entry(known.document_id or "")
        if known.is_ours and entry is not None and entry.is_current and not self._is_elsewhere(known):
            self.app.library.withdraw(entry.id, self.app.scope_of_owner(), by=OWNER_ID)
            self._note("document.withdraw", entry.id, "withdrawn")

    def _is_elsewhere(self, known: WatchedFile) -> bool:
        """Whether another file that is there holds the same document."""
        places = self.app.watched.places(known.document_id or "", tenant=self.folder.tenant)
        mine = (self.folder.id, known.path)
        return any((folder.id, file.path) != mine and not file.is_gone for folder, file in places)

    # ------------------------------------------------------------------------------------------------------ inside

    def _entry(self, document_id: str) -> LibraryEntry | None:
        try:
            return self.app.library.entry(document_id, self.app.scope_of_owner())
        except NotFound:
            return None

    def _keep(self, file: WatchedFile, *, was_at: str | None = None) -> None:
        self.app.watched.keep(self.folder.id, file, was_at=was_at)
        self.known.pop(was_at or file.path, None)
        self.known[file.path] = file

    def _note(self, action: str, document_id: str, count: str) -> None:
        """Put on the trail what was done, and count it."""
        now = datetime.now(UTC)
        self.app.trail.keep([TrailEvent(self.folder.tenant, OWNER_ID, "watch", action, document_id, "done", now)])
        self._count(count, 1)

    def _count(self, name: str, by: int) -> None:
        self.result = replace(self.result, **{name: asdict(self.result)[name] + by})


def _is_odd(gone: int, before: int) -> bool:
    """Whether so many files are gone at once that the drive may be.

    >>> _is_odd(1, 1), _is_odd(3, 8), _is_odd(12, 30), _is_odd(20, 30)
    (True, False, False, True)
    """
    return gone == before or (gone > MANY and 2 * gone > before)


def _is_left(entry: LibraryEntry | None) -> bool:
    """Whether a person erased or withdrew the document of a file that is there."""
    return entry is None or entry.state is LifecycleState.WITHDRAWN


def _failed(file: SeenFile, known: WatchedFile | None, content_hash: str, problem: str) -> WatchedFile:
    """A file that could not be read, as it is; it is tried again once it changes. An earlier version goes on."""
    before = known or WatchedFile(file.path, "", "")
    document_id = None if before.is_gone else before.document_id
    return WatchedFile(file.path, file.mark, content_hash, document_id, before.is_ours, problem=problem)


# ---------------------------------------------------------------------------------------------------- again and again


def keep_watching(app: App, stopped: threading.Event, told: Callable[[WatchedFolder], None]) -> None:
    """Look at all folders again and again until it is stopped."""
    wait_s = RETRY_S
    while not stopped.wait(wait_s):
        wait_s = app.settings.watch_seconds or RETRY_S
        try:
            for folder in look_at_all(app, is_stopped=stopped.is_set):
                told(folder)
                if stopped.is_set():
                    return
        except DoesNotFit:
            continue  # another process does it
        except CitewellError as error:
            log.warning("the watched folders could not be looked at: %s", error)


class FolderWatcher:
    """Watches the folders on the list as long as the server runs, unless the settings say not to."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._failing: set[str] = set()

    def start(self) -> None:
        """Begin to look."""
        if self._app.settings.watch_seconds and self._thread is None:
            self._stopped.clear()
            self._thread = threading.Thread(target=self._run, name="watched-folders", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop after the file at hand."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        keep_watching(self._app, self._stopped, self._tell)

    def _tell(self, folder: WatchedFolder) -> None:
        """Say in the log when a folder begins to fail; where it is, the page and the command line tell."""
        if folder.problem is None:
            self._failing.discard(folder.id)
        elif folder.id not in self._failing:
            self._failing.add(folder.id)
            log.warning("watched folder %s needs a look: `citewell watch --list` says why", logged(folder.id))
