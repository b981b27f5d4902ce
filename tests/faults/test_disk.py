"""A full disk and a folder that cannot be written are told in one sentence, and change nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from citewell.adapters.store.library import SqlLibrary
from citewell.app import build
from citewell.config import Settings
from citewell.errors import DiskFull, LibraryReadOnly
from citewell.ingest.library_changes import add
from citewell.ingest.parse_cut_embed import FileReader
from citewell.types import Filing, Scope, Source

SCOPE = Scope.owner("clinic")
SMALL = Source(b"Iron\n\nTake 200 mg with water.", "iron.txt")


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own that is soon full."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if (
        os.geteuid() != 0
        or shutil.which("mount") is None
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("mounting a small disk needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_told_and_changes_nothing(tmp_path: Path, reader: FileReader) -> None:
    with small_disk(tmp_path / "disk", "3m") as disk:
        library = SqlLibrary(disk / "library.sqlite")
        try:
            add(SMALL, filing=Filing(), scope=SCOPE, library=library, reader=reader)
            large = Source(SMALL.data + b"\n\n# A comment \xc2\xb7" * 400_000, "large.txt")
            reading = reader.read(SMALL, chunking=None, watch=lambda _: None)
            with pytest.raises(DiskFull, match=r"The last change was not saved\. Free some space"):
                library.add(large, reading, filing=Filing(), scope=SCOPE)
            assert [entry.name for entry in library.entries(SCOPE)] == ["iron.txt"]
            assert library.verify().problems == ()
        finally:
            library.close()


def test_a_disk_without_a_byte_left_is_told_as_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "3m") as disk:
        SqlLibrary(disk / "library.sqlite").close()
        (disk / "fill").write_bytes(bytes(shutil.disk_usage(disk).free))
        with pytest.raises(DiskFull, match="Free some space"):
            SqlLibrary(disk / "library.sqlite")
        (disk / "fill").unlink()
        SqlLibrary(disk / "library.sqlite").close()


def test_a_folder_that_cannot_be_written_can_still_be_searched(tmp_path: Path, reader: FileReader) -> None:
    with small_disk(tmp_path / "disk", "20m") as disk:
        library = SqlLibrary(disk / "library.sqlite")
        add(SMALL, filing=Filing(), scope=SCOPE, library=library, reader=reader)
        library.close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        library = SqlLibrary(disk / "library.sqlite")
        try:
            assert [entry.name for entry in library.entries(SCOPE)] == ["iron.txt"]
            with pytest.raises(LibraryReadOnly, match="cannot be written"):
                library.enqueue(SMALL, filing=Filing(), scope=SCOPE)
        finally:
            library.close()


def test_a_home_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LibraryReadOnly, match="--home"):
        build(Settings(home=tmp_path / "file" / "home"))


@pytest.mark.slow
def test_two_processes_read_while_one_writes(tmp_path: Path) -> None:
    writer = [sys.executable, "-m", "tests.faults.churn", str(tmp_path), "7"]
    child = subprocess.Popen(writer, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        look = (
            "import sys; from pathlib import Path; from citewell.adapters.store.library import SqlLibrary;"
            "from citewell.types import Scope; library = SqlLibrary(Path(sys.argv[1]) / 'library.sqlite');"
            "found = [library.verify().problems for _ in range(10)]; sys.exit(any(found))"
        )
        readers = [subprocess.Popen([sys.executable, "-c", look, str(tmp_path)]) for _ in range(2)]
        assert [reader.wait() for reader in readers] == [0, 0]
        assert child.poll() is None
    finally:
        child.kill()
        child.communicate()
