"""Several files at once: read side by side, made current in the order given."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from citewell.bootstrap import App
from citewell.errors import EmptyFile, LibraryReadOnly
from citewell.ingest.library import in_turn


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


def test_no_more_than_two_are_worked_on_and_all_come_in_order() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.02 if number % 2 == 0 else 0.001)
        with lock:
            running -= 1
        return number

    done = [future.result() for future in in_turn(partial(work, number) for number in range(9))]
    assert done == list(range(9))
    assert most == 2
