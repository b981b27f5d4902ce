"""A sealed note beside the library of how far each audit log has come: a restored or emptied database is noticed."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from citewell.adapters.store.seal import TextCipher
from citewell.errors import LibraryError
from citewell.keeping import AuditHead

HEAD_FILE = "audit.head"
ABOUT = "audit:heads"


class NoHeads:
    """Of a vault nothing lies beside its file: the sealed end in its own tables is all there is."""

    is_missing = False

    def of(self, _tenant: str) -> AuditHead | None:
        """Nothing was noted."""
        return None

    def note(self, tenant: str, head: AuditHead) -> None:
        """Nothing is noted."""


class AuditHeads:
    """Written after the commit, so it may be a record behind the log, never ahead of it.

    The file is made together with the key, empty at first, so that a missing one was always taken away.
    """

    def __init__(self, home: Path, seal: TextCipher) -> None:
        self._path, self._seal = home / HEAD_FILE, seal
        self._writing = threading.Lock()
        if seal.is_new:
            with suppress(OSError):
                self._write({})

    @property
    def is_missing(self) -> bool:
        """Whether the file was taken away; the next note makes a new one."""
        return not self._path.exists()

    def of(self, tenant: str) -> AuditHead | None:
        """The last head that was noted, or None where none was."""
        told = self._read().get(tenant)
        return None if told is None else AuditHead.read(told)

    def note(self, tenant: str, head: AuditHead) -> None:
        """Write the head down; a folder that cannot be written now is no reason to lose the answer."""
        with self._writing, suppress(OSError):
            told = self._known()
            before = told.get(tenant)
            if before is not None and AuditHead.read(before).count >= head.count:
                return
            told[tenant] = str(head)
            self._write(told)

    def _known(self) -> dict[str, str]:
        try:
            return self._read()
        except (LibraryError, ValueError):
            return {}  # damaged: `prove` has said so, and a new one begins

    def _read(self) -> dict[str, str]:
        if not self._path.exists():
            return {}
        found: dict[str, str] = json.loads(self._seal.open(self._path.read_bytes(), about=ABOUT))
        return found

    def _write(self, told: Mapping[str, str]) -> None:
        sealed = self._seal.close(json.dumps(told), about=ABOUT)
        draft = self._path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(sealed)
            os.fsync(file.fileno())
        draft.replace(self._path)
