"""Backups on a schedule: each is made, proved by restoring it, and kept until newer ones take its place."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from citewell.adapters.store.single_tenant import tenants
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import InputError, LibraryError
from citewell.operations.backup import MANIFEST, Copied, back_up, restore
from citewell.operations.file_lock import alone
from citewell.wiring import LIBRARY_FILE

log = logging.getLogger(__name__)

NAME = "citewell-%Y%m%dT%H%M%SZ"
FIRST_LOOK_S, LOOK_EVERY_S, RETRY_S = 2.0, 60.0, 3_600.0
NOT_SET = "No folder for backups is set. Name a new folder, or set CITEWELL_BACKUP_FOLDER."
RUNNING = "Another backup into {folder} is running. Wait for it to finish."
NOT_PROVED = "The backup was made but could not be restored: {problem}. It was removed. Check the disk of {folder}."


@dataclass(frozen=True, slots=True)
class BackupSchedule:
    """Where backups go, how often one is made, and how many are kept."""

    folder: Path
    every: timedelta
    keep: int

    @classmethod
    def of(cls, settings: Settings) -> BackupSchedule | None:
        """The schedule that the settings ask for, if they do."""
        if settings.backup_folder is None:
            return None
        return cls(settings.backup_folder, timedelta(hours=settings.backup_hours), settings.backup_keep)

    def made(self) -> list[tuple[datetime, Path]]:
        """The finished backups with their times, oldest first; what else lies in the folder is left alone."""
        found = []
        for path in self.folder.glob("citewell-*"):
            try:
                at = datetime.strptime(path.name, NAME).replace(tzinfo=UTC)
            except ValueError:
                continue
            if (path / MANIFEST).is_file():
                found.append((at, path))
        return sorted(found)

    def newest(self) -> datetime | None:
        """When the newest backup was made."""
        return max((at for at, _ in self.made()), default=None)

    def age_s(self, now: datetime) -> float:
        """Seconds since the newest backup; infinite where there is none."""
        newest = self.newest()
        return float("inf") if newest is None else (now - newest).total_seconds()

    def is_due(self, now: datetime) -> bool:
        """Whether it is time for the next."""
        return self.age_s(now) >= self.every.total_seconds()


def back_up_now(app: App, schedule: BackupSchedule) -> Copied:
    """Make a backup, prove that it can be restored, and remove the oldest beyond what is kept."""
    with alone(schedule.folder / ".lock", running=RUNNING.format(folder=schedule.folder)):
        for left in schedule.folder.glob(".citewell-*"):  # of a backup that was broken off
            shutil.rmtree(left, ignore_errors=True)
        target = schedule.folder / datetime.now(UTC).strftime(NAME)
        trial = schedule.folder / f".{target.name}"
        try:
            copied = back_up(app, trial)
            if problem := _problem(app.settings, trial):
                raise LibraryError(NOT_PROVED.format(problem=problem, folder=schedule.folder))
            trial.replace(target)
        finally:
            shutil.rmtree(trial, ignore_errors=True)
        for _, path in schedule.made()[: -schedule.keep]:
            shutil.rmtree(path)
        return Copied(target, copied.files, copied.bytes, copied.vaults, copied.lost)


def required(settings: Settings) -> BackupSchedule:
    schedule = BackupSchedule.of(settings)
    if schedule is None:
        raise InputError(NOT_SET)
    return schedule


def _problem(settings: Settings, folder: Path) -> str | None:
    """What is wrong with a backup once it is restored, if anything is."""
    with tempfile.TemporaryDirectory(prefix=".citewell-restored-", dir=folder.parent) as home:
        restore(folder, Path(home))
        kept = settings.model_copy(update={"home": Path(home), "blobs": None, "qdrant_url": None, "broker_url": None})
        with build(kept) as app:
            problems = list(app.verify().problems)
            for tenant in tenants(app.library.engine, Path(home) / LIBRARY_FILE):
                problems += app.ask_service.audit.verify_chain(tenant).problems
    return str(problems[0]) if problems else None


class BackupTimer:
    """Starts a backup in a process of its own whenever one is due, as long as the server runs."""

    def __init__(self, settings: Settings) -> None:
        self._home, self._schedule = settings.home, BackupSchedule.of(settings)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the clock; without a schedule there is nothing to do."""
        if self._schedule is not None and self._thread is None:
            self._stopped.clear()
            self._thread = threading.Thread(target=self._run, args=[self._schedule], name="backups", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop watching, and end a backup that is under way."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self, schedule: BackupSchedule) -> None:
        wait_s = FIRST_LOOK_S
        while not self._stopped.wait(wait_s):
            is_missed = schedule.is_due(datetime.now(UTC)) and not self._back_up()
            wait_s = RETRY_S if is_missed else LOOK_EVERY_S

    def _back_up(self) -> bool:
        """Run `citewell backup --due`; whether it worked."""
        command = [sys.executable, "-m", "citewell.cli", "--home", str(self._home), "backup", "--due"]
        with subprocess.Popen(  # noqa: S603 -- our own command
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            while process.poll() is None:
                if self._stopped.wait(0.5):
                    process.terminate()
            if process.returncode and not self._stopped.is_set():
                log.error("the backup failed: run `citewell backup` to see why; the next try is in an hour")
            return not process.returncode
