"""`citewell conversations`: what was asked and answered, turn by turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from citewell.answer.history_json import reply_to, turns_json
from citewell.api.bodies.history import ConversationsResponse
from citewell.cli.common import After, Home, Json, Limit, opened, print_json, print_next, print_result, printable
from citewell.cli.ids import find, part_of
from citewell.history import PAGE_LENGTH

if TYPE_CHECKING:
    from citewell.app import App

app = typer.Typer(help="List, read and delete conversations.", add_completion=False)

ConversationId = Annotated[
    str, typer.Argument(help="The conversation's ID, its first characters, or its hash in a log.", show_default=False)
]


def conversation_id(library: App, prefix: str) -> str:
    """The full id of a conversation."""
    part = part_of(prefix)
    known = library.ask_service.conversations.page(library.owner(), limit=part.limit, starting=part.starting).items
    missing = "Conversation not found. `citewell conversations` shows the IDs."
    return find(prefix, (conversation.id for conversation in known), missing=missing)


@app.callback(invoke_without_command=True)
@app.command("list")
def list_conversations(
    context: typer.Context, limit: Limit = PAGE_LENGTH, after: After = None, home: Home = None, json: Json = False
) -> None:
    """List your conversations, most recent first."""
    if context.invoked_subcommand is not None:
        return
    with opened(context, home) as library:
        known = library.ask_service.conversations.page(library.owner(), limit=limit, after=after)
    if json:
        print_json(ConversationsResponse.model_validate(known))
        return
    if not known.items:
        typer.echo("No conversations yet. Start one with `citewell ask`.")
    for conversation in known.items:
        typer.echo(
            printable(f"{conversation.id[:8]}  {conversation.changed_at:%d %b %Y %H:%M} UTC  {conversation.title}")
        )
    print_next(known)


@app.command()
def show(context: typer.Context, conversation: ConversationId, home: Home = None, json: Json = False) -> None:
    """Show a conversation turn by turn."""
    with opened(context, home) as library:
        full = conversation_id(library, conversation)
        turns = library.ask_service.conversations.turns(full, library.owner())
        replies = library.ask_service.inbox.replies(
            (turn.answer_id for turn in turns if turn.answer_id), library.owner()
        )
    if json:
        print_json(turns_json(full, turns, replies))
        return
    for turn in turns:
        who = "You" if turn.message.role == "user" else f"Answer {(turn.answer_id or '')[:8]}"
        waits = "" if turn.answer_id else "  (not answered: ask it again with --conversation)"
        typer.echo(printable(f"{who}: {turn.message.text}{waits}"))
        if (reply := reply_to(turn, replies)) is not None:
            typer.echo(printable(f"Reply: {reply}"))


@app.command()
def delete(
    context: typer.Context,
    conversation: ConversationId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Delete a conversation. The audit log keeps its answers."""
    with opened(context, home) as library:
        full = conversation_id(library, conversation)
        if not yes and not json:
            typer.confirm("Delete this conversation?", abort=True)
        library.ask_service.conversations.erase(full, library.owner())
    print_result({"deleted": full}, "Deleted.", as_json=json)
