"""`citewell consult`: from an interview to a signed plan, each step a verb."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from citewell.cli import consult_findings, consult_start
from citewell.cli.consult_frame import ConsultId, desk, show_note, show_turn
from citewell.cli.frame import Home, Json, print_json, printable

app = typer.Typer(
    help="Consultations: an interview, findings, differentials, and a plan from guidelines for a clinician to sign.",
    no_args_is_help=True,
    add_completion=False,
)


def say(
    context: typer.Context,
    consult: ConsultId,
    text: Annotated[str, typer.Argument(help="What the patient or clinician says.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Add a message: record its findings and ask the next question."""
    with desk(context, home) as (flow, asker):
        turn = flow.say(flow.find(consult, asker), text, asker)
    show_turn(turn, json=json)


def differentials(
    context: typer.Context,
    consult: ConsultId,
    add: Annotated[
        list[str] | None, typer.Option(help="A condition and how likely: “Malaria:high”.", show_default=False)
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A condition to remove.", show_default=False)] = None,
    generate: Annotated[bool, typer.Option("--generate", help="Let the model suggest conditions.")] = False,
    despite: Annotated[
        str | None, typer.Option(help="Why this cannot wait for the missing information.", show_default=False)
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Add, change or remove differentials. Red flags and the minimum data set come first."""
    entered = [_entered(one) for one in add or []]
    with desk(context, home) as (flow, asker):
        consult_id = flow.find(consult, asker)
        if entered or remove or generate:
            turn = flow.differentials(
                consult_id, entered, asker, removed=remove or [], despite=despite, is_generated=generate
            )
        else:
            turn = flow.look(consult_id, asker)
    if json:
        show_turn(turn, json=True)
        return
    for differential in turn.consult.differentials:
        typer.echo(printable(f"{differential.condition} ({differential.confidence}, {differential.by.value})"))
        for sign, speaking in (("+", differential.supports), ("−", differential.opposes)):
            for bearing in speaking:
                typer.echo(printable(f"  {sign} {bearing.name} ({bearing.finding}) — {bearing.source}"))


def _entered(written: str) -> tuple[str, str]:
    condition, colon, confidence = written.rpartition(":")
    return (condition, confidence) if colon else (written, "moderate")


def assess(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """Draft a plan for the differentials from the guidelines, to check, edit and sign."""
    with desk(context, home) as (flow, asker):
        turn = flow.assess(flow.find(consult, asker), asker)
    show_note(turn, json=json)


def edit(
    context: typer.Context,
    consult: ConsultId,
    statement: Annotated[str, typer.Argument(help="The statement's number, such as 1.2.", show_default=False)],
    text: Annotated[str, typer.Argument(help="The new wording.", show_default=False)],
    why: Annotated[str, typer.Option(help="Why.", show_default=False)] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Edit a statement of the draft. The source wording stays beside it."""
    with desk(context, home) as (flow, asker):
        turn = flow.edit(flow.find(consult, asker), statement, text, asker, why=why)
    show_note(turn, json=json)


def show(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """Show a consultation: assessment, differentials, and plan with sources."""
    with desk(context, home) as (flow, asker):
        turn = flow.look(flow.find(consult, asker), asker)
    show_note(turn, json=json)


def sign(
    context: typer.Context,
    consult: ConsultId,
    name: Annotated[str, typer.Option("--as", help="Name of the clinician who signs.", show_default=False)],
    despite: Annotated[
        str,
        typer.Option(help="Reason for signing despite a serious warning about your own wording.", show_default=False),
    ] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Sign the draft. It is recorded in the audit log and cannot be changed."""
    with desk(context, home) as (flow, asker):
        turn = flow.sign(flow.find(consult, asker), name, asker, despite=despite)
    if json:
        show_turn(turn, json=True)
        return
    record = (turn.consult.answer_id or "")[:8]
    typer.echo(printable(f"Signed by {turn.consult.signed_by}; audit record {record}."))


def export(
    context: typer.Context,
    consult: ConsultId,
    to: Annotated[Path, typer.Option(help="The file to write: .json (FHIR R4), .pdf or .txt.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Export a consultation as a FHIR R4 document, a PDF or plain text."""
    from citewell.bootstrap.consult import exported

    with desk(context, home) as (flow, asker):
        turn = flow.look(flow.find(consult, asker), asker)
        data = exported(turn, to.suffix.removeprefix(".").lower())
    to.write_bytes(data)
    if json:
        print_json({"file": str(to), "bytes": len(data)})
        return
    typer.echo(printable(f"Saved to {to} ({len(data):,} bytes)."))


def list_consults(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the consultations, most recently changed first."""
    from citewell.assistants.consult.view import listed_json

    with desk(context, home) as (flow, asker):
        found = [listed_json(consult) for _, consult in flow.all(asker)]
    if json:
        print_json({"consults": found})
        return
    for one in found:
        typer.echo(printable(f"{one['id'][:8]}  {one['state']:19}  {one['changed_at'][:16]}  {one['patient']}"))


app.command()(consult_start.start)
app.command()(say)
app.command()(consult_findings.findings)
app.command()(consult_findings.correct)
app.command()(consult_findings.retract)
app.command()(consult_findings.confirm)
app.command()(consult_findings.acknowledge)
app.command()(differentials)
app.command()(assess)
app.command()(edit)
app.command()(show)
app.command()(sign)
app.command()(export)
app.command(name="list")(list_consults)
