"""The vaults of a home: made, found, opened with a passphrase, locked, changed, copied and erased."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import _lru_cache_wrapper, cached_property
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING

from citewell.adapters.vault.header import HEADER_FILE, Header
from citewell.adapters.vault.vault import VaultFolder, label_of, make_vault, restore
from citewell.allowed_models import check_model, models_of, with_model
from citewell.app import App
from citewell.clinical import Lexicon
from citewell.clinical.assertion import ClinicalReader
from citewell.errors import CitewellError, InputError, LibraryError, NotFound, VaultLocked
from citewell.vaults.health_record import Record
from citewell.vaults.idle_lock import Clock, IdleTimer, check_lock_minutes, watch_time
from citewell.wiring import make_embedder

if TYPE_CHECKING:
    from citewell.adapters.vault.keys import VaultKey
    from citewell.answer.service import AskService
    from citewell.config import Settings
    from citewell.ports import Embedder
    from citewell.ports.records import RecordSettings

_log = logging.getLogger(__name__)

NO_SUCH_VAULT = "Vault not found. `citewell vault list` shows them."
NOT_ITS_FOLDER = f"{HEADER_FILE} belongs to a different vault from its folder. Restore the vault from an export."


class Vaults:
    """All vaults of a home; those that are open are locked when nobody has used them for a while."""

    def __init__(
        self, settings: Settings, *, clock: Clock = time.monotonic, lender: Callable[[], App] | None = None
    ) -> None:
        self._settings, self._clock, self._lender = settings, clock, lender
        self._open: dict[str, OpenVault] = {}
        self._changing = threading.Lock()
        self._closing = threading.Event()

    @property
    def folder(self) -> Path:
        return self._settings.home / "vaults"

    def all(self) -> list[Header]:
        """Every vault that can be read, by label."""
        headers = [header for header in self._headers().values() if isinstance(header, Header)]
        return sorted(headers, key=lambda header: (header.label.casefold(), header.id))

    def unreadable(self) -> dict[str, str]:
        """What is wrong with each vault that cannot be read, by its id; the others are none the worse for it."""
        return {name: str(error) for name, error in self._headers().items() if not isinstance(error, Header)}

    def _headers(self) -> dict[str, Header | LibraryError]:
        folders = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        headers: dict[str, Header | LibraryError] = {}
        for path in folders:
            if path.is_dir() and not path.name.startswith("."):
                try:
                    header = Header.read(path)
                    headers[path.name] = header if header.id == path.name else LibraryError(NOT_ITS_FOLDER)
                except LibraryError as error:
                    headers[path.name] = error
                except NotFound:
                    headers[path.name] = LibraryError(f"{HEADER_FILE} is missing. Restore the vault from an export.")
        return headers

    def find(self, named: str | None) -> Header:
        """A vault by its label, its id or the beginning of that; the only one where none is named."""
        headers = self.all()
        if named is None:
            matching = headers
            if len(headers) > 1:
                raise InputError("There are several vaults. Choose one with --vault LABEL.")
        else:
            matching = [header for header in headers if header.label.casefold() == named.casefold()]
            matching = matching or [header for header in headers if named and header.id.startswith(named.lower())]
        if not matching:
            raise NotFound(NO_SUCH_VAULT if headers else "No vaults yet. Create one with `citewell vault create`.")
        if len(matching) > 1:
            raise InputError("Several vaults match. Give more characters of the ID.")
        return matching[0]

    # ---------------------------------------------------------------------------------------- opening and locking

    def open(self, vault_id: str, passphrase: str) -> OpenVault:
        """Open a vault; it stays open until it is locked or idle for too long. A second window shares it."""
        folder = self._folder(vault_id)
        with self._changing:
            key = folder.unlock(passphrase)
            vault = self._open.get(vault_id)
            if vault is None or vault.is_locked:
                return self._opened(folder, key)
            key.wipe()
            vault.touch()
            return vault

    def profile(self, vault_id: str) -> OpenVault:
        """A vault that is open already."""
        self.lock_idle()
        vault = self._open.get(vault_id)
        if vault is None or vault.is_locked:
            raise VaultLocked
        return vault

    def lock(self, vault_id: str) -> None:
        """Lock one now."""
        if (vault := self._open.pop(vault_id, None)) is not None:
            vault.lock()

    def lock_idle(self) -> int:
        """Lock what nobody has used for its lock time; says how many."""
        idle = [vault_id for vault_id, vault in list(self._open.items()) if vault.is_idle]
        for vault_id in idle:
            self.lock(vault_id)
        return len(idle)

    def close(self) -> None:
        """Lock all of them and stop watching the time."""
        self._closing.set()
        for vault_id in list(self._open):
            self.lock(vault_id)

    def _opened(self, folder: VaultFolder, key: VaultKey) -> OpenVault:
        header = folder.header
        settings = self._settings.model_copy(update={"tenant": header.id})
        app = VaultApp(settings, folder.library(key), self._lender)
        try:
            app.renew_vectors()
        except BaseException:
            app.close()
            key.wipe()
            raise
        self._open[header.id] = OpenVault(header, app, key, settings=self._settings, clock=self._clock)
        _ = self._watch
        return self._open[header.id]

    @cached_property
    def _watch(self) -> threading.Thread:
        """Looks at the time from the first opening on."""
        return watch_time(self.lock_idle, self._closing, lock_minutes=self._settings.lock_minutes)

    # ---------------------------------------------------------------------------------------------------- changing

    def create(self, label: str, passphrase: str) -> tuple[Header, str]:
        """Make a vault; its recovery phrase is shown once and kept nowhere."""
        if label_of(label).casefold() in {header.label.casefold() for header in self.all()}:
            raise InputError("A record with this name already exists. Choose another name.")
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


class OpenVault:
    """An open vault: one person's record, until it is locked by hand or after idle time."""

    def __init__(
        self, vault: Header, app: VaultApp, key: VaultKey, *, settings: Settings, clock: Clock = time.monotonic
    ) -> None:
        self.vault = vault
        self._app, self._key, self._settings = app, key, settings
        self._idle = IdleTimer(settings.lock_minutes, clock)
        self._record = Record(app, self.touch)
        self._ask_service: AskService | None = None
        self._locking = threading.Lock()
        self._set(self._record.choices)

    def __enter__(self) -> OpenVault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lock()

    @property
    def app(self) -> App:
        """The library inside; using it keeps the vault open."""
        self.touch()
        return self._app

    @property
    def record(self) -> Record:
        """The facts of the person, and what they are imported from."""
        self.touch()
        return self._record

    @property
    def ask_service(self) -> AskService:
        """Where the record is asked; it goes when the vault is locked."""
        from citewell.vaults.ask import make_record_service

        with self._locking:
            self.touch()
            if self._ask_service is None:
                self._ask_service = make_record_service(self._app, self._record.facts)
            return self._ask_service

    @property
    def choices(self) -> RecordSettings:
        """What its owner has set."""
        return self.record.choices

    @property
    def models(self) -> tuple[str, ...]:
        """The models that its answers may be worded by."""
        return models_of(self._settings)

    def choose(self, choices: RecordSettings) -> None:
        """Set it otherwise, from the next question on."""
        if choices.model is not None:
            check_model(self._settings, choices.model)
        check_lock_minutes(choices.lock_minutes)
        self.record.choose(choices)
        self._set(choices)

    def _set(self, choices: RecordSettings) -> None:
        self._idle.minutes = choices.lock_minutes or self._settings.lock_minutes
        chosen = with_model(self._settings, choices.model).model_copy(update={"tenant": self.vault.id})
        if chosen.model != self._app.settings.model:
            self._app.stop_writing()
            self._app.forget()
            self._app = replace(self._app, settings=chosen)
            self._record, self._ask_service = Record(self._app, self.touch), None

    @property
    def is_locked(self) -> bool:
        return self._key.is_wiped

    @property
    def is_idle(self) -> bool:
        """Whether nobody has used it for its lock time."""
        return self._idle.is_over

    @property
    def idle_s(self) -> float:
        """Seconds since it was last used."""
        return self._idle.idle_s

    @property
    def lock_minutes(self) -> float:
        """Its lock time."""
        return self._idle.minutes

    def touch(self) -> None:
        """Say that somebody is here; a locked vault says so instead."""
        if self.is_locked:
            raise VaultLocked
        self._idle.touch()

    def lock(self) -> None:
        """Overwrite the key and let go of everything that was read with it."""
        with self._locking:
            if self.is_locked:
                return
            self._key.wipe()
            self._app.close()
            del self._app, self._record, self._ask_service
            _forget_texts()
            gc.collect()  # parts that refer to each other would keep the words they have read until who knows when


@dataclass(frozen=True, eq=False, repr=False)
class VaultApp(App):
    """The library in a vault. It keeps to itself what it reads, and forgets it when it is closed."""

    lender: Callable[[], App] | None
    """The server's library, which lends the models and the words that it has loaded for all vaults."""

    def close(self) -> None:
        """Give everything back, and forget what was read."""
        if self.lender is not None:
            self.__dict__.pop("embedder", None)  # the server goes on using what it lent
        super().close()
        self.forget()

    def forget(self) -> None:
        """Let go of all parts: one that refers back to this would keep it alive."""
        for name in self.__dict__.keys() - {field.name for field in fields(self)}:
            self.__dict__.pop(name, None)

    def renew_vectors(self) -> None:
        """Embed everything again where an older version's built-in model has: a patient runs no `reindex`.

        What cannot be written is left for the next time; until then a search says what is wrong.
        """
        from citewell.adapters.embedding.minilm import MODEL

        stored, current = self.library.embedder(), self.embedder.fingerprint
        if stored is None or stored == current or not (stored.startswith(MODEL) and current.startswith(MODEL)):
            return
        try:
            self.reindex()
        except (CitewellError, OSError) as error:
            _log.warning("the vectors of a vault could not be made again: %s", type(error).__name__)

    @cached_property
    def embedder(self) -> Embedder:
        """What the settings ask for."""
        return make_embedder(self.settings) if self.lender is None else self.lender().embedder

    @cached_property
    def built_in(self) -> Embedder:
        """The model that the package brings, whoever embeds the library."""
        return super().built_in if self.lender is None else self.lender().built_in

    @cached_property
    def lexicon(self) -> Lexicon:
        """The clinical words."""
        return Lexicon.load() if self.lender is None else self.lender().lexicon


def _forget_texts() -> None:
    """Empty what the readers of sentences remember; tables, which are kept without a limit, stay."""
    for module in [module for name, module in sys.modules.items() if name.startswith("citewell.")]:
        for value in vars(module).values():
            if isinstance(value, _lru_cache_wrapper) and value.cache_parameters()["maxsize"] is not None:
                value.cache_clear()
    ClinicalReader.forget()
    Lexicon.forget()
