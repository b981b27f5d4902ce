"""The vaults of a home: made, found, opened with a passphrase, changed, copied and erased."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING

from citewell.adapters.vault.folder import VaultFolder, label_of, make_vault, restore
from citewell.adapters.vault.header import HEADER_FILE, Header
from citewell.bootstrap.app import App
from citewell.bootstrap.profile import Clock, Profile
from citewell.bootstrap.vault_app import VaultApp
from citewell.errors import InputError, LibraryError, NotFound, VaultLocked

if TYPE_CHECKING:
    from citewell.adapters.vault.keys import VaultKey
    from citewell.config import Settings

NO_SUCH_VAULT = "Vault not found. `citewell vault list` shows them."
NOT_ITS_FOLDER = f"{HEADER_FILE} belongs to a different vault from its folder. Restore the vault from an export."
WATCH_S = 6.0
"""How often the time is looked at: a tenth of the shortest lock time."""


class Vaults:
    """All vaults of a home; those that are open are locked when nobody has used them for a while."""

    def __init__(
        self, settings: Settings, *, clock: Clock = time.monotonic, lender: Callable[[], App] | None = None
    ) -> None:
        self._settings, self._clock, self._lender = settings, clock, lender
        self._open: dict[str, Profile] = {}
        self._changing = threading.Lock()
        self._closing = threading.Event()

    @property
    def folder(self) -> Path:
        return self._settings.home / "vaults"

    def all(self) -> list[Header]:
        """Every vault that can be read, by label."""
        found = [told for told in self._headers().values() if isinstance(told, Header)]
        return sorted(found, key=lambda header: (header.label.casefold(), header.id))

    def unreadable(self) -> dict[str, str]:
        """What is wrong with each vault that cannot be read, by its id; the others are none the worse for it."""
        return {name: str(told) for name, told in self._headers().items() if not isinstance(told, Header)}

    def _headers(self) -> dict[str, Header | LibraryError]:
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        found: dict[str, Header | LibraryError] = {}
        for path in folders:
            if path.is_dir() and not path.name.startswith("."):
                try:
                    header = Header.read(path)
                    found[path.name] = header if header.id == path.name else LibraryError(NOT_ITS_FOLDER)
                except LibraryError as error:
                    found[path.name] = error
                except NotFound:
                    found[path.name] = LibraryError(f"{HEADER_FILE} is missing. Restore the vault from an export.")
        return found

    def find(self, named: str | None) -> Header:
        """A vault by its label, its id or the beginning of that; the only one where none is named."""
        known = self.all()
        if named is None:
            found = known
            if len(known) > 1:
                raise InputError("There are several vaults. Choose one with --vault LABEL.")
        else:
            found = [one for one in known if one.label.casefold() == named.casefold()]
            found = found or [one for one in known if named and one.id.startswith(named.lower())]
        if not found:
            raise NotFound(NO_SUCH_VAULT if known else "No vaults yet. Create one with `citewell vault create`.")
        if len(found) > 1:
            raise InputError("Several vaults match. Give more characters of the ID.")
        return found[0]

    # ---------------------------------------------------------------------------------------- opening and locking

    def open(self, vault_id: str, passphrase: str) -> Profile:
        """Open a vault; it stays open until it is locked or idle for too long. A second window shares it."""
        folder = self._folder(vault_id)
        with self._changing:
            key = folder.unlock(passphrase)
            known = self._open.get(vault_id)
            if known is None or known.is_locked:
                return self._opened(folder, key)
            key.wipe()
            known.touch()
            return known

    def profile(self, vault_id: str) -> Profile:
        """A vault that is open already."""
        self.lock_idle()
        found = self._open.get(vault_id)
        if found is None or found.is_locked:
            raise VaultLocked
        return found

    def lock(self, vault_id: str) -> None:
        """Lock one now."""
        if (profile := self._open.pop(vault_id, None)) is not None:
            profile.lock()

    def lock_idle(self) -> int:
        """Lock what nobody has used for its lock time; says how many."""
        idle = [vault_id for vault_id, profile in list(self._open.items()) if profile.is_idle]
        for vault_id in idle:
            self.lock(vault_id)
        return len(idle)

    def close(self) -> None:
        """Lock all of them and stop watching the time."""
        self._closing.set()
        for vault_id in list(self._open):
            self.lock(vault_id)

    def _opened(self, folder: VaultFolder, key: VaultKey) -> Profile:
        header = folder.header
        settings = self._settings.model_copy(update={"tenant": header.id})
        app = VaultApp(settings, folder.library(key), self._lender)
        try:
            app.renew_vectors()
        except BaseException:
            app.close()
            key.wipe()
            raise
        self._open[header.id] = Profile(header, app, key, settings=self._settings, clock=self._clock)
        _ = self._watch
        return self._open[header.id]

    @cached_property
    def _watch(self) -> threading.Thread:
        """Looks at the time, so that a vault that nobody uses is locked without anybody asking."""

        def watch() -> None:
            while not self._closing.wait(min(WATCH_S, self._settings.lock_minutes * 60 / 10)):
                self.lock_idle()

        thread = threading.Thread(target=watch, name="citewell-vault-watch", daemon=True)
        thread.start()
        return thread

    # ---------------------------------------------------------------------------------------------------- changing

    def create(self, label: str, passphrase: str) -> tuple[Header, str]:
        """Make a vault; its recovery phrase is shown once and kept nowhere."""
        if label_of(label).casefold() in {one.label.casefold() for one in self.all()}:
            raise InputError("A vault with this label already exists. Choose another label.")
        folder, phrase = make_vault(self.folder, label, passphrase)
        return folder.header, phrase

    def change_passphrase(self, vault_id: str, passphrase: str, new: str) -> None:
        """Another passphrase; the data stays as it is encrypted."""
        self._rewrap(vault_id, passphrase, new, is_recovery=False)

    def recover(self, vault_id: str, phrase: str, new: str) -> None:
        """A new passphrase for one that was forgotten."""
        self._rewrap(vault_id, phrase, new, is_recovery=True)

    def _rewrap(self, vault_id: str, phrase: str, new: str, *, is_recovery: bool) -> None:
        folder = self._folder(vault_id)
        with self._changing:
            key = folder.unlock(phrase, way="recovery" if is_recovery else "passphrase")
            try:
                folder.rewrap(key, new)
            finally:
                key.wipe()

    def new_recovery(self, vault_id: str, passphrase: str) -> str:
        """Another recovery phrase, which makes the old one worthless."""
        folder = self._folder(vault_id)
        with self._changing:
            key = folder.unlock(passphrase)
            try:
                return folder.new_recovery(key)
            finally:
                key.wipe()

    def export(self, vault_id: str, passphrase: str, target: Path) -> None:
        """Copy a vault into one encrypted file."""
        folder = self._folder(vault_id)
        with self._changing:
            key = folder.unlock(passphrase)
            try:
                folder.export(key, target)
            finally:
                key.wipe()

    def restore(self, source: Path | IO[bytes]) -> Header:
        """Take an exported vault in again."""
        return restore(self.folder, source).header

    def erase(self, vault_id: str) -> None:
        """Remove a vault for good, a damaged one too; no passphrase is asked for, since it may be what was lost."""
        folder = self._folder(vault_id)
        self.lock(vault_id)
        folder.erase()

    def _folder(self, vault_id: str) -> VaultFolder:
        if vault_id not in self._headers():
            raise NotFound(NO_SUCH_VAULT)
        return VaultFolder(self.folder / vault_id)
