"""An open vault: one person's record, until it is locked by hand or after idle time."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from functools import _lru_cache_wrapper
from types import TracebackType
from typing import TYPE_CHECKING

from citewell.adapters.vault.header import Header
from citewell.bootstrap.app import App
from citewell.bootstrap.record_models import check_model, models_of, with_model
from citewell.bootstrap.records import Record
from citewell.errors import InputError, VaultLocked

if TYPE_CHECKING:
    from citewell.adapters.vault.keys import VaultKey
    from citewell.answer.service import AskService
    from citewell.config import Settings
    from citewell.ports.records import RecordSettings

Clock = Callable[[], float]
MAX_LOCK_MINUTES = 24 * 60


class Profile:
    """An open vault: everything that can be done to a library, until it is locked."""

    def __init__(
        self, vault: Header, app: App, key: VaultKey, *, settings: Settings, clock: Clock = time.monotonic
    ) -> None:
        self.vault = vault
        self._app, self._key, self._settings, self._clock = app, key, settings, clock
        self._record = Record(app, self.touch)
        self._desk: AskService | None = None
        self._used_at = clock()
        self._locking = threading.Lock()
        self._set(self._record.choices)

    def __enter__(self) -> Profile:
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
    def desk(self) -> AskService:
        """Where the record is asked; it goes when the vault is locked."""
        from citewell.bootstrap.record_desk import make_record_desk

        with self._locking:
            self.touch()
            if self._desk is None:
                self._desk = make_record_desk(self._app, self._record.facts)
            return self._desk

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
        if choices.lock_minutes is not None and not 1 <= choices.lock_minutes <= MAX_LOCK_MINUTES:
            raise InputError(f"Enter a lock time from 1 to {MAX_LOCK_MINUTES} minutes.")
        self.record.choose(choices)
        self._set(choices)

    def _set(self, choices: RecordSettings) -> None:
        self.lock_minutes: float = choices.lock_minutes or self._settings.lock_minutes
        chosen = with_model(self._settings, choices.model).model_copy(update={"tenant": self.vault.id})
        if chosen.model != self._app.settings.model:
            self._app.stop_writing()
        self._app.settings = chosen

    @property
    def is_locked(self) -> bool:
        return self._key.is_wiped

    @property
    def is_idle(self) -> bool:
        """Whether nobody has used it for its lock time."""
        return self.idle_s >= self.lock_minutes * 60

    @property
    def idle_s(self) -> float:
        """Seconds since it was last used."""
        return self._clock() - self._used_at

    def touch(self) -> None:
        """Say that somebody is here; a locked vault says so instead."""
        if self.is_locked:
            raise VaultLocked
        self._used_at = self._clock()

    def lock(self) -> None:
        """Overwrite the key and let go of everything that was read with it."""
        with self._locking:
            if self.is_locked:
                return
            self._key.wipe()
            self._app.close()
            del self._app, self._record, self._desk
            _forget_texts()
            gc.collect()  # parts that refer to each other would keep the words they have read until who knows when


def _forget_texts() -> None:
    """Empty what the readers of sentences remember; tables, which are kept without a limit, stay."""
    for module in [one for name, one in sys.modules.items() if name.startswith("citewell.")]:
        for known in vars(module).values():
            if isinstance(known, _lru_cache_wrapper) and known.cache_parameters()["maxsize"] is not None:
                known.cache_clear()
