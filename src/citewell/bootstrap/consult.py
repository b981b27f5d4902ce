"""Puts the consult together: its events, the guidelines it searches, the writer, and a record at hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.adapters.embedding.name_cache import CachedNames
from citewell.adapters.store.audit import SqlAudit
from citewell.adapters.store.consults import SqlConsults
from citewell.answer.audit import Versions
from citewell.answer.retrieve import Search
from citewell.assistants.consult.assess import RULES, AssessmentParts
from citewell.assistants.consult.from_record import findings_of
from citewell.assistants.consult.service import ConsultService
from citewell.bootstrap.desk import open_seal
from citewell.bootstrap.home import read_source
from citewell.errors import InputError, MissingExtra, ModelError
from citewell.types import Source

if TYPE_CHECKING:
    from citewell.answer.replay import Replay
    from citewell.assistants.consult.messages import Reader
    from citewell.assistants.consult.notebook import InterviewStep
    from citewell.assistants.consult.tools import Caller
    from citewell.bootstrap.app import App
    from citewell.history import AuditRecord
    from citewell.ports import Writer
    from citewell.types import Context, User
    from citewell.types.consult import Consult, Differential, Finding
    from citewell.types.facts import Fact


@dataclass(frozen=True)
class NoWriter:
    """Stands for a model that is set and cannot be had: it says why instead of writing."""

    name: str
    why: str
    window: int = 0
    reply: int = 0
    digest: str | None = None

    def count(self, text: str) -> int:
        """Nothing is sent, so nothing is counted."""
        return len(text)

    def write(self, question: str, context: Context, *, rules: str, begun_at: float | None = None) -> Iterator[str]:  # noqa: ARG002
        """Never writes."""
        raise ModelError(self.why)

    def rate(self, question: str, context: Context, answer: str, *, begun_at: float | None = None) -> float | None:  # noqa: ARG002
        """None: nothing was written."""
        return None

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class ConsultParts:
    """Where consults are held over an open library."""

    app: App

    @cached_property
    def service(self) -> ConsultService:
        """The flow, with everything that it needs."""
        library, seal = self.app.library, open_seal(self.app.library)
        audit = SqlAudit(library.engine, library.path, seal)
        return ConsultService(
            consults=SqlConsults(library.engine, library.path, seal, audit=audit),
            parts=self.parts,
            setup=self.setup,
            reader=self._reader,
            proposer=self._proposer,
            sent=self._sent(),
            detect=lambda text: self.app.emergency(text, is_vignette=True),
        )

    def _reader(self) -> Reader | None:
        from citewell.assistants.consult.model import model_reader

        return None if self._is_quoting else model_reader(self._caller)

    def _proposer(self) -> Callable[[Consult], list[Differential]] | None:
        from citewell.assistants.consult.model import model_proposer

        return None if self._is_quoting else model_proposer(self._caller)

    def _caller(self) -> Caller:
        """A model for one call; it is closed after."""
        from citewell.assistants.consult.tools import Caller
        from citewell.bootstrap.parts import make_remote

        model = make_remote(self.app.settings)
        return Caller(model, model.limits.context_window, model.limits.max_reply_tokens)

    @property
    def _is_quoting(self) -> bool:
        return self.app.settings.model == "extractive"

    def _sent(self) -> str:
        model = self.app.settings.model
        if model == "extractive":
            return "Nothing is sent anywhere."
        return f"What is said and found is sent to the model {model}."

    def parts(self, asker: User) -> AssessmentParts:
        """What an assessment needs, over what is current now."""
        return self._parts(asker, self._search)

    @cached_property
    def _search(self) -> Search:
        app = self.app
        return Search(app.library, app.index, CachedNames(app.embedder), app.lexicon, app.calibration_of)

    def _parts(self, asker: User, search: Search) -> AssessmentParts:
        return AssessmentParts(
            search=search,
            verify=self.app.verify_sentence,
            entry=lambda document_id: self.app.library.entry(document_id, asker.scope),
            writer=None if self._is_quoting else self._writer(),
        )

    def _writer(self) -> Writer:
        """The model; one that cannot be had fails when it is to write, and the plan quotes and says why."""
        try:
            return self.app.writer
        except (ModelError, MissingExtra) as error:
            return NoWriter(self.app.settings.model, str(error))

    def setup(self, asker: User) -> Mapping[str, Any]:
        """What the library and the writer are now, for the record."""
        library = self.app.library
        stamp = library.stamp()
        told = Versions.of(library.at(stamp).versions(asker.scope))
        return {
            "library": {
                "stamp": stamp,
                "is_settled": True,
                "embedder": library.embedder(),
                "documents": told.count,
                "generations": told.generations,
                "digest": told.digest,
            },
            "citewell": version("citewell"),
            "assistant": "consult",
            "writer": {"name": self.app.settings.model, "prompt": RULES.hash},
        }

    # ----------------------------------------------------------------------------------------------- a record at hand

    def from_bundle(self, path: Path) -> tuple[str, Sequence[Finding]]:
        """The findings of a FHIR R4 bundle; anything else is refused."""
        source = read_source(path, self.app.settings.limits.max_bytes)
        return f"the file {path.name}", self.from_bytes(source.data, name=path.name)

    def from_bytes(self, data: bytes, *, name: str) -> list[Finding]:
        """The same of bytes in memory."""
        from citewell.adapters.records.fhir import read_fhir
        from citewell.ingest.sniff import FHIR, sniff

        if not data.strip() or sniff(Source(data, "record.json")) != FHIR:
            raise InputError(f"{name} is not a FHIR R4 bundle. Export the patient's record as one JSON bundle.")
        return self.from_facts(read_fhir(data).facts)

    def from_facts(self, facts: Sequence[Fact]) -> list[Finding]:
        """The findings of a record's facts."""
        return findings_of(facts)

    # -------------------------------------------------------------------------------------------------------- again

    def replay(self, record: AuditRecord, asker: User) -> Replay:
        """Assess a signed consult again on the versions of then, beside what was signed; nothing is recorded."""
        from citewell.adapters.index.exact import ExactIndex
        from citewell.assistants.consult.reassess import again

        def parts(stamp: int, only: Collection[int] | None) -> AssessmentParts:
            past = ExactIndex(self.app.library.at(stamp, only=only))
            return self._parts(asker, replace(self._search, index=past))

        return again(record, asker, parts=parts, library=self.app.library, setup=self.setup(asker))


def exported(turn: InterviewStep, kind: str) -> bytes:
    """A consult as a file: a FHIR R4 document, a PDF, or plain text."""
    from citewell.assistants.consult.view import note_text

    if kind == "txt":
        return note_text(turn.consult).encode()
    if kind == "json":
        from citewell.adapters.records.fhir_consult_write import write_document

        return write_document(turn.consult)
    if kind == "pdf":
        from citewell.adapters.printing.pdf import print_note

        return print_note(note_text(turn.consult), title=f"Consult {turn.consult.id[:8]}")
    raise InputError("Consultations can be exported as .json (FHIR R4), .pdf or .txt. Choose one of these.")
