"""`citewell replica`: the copy for searching in a Qdrant server; how far it is, feed it, begin it anew."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json
from citewell.cli.progress import progress
from citewell.errors import ReplicaUnavailable
from citewell.ingest.parse_cut_embed import Step

app = typer.Typer(
    help="The search copy in a Qdrant server: show its state, update it, or rebuild it.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def status(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """Show how far the search copy is behind the library."""
    from citewell.wiring import make_replica, shelf_for_replica

    with opened(context, home) as app:
        lag = make_replica(app.settings).lag(shelf_for_replica(app.library))
    if json:
        print_json({"missing": lag.missing, "surplus": lag.surplus, "is_current": lag.is_current})
    elif lag.is_current:
        typer.echo("The copy is in step with the library and is used for searches.")
    else:
        typer.echo(
            f"The copy is behind: {lag.missing} document versions to send, {lag.surplus} to remove. The library's "
            "own index is used until `citewell replica feed` has run."
        )


@app.command()
def feed(
    context: typer.Context,
    watch: Annotated[bool, typer.Option("--watch", help="Keep updating until stopped.")] = False,
    every: Annotated[float, typer.Option(help="With --watch: seconds between checks.", min=0.2)] = 2.0,
    home: Home = None,
    json: Json = False,
) -> None:
    """Send changes to the search copy."""
    from citewell.wiring import make_replica, shelf_for_replica

    with opened(context, home) as app:
        replica, shelf = make_replica(app.settings), shelf_for_replica(app.library)
        seen = None
        while True:
            stamp = shelf.stamp()
            if stamp != seen:
                try:
                    with progress(quiet=json) as bar:
                        count = replica.feed(
                            shelf, watch=lambda done, total: bar("replica", Step("storing", done, total))
                        )
                    seen = stamp
                    print_json({"changed": count}) if json else typer.echo(f"{count} document versions updated.")
                except ReplicaUnavailable as error:
                    if not watch:
                        raise
                    typer.echo(str(error), err=True)
            if not watch:
                return
            time.sleep(every)


@app.command()
def rebuild(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """Rebuild the search copy in a new collection. The old one is used until the switch."""
    from citewell.wiring import make_replica, shelf_for_replica

    with opened(context, home) as app, progress(quiet=json) as bar:
        replica, shelf = make_replica(app.settings), shelf_for_replica(app.library)
        count = replica.rebuild(shelf, watch=lambda done, total: bar("replica", Step("storing", done, total)))
    print_json({"documents": count}) if json else typer.echo(f"{count} document versions are in the new collection.")
