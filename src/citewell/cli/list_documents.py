"""`citewell list`: what is in the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from citewell.api.bodies.documents import entry_json
from citewell.cli.common import NO_DOCUMENTS, Home, Json, opened, print_json, printable

if TYPE_CHECKING:
    from citewell.types import LibraryEntry

WIDE = 110
"""Characters in a line that all columns need."""
MIN_TITLE = 34
COLUMNS: Mapping[str, Callable[[LibraryEntry], str]] = {
    "id": lambda entry: entry.id[:8],
    "title": lambda entry: entry.title + "".join(f" [{notice.kind}]" for notice in entry.notices),
    "version": lambda entry: str(entry.version),
    "state": lambda entry: entry.state,
    "pages": lambda entry: str(entry.page_count or ""),
    "passages": lambda entry: str(entry.chunk_count),
    "tags": lambda entry: " ".join(entry.tags),
    "added": lambda entry: f"{entry.added_at:%d %b %Y}",
}
NARROW = ("id", "title", "state", "tags", "added")
WHOLE = frozenset({"id", "version", "state", "pages", "passages", "added"})
"""Columns that are of no use when they are cut: titles and tags give way."""


def list_entries(
    context: typer.Context,
    all_versions: Annotated[bool, typer.Option("--all", help="Include older versions.")] = False,
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
        typer.echo(NO_DOCUMENTS)
        return
    print_entries(entries)


def print_entries(entries: Sequence[LibraryEntry]) -> None:
    """A table; on a narrow screen without the counts, so that titles have room."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    shown = COLUMNS if console.width >= WIDE else {name: COLUMNS[name] for name in NARROW}
    table = Table(box=None, pad_edge=False)
    rows = [{column: printable(told(entry)) for column, told in shown.items()} for entry in entries]
    widths = {column: max(len(column), *(len(row[column]) for row in rows)) for column in shown}
    left = console.width - sum(widths[column] + 2 for column in shown if column in WHOLE) - 2
    widths["tags"] = min(widths["tags"], max(len("tags"), left - MIN_TITLE))
    for column in shown:
        justify: Literal["left", "right"] = "right" if column in ("pages", "passages", "version") else "left"
        width = None if column == "title" else widths[column]
        table.add_column(column, justify=justify, width=width)
    for row in rows:
        table.add_row(*row.values())
    console.print(table)
