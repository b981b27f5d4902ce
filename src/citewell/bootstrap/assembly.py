"""What an open library is made of, each part loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from citewell.adapters.store.library import SqlLibrary
from citewell.bootstrap.parts import make_embedder, make_library, make_minilm, make_writer
from citewell.bootstrap.workers import make_blobs, make_queue
from citewell.config import Settings
from citewell.errors import InputError
from citewell.types import Claim, Context, Emergency, EvidenceSpan, Scope, SentenceCheck

if TYPE_CHECKING:
    from citewell.adapters.embedding.similarity_cache import Likeness
    from citewell.adapters.entailment.onnx import OnnxEntailment
    from citewell.adapters.entailment.pair import AnswerReader, PairReader
    from citewell.adapters.index.exact import ExactIndex
    from citewell.adapters.index.postgres import PostgresIndex
    from citewell.adapters.index.qdrant import QdrantIndex
    from citewell.adapters.index.tenant_indexes import TenantIndex
    from citewell.adapters.store.document_lists import SqlCatalogue
    from citewell.adapters.store.journeys import SqlJourneys
    from citewell.adapters.store.users import SqlPeople
    from citewell.answer.calibration import Calibration
    from citewell.answer.gate import Policy
    from citewell.answer.retrieve import Search
    from citewell.answer.service import AskService
    from citewell.assistants.knowledge import Knowledge
    from citewell.bootstrap.choosing import Choosing
    from citewell.bootstrap.guidelines import GuidelineShelf
    from citewell.clinical import Lexicon
    from citewell.clinical.languages import Language
    from citewell.ingest.read_file import FileReader
    from citewell.ingest.worker import Worker
    from citewell.ports import Embedder, Writer
    from citewell.ports.queue import Queue

SURE_FROM = 0.5
"""Confidence below which it is low: an answer that does not name the subject of a question is passed on, and any other
says that it may not be one."""


class Assembly:
    """The parts of an open library. Each is loaded when first needed."""

    def __init__(self, settings: Settings, library: SqlLibrary | None = None) -> None:
        self.settings = settings
        self.library = library or make_library(settings)
        if library is None:
            self.library.blobs = make_blobs(settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the worker and give back connections and files."""
        if "worker" in self.__dict__:
            self.worker.stop()
        self.stop_writing()
        self._hang_up()
        self.library.close()

    def _hang_up(self) -> None:
        """Close the connections to an embedder that is elsewhere."""
        if self.settings.embedder != "minilm" and "embedder" in self.__dict__:
            from citewell.adapters.embedding.remote import RemoteEmbedder

            if isinstance(self.embedder, RemoteEmbedder):
                self.embedder.close()

    def stop_writing(self) -> None:
        """Break off the answers that are being written; the next question gets a writer of its own."""
        writer: Writer | None = self.__dict__.pop("writer", None)
        self.__dict__.pop("knowledge", None)
        if writer is not None:
            writer.close()
        if "choosing" in self.__dict__:
            self.choosing.close()

    @cached_property
    def tenant(self) -> str:
        """Whose library this is for the person at this machine; none is taken for granted where several share it."""
        from citewell.adapters.store.sharing import tenants
        from citewell.bootstrap.tenant import tenant_of

        named = self.settings.tenant
        return tenant_of(named, tenants(self.library.engine, self.library.path) if named is None else ())

    @cached_property
    def embedder(self) -> Embedder:
        """What the settings ask for."""
        return make_embedder(self.settings)

    @cached_property
    def built_in(self) -> Embedder:
        """MiniLM as it was published, whoever embeds the library.

        The limits of the check, of the guidelines chat and of a record's emergencies were fitted to its cosines.
        """
        return make_minilm(self.settings, is_trained=False)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The clinical words."""
        from citewell.clinical import Lexicon

        return Lexicon.load()

    @cached_property
    def index(self) -> TenantIndex | ExactIndex | PostgresIndex | QdrantIndex:
        """What finds passages."""
        from citewell.bootstrap.index import make_index

        return make_index(self.library, self.settings)

    @cached_property
    def reader(self) -> FileReader:
        """What reads files."""
        from citewell.adapters.parsers.sandbox import apart_parsers
        from citewell.ingest.read_file import FileReader
        from citewell.minilm.tokenizer import WordPiece

        return FileReader(apart_parsers(), WordPiece.load(), self.embedder, self.settings.limits)

    @cached_property
    def worker(self) -> Worker:
        """What works through the queue; start it yourself."""
        from citewell.ingest.worker import Worker

        return Worker(self.library, self.reader)

    @cached_property
    def queue(self) -> Queue:
        """What wakes whoever reads the queue."""
        return make_queue(self.settings, lambda: self.worker)

    @cached_property
    def _likeness(self) -> Likeness:
        from citewell.adapters.embedding.similarity_cache import Likeness

        return Likeness(self.built_in)

    @cached_property
    def _search(self) -> Search:
        from citewell.answer.retrieve import Search

        return Search(self.library, self.index, self.embedder, self.lexicon, self.calibration_of)

    def calibration_of(self, embedder: str) -> Calibration:
        """How the cosines of an embedder are read: by the reviewed table, else by a file in the home folder."""
        from citewell.adapters.embedding.calibrations import read_calibration

        return read_calibration(self.settings.home, embedder)

    @cached_property
    def people(self) -> SqlPeople:
        """Users, and who owns which tag."""
        from citewell.adapters.store.users import SqlPeople

        return SqlPeople(self.library.engine, self.library.path)

    @cached_property
    def catalogue(self) -> SqlCatalogue:
        """The documents as those who keep them look at them."""
        from citewell.adapters.store.document_lists import SqlCatalogue

        return SqlCatalogue(self.library.engine, self.library.path)

    @cached_property
    def journeys(self) -> SqlJourneys:
        """The care journeys that documents are filed under."""
        from citewell.adapters.store.journeys import SqlJourneys

        return SqlJourneys(self.library.engine, self.library.path)

    @cached_property
    def writer(self) -> Writer:
        """Who writes answers: verbatim sentences, or the model in the settings."""
        return make_writer(self.settings, self.lexicon, self.answer_reader)

    @cached_property
    def pair_reader(self) -> PairReader | None:
        """What reads a sentence and its evidence together, unless the settings switch it off."""
        from citewell.bootstrap.parts import make_pair_reader

        return make_pair_reader(self.settings)

    @cached_property
    def answer_reader(self) -> AnswerReader | None:
        """What reads a question and a statement together, unless the settings switch it off."""
        from citewell.bootstrap.parts import make_answer_reader

        return make_answer_reader(self.settings)

    @cached_property
    def entailment(self) -> OnnxEntailment | None:
        """The local entailment model, where the settings name one."""
        from citewell.bootstrap.parts import make_entailment

        return make_entailment(self.settings)

    def admin_email(self, tenant: str) -> str | None:
        """Whom the settings name for questions without an owner: for the tenant that runs this server, and no other."""
        with suppress(InputError):  # several tenants, and none of them is said to run it
            return self.settings.admin_email if tenant == self.tenant else None
        return None

    @cached_property
    def knowledge(self) -> Knowledge:
        """The assistant for a tenant's documents."""
        from citewell.answer.assistant import AnswerLimits
        from citewell.assistants.knowledge import Knowledge

        chosen = self.settings
        return Knowledge(
            search=self._search,
            writer=self.writer,
            verify=self.verify_sentence,
            calibrate=self.answer_chance,
            reader=self.answer_reader,
            owners=self.people,
            admin_email=self.admin_email,
            policy=self.policy,
            limits=AnswerLimits(chosen.context_chunks, chosen.max_context_tokens, chosen.max_history_tokens),
            checkers={
                part: model.name
                for part, model in (("pair_reader", self.pair_reader), ("entailment", self.entailment))
                if model is not None
            },
        )

    @cached_property
    def guidelines(self) -> GuidelineShelf:
        """The guidelines, and the assistant that holds patients against them."""
        from citewell.assistants.guidelines.word_reasons import word
        from citewell.bootstrap.guidelines import GuidelineShelf

        return GuidelineShelf(
            self.settings,
            self.library,
            owner=lambda: Scope.owner(self.tenant),
            reader=lambda: self.reader,
            desk=lambda: self.desk,
            worder=lambda found: word(found, writer=self.writer, verify=self.verify_sentence),
            emergency=lambda text: self.emergency(text, is_vignette=True),
        )

    @cached_property
    def choosing(self) -> Choosing:
        """What grants a question the model that it names."""
        from citewell.bootstrap.choosing import Choosing

        return Choosing(lambda: self.settings)

    @cached_property
    def desk(self) -> AskService:
        """Where questions are asked, kept and passed on."""
        from citewell.bootstrap.desk import make_desk

        return make_desk(self.library, lambda: self.knowledge, self.choosing, self.emergency)

    def emergency(
        self, text: str, language: Language | None = None, *, is_vignette: bool | None = None
    ) -> Emergency | None:
        """What cannot wait in a text, with the way to help in the country of the settings."""
        from citewell.clinical.emergencies import find_emergencies

        return find_emergencies(text, country=self.settings.country, language=language, is_vignette=is_vignette)

    @property
    def policy(self) -> Policy:
        """What is shown, and when a question is handed over; what is quoted has been chosen by its chance already."""
        from citewell.answer.gate import Policy

        policy = Policy(threshold=self.settings.confidence_threshold, keeps_draft=True)
        is_quoted = self.settings.model == "extractive"
        return replace(policy, min_relevance=0.0, sure_from=SURE_FROM) if is_quoted else policy

    def answer_chance(self, question: str, claims: Sequence[Claim], context: Context) -> float:
        """The chance that claims answer a question and hold."""
        from citewell.answer.expand import expand
        from citewell.answer.select import answer_chance

        added = expand(question, lexicon=self.lexicon, to_answer=True)
        return answer_chance(question, claims, context, reader=self.answer_reader, expansions=added)

    def verify_sentence(self, sentence: str, spans: Sequence[EvidenceSpan]) -> SentenceCheck:
        """Hold one sentence against the words that it cites."""
        from citewell.answer.verify import verify

        return verify(
            sentence,
            spans,
            lexicon=self.lexicon,
            similarity=self._likeness,
            pair=self.pair_reader,
            entailment=self.entailment,
        )
