"""`citewell records`: a person's own record in a vault: import it, and see what is known from it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli import records_add, records_ask, records_review, records_talks
from citewell.cli.common import Json, print_json, print_result
from citewell.cli.progress import progress
from citewell.cli.records_review import show_facts
from citewell.cli.unlock import ChosenVault, on_vault
from citewell.errors import InputError, LibraryError
from citewell.ingest.media_types import FHIR
from citewell.types.facts import KINDS

if TYPE_CHECKING:
    from citewell.vaults.health_record import Imported

app = typer.Typer(
    help="A personal health record in a vault: import documents and see what they say.",
    no_args_is_help=True,
    add_completion=False,
)

FORMATS = ("fhir", "ips")
Kind = Annotated[str | None, typer.Option(help=f"Only this kind: {', '.join(KINDS)}.", show_default=False)]


@app.command("import")
@on_vault
def import_files(
    vault: ChosenVault,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="FHIR R4 bundles, C-CDA, PDF, Word, text or pictures; a zip or a folder of them; Apple Health.",
            show_default=False,
        ),
    ],
    json: Json = False,
) -> None:
    """Add files to the record. A file that cannot be read changes nothing and says what is wrong."""
    from citewell.api.bodies.records import imported_json

    done: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    with vault.opened() as profile, progress(quiet=json) as watch:
        for file in files:
            try:
                imported = profile.record.import_file(file, watch=partial(watch, file))
            except (InputError, LibraryError) as error:
                watch.end(file)
                failed.append({"path": str(file), "kind": type(error).__name__, "message": str(error)})
                if not json:
                    watch.line(f"✗ {file.name}: {error}", err=True)
                continue
            done.append(imported_json(imported, path=str(file)))
            if not json:
                watch.line(_imported_line(imported))
    if json:
        print_json({"imported": done, "failed": failed})
    if failed:
        raise typer.Exit(1)


@app.command()
@on_vault
def facts(vault: ChosenVault, kind: Kind = None, json: Json = False) -> None:
    """List the facts, newest first, each with its source."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"--kind must be one of {', '.join(KINDS)}.")
    with vault.opened() as profile:
        listed = profile.record.facts.all(profile.record.scope, kind=kind)
    show_facts(listed, json=json, with_kind=kind is None)


@app.command()
@on_vault
def labs(
    vault: ChosenVault,
    test: Annotated[str | None, typer.Argument(help="A test by name or code: shows all its results.")] = None,
    critical: Annotated[
        bool, typer.Option("--critical", help="Only results flagged as critical or beyond usual limits.")
    ] = False,
    json: Json = False,
) -> None:
    """List the latest result of every test, or all results of one test, oldest first."""
    with vault.opened() as profile:
        known, scope = profile.record.facts, profile.record.scope
        if critical:
            results = profile.record.critical()
        else:
            results = known.latest_results(scope) if test is None else known.trend(test, scope)
    show_facts(results, json=json)


@app.command()
@on_vault
def export(
    vault: ChosenVault,
    target: Annotated[Path, typer.Argument(help="The file to write. It must not exist yet.", show_default=False)],
    what: Annotated[
        str,
        typer.Option("--format", help="fhir (everything) or ips (a short International Patient Summary)."),
    ] = FORMATS[0],
    json: Json = False,
) -> None:
    """Export everything as a FHIR R4 bundle for a doctor or another program. The file is not encrypted."""
    if what not in FORMATS:
        raise InputError(f"--format must be one of {', '.join(FORMATS)}.")
    with vault.opened() as profile:
        data = profile.record.summary() if what == "ips" else profile.record.export()
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise InputError(f"{target} could not be written: {error.strerror}. Choose another name or folder.") from error
    print_result(
        {"path": str(target), "size_bytes": len(data)},
        f"Saved to {target}. Anyone who has this file can read it, so keep it safe.",
        as_json=json,
    )


app.command()(records_ask.ask)
app.command()(records_talks.conversations)
app.command()(records_talks.forget)
app.command()(records_talks.feedback)
app.command()(records_talks.settings)
app.command()(records_review.review)
app.command()(records_review.papers)
app.command()(records_review.remove)
app.command()(records_review.propose)
app.command()(records_review.confirm)
app.command()(records_review.correct)
app.command()(records_review.reject)
app.command()(records_review.alerts)
app.command()(records_review.dismiss)
app.add_typer(records_add.app, name="add")


def _imported_line(imported: Imported) -> str:
    change, entry = imported.change, imported.added.entry if imported.added else None
    mark = "=" if imported.added and imported.added.was_there else "✓"
    counts = f"{change.added} new facts, {change.changed} changed, {change.same} unchanged"
    if imported.files:
        return _export_lines(imported, counts)
    if entry is None:
        return f"{mark} A full record with its documents: {counts}"
    notes = "".join(f"\n    {note}" for note in entry.notes)
    if imported.left_out and entry.media_type != FHIR:  # the notes of a bundle name each
        notes += (
            f"\n    {imported.left_out} coded entries were not added as facts: they have no name, say that something "
            "is absent, or are plans that the text does not mention."
        )
    return f"{mark} {entry.title} ({entry.id[:8]}): {counts}{notes}"


def _export_lines(imported: Imported, counts: str) -> str:
    """What became of the files of an export: those that were read as a number, the others by name."""
    read = [report for report in imported.files if report.is_read]
    lines = [f"✓ {len(read)} of {len(imported.files)} files read: {counts}"]
    lines += (f"    {note}" for note in imported.notes)
    lines += (f"    {report.name}: {report.said}" for report in imported.files if not report.is_read)
    return "\n".join(lines)
