"""`citewell records ask`: a question to one's own record, answered from its facts and documents."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.frame import Home, Json, print_json, printable
from citewell.cli.unlock import PassphraseStdin, Vault, opened_profile


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="A question about the record, in plain words.", show_default=False)],
    conversation: Annotated[
        str | None, typer.Option(help="Id of the conversation to go on with.", show_default=False)
    ] = None,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Answer from the record's own facts and words, each with its place; an emergency is told before anything else."""
    from citewell.answer.view import done_json
    from citewell.assistants.records.confidence import band
    from citewell.bootstrap.record_desk import make_record_desk
    from citewell.types import Asker

    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        desk = make_record_desk(profile.app, profile.record.facts)
        done = desk.answer(question, asker=Asker.owner(profile.record.scope), conversation_id=conversation)
    if json:
        print_json(done_json(done, with_withheld=True))
        return
    typer.echo(printable(done.answer.text))
    if done.answer.citations:
        typer.echo(f"{band(done.answer.confidence.calibrated).capitalize()}.")
    for one in done.answer.citations:
        where = f", page {one.page}" if one.page else ""
        typer.echo(printable(f"  [{one.n}] {one.document}{where}"))
    typer.echo(f"Go on with --conversation {done.conversation_id}")
