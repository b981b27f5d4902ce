"""`citewell records remove`: a paper that does not belong into a record goes, with what was read from it."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.common import Json, print_json, printable
from citewell.cli.records_review import PaperId
from citewell.cli.unlock import ChosenVault, on_vault
from citewell.errors import NotFound


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
    if json:
        print_json({"removed": False, "document_id": document, "facts_removed": 0, "facts_kept": []})
    else:
        typer.echo(
            "Document not found in this record, so nothing was removed. `citewell records papers` shows the ids."
        )
