"""`citewell audit`: what was answered, on what, to whom; and whether the log is whole."""

from __future__ import annotations

from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.answer.history_json import record_json
from citewell.answer.references import REFERENCE_FORMATS, ReferenceFormatName
from citewell.answer_export import AnswerFormat, exported
from citewell.api.bodies.history import ProofResponse
from citewell.cli.common import Home, Json, opened, print_json, print_result, printable
from citewell.cli.ids import find, part_of
from citewell.errors import InputError
from citewell.history import AuditHead, TrailFilter

if TYPE_CHECKING:
    from citewell.app import App

app = typer.Typer(
    help="View and verify the log of all answers and the trail of access.", add_completion=False, no_args_is_help=True
)

AnswerId = Annotated[
    str, typer.Argument(help="The answer's ID, its first characters, or its hash in a log.", show_default=False)
]


def answer_id(library: App, prefix: str) -> str:
    """The full id of an answer on record."""
    part = part_of(prefix)
    entries = library.ask_service.audit.entries(library.owner(), limit=part.limit, starting=part.starting)
    missing = "Answer not found in the audit log. `citewell audit list` shows the IDs."
    return find(prefix, (entry.answer_id for entry in entries), missing=missing)


@app.command("list")
def list_records(
    context: typer.Context,
    limit: Annotated[int, typer.Option(help="Number of records to show, newest first.", min=1)] = 50,
    before: Annotated[int | None, typer.Option(help="Only records with a lower number.", min=1)] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """List the newest records. Their contents are encrypted; `show` opens one."""
    with opened(context, home) as library:
        entries = library.ask_service.audit.entries(library.owner(), limit=limit, before=before)
    if json:
        print_json({"records": entries})
        return
    if not entries:
        typer.echo("No answers yet. Ask something with `citewell ask`.")
    for entry in entries:
        typer.echo(f"{entry.number:>6}  {entry.answer_id[:8]}  {entry.made_at:%d %b %Y %H:%M} UTC  {entry.user_id}")


@app.command()
def show(context: typer.Context, answer: AnswerId, home: Home = None, json: Json = False) -> None:
    """Show one record: question, scope, versions searched, evidence, answer and verdicts."""
    with opened(context, home) as library:
        asker = library.owner()
        record = library.ask_service.audit.read(answer_id(library, answer), asker)
    entry = record_json(record)
    if json:
        print_json(entry)
    else:
        _print(entry)


@app.command()
def share(
    context: typer.Context,
    answer: AnswerId,
    end: Annotated[bool, typer.Option("--end", help="End the link instead.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Make a link to an answer for everyone here with access to all of its sources."""
    with opened(context, home) as library:
        full = answer_id(library, answer)
        made = None if end else library.share(full)
        if made is None:
            library.unshare(full)
    if json:
        print_json({"answer_id": full, "path": made and f"/shared/{made.id}"})
    else:
        typer.echo("The link no longer works." if made is None else f"/shared/{made.id}")


@app.command()
def references(
    context: typer.Context,
    answer: AnswerId,
    format: Annotated[ReferenceFormatName, typer.Option(help="Format of the references.")] = ReferenceFormatName.RIS,
    home: Home = None,
    json: Json = False,
) -> None:
    """Print the documents that an answer cites, for reference managers: RIS, BibTeX or CSL-JSON."""
    with opened(context, home) as library:
        cited = library.references(answer_id(library, answer))
    text = REFERENCE_FORMATS[format].write(cited)
    if json:
        print_json({"format": format, "count": len(cited), "references": text})
    else:
        typer.echo(printable(text), nl=False)


@app.command()
def export(
    context: typer.Context,
    answer: AnswerId,
    to: Annotated[Path, typer.Option(help="The file to write: .md, .docx or .pdf.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Write an answer with its references to a file: Markdown, Word or PDF."""
    kind = next((kind for kind in AnswerFormat if to.suffix.lower() == f".{kind}"), None)
    if kind is None:
        raise InputError("Answers can be exported as .md, .docx or .pdf. Choose one of these.")
    with opened(context, home) as library:
        service = library.ask_service
        record = service.as_known_now(service.audit.read(answer_id(library, answer), library.owner()))
        data = exported(record, kind)
    to.write_bytes(data)
    print_result({"file": str(to), "bytes": len(data)}, f"Saved to {to} ({len(data):,} bytes).", as_json=json)


def _print(entry: dict[str, Any]) -> None:
    library, scope = entry["library"], entry["scope"]
    by = f"{entry['user_id']} ({entry['asker']['role']})"
    tags = " ".join(scope["tags"]) or "none"
    lines = [
        f"Record {entry['number']} · {entry['made_at']} · {by} · {entry['ended']}",
        f"Question: {entry['question']}",
        f"Scope: tenant {scope['tenant']}, tags {tags}, journey {scope['journey'] or 'none'}",
        f"Searched: {library['documents']} documents at stamp {library['stamp']}",
        f"Writer: {entry['setup']['writer']['name']}",
    ]
    lines += [
        f"  passage {one['number']}: {one['document']}, version {one['version']}, {one['source_id']} "
        f"characters {one['start']}–{one['end']}"
        for one in entry["evidence"]
    ]
    lines += [
        f"  {'shown' if one['is_shown'] else 'withheld'}, {one['verdict']}: {one['text']}" for one in entry["claims"]
    ]
    if entry["answer"]:
        lines.append(f"{entry['answer']['action']}: {entry['answer']['text']}")
    typer.echo(printable("\n".join([*lines, f"Hash {entry['hash']}"])))


@app.command()
def verify(
    context: typer.Context,
    head: Annotated[
        str | None,
        typer.Option(
            help="COUNT:HASH printed by an earlier run. Verifies that everything up to that point is still there."
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="A file that CITEWELL_TRAIL_TO wrote: every record and head in it must still hold.",
            show_default=False,
        ),
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Verify that no record of the answers and of the trail of access was changed, removed or moved."""
    try:
        known = [] if head is None else [AuditHead.read(head)]
    except ValueError as error:
        raise InputError("Enter the head as `citewell audit verify` prints it, like 12:9f….") from error
    with opened(context, home) as library:
        told = {} if against is None else _told_outside(against, library.tenant)
        proof = library.audit_log.verify_chain(library.tenant, known=[*known, *told.get("answers", ())])
        access = library.trail.verify_chain(library.tenant, known=told.get("trail", ()))
    if json:
        trail = ProofResponse.model_validate(access).model_dump()
        print_json({**ProofResponse.model_validate(proof).model_dump(), "trail": trail})
    else:
        for problem in (*proof.problems, *(f"trail of access: {problem}" for problem in access.problems)):
            typer.echo(f"✗ {problem}", err=True)
        whole = "the chain is intact" if not proof.problems else "the chain is not intact"
        typer.echo(f"{proof.records} on record: {whole}. Head {proof.head}")
        whole = "intact" if not access.problems else "not intact"
        typer.echo(f"Trail of access: {access.records} on record, {whole}. Head {access.head}")
    if proof.problems or access.problems:
        raise typer.Exit(1)


def _told_outside(path: Path, tenant: str) -> dict[str, list[AuditHead]]:
    """What a file outside the library says of a tenant's logs: every head, and the number and hash of every record."""
    told: dict[str, list[AuditHead]] = {"answers": [], "trail": []}
    try:
        for line in path.read_text("utf-8").splitlines():
            entry = loads(line)
            if entry["tenant"] == tenant:
                count = entry["number"] if entry["log"] == "trail" else entry["count"]
                told[entry["log"] if entry["log"] == "trail" else entry["of"]].append(
                    AuditHead(int(count), entry["hash"])
                )
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path} holds no lines that CITEWELL_TRAIL_TO wrote. Choose another file.") from error
    return told


@app.command()
def accept(
    context: typer.Context,
    log: Annotated[str, typer.Argument(help="answers or trail: the log whose problems you have looked into.")],
    home: Home = None,
    json: Json = False,
) -> None:
    """After a restored backup: take a log as it stands as the right one. The trail keeps that you did."""
    if log not in ("answers", "trail"):
        raise InputError("Enter answers or trail.")
    with opened(context, home) as library:
        chain = library.audit_log.chain if log == "answers" else library.trail.chain
        head = chain.accept(library.tenant)
    print_result(
        {"log": log, "head": str(head)},
        f"Accepted as it stands: {log}, head {head}. Note the head elsewhere.",
        as_json=json,
    )


@app.command()
def trail(
    context: typer.Context,
    user: Annotated[str | None, typer.Option(help="Only of this user, by ID or email.", show_default=False)] = None,
    action: Annotated[
        str | None,
        typer.Option(help="Only this action, or what begins with it, such as document.", show_default=False),
    ] = None,
    object_id: Annotated[str | None, typer.Option("--object", help="Only about this ID.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(help="Number of records to show, newest first.", min=1)] = 50,
    before: Annotated[int | None, typer.Option(help="Only records with a lower number.", min=1)] = None,
    export: Annotated[
        Path | None, typer.Option(help="Write all of them to a file as JSON lines, oldest first.", show_default=False)
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """List who opened, searched, exported or administered what: IDs only."""
    with opened(context, home) as library:
        if user is not None and "@" in user:
            user = library.people.by_email(user, tenant=library.tenant).id
        sought = TrailFilter(user, action, object_id, None, before, limit=limit)
        if export is not None:
            entries = [record.as_json() for record in library.trail.exported(library.tenant, sought)]
            export.write_text("".join(f"{dumps(entry)}\n" for entry in entries), "utf-8")
            typer.echo(f"{len(entries)} records written to {export}.")
            return
        records = library.trail.records(library.tenant, sought)
    if json:
        print_json({"records": [record.as_json() for record in records]})
        return
    if not records:
        typer.echo("No records yet.")
    for record in records:
        event = record.event
        told = f"{record.number:>6}  {event.at:%d %b %Y %H:%M:%S} UTC  {event.user_id or '-':36}  {event.way:7}"
        typer.echo(printable(f"{told}  {event.outcome:7}  {event.action}  {event.object_id}"))
