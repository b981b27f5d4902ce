"""App: an open library, with everything that can be done to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from citewell.adapters.store.library import NEVER_READ, SqlLibrary
from citewell.config import Settings
from citewell.errors import CitewellError, DoesNotFit, InputError, NotFound
from citewell.ingest.file_bytes import read_source
from citewell.ports.models import EXTRACTIVE
from citewell.types import (
    EVERY,
    NO_OPTIONS,
    OWNER_ID,
    Answer,
    AskOptions,
    Chunk,
    Claim,
    Context,
    Document,
    Emergency,
    EvidenceSpan,
    Filing,
    Hit,
    LibraryEntry,
    Role,
    Scope,
    SentenceCheck,
    Source,
    User,
    source_id,
)
from citewell.types.hashed_ids import is_meant
from citewell.types.tags import sought_tags
from citewell.wiring import (
    has_sealed,
    make_answer_reader,
    make_ask_service,
    make_audit,
    make_blobs,
    make_embedder,
    make_entailment,
    make_index,
    make_library,
    make_minilm,
    make_pair_reader,
    make_queue,
    make_trail,
    make_writer,
    open_seal,
    refuse_broker,
    search_at,
    tenant_of,
)

if TYPE_CHECKING:
    from citewell.adapters.embedding.vector_cache import Likeness
    from citewell.adapters.entailment.onnx import OnnxEntailment
    from citewell.adapters.entailment.pair import AnswerReader, PairReader
    from citewell.adapters.index.exact import ExactIndex
    from citewell.adapters.index.postgres import PostgresIndex
    from citewell.adapters.index.qdrant import QdrantIndex
    from citewell.adapters.index.tenant_indexes import TenantIndex
    from citewell.adapters.store.audit import SqlAudit
    from citewell.adapters.store.document_lists import SqlCatalogue
    from citewell.adapters.store.holds import SqlHolds
    from citewell.adapters.store.journeys import SqlJourneys
    from citewell.adapters.store.literature import SqlLiterature
    from citewell.adapters.store.second_factor import SqlSecondFactors
    from citewell.adapters.store.shares import SqlShares
    from citewell.adapters.store.trail import SqlTrail
    from citewell.adapters.store.users import SqlPeople
    from citewell.adapters.store.watched import SqlWatched
    from citewell.adapters.syslog.sinks import Outside
    from citewell.allowed_models import ModelChoice
    from citewell.answer.assistant import LibraryAssistant
    from citewell.answer.events import Event
    from citewell.answer.expand import Expansion
    from citewell.answer.gate import Policy
    from citewell.answer.references import Reference
    from citewell.answer.relevance_curve import Calibration
    from citewell.answer.replay import Replay
    from citewell.answer.retrieve import Search
    from citewell.answer.service import AskService, Assistant, AssistantAt
    from citewell.assistants.evidence.service import EvidenceService
    from citewell.assistants.guidelines.chat_service import GuidelineChat
    from citewell.assistants.guidelines.service import GuidelineService
    from citewell.assistants.knowledge.assistant import Knowledge
    from citewell.clinical import Lexicon
    from citewell.clinical.languages import Language
    from citewell.consult_wiring import Consultations
    from citewell.history import AuditRecord, Share
    from citewell.ingest.library_changes import AddedDocument, FileOutcome
    from citewell.ingest.parse_cut_embed import FileReader, Step
    from citewell.ingest.worker import Worker
    from citewell.ports import Embedder, Verification, Writer
    from citewell.ports.queue import Queue

    AnyAssistant = TypeVar("AnyAssistant", bound=LibraryAssistant)

MAX_PROBLEM_CHARACTERS = 500
SURE_FROM = 0.5
"""Confidence below which it is low: an answer that does not name the subject of a question is passed on, and any other
says that it may not be one."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a search found, and how."""

    question: str
    hits: tuple[Hit, ...]
    expansions: tuple[Expansion, ...]
    took_ms: float


def build(settings: Settings) -> App:
    """Open the library that the settings name, made where there is none."""
    refuse_broker(settings)
    library = make_library(settings)
    library.blobs = make_blobs(settings)
    return App(settings, library)


def open_library(home: Path | str | None = None) -> App:
    """Open a library by its folder, or the one that the environment names."""
    return build(Settings() if home is None else Settings(home=Path(home)))


@dataclass(frozen=True, eq=False, repr=False)
class App:
    """An open library, with everything that can be done to it. Each of its parts is made when it is first needed."""

    settings: Settings
    library: SqlLibrary

    # ------------------------------------------------------------------------------------------------------ closing

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
        if "outside" in self.__dict__:
            self.outside.close()
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
        if "model_choice" in self.__dict__:
            self.model_choice.close()

    # ------------------------------------------------------------------------------------------------------- the parts

    @cached_property
    def tenant(self) -> str:
        """Whose library this is for the person at this machine; none is taken for granted where several share it."""
        from citewell.adapters.store.single_tenant import tenants

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
        return make_index(self.library, self.settings)

    @cached_property
    def reader(self) -> FileReader:
        """What reads files."""
        from citewell.adapters.parsers.sandbox import apart_parsers
        from citewell.ingest.parse_cut_embed import FileReader
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
        from citewell.adapters.embedding.vector_cache import Likeness

        return Likeness(self.built_in)

    @cached_property
    def _search(self) -> Search:
        from citewell.answer.retrieve import Search

        return Search(self.library, self.index, self.embedder, self.lexicon, self.calibration_of)

    def calibration_of(self, embedder: str) -> Calibration:
        """How the cosines of an embedder are read: by the reviewed table, else by a file in the home folder."""
        from citewell.adapters.embedding.relevance_files import read_calibration

        return read_calibration(self.settings.home, embedder)

    @cached_property
    def people(self) -> SqlPeople:
        """Users, and who owns which tag."""
        from citewell.adapters.store.users import SqlPeople

        return SqlPeople(self.library.engine, self.library.path)

    @cached_property
    def second_factors(self) -> SqlSecondFactors:
        """The authenticators of users."""
        from citewell.adapters.store.second_factor import SqlSecondFactors

        return SqlSecondFactors(self.library.engine, self.library.path, lambda: open_seal(self.library))

    @cached_property
    def catalogue(self) -> SqlCatalogue:
        """The documents as those who keep them look at them."""
        from citewell.adapters.store.document_lists import SqlCatalogue

        return SqlCatalogue(self.library.engine, self.library.path)

    @cached_property
    def literature(self) -> SqlLiterature:
        """Which articles are here, and what was published about them since."""
        from citewell.adapters.store.literature import SqlLiterature

        return SqlLiterature(self.library.engine, self.library.path)

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
        return make_pair_reader(self.settings)

    @cached_property
    def answer_reader(self) -> AnswerReader | None:
        """What reads a question and a statement together, unless the settings switch it off."""
        return make_answer_reader(self.settings)

    @cached_property
    def entailment(self) -> OnnxEntailment | None:
        """The local entailment model, where the settings name one."""
        return make_entailment(self.settings)

    def admin_email(self, tenant: str) -> str | None:
        """Whom the settings name for questions without an owner: for the tenant that runs this server, and no other."""
        with suppress(InputError):  # several tenants, and none of them is said to run it
            return self.settings.admin_email if tenant == self.tenant else None
        return None

    # -------------------------------------------------------------------------------------------------- assistants

    @cached_property
    def knowledge(self) -> Knowledge:
        """The assistant for a tenant's documents."""
        from citewell.assistants.knowledge.assistant import Knowledge

        models = {"pair_reader": self.pair_reader, "entailment": self.entailment}
        checkers = {part: model.name for part, model in models.items() if model is not None}
        return replace(self._assistant(Knowledge), checkers=checkers)

    def _assistant(self, kind: type[AnyAssistant]) -> AnyAssistant:
        """An assistant over this library, with the writer of now: a server that stops closes it."""
        from citewell.answer.assistant import AnswerLimits

        settings = self.settings
        return kind(
            search=self._search,
            writer=self.writer,
            verify=self.verify_sentence,
            calibrate=self.answer_chance,
            reader=self.answer_reader,
            owners=self.people,
            admin_email=self.admin_email,
            policy=self.policy,
            limits=AnswerLimits(settings.context_chunks, settings.max_context_tokens, settings.max_history_tokens),
        )

    @cached_property
    def ask_service(self) -> AskService:
        """Where questions are asked, kept and passed on."""
        return replace(self._ask_service("knowledge", lambda: self.knowledge), choose=self.model_choice)

    @cached_property
    def evidence(self) -> EvidenceService:
        """The literature by care journey."""
        from citewell.assistants.evidence.assistant import NAME, Literature
        from citewell.assistants.evidence.service import EvidenceService

        return EvidenceService(self.journeys, self._ask_service(NAME, lambda: self._assistant(Literature)))

    @cached_property
    def outside(self) -> Outside:
        """Where the trail and the ends of the logs are told besides the library."""
        from citewell.adapters.syslog.sinks import make_outside

        return make_outside(self.settings.trail_to)

    @cached_property
    def audit_log(self) -> SqlAudit:
        """The log of all answers."""
        return make_audit(self.library, self.outside)

    @cached_property
    def holds(self) -> SqlHolds:
        """What must not be erased."""
        from citewell.adapters.store.holds import SqlHolds

        return SqlHolds(self.library.engine, self.library.path, lambda: open_seal(self.library))

    @cached_property
    def watched(self) -> SqlWatched:
        """The folders whose files are added by themselves."""
        from citewell.adapters.store.watched import SqlWatched

        return SqlWatched(self.library.engine, self.library.path)

    @cached_property
    def shares(self) -> SqlShares:
        """Links to answers."""
        from citewell.adapters.store.shares import SqlShares

        return SqlShares(self.library.engine, self.library.path)

    @cached_property
    def trail(self) -> SqlTrail:
        """Who opened, searched, exported or administered what."""
        return make_trail(self.library, self.outside)

    def _ask_service(self, name: str, assistant: Callable[[], LibraryAssistant]) -> AskService:
        """Asks an assistant over this library and keeps what it is asked."""

        def past_assistant(stamp: int, only: Collection[int] | None) -> LibraryAssistant:
            now = assistant()
            return replace(now, search=search_at(now.search, self.library, stamp, only))

        return make_ask_service(
            self.library,
            name,
            self.audit_log,
            assistant,
            past_assistant,
            emergency=self.emergency,
            keep_days=None if self.library.is_vault else self.settings.conversation_days,
        )

    @cached_property
    def guidelines(self) -> GuidelineService:
        """The guidelines, and the assistant that compares patients with them."""
        from citewell.assistants.guidelines.model_summary import word
        from citewell.assistants.guidelines.service import GuidelineService

        return GuidelineService(
            settings=self.settings,
            library=self.library,
            owner=self.scope_of_owner,
            reader=lambda: self.reader,
            ask_service=lambda: self.ask_service,
            word=lambda assessment: word(assessment, writer=self.writer, verify=self.verify_sentence),
            emergency=partial(self.emergency, is_vignette=True),
        )

    @cached_property
    def chat(self) -> GuidelineChat:
        from citewell.assistants.guidelines.chat_service import NAME, GuidelineChat

        def ask_service(assistant: Callable[[], Assistant], past_assistant: AssistantAt) -> AskService:
            days = self.settings.chat_days
            return make_ask_service(
                self.library, NAME, self.audit_log, assistant, past_assistant, emergency=self.emergency, keep_days=days
            )

        return GuidelineChat(
            settings=self.settings,
            library=self.library,
            guidelines=self.guidelines,
            embedder=lambda: self.built_in,
            search_at=lambda stamp, only: search_at(self._search, self.library, stamp, only),
            answer_reader=lambda: self.answer_reader,
            writer=lambda: self.writer,
            verify=self.verify_sentence,
            emergency=self.emergency,
            make_ask_service=ask_service,
        )

    @cached_property
    def consult(self) -> Consultations:
        """The consultations, and the assistant that holds them."""
        from citewell.consult_wiring import Consultations

        return Consultations(
            settings=self.settings,
            library=self.library,
            search=lambda: self._search,
            writer=lambda: self.writer,
            verify=self.verify_sentence,
            emergency=partial(self.emergency, is_vignette=True),
            audit=lambda: self.audit_log,
        )

    @cached_property
    def model_choice(self) -> ModelChoice:
        """Gives a question the model that it names."""
        from citewell.allowed_models import ModelChoice

        return ModelChoice(self.settings)

    def open_parts(self) -> None:
        """Make all that threads would make side by side; whoever calls this from several holds a lock."""
        _ = self.embedder, self.lexicon, self.index, self.ask_service, self._search
        _ = self.guidelines, self.chat, self.evidence, self.consult
        with suppress(CitewellError):  # whoever asks is told; a search needs none of these
            _ = self._likeness, self.writer, self.knowledge

    # ------------------------------------------------------------------------------------------- judging and checking

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
        is_quoted = self.settings.model == EXTRACTIVE
        return replace(policy, min_relevance=0.0, sure_from=SURE_FROM) if is_quoted else policy

    def answer_chance(self, question: str, claims: Sequence[Claim], context: Context) -> float:
        """The chance that claims answer a question and hold."""
        from citewell.answer.expand import expand
        from citewell.answer.select import answer_chance

        added = expand(question, lexicon=self.lexicon, to_answer=True)
        return answer_chance(question, claims, context, reader=self.answer_reader, expansions=added)

    def verify_sentence(self, sentence: str, spans: Sequence[EvidenceSpan]) -> SentenceCheck:
        """Check one sentence against the words that it cites."""
        from citewell.answer.verify import verify

        return verify(
            sentence,
            spans,
            lexicon=self.lexicon,
            similarity=self._likeness,
            pair=self.pair_reader,
            entailment=self.entailment,
        )

    # ---------------------------------------------------------------------------------------------- who, and where

    def owner(
        self, *, tags: Iterable[str] | None = None, journey: str | None = None, subject: str | None = None
    ) -> User:
        """The person at this machine, who keeps the library; what they ask is asked of this scope."""
        return User.owner(self.scope(tags=tags, journey=journey, subject=subject))

    def scope(
        self, *, tags: Iterable[str] | None = None, journey: str | None = None, subject: str | None = None
    ) -> Scope:
        """The scope of the person at this machine: all tags unless some are named; universal documents only
        unless a journey is."""
        owner = self.scope_of_owner()
        return self.in_journey(Scope(owner.tenant, owner.tags if tags is None else sought_tags(tags), journey, subject))

    def in_journey(self, scope: Scope) -> Scope:
        """The same scope, its journey by the slug of now; NotFound where there is no such journey."""
        if scope.journey is None or scope.journey == EVERY:
            return scope
        known = self.journeys.one(scope.journey, Scope.owner(scope.tenant))
        return replace(scope, journey=known.slug)

    def scope_of_owner(self) -> Scope:
        """All that this library's tenant has: for the person who keeps it."""
        return Scope.owner(self.tenant)

    # --------------------------------------------------------------------------------------------------- changing

    def add(
        self, path: Path | str, *, filing: Filing | None = None, watch: Callable[[Step], None] | None = None
    ) -> AddedDocument:
        """Read a file and make it current."""
        return self.add_source(read_source(Path(path), self.settings.limits.max_bytes), filing=filing, watch=watch)

    def add_source(
        self, source: Source, *, filing: Filing | None = None, watch: Callable[[Step], None] | None = None
    ) -> AddedDocument:
        """Make bytes current that are in memory already."""
        from citewell.ingest.library_changes import add, unwatched

        return add(
            source,
            filing=filing or Filing(),
            scope=self.scope_of_owner(),
            library=self.library,
            reader=self.reader,
            watch=watch or unwatched,
        )

    def add_all(
        self,
        paths: Iterable[Path],
        *,
        filing: Filing | None = None,
        watch: Callable[[Path, Step], None] | None = None,
    ) -> Generator[FileOutcome]:
        """Add many files; one that cannot be read does not stop the others."""
        from citewell.ingest.library_changes import add_files

        return add_files(
            paths,
            filing=filing or Filing(),
            scope=self.scope_of_owner(),
            library=self.library,
            reader=self.reader,
            watch=watch,
        )

    def add_samples(
        self, *, filing: Filing | None = None, watch: Callable[[Path, Step], None] | None = None
    ) -> Generator[FileOutcome]:
        """Add the sample library."""
        from citewell.samples import sample_files, sample_filing

        for path in sample_files():
            yield from self.add_all([path], filing=sample_filing(path, filing or Filing()), watch=watch)

    def refile(self, document_id: str, filing: Filing) -> LibraryEntry:
        """Change tags and journeys of a document; nothing is embedded again."""
        return self.library.refile(document_id, filing=filing, scope=self.scope_of_owner())

    def delete(self, document_id: str) -> list[LibraryEntry]:
        """Erase all versions of a document, and its words in what was answered; none are left the second time."""
        return self.erase(document_id, self.scope_of_owner(), by=OWNER_ID)

    def erase(self, document_id: str, scope: Scope, *, by: str) -> list[LibraryEntry]:
        """The same for another person; the words go first, so that a crash in between leaves no quote behind."""
        try:
            entry = self.library.entry(document_id, scope)
        except NotFound:
            if self.library.is_erased(document_id, scope, by=by):
                return []
            raise
        self.holds.refuse(tenant=scope.tenant, lineage=entry.lineage, person=entry.subject)
        if entry.state not in NEVER_READ and has_sealed(self.library):
            everything = self.library.entries(Scope.owner(scope.tenant))
            self.ask_service.ledger.erase(
                {version.id for version in everything if version.lineage == entry.lineage}, scope.tenant
            )
        return self.library.erase(document_id, scope, by=by)

    def reindex(self, progress: Callable[[str, Step], None] | None = None) -> int:
        """Cut and embed everything anew; says how many documents."""
        from citewell.ingest.library_changes import reindex

        return reindex(library=self.library, reader=self.reader, progress=progress or (lambda _title, _step: None))

    # ---------------------------------------------------------------------------------------------------- reading

    def search(self, question: str, *, scope: Scope | None = None, limit: int = 10) -> Results:
        """The passages nearest to a question."""
        from citewell.answer.retrieve import retrieve

        started = time.perf_counter()
        retrieved = retrieve(question, scope=self.in_journey(scope or self.scope()), search=self._search, limit=limit)
        took_ms = (time.perf_counter() - started) * 1000
        return Results(question, retrieved.hits, retrieved.expansions, took_ms)

    def ask(
        self,
        question: str,
        *,
        asker: User | None = None,
        conversation_id: str | None = None,
        options: AskOptions = NO_OPTIONS,
    ) -> Answer:
        """One question, one checked answer, on record; in a new conversation unless one is named."""
        asker = asker or self.owner()
        return self.ask_service.answer(question, asker=asker, conversation_id=conversation_id, options=options).answer

    def ask_stream(
        self,
        question: str,
        *,
        asker: User | None = None,
        conversation_id: str | None = None,
        options: AskOptions = NO_OPTIONS,
    ) -> Iterator[Event]:
        """The same, sentence by sentence; the last event holds the answer."""
        return self.ask_service.ask(
            question, asker=asker or self.owner(), conversation_id=conversation_id, options=options
        )

    def replay(self, answer_id: str, *, asker: User | None = None) -> Replay:
        """Ask again what is on record, on the versions that answered then; nothing is recorded."""
        from citewell.answer.audit import ERASED_PERSON
        from citewell.assistants.consult.signed_record import is_consult
        from citewell.assistants.guidelines.saved_assessments import is_assessment

        asker = asker or self.owner()
        record = self.ask_service.audit.read(answer_id, asker)
        if record.words["question"] == ERASED_PERSON:
            raise DoesNotFit("This answer was about a person whose data was erased. It cannot be asked again.")
        if is_assessment(record):
            return self.guidelines.replay(record, asker)
        if is_consult(record):
            return self.consult.replay(record, asker)
        if record.words["setup"].get("assistant") == "cds-hooks":
            raise InputError("This record is of cards in a record system, so there is no question to ask again.")
        setup = record.words["setup"]
        if setup.get("assistant") == "evidence":
            return self.evidence.replay(record, asker)
        service = (
            self.chat.ask_service(setup["guidelines"]) if setup.get("assistant") == "guidelines" else self.ask_service
        )
        return service.replay(answer_id, asker)

    def references(self, answer_id: str, *, asker: User | None = None) -> tuple[Reference, ...]:
        """The documents that an answer on record cites, for reference managers."""
        from citewell.answer.references import references

        asker = asker or self.owner()
        answer = self.ask_service.audit.read(answer_id, asker).words.get("answer") or {}
        scope = replace(asker.scope, journey=EVERY)
        return references(answer.get("citations", ()), lambda document_id: self.library.entry(document_id, scope))

    def library_references(self, scope: Scope | None = None) -> tuple[Reference, ...]:
        """Every document in use that is not about a person, for reference managers."""
        from citewell.answer.references import reference_of

        return tuple(reference_of(entry) for entry in self.entries(scope) if entry.is_usable and entry.subject is None)

    def report(self, answer_id: str, problem: str, *, asker: User | None = None) -> str:
        """Tell the owner of what an answer rests on that something is wrong with it; its id in the inbox."""
        from citewell.answer.route_to_owner import REPORTED, route

        asker, problem = asker or self.owner(), " ".join(problem.split())
        if not problem or len(problem) > MAX_PROBLEM_CHARACTERS:
            raise InputError(f"Say what is wrong, in 1 to {MAX_PROBLEM_CHARACTERS} characters.")
        answer = self.ask_service.audit.read(answer_id, asker).words.get("answer") or {}
        if self.ask_service.inbox.filed([answer_id], asker):
            raise InputError("You have already sent this answer to a person. The reply appears under Sent.")
        scope, cited = replace(asker.scope, journey=EVERY), []
        for citation in answer.get("citations", ()):
            with suppress(NotFound):
                cited.append(self.library.entry(citation["document_id"], scope))
        admin = self.admin_email(asker.tenant)
        to = route(REPORTED + problem, cited, scope=asker.scope, owners=self.people, admin_email=admin)
        return self.ask_service.inbox.file(answer_id, to, asker)

    def share(self, answer_id: str, *, asker: User | None = None) -> Share:
        """A link to an answer of the asker's, for their tenant."""
        asker = asker or self.owner()
        answer = self.ask_service.audit.read(answer_id, asker).words.get("answer") or {}
        if not answer.get("citations"):
            raise InputError("Only an answer with sources can be shared.")
        return self.shares.make(answer_id, asker)

    def unshare(self, answer_id: str, *, asker: User | None = None) -> None:
        """End the link to an answer of the asker's."""
        asker = asker or self.owner()
        self.ask_service.audit.read(answer_id, asker)
        self.shares.end(answer_id, asker.tenant)

    def shared(self, share_id: str, *, asker: User | None = None) -> tuple[Share, AuditRecord]:
        """What a link leads to; nothing for whoever may not see all that the answer rests on."""
        from citewell.adapters.store.shares import NO_SUCH_LINK

        asker = asker or self.owner()
        share, service = self.shares.find(share_id, asker.tenant), self.ask_service
        record = service.audit.read(share.answer_id, replace(asker, role=Role.ADMIN))
        if record.entry.user_id != asker.user_id and not service.is_open_to(record.words, asker):
            raise NotFound(NO_SUCH_LINK)
        return share, service.as_known_now(record)

    def check(
        self, text: str, *, against: str | None = None, evidence: str | None = None, scope: Scope | None = None
    ) -> list[tuple[str, SentenceCheck]]:
        """Check any text, sentence by sentence: against the library, one document, or words given with it."""
        from citewell.answer.gate import check
        from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS
        from citewell.orders import screened_chunks

        scope = scope or self.scope()
        spans: list[EvidenceSpan] | None = None
        if evidence is not None and against is not None:
            raise InputError("Check the text against either a document or pasted text, not both.")
        if evidence is not None:
            spans = [EvidenceSpan("given", 0, len(evidence), evidence)]
        elif against is not None:
            entry, _, chunks = self.show(against, scope)
            safe = screened_chunks(chunks)
            spans = [_span(source_id(against, chunk.index), chunk, entry.title) for chunk in safe]

        def find(sentence: str) -> list[EvidenceSpan]:
            if spans is not None:
                return spans
            if len(sentence) > MAX_QUESTION_CHARACTERS:
                return []  # the check says that it is too long to be a sentence
            hits = self.search(sentence, scope=scope, limit=self.settings.context_chunks).hits
            return [_span(hit.source_id, hit, hit.document) for hit in hits]

        return check(text, find=find, verify=self.verify_sentence)

    def text_of(self, source: Source) -> str:
        """The text of a file: plain text as it stands, any other type as its parser reads it."""
        from citewell.adapters.parsers.by_media_type import all_parsers
        from citewell.ingest.decode import decode
        from citewell.ingest.media_types import MARKDOWN, TEXT
        from citewell.ingest.parse import kind_of, parse

        limits = self.settings.limits
        if kind_of(source, limits=limits) in (TEXT, MARKDOWN):
            return decode(source.data)[0]
        return parse(source, parsers=all_parsers(), limits=limits).text

    @property
    def is_empty(self) -> bool:
        """Whether the library holds no document at all."""
        return not self.library.visible(self.scope_of_owner()) and not self.entries()

    def entries(self, scope: Scope | None = None) -> list[LibraryEntry]:
        """Every document version, newest first."""
        return self.library.entries(scope or self.scope_of_owner())

    def show(self, document_id: str, scope: Scope | None = None) -> tuple[LibraryEntry, Document, tuple[Chunk, ...]]:
        """A document with its text and passages."""
        return self.library.opened(document_id, scope or self.scope_of_owner())

    def find(self, prefix: str) -> str:
        """The full id that starts with these characters, or whose hash in a log does."""
        ids = {entry.id for entry in self.entries() if is_meant(entry.id, prefix)}
        if len(ids) > 1:
            raise InputError(f"{len(ids)} documents have IDs that start with these characters. Give more characters.")
        if not ids:
            raise NotFound("Document not found. `citewell list` shows the IDs.")
        return ids.pop()

    def page_image(self, document_id: str, number: int, *, width_px: int, scope: Scope | None = None) -> bytes:
        """A page of a PDF as PNG."""
        from citewell.adapters.parsers.sandbox import draw_page

        source = self.library.original(document_id, scope or self.scope_of_owner())
        return draw_page(source.data, number, width_px=width_px)

    def verify(self) -> Verification:
        """Prove that text, chunks and vectors agree."""
        return self.library.verify()


def _span(source: str, passage: Hit | Chunk, document: str) -> EvidenceSpan:
    """A passage to check a sentence against, under the same headings wherever it was taken from."""
    return EvidenceSpan(source, passage.start, passage.end, passage.text, (document, *passage.section))
