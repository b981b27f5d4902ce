"""`citewell chat`: talk to the guidelines, answered with whole rules or not at all."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json, printable
from citewell.cli.ids import find


def chat(
    context: typer.Context,
    message: Annotated[str, typer.Argument(help="Your question.", show_default=False)],
    session: Annotated[
        str | None,
        typer.Option("--session", help="Continue this session (ID or its first characters).", show_default=False),
    ] = None,
    guideline: Annotated[
        list[str] | None,
        typer.Option(
            "--guideline", help="Search only this guideline, by name or ID. Repeat for several.", show_default=False
        ),
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Ask the guidelines about criteria, terms or numbered recommendations, quoted in full and cited."""
    from citewell.assistants.guidelines.chat_view import chat_json

    with opened(context, home) as library:
        asker = library.owner()
        session_id = None
        if session is not None:
            known = library.chat.ask_service().conversations.all(asker)
            missing = "Session not found or expired. Leave out --session to start a new one."
            session_id = find(session, (conversation.id for conversation in known), missing=missing)
        done = library.chat.answer(message, asker=asker, session_id=session_id, only=guideline or ())
    if json:
        print_json(chat_json(done))
        return
    typer.echo(printable(done.answer.text))
    for notice in done.answer.notices:
        typer.echo(printable(f"Note: {notice.text}."))
    for one in done.answer.notes.get("unused", ()):
        typer.echo(printable(f"  not used: “{one['words']}” ({one['why']})"))
    typer.echo("")
    typer.echo(f"To continue: --session {(done.conversation_id or '')[:8]}")
