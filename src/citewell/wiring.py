"""Makes what the settings ask for: the library, its index, the models, the queue, and the service that keeps questions.

Adapters are imported where they are made, so that a command loads only what it uses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.adapters.store.library import SqlLibrary
from citewell.errors import InputError, LibraryError, LibraryReadOnly
from citewell.ports.models import EXTRACTIVE

if TYPE_CHECKING:
    from citewell.adapters.entailment.onnx import OnnxEntailment
    from citewell.adapters.entailment.pair import AnswerReader, PairReader
    from citewell.adapters.index.exact import ExactIndex
    from citewell.adapters.index.postgres import PostgresIndex
    from citewell.adapters.index.qdrant import QdrantIndex
    from citewell.adapters.index.replica import Replica
    from citewell.adapters.index.tenant_indexes import TenantIndex
    from citewell.adapters.llm.remote import RemoteModel
    from citewell.adapters.store.audit import SqlAudit
    from citewell.adapters.store.chain import Anchor
    from citewell.adapters.store.encryption import TextCipher
    from citewell.adapters.store.replica_feed import SqlFilings
    from citewell.adapters.store.trail import SqlTrail
    from citewell.adapters.syslog.sinks import Outside
    from citewell.answer.retrieve import Search
    from citewell.answer.service import AskService, Assistant, AssistantAt
    from citewell.clinical import Lexicon
    from citewell.config import Settings
    from citewell.history import AuditHead
    from citewell.ingest.worker import Worker
    from citewell.ports import Embedder, Writer
    from citewell.ports.blobs import Blobs
    from citewell.ports.folders import DocumentFolder
    from citewell.ports.queue import Queue
    from citewell.types import Emergency

LIBRARY_FILE = "library.sqlite"
DEFAULT_TENANT = "local"
"""What the tenant of a new library is called where nobody said."""
SEVERAL_TENANTS = "Several organisations share this library. Set CITEWELL_TENANT to the short name of the one to use."


# --------------------------------------------------------------------------------------------------------- the library


def make_library(settings: Settings) -> SqlLibrary:
    """The library in the home folder, or in the database that the settings name."""
    if settings.database_url is None:
        from citewell.adapters.vault.library_key import driver_of

        path = library_file(settings.home)
        return SqlLibrary(path, driver_of(path, settings.library_key_file))
    from citewell.adapters.store.copy_rows import refuse_unfinished
    from citewell.adapters.store.postgres import open_postgres

    make_home(settings.home)
    engine = open_postgres(settings.database_url.get_secret_value())
    try:
        refuse_unfinished(engine)
    except BaseException:
        engine.dispose()
        raise
    return SqlLibrary(settings.home / "library", engine=engine)


def make_home(home: Path) -> None:
    """The folder, readable by its owner alone."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LibraryReadOnly(
            f"The folder {home} could not be created ({error.strerror}). Choose another with --home or CITEWELL_HOME."
        ) from error


def library_file(home: Path) -> Path:
    """The library's file, readable by its owner alone; what SQLite puts beside it gets the same mode."""
    make_home(home)
    path = home / LIBRARY_FILE
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    return path


def make_blobs(settings: Settings) -> Blobs | None:
    """Where original files are kept outside of the library; None: in it."""
    if not settings.blobs:
        return None
    if "://" not in settings.blobs:
        from citewell.adapters.blobs.folder import FolderBlobs

        return FolderBlobs(Path(settings.blobs))
    from citewell.adapters.blobs.s3 import S3Blobs

    key, secret = settings.blobs_key, settings.blobs_secret
    return S3Blobs(
        settings.blobs,
        url=settings.blobs_url,
        key=None if key is None else key.get_secret_value(),
        secret=None if secret is None else secret.get_secret_value(),
    )


def make_folder(settings: Settings, address: str) -> DocumentFolder:
    """A folder that is watched: on this machine, in S3, or behind WebDAV."""
    if "://" not in address:
        from citewell.adapters.folders.local import LocalFolder

        return LocalFolder(Path(address))
    fitting = [place for place in settings.watch_logins if f"{address}/".startswith(f"{place.rstrip('/')}/")]
    login = settings.watch_logins[max(fitting, key=len)].get_secret_value() if fitting else None
    user, password = (None, None) if login is None else (login.partition(":")[0], login.partition(":")[2])
    if address.startswith("s3://"):
        from citewell.adapters.folders.s3 import S3Folder

        return S3Folder(address, url=settings.watch_s3_url, key=user, secret=password)
    if not address.startswith(("https://", "http://")):
        raise InputError("Give a folder, or an address that begins with s3:// or https:// (WebDAV).")
    from citewell.adapters.folders.webdav import WebDavFolder

    return WebDavFolder(address, user=user, password=password)


def refuse_broker(settings: Settings) -> None:
    """Refuse a broker that cannot be one before anything is opened, rather than after a document has come."""
    if settings.broker_url is not None:
        from citewell.adapters.queue.celery import refuse_address

        refuse_address(settings.broker_url.get_secret_value())


def make_queue(settings: Settings, worker: Callable[[], Worker]) -> Queue:
    """What wakes workers: a broker where one is named, else the worker in this process."""
    if settings.broker_url is None:
        from citewell.adapters.queue.inline import InlineQueue

        return InlineQueue(worker)
    from citewell.adapters.queue.celery import CeleryQueue

    return CeleryQueue(settings.broker_url.get_secret_value())


def tenant_of(named: str | None, known: Collection[str]) -> str:
    """The tenant that was named, else the only one there is; of several none is the default.

    >>> tenant_of(None, ()), tenant_of(None, {"clinic"}), tenant_of("ward", {"clinic", "practice"})
    ('local', 'clinic', 'ward')
    """
    if named is not None:
        return named
    if len(known) > 1:
        raise InputError(SEVERAL_TENANTS)
    return next(iter(known), DEFAULT_TENANT)


# ----------------------------------------------------------------------------------------------------------- the index


def make_index(library: SqlLibrary, settings: Settings) -> TenantIndex | ExactIndex | PostgresIndex | QdrantIndex:
    """The library's own index; before it the replica, where there is one. A vault is searched in itself alone."""
    if library.is_vault:
        from citewell.adapters.index.exact import ExactIndex

        return ExactIndex(library)
    own = _own_index(library, settings)
    if settings.qdrant_url is None:
        return own
    from citewell.adapters.index.qdrant import QdrantIndex

    return QdrantIndex(shelf_for_replica(library), make_replica(settings), own)


def make_replica(settings: Settings) -> Replica:
    """The copy of the library that the settings name."""
    from citewell.adapters.index.replica import connect

    if settings.qdrant_url is None:
        raise InputError("No search copy is set up. Set CITEWELL_QDRANT_URL to the address of a Qdrant server first.")
    key = settings.qdrant_key
    return connect(settings.qdrant_url, key=key.get_secret_value() if key else None)


def shelf_for_replica(library: SqlLibrary) -> SqlFilings:
    """The library as a replica is fed from it."""
    from citewell.adapters.store.replica_feed import SqlFilings

    return SqlFilings(library)


def _own_index(library: SqlLibrary, settings: Settings) -> TenantIndex | PostgresIndex:
    """Of each tenant that is searched, all of it in memory; in a database, as far as the settings allow."""
    from citewell.adapters.store.tenant_shelf import TenantShelf

    if library.engine.dialect.name == "sqlite":
        from citewell.adapters.index.tenant_indexes import TenantIndex

        return TenantIndex(partial(TenantShelf, library))
    from citewell.adapters.index.postgres import PostgresIndex

    return PostgresIndex(partial(TenantShelf, library), memory_bytes=settings.index_memory_mb << 20)


def search_at(search: Search, library: SqlLibrary, stamp: int, only: Collection[int] | None) -> Search:
    """The same search over what was current at a stamp; of that only these generations, where some are named."""
    from citewell.adapters.index.exact import ExactIndex

    return replace(search, index=ExactIndex(library.at(stamp, only=only)))


# ---------------------------------------------------------------------------------------------------------- the models


def make_embedder(settings: Settings) -> Embedder:
    """The built-in model, or a server that the person has named."""
    if settings.embedder == "minilm":
        return make_minilm(settings)
    if settings.embedder_model is None:
        raise InputError(f"CITEWELL_EMBEDDER is {settings.embedder}: name its model in CITEWELL_EMBEDDER_MODEL too.")
    if settings.embedder == "openai":
        from citewell.adapters.embedding.openai import OpenAIEmbedder

        key = settings.embedder_key.get_secret_value() if settings.embedder_key else None
        return OpenAIEmbedder(settings.embedder_model, url=settings.embedder_url, key=key)
    from citewell.adapters.embedding.ollama import OllamaEmbedder

    return OllamaEmbedder(settings.embedder_model, url=settings.embedder_url)


def make_minilm(settings: Settings, *, is_trained: bool = True) -> Embedder:
    """The model that the package brings: trained on questions, or as it was published."""
    from citewell.adapters.embedding.engine import PUBLISHED, TRAINED
    from citewell.adapters.embedding.minilm import MiniLM

    return MiniLM(
        settings.home / "cache",
        backend=settings.embedder_backend,
        threads=settings.embedder_threads,
        model=TRAINED if is_trained else PUBLISHED,
    )


def make_writer(settings: Settings, lexicon: Lexicon, reader: AnswerReader | None) -> Writer:
    """The extractive writer, or a model behind a server."""
    if settings.model == EXTRACTIVE:
        from citewell.adapters.llm.extractive import Extractive

        return Extractive(lexicon, reader=reader)
    return make_model_writer(settings)


def make_model_writer(settings: Settings, model: RemoteModel | None = None) -> Writer:
    """The model that the settings name, or one that was made of them, as a writer."""
    from citewell.answer.generate import ModelWriter
    from citewell.assistants.knowledge.assistant import RATING

    model = model or make_remote(settings)
    limits = model.limits
    return ModelWriter(model, window=limits.context_window, reply=limits.max_reply_tokens, rating=RATING)


def make_remote(settings: Settings) -> RemoteModel:
    """The model that the settings name, behind its server; nothing is sent yet."""
    from citewell.adapters.llm.vendors import make_model

    key = settings.model_key.get_secret_value() if settings.model_key else None
    return make_model(
        settings.model,
        url=settings.model_url,
        key=key,
        timeout_s=settings.model_timeout_s,
        allowed=settings.allowed_models,
    )


def make_pair_reader(settings: Settings) -> PairReader | None:
    """The model that reads a sentence and its evidence together, unless it is switched off."""
    if not settings.pair_reader:
        return None
    from citewell.adapters.entailment.pair import PairReader

    return PairReader(settings.home / "cache", backend=settings.embedder_backend, threads=settings.embedder_threads)


def make_answer_reader(settings: Settings) -> AnswerReader | None:
    """The model that reads a question and a statement together, unless it is switched off."""
    if not settings.answer_reader:
        return None
    from citewell.adapters.entailment.pair import AnswerReader

    return AnswerReader(settings.home / "cache", backend=settings.embedder_backend, threads=settings.embedder_threads)


def make_entailment(settings: Settings) -> OnnxEntailment | None:
    """The entailment model in the folder that the person has named; none by default."""
    if settings.entailment is None:
        return None
    from citewell.adapters.entailment.onnx import OnnxEntailment

    return OnnxEntailment(settings.entailment)


# ------------------------------------------------------------------------------------------------------- the questions


def make_ask_service(
    library: SqlLibrary,
    name: str,
    audit: SqlAudit,
    assistant: Callable[[], Assistant],
    past_assistant: AssistantAt,
    *,
    emergency: Callable[[str], Emergency | None],
    keep_days: int | None = None,
) -> AskService:
    """Asks an assistant and keeps what it is asked, for so many days without a word where a number is given."""
    from citewell.adapters.store.answer_ledger import SqlLedger
    from citewell.adapters.store.conversations import SqlConversations
    from citewell.adapters.store.inbox import SqlInbox
    from citewell.answer.service import AskService

    engine, path = library.engine, library.path
    seal = open_seal(library)
    conversations = SqlConversations(engine, path, seal, assistant=name, keep_days=keep_days)
    inbox = SqlInbox(engine, path, seal)
    return AskService(
        assistant=assistant,
        past_assistant=past_assistant,
        library=library,
        conversations=conversations,
        audit=audit,
        inbox=inbox,
        ledger=SqlLedger(engine, path, audit=audit, conversations=conversations, inbox=inbox),
        emergency=emergency,
    )


def make_audit(library: SqlLibrary, outside: Outside) -> SqlAudit:
    """The log of answers, whose end is told outside too."""
    from citewell.adapters.store.audit import SqlAudit

    seal = open_seal(library)
    anchor = None if library.is_vault else _anchor(outside)
    return SqlAudit(library.engine, library.path, seal, is_vault=library.is_vault, anchor=anchor)


def make_trail(library: SqlLibrary, outside: Outside) -> SqlTrail:
    """The trail of access."""
    from citewell.adapters.store.trail import SqlTrail

    seal = open_seal(library)
    return SqlTrail(library.engine, library.path, seal, is_vault=library.is_vault, outside=outside.send)


def _anchor(outside: Outside) -> Anchor:
    def tell(name: str, tenant: str, head: AuditHead) -> None:
        outside.anchor(name, tenant, head.count, head.hash)

    return tell


def open_seal(library: SqlLibrary) -> TextCipher:
    """The seal of a library; a new one only where nothing has been sealed yet."""
    from citewell.adapters.store.chain import AuditHeads
    from citewell.adapters.store.encryption import KEY_FILE, TextCipher
    from citewell.adapters.store.engine import writing

    if library.is_vault:
        with writing(library.engine, library.path) as connection:
            return TextCipher.inside(connection)
    home = library.path.parent
    if not (home / KEY_FILE).exists() and has_sealed(library):
        raise LibraryError(
            f"{KEY_FILE} is missing from {home}. Without it conversations and the audit log cannot be opened. "
            "Restore it from a backup, or start a new library with --home."
        )
    seal = TextCipher.of(home)
    if seal.is_new:
        AuditHeads(home, seal)  # whoever makes the key first: a missing file was always taken away
    if library.engine.dialect.name != "sqlite":
        with writing(library.engine, library.path) as connection:
            seal.agree(connection, home)
    return seal


def has_sealed(library: SqlLibrary) -> bool:
    """Whether anything was ever asked of this library."""
    from sqlalchemy import select

    from citewell.adapters.store.engine import reading
    from citewell.adapters.store.schema import answers, conversations

    with reading(library.engine, library.path) as connection:
        return any(connection.execute(select(1).select_from(table)).first() for table in (conversations, answers))
