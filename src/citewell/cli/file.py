"""`citewell file`: say anew where a document belongs."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.frame import DocumentId, Home, Json, Tags, entry_json, opened, print_json
from citewell.types import Filing


def file(
    context: typer.Context,
    document: DocumentId,
    tag: Tags = None,
    journey: Annotated[
        list[str] | None, typer.Option("--journey", help="A care journey; none: for all.", show_default=False)
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Set the tags and journeys of a document; search follows at once, nothing is embedded again."""
    with opened(context, home) as app:
        filing = Filing(tags=frozenset(tag or ["public"]), journeys=frozenset(journey or []))
        entry = app.refile(app.find(document), filing)
    if json:
        print_json({"document": entry_json(entry)})
    else:
        journeys = ", ".join(entry.journeys) or "all journeys"
        typer.echo(f"{entry.title}: tags {', '.join(entry.tags)}; {journeys}")
