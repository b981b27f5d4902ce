"""Several files at once: read side by side, made current in the order given."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.app import App
from citewell.errors import EmbedderRefused, EmbedderUnavailable, EmptyFile, LibraryReadOnly
from citewell.ingest.embed_batching import MAX_TEXTS, BatchingEmbedder
from citewell.ingest.library_changes import AT_ONCE, AT_ONCE_BYTES, PARSED_AT_ONCE, Work, in_turn
from citewell.ingest.parse import parse
from citewell.ingest.parse_cut_embed import FileReader
from citewell.ports import Progress, Vectors
from citewell.types import Document, Source


def test_versions_follow_the_order_of_the_files(app: App, tmp_path: Path) -> None:
    files = []
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        files.append(folder / "dose.md")
        files[-1].write_text("# Dose\n\n" + f"Take {number} mg of it each day. " * (60 if number % 2 == 0 else 1))
    added = [outcome.added for outcome in app.add_all(files)]
    assert [one and one.entry.version for one in added] == [1, 2, 3, 4, 5, 6]
    current = [entry for entry in app.entries() if entry.is_current]
    assert [app.show(entry.id)[1].text.count("Take 5 mg") for entry in current] == [1]


def test_a_file_that_cannot_be_read_does_not_stop_the_others(app: App, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nRest.")
    (tmp_path / "b.md").write_bytes(b"")
    (tmp_path / "c.md").write_text("# C\n\nDrink.")
    outcomes = list(app.add_all([tmp_path / "a.md", tmp_path / "b.md", tmp_path / "c.md"]))
    assert [outcome.added is not None for outcome in outcomes] == [True, False, True]
    assert isinstance(outcomes[1].error, EmptyFile)


def test_the_same_bytes_twice_are_one_document(app: App, tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("# A\n\nRest.")
    list(app.add_all([tmp_path / "a.md", tmp_path / "b.md"]))
    assert len(app.entries()) == 1


def test_a_library_that_cannot_be_written_ends_it(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_named: object) -> None:
        raise LibraryReadOnly("The library cannot be written.")

    for name in "abc":
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nRest.")
    monkeypatch.setattr(app.library, "add", refuse)
    outcomes = list(app.add_all(sorted(tmp_path.glob("*.md"))))
    assert [type(outcome.error) for outcome in outcomes] == [LibraryReadOnly]


@pytest.mark.parametrize(("size_bytes", "allowed"), [(10, AT_ONCE), (AT_ONCE_BYTES, 2), (AT_ONCE_BYTES // 4, 4)])
def test_small_files_are_read_side_by_side_and_large_ones_two_at_a_time(
    reader: FileReader, size_bytes: int, allowed: int
) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def work(number: int, _reader: FileReader) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.02 if number % 2 == 0 else 0.001)
        with lock:
            running -= 1
        return number

    works = [Work(size_bytes, partial(work, number)) for number in range(24)]
    assert [future.result() for future in in_turn(reader, works)] == list(range(24))
    assert 1 < most <= allowed


def test_few_files_are_parsed_at_the_same_time(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def watched(source: Source, **given: Any) -> Document:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        try:
            return parse(source, **given)
        finally:
            with lock:
                running -= 1

    monkeypatch.setattr("citewell.ingest.parse_cut_embed.parse", watched)
    files = [tmp_path / f"{number}.md" for number in range(12)]
    for path in files:
        path.write_text(f"# {path.stem}\n\nRest.")
    assert [outcome.error for outcome in app.add_all(files)] == [None] * 12
    assert most == PARSED_AT_ONCE


def test_few_files_are_kept_in_memory_whose_texts_are_long(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed, stored, most = 0, 0, 0

    def watched(source: Source, **given: Any) -> Document:
        nonlocal parsed, most
        document = parse(source, **given)
        parsed += 1
        most = max(most, parsed - stored)
        return document

    monkeypatch.setattr("citewell.ingest.parse_cut_embed.parse", watched)
    monkeypatch.setattr("citewell.ingest.library_changes.AT_ONCE_CHARACTERS", 200)
    files = [tmp_path / f"{number}.md" for number in range(12)]
    for path in files:
        path.write_text(f"# {path.stem}\n\n" + "Rest. " * 30)
    for outcome in app.add_all(files):
        assert outcome.error is None
        time.sleep(0.02)
        stored += 1
    assert most <= 2 + PARSED_AT_ONCE


class Watched:
    """An embedder that remembers what it was asked for, holds the first call until others wait, and fails on a word."""

    fingerprint, dimensions = "watched", 2

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.others_wait = threading.Event()

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        if not self.calls:
            self.calls.append(list(texts))
            assert self.others_wait.wait(30)
        else:
            self.calls.append(list(texts))
        if "poison" in texts:
            raise ValueError("no vector for this")
        if "too long" in texts:
            raise EmbedderRefused("the server refused the request (400)")
        if "dead" in texts:
            raise EmbedderUnavailable("the server does not answer")
        if progress is not None:
            progress(len(texts) // 2, len(texts))
        return np.array([[len(text), 0] for text in texts], np.float32)


def asked_together(embedder: Watched, groups: list[list[str]], progress: Progress | None = None) -> list[object]:
    """What each of several callers is given, all of whom come while the first is served."""
    with BatchingEmbedder(embedder) as together, ThreadPoolExecutor(len(groups)) as callers:
        first = callers.submit(together.embed, groups[0])
        while not embedder.calls:
            time.sleep(0.001)
        rest = [callers.submit(together.embed, group, progress=progress) for group in groups[1:]]
        while len(together._waiting) < len(rest):
            time.sleep(0.001)
        embedder.others_wait.set()
        return [future.exception() or future.result()[:, 0].tolist() for future in (first, *rest)]


def test_all_who_come_during_one_computation_make_the_next() -> None:
    embedder = Watched()
    told: list[tuple[int, int]] = []
    groups = [["a"], ["bb", "ccc"], ["dddd"]]
    given = asked_together(embedder, groups, lambda done, total: told.append((done, total)))
    assert given == [[1], [2, 3], [4]]
    assert [len(call) for call in embedder.calls] == [1, 3]
    assert sorted(told) == [(0, 1), (0, 2)]  # each is told of its own texts


def test_a_failure_is_told_to_the_one_whose_texts_they_are() -> None:
    first, whole, failed = asked_together(Watched(), [["a"], ["bb"], ["poison"]])
    assert (first, whole) == ([1], [2])
    assert isinstance(failed, ValueError)


def test_what_a_server_refuses_keeps_no_other_file_from_its_vectors() -> None:
    first, whole, failed, last = asked_together(Watched(), [["a"], ["bb"], ["too long"], ["ccc"]])
    assert (first, whole, last) == ([1], [2], [3])
    assert isinstance(failed, EmbedderRefused)


def test_a_dead_server_is_asked_once_for_all() -> None:
    embedder = Watched()
    first, *rest = asked_together(embedder, [["a"], ["bb"], ["dead"], ["ccc"]])
    assert first == [1]
    assert [type(one) for one in rest] == [EmbedderUnavailable] * 3
    assert len(embedder.calls) == 2


def test_a_text_is_the_same_vector_alone_and_together(app: App, tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.md" for number in range(8)]
    for number, path in enumerate(files):
        path.write_text(f"# Paper {number}\n\nTake {number} tablets. Drink {number} glasses of water with them.")
    added = [outcome.added for outcome in app.add_all(files)]
    stored = sorted(app.library.load(app.library.current()), key=lambda one: one.generation)
    for one, kept in zip(added, stored, strict=True):
        assert one is not None
        alone = app.embedder.embed([chunk.passage for chunk in app.show(one.entry.id)[2]])
        assert (kept.vectors * alone).sum(axis=1).min() > 0.999


class Endless:
    """An embedder that never comes to an end by itself."""

    fingerprint, dimensions = "endless", 2

    def __init__(self) -> None:
        self.has_begun = threading.Event()

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        while True:
            self.has_begun.set()
            time.sleep(0.001)
            assert progress is not None
            progress(0, len(texts))


def test_who_closes_it_before_the_end_waits_for_nothing_that_is_computed(reader: FileReader) -> None:
    embedder = Endless()
    told = []

    def work(reader: FileReader) -> int:
        with reader.parsing:
            pass
        try:
            return len(reader.embedder.embed(["a"]))
        except CancelledError as error:
            told.append(error)
            raise

    works = [Work(10, lambda _reader: 0), *(Work(10, work) for _ in range(AT_ONCE))]
    reading = in_turn(replace(reader, embedder=embedder), works)
    assert next(reading).result() == 0
    assert embedder.has_begun.wait(30)
    reading.close()
    assert told


def test_no_more_texts_are_embedded_together_than_fill_a_batch() -> None:
    embedder = Watched()
    groups = [["a"], ["b"] * (MAX_TEXTS - 1), ["c"], ["d"], ["e"] * (MAX_TEXTS + 1), ["f"]]
    given = asked_together(embedder, groups)
    assert given == [[1] * len(group) for group in groups]
    assert [len(call) for call in embedder.calls] == [1, MAX_TEXTS, 1, MAX_TEXTS + 1, 1]


def test_a_twin_that_is_read_beside_a_file_is_told_to_be_there(app: App, tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("# A\n\nRest.")
    outcomes = app.add_all([tmp_path / "a.md", tmp_path / "b.md"])
    assert [outcome.added and outcome.added.was_there for outcome in outcomes] == [False, True]
