"""Folders that are watched for documents: what is seen there, what became of it, and how the last look went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

DONE = ("added", "changed", "moved", "withdrawn", "restored")
NOTHING_NEW = "nothing new"
NO_SUCH_FOLDER = "This folder is not watched. `citewell watch --list` shows those that are."


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as its folder lists it."""

    path: str
    """Below the folder, with `/` between the parts."""
    mark: str
    """Differs as soon as the file may have changed: size and time, or what its server tells."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class FolderListing:
    """What a folder holds now."""

    files: tuple[SeenFile, ...]
    skipped: Mapping[str, str]
    """What is not read, by its path, and why."""
    is_complete: bool = True
    """Whether all of it could be listed; nothing is withdrawn otherwise."""


@dataclass(frozen=True, slots=True)
class FolderLook:
    """What one look at a folder did."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    withdrawn: int = 0
    restored: int = 0
    waiting: int = 0
    """Files that are still changing."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """What was not read, by its path, and why; the first hundred."""
    skipped_count: int = 0

    @property
    def words(self) -> str:
        """What it did, for people.

        >>> FolderLook(added=2, waiting=1).words, FolderLook().words
        ('2 added, 1 still changing', 'nothing new')
        """
        counts = [f"{getattr(self, name)} {name}" for name in DONE if getattr(self, name)]
        counts += [f"{self.waiting} still changing"] if self.waiting else []
        return ", ".join(counts) or NOTHING_NEW


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """A folder, an S3 prefix or a WebDAV collection, and how its documents are filed."""

    id: str
    tenant: str
    address: str
    tags: tuple[str, ...]
    rules: Mapping[str, tuple[str, ...]]
    """Tags of subfolders in place of the folder's own; the longest that fits counts."""
    journeys: tuple[str, ...]
    added_at: datetime
    looked_at: datetime | None = None
    problem: str | None = None
    """What kept the last look from doing all of its work."""
    look: FolderLook | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    """Files that could not be read, and why."""
    documents: int = 0

    def tags_of(self, path: str) -> frozenset[str]:
        """The tags of a file.

        >>> from datetime import datetime
        >>> folder = WatchedFolder("1", "t", "/a", ("ward",), {"policies": ("policy",)}, (), datetime(2026, 1, 1))
        >>> folder.tags_of("policies/a.pdf"), folder.tags_of("policies-old/a.pdf")
        (frozenset({'policy'}), frozenset({'ward'}))
        """
        fitting = [name for name in self.rules if path.startswith(f"{name}/")]
        return frozenset(self.rules[max(fitting, key=len)] if fitting else self.tags)


@dataclass(frozen=True, slots=True)
class WatchedFile:
    """What the library knows of a file in a watched folder."""

    path: str
    mark: str
    """As it was when it was read; empty while it is being added."""
    content_hash: str
    document_id: str | None = None
    is_ours: bool = True
    """Whether the folder brought the document; one that was there before is never withdrawn for it."""
    is_gone: bool = False
    """The file is gone, and its document withdrawn."""
    problem: str | None = None
