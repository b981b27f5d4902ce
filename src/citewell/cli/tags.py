"""`citewell tags`: who answers questions about a tag."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json, printable

app = typer.Typer(help="Set who answers questions about a tag.", add_completion=False, no_args_is_help=True)


@app.callback()
def tags() -> None:
    """Set who answers questions about a tag."""


@app.command()
def owner(
    context: typer.Context,
    tag: Annotated[str, typer.Argument(help="A tag.", show_default=False)],
    email: Annotated[
        str | None, typer.Argument(help="The user who answers. Leave out to send questions to an administrator.")
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Set who receives questions that documents with this tag cannot answer."""
    with opened(context, home) as library:
        tenant = library.tenant
        user = None if email is None else library.people.by_email(email, tenant=tenant)
        library.people.set_owner(tag, tenant=tenant, owner_id=None if user is None else user.id)
        name = tag.strip().lower()
        is_carried = any(name in entry.tags and entry.is_current for entry in library.entries())
    if json:
        print_json({"tag": name, "owner": None if user is None else user.email})
    elif user is None:
        typer.echo(printable(f"Questions about {name} now go to an administrator."))
    else:
        typer.echo(printable(f"Questions about {name} now go to {user.email}."))
    if not json and not is_carried:
        typer.echo(printable(f"No document has the tag {name} yet. To add it: `citewell file ID --tag {name}`."))
