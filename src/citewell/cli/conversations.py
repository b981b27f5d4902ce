"""`citewell conversations`: what was asked and answered, turn by turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from citewell.answer.kept_view import conversation_json, turn_json
from citewell.cli.frame import Home, Json, opened, print_json, printable
from citewell.cli.ids import find

if TYPE_CHECKING:
    from citewell.bootstrap import App

app = typer.Typer(help="List, read and delete conversations.", add_completion=False)

ConversationId = Annotated[
    str, typer.Argument(help="The conversation's id, or its first characters.", show_default=False)
]


def conversation_id(library: App, prefix: str) -> str:
    """The full id of a conversation."""
    known = library.desk.conversations.all(library.owner())
    missing = "There is no such conversation. `citewell conversations` shows the ids."
    return find(prefix, (one.id for one in known), missing=missing)


@app.callback(invoke_without_command=True)
def conversations(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List your conversations, the last changed first."""
    if context.invoked_subcommand is None:
        list_conversations(context, home, json)


@app.command("list")
def list_conversations(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List your conversations, the last changed first."""
    with opened(context, home) as library:
        known = library.desk.conversations.all(library.owner())
    if json:
        print_json({"conversations": [conversation_json(one) for one in known]})
        return
    if not known:
        typer.echo("There are no conversations yet. Begin one with `citewell ask`.")
    for one in known:
        typer.echo(printable(f"{one.id[:8]}  {one.changed_at:%d %b %Y %H:%M} UTC  {one.title}"))


@app.command()
def show(context: typer.Context, conversation: ConversationId, home: Home = None, json: Json = False) -> None:
    """Show a conversation turn by turn."""
    with opened(context, home) as library:
        full = conversation_id(library, conversation)
        turns = library.desk.conversations.turns(full, library.owner())
    if json:
        print_json({"id": full, "turns": [turn_json(turn) for turn in turns]})
        return
    for turn in turns:
        who = "You" if turn.message.role == "user" else f"Answer {(turn.answer_id or '')[:8]}"
        waits = "" if turn.answer_id else "  (not answered: ask it again with --conversation)"
        typer.echo(printable(f"{who}: {turn.message.text}{waits}"))


@app.command()
def delete(
    context: typer.Context,
    conversation: ConversationId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Delete a conversation; the audit log keeps what was answered."""
    with opened(context, home) as library:
        full = conversation_id(library, conversation)
        if not yes and not json:
            typer.confirm("Delete this conversation?", abort=True)
        library.desk.conversations.erase(full, library.owner())
    if json:
        print_json({"deleted": full})
    else:
        typer.echo("Deleted.")
