"""`citewell file`: say anew where a document belongs."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.api.bodies.documents import entry_json
from citewell.cli.common import DocumentId, Home, Json, Tags, opened, print_json, printable
from citewell.types import Filing


def file(
    context: typer.Context,
    document: DocumentId,
    tag: Tags = None,
    journey: Annotated[
        list[str] | None,
        typer.Option("--journey", help="A care journey; `all` for everyone.", show_default=False),
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Set a document's tags and journeys. Searches use them straight away, with no re-indexing."""
    with opened(context, home) as app:
        filing = Filing(tags=frozenset(tag) if tag else None, journeys=_journeys(journey))
        entry = app.refile(app.find(document), filing)
    if json:
        print_json({"document": entry_json(entry, None)})
    else:
        journeys = ", ".join(entry.journeys) or "all journeys"
        typer.echo(printable(f"{entry.title}: tags {', '.join(entry.tags)}; {journeys}"))


def _journeys(said: list[str] | None) -> frozenset[str] | None:
    """The journeys that were said; `all` makes a document universal again."""
    if said is None:
        return None
    return frozenset() if said == ["all"] else frozenset(said)
