"""`citewell consult`: from an interview to a signed plan, each step a verb."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.frame import Home, Json, opened, print_json, printable
from citewell.cli.unlock import PassphraseStdin, Vault
from citewell.errors import InputError
from citewell.types import Asker

if TYPE_CHECKING:
    from citewell.assistants.consult.desk import ConsultDesk, Turn
    from citewell.bootstrap.consult import ConsultRoom

app = typer.Typer(
    help="Consults: an interview, findings with their words, differentials, and a plan from guidelines, to be signed.",
    no_args_is_help=True,
    add_completion=False,
)

ConsultId = Annotated[str, typer.Argument(help="The consult's id, or its first characters.", show_default=False)]
FindingId = Annotated[str, typer.Argument(help="The finding's id, such as f3.", show_default=False)]
MARKS = {"present": "+", "absent": "−", "family": "family", "past": "past", "hypothetical": "?"}
NO_CONSENT = "{consent} Nothing was read yet. Ask the patient, and start again with --consent to say that they agree."


@contextmanager
def room(context: typer.Context, home: Path | None) -> Iterator[tuple[ConsultRoom, Asker]]:
    """Where consults are held, and who asks."""
    with opened(context, home) as opened_app:
        yield opened_app.consult, Asker.owner(opened_app.scope_of_owner())


@contextmanager
def desk(context: typer.Context, home: Path | None) -> Iterator[tuple[ConsultDesk, Asker]]:
    """The flow, and who asks."""
    with room(context, home) as (place, asker):
        yield place.desk, asker


@app.command()
def start(
    context: typer.Context,
    record: Annotated[
        Path | None, typer.Option(help="The patient's record as a FHIR R4 bundle.", show_default=False)
    ] = None,
    vault: Vault = None,
    from_vault: Annotated[bool, typer.Option("--from-vault", help="Read from a vault of this home.")] = False,
    consent: Annotated[bool, typer.Option("--consent", help="The patient agrees that the record is read.")] = False,
    setting: Annotated[
        str | None, typer.Option(help="Where it is held, such as “primary care” or “hospital”.", show_default=False)
    ] = None,
    country: Annotated[str | None, typer.Option(help="In which country.", show_default=False)] = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Begin a consult; from a record where one is named and the patient agrees."""
    with room(context, home) as (place, asker):
        told = _record(
            context,
            home,
            place,
            record,
            vault=vault,
            is_vault=from_vault or vault is not None,
            is_agreed=consent,
            from_stdin=passphrase_stdin,
        )
        turn = place.desk.start(asker, setting=setting, country=country, record=told)
    _show(turn, json=json)


def _record(
    context: typer.Context,
    home: Path | None,
    place: ConsultRoom,
    record: Path | None,
    *,
    vault: str | None,
    is_vault: bool,
    is_agreed: bool,
    from_stdin: bool,
) -> Any:
    """The findings of a record, once the patient agrees; None without one."""
    if record is None and not is_vault:
        return None
    source = f"the file {record.name}" if record is not None else "the patient's vault"
    if not is_agreed:
        raise InputError(NO_CONSENT.format(consent=place.desk.consent(source)))
    if record is not None:
        return place.from_bundle(record)
    from citewell.cli.unlock import opened_profile

    with opened_profile(context, home, vault, from_stdin=from_stdin) as profile:
        facts = profile.record.facts.all(profile.record.scope)
    return source, place.from_facts(facts)


@app.command()
def say(
    context: typer.Context,
    consult: ConsultId,
    text: Annotated[str, typer.Argument(help="What the patient or the clinician says.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Take a message in: what it says is found, and the next question asked."""
    with desk(context, home) as (flow, asker):
        turn = flow.say(flow.find(consult, asker), text, asker)
    _show(turn, json=json)


@app.command()
def findings(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """List the findings, each with its words, and those that were replaced or taken back."""
    from citewell.assistants.consult.view import turn_json

    with desk(context, home) as (flow, asker):
        turn = flow.look(flow.find(consult, asker), asker)
    if json:
        print_json({key: turn_json(turn)[key] for key in ("id", "findings", "gone", "contradictions")})
        return
    for one in turn.consult.findings:
        _echo_finding(one)
    for one, why in turn.consult.gone:
        typer.echo(printable(f"  ({one.id}) {one.name}, {one.polarity.value}: {why}"))
    for pair in turn.consult.contradictions:
        typer.echo(printable(f"! {pair.first} and {pair.second}: {pair.question}"))


@app.command()
def correct(
    context: typer.Context,
    consult: ConsultId,
    finding: FindingId,
    name: Annotated[str | None, typer.Option(help="Another name.", show_default=False)] = None,
    polarity: Annotated[
        str | None, typer.Option(help="present, absent, family, past or hypothetical.", show_default=False)
    ] = None,
    value: Annotated[float | None, typer.Option(help="Another value.", show_default=False)] = None,
    unit: Annotated[str | None, typer.Option(help="Its unit.", show_default=False)] = None,
    category: Annotated[str | None, typer.Option(help="Another category.", show_default=False)] = None,
    onset: Annotated[str | None, typer.Option(help="Since when.", show_default=False)] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Correct a finding; `new` as its id adds one. What it was stays in the history."""
    given = {"name": name, "polarity": polarity, "value": value, "unit": unit, "category": category, "onset": onset}
    change = {key: told for key, told in given.items() if told is not None}
    with desk(context, home) as (flow, asker):
        consult_id = flow.find(consult, asker)
        is_new = finding.casefold() == "new"
        turn = flow.note(consult_id, change, asker) if is_new else flow.correct(consult_id, finding, change, asker)
    _show(turn, json=json)


@app.command()
def retract(
    context: typer.Context,
    consult: ConsultId,
    finding: FindingId,
    why: Annotated[str, typer.Option(help="Why it does not hold.", show_default=False)] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Take a finding back; it stays in the history."""
    with desk(context, home) as (flow, asker):
        turn = flow.retract(flow.find(consult, asker), finding, asker, why=why)
    _show(turn, json=json)


@app.command()
def confirm(
    context: typer.Context,
    consult: ConsultId,
    finding: Annotated[list[str] | None, typer.Argument(help="Findings; all unless named.", show_default=False)] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Say that findings are right."""
    with desk(context, home) as (flow, asker):
        turn = flow.confirm(flow.find(consult, asker), finding or [], asker)
    _show(turn, json=json)


@app.command()
def acknowledge(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """Say that the red flags were seen."""
    with desk(context, home) as (flow, asker):
        turn = flow.acknowledge(flow.find(consult, asker), asker)
    _show(turn, json=json)


@app.command()
def differentials(
    context: typer.Context,
    consult: ConsultId,
    add: Annotated[
        list[str] | None, typer.Option(help="A condition and how sure: “Malaria:high”.", show_default=False)
    ] = None,
    remove: Annotated[list[str] | None, typer.Option(help="A condition to take out.", show_default=False)] = None,
    generate: Annotated[bool, typer.Option("--generate", help="Have the model suggest some.")] = False,
    despite: Annotated[
        str | None, typer.Option(help="Why it cannot wait for what is missing.", show_default=False)
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Enter, change or remove differentials; red flags and the minimum data set stand before the first."""
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
        _show(turn, json=True)
        return
    for one in turn.consult.differentials:
        typer.echo(printable(f"{one.condition} ({one.confidence}, {one.by.value})"))
        for sign, speaking in (("+", one.supports), ("−", one.opposes)):
            for said in speaking:
                typer.echo(printable(f"  {sign} {said.name} ({said.finding}) — {said.source}"))


def _entered(written: str) -> tuple[str, str]:
    condition, colon, confidence = written.rpartition(":")
    return (condition, confidence) if colon else (written, "moderate")


@app.command()
def assess(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """Write the plan for the differentials from the guidelines; a draft to check, edit and sign."""
    with desk(context, home) as (flow, asker):
        turn = flow.assess(flow.find(consult, asker), asker)
    _note(turn, json=json)


@app.command()
def edit(
    context: typer.Context,
    consult: ConsultId,
    statement: Annotated[str, typer.Argument(help="The statement's number, such as 1.2.", show_default=False)],
    text: Annotated[str, typer.Argument(help="What it shall say.", show_default=False)],
    why: Annotated[str, typer.Option(help="Why.", show_default=False)] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Change a statement of a draft; what the source says stays beside it."""
    with desk(context, home) as (flow, asker):
        turn = flow.edit(flow.find(consult, asker), statement, text, asker, why=why)
    _note(turn, json=json)


@app.command()
def show(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """Show a consult: assessment, differentials, plan with sources."""
    with desk(context, home) as (flow, asker):
        turn = flow.look(flow.find(consult, asker), asker)
    _note(turn, json=json)


@app.command()
def sign(
    context: typer.Context,
    consult: ConsultId,
    name: Annotated[str, typer.Option("--as", help="The clinician who signs.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Sign the draft: it goes on the audit log and cannot be changed."""
    with desk(context, home) as (flow, asker):
        turn = flow.sign(flow.find(consult, asker), name, asker)
    if json:
        _show(turn, json=True)
        return
    record = (turn.consult.answer_id or "")[:8]
    typer.echo(printable(f"Signed by {turn.consult.signed_by}; on record as {record}."))


@app.command()
def export(
    context: typer.Context,
    consult: ConsultId,
    to: Annotated[Path, typer.Option(help="The file: .json for FHIR R4, .pdf or .txt.", show_default=False)],
    home: Home = None,
) -> None:
    """Write a consult to a file: a FHIR R4 document, a PDF, or plain text."""
    from citewell.bootstrap.consult import exported

    with desk(context, home) as (flow, asker):
        turn = flow.look(flow.find(consult, asker), asker)
        data = exported(turn, to.suffix.removeprefix(".").lower())
    to.write_bytes(data)
    typer.echo(printable(f"Wrote {to} ({len(data):,} bytes)."))


@app.command(name="list")
def list_consults(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the consults, the last changed first."""
    from citewell.assistants.consult.view import listed_json

    with desk(context, home) as (flow, asker):
        found = [listed_json(consult) for _, consult in flow.all(asker)]
    if json:
        print_json({"consults": found})
        return
    for one in found:
        typer.echo(printable(f"{one['id'][:8]}  {one['state']:19}  {one['changed_at'][:16]}  {one['patient']}"))


# ------------------------------------------------------------------------------------------------------------ printing


def _show(turn: Turn, *, json: bool) -> None:
    """What a step came to: new findings, what cannot wait, the next question."""
    from citewell.assistants.consult.view import turn_json

    if json:
        print_json(turn_json(turn))
        return
    consult = turn.consult
    lines = [f"{consult.id[:8]}  {consult.state.value}"]
    if consult.consent is not None and not any(one.role == "user" for one in consult.messages):
        lines.append(consult.consent.shown)
    lines += [f"!! {one.title}: {one.act} {one.why} ({one.source})" for one in turn.flags]
    last = max((one.words.message for one in consult.findings if one.words), default=0)
    lines += [f"Note: {note}" for note in consult.notes]
    typer.echo(printable("\n".join(lines)))
    for one in consult.findings:
        if one.words is None or one.words.message == last:
            _echo_finding(one)
    for trouble in turn.troubles:
        typer.echo(printable(f"? {trouble}"))
    typer.echo(printable(turn.question.text if turn.question else "No more questions."))


def _echo_finding(one: Any) -> None:
    value = f" {one.value:g} {one.unit or ''}".rstrip() if one.value is not None else f" {one.unit}" if one.unit else ""
    more = [part for part in (one.arithmetic, one.onset, one.about and f"of {one.about.lower()}") if part]
    words = f" “{one.words.text}”" if one.words else f" ({one.by.value})"
    told = f"  {one.id:4} {MARKS[one.polarity.value]:6} {one.category.value:15} {one.name}{value}"
    typer.echo(printable(told + (f" [{'; '.join(more)}]" if more else "") + words))


def _note(turn: Turn, *, json: bool) -> None:
    from citewell.assistants.consult.view import note_text

    if json:
        _show(turn, json=True)
    else:
        typer.echo(printable(note_text(turn.consult)))
