"""`citewell backup` and `citewell restore`: a copy of the library, and back."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json, print_result, settings
from citewell.errors import InputError, LibraryError


def backup(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            help="A new folder for the backup. Without one, a backup is made in CITEWELL_BACKUP_FOLDER, restored as a "
            "test, and the oldest removed.",
            show_default=False,
        ),
    ] = None,
    due: Annotated[
        bool, typer.Option("--due", help="Only if the newest backup is older than CITEWELL_BACKUP_HOURS.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Back up the library with its key and logs, even while it is in use."""
    from citewell.operations.backup import back_up
    from citewell.operations.scheduled_backup import back_up_now, required

    if folder is not None and due:
        raise InputError("--due is for scheduled backups. Leave out the folder.")
    if folder is None:
        schedule = required(settings(context, home))
        if due:
            os.nice(10)
        if due and not schedule.is_due(datetime.now(UTC)):
            print_json({"newest": schedule.newest()}) if json else typer.echo(
                f"No backup due; newest {schedule.newest()}"
            )
            return
    with opened(context, home) as app:
        made = back_up(app, folder) if folder is not None else back_up_now(app, schedule)
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
    print_result(
        {"files": count, "documents": proved.documents, "chunks": proved.chunks},
        f"✓ {count} files restored; {proved.documents} documents and {proved.chunks:,} passages verified",
        as_json=json,
    )
