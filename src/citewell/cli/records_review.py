"""`citewell records review`, `alerts`, `remove` and what a person decides about them."""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.common import Json, print_json, print_result, printable
from citewell.cli.unlock import ChosenVault, on_vault
from citewell.errors import InputError, NotFound
from citewell.ports.records import PaperKind

if TYPE_CHECKING:
    from citewell.types.facts import Fact


PaperId = Annotated[str, typer.Argument(help="The document's ID, or its first characters.", show_default=False)]
NONE_OF_KIND = "None recorded."
FactId = Annotated[str, typer.Argument(help="The fact's ID, or its first characters.", show_default=False)]


@on_vault
def review(vault: ChosenVault, json: Json = False) -> None:
    """List the facts to confirm, correct or reject."""
    with vault.opened() as profile:
        facts = profile.record.facts.unverified(profile.record.scope)
    show_facts(facts, json=json, with_kind=True, none="Nothing to confirm.")


@on_vault
def papers(
    vault: ChosenVault,
    document: Annotated[
        str | None, typer.Argument(help="A document's ID or its first characters, with --kind.", show_default=False)
    ] = None,
    kind: Annotated[PaperKind | None, typer.Option(help="The document's type.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """List the documents with their type, author and how reliably they were read, or set the type of one."""
    if (document is None) != (kind is None):
        raise InputError("Give both a document and --kind, or neither to list them.")
    with vault.opened() as profile:
        if document is not None and kind is not None:
            profile.record.sort(profile.app.find(document), kind)
        documents = profile.record.papers()
    if json:
        rows = [{"document_id": entry.id, "title": entry.title, **asdict(paper)} for entry, paper in documents]
        print_json({"papers": rows})
        return
    for entry, paper in documents:
        sure = "" if paper.ocr_confidence is None else f", read by OCR ({paper.ocr_confidence:.0%} confidence)"
        who = f", {paper.professional}" if paper.professional else ""
        typer.echo(printable(f"{entry.id[:8]}  {paper.kind.value:<18}  {entry.title}{who}{sure}"))


@on_vault
def remove(
    vault: ChosenVault,
    document: PaperId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    json: Json = False,
) -> None:
    """Erase a document and the facts found only in it. Facts you confirmed or corrected are kept."""
    from citewell.types.facts_line import line_of

    with vault.opened() as profile:
        papers = profile.record.paper
        try:
            removal = papers.goes_with(profile.app.find(document))
        except NotFound:  # it is gone already, which is what was wanted
            _gone_already(document, json=json)
            return
        if not yes and not json:
            facts = f"{len(removal.gone)} facts taken from it"
            typer.echo(printable(f"“{removal.paper.title}” will be permanently removed, with {facts}."))
            for fact in removal.kept:
                typer.echo(printable(f"  kept, because you confirmed it: {line_of(fact)}"))
            typer.confirm("Remove it?", abort=True)
        removed = papers.remove(removal.paper.id) or removal
    if json:
        kept = [fact.id for fact in removed.kept]
        result = {"removed": True, "document_id": removed.paper.id}
        print_json({**result, "facts_removed": len(removed.gone), "facts_kept": kept})
    else:
        stay = f"; {len(removed.kept)} you confirmed are kept" if removed.kept else ""
        typer.echo(printable(f"Removed “{removed.paper.title}” and {len(removed.gone)} facts{stay}."))


def _gone_already(document: str, *, json: bool) -> None:
    print_result(
        {"removed": False, "document_id": document, "facts_removed": 0, "facts_kept": []},
        "Document not found in this record, so nothing was removed. `citewell records papers` shows the IDs.",
        as_json=json,
    )


@on_vault
def propose(vault: ChosenVault, document: PaperId, json: Json = False) -> None:
    """Let the configured model find facts in a document. Facts its text supports are listed to confirm."""
    from citewell.types.facts_json import fact_json

    with vault.opened() as profile:
        proposed, _change = profile.record.propose(profile.app.find(document))
    if json:
        print_json({"proposed": [fact_json(fact) for fact in proposed.facts], "dropped": proposed.dropped})
        return
    show_facts(proposed.facts, json=False, with_kind=True)
    typer.echo(f"{proposed.dropped} more were dropped: the document's own words do not support them.")


@on_vault
def confirm(vault: ChosenVault, fact_id: FactId, json: Json = False) -> None:
    """Confirm a fact."""
    with vault.opened() as profile:
        known, scope = profile.record.facts, profile.record.scope
        show_outcome(known.confirm(known.find(fact_id, scope), scope), "Confirmed", json=json)


@on_vault
def reject(vault: ChosenVault, fact_id: FactId, json: Json = False) -> None:
    """Mark a fact as wrong. It is no longer used and will not be imported again."""
    with vault.opened() as profile:
        known, scope = profile.record.facts, profile.record.scope
        show_outcome(known.reject(known.find(fact_id, scope), scope), "Rejected", json=json)


@on_vault
def correct(
    vault: ChosenVault,
    fact_id: FactId,
    fields: Annotated[list[str], typer.Argument(help="Corrections as FIELD=VALUE; an empty value clears a field.")],
    json: Json = False,
) -> None:
    """Correct a fact, for example with `dose="5 mg"` or `status=stopped`."""
    corrections = dict(_field(field) for field in fields)
    with vault.opened() as profile:
        known, scope = profile.record.facts, profile.record.scope
        show_outcome(known.correct(known.find(fact_id, scope), corrections, scope), "Corrected", json=json)


@on_vault
def alerts(
    vault: ChosenVault,
    every: Annotated[bool, typer.Option("--all", help="Include dismissed alerts.")] = False,
    json: Json = False,
) -> None:
    """List alerts: medicines that match an allergy, critical results, conflicting doses and duplicates."""
    with vault.opened() as profile:
        shown = profile.record.alerts(with_dismissed=every)
    if json:
        print_json({"alerts": shown})
        return
    if not shown:
        typer.echo("No alerts.")
    for alert in shown:
        typer.echo(printable(f"{alert.id[:8]}  {alert.text}"))


@on_vault
def dismiss(
    vault: ChosenVault,
    alert_id: Annotated[str, typer.Argument(help="The alert's ID, or its first characters.", show_default=False)],
    why: Annotated[str, typer.Option(help="Why it is dismissed.")] = "",
    json: Json = False,
) -> None:
    """Dismiss an alert. It stays dismissed until its facts change."""
    with vault.opened() as profile:
        alert = profile.record.dismiss(alert_id, why=why)
    print_result({"alert": alert}, f"Dismissed: {alert.text}", as_json=json)


def show_outcome(fact: Fact, words: str, *, json: bool) -> None:
    """Say what became of a fact."""
    from citewell.types.facts_json import fact_json
    from citewell.types.facts_line import line_of

    print_result({"fact": fact_json(fact)}, f"{words}: {line_of(fact)} ({fact.id[:8]})", as_json=json)


def show_facts(facts: Sequence[Fact], *, json: bool, with_kind: bool = False, none: str = NONE_OF_KIND) -> None:
    """Facts as a person or a program reads them."""
    from citewell.types.facts_json import fact_json
    from citewell.types.facts_line import line_of

    if json:
        print_json({"facts": [fact_json(fact) for fact in facts]})
        return
    if not facts:
        typer.echo(none)
    for fact in facts:
        kind = f"{fact.kind:<12}  " if with_kind else ""
        mark = "" if fact.is_verified else "  (to confirm)"
        typer.echo(printable(f"{fact.id[:8]}  {kind}{line_of(fact)}{mark}"))


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
