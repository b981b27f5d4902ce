"""Real parts that several tests share."""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from sqlalchemy import Engine

from citewell.adapters.embedding.engine import PUBLISHED, TRAINED, Backend, GraphSource
from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.entailment import pair
from citewell.adapters.entailment.pair import AnswerReader, PairReader
from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.adapters.store import engine
from citewell.adapters.store.engine import PLAIN, Driver, open_engine
from citewell.adapters.vault import keys
from citewell.adapters.vault.keys import LOWEST_MEMORY_KIB, LOWEST_TIME_COST, Derivation
from citewell.app import App, build
from citewell.config import Settings
from citewell.ingest.parse_cut_embed import FileReader
from citewell.minilm.tokenizer import WordPiece
from citewell.samples import sample_files
from citewell.types import Document, ParseLimits
from tests.on_postgres import IS_ON_POSTGRES, libraries_in_files, libraries_in_postgres, opened_elsewhere
from tests.once import OneMiniLM, OneReader, model_folder, once, parsed_once
from tests.postgres import postgres_server, postgres_url

__all__ = ["libraries_in_files", "libraries_in_postgres", "opened_elsewhere", "postgres_server", "postgres_url"]

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
SEED = "CITEWELL_SEED"


def pytest_configure() -> None:
    """Each run draws other cases, in all its processes from the same seed."""
    os.environ.setdefault(SEED, str(secrets.randbelow(2**32)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to draw the same cases again."""
    terminalreporter.write_line(f"Cases drawn from {SEED}={os.environ[SEED]}")


QUICK = {
    "api": {"test_access", "test_ask", "test_documents", "test_rate_limits", "test_search", "test_serve"},
    "cli": {"test_consult", "test_evidence", "test_journeys"},
    "contracts": {
        *("test_consults", "test_conversations", "test_entailment", "test_lifecycle", "test_past"),
        "test_public_contract",
    },
    "faults": set[str](),
    "llm": set[str](),
}
"""What `make check` runs of the folders whose tests go through a server, a database, a process or a model."""
LATER = {
    "assistants": {
        *("test_ask_service", "test_erased", "test_evidence", "test_evidence_journeys", "test_guidelines_account"),
        *("test_guidelines_described", "test_guidelines_index", "test_knowledge", "test_records_alerts"),
        *("test_guidelines_words", "test_records_kinds", "test_records_open", "test_records_papers", "test_replay"),
    },
    "core": {
        *("test_add_all", "test_backup", "test_cda_records", "test_fhir_export", "test_fhir_records"),
        *("test_hostile_files", "test_minilm", "test_postings", "test_replica", "test_scopes_work"),
        "test_verify_things",
    },
}
"""What `make check` leaves to `make test` of the other folders: whole flows, files and stores."""


LONGEST = (
    *("test_workers", "test_guidelines_chat", "test_schema", "test_browser", "test_accessible", "test_ask_page"),
    *("test_patterns", "test_dist", "test_upgrade"),
    *("test_index", "test_guidelines_whole", "test_sample_questions", "test_migrate", "test_injection"),
    *("test_pdf_guidelines", "test_records_ask", "test_records_pages", "test_records", "test_cli", "test_library"),
    *("test_stored_by_earlier_version", "test_guidelines_read", "test_context", "test_lay_questions", "test_subjects"),
    *("test_emergencies", "test_real_damage", "test_audit", "test_vault", "test_minilm", "test_verify_tables"),
)
"""The files that take more than fifteen seconds, longest first: some have few tests, which mostly wait."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take long, so that no process waits at the end for another; doors are slow."""
    slow = Counter(item.path for item in items if any(map(item.get_closest_marker, ("slow", "browser"))))
    # What is drawn must not hang on which numbers the sources hold, nor every process read 700 files for them.
    pytest.MonkeyPatch().setattr("hypothesis.internal.conjecture.providers.is_local_module_file", lambda _: False)
    place = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (place.get(item.path.stem, len(LONGEST)), -slow[item.path]))
    for item in items:
        if _is_later(item.path) or (item.path.parent.name in QUICK and "postgres" in item.name):
            item.add_marker(pytest.mark.slow)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether `make check` need not even read a file."""
    return True if "not slow" in config.option.markexpr and _is_later(collection_path) else None


def _is_later(path: Path) -> bool:
    folder, file = path.parent.name, path.stem
    if not file.startswith("test_"):
        return False
    return (folder in QUICK and file not in QUICK[folder]) or file in LATER.get(folder, ())


gc.disable()  # while tests are collected: what that makes stays


def pytest_collection_finish() -> None:
    """What collecting has made stays: nobody need look for rubbish in it, nor often in what tests make."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def certificates_are_read_once() -> Iterator[None]:
    """The certificates that a client trusts are read once for all clients."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def nobody_waits_for_the_disk() -> Iterator[None]:
    """What is kept is written, but not waited for: no test pulls the plug, and a process of its own does wait."""

    def pragmas(connection: Any, record: object) -> None:
        engine_pragmas(connection, record)
        connection.execute("PRAGMA synchronous=OFF")

    engine_pragmas = engine._pragmas
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_pragmas", pragmas)
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real documents beside the checkout; tests that need them say so and skip without them."""
    if not SHARED.is_dir():
        pytest.skip("real documents are not here (../shared/data)")
    return SHARED


@pytest.fixture(scope="session")
def parsed_guideline(shared_data: Path) -> Callable[[str], Document]:
    """Reads a real guideline or label by the name of its file; each is parsed once in an environment."""

    @cache
    def parsed(name: str) -> Document:
        path = shared_data / "guidelines" / name
        if not path.is_file():
            pytest.skip(f"{name} is not here (../shared/data/guidelines)")
        return parsed_once(path)

    return parsed


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """Where the model's graph is built, once for all tests."""
    return model_folder()


@pytest.fixture(scope="session", autouse=True)
def one_model() -> Iterator[MiniLM]:
    """The built-in model, given to every library of this process whose settings do not choose how to run it."""
    made = {model: OneMiniLM(model_folder(), model) for model in (TRAINED, PUBLISHED)}

    def chosen(
        cache_dir: Path, backend: Backend = "auto", threads: int | None = None, model: GraphSource = TRAINED
    ) -> MiniLM:
        return made[model] if backend == "auto" and threads is None else MiniLM(cache_dir, backend, threads, model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("citewell.adapters.embedding.minilm.MiniLM", chosen)
        yield made[TRAINED]
    for one in made.values():
        one.close()


@pytest.fixture(scope="session", autouse=True)
def one_of_each_reader() -> Iterator[None]:
    """The trained readers, opened once for every library of this process whose settings do not choose how."""
    with pytest.MonkeyPatch.context() as patch:
        with pytest.MonkeyPatch.context() as while_made:
            while_made.setattr(f"{pair.__name__}.LazyPairReader", OneReader)
            made = {reader: reader(model_folder()) for reader in (AnswerReader, PairReader)}
        for reader, one in made.items():
            patch.setattr(pair, reader.__name__, _opened_once(reader, one))
        yield


def _opened_once(reader: type[Any], made: Any) -> Callable[..., Any]:
    def chosen(cache_dir: Path, backend: Backend = "auto", threads: int | None = None) -> Any:
        return made if backend == "auto" and threads is None else reader(cache_dir, backend, threads)

    return chosen


@pytest.fixture(scope="session", autouse=True)
def new_files_are_copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new library file is a copy of one whose tables are made; a command in a process of its own makes them."""
    empty = once(tmp_path_factory, "empty.sqlite", lambda path: open_engine(path).dispose())

    def opened(path: Path, driver: Driver = PLAIN) -> Engine:
        if driver is PLAIN and path.parent.is_dir() and not (path.exists() and path.stat().st_size):
            with suppress(OSError):  # what the library says of a folder that cannot be written is the test's matter
                shutil.copyfile(empty, path)
        return open_engine(path, driver)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("citewell.adapters.store.library.open_engine", opened)
        yield


@pytest.fixture(scope="session")
def embedder(one_model: MiniLM) -> MiniLM:
    """The built-in model, in which a text is computed once for all tests."""
    return one_model


@pytest.fixture(scope="session", autouse=True)
def cheap_secrets() -> Iterator[None]:
    """A new vault and a new password cost as little as any may, and a key is derived once from the same words.

    test_vault_cost and test_people are about the cost.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "hash_secret_raw", cache(keys.hash_secret_raw))
        patch.setattr(Derivation, "measured", lambda: Derivation(LOWEST_TIME_COST, LOWEST_MEMORY_KIB))
        patch.setattr(
            "citewell.adapters.store.users.PasswordHasher",
            lambda: PasswordHasher(time_cost=1, memory_cost=64, parallelism=1),
        )
        yield


@pytest.fixture
def home(tmp_path: Path, embedder: MiniLM, model_cache: Path) -> Path:
    """A new home for a command in a process of its own, with the model's graph where it would build it."""
    embedder.embed(["so that the graph is there"])
    made = tmp_path / "home"
    made.mkdir()
    (made / "cache").symlink_to(model_cache)
    return made


@pytest.fixture(scope="session")
def samples_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that holds the samples; nobody changes it."""

    def add(home: Path) -> None:
        with build(Settings(home=home)) as app:
            assert [outcome.error for outcome in app.add_all(sample_files())] == [None] * 4

    own = os.environ.get("PYTEST_XDIST_WORKER", "") if IS_ON_POSTGRES else ""  # each process has a server of its own
    return once(tmp_path_factory, f"samples{own}", add)


@pytest.fixture(scope="session")
def reader(embedder: MiniLM) -> FileReader:
    """What reads files, with small limits."""
    return FileReader(all_parsers(), WordPiece.load(), embedder, ParseLimits(max_bytes=20_000_000, max_pages=300))


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An empty library in a folder of its own."""
    with build(Settings(home=tmp_path / "home")) as made:
        yield made


@pytest.fixture
def samples(samples_home: Path, tmp_path: Path) -> Iterator[App]:
    """A library of its own with the samples in it."""
    with build(Settings(home=Path(shutil.copytree(samples_home, tmp_path / "samples")))) as made:
        yield made
