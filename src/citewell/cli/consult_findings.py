"""`citewell consult findings`, `correct`, `retract`, `confirm`, `acknowledge`: what was found, and what holds."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.consult_frame import ConsultId, FindingId, desk, echo_finding, show_turn
from citewell.cli.frame import Home, Json, print_json, printable


def findings(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """List the findings with their source words, and those replaced or withdrawn."""
    from citewell.assistants.consult.view import turn_json

    with desk(context, home) as (flow, asker):
        turn = flow.look(flow.find(consult, asker), asker)
    if json:
        print_json({key: turn_json(turn)[key] for key in ("id", "findings", "gone", "contradictions")})
        return
    for finding in turn.consult.findings:
        echo_finding(finding)
    for finding, why in turn.consult.gone:
        typer.echo(printable(f"  ({finding.id}) {finding.name}, {finding.polarity.value}: {why}"))
    for pair in turn.consult.contradictions:
        typer.echo(printable(f"! {pair.first} and {pair.second}: {pair.question}"))


def correct(
    context: typer.Context,
    consult: ConsultId,
    finding: FindingId,
    name: Annotated[str | None, typer.Option(help="New name.", show_default=False)] = None,
    polarity: Annotated[
        str | None, typer.Option(help="present, absent, family, past or hypothetical.", show_default=False)
    ] = None,
    value: Annotated[float | None, typer.Option(help="New value.", show_default=False)] = None,
    unit: Annotated[str | None, typer.Option(help="Unit.", show_default=False)] = None,
    category: Annotated[str | None, typer.Option(help="New category.", show_default=False)] = None,
    onset: Annotated[str | None, typer.Option(help="When it started.", show_default=False)] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Correct a finding, or add one with `new` as its ID. The old value stays in the history."""
    given = {"name": name, "polarity": polarity, "value": value, "unit": unit, "category": category, "onset": onset}
    change = {key: told for key, told in given.items() if told is not None}
    with desk(context, home) as (flow, asker):
        consult_id = flow.find(consult, asker)
        is_new = finding.casefold() == "new"
        turn = flow.note(consult_id, change, asker) if is_new else flow.correct(consult_id, finding, change, asker)
    show_turn(turn, json=json)


def retract(
    context: typer.Context,
    consult: ConsultId,
    finding: FindingId,
    why: Annotated[str, typer.Option(help="Why it is withdrawn.", show_default=False)] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Withdraw a finding. It stays in the history."""
    with desk(context, home) as (flow, asker):
        turn = flow.retract(flow.find(consult, asker), finding, asker, why=why)
    show_turn(turn, json=json)


def confirm(
    context: typer.Context,
    consult: ConsultId,
    finding: Annotated[
        list[str] | None, typer.Argument(help="Findings to confirm. All by default.", show_default=False)
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Confirm findings."""
    with desk(context, home) as (flow, asker):
        turn = flow.confirm(flow.find(consult, asker), finding or [], asker)
    show_turn(turn, json=json)


def acknowledge(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """Acknowledge the red flags."""
    with desk(context, home) as (flow, asker):
        turn = flow.acknowledge(flow.find(consult, asker), asker)
    show_turn(turn, json=json)
