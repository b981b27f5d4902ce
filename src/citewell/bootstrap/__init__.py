"""build(settings) -> App: the only place where ports meet adapters."""

from __future__ import annotations

from pathlib import Path

from citewell.bootstrap.app import App
from citewell.bootstrap.home import read_source
from citewell.bootstrap.outcome import Outcome, Results
from citewell.bootstrap.workers import refuse_settings
from citewell.config import Settings

__all__ = ["App", "Outcome", "Results", "build", "open_library", "read_source"]


def build(settings: Settings) -> App:
    """Open the library that the settings name, made where there is none."""
    refuse_settings(settings)
    return App(settings)


def open_library(home: Path | str | None = None) -> App:
    """Open a library by its folder, or the one that the environment names."""
    return build(Settings() if home is None else Settings(home=Path(home)))
