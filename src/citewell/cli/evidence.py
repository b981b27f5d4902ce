"""`citewell evidence`: the life of documents, from the queue to the shelf and away again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.api.bodies.documents import entry_json
from citewell.cli.common import DocumentId, Home, Json, opened, print_json, print_result, printable
from citewell.cli.list_documents import print_entries
from citewell.cli.progress import progress
from citewell.cli.verify import verify
from citewell.errors import InputError, NotFound
from citewell.types import OWNER_ID, LifecycleState

if TYPE_CHECKING:
    from citewell.app import App
    from citewell.types import LibraryEntry
    from citewell.types.lifecycle import QueueStatus


WAITS = "A worker has it. `citewell evidence show` shows the result."


def reingest(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be re-processed.")] = False,
    cleanup: Annotated[
        bool,
        typer.Option("--cleanup", help="Afterwards, remove leftovers that nothing uses: old results and stray files."),
    ] = False,
    document_id: Annotated[
        str | None, typer.Option("--document-id", help="Only this document.", show_default=False)
    ] = None,
    sync: Annotated[bool, typer.Option("--sync", help="Process here and now, even if there are workers.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Re-process documents with the configured embedding model. If interrupted, run it again to continue.

    After a change of embedding model, the old vectors stay in use until every document has new ones; then all switch at
    once.
    """
    with opened(context, home) as app, progress(quiet=json) as watch:
        one = None if document_id is None else app.find(document_id)
        entry: dict[str, Any] = {
            "embedder": app.embedder.fingerprint,
            "was": app.library.embedder(),
            "dry_run": dry_run,
        }
        entry["documents"] = _wanted(app, one)
        if not dry_run:
            entry |= _reread(app, one, watch.one_by_one(), is_here=sync or app.settings.broker_url is None)
            entry["cleaned"] = app.library.clean_up() if cleanup else 0
    print_result(entry, _line(entry), as_json=json)
    if entry.get("failed"):
        raise typer.Exit(1)


def _wanted(app: App, one: str | None) -> list[str]:
    if one is not None:
        return [one]
    return app.library.to_reread(app.scope_of_owner(), embedder=app.embedder.fingerprint)


def _reread(app: App, one: str | None, watch: Any, *, is_here: bool) -> dict[str, Any]:
    """Queue the documents, and read them here unless workers do."""
    from citewell.operations.workers import reprocess

    fingerprint = app.embedder.fingerprint
    wanted = app.library.reread(app.scope_of_owner(), by=OWNER_ID, embedder=fingerprint, document_id=one)
    if not is_here:
        app.queue.nudge()
        return {"queued": True}
    failed = reprocess(app, wanted, watch=watch)
    why = [{"document_id": entry.id, "title": entry.title, "error": entry.error} for entry in failed]
    return {"queued": False, "failed": why, "answers_with": app.library.embedder()}


def _line(entry: dict[str, Any]) -> str:
    count = len(entry["documents"])
    documents = f"{count} document version{'' if count == 1 else 's'}"
    change = "" if entry["was"] in (None, entry["embedder"]) else f", from {entry['was']}"
    if entry["dry_run"]:
        return f"{documents} would be re-processed with {entry['embedder']}{change}."
    if entry["queued"]:
        how = f"{documents} queued for re-processing with {entry['embedder']}{change}"
        return f"{how}; `citewell evidence list` shows progress."
    failed: list[dict[str, Any]] = entry["failed"]
    if failed:
        documents = f"{count - len(failed)} of {documents}"
    cleaned = f" {entry['cleaned']} leftovers removed." if entry["cleaned"] else ""
    lines = [f"{documents} re-processed; the library now uses {entry['answers_with']}.{cleaned}"]
    lines += [f"✗ {one['title']} ({one['document_id'][:8]}): {one['error'] or WAITS}" for one in failed]
    return printable("\n".join(lines))


app = typer.Typer(
    help="Manage the literature: process, list, withdraw and erase documents.",
    add_completion=False,
    no_args_is_help=True,
)
app.command("reingest")(reingest)
app.command("verify")(verify)

MAX_TROUBLES = 20
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@app.command()
def ingest(context: typer.Context, document: DocumentId, home: Home = None, json: Json = False) -> None:
    """Process a document now: queued or failed ones are processed, withdrawn ones restored, others re-processed."""
    with opened(context, home) as library, progress(quiet=json) as watch:
        entry = library.library.entry(library.find(document), library.scope_of_owner())
        entry = _ingested(library, entry, watch)
    _print_one(entry, as_json=json)
    if entry.state is LifecycleState.FAILED or entry.error:
        raise typer.Exit(1)


def _ingested(library: App, entry: LibraryEntry, watch: Any) -> LibraryEntry:
    """Do what the state of a document asks for."""
    from citewell.operations.workers import read_document

    store, scope = library.library, library.scope_of_owner()
    match entry.state:
        case LifecycleState.WITHDRAWN:
            return store.restore(entry.id, scope, by=OWNER_ID)
        case LifecycleState.SUPERSEDED:
            raise InputError(
                "A newer version has replaced this one. Use that version instead: `citewell evidence list`."
            )
        case LifecycleState.PROCESSING:
            raise InputError("A worker is processing it now. `citewell evidence show` shows the result.")
        case LifecycleState.COMPLETED:
            store.reread(scope, by=OWNER_ID, embedder=library.embedder.fingerprint, document_id=entry.id)
        case LifecycleState.PENDING | LifecycleState.QUEUED | LifecycleState.FAILED:
            store.requeue(entry.id, scope, by=OWNER_ID)
    read_document(library, entry.id, watch=watch)
    return store.entry(entry.id, scope)


@app.command()
def withdraw(context: typer.Context, document: DocumentId, home: Home = None, json: Json = False) -> None:
    """Withdraw a document from search. It is kept, and `ingest` restores it."""
    with opened(context, home) as library:
        scope = library.scope_of_owner()
        entry = library.library.withdraw(library.find(document), scope, by=OWNER_ID)
    _print_one(entry, as_json=json)


@app.command()
def delete(
    context: typer.Context, document: DocumentId, yes: Yes = False, home: Home = None, json: Json = False
) -> None:
    """Permanently erase a document and all its versions. Only its history is kept."""
    from citewell.cli.delete import delete as erase

    erase(context, document, yes=yes, home=home, json=json)


@app.command("list")
def list_documents(
    context: typer.Context,
    state: Annotated[LifecycleState | None, typer.Option(help="Only documents in this state.")] = None,
    all_versions: Annotated[bool, typer.Option("--all", help="Include older versions.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """List documents with their state, and the state of the queue."""
    with opened(context, home) as library:
        entries = [
            entry
            for entry in library.entries()
            if all_versions or state or entry.state is not LifecycleState.SUPERSEDED
        ]
        entries = [entry for entry in entries if state in (None, entry.state)]
        status = library.library.status(library.scope_of_owner())
    if json:
        print_json({"documents": [entry_json(entry, None) for entry in entries], "queue": status})
        return
    if entries:
        print_entries(entries)
    for line in _troubles(entries):
        typer.echo(line)
    typer.echo(_queue_line(status))


@app.command()
def show(context: typer.Context, document: DocumentId, home: Home = None, json: Json = False) -> None:
    """Show the state of a document."""
    with opened(context, home) as library:
        entry = library.library.entry(library.find(document), library.scope_of_owner())
    _print_one(entry, as_json=json)
    if not json:
        typer.echo(printable("\n".join(_facts(entry))))


@app.command()
def history(context: typer.Context, document: DocumentId, home: Home = None, json: Json = False) -> None:
    """Show what happened to a document, when and by whom. For an erased one, give the full ID."""
    with opened(context, home) as library:
        try:
            document_id = library.find(document)
        except NotFound:
            document_id = document.lower()
        changes = library.library.history(document_id, library.scope_of_owner())
    if json:
        print_json({"history": changes})
        return
    for event in changes:
        detail = f": {event.detail}" if event.detail else ""
        typer.echo(
            printable(f"{event.at:%d %b %Y %H:%M:%S} UTC  v{event.version}  {event.change:<13} {event.by}{detail}")
        )


def _print_one(entry: LibraryEntry, *, as_json: bool) -> None:
    if as_json:
        print_json({"document": entry_json(entry, None)})
        return
    answers = "in use" if entry.is_current and entry.state is LifecycleState.COMPLETED else "not in use"
    lines = [
        f"{entry.title} ({entry.id})",
        f"{entry.state}, version {entry.version}, {answers}; {entry.chunk_count} passages, revision {entry.revision}",
    ]
    if entry.rework:
        lines.append(f"re-processing: {entry.rework}")
    if entry.error:
        lines.append(f"error: {entry.error}")
    if entry.next_attempt_at:
        lines.append(f"tried {entry.attempts} times; next attempt {entry.next_attempt_at:%d %b %Y %H:%M:%S} UTC")
    typer.echo(printable("\n".join(lines)))


def _facts(entry: LibraryEntry) -> Iterator[str]:
    """What else is known of a document, a line for each."""
    yield f"file: {entry.name}, added {entry.added_at:%d %b %Y} by {entry.added_by or 'the owner'}"
    yield f"tags: {', '.join(sorted(entry.tags))}; journeys: {', '.join(sorted(entry.journeys)) or 'all'}"
    if entry.embedder:
        yield f"vectors: {entry.chunk_count} by {entry.embedder}"
    if entry.processed_at is not None and entry.took_s is not None:
        yield f"processed: {entry.processed_at:%d %b %Y %H:%M:%S} UTC, in {entry.took_s:.1f} s"


def _troubles(entries: Sequence[LibraryEntry]) -> Iterator[str]:
    """Why documents could not be read, the newest first."""
    troubled = [entry for entry in entries if entry.error]
    for entry in troubled[:MAX_TROUBLES]:
        yield printable(f"✗ {entry.title} ({entry.id[:8]}): {entry.error}")
    if len(troubled) > MAX_TROUBLES:
        yield f"… and {len(troubled) - MAX_TROUBLES} more. `citewell evidence show ID` gives the reason for each."


def _queue_line(status: QueueStatus) -> str:
    """The queue in one line."""
    counts = ", ".join(f"{count} {state.value}" for state, count in status.states.items() if count) or "empty"
    rereading = f", {status.rereading} being re-processed" if status.rereading else ""
    alive = sum(not worker.is_silent for worker in status.workers)
    return f"{counts}{rereading}; {alive} worker{'' if alive == 1 else 's'}."
