"""The database's own troubles, in plain words."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from citewell.adapters.store import engine as database
from citewell.errors import LibraryBusy


def test_a_crowded_library_is_busy_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "CONNECTION_TIMEOUT_S", 0.05)
    path = tmp_path / "library.sqlite"
    engine = database.open_engine(path)
    with ExitStack() as readers:
        for _ in range(database.CONNECTIONS):
            readers.enter_context(database.reading(engine, path))
        with pytest.raises(LibraryBusy, match=r"too busy.*Try again"), database.reading(engine, path):
            pass
    with database.reading(engine, path):
        pass
    engine.dispose()
