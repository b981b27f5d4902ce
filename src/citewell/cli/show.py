"""`citewell show`: one document, its passages or its text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from citewell.cli.frame import DocumentId, Home, Json, entry_json, opened, print_json
from citewell.errors import NotFound


def show(
    context: typer.Context,
    document: DocumentId,
    text: Annotated[bool, typer.Option("--text", help="The whole canonical text.")] = False,
    chunk: Annotated[int | None, typer.Option(help="One passage only, by its number.", min=0)] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Show a document: what is known of it, and its passages."""
    with opened(context, home) as app:
        entry, parsed, chunks = app.show(app.find(document))
    if chunk is not None:
        chunks = tuple(one for one in chunks if one.index == chunk)
        if not chunks:
            raise NotFound(f"The document has {entry.chunk_count} passages, numbered from 0; {chunk} is not one.")
    if json:
        shown = {"chunks": [asdict(one) for one in chunks], "text": parsed.text if text else None}
        print_json({"document": entry_json(entry), **shown})
        return
    if text:
        typer.echo(parsed.text)
        return
    typer.echo(f"{entry.title}\n{entry.name} · {entry.media_type} · version {entry.version} · {entry.state}")
    for note in entry.notes:
        typer.echo(f"note: {note}")
    for one in chunks:
        place = " > ".join(one.section) + (f" · page {one.page}" if one.page else "")
        typer.echo(f"\n[{one.index}] {place} · characters {one.start}–{one.end} · {one.tokens} tokens\n{one.text}")
