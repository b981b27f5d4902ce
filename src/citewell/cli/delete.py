"""`citewell delete`: erase a document."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.common import DocumentId, Home, Json, opened, print_json, printable
from citewell.errors import NotFound


def delete(
    context: typer.Context,
    document: DocumentId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Permanently erase a document: all versions, text and vectors. Repeating it with the full ID is safe."""
    with opened(context, home) as app:
        try:
            document_id = app.find(document)
        except NotFound:
            gone = app.delete(document.lower())
        else:
            if not yes and not json:
                entry = app.library.entry(document_id, app.scope_of_owner())
                typer.confirm(f"Permanently erase “{printable(entry.title)}” and all its versions?", abort=True)
            gone = app.delete(document_id)
    if json:
        print_json({"deleted": [{"document_id": entry.id, "version": entry.version} for entry in gone]})
    elif not gone:
        typer.echo("Already erased: nothing to do.")
    else:
        typer.echo(f"Erased: {printable(gone[0].title)} ({len(gone)} version{'s' if len(gone) > 1 else ''}).")
        typer.echo(f"Its history is kept: citewell evidence history {gone[0].id}")
