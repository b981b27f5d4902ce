"""`citewell consult`: from an interview to a signed plan, each step a verb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json, print_result, printable
from citewell.cli.unlock import ChosenVault, PassphraseStdin, Vault
from citewell.errors import InputError
from citewell.types import OWNER_ID, User
from citewell.types.consult import Polarity, RedFlag, Signer

if TYPE_CHECKING:
    from citewell.app import App
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
    return f" In the text: {', '.join(f'“{word}”' for word in flag.words)}" if flag.words else ""


NO_CONSENT = (
    "{consent} Nothing has been read yet. Ask the patient, then start again with --consent to confirm they agree."
)


def start(
    context: typer.Context,
    record: Annotated[
        Path | None, typer.Option(help="The patient's record as a FHIR R4 bundle.", show_default=False)
    ] = None,
    vault: Vault = None,
    from_vault: Annotated[bool, typer.Option("--from-vault", help="Read from one of your vaults.")] = False,
    consent: Annotated[
        bool, typer.Option("--consent", help="The patient consents to their record being read.")
    ] = False,
    setting: Annotated[
        str | None, typer.Option(help="Care setting, such as “primary care” or “hospital”.", show_default=False)
    ] = None,
    country: Annotated[str | None, typer.Option(help="Country.", show_default=False)] = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Start a consultation, optionally from a record if the patient consents."""
    with room(context, home) as (place, asker):
        told = _record(
            place,
            record,
            ChosenVault(context, home, vault, passphrase_stdin) if from_vault or vault is not None else None,
            is_agreed=consent,
        )
        turn = place.service.start(asker, setting=setting, country=country, record=told)
    show_turn(turn, json=json)


def _record(
    place: Consultations, record: Path | None, vault: ChosenVault | None, *, is_agreed: bool
) -> tuple[str, Sequence[Finding]] | None:
    """The findings of a record, once the patient agrees; None without one."""
    if record is None and vault is None:
        return None
    source = f"the file {record.name}" if record is not None else "the patient's vault"
    if not is_agreed:
        raise InputError(NO_CONSENT.format(consent=place.service.consent(source)))
    if record is not None:
        return place.from_bundle(record)
    assert vault is not None  # else there was nothing to read
    with vault.opened() as profile:
        facts = profile.record.facts.all(profile.record.scope)
    return source, place.from_facts(facts)


def findings(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """List the findings with their source words, and those replaced or withdrawn."""
    from citewell.assistants.consult.view import turn_json

    with consult_service(context, home) as (flow, asker):
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
    with consult_service(context, home) as (flow, asker):
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
    with consult_service(context, home) as (flow, asker):
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
    with consult_service(context, home) as (flow, asker):
        turn = flow.confirm(flow.find(consult, asker), finding or [], asker)
    show_turn(turn, json=json)


def acknowledge(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """Acknowledge the red flags."""
    with consult_service(context, home) as (flow, asker):
        turn = flow.acknowledge(flow.find(consult, asker), asker)
    show_turn(turn, json=json)


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
    with consult_service(context, home) as (flow, asker):
        turn = flow.say(flow.find(consult, asker), text, asker)
    show_turn(turn, json=json)


def differentials(
    context: typer.Context,
    consult: ConsultId,
    add: Annotated[
        list[str] | None, typer.Option(help="A condition and how likely it is: “Malaria:high”.", show_default=False)
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
    with consult_service(context, home) as (flow, asker):
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
        for sign, speaking in (("+", differential.supports), ("− no", differential.opposes)):
            for bearing in speaking:
                typer.echo(printable(f"  {sign} {bearing.name} ({bearing.finding}) — {bearing.source}"))


def _entered(written: str) -> tuple[str, str]:
    condition, colon, confidence = written.rpartition(":")
    return (condition, confidence) if colon else (written, "moderate")


def assess(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """Draft a plan for the differentials from the guidelines, to check, edit and sign."""
    with consult_service(context, home) as (flow, asker):
        turn = flow.assess(flow.find(consult, asker), asker)
    show_note(turn, json=json)


def edit(
    context: typer.Context,
    consult: ConsultId,
    statement: Annotated[str, typer.Argument(help="The line's number, such as 1.2.", show_default=False)],
    text: Annotated[str, typer.Argument(help="The new wording.", show_default=False)],
    why: Annotated[str, typer.Option(help="Reason.", show_default=False)] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Edit a line of the draft. The source wording stays beside it."""
    with consult_service(context, home) as (flow, asker):
        turn = flow.edit(flow.find(consult, asker), statement, text, asker, why=why)
    show_note(turn, json=json)


def add(
    context: typer.Context,
    consult: ConsultId,
    text: Annotated[str, typer.Argument(help="The line to add.", show_default=False)],
    to: Annotated[int, typer.Option(help="The number of the diagnosis it belongs to.")] = 1,
    why: Annotated[str, typer.Option(help="Reason.", show_default=False)] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Add a line of your own to the draft. It is marked as yours."""
    with consult_service(context, home) as (flow, asker):
        turn = flow.add(flow.find(consult, asker), to, text, asker, why=why)
    show_note(turn, json=json)


def remove(
    context: typer.Context,
    consult: ConsultId,
    statement: Annotated[str, typer.Argument(help="The line's number, such as 1.2.", show_default=False)],
    why: Annotated[str, typer.Option(help="Reason.", show_default=False)] = "",
    restore: Annotated[bool, typer.Option("--restore", help="Restore it instead.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Remove a line from the draft. It stays on record with the reason."""
    with consult_service(context, home) as (flow, asker):
        consult_id = flow.find(consult, asker)
        if restore:
            turn = flow.restore(consult_id, statement, asker)
        else:
            turn = flow.remove(consult_id, statement, asker, why=why)
    show_note(turn, json=json)


def move(
    context: typer.Context,
    consult: ConsultId,
    statement: Annotated[str, typer.Argument(help="The line's number, such as 1.2.", show_default=False)],
    before: Annotated[
        str, typer.Option(help="The line to move it before. By default it moves to the end.", show_default=False)
    ] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Move a line of the draft before another in the same diagnosis, or to the end."""
    with consult_service(context, home) as (flow, asker):
        turn = flow.move(flow.find(consult, asker), statement, asker, before=before)
    show_note(turn, json=json)


def show(context: typer.Context, consult: ConsultId, home: Home = None, json: Json = False) -> None:
    """Show a consultation: assessment, differentials, and plan with sources."""
    with consult_service(context, home) as (flow, asker):
        turn = flow.look(flow.find(consult, asker), asker)
    show_note(turn, json=json)


def sign(
    context: typer.Context,
    consult: ConsultId,
    name: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="Not needed: the name is the one in `users profile`; any other is refused.",
            show_default=False,
        ),
    ] = None,
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read the token of the printed link from standard input.")
    ] = False,
    despite: Annotated[
        str,
        typer.Option(
            help="Reason for signing despite a serious warning, a contradiction or an empty plan.", show_default=False
        ),
    ] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """Sign the draft as the owner of this installation, whose token confirms it. It cannot be changed afterwards."""
    with opened(context, home) as library:
        flow, asker = library.consult.service, library.owner()
        consult_id = flow.find(consult, asker)
        flow.before_signing(consult_id, asker, despite=despite)
        signer = _signer(library, name, from_stdin=token_stdin)
        turn = flow.sign(consult_id, signer, asker, despite=despite)
    if json:
        show_turn(turn, json=True)
        return
    record = (turn.consult.answer_id or "")[:8]
    typer.echo(printable(f"Signed by {turn.consult.signed_as}; audit record {record}."))


def _signer(library: App, name: str | None, *, from_stdin: bool) -> Signer:
    """The owner of this installation, under the name in their profile, once they have entered its token."""
    from citewell.api.confirmation import NO_OWNER_NAME, WRONG_LINK
    from citewell.api.serve import token_for
    from citewell.api.token_signer import is_equal
    from citewell.cli.unlock import ask

    profile = library.people.owner_profile(library.tenant)
    if profile is None or profile.registration is None:
        raise InputError(NO_OWNER_NAME)
    if name is not None and name.strip() != profile.name:
        raise InputError(f"You sign as {profile.name}: leave out --as. Nothing was signed.")
    given = ask("Token of the printed link", from_stdin=from_stdin, option="--token-stdin")
    if not is_equal(given, token_for(library.settings)):
        raise InputError(WRONG_LINK)
    return Signer(OWNER_ID, profile.name, profile.registration, "token")


def export(
    context: typer.Context,
    consult: ConsultId,
    to: Annotated[Path, typer.Option(help="The file to write: .json (FHIR R4), .pdf or .txt.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Export a consultation as a FHIR R4 document, a PDF or plain text."""
    from citewell.consult_export import exported

    with consult_service(context, home) as (flow, asker):
        turn = flow.look(flow.find(consult, asker), asker)
        data = exported(turn, to.suffix.removeprefix(".").lower())
    to.write_bytes(data)
    print_result({"file": str(to), "bytes": len(data)}, f"Saved to {to} ({len(data):,} bytes).", as_json=json)


def list_consults(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the consultations, most recently changed first."""
    from citewell.assistants.consult.view import listed_json

    with consult_service(context, home) as (flow, asker):
        entries = [listed_json(*listed) for listed in flow.all(asker)]
    if json:
        print_json({"consults": entries})
        return
    for entry in entries:
        typer.echo(printable(f"{entry['id'][:8]}  {entry['state']:19}  {entry['changed_at'][:16]}  {entry['patient']}"))


app.command()(start)
app.command()(say)
app.command()(findings)
app.command()(correct)
app.command()(retract)
app.command()(confirm)
app.command()(acknowledge)
app.command()(differentials)
app.command()(assess)
app.command()(edit)
app.command()(add)
app.command()(remove)
app.command()(move)
app.command()(show)
app.command()(sign)
app.command()(export)
app.command(name="list")(list_consults)
