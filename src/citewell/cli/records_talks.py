"""`citewell records conversations`, `forget`, `feedback` and `settings`: what is kept of what was asked, and how."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from citewell.cli.common import Json, print_json, print_result
from citewell.cli.unlock import ChosenVault, on_vault
from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.answer.service import AskService
    from citewell.types import User
    from citewell.vaults.vaults import OpenVault

TITLE_CHARACTERS = 50
AS_SERVER = "default"
"""Sets something back to what the server has."""


def consult_service_of(profile: OpenVault) -> tuple[AskService, User]:
    """Where an open record is asked, and by whom."""
    from citewell.types import User
    from citewell.vaults.ask import make_record_service

    return make_record_service(profile.app, profile.record.facts), User.owner(profile.record.scope)


@on_vault
def conversations(
    vault: ChosenVault,
    conversation: Annotated[
        str | None, typer.Argument(help="ID of one conversation to read.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List the conversations with a record, most recent first, or show one."""
    with vault.opened() as profile:
        service, asker = consult_service_of(profile)
        if conversation is None:
            talks = service.conversations.all(asker)
            shown = [{"id": talk.id, "title": talk.title, "changed_at": talk.changed_at.isoformat()} for talk in talks]
            lines = [f"{talk.id}  {talk.title[:TITLE_CHARACTERS]}" for talk in talks]
            entry: dict[str, Any] = {"conversations": shown}
        else:
            turns = service.conversations.turns(conversation, asker)
            helped = profile.record.feedback
            said = [
                {
                    "role": turn.message.role,
                    "text": turn.message.text,
                    "answer_id": turn.answer_id,
                    "is_helpful": helped.get(turn.answer_id or ""),
                }
                for turn in turns
            ]
            lines = [
                f"{'You' if message.message.role == 'user' else 'Record'}: {message.message.text}\n"
                for message in turns
            ]
            entry = {"id": conversation, "turns": said}
    print_result(entry, "\n".join(lines) or "No questions yet.", as_json=json)


@on_vault
def forget(
    vault: ChosenVault,
    conversation: Annotated[str, typer.Argument(help="ID of the conversation.", show_default=False)],
    json: Json = False,
) -> None:
    """Delete a conversation. The audit log inside the vault keeps its answers."""
    with vault.opened() as profile:
        service, asker = consult_service_of(profile)
        service.conversations.erase(conversation, asker)
    print_result({"erased": conversation}, "Conversation deleted.", as_json=json)


@on_vault
def feedback(
    vault: ChosenVault,
    answer: Annotated[str, typer.Argument(help="ID of the answer, as `ask` shows it.", show_default=False)],
    said: Annotated[
        Literal["helpful", "not-helpful", "none"], typer.Argument(help="Whether it helped; none removes your feedback.")
    ],
    json: Json = False,
) -> None:
    """Say whether an answer helped. Your feedback stays inside the vault."""
    is_helpful = None if said == "none" else said == "helpful"
    with vault.opened() as profile:
        profile.record.give_feedback(answer, is_helpful=is_helpful)
    print_result({"answer_id": answer, "is_helpful": is_helpful}, "Saved in the vault.", as_json=json)


@on_vault
def settings(
    vault: ChosenVault,
    lock_minutes: Annotated[
        int | None, typer.Option(help="Lock after this many idle minutes.", show_default=False)
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Language of Citewell's own words: en, fr, de or default.", show_default=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Who writes the answers: a configured model, or default.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Show or change the settings of a record."""
    from citewell.api.bodies.records import RecordSettingsResponse

    if language not in (None, "en", "fr", "de", AS_SERVER):
        raise InputError("--language must be en, fr, de or default.")
    given = {"lock_minutes": lock_minutes, "language": language, "model": model}
    told = {name: None if value == AS_SERVER else value for name, value in given.items() if value is not None}
    with vault.opened() as profile:
        if told:
            profile.choose(replace(profile.choices, **told))  # type: ignore[arg-type]
        chosen = profile.choices
        shown = RecordSettingsResponse.of(profile)
        minutes = profile.lock_minutes
    if json:
        print_json(shown)
        return
    typer.echo(f"Locks after {minutes:g} idle minutes; language: {chosen.language or 'same as the question'}.")
    typer.echo(f"Answers are written by {shown.in_use}; configured: {', '.join(shown.models)}.")
    where = shown.sent_to
    typer.echo(f"Parts of the record are sent to {where}." if where else "Nothing leaves this computer.")
