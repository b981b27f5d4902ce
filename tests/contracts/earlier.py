"""What fb3ed9f made: see tests/data/fb3ed9f/make.py."""

from __future__ import annotations

import gzip
import json
import runpy
import tarfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "fb3ed9f"
MADE: dict[str, Any] = runpy.run_path(str(FOLDER / "make.py"))
"""The functions of the script; none of them runs here but those that read."""


def read(name: str) -> Any:
    """One of its JSON files."""
    return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))


def unpacked(folder: Path) -> Path:
    """A copy of the library, the vault and their backups."""
    with tarfile.open(FOLDER / "home.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder
