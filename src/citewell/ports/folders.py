"""A folder that is watched, wherever it is."""

from __future__ import annotations

from typing import Protocol

from citewell.types.watched import FolderListing, SeenFile


class DocumentFolder(Protocol):
    """Lists files and reads them; `Unavailable` where the folder is not there or does not answer."""

    is_settled: bool
    """Whether a file appears there only when it is whole."""

    def listing(self) -> FolderListing:
        """All files that are there now."""
        ...

    def read(self, file: SeenFile) -> bytes | None:
        """The bytes of a file; None where it changed while it was read, or is gone."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
