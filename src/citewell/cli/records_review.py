"""`citewell records review`, `alerts` and what a person decides about them."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.frame import Home, Json, print_json, printable
from citewell.cli.unlock import PassphraseStdin, Vault, opened_profile
from citewell.errors import InputError
from citewell.ports.records import PaperKind

if TYPE_CHECKING:
    from citewell.types.facts import Fact

PaperId = Annotated[str, typer.Argument(help="The paper's id, or its first characters.", show_default=False)]
FactId = Annotated[str, typer.Argument(help="The fact's id, or its first characters.", show_default=False)]


def review(
    context: typer.Context,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """List what waits to be confirmed, corrected or rejected."""
    from citewell.cli.records import show

    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        found = profile.record.facts.unverified(profile.record.scope)
    show(found, json=json, with_kind=True, none="Nothing waits to be confirmed.")


def papers(
    context: typer.Context,
    document: Annotated[
        str | None, typer.Argument(help="A paper's id or its first characters, with --kind.", show_default=False)
    ] = None,
    kind: Annotated[PaperKind | None, typer.Option(help="What kind of paper that one is.", show_default=False)] = None,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """List the papers with their kind, who wrote them and how surely they were read, or say what kind one is."""
    if (document is None) != (kind is None):
        raise InputError("Give a paper and --kind together, or neither to list them.")
    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        if document is not None and kind is not None:
            profile.record.sort(profile.app.find(document), kind)
        found = profile.record.papers()
    if json:
        print_json({"papers": [{"document_id": one.id, "title": one.title, **asdict(paper)} for one, paper in found]})
        return
    for one, paper in found:
        sure = "" if paper.ocr_confidence is None else f", read by OCR ({paper.ocr_confidence:.0%} sure)"
        who = f", {paper.professional}" if paper.professional else ""
        typer.echo(printable(f"{one.id[:8]}  {paper.kind.value:<18}  {one.title}{who}{sure}"))


def propose(
    context: typer.Context,
    document: PaperId,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Have the configured model read a paper for facts; what its words hold waits to be confirmed."""
    from citewell.cli.records import show
    from citewell.types.facts_json import fact_json

    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        found, _change = profile.record.propose(profile.app.find(document))
    if json:
        print_json({"proposed": [fact_json(one) for one in found.facts], "dropped": found.dropped})
        return
    show(found.facts, json=False, with_kind=True)
    typer.echo(f"{found.dropped} more were dropped: the paper's own words do not hold them.")


def confirm(
    context: typer.Context,
    fact_id: FactId,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Say that a fact is right."""
    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        known, scope = profile.record.facts, profile.record.scope
        tell(known.confirm(known.find(fact_id, scope), scope), "Confirmed", json=json)


def reject(
    context: typer.Context,
    fact_id: FactId,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Say that a fact is wrong: it is not used any more, and not read in again."""
    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        known, scope = profile.record.facts, profile.record.scope
        tell(known.reject(known.find(fact_id, scope), scope), "Rejected", json=json)


def correct(
    context: typer.Context,
    fact_id: FactId,
    fields: Annotated[list[str], typer.Argument(help="What is right, as FIELD=VALUE; an empty value clears a field.")],
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Say what is right instead, such as `dose="5 mg"` or `status=stopped`."""
    told = dict(_field(one) for one in fields)
    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        known, scope = profile.record.facts, profile.record.scope
        tell(known.correct(known.find(fact_id, scope), told, scope), "Corrected", json=json)


def alerts(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Those that were dismissed too.")] = False,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """List what somebody should look at: allergies against medicines, critical results, doses that differ, doubles."""
    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        found = profile.record.alerts(with_dismissed=every)
    if json:
        print_json({"alerts": [asdict(alert) for alert in found]})
        return
    if not found:
        typer.echo("There is nothing to look at.")
    for alert in found:
        typer.echo(printable(f"{alert.id[:8]}  {alert.text}"))


def dismiss(
    context: typer.Context,
    alert_id: Annotated[str, typer.Argument(help="The alert's id, or its first characters.", show_default=False)],
    why: Annotated[str, typer.Option(help="Why it needs no looking at.")] = "",
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Put an alert away; it stays away while the facts that it rests on are the same."""
    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        alert = profile.record.dismiss(alert_id, why=why)
    if json:
        print_json({"alert": asdict(alert)})
    else:
        typer.echo(printable(f"Dismissed: {alert.text}"))


def tell(fact: Fact, words: str, *, json: bool) -> None:
    """Say what became of a fact."""
    from citewell.types.facts_json import fact_json
    from citewell.types.facts_line import line_of

    if json:
        print_json({"fact": fact_json(fact)})
    else:
        typer.echo(printable(f"{words}: {line_of(fact)} ({fact.id[:8]})"))


def _field(written: str) -> tuple[str, Any]:
    """A field and its value: a number, true or false where it reads so, else words."""
    name, equals, value = written.partition("=")
    if not equals or not name:
        raise InputError('Write each correction as FIELD=VALUE, such as dose="5 mg".')
    if value == "":
        return name, None
    try:
        read = json_module.loads(value)
    except ValueError:
        return name, value
    return name, read if isinstance(read, bool | int | float) else value
