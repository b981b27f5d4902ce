"""`citewell person`: all that the library holds about one person."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json, print_result
from citewell.errors import InputError
from citewell.types import OWNER_ID

if TYPE_CHECKING:
    from citewell.operations.person import PersonalData

app = typer.Typer(help="Show, export or erase everything about one person.", add_completion=False, no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The subject of documents, or the ID of a patient.", show_default=False)]


@app.command()
def show(context: typer.Context, name: Name, home: Home = None, json: Json = False) -> None:
    """Count what is held about a person."""
    from citewell.operations.person import personal_data

    with opened(context, home) as library:
        data = personal_data(library, name)
    print_result(_counts(data), _line(data), as_json=json)


@app.command()
def export(
    context: typer.Context,
    name: Name,
    file: Annotated[Path, typer.Argument(help="A new zip file.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Export everything about a person to one zip file, not encrypted."""
    from citewell.operations.person import NOT_SEARCHED, digest, export

    with opened(context, home) as library:
        data = export(library, name, file)
    if json:
        print_json({**_counts(data), "file": file, "sha256": digest(file), "not_searched": NOT_SEARCHED})
        return
    typer.echo(f"✓ {_line(data)}\n  {file}, sha256 {digest(file)}, not encrypted")
    typer.echo(f"  Not searched: {'; '.join(NOT_SEARCHED)}.")


@app.command()
def erase(
    context: typer.Context,
    name: Name,
    receipt: Annotated[Path | None, typer.Option(help="Save the receipt to this new file.", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Permanently erase everything about a person, and print a receipt."""
    import json as jsons

    from citewell.operations.person import NOT_SEARCHED, erase

    if receipt is not None and receipt.exists():
        raise InputError(f"{receipt} is already there. Choose another file. Nothing was erased.")
    if not yes and typer.prompt(f"This erases everything about “{name}”. Type the name to confirm", err=True) != name:
        raise InputError("The name does not match. Nothing was erased.")
    with opened(context, home) as library:
        done = erase(library, name, by=OWNER_ID)
    if receipt is not None:
        receipt.write_text(jsons.dumps(asdict(done), indent=1), "utf-8")
    if json:
        print_json(done)
        return
    typer.echo(
        f"✓ Erased: {len(done.documents)} document versions, {done.patient_files} patient files, {len(done.answers)} "
        f"answers, {done.conversations} conversations. A second search found nothing."
    )
    typer.echo(f"  Not searched: {'; '.join(NOT_SEARCHED)}.\n  Receipt: {receipt or 'save one with --receipt FILE'}")


@app.command()
def check(
    context: typer.Context,
    receipt: Annotated[Path, typer.Argument(help="A receipt of `citewell person erase`.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="Check that it is about this person.", show_default=False)] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Check that a receipt is genuine, and that nothing about the person has come back."""
    import json as jsons

    from citewell.operations.person import is_genuine, personal_data
    from citewell.wiring import open_seal

    try:
        told = dict(jsons.loads(receipt.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise InputError(f"{receipt} is not a receipt.") from error
    with opened(context, home) as library:
        if not is_genuine(library, told):
            raise InputError("This receipt was changed, or another library wrote it.")
        if name is not None and open_seal(library.library).fingerprint(name) != told["person"]:
            raise InputError("This receipt is about somebody else.")
        left = None if name is None else personal_data(library, name).count
    print_result(
        {"is_genuine": True, "found_now": left},
        "The receipt is genuine." + ("" if left is None else f" Found about this person now: {left}."),
        as_json=json,
    )


def _counts(data: PersonalData) -> dict[str, object]:
    return {
        "name": data.name,
        "documents": [asdict(entry) for entry in data.documents],
        "patient_files": [path.name for path in data.patient_files],
        "answers": [record.entry.answer_id for record in data.records],
    }


def _line(data: PersonalData) -> str:
    return (
        f"{len(data.documents)} document versions, {len(data.patient_files)} patient files, "
        f"{len(data.records)} questions and assessments"
    )
