"""What a library in PostgreSQL owes beyond every library: the same hits, many processes, and plain words in trouble."""

from __future__ import annotations

import logging
import re
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from citewell.adapters.index.exact import ExactIndex
from citewell.adapters.index.postgres import PostgresIndex, WordIndex
from citewell.adapters.store.database import database
from citewell.adapters.store.engine import SCHEMA_VERSION
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.postgres import connect, open_postgres
from citewell.adapters.store.tenant_shelf import TenantShelf
from citewell.app import build
from citewell.config import Settings
from citewell.errors import CitewellError, InputError, LibraryError, LibraryUnreachable, SchemaTooNew
from citewell.ports import Index, ParsedFile
from citewell.types import EVERY, Chunk, Document, Filing, LibraryEntry, LifecycleState, Scope, Source
from tests.contracts.conftest import opened_library
from tests.postgres import PASSWORD, Server, free_port, running_server, with_tables

WORDS = [f"word{number}" for number in range(40)]
WIDTH = 32
OWNER = Scope.owner("clinic")


def reading(random: np.random.Generator, title: str) -> ParsedFile:
    """A made-up document: passages of common and rare words, a vector for each."""
    passages = [" ".join(random.choice(WORDS, random.integers(1, 12))) for _ in range(random.integers(1, 5))]
    joined, chunks, start = "\n".join(passages), [], 0
    for number, passage in enumerate(passages):
        end = start + len(passage)
        chunks.append(Chunk(number, start, end, passage, (title,), None, 1, ((start, end),)))
        start = end + 1
    rows = random.standard_normal((len(chunks), WIDTH)).astype(np.float32)
    rows = np.round(rows * 2) / 2 + np.float32(0.25)  # few values, so that some rows are equally near
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return ParsedFile(Document(title, "text/plain", joined, ()), tuple(chunks), rows, rows, "made-up", 0.0)


@dataclass(frozen=True)
class Three:
    """The same library in a file and in PostgreSQL, searched in memory and by pgvector."""

    libraries: tuple[SqlLibrary, SqlLibrary]
    indexes: tuple[Index, ...]

    def add(self, source: Source, read: ParsedFile, filing: Filing, scope: Scope) -> list[LibraryEntry]:
        return [library.add(source, read, filing=filing, scope=scope) for library in self.libraries]

    def assert_same(self, random: np.random.Generator, scope: Scope, limit: int) -> None:
        vector = random.standard_normal(WIDTH).astype(np.float32)
        vector /= np.float32(np.linalg.norm(vector))
        terms = dict(zip(random.choice(WORDS, 4).tolist(), (1.0, 1.0, 0.5, 0.25), strict=True))
        wanted, *others = (index.candidates(vector, terms, scope=scope, limit=limit) for index in self.indexes)
        assert others == [wanted] * len(others)


@pytest.fixture
def three(tmp_path: Path, postgres_url: str) -> Iterator[Three]:
    file, server = opened_library(tmp_path), opened_library(tmp_path, postgres_url)
    of = partial(TenantShelf, server)
    indexes = (ExactIndex(file), PostgresIndex(of, memory_bytes=1 << 30), PostgresIndex(of, memory_bytes=0))
    yield Three((file, server), indexes)
    for library in (file, server):
        library.close()


@pytest.mark.parametrize("seed", range(2))
def test_a_file_and_postgres_find_the_same_to_the_bit_whoever_asks(three: Three, seed: int) -> None:
    random = np.random.default_rng(seed)
    tenants, tags, journeys = ["clinic", "elsewhere"], ["public", "pain", "heart"], ["back", "knee"]
    some = lambda names: frozenset(random.choice(names, random.integers(1, 3)).tolist())  # noqa: E731
    for number in range(20):
        tenant = str(random.choice(tenants))
        filing = Filing(
            tags=some(tags),
            journeys=some(journeys) if random.random() < 0.4 else frozenset(),
            subject="ann" if random.random() < 0.2 else None,
        )
        title = f"Title {random.integers(12)}"  # some become the next version of another
        source = Source(f"{number} {title}".encode(), f"{title}.txt")
        first, second = three.add(source, reading(random, title), filing, Scope.owner(tenant))
        assert (first.version, first.tags, first.journeys) == (second.version, second.tags, second.journeys)
        if number % 7 == 6:
            for library, entry in zip(three.libraries, (first, second), strict=True):
                library.refile(entry.id, filing=Filing(tags=frozenset({"pain"})), scope=Scope.owner(tenant))
        if number % 10 == 9:
            for library, entry in zip(three.libraries, (first, second), strict=True):
                library.erase(entry.id, Scope.owner(tenant))
        scopes = [
            Scope.owner(tenant),
            Scope(tenant, some(tags), None, None),
            Scope(tenant, frozenset({EVERY}), str(random.choice(journeys)), "ann"),
            Scope("nobody", frozenset({EVERY}), EVERY, EVERY),
        ]
        for scope in scopes:
            three.assert_same(random, scope, int(random.choice([1, 5, 200])))
    assert [library.verify().problems for library in three.libraries] == [(), ()]


def test_every_row_in_scope_is_found_however_few_the_filter_leaves(three: Three) -> None:
    random = np.random.default_rng(5)
    for number in range(60):
        filing = Filing(tags=frozenset({"rare" if number % 20 == 0 else "common"}))
        three.add(Source(b"%d" % number, f"{number}.txt"), reading(random, str(number)), filing, OWNER)
    rare = Scope("clinic", frozenset({"rare"}), None, None)
    visible = three.libraries[1].visible(rare)
    assert len(visible) == 3
    vector = np.ones(WIDTH, np.float32) / np.float32(np.sqrt(WIDTH))
    found = three.indexes[2].candidates(vector, {}, scope=rare, limit=100)
    rows = sum(len(stored.vectors) for stored in three.libraries[1].load(visible))
    assert (len(found), {one.generation for one in found}) == (rows, set(visible))


def test_one_process_sees_at_once_what_another_has_added(tmp_path: Path, postgres_url: str) -> None:
    random = np.random.default_rng(1)
    web, worker = (opened_library(tmp_path, postgres_url) for _ in range(2))
    indexes = [PostgresIndex(partial(TenantShelf, web), memory_bytes=size) for size in (1 << 30, 0)]
    vector = np.ones(WIDTH, np.float32) / np.float32(np.sqrt(WIDTH))
    for number in range(4):
        source = Source(b"%d" % number, f"{number}.txt")
        entry = worker.add(source, reading(random, str(number)), filing=Filing(), scope=OWNER)
        for index in indexes:
            found = {one.generation for one in index.candidates(vector, {}, scope=OWNER, limit=99)}
            assert found == set(worker.visible(OWNER))
            assert len(found) == number + 1
    worker.erase(entry.id, OWNER)
    for index in indexes:
        assert len({one.generation for one in index.candidates(vector, {}, scope=OWNER, limit=99)}) == 3
    web.close()
    worker.close()


def test_vectors_leave_memory_for_the_database_when_they_grow_too_large(tmp_path: Path, postgres_url: str) -> None:
    random = np.random.default_rng(2)
    library = opened_library(tmp_path, postgres_url)
    index = PostgresIndex(partial(TenantShelf, library), memory_bytes=20_000)
    vector = np.ones(WIDTH, np.float32) / np.float32(np.sqrt(WIDTH))
    kinds = []
    for number in range(30):
        library.add(Source(b"%d" % number, f"{number}.txt"), reading(random, str(number)), filing=Filing(), scope=OWNER)
        found = index.candidates(vector, {"word1": 1.0}, scope=OWNER, limit=9)
        assert found == ExactIndex(library).candidates(vector, {"word1": 1.0}, scope=OWNER, limit=9)
        kinds.append(isinstance(index._tenants["clinic"], WordIndex))
    assert kinds == sorted(kinds)
    assert (kinds[0], kinds[-1]) == (False, True)
    library.close()


def test_a_tenants_index_reads_nothing_because_another_has_changed(tmp_path: Path, postgres_url: str) -> None:
    random = np.random.default_rng(3)
    library = opened_library(tmp_path, postgres_url)
    loads: list[int] = []

    class Counting(TenantShelf):
        def current(self) -> list[int]:
            loads.append(1)
            return super().current()

    index = PostgresIndex(partial(Counting, library), memory_bytes=1 << 30)
    vector = np.ones(WIDTH, np.float32) / np.float32(np.sqrt(WIDTH))
    library.add(Source(b"mine", "mine.txt"), reading(random, "mine"), filing=Filing(), scope=OWNER)
    for number in range(3):
        index.candidates(vector, {}, scope=OWNER, limit=9)
        source = Source(b"%d" % number, "theirs.txt")
        library.add(source, reading(random, f"{number}"), filing=Filing(), scope=Scope.owner("elsewhere"))
    index.candidates(vector, {}, scope=OWNER, limit=9)
    assert loads == [1]
    library.close()


def test_verify_misses_a_vector_that_is_gone(tmp_path: Path, postgres_url: str) -> None:
    library = opened_library(tmp_path, postgres_url)
    read = reading(np.random.default_rng(6), "whole")
    library.add(Source(b"whole", "whole.txt"), read, filing=Filing(), scope=OWNER)
    assert library.verify().problems == ()
    with library.engine.begin() as connection:
        connection.execute(text("DELETE FROM chunk_vectors WHERE chunk_index = 0"))
    assert library.verify().problems == ("1 indexed texts have no vectors in chunk_vectors",)
    library.close()


# ------------------------------------------------------------------------------------------------- many processes


def test_a_document_that_two_processes_add_at_once_is_there_once(tmp_path: Path, postgres_url: str) -> None:
    libraries = [opened_library(tmp_path, postgres_url) for _ in range(4)]
    together = threading.Barrier(4)

    def add(number: int) -> list[str]:
        random, library, found = np.random.default_rng(number), libraries[number], []
        for step in range(5):
            same = Source(b"same %d" % step, f"same{step}.txt")
            mine = Source(b"mine %d %d" % (number, step), "edited.txt")
            together.wait()
            found.append(library.add(same, reading(random, f"same {step}"), filing=Filing(), scope=OWNER).id)
            library.add(mine, reading(random, "Edited by all"), filing=Filing(), scope=OWNER)
        return found

    with ThreadPoolExecutor(4) as threads:
        ids = list(threads.map(add, range(4)))
    assert ids == [ids[0]] * 4
    entries = libraries[0].entries(OWNER)
    edited = [entry for entry in entries if entry.name == "edited.txt"]
    assert sorted(entry.version for entry in edited) == list(range(1, 21))
    assert len({entry.lineage for entry in edited}) == 1
    assert [entry.version for entry in edited if entry.is_current] == [20]
    assert len(entries) == 5 + 20
    assert libraries[0].verify().problems == ()
    for library in libraries:
        library.close()


def test_each_queued_document_goes_to_one_of_many_workers(tmp_path: Path, postgres_url: str) -> None:
    libraries = [opened_library(tmp_path, postgres_url) for _ in range(3)]
    for number in range(12):
        libraries[0].enqueue(Source(b"%d" % number, f"{number}.txt"), filing=Filing(), scope=OWNER)

    def work(number: int) -> list[str]:
        taken = []
        while (claim := libraries[number].claim(f"worker {number}")) is not None:
            random = np.random.default_rng(number)
            done = libraries[number].complete(claim.document_id, reading(random, claim.source.name), f"worker {number}")
            assert done is not None
            taken.append(claim.document_id)
        return taken

    with ThreadPoolExecutor(3) as threads:
        taken = [one for mine in threads.map(work, range(3)) for one in mine]
    assert len(taken) == len(set(taken)) == 12
    assert {entry.state for entry in libraries[0].entries(OWNER)} == {LifecycleState.COMPLETED}
    for library in libraries:
        library.close()


# ------------------------------------------------------------------------------------------------------- trouble


def told(address: str) -> str:
    """What a person reads when a library there cannot be opened; the password is in none of it."""
    with pytest.raises(CitewellError) as caught:
        open_postgres(address)
    written = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in written
    assert "wrong-secret" not in written
    return str(caught.value)


def test_a_database_that_cannot_be_opened_is_told_in_a_sentence_without_the_password(
    postgres_server: Server, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    name = postgres_url.rsplit("/", 1)[1]
    place = f"127.0.0.1:{postgres_server.port}/{name}"
    refused = told(postgres_server.url(name, password="wrong-secret"))
    assert refused == f"PostgreSQL at {place} refuses this user or password. Correct CITEWELL_DATABASE_URL."
    assert "Database not found" in told(postgres_server.url("nowhere"))
    nobody = f"postgresql://citewell:{PASSWORD}@127.0.0.1:{free_port()}/citewell"
    assert "could not be reached. Nothing was lost. Start it" in told(nobody)
    with pytest.raises(LibraryUnreachable):
        open_postgres(nobody)
    for wrong in (f"mysql://citewell:{PASSWORD}@localhost/citewell", f"{PASSWORD}", "postgresql://localhost"):
        with pytest.raises(InputError, match="postgresql://user:password@host"):
            open_postgres(wrong)
        assert PASSWORD not in told(wrong)
    assert PASSWORD not in caplog.text
    assert PASSWORD not in repr(Settings(database_url=postgres_url))


def test_a_server_without_pgvector_is_told_and_nothing_is_made(postgres_server: Server) -> None:
    url = postgres_server.new(like="template1")
    name = url.rsplit("/", 1)[1]
    postgres_server.sql(f"ALTER DATABASE {name} SET extension_control_path = '/nowhere'")
    assert "has no pgvector. Nothing was changed. Install its package" in told(url)
    engine = connect(url)
    with engine.connect() as connection:
        tables = connection.execute(text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")).scalar()
    engine.dispose()
    assert tables == 0
    postgres_server.drop(url)


def test_a_user_who_may_not_make_the_extension_is_told_who_may(postgres_server: Server) -> None:
    url = postgres_server.new(like="template1")
    name = url.rsplit("/", 1)[1]
    postgres_server.sql(f"CREATE ROLE guest{name} LOGIN PASSWORD '{PASSWORD}'")
    guest = url.replace("//citewell:", f"//guest{name}:")
    assert "CREATE EXTENSION vector" in told(guest)
    postgres_server.drop(url)


def test_doctor_can_say_which_database_it_is(postgres_server: Server, postgres_url: str) -> None:
    engine = open_postgres(postgres_url)
    place = re.escape(f"127.0.0.1:{postgres_server.port}/{postgres_url.rsplit('/', 1)[1]}")
    told = str(database(engine))
    engine.dispose()
    assert re.fullmatch(rf"PostgreSQL [\d.]+ with pgvector [\d.]+ at {place}, schema {SCHEMA_VERSION}, \d+ MiB", told)


def test_a_newer_schema_is_left_alone(postgres_server: Server, postgres_url: str) -> None:
    postgres_server.sql("UPDATE alembic_version SET version_num = '9999'", postgres_url.rsplit("/", 1)[1])
    with pytest.raises(SchemaTooNew, match="Upgrade Citewell"):
        open_postgres(postgres_url)


def test_two_processes_make_the_tables_of_one_new_database(postgres_server: Server) -> None:
    url = postgres_server.new(like="template1")
    with ThreadPoolExecutor(3) as threads:
        for engine in threads.map(open_postgres, [url] * 3):
            engine.dispose()
    postgres_server.drop(url)


@pytest.mark.slow
def test_a_server_that_dies_in_mid_work_loses_nothing_and_is_used_again_when_it_is_back(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    with running_server(fsync="on") as server:
        library = opened_library(tmp_path, with_tables(server).new())
        index = PostgresIndex(partial(TenantShelf, library), memory_bytes=0)
        vector = np.ones(WIDTH, np.float32) / np.float32(np.sqrt(WIDTH))
        kept = library.add(Source(b"kept", "kept.txt"), reading(random, "kept"), filing=Filing(), scope=OWNER)
        before = index.candidates(vector, {}, scope=OWNER, limit=9)
        server.stop("immediate")
        for use in (
            lambda: library.add(Source(b"lost", "lost.txt"), reading(random, "lost"), filing=Filing(), scope=OWNER),
            lambda: library.entries(OWNER),
            lambda: index.candidates(vector, {}, scope=OWNER, limit=9),
        ):
            with pytest.raises(LibraryUnreachable, match="could not be reached"):
                use()
        server.start(fsync="on")
        assert [entry.id for entry in library.entries(OWNER)] == [kept.id]
        assert index.candidates(vector, {}, scope=OWNER, limit=9) == before
        assert library.verify().problems == ()
        library.close()


def test_a_second_machine_needs_the_first_ones_key(tmp_path: Path, postgres_url: str) -> None:
    first = Settings(home=tmp_path / "first", database_url=postgres_url)
    second = Settings(home=tmp_path / "second", database_url=postgres_url)
    with build(first) as one, build(second) as other:
        assert one.ask_service is not None
        with pytest.raises(LibraryError, match=r"seal\.key"):
            _ = other.ask_service
        (tmp_path / "second" / "seal.key").write_bytes((tmp_path / "first" / "seal.key").read_bytes())
        assert other.ask_service is not None
