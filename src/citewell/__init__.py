"""Citewell: answers from medical documents, each pointing at the exact words it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from citewell.app import App

__version__ = "0.1.0"


def open(home: Path | str | None = None) -> App:
    """Open the library in a folder; the one in CITEWELL_HOME, or ~/.citewell, when none is given."""
    from citewell.app import open_library

    return open_library(home)
