"""Opens a library in PostgreSQL: one writer at a time, consistent reads, and the server's errors in plain words."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import ArgumentError

from citewell.adapters.store.engine import BUSY_TIMEOUT_MS, CONNECTION_TIMEOUT_S, bring_up_to_date
from citewell.adapters.store.invalid_characters import refuse_unkeepable
from citewell.errors import (
    DiskFull,
    EmbedderMismatch,
    InputError,
    LibraryBusy,
    LibraryError,
    LibraryReadOnly,
    LibraryUnreachable,
    MissingExtra,
)

CONNECTIONS = 20
"""Of one process; a server allows a hundred in all unless it is told otherwise."""
CONNECT_TIMEOUT_S = 5
SESSION = {"lock_timeout": BUSY_TIMEOUT_MS, "idle_in_transaction_session_timeout": 600_000, "jit": "off"}
"""No search is so long that compiling it pays; and who holds a transaction for ten minutes is no more."""
WRITING_LOCK = 0x63697465
"""Who holds this advisory lock writes: what SQLite grants with its file, the server grants with a number."""

NO_URL = "CITEWELL_DATABASE_URL is not a database address. Write it as postgresql://user:password@host:5432/name."
NO_DRIVER = "PostgreSQL needs a driver that is not installed. Install it with: pip install 'citewell[postgres]'"
NO_PGVECTOR = (
    "PostgreSQL at {place} has no pgvector. Nothing was changed. Install its package on the server (for example "
    "postgresql-16-pgvector), then start again."
)
NOT_ALLOWED = (
    "The user of CITEWELL_DATABASE_URL may not do that in {place}. Make it the owner of the database, or let the owner "
    "run CREATE EXTENSION vector and start Citewell once."
)
UNREACHABLE = (
    "PostgreSQL at {place} could not be reached. Nothing was lost. Start it, or correct CITEWELL_DATABASE_URL."
)
REFUSED = "PostgreSQL at {place} refuses this user or password. Correct CITEWELL_DATABASE_URL."
NO_DATABASE = "Database not found at {place}. Create it with createdb, or correct CITEWELL_DATABASE_URL."
CROWDED = "PostgreSQL at {place} has no free connections. Try again in a moment, or raise its max_connections."
BUSY = "Another process is writing to {place}. The last change was not saved. Try again in a moment."
FULL = "The disk of PostgreSQL at {place} is full. The last change was not saved. Free some space and try again."
READ_ONLY = "PostgreSQL at {place} does not accept changes: it is a standby or read-only. Use the primary instead."

MIXED = (
    "The question's vector and the library's have different numbers of dimensions because they come from different "
    "embedding models. Run `citewell evidence reingest` to index every document with the model in the settings."
)

BY_STATE: dict[str, tuple[type[LibraryError], str]] = {
    "28": (LibraryError, REFUSED),
    "3D": (LibraryError, NO_DATABASE),
    "08": (LibraryUnreachable, UNREACHABLE),
    "57P": (LibraryUnreachable, UNREACHABLE),
    "53300": (LibraryBusy, CROWDED),
    "53100": (DiskFull, FULL),
    "55P03": (LibraryBusy, BUSY),
    "40": (LibraryBusy, BUSY),
    "25006": (LibraryReadOnly, READ_ONLY),
    "42501": (LibraryError, NOT_ALLOWED),
}
"""What the beginning of an SQLSTATE means to a person."""

BY_WORDS: dict[str, tuple[type[LibraryError], str]] = {
    "password": (LibraryError, REFUSED),
    "authentication": (LibraryError, REFUSED),
    "pg_hba.conf": (LibraryError, REFUSED),
    'extension "vector" is not available': (LibraryError, NO_PGVECTOR),
    "vector.control": (LibraryError, NO_PGVECTOR),
    "does not exist": (LibraryError, NO_DATABASE),
    "too many clients": (LibraryBusy, CROWDED),
    "connection slots": (LibraryBusy, CROWDED),
}
"""The same for a connection that never came about, of which the driver has words only."""

ALWAYS = ('extension "vector" is not available', "vector.control")
"""What the words tell more exactly than the SQLSTATE."""
NO_CONNECTION = ("OperationalError", "ConnectionTimeout")
"""What the driver raises when nobody answers, or nobody any more."""


def read_url(address: str) -> URL:
    """The address of a PostgreSQL database, with the driver that we use."""
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise InputError(NO_URL) from error
    if url.get_backend_name() not in ("postgresql", "postgres") or not url.database:
        raise InputError(NO_URL)
    return url.set(drivername="postgresql+psycopg")


def place_of(url: URL) -> str:
    """Where a database is, in words that hold no secret.

    >>> place_of(read_url("postgresql://anna:secret@db.clinic.example:5433/citewell"))
    'db.clinic.example:5433/citewell'
    """
    host = url.host or str(url.query.get("host") or "localhost")
    return f"{host}{f':{url.port}' if url.port else ''}/{url.database}"


def open_postgres(address: str) -> Engine:
    """An engine on the database at this address, its tables made or brought up to date where needed."""
    engine = connect(address)
    try:
        with engine.connect().execution_options(writing=True) as connection, connection.begin():
            _need_pgvector(connection)
        bring_up_to_date(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def connect(address: str) -> Engine:
    """The same as it is found."""
    url = read_url(address)
    try:
        engine = create_engine(
            url,
            isolation_level="REPEATABLE READ",
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=CONNECTION_TIMEOUT_S,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={
                "connect_timeout": CONNECT_TIMEOUT_S,
                "application_name": "citewell",
                "keepalives_idle": 30,
                "tcp_user_timeout": BUSY_TIMEOUT_MS,
                "options": " ".join(f"-c {name}={value}" for name, value in SESSION.items()),
            },
        )
    except ModuleNotFoundError as error:
        raise MissingExtra(NO_DRIVER) from error
    event.listen(engine, "begin", _begin)
    refuse_unkeepable(engine)
    event.listen(engine, "handle_error", _translating(place_of(url)))
    return engine


def _need_pgvector(connection: Connection) -> None:
    """The extension, made where the database has none; asking first spares users who may not make any."""
    found = connection.execute(text("SELECT 1 FROM pg_extension WHERE extname = 'vector'")).scalar()
    if found is None:
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))


def _begin(connection: Connection) -> None:
    """A writer waits for its turn, then sees all that was committed before it; a reader sees one moment."""
    if connection.get_execution_options().get("writing", False):
        connection.exec_driver_sql(
            f"SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({WRITING_LOCK})"
        )


def _translating(place: str) -> Callable[[ExceptionContext], None]:
    """Says what went wrong in a sentence of ours; the server's own words may quote what was stored."""

    def translate(context: ExceptionContext) -> None:
        error = context.original_exception
        if not context.is_pre_ping and type(error).__module__.startswith("psycopg"):
            raise translated(error, place).at(place) from None

    return translate


def translated(error: BaseException, place: str) -> LibraryError | EmbedderMismatch:
    """The error that a person is told."""
    if "different vector dimensions" in str(error):
        return EmbedderMismatch(MIXED)
    state, words = str(getattr(error, "sqlstate", None) or ""), str(error).lower()
    told = next((told for part, told in BY_WORDS.items() if part in words and (not state or part in ALWAYS)), None)
    told = told or next((told for start, told in BY_STATE.items() if state and state.startswith(start)), None)
    if told is None and not state and type(error).__name__ in NO_CONNECTION:
        told = (LibraryUnreachable, UNREACHABLE)
    if told is not None:
        kind, words = told
        return kind(words.format(place=place))
    return LibraryError(f"PostgreSQL at {place} could not do that ({type(error).__name__}). Run `citewell doctor`.")
