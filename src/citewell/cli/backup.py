"""`citewell backup` and `citewell restore`: a copy of the library, and back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json, settings
from citewell.errors import LibraryError


def backup(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A new folder for the backup.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Back up the library with its key and logs, even while it is in use."""
    from citewell.operations.backup import back_up

    with opened(context, home) as app:
        made = back_up(app, folder)
    if json:
        print_json({**asdict(made), "folder": str(made.folder)})
        return
    typer.echo(f"✓ {len(made.files)} files, {made.bytes / 1_048_576:,.1f} MiB in {made.folder}")
    if "seal.key" in made.files:
        typer.echo(
            "  It includes seal.key. Anyone who has that file can read conversations and the audit log, so keep it "
            "safe."
        )
    if made.lost:
        typer.echo(
            f"  {made.lost} original files are missing from external storage, so also from this backup: run "
            "`citewell verify`."
        )
    if made.vaults:
        typer.echo("  Vaults are not included. Copy each one with `citewell vault export`.")


def restore(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The backup folder.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Restore a backup into an empty home folder, and verify it."""
    from citewell.operations.backup import restore

    count = restore(folder, settings(context, home).home)
    with opened(context, home) as app:
        proved = app.verify()
    if proved.problems:
        raise LibraryError(f"The library was restored but is not intact: {proved.problems[0]}. Try an older backup.")
    if json:
        print_json({"files": count, "documents": proved.documents, "chunks": proved.chunks})
    else:
        typer.echo(f"✓ {count} files restored; {proved.documents} documents and {proved.chunks:,} passages verified")
