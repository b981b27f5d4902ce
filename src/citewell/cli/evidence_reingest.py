"""`citewell evidence reingest`: read documents a second time; the first reading answers until then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.frame import Home, Json, opened, print_json, printable
from citewell.cli.progress import progress
from citewell.types import OWNER_ID

if TYPE_CHECKING:
    from citewell.app import App

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

    After a change of the embedder the old vectors answer until every document has new ones; then all change at once.
    """
    with opened(context, home) as app, progress(quiet=json) as watch:
        one = None if document_id is None else app.find(document_id)
        told: dict[str, Any] = {"embedder": app.embedder.fingerprint, "was": app.library.embedder(), "dry_run": dry_run}
        told["documents"] = _wanted(app, one)
        if not dry_run:
            told |= _reread(app, one, watch.one_by_one(), is_here=sync or app.settings.broker_url is None)
            told["cleaned"] = app.library.clean_up() if cleanup else 0
    if json:
        print_json(told)
    else:
        typer.echo(_line(told))
    if told.get("failed"):
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


def _line(told: dict[str, Any]) -> str:
    count = len(told["documents"])
    documents = f"{count} document version{'' if count == 1 else 's'}"
    change = "" if told["was"] in (None, told["embedder"]) else f", from {told['was']}"
    if told["dry_run"]:
        return f"{documents} would be re-processed with {told['embedder']}{change}."
    if told["queued"]:
        how = f"{documents} queued for re-processing with {told['embedder']}{change}"
        return f"{how}; `citewell evidence list` shows progress."
    failed: list[dict[str, Any]] = told["failed"]
    if failed:
        documents = f"{count - len(failed)} of {documents}"
    cleaned = f" {told['cleaned']} leftovers removed." if told["cleaned"] else ""
    lines = [f"{documents} re-processed; the library now uses {told['answers_with']}.{cleaned}"]
    lines += [f"✗ {one['title']} ({one['document_id'][:8]}): {one['error'] or WAITS}" for one in failed]
    return printable("\n".join(lines))
