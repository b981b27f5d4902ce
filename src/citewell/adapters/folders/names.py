"""Which files of a folder are not read, by their names."""

from __future__ import annotations

from pathlib import PurePosixPath

MAX_PATH_CHARACTERS = 1_024
TEMPORARY = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".download", ".swp", ".lock", ".bak", "~")
LEFTOVERS = frozenset({"thumbs.db", "desktop.ini"})
HIDDEN, UNFINISHED, ODD = "hidden", "a temporary file", "its name cannot be used"


def why_skipped(path: str) -> str | None:
    """Why a file is not read, as far as its path tells.

    >>> why_skipped("a/.git/x"), why_skipped("~$plan.docx"), why_skipped("plan.docx.part"), why_skipped("plan.docx")
    ('hidden', 'a temporary file', 'a temporary file', None)
    """
    parts = PurePosixPath(path).parts
    if any(part.startswith(".") for part in parts):
        return HIDDEN
    name = parts[-1].lower() if parts else ""
    if name in LEFTOVERS or name.startswith("~$") or name.endswith(TEMPORARY):
        return UNFINISHED
    return None if len(path) <= MAX_PATH_CHARACTERS and path.isprintable() else ODD
