"""`citewell show`: one document, its passages or its text."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.api.bodies.documents import entry_json
from citewell.cli.common import DocumentId, Home, Json, opened, print_json, printable
from citewell.errors import NotFound


def show(
    context: typer.Context,
    document: DocumentId,
    text: Annotated[bool, typer.Option("--text", help="Show the full text.")] = False,
    chunk: Annotated[int | None, typer.Option(help="Show only this passage, by number.", min=0)] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Show a document's details and passages."""
    with opened(context, home) as app:
        entry, parsed, chunks = app.show(app.find(document))
    if chunk is not None:
        chunks = tuple(other for other in chunks if other.index == chunk)
        if not chunks:
            raise NotFound(
                f"There is no passage {chunk}. The document has {entry.chunk_count} passages, numbered from 0."
            )
    if json:
        shown = {"chunks": chunks, "text": parsed.text if text else None}
        print_json({"document": entry_json(entry, None), **shown})
        return
    if text:
        typer.echo(printable(parsed.text))
        return
    typer.echo(
        printable(f"{entry.title}\n{entry.name}") + f" · {entry.media_type} · version {entry.version} · {entry.state}"
    )
    for told in entry.said_since:
        typer.echo(printable(f"note: {told}"))
    for note in entry.notes:
        typer.echo(f"note: {note}")
    for one in chunks:
        place = " > ".join(one.section) + (f" · page {one.page}" if one.page else "")
        head = f"\n[{one.index}] {place} · characters {one.start}–{one.end} · {one.tokens} tokens"
        typer.echo(printable(f"{head}\n{one.text}"))
