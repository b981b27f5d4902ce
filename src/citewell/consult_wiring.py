"""Consultations over an open library: the service, a record that is brought along, and replay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.adapters.embedding.vector_cache import CachedNames
from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.consults import SqlConsults
from citewell.answer.audit import Versions
from citewell.answer.generate import LocalWriter
from citewell.assistants.consult.assess import RULES
from citewell.assistants.consult.from_record import findings_of
from citewell.assistants.consult.plan_evidence import AssessmentParts
from citewell.assistants.consult.service import ConsultService
from citewell.errors import DamagedFile, InputError, MissingExtra, ModelError
from citewell.ingest.file_bytes import read_source
from citewell.orders import screened_document
from citewell.ports.models import EXTRACTIVE
from citewell.types import Source
from citewell.wiring import make_remote, open_seal, search_at

if TYPE_CHECKING:
    from citewell.adapters.store.library import SqlLibrary
    from citewell.answer.gate import Verify
    from citewell.answer.replay import Replay
    from citewell.answer.retrieve import Search
    from citewell.assistants.consult.messages import Reader
    from citewell.assistants.consult.tools import Caller
    from citewell.config import Settings
    from citewell.history import AuditRecord
    from citewell.ports import Writer
    from citewell.types import Context, Emergency, LibraryEntry, Scope, User
    from citewell.types.consult import Consult, Differential, Finding
    from citewell.types.facts import Fact


class NoWriter(LocalWriter):
    """Stands for a model that is set and cannot be had: it says why instead of writing."""

    window = 0

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why

    def count(self, text: str) -> int:
        """Nothing is sent, so nothing is counted."""
        return len(text)

    def write(self, question: str, context: Context, *, rules: str, begun_at: float | None = None) -> Iterator[str]:  # noqa: ARG002
        """Never writes."""
        raise ModelError(self.why)


@dataclass(frozen=True)
class Consultations:
    """Consultations over an open library; models are loaded when something is assessed."""

    settings: Settings
    library: SqlLibrary
    search: Callable[[], Search]
    writer: Callable[[], Writer]
    verify: Verify
    emergency: Callable[[str], Emergency | None]
    audit: Callable[[], SqlAudit]

    @cached_property
    def service(self) -> ConsultService:
        """The flow, with everything that it needs."""
        library, seal = self.library, open_seal(self.library)
        return ConsultService(
            consults=SqlConsults(library.engine, library.path, seal, audit=self.audit()),
            parts=self.parts,
            setup=self.setup,
            reader=self._reader,
            proposer=self._proposer,
            sent=self._sent(),
            detect=self.emergency,
        )

    def _reader(self) -> Reader | None:
        from citewell.assistants.consult.model_findings import model_reader

        return None if self._is_quoting else model_reader(self._caller)

    def _proposer(self) -> Callable[[Consult], list[Differential]] | None:
        from citewell.assistants.consult.model_findings import model_proposer

        return None if self._is_quoting else model_proposer(self._caller)

    def _caller(self) -> Caller:
        """A model for one call; it is closed after."""
        from citewell.assistants.consult.tools import Caller

        model = make_remote(self.settings)
        return Caller(model, model.limits.context_window, model.limits.max_reply_tokens)

    @property
    def _is_quoting(self) -> bool:
        return self.settings.model == EXTRACTIVE

    def _sent(self) -> str:
        model = self.settings.model
        if model == EXTRACTIVE:
            return "Nothing is sent anywhere."
        return f"The interview and findings are sent to the model {model}."

    def parts(self, asker: User) -> AssessmentParts:
        """What an assessment needs, over what is current now."""
        return self._parts(asker, self._search, self.library.stamp(), None)

    @cached_property
    def _search(self) -> Search:
        search = self.search()
        return replace(search, embedder=CachedNames(search.embedder))

    def _parts(self, asker: User, search: Search, stamp: int, only: Collection[int] | None) -> AssessmentParts:
        return AssessmentParts(
            search=search,
            verify=self.verify,
            entry=lambda document_id: self.library.entry(document_id, asker.scope),
            shelf=lambda: self._shelf(asker.scope, stamp, only),
            opened=lambda document_id: screened_document(self.library.opened(document_id, asker.scope)[1]),
            writer=None if self._is_quoting else self._writer(),
        )

    def _shelf(self, scope: Scope, stamp: int, only: Collection[int] | None) -> list[tuple[int, LibraryEntry]]:
        """The documents that were current at a stamp and are no papers of a patient, each with its generation."""
        public = replace(scope, subject=None)
        generations = {document: number for number, document in self.library.at(stamp, only=only).versions(public)}
        entries = (entry for entry in self.library.entries(public) if entry.subject is None)
        return [(generations[entry.id], entry) for entry in entries if entry.id in generations]

    def _writer(self) -> Writer:
        """The model; one that cannot be had fails when it is to write, and the plan quotes and says why."""
        try:
            return self.writer()
        except (ModelError, MissingExtra) as error:
            return NoWriter(self.settings.model, str(error))

    def setup(self, asker: User) -> Mapping[str, Any]:
        """What the library and the writer are now, for the record."""
        library = self.library
        stamp = library.stamp()
        versions = Versions.of(library.at(stamp).versions(asker.scope))
        return {
            "library": {
                "stamp": stamp,
                "is_settled": True,
                "embedder": library.embedder(),
                "documents": versions.count,
                "generations": versions.generations,
                "digest": versions.digest,
            },
            "citewell": version("citewell"),
            "assistant": "consult",
            "writer": {"name": self.settings.model, "prompt": RULES.hash},
        }

    # ----------------------------------------------------------------------------------------------- a record at hand

    def from_bundle(self, path: Path) -> tuple[str, Sequence[Finding]]:
        """The findings of a FHIR R4 bundle; anything else is refused."""
        source = read_source(path, self.settings.limits.max_bytes)
        return f"the file {path.name}", self.from_bytes(source.data, name=path.name)

    def from_bytes(self, data: bytes, *, name: str) -> list[Finding]:
        """The same of bytes in memory."""
        from citewell.adapters.records.bundle import holds_loose_resources
        from citewell.adapters.records.fhir_import import read_fhir
        from citewell.ingest.media_types import FHIR, sniff

        is_fhir = bool(data.strip()) and sniff(Source(data, "record.json")) == FHIR
        if not is_fhir or holds_loose_resources(data):  # one resource is no record: its silence is no "no allergies"
            raise InputError(f"{name} is not a FHIR R4 bundle. Export the patient's record as one JSON bundle.")
        told = read_fhir(data)
        if told.left_out:  # a plan over half a record would be worse than none
            raise DamagedFile(
                f"{told.document.notes[1]} The record was not used. Correct the entry or export the record again."
            )
        return self.from_facts(told.facts)

    def from_facts(self, facts: Sequence[Fact]) -> list[Finding]:
        """The findings of a record's facts."""
        return findings_of(facts)

    # -------------------------------------------------------------------------------------------------------- again

    def replay(self, record: AuditRecord, asker: User) -> Replay:
        """Assess a signed consult again on the versions of then, beside what was signed; nothing is recorded."""
        from citewell.assistants.consult.reassess import again

        def parts(stamp: int, only: Collection[int] | None) -> AssessmentParts:
            return self._parts(asker, search_at(self._search, self.library, stamp, only), stamp, only)

        return again(record, asker, parts=parts, library=self.library, setup=self.setup(asker))
