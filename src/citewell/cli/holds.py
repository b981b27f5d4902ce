"""`citewell holds`: legal holds, which keep documents and people's data from being erased."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json, print_result, printable
from citewell.errors import InputError
from citewell.types import OWNER_ID

if TYPE_CHECKING:
    from citewell.adapters.store.holds import HoldKind
    from citewell.app import App

app = typer.Typer(help="Legal holds: keep data from being erased.", add_completion=False, no_args_is_help=True)

Document = Annotated[str | None, typer.Option("--document", help="ID of a document: all versions.", show_default=False)]
Person = Annotated[str | None, typer.Option("--person", help="A subject or patient ID.", show_default=False)]
Everything = Annotated[bool, typer.Option("--everything", help="The whole library, conversations included.")]


@app.command("list")
def list_holds(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the holds, oldest first."""
    with opened(context, home) as library:
        holds = library.holds.all(tenant=library.tenant)
    if json:
        print_json({"holds": holds})
        return
    if not holds:
        typer.echo("No holds. Add one with `citewell holds add`.")
    for hold in holds:
        typer.echo(printable(f"{hold.kind} {hold.name}".rstrip() + f"  {hold.made_at:%Y-%m-%d}  {hold.reason}"))


@app.command()
def add(
    context: typer.Context,
    why: Annotated[str, typer.Option(help="Who ordered the hold, and why.", show_default=False)],
    document: Document = None,
    person: Person = None,
    everything: Everything = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Add a hold: nothing it covers can be erased until it is removed."""
    with opened(context, home) as library:
        kind, name = _what(library, document, person, everything=everything)
        hold = library.holds.add(kind, name, reason=why, by=OWNER_ID, tenant=library.tenant)
    print_result(hold, "Hold added.", as_json=json)


@app.command()
def remove(
    context: typer.Context,
    document: Document = None,
    person: Person = None,
    everything: Everything = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Remove a hold."""
    with opened(context, home) as library:
        kind, name = _what(library, document, person, everything=everything)
        library.holds.remove(kind, name, tenant=library.tenant)
    print_result({"removed": {"kind": kind, "name": name}}, "Hold removed.", as_json=json)


def _what(library: App, document: str | None, person: str | None, *, everything: bool) -> tuple[HoldKind, str]:
    """What a hold is on: exactly one thing."""
    from citewell.adapters.store.holds import HoldKind

    if sum((document is not None, person is not None, everything)) != 1:
        raise InputError("Name one: --document, --person or --everything.")
    if document is not None:
        return HoldKind.DOCUMENT, library.library.entry(library.find(document), library.scope_of_owner()).lineage
    return (HoldKind.PERSON, person) if person is not None else (HoldKind.EVERYTHING, "")
