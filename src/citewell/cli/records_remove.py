"""`citewell records remove`: a paper that does not belong into a record goes, with what was read from it."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.frame import Home, Json, print_json, printable
from citewell.cli.records_review import PaperId
from citewell.cli.unlock import PassphraseStdin, Vault, opened_profile
from citewell.errors import NotFound


def remove(
    context: typer.Context,
    document: PaperId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    vault: Vault = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Erase a paper with the facts that were read from it alone; what you confirmed or corrected stays."""
    from citewell.types.facts_line import line_of

    with opened_profile(context, home, vault, from_stdin=passphrase_stdin) as profile:
        papers = profile.record.paper
        try:
            found = papers.goes_with(profile.app.find(document))
        except NotFound:  # it is gone already, which is what was wanted
            _gone_already(document, json=json)
            return
        if not yes and not json:
            typer.echo(printable(f"“{found.paper.title}” goes for good, with {len(found.gone)} facts read from it."))
            for one in found.kept:
                typer.echo(printable(f"  stays, since you confirmed it: {line_of(one)}"))
            typer.confirm("Remove it?", abort=True)
        removed = papers.remove(found.paper.id) or found
    if json:
        kept = [one.id for one in removed.kept]
        told = {"removed": True, "document_id": removed.paper.id}
        print_json({**told, "facts_removed": len(removed.gone), "facts_kept": kept})
    else:
        stay = f"; {len(removed.kept)} that you confirmed stay" if removed.kept else ""
        typer.echo(printable(f"Removed “{removed.paper.title}” and {len(removed.gone)} facts{stay}."))


def _gone_already(document: str, *, json: bool) -> None:
    if json:
        print_json({"removed": False, "document_id": document, "facts_removed": 0, "facts_kept": []})
    else:
        typer.echo(
            "There is no such paper in this record: nothing was removed. `citewell records papers` shows the ids."
        )
