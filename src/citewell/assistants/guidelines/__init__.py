"""Clinical guidelines that apply themselves to a patient: rules read from the library, held against a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from citewell.assistants.guidelines.assess import Assessment, assess
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import Patient
from citewell.assistants.guidelines.read import read
from citewell.errors import InputError, NotFound
from citewell.ports import Library, Parser
from citewell.types import Document, Entry, Limits, Scope, Source, State

TAG = "guideline"
"""Documents with this tag are read as guidelines."""
PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class GuidelineParser:
    """A parser that lets through only what reads as a guideline, so that nothing else is filed as one."""

    parser: Parser

    def parse(self, source: Source, *, media_type: str, limits: Limits) -> Document:
        document = self.parser.parse(source, media_type=media_type, limits=limits)
        read(document)
        return document


class Guidelines:
    """The assistant: the guidelines of a library, read when first needed."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._read: dict[str, Guideline] = {}

    def entries(self, scope: Scope) -> list[Entry]:
        """The current guidelines that may be seen."""
        found = self.library.entries(scope)
        return [one for one in found if TAG in one.tags and one.is_current and one.state is State.COMPLETED]

    def guideline(self, document_id: str, scope: Scope) -> Guideline:
        """One guideline, by the id of its document; the scope is asked every time, the text read once."""
        entry = self.library.entry(document_id, scope)
        if entry.id not in self._read:
            self._read[entry.id] = read(self.library.opened(entry.id, scope)[1])
        return self._read[entry.id]

    def chosen(self, scope: Scope, only: Sequence[str] = ()) -> tuple[Guideline, ...]:
        """The guidelines of these documents, or all that may be seen."""
        found = [self.guideline(one, scope) for one in only] or list(self._readable(scope))
        if not found:
            raise NotFound("No guideline is here yet. Add one with `citewell guidelines add FILE`.")
        return tuple(sorted(found, key=lambda one: (one.name, one.title)))

    def _readable(self, scope: Scope) -> Iterator[Guideline]:
        """The guidelines that may be seen; a document that was tagged as one and is none stops nobody."""
        for entry in self.entries(scope):
            with suppress(InputError):
                yield self.guideline(entry.id, scope)

    def assess(self, patient: Patient, *, scope: Scope, only: Sequence[str] = ()) -> Assessment:
        """Hold a patient against the guidelines of a scope."""
        return assess(patient, self.chosen(scope, only))
