"""What every library must do, whatever holds it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text, update

from citewell.adapters.index.exact import ExactIndex
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.schema import document_tags, generations
from citewell.errors import EmbedderMismatch, InputError, LibraryError, NotFound, SchemaTooNew, ScopeRefused
from citewell.ingest.library_changes import add, reindex
from citewell.ingest.parse_cut_embed import FileReader, Step
from citewell.ingest.retries import RETRIES
from citewell.types import EVERY, OWNER_ID, Chunking, Filing, LibraryEntry, LifecycleState, Scope, Source
from tests.contracts.conftest import opened_library

OWNER = Scope.owner("clinic")
ASPIRIN = Source(b"Aspirin\n\nTake aspirin 75 mg once daily. Do not give aspirin to children.", "aspirin.txt")
ASPIRIN_TWO = Source(b"Aspirin\n\nTake aspirin 150 mg once daily. Do not give it under 16 years.", "aspirin.txt")
IRON = Source(b"Iron\n\nFerrous sulfate 200 mg is taken with water for anaemia.", "iron.txt")

Put = Callable[..., LibraryEntry]


@pytest.fixture
def library(tmp_path: Path, address: str | None) -> Iterator[SqlLibrary]:
    made = opened_library(tmp_path, address)
    yield made
    made.close()


@pytest.fixture
def put(library: SqlLibrary, reader: FileReader) -> Put:
    def put(source: Source, scope: Scope = OWNER, **filing: object) -> LibraryEntry:
        return add(source, filing=Filing(**filing), scope=scope, library=library, reader=reader).entry  # type: ignore[arg-type]

    return put


def test_an_added_document_is_current_and_whole(library: SqlLibrary, put: Put) -> None:
    entry = put(ASPIRIN, tags=frozenset({"public", "pain"}))
    assert (entry.version, entry.state, entry.is_current, entry.title) == (1, LifecycleState.COMPLETED, True, "Aspirin")
    assert entry.tags == ("pain", "public")
    opened, document, chunks = library.opened(entry.id, OWNER)
    assert opened == entry
    assert [document.text[one.start : one.end] for one in chunks] == [one.text for one in chunks]
    assert library.original(entry.id, OWNER) == ASPIRIN
    assert library.verify().problems == ()


def test_the_same_bytes_twice_do_nothing(library: SqlLibrary, put: Put, reader: FileReader) -> None:
    first = put(ASPIRIN)
    stamp = library.stamp()
    second = add(ASPIRIN, filing=Filing(), scope=OWNER, library=library, reader=reader)
    assert (second.entry, second.was_there, library.stamp()) == (first, True, stamp)


def test_the_same_bytes_belong_to_each_person_on_their_own(library: SqlLibrary, put: Put) -> None:
    mine, theirs = put(ASPIRIN, subject="ann"), put(ASPIRIN, subject="bob")
    assert mine.id != theirs.id
    assert [entry.id for entry in library.entries(replace(OWNER, subject="ann"))] == [mine.id]


def test_the_same_name_and_title_make_the_next_version(library: SqlLibrary, put: Put) -> None:
    first, second = put(ASPIRIN), put(ASPIRIN_TWO)
    assert (second.version, second.lineage, second.is_current) == (2, first.lineage, True)
    assert library.entry(first.id, OWNER).state == LifecycleState.SUPERSEDED
    assert len(library.visible(OWNER)) == 1
    assert library.verify().problems == ()


def test_a_persons_papers_are_never_superseded_by_name(library: SqlLibrary, put: Put) -> None:
    put(ASPIRIN, subject="ann")
    put(ASPIRIN_TWO, subject="ann")
    assert [entry.version for entry in library.entries(OWNER)] == [1, 1]


def test_a_document_replaces_the_one_that_is_named(library: SqlLibrary, put: Put) -> None:
    first = put(ASPIRIN)
    second = put(IRON, replaces=first.id)
    assert (second.lineage, second.version) == (first.lineage, 2)
    with pytest.raises(NotFound):
        put(ASPIRIN_TWO, replaces="00000000-0000-0000-0000-000000000000")


def test_a_scope_sees_what_it_may_and_nothing_else(library: SqlLibrary, put: Put) -> None:
    public = put(Source(b"Public note. All may read this text.", "public.txt"))
    pain = put(Source(b"Pain note. For the pain team only.", "pain.txt"), tags=frozenset({"pain"}))
    back = put(Source(b"Back note. For the back journey.", "back.txt"), journeys=frozenset({"back"}))
    ann = put(Source(b"Letter. About one person alone.", "ann.txt"), subject="ann")
    other = put(Source(b"Other tenant. Their text.", "other.txt"), scope=Scope.owner("elsewhere"))

    def seen(*tags: str, journey: str | None = None, subject: str | None = None, tenant: str = "clinic") -> set[str]:
        scope = Scope(tenant, frozenset(tags), journey, subject)
        generations = set(library.visible(scope))
        found = {entry.id for entry in library.entries(scope)}
        assert len(generations) == len(found)
        return found

    assert seen() == {public.id}
    assert seen("pain") == {public.id, pain.id}
    assert seen("none") == {public.id}
    assert seen(EVERY) == {public.id, pain.id}
    assert seen(EVERY, journey="back") == {public.id, pain.id, back.id}
    assert seen(EVERY, journey="knee") == {public.id, pain.id}
    assert seen(EVERY, subject="ann") == {public.id, pain.id, ann.id}
    assert seen(EVERY, journey=EVERY, subject=EVERY) == {public.id, pain.id, back.id, ann.id}
    assert seen(EVERY, journey=EVERY, subject=EVERY, tenant="elsewhere") == {other.id}
    assert seen(EVERY, tenant="nobody") == set()


@pytest.mark.parametrize("tenant", ["", EVERY])
def test_no_tenant_is_refused(library: SqlLibrary, tenant: str) -> None:
    with pytest.raises(ScopeRefused):
        library.visible(Scope(tenant, frozenset({EVERY}), EVERY, EVERY))


def test_no_document_can_carry_the_sign_for_all(put: Put) -> None:
    with pytest.raises(InputError, match="is not a valid tag"):
        put(ASPIRIN, tags=frozenset({EVERY}))
    for filing in ({"journeys": frozenset({EVERY})}, {"subject": EVERY}):
        with pytest.raises(ScopeRefused):
            put(ASPIRIN, **filing)


@pytest.mark.parametrize("tags", [None, EVERY, "pain"])
def test_a_scope_that_does_not_say_its_tags_is_refused(library: SqlLibrary, tags: Any) -> None:
    with pytest.raises(ScopeRefused, match="tags"):
        library.entries(Scope("clinic", tags, None, None))


def test_tags_are_stored_in_lower_case_and_once(library: SqlLibrary, put: Put, reader: FileReader) -> None:
    entry = put(ASPIRIN, tags=frozenset({"HR", "hr", " Ward-5 ", "x" * 64}))
    assert entry.tags == ("hr", "ward-5", "x" * 64)
    same = Filing(tags=frozenset({"Hr", "WARD-5", "X" * 64}))
    assert not add(ASPIRIN, filing=same, scope=OWNER, library=library, reader=reader).was_refiled
    assert library.refile(entry.id, filing=Filing(tags=frozenset({"Pain"})), scope=OWNER).tags == ("pain",)
    assert library.enqueue(IRON, filing=Filing(tags=frozenset({"Iron"})), scope=OWNER).tags == ("iron",)


@pytest.mark.parametrize("tag", ["", " ", "-a", "a-", "a--b", "a b", "a_b", "ä", "x" * 65])
def test_a_malformed_tag_is_refused_and_nothing_is_changed(library: SqlLibrary, put: Put, tag: str) -> None:
    entry = put(ASPIRIN, tags=frozenset({"pain"}))
    bad = frozenset({"pain", tag})
    with pytest.raises(InputError, match="is not a valid tag"):
        library.refile(entry.id, filing=Filing(tags=bad), scope=OWNER)
    with pytest.raises(InputError, match="is not a valid tag"):
        library.enqueue(IRON, filing=Filing(tags=bad), scope=OWNER)
    with pytest.raises(InputError, match="is not a valid tag"):
        put(IRON, tags=bad)
    assert library.entries(OWNER) == [entry]


def test_a_document_keeps_at_least_one_tag(library: SqlLibrary, put: Put) -> None:
    entry = put(ASPIRIN, tags=frozenset({"pain"}))
    with pytest.raises(InputError, match="Enter at least one tag"):
        library.refile(entry.id, filing=Filing(tags=frozenset()), scope=OWNER)
    assert library.entry(entry.id, OWNER) == entry


def test_tags_of_an_old_library_are_read_and_given_on_as_they_are(library: SqlLibrary, put: Put) -> None:
    entry = put(ASPIRIN, tags=frozenset({"pain"}))
    with library.engine.begin() as connection:
        connection.execute(update(document_tags).values(tag="Old Tag"))
    seen = Scope("clinic", frozenset({"Old Tag"}), None, None)
    assert [(one.id, one.tags) for one in library.entries(seen)] == [(entry.id, ("Old Tag",))]
    assert put(Source(b"Aspirin\n\nOne more word.", "a.txt"), replaces=entry.id).tags == ("Old Tag",)
    assert library.refile(entry.id, filing=Filing(journeys=frozenset({"back"})), scope=OWNER).tags == ("Old Tag",)
    assert library.verify().problems == ()


def test_what_is_out_of_scope_is_not_there(library: SqlLibrary, put: Put) -> None:
    entry = put(ASPIRIN, tags=frozenset({"pain"}))
    stranger = Scope("clinic", frozenset(), None, None)
    for look in (library.entry, library.opened, library.original, library.erase):
        with pytest.raises(NotFound):
            look(entry.id, stranger)
        with pytest.raises(NotFound):
            look(entry.id, Scope.owner("elsewhere"))
    assert library.entry(entry.id, OWNER).is_current


def test_filing_anew_changes_who_sees_it_without_new_vectors(library: SqlLibrary, put: Put) -> None:
    entry = put(ASPIRIN)
    generations = library.current()
    library.refile(entry.id, filing=Filing(tags=frozenset({"pain"})), scope=OWNER)
    assert library.visible(Scope("clinic", frozenset(), None, None)) == []
    assert library.visible(Scope("clinic", frozenset({"pain"}), None, None)) == generations


def test_erasing_removes_every_version_and_every_byte(library: SqlLibrary, put: Put, tmp_path: Path) -> None:
    secret = Source(b"Zebrafinch\n\nThe zebrafinch protocol is written here.", "z.txt")
    first = put(secret)
    put(Source(b"Zebrafinch\n\nThe zebrafinch protocol, second edition.", "z.txt"))
    put(IRON)
    gone = library.erase(first.id, OWNER)
    assert sorted(entry.version for entry in gone) == [1, 2]
    assert [entry.name for entry in library.entries(OWNER)] == ["iron.txt"]
    assert library.verify().problems == ()
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())  # a server's files are not ours to read
    assert b"zebrafinch" not in left.lower()
    assert library.erase(first.id, OWNER) == []


def test_erasing_twice_is_no_error_and_tells_nobody_else_of_it(library: SqlLibrary, put: Put) -> None:
    entry, pain = put(ASPIRIN, tags=frozenset({"pain"})), Scope("clinic", frozenset({"pain"}), EVERY, None)
    assert [one.id for one in library.erase(entry.id, pain, by="ann@clinic.example")] == [entry.id]
    assert library.erase(entry.id, pain, by="ann@clinic.example") == []
    assert library.erase(entry.id, OWNER) == []
    for scope, by in (
        (pain, "bob@clinic.example"),
        (Scope.owner("elsewhere"), "ann@clinic.example"),
        (Scope.owner("elsewhere"), OWNER_ID),
    ):
        with pytest.raises(NotFound):
            library.erase(entry.id, scope, by=by)
    with pytest.raises(NotFound):
        library.erase("00000000-0000-0000-0000-000000000000", OWNER)
    erased = [change for change in library.history(entry.id, OWNER) if change.change == "erased"]
    assert [change.by for change in erased] == ["ann@clinic.example"]


def test_a_queued_document_is_kept_and_read_later(library: SqlLibrary, reader: FileReader) -> None:
    queued = library.enqueue(ASPIRIN, filing=Filing(tags=frozenset({"pain"})), scope=OWNER)
    assert (queued.state, queued.is_current, library.visible(OWNER)) == (LifecycleState.QUEUED, False, [])
    assert library.verify().problems == ()
    claim = library.claim("me")
    assert claim is not None
    assert (claim.document_id, claim.source) == (queued.id, ASPIRIN)
    assert library.claim("me") is None
    done = library.complete(queued.id, reader.read(claim.source, chunking=None, watch=lambda _: None), "me")
    assert done is not None
    assert (done.state, done.is_current, done.title, done.tags) == (
        LifecycleState.COMPLETED,
        True,
        "Aspirin",
        ("pain",),
    )
    assert library.verify().problems == ()


def test_a_queued_document_becomes_the_next_version_once_its_title_is_known(
    library: SqlLibrary, put: Put, reader: FileReader
) -> None:
    first = put(ASPIRIN)
    queued = library.enqueue(ASPIRIN_TWO, filing=Filing(), scope=OWNER)
    library.claim("me")
    done = library.complete(queued.id, reader.read(ASPIRIN_TWO, chunking=None, watch=lambda _: None), "me")
    assert done is not None
    assert (done.lineage, done.version) == (first.lineage, 2)
    assert library.entry(first.id, OWNER).state == LifecycleState.SUPERSEDED
    assert library.verify().problems == ()


@pytest.mark.parametrize(("is_first", "name"), [(True, "second.txt"), (True, "aspirin.txt"), (False, "second.txt")])
def test_a_version_that_is_read_late_does_not_answer_in_place_of_a_newer_one(
    library: SqlLibrary, put: Put, reader: FileReader, is_first: bool, name: str
) -> None:
    before = None if is_first else put(IRON).id
    late = library.enqueue(ASPIRIN, filing=Filing(replaces=before), scope=OWNER)
    newer = put(replace(ASPIRIN_TWO, name=name), replaces=late.id)
    assert library.claim("me") is not None
    done = library.complete(late.id, reader.read(ASPIRIN, chunking=None, watch=lambda _: None), "me")
    assert done is not None
    assert (done.lineage, done.version, done.state) == (newer.lineage, newer.version - 1, LifecycleState.SUPERSEDED)
    assert [entry.id for entry in library.entries(OWNER) if entry.is_current] == [newer.id]
    changes = [one.change for one in library.history(late.id, OWNER) if one.document_id == late.id]
    assert changes == ["added", "queued", "processing", "completed", "superseded"]
    assert library.opened(late.id, OWNER)[1].title == "Aspirin"
    assert library.verify().problems == ()


@pytest.mark.parametrize("is_queued", [False, True])
def test_nobody_takes_over_a_document_that_they_do_not_see(
    library: SqlLibrary, put: Put, reader: FileReader, is_queued: bool
) -> None:
    theirs = put(ASPIRIN, tags=frozenset({"heart"}))
    lung = Scope("clinic", frozenset({"lung"}), EVERY, None)
    filing = Filing(tags=frozenset({"lung"}))
    if is_queued:
        mine = library.enqueue(ASPIRIN_TWO, filing=filing, scope=lung)
        assert library.claim("me") is not None
        done = library.complete(mine.id, reader.read(ASPIRIN_TWO, chunking=None, watch=lambda _: None), "me")
    else:
        done = put(ASPIRIN_TWO, scope=lung, tags=frozenset({"lung"}))
    assert done is not None
    assert (done.version, done.is_current, done.tags) == (1, True, ("lung",))
    assert library.entry(theirs.id, OWNER) == theirs


def test_a_stopped_worker_leaves_its_document_in_the_queue(library: SqlLibrary) -> None:
    queued = library.enqueue(ASPIRIN, filing=Filing(), scope=OWNER)
    library.claim("me")
    assert library.release(["another"]) == 0
    assert library.claimants() == ["me"]
    assert library.release(["me"]) == 1
    claim = library.claim("another")
    assert claim is not None
    assert claim.document_id == queued.id


def test_a_worker_that_lost_its_document_changes_nothing(library: SqlLibrary, reader: FileReader) -> None:
    queued = library.enqueue(ASPIRIN, filing=Filing(), scope=OWNER)
    reading = reader.read(ASPIRIN, chunking=None, watch=lambda _: None)
    library.claim("slow")
    library.release(["slow"])
    library.claim("quick")
    assert library.renew(queued.id, "slow") is False
    assert library.complete(queued.id, reading, "slow") is None
    assert library.complete(queued.id, reading, "quick") is not None
    library.fail(queued.id, "Too late.", "slow")
    assert library.entry(queued.id, OWNER).state == LifecycleState.COMPLETED
    assert library.verify().problems == ()


def test_a_document_that_kills_its_worker_again_and_again_is_given_up(library: SqlLibrary) -> None:
    queued = library.enqueue(ASPIRIN, filing=Filing(), scope=OWNER)
    for _ in range(1 + RETRIES):
        assert library.claim("dead") is not None
        library.release(["dead"])
    entry = library.entry(queued.id, OWNER)
    assert entry.state == LifecycleState.FAILED
    assert "crashed processing" in (entry.error or "")
    assert library.claim("next") is None


def test_a_failed_attempt_is_removed_alone(library: SqlLibrary, put: Put) -> None:
    first = put(ASPIRIN)
    failed = library.enqueue(IRON, filing=Filing(replaces=first.id), scope=OWNER)
    library.claim("me")
    library.fail(failed.id, "It is locked.", "me")
    assert [entry.id for entry in library.erase(failed.id, OWNER)] == [failed.id]
    assert [entry.id for entry in library.entries(OWNER)] == [first.id]


def test_the_next_version_stays_where_the_last_one_was_filed(library: SqlLibrary, put: Put) -> None:
    letter = put(ASPIRIN, tags=frozenset({"oncology"}), subject="ann", journeys=frozenset({"back"}))
    after = put(ASPIRIN_TWO, replaces=letter.id)
    assert (after.tags, after.subject, after.journeys) == (("oncology",), "ann", ("back",))
    policy = put(Source(b"Leave\n\nTen days.", "leave.txt"), tags=frozenset({"hr"}))
    later = put(Source(b"Leave\n\nTwelve days.", "leave.txt"))
    assert (later.version, later.tags) == (2, ("hr",))
    assert library.entry(policy.id, OWNER).state == LifecycleState.SUPERSEDED


def test_the_same_bytes_with_another_filing_are_filed_anew(library: SqlLibrary, put: Put, reader: FileReader) -> None:
    first = put(ASPIRIN)
    filing = Filing(tags=frozenset({"hr"}))
    again = add(ASPIRIN, filing=filing, scope=OWNER, library=library, reader=reader)
    assert (again.entry.id, again.was_there, again.was_refiled, again.entry.tags) == (first.id, True, True, ("hr",))


def test_a_queued_document_keeps_how_it_is_to_be_cut(library: SqlLibrary) -> None:
    small = Chunking("characters", 60, 10, "characters")
    library.enqueue(ASPIRIN, filing=Filing(chunking=small), scope=OWNER)
    claim = library.claim("me")
    assert claim is not None
    assert claim.chunking == small


def test_a_document_that_comes_while_everything_is_embedded_anew_is_not_lost(
    library: SqlLibrary, put: Put, reader: FileReader
) -> None:
    put(ASPIRIN)
    other = replace(reader, embedder=Backwards(reader.embedder))
    came = []

    def interrupt(_title: str, _step: object) -> None:
        if not came:
            came.append(put(IRON))

    assert reindex(library=library, reader=other, progress=interrupt) == 2
    assert len(library.visible(OWNER)) == 2
    assert library.verify().problems == ()


def test_embedding_anew_mends_what_was_damaged(library: SqlLibrary, put: Put, reader: FileReader) -> None:
    put(ASPIRIN)
    with library.engine.begin() as connection:
        connection.execute(update(generations).values(postings=b"\0"))
    assert library.verify().problems != ()
    assert reindex(library=library, reader=reader, progress=lambda _t, _s: None) == 1
    assert library.verify().problems == ()


def test_a_failed_document_says_why_and_answers_nothing(library: SqlLibrary) -> None:
    queued = library.enqueue(ASPIRIN, filing=Filing(), scope=OWNER)
    library.claim("me")
    library.fail(queued.id, "It is locked. Remove the password.", "me")
    entry = library.entry(queued.id, OWNER)
    assert (entry.state, entry.error) == (LifecycleState.FAILED, "It is locked. Remove the password.")
    assert library.visible(OWNER) == []
    assert library.verify().problems == ()


class Backwards:
    """The same texts, other numbers: an embedder that must not be mixed with the first."""

    fingerprint = "backwards:384"
    dimensions = 384

    def __init__(self, inner: object) -> None:
        self._inner = inner

    def embed(self, texts, *, progress=None):  # type: ignore[no-untyped-def]
        return np.ascontiguousarray(self._inner.embed(texts)[:, ::-1])  # type: ignore[attr-defined]


def test_vectors_of_two_embedders_are_never_mixed(library: SqlLibrary, put: Put, reader: FileReader) -> None:
    put(ASPIRIN)
    other = replace(reader, embedder=Backwards(reader.embedder))
    with pytest.raises(EmbedderMismatch, match="citewell evidence reingest"):
        add(IRON, filing=Filing(), scope=OWNER, library=library, reader=other)
    reading = other.read(IRON, chunking=None, watch=lambda _: None)
    with pytest.raises(EmbedderMismatch, match="citewell evidence reingest"):
        library.add(IRON, reading, filing=Filing(), scope=OWNER)
    assert library.verify().documents == 1


def test_reindexing_keeps_the_old_vectors_answering_until_the_switch(
    library: SqlLibrary, put: Put, reader: FileReader
) -> None:
    put(ASPIRIN)
    put(ASPIRIN_TWO)
    put(IRON)
    before = library.visible(OWNER)
    other = replace(reader, embedder=Backwards(reader.embedder))
    during = []
    count = reindex(library=library, reader=other, progress=lambda _t, _s: during.append(library.visible(OWNER)))
    assert count == 3
    assert all(seen == before for seen in during)
    assert set(library.visible(OWNER)).isdisjoint(before)
    assert library.embedder() == "backwards:384"
    assert library.verify().problems == ()


def test_a_document_that_is_erased_while_it_is_embedded_anew_stays_erased(
    library: SqlLibrary, put: Put, reader: FileReader
) -> None:
    gone = put(ASPIRIN)
    put(IRON)

    def erase(title: str, step: Step) -> None:
        if step.stage == "cutting" and title == gone.title:
            library.erase(gone.id, OWNER)

    assert reindex(library=library, reader=reader, progress=erase) == 1
    assert [entry.name for entry in library.entries(OWNER)] == [IRON.name]
    assert library.verify().problems == ()


def test_readers_go_on_while_one_writes(library: SqlLibrary, put: Put, reader: FileReader) -> None:
    put(ASPIRIN)
    index = ExactIndex(library)
    vector = reader.embedder.embed(["aspirin dose"])[0]
    stop, wrong = threading.Event(), []

    def read() -> None:
        while not stop.is_set():
            found = index.candidates(vector, {"aspirin": 1.0}, scope=OWNER, limit=5)
            if len({one.generation for one in found}) != 1:
                wrong.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    for number in range(8):
        put(Source(f"Aspirin\n\nTake {number} mg.".encode(), "aspirin.txt"))
    stop.set()
    for thread in readers:
        thread.join()
    assert wrong == []


def _in_postgres(statement: str) -> str:
    """The same statement, bytes written as PostgreSQL does."""
    return statement.replace("x'00'", r"'\x00'::bytea").replace(
        "zeroblob(1536 * chunk_count)", "decode(repeat('00', 1536 * chunk_count), 'hex')"
    )


def test_verify_finds_what_does_not_agree(library: SqlLibrary, put: Put) -> None:
    entry = put(ASPIRIN)
    put(IRON)
    changes = {
        "UPDATE chunks SET text = 'Other words' WHERE generation = 1": "a chunk's offsets do not give its text",
        "UPDATE chunks SET sentence_vectors = x'00' WHERE generation = 1": "has sentences without vectors",
        "UPDATE generations SET vectors = zeroblob(1536 * chunk_count) WHERE id = 1": "not a unit vector",
        "DELETE FROM chunks WHERE generation = 1": "its chunks are not complete",
        "UPDATE originals SET data = x'00'": "its original file has changed",
        "UPDATE generations SET embedder = 'other' WHERE id = 1": "its vectors were made by other",
        "UPDATE documents SET generation = NULL": "has no text in use",
    }
    for change, problem in changes.items():
        with library.engine.connect() as connection, connection.begin() as transaction:
            connection.execute(text(change if connection.dialect.name == "sqlite" else _in_postgres(change)))
            from citewell.adapters.store.integrity import verify

            found = verify(connection, library._fact(connection, "embedder")).problems
            transaction.rollback()
        assert any(problem in line for line in found), (change, found)
        assert any(line.startswith(entry.id) for line in found)
    assert library.verify().problems == ()


def test_a_library_from_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    SqlLibrary(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.close()
    with pytest.raises(SchemaTooNew, match="Upgrade Citewell"):
        SqlLibrary(path)


def test_a_file_that_is_no_library_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite"
    path.write_bytes(b"This is not a database at all. " * 100)
    with pytest.raises(LibraryError, match="not a Citewell library"):
        SqlLibrary(path)
