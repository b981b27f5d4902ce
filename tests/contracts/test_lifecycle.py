"""The life of a document, the same in every database: legal steps, leases, retries, second readings, and a history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from citewell.adapters.store import queue
from citewell.adapters.store import row_mapping as rows
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.schema import documents
from citewell.adapters.store.schema import library as facts
from citewell.errors import ChangedMeanwhile, EmbedderMismatch, InputError, LibraryBusy, NotFound
from citewell.ingest.library_changes import add, unwatched
from citewell.ingest.parse_cut_embed import FileReader
from citewell.ingest.retries import RETRIES
from citewell.ingest.worker import Worker
from citewell.types import EVERY, Filing, LibraryEntry, LifecycleState, Scope, Source
from citewell.types.lifecycle import SYSTEM
from tests.contracts.conftest import opened_library
from tests.faults.churn import Hashes

OWNER = Scope.owner("clinic")
ASPIRIN = Source(b"Aspirin\n\nTake aspirin 75 mg once daily.", "aspirin.txt")
IRON = Source(b"Iron\n\nFerrous sulfate 200 mg is taken with water.", "iron.txt")
BROKEN = Source(b"\x00\x01\x02\x00", "x.bin")
ANN = "ann@clinic.example"


class OtherHashes(Hashes):
    """An embedder that must not be mixed with the first."""

    fingerprint = "other-hashes:8"


@pytest.fixture
def library(tmp_path: Path, address: str | None) -> Iterator[SqlLibrary]:
    made = opened_library(tmp_path, address)
    yield made
    made.close()


@pytest.fixture
def plain(reader: FileReader) -> FileReader:
    """Reads files; the meaning of its vectors does not matter here."""
    return replace(reader, embedder=Hashes())


@pytest.fixture
def other(reader: FileReader) -> FileReader:
    """Another embedder."""
    return replace(reader, embedder=OtherHashes())


@pytest.fixture
def put(library: SqlLibrary, plain: FileReader) -> Callable[[Source], LibraryEntry]:
    return lambda source: add(source, filing=Filing(), scope=OWNER, library=library, reader=plain).entry


def told(library: SqlLibrary, document_id: str) -> list[tuple[str, str]]:
    """What became of a document, and by whom."""
    return [(one.change, one.by) for one in library.history(document_id, OWNER)]


def test_every_change_is_written_down_with_who_and_when(library: SqlLibrary, plain: FileReader) -> None:
    queued = library.enqueue(ASPIRIN, filing=Filing(added_by=ANN), scope=OWNER)
    worker = Worker(library, plain)
    assert worker.work()
    library.refile(queued.id, filing=Filing(tags=frozenset({"pain"})), scope=OWNER, by=ANN)
    newer = library.enqueue(IRON, filing=Filing(replaces=queued.id, added_by=ANN), scope=OWNER)
    assert worker.work()
    library.withdraw(newer.id, OWNER, by=ANN)
    library.restore(newer.id, OWNER, by=ANN)
    me = worker.name
    assert told(library, newer.id) == [
        ("added", ANN),
        ("queued", ANN),
        ("processing", me),
        ("completed", me),
        ("refiled", ANN),
        ("added", ANN),
        ("queued", ANN),
        ("processing", me),
        ("superseded", me),
        ("completed", me),
        ("withdrawn", ANN),
        ("completed", ANN),
    ]
    changes = library.history(newer.id, OWNER)
    assert sorted(changes, key=lambda one: one.at) == changes
    assert abs(changes[0].at - datetime.now(UTC)) < timedelta(minutes=5)
    library.erase(newer.id, OWNER, by=ANN)
    assert [(one.change, one.by, one.state) for one in library.history(newer.id, OWNER)][-1] == ("erased", ANN, None)
    with pytest.raises(NotFound):  # whoever may not see all learns nothing of what is gone
        library.history(newer.id, Scope("clinic", frozenset({"pain"}), EVERY, None))
    with pytest.raises(NotFound):
        library.history(newer.id, Scope.owner("another"))
    assert library.verify().problems == ()


def test_a_withdrawn_document_is_kept_and_answers_nothing(
    library: SqlLibrary, put: Callable[[Source], LibraryEntry]
) -> None:
    entry = put(ASPIRIN)
    withdrawn = library.withdraw(entry.id, OWNER, by=ANN)
    assert (withdrawn.state, withdrawn.is_current, library.visible(OWNER)) == (LifecycleState.WITHDRAWN, False, [])
    assert library.original(entry.id, OWNER) == ASPIRIN
    with pytest.raises(InputError, match="Only a document in use"):
        library.withdraw(entry.id, OWNER, by=ANN)
    with pytest.raises(InputError, match="Only a document that could not be read"):
        library.requeue(entry.id, OWNER, by=ANN)
    assert library.restore(entry.id, OWNER, by=ANN).is_current
    assert len(library.visible(OWNER)) == 1
    assert library.verify().problems == ()


def test_two_people_who_edit_one_document_notice_each_other(
    library: SqlLibrary, put: Callable[[Source], LibraryEntry]
) -> None:
    opened = put(ASPIRIN)
    filing = Filing(tags=frozenset({"pain"}))
    library.refile(opened.id, filing=filing, scope=OWNER, by=ANN, revision=opened.revision)
    for edit in (
        lambda: library.refile(opened.id, filing=Filing(), scope=OWNER, revision=opened.revision),
        lambda: library.withdraw(opened.id, OWNER, by="bob", revision=opened.revision),
        lambda: library.erase(opened.id, OWNER, by="bob", revision=opened.revision),
    ):
        with pytest.raises(ChangedMeanwhile, match="Reload it"):
            edit()
    entry = library.entry(opened.id, OWNER)
    assert (entry.tags, entry.state, entry.revision) == (("pain",), LifecycleState.COMPLETED, opened.revision + 1)
    assert library.withdraw(opened.id, OWNER, by="bob", revision=entry.revision).state is LifecycleState.WITHDRAWN


class Failing:
    """A part of a reader that fails so many times."""

    fingerprint = Hashes.fingerprint
    dimensions = Hashes.dimensions

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.left = error, times

    def embed(self, texts, *, progress=None):  # type: ignore[no-untyped-def]
        if self.left:
            self.left -= 1
            raise self.error
        return Hashes().embed(texts)


def due_now(library: SqlLibrary, document_id: str) -> None:
    """Let the pause before the next attempt be over."""
    with library.engine.begin() as connection:
        connection.execute(update(documents).where(documents.c.id == document_id).values(next_attempt_at=None))


def test_what_may_heal_is_tried_again_later_each_time_and_then_given_up(library: SqlLibrary, plain: FileReader) -> None:
    queued = library.enqueue(ASPIRIN, filing=Filing(), scope=OWNER)
    failing = Failing(LibraryBusy("The embedder is busy."), times=99)
    worker = Worker(library, replace(plain, embedder=failing))
    pauses = []
    for attempt in range(1, RETRIES + 1):
        assert worker.work()
        entry = library.entry(queued.id, OWNER)
        assert (entry.state, entry.attempts, entry.error) == (LifecycleState.QUEUED, attempt, "The embedder is busy.")
        assert entry.next_attempt_at is not None
        pauses.append((entry.next_attempt_at - datetime.now(UTC)).total_seconds())
        assert not worker.work(), "it is not due yet"
        due_now(library, queued.id)
    assert pauses == sorted(pauses)
    assert worker.work()
    entry = library.entry(queued.id, OWNER)
    assert (entry.state, entry.next_attempt_at) == (LifecycleState.FAILED, None)
    assert entry.error == "The embedder is busy. It was tried 4 times."
    failing.left = 0
    assert library.requeue(queued.id, OWNER, by=ANN).attempts == 0
    assert worker.work()
    assert library.entry(queued.id, OWNER).state is LifecycleState.COMPLETED
    assert library.verify().problems == ()


def test_what_cannot_heal_fails_at_once_and_leaves_nothing_behind(library: SqlLibrary, plain: FileReader) -> None:
    queued = library.enqueue(BROKEN, filing=Filing(), scope=OWNER)
    assert Worker(library, plain).work()
    entry = library.entry(queued.id, OWNER)
    assert (entry.state, entry.attempts, entry.chunk_count) == (LifecycleState.FAILED, 1, 0)
    assert entry.error
    assert library.verify().problems == ()


def test_a_worker_whose_clock_is_wrong_does_no_harm(
    library: SqlLibrary, plain: FileReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.enqueue(ASPIRIN, filing=Filing(), scope=OWNER)
    monkeypatch.setattr(rows, "now", lambda: datetime.now(UTC).replace(tzinfo=None) + timedelta(days=3))
    claim = library.claim("early bird")
    assert claim is not None
    assert library.release([]) == 0, "a clock that is ahead takes nothing away"
    assert library.renew(claim.document_id, "early bird")
    monkeypatch.setattr(rows, "now", lambda: datetime.now(UTC).replace(tzinfo=None) - timedelta(days=3))
    assert library.release([]) == 0
    library.retry_later(claim.document_id, "Later.", "early bird", pause_s=0)
    again = library.claim("late riser")
    assert again is not None
    entry = library.complete(again.document_id, plain.read(again.source, chunking=None, watch=unwatched), "late riser")
    assert entry is not None
    assert entry.processed_at is not None
    assert entry.added_at <= entry.processed_at <= datetime.now(UTC) + timedelta(hours=1)
    assert library.verify().problems == ()


def test_what_a_silent_worker_held_goes_to_another_and_only_one_of_them_finishes(
    library: SqlLibrary, plain: FileReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = library.enqueue(ASPIRIN, filing=Filing(), scope=OWNER)
    reading = plain.read(ASPIRIN, chunking=None, watch=unwatched)
    monkeypatch.setattr(queue, "LEASE", timedelta(seconds=-1))
    assert library.claim("silent") is not None
    monkeypatch.undo()
    assert library.release([]) == 1
    assert library.claim("second") is not None
    assert library.complete(queued.id, reading, "silent") is None
    assert library.complete(queued.id, reading, "second") is not None
    assert ("queued", SYSTEM) in told(library, queued.id)
    assert [entry.version for entry in library.entries(OWNER)] == [1]


def test_a_second_reading_takes_the_place_of_the_first_which_answers_until_then(
    library: SqlLibrary, plain: FileReader, put: Callable[[Source], LibraryEntry]
) -> None:
    entry = put(ASPIRIN)
    before = library.visible(OWNER)
    assert library.reread(OWNER, by=ANN, embedder=Hashes.fingerprint) == [entry.id]
    waiting = library.entry(entry.id, OWNER)
    assert (waiting.state, waiting.rework, library.visible(OWNER)) == (LifecycleState.COMPLETED, "queued", before)
    broken = Worker(library, replace(plain, embedder=Failing(InputError("No."), times=1)))
    assert broken.work()
    failed = library.entry(entry.id, OWNER)
    assert (failed.state, failed.rework, failed.error, library.visible(OWNER)) == ("completed", None, "No.", before)
    library.reread(OWNER, by=ANN, embedder=Hashes.fingerprint, document_id=entry.id)
    assert Worker(library, plain).work()
    done = library.entry(entry.id, OWNER)
    assert (done.state, done.rework, done.error, done.version) == (LifecycleState.COMPLETED, None, None, 1)
    assert library.visible(OWNER) not in ([], before)
    assert library.verify().problems == ()


def test_all_is_embedded_anew_by_workers_while_the_old_vectors_answer(
    library: SqlLibrary, plain: FileReader, other: FileReader, put: Callable[[Source], LibraryEntry]
) -> None:
    first, second = put(ASPIRIN), put(IRON)
    stranger = Worker(library, other)
    library.enqueue(BROKEN, filing=Filing(), scope=OWNER)
    with pytest.raises(EmbedderMismatch, match="citewell evidence reingest"):
        stranger.work()
    with pytest.raises(EmbedderMismatch, match="one document cannot use a different model"):
        library.reread(OWNER, by=ANN, embedder=OtherHashes.fingerprint, document_id=first.id)
    before = library.visible(OWNER)
    assert set(library.to_reread(OWNER, embedder=OtherHashes.fingerprint)) == {first.id, second.id}
    library.reread(OWNER, by=ANN, embedder=OtherHashes.fingerprint)
    assert stranger.work()
    assert (library.visible(OWNER), library.embedder()) == (before, Hashes.fingerprint)
    left = library.to_reread(OWNER, embedder=OtherHashes.fingerprint)
    assert len(left) == 1, "stopped here, the next call goes on with what is left"
    late = put(Source(b"Zinc\n\nIt came meanwhile.", "zinc.txt"))
    while stranger.work():
        pass
    assert library.embedder() == OtherHashes.fingerprint
    entries = {entry.id: entry for entry in library.entries(OWNER)}
    assert {entries[one.id].embedder for one in (first, second, late)} == {OtherHashes.fingerprint}
    assert len(library.visible(OWNER)) == 3
    assert library.status(OWNER).reembedding_to is None
    with pytest.raises(EmbedderMismatch):
        Worker(library, plain).work()
    assert library.verify().problems == ()


def test_a_document_is_not_to_blame_when_the_embedder_changes_while_it_is_read(
    library: SqlLibrary, plain: FileReader, put: Callable[[Source], LibraryEntry]
) -> None:
    put(ASPIRIN)
    queued = library.enqueue(IRON, filing=Filing(), scope=OWNER)

    class Overtaken(Hashes):
        def embed(self, texts, *, progress=None):  # type: ignore[no-untyped-def]
            with library.engine.begin() as connection:
                connection.execute(update(facts).where(facts.c.key == "embedder").values(value="another:8"))
            return super().embed(texts)

    with pytest.raises(EmbedderMismatch):
        Worker(library, replace(plain, embedder=Overtaken())).work()
    entry = library.entry(queued.id, OWNER)
    assert (entry.state, entry.attempts, entry.error) == (LifecycleState.QUEUED, 0, None)


def test_the_queue_tells_how_it_stands_and_who_works(library: SqlLibrary, plain: FileReader) -> None:
    first = library.enqueue(ASPIRIN, filing=Filing(), scope=OWNER)
    library.enqueue(IRON, filing=Filing(), scope=Scope.owner("another"))
    library.beat("host/1/a", "hashes:8", done=3)
    library.beat("host/1/a", "hashes:8", done=4)
    status = library.status(OWNER)
    assert (status.states[LifecycleState.QUEUED], status.rereading, library.due()) == (1, 0, 2)
    assert status.oldest_waiting_at == first.added_at

    def at(scope: Scope) -> list[tuple[str, int, bool, str | None, bool]]:
        told = library.status(scope).workers
        return [(one.name, one.done, one.is_reading, one.document_id, one.is_silent) for one in told]

    assert at(OWNER) == [("host/1/a", 4, False, None, False)]
    assert library.claim("host/1/a", document_id=first.id) is not None
    assert at(OWNER) == [("host/1/a", 4, True, first.id, False)]
    assert at(Scope.owner("another")) == [("host/1/a", 4, True, None, False)], "what another tenant has is not told"
    library.leave("host/1/a")
    assert library.status(OWNER).workers == ()


@pytest.mark.parametrize("broken", ["a\x00b", "a\ud800b"], ids=["NUL", "half a pair"])
def test_what_not_every_database_keeps_is_found_nowhere_and_written_nowhere(library: SqlLibrary, broken: str) -> None:
    with pytest.raises(NotFound):
        library.entry(broken, OWNER)
    with pytest.raises(NotFound):
        library.requeue(broken, OWNER, by=ANN)
    with pytest.raises(InputError, match="invalid character"):
        library.beat(broken, "hashes:8")
    assert library.status(OWNER).workers == ()
