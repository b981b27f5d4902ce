"""`citewell migrate`: move a library from its file into PostgreSQL, or back."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.common import Home, Json, print_json, settings
from citewell.cli.progress import progress
from citewell.config import Settings
from citewell.errors import InputError, LibraryError

From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Current library: sqlite:///FILE or postgresql://…. Just sqlite or postgresql means the home folder's "
        "file or CITEWELL_DATABASE_URL [sqlite].",
        show_default=False,
    ),
]
To = Annotated[
    str | None,
    typer.Option("--to", help="Empty database to move it to, given the same way [postgresql].", show_default=False),
]


SQLITE, POSTGRESQL = "sqlite", "postgresql"
OPEN_DATABASE = "Set CITEWELL_DATABASE_URL to use it, and keep the home folder: it holds seal.key."
OPEN_FILE = (
    "To use it, unset CITEWELL_DATABASE_URL and name its folder with --home. Put seal.key and audit.head beside it."
)


def migrate(
    context: typer.Context, source: From = None, target: To = None, home: Home = None, json: Json = False
) -> None:
    """Move a library with its vectors, conversations, users and audit log. If interrupted, run it again to continue."""
    from citewell.ingest.parse_cut_embed import Step
    from citewell.operations.move_library import FILE, move_library

    chosen = settings(context, home)
    source, target = _address(source or SQLITE, chosen), _address(target or POSTGRESQL, chosen)
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
        again = " Continued from where it was interrupted." if moved.resumed else ""
        vectors = f"and {moved.vectors} vectors" if moved.vectors else "vectors included"  # a file has no rows of them
        typer.echo(f"{rows} rows in {tables} tables moved unchanged, {vectors}.{again}")
        typer.echo(f"Documents: {moved.rows['documents']}. Audit logs verified: {moved.tenants}.")
        typer.echo(OPEN_FILE if target.startswith(FILE) else OPEN_DATABASE)
    if moved.problems:
        raise LibraryError(f"The moved audit log is not intact: {'; '.join(moved.problems)}.")


def _address(said: str, chosen: Settings) -> str:
    """The address that somebody means; a bare word is the one in the settings."""
    from citewell.operations.move_library import FILE
    from citewell.wiring import LIBRARY_FILE

    if said == SQLITE:
        return f"{FILE}{chosen.home / LIBRARY_FILE}"
    if said != POSTGRESQL:
        return said
    if chosen.database_url is None:
        raise InputError(
            "Give the target: --to postgresql://user:password@host:5432/name, or set CITEWELL_DATABASE_URL."
        )
    return chosen.database_url.get_secret_value()
