"""The guidelines of a library: how they come in, and the assistant that reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from citewell.adapters.parsers import all_parsers
from citewell.assistants.guidelines import PUBLIC, TAG, GuidelineParser, Guidelines
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import Patient
from citewell.assistants.guidelines.read import read
from citewell.assistants.guidelines.roster import find_patient, roster
from citewell.bootstrap.home import read_source
from citewell.config import Settings
from citewell.ingest.library import Added, add, unwatched
from citewell.ingest.parse import parse
from citewell.ingest.read import Reader, Watch
from citewell.ports import Library
from citewell.types import Filing, Scope


class GuidelineShelf(Guidelines):
    """The assistant, with what it takes to add and check a file and to look up a patient."""

    def __init__(self, settings: Settings, library: Library, reader: Callable[[], Reader]) -> None:
        super().__init__(library)
        self._settings = settings
        self._reader = reader

    def add(self, path: Path, *, replaces: str | None = None, watch: Watch = unwatched) -> Added:
        """Read a guideline and make it current; what does not read as one is refused, and nothing is kept of it."""
        reader = self._reader()
        parsers = {name: GuidelineParser(parser) for name, parser in reader.parsers.items()}
        source = read_source(path, self._settings.limits.max_bytes)
        scope = Scope.owner(self._settings.tenant)
        tags = frozenset({PUBLIC, TAG})
        if (there := self.library.same(source, subject=None, scope=scope)) is not None:
            self.guideline(there.id, scope)  # the same bytes are not parsed again: refuse here what is no guideline
            tags = frozenset({*there.tags, TAG})
        return add(
            source,
            filing=Filing(tags=tags, replaces=replaces),
            scope=scope,
            library=self.library,
            reader=replace(reader, parsers=parsers),
            watch=watch,
        )

    def check(self, path: Path) -> Guideline:
        """Read a file as a guideline, and keep nothing of it."""
        limits = self._settings.limits
        return read(parse(read_source(path, limits.max_bytes), parsers=all_parsers(), limits=limits))

    def patients(self) -> dict[str, Patient]:
        """The patients on file, by id."""
        return roster(self._folder)

    def patient(self, patient_id: str) -> Patient:
        """The patient of exactly this id."""
        return find_patient(self._folder, patient_id)

    @property
    def _folder(self) -> Path:
        return self._settings.home / "patients"
