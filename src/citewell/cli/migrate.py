"""`citewell migrate`: move a library from its file into PostgreSQL, or back."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.frame import Home, Json, print_json, progress, settings
from citewell.errors import InputError, LibraryError

From = Annotated[
    str | None,
    typer.Option("--from", help="Where the library is: sqlite:///FILE or postgresql://… [the home folder's file]."),
]
To = Annotated[
    str | None, typer.Option("--to", help="An empty place to move it to [CITEWELL_DATABASE_URL].", show_default=False)
]


def migrate(
    context: typer.Context, source: From = None, target: To = None, home: Home = None, json: Json = False
) -> None:
    """Move a library with its vectors, conversations, users and audit log; a move that was broken off goes on."""
    from citewell.bootstrap.home import LIBRARY_FILE
    from citewell.bootstrap.migrate import FILE, move_library
    from citewell.ingest.read import Step

    chosen = settings(context, home)
    source = source or f"{FILE}{chosen.home / LIBRARY_FILE}"
    if target is None and chosen.database_url is not None:
        target = chosen.database_url.get_secret_value()
    if target is None:
        raise InputError("Say where to: --to postgresql://user:password@host:5432/name, or CITEWELL_DATABASE_URL.")
    with progress(quiet=json) as bar:
        moved = move_library(
            source,
            target,
            home=chosen.home,
            watch=lambda table, done, total: bar(table, Step("storing" if done == total else "reading", done, total)),
        )
    if json:
        print_json(moved)
    else:
        rows, tables = sum(moved.rows.values()), sum(count > 0 for count in moved.rows.values())
        again = " It went on where it had been broken off." if moved.resumed else ""
        typer.echo(f"{rows} rows of {tables} tables are there as they were, and {moved.vectors} vectors.{again}")
        typer.echo(f"Documents: {moved.rows['documents']}. Audit logs proved: {moved.tenants}.")
        typer.echo("Set CITEWELL_DATABASE_URL to use it, and keep the home folder: it holds seal.key.")
    if moved.problems:
        raise LibraryError(f"The audit log is not whole there: {'; '.join(moved.problems)}.")
