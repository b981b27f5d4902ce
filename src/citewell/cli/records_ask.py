"""`citewell records ask`: a question to one's own record, answered from its facts and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.common import Json, print_json, printable
from citewell.cli.records_talks import consult_service_of
from citewell.cli.unlock import ChosenVault, on_vault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from citewell.answer.events import AnswerDone, Event


@on_vault
def ask(
    vault: ChosenVault,
    question: Annotated[str, typer.Argument(help="A question about the record, in plain words.", show_default=False)],
    conversation: Annotated[
        str | None, typer.Option(help="ID of the conversation to continue.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Answer from the record's own facts and words, with sources. Emergency advice always comes first."""
    from citewell.allowed_models import elsewhere
    from citewell.answer.answer_json import done_json
    from citewell.assistants.records.confidence import band

    with vault.opened() as profile:
        if (where := elsewhere(profile.app.settings)) and not json:
            typer.echo(printable(f"Your question and parts of your record are sent to {where}."), err=True)
        service, asker = consult_service_of(profile)
        done = _told(service.ask(question, asker=asker, conversation_id=conversation), is_quiet=json)
    if json:
        print_json(done_json(done, with_withheld=True))
        return
    for idle in done.answer.notes.get("unused", ()):
        typer.echo(printable(f"  not used: “{idle['words']}” ({idle['why']})"))
    if done.answer.citations:
        typer.echo(f"{band(done.answer.confidence.calibrated).capitalize()}.")
    for citation in done.answer.citations:
        where = f", page {citation.page}" if citation.page else ""
        typer.echo(printable(f"  [{citation.n}] {citation.document}{where}"))
    typer.echo(f"To continue: --conversation {done.conversation_id}")
    if topic := done.answer.notes.get("topic"):
        typer.echo(printable(f"To ask without “{topic}”: leave out --conversation"))
    if done.answer.emergency is None:
        typer.echo(f"Did it help? citewell records feedback {done.answer.id} helpful")


def _told(events: Iterable[Event], *, is_quiet: bool) -> AnswerDone:
    """Read an answer to its end; a notice in an emergency is printed before anything is searched."""
    from citewell.answer.answer_json import without_help
    from citewell.answer.events import AnswerDone, Notice

    for event in events:
        if isinstance(event, Notice) and event.is_emergency and not is_quiet:
            typer.echo(printable(f"{event.text}\n"))
        if isinstance(event, AnswerDone):
            if not is_quiet:
                typer.echo(printable(without_help(event.answer)))
            return event
    raise AssertionError("an answer ends with its end")
