"""The files that the steps leave for each other: each is there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citewell.errors import CitewellError, InputError, LibraryError


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one book: how many texts or passages, what was passed over and why, or what went wrong."""

    accession: str
    title: str
    count: int = 0
    was_there: bool = False
    passed_over: tuple[tuple[str, str], ...] = ()
    """(file, reason)."""
    error: CitewellError | None = None


def books_in(folder: Path) -> list[Path]:
    books = folder / "books"
    if not books.is_dir():
        raise InputError(f"There are no books in {folder}. Run `citewell guidelines download` into it first.")
    return sorted(
        path for path in books.iterdir() if path.is_dir() and not path.name.endswith((".new", ".part", ".old"))
    )


def read_json(path: Path) -> dict[str, Any] | None:
    """A file that a step wrote, or None where it is not there or was cut."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    making = path.with_name(path.name + ".part")
    with making.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    making.replace(path)


def put_in_place(making: Path, folder: Path) -> None:
    """Let a new folder stand in the place of an old one."""
    old = folder.with_name(folder.name + ".old")
    _remove(old)
    if folder.exists():
        folder.replace(old)
    making.replace(folder)
    _remove(old)


def _remove(folder: Path) -> None:
    if folder.is_dir():
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def told(error: Exception) -> CitewellError:
    if isinstance(error, CitewellError):
        return error
    return LibraryError(
        f"The folder could not be written to: {getattr(error, 'strerror', None) or type(error).__name__}."
    )
