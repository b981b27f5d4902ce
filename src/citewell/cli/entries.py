"""`citewell list`: what is in the library."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.api.shapes import entry_json
from citewell.cli.frame import Home, Json, opened, print_json, printable


def list_entries(
    context: typer.Context,
    all_versions: Annotated[bool, typer.Option("--all", help="Older versions too.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """List the documents, newest first."""
    with opened(context, home) as app:
        entries = [entry for entry in app.entries() if all_versions or entry.state != "superseded"]
    if json:
        print_json({"documents": [entry_json(entry, None) for entry in entries]})
        return
    if not entries:
        typer.echo("The library is empty. Add a file with `citewell add FILE`, or the samples with --samples.")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("id", "title", "version", "state", "pages", "passages", "tags", "added"):
        table.add_column(column, justify="right" if column in ("pages", "passages", "version") else "left")
    for entry in entries:
        table.add_row(
            entry.id[:8],
            printable(entry.title),
            str(entry.version),
            entry.state,
            str(entry.page_count or ""),
            str(entry.chunk_count),
            printable(" ".join(entry.tags)),
            f"{entry.added_at:%d %b %Y}",
        )
    Console(highlight=False, markup=False).print(table)
