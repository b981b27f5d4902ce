"""What the verbs of `citewell consult` share: the service, the arguments, and how a consult is printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.common import opened, print_json, printable
from citewell.types import User
from citewell.types.consult import Polarity, RedFlag

if TYPE_CHECKING:
    from citewell.assistants.consult.notebook import InterviewStep
    from citewell.assistants.consult.service import ConsultService
    from citewell.consult_wiring import Consultations
    from citewell.types.consult import Finding

ConsultId = Annotated[str, typer.Argument(help="The consultation's ID, or its first characters.", show_default=False)]
FindingId = Annotated[str, typer.Argument(help="The finding's ID, such as f3.", show_default=False)]
MARKS = {
    Polarity.PRESENT: "+",
    Polarity.ABSENT: "−",
    Polarity.UNCLEAR: "?",
    Polarity.PAST: "past",
    Polarity.FAMILY: "family",
    Polarity.OTHER: "other",
    Polarity.HYPOTHETICAL: "if",
    Polarity.INTENDED: "plan",
}


@contextmanager
def room(context: typer.Context, home: Path | None) -> Iterator[tuple[Consultations, User]]:
    """Where consults are held, and who asks."""
    with opened(context, home) as opened_app:
        yield opened_app.consult, User.owner(opened_app.scope_of_owner())


@contextmanager
def consult_service(context: typer.Context, home: Path | None) -> Iterator[tuple[ConsultService, User]]:
    """The flow, and who asks."""
    with room(context, home) as (place, asker):
        yield place.service, asker


def show_turn(turn: InterviewStep, *, json: bool) -> None:
    """What a step came to: new findings, what cannot wait, the next question."""
    from citewell.assistants.consult.view import turn_json

    if json:
        print_json(turn_json(turn))
        return
    consult = turn.consult
    lines = [f"{consult.id[:8]}  {consult.state.value}"]
    if consult.consent is not None and not any(message.role == "user" for message in consult.messages):
        lines.append(consult.consent.shown)
    lines += [turn.emergency.text] if turn.emergency else []
    lines += [f"!! {flag.title}: {flag.act} {flag.why} ({flag.source}){_said(flag)}" for flag in turn.flags]
    last = max((finding.words.message for finding in consult.findings if finding.words), default=0)
    lines += [f"Note: {note}" for note in consult.notes]
    typer.echo(printable("\n".join(lines)))
    for one in consult.findings:
        if one.words is None or one.words.message == last:
            echo_finding(one)
    said = max(
        (interview_turn.position for interview_turn in consult.messages if interview_turn.role == "user"), default=0
    )
    for idle in consult.unused:
        if idle.message == said:
            typer.echo(printable(f"  not used: “{idle.text}” ({idle.why})"))
    for trouble in turn.troubles:
        typer.echo(printable(f"? {trouble}"))
    typer.echo(printable(turn.question.text if turn.question else "No more questions."))


def echo_finding(finding: Finding) -> None:
    """One finding with its words, on one line."""
    value = (
        f" {finding.value:g} {finding.unit or ''}".rstrip()
        if finding.value is not None
        else f" {finding.unit}"
        if finding.unit
        else ""
    )
    more = [
        part
        for part in (
            finding.corrected and f"read as {finding.corrected}",
            finding.arithmetic,
            finding.onset,
            finding.about and f"of {finding.about.lower()}",
        )
        if part
    ]
    words = f" “{finding.words.text}”" if finding.words else f" ({finding.by.value})"
    name = "none" if finding.name == "any" and finding.polarity.value == "absent" else finding.name
    told = f"  {finding.id:4} {MARKS[finding.polarity]:6} {finding.category.value:15} {name}{value}"
    typer.echo(printable(told + (f" [{'; '.join(more)}]" if more else "") + words))


def show_note(turn: InterviewStep, *, json: bool) -> None:
    """A consult as a clinician or a program reads it."""
    from citewell.assistants.consult.view import note_text

    if json:
        show_turn(turn, json=True)
    else:
        typer.echo(printable(note_text(turn.consult)))


def _said(flag: RedFlag) -> str:
    """The words that raised a red flag, where no finding did."""
    return f" Said: {', '.join(f'“{word}”' for word in flag.words)}" if flag.words else ""
