"""`citewell literature`: articles of PubMed and Europe PMC into the library."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.common import Home, Json, Tags, opened, print_json, printable
from citewell.cli.progress import PlainProgress, progress
from citewell.types import Filing

if TYPE_CHECKING:
    from citewell.app import App
    from citewell.operations.literature import ImportOutcome, Literature
    from citewell.types.literature import Article

app = typer.Typer(
    help="Add articles from PubMed and Europe PMC, and keep their retractions in view.",
    add_completion=False,
    no_args_is_help=True,
)

Journeys = Annotated[
    list[str] | None, typer.Option("--journey", help="A care journey. Leave out for everyone.", show_default=False)
]
From = Annotated[
    str | None,
    typer.Option("--from", help="pubmed or europepmc; the first allowed one by default.", show_default=False),
]
Refresh = Annotated[
    bool, typer.Option("--refresh", help="Fetch again what is here; a changed text becomes a new version.")
]
SIGNS = {"added": "✓", "changed": "✓", "unchanged": "=", "known": "=", "failed": "✗"}
NAMED_AUTHORS = 3


@app.command()
def add(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="PMIDs, PMCIDs or DOIs.", show_default=False)],
    tag: Tags = None,
    journey: Journeys = None,
    refresh: Refresh = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Add articles by PMID, PMCID or DOI: the full text where it is open access, else the abstract."""
    with opened(context, home) as library, progress(quiet=json) as watch, _literature(library, watch) as literature:
        outcomes = literature.add(ids, filing=_filing(tag, journey), is_fresh=refresh)
        _report(outcomes, json=json, watch=watch)


@app.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="A query in the index's own language.", show_default=False)],
    source: From = None,
    limit: Annotated[int, typer.Option(help="Most articles to list.", min=1, max=200)] = 20,
    home: Home = None,
    json: Json = False,
) -> None:
    """List the newest articles that a query finds. Nothing is added."""
    with opened(context, home) as library, _literature(library, PlainProgress()) as literature:
        found = literature.search(query, source=source, limit=limit)
        known = [literature.known(article) for article in found.articles]
    if json:
        listed = [
            {"id": article.ids[0].label if article.ids else None, **article_json(article), "document_id": here}
            for article, here in zip(found.articles, (one and one.document_id for one in known), strict=True)
        ]
        print_json({"total": found.total, "articles": listed})
        return
    for article, here in zip(found.articles, known, strict=True):
        typer.echo(printable(_listed(article, is_here=here is not None)))
    typer.echo(f"{found.total:,} found, {len(found.articles)} listed.")


def article_json(article: Article) -> dict[str, Any]:
    """An article as a list shows it."""
    return {
        "title": article.title,
        "authors": list(article.authors),
        "journal": article.journal,
        "published": article.published,
        "pmid": article.pmid,
        "pmcid": article.pmcid,
        "doi": article.doi,
        "notices": list(article.notices),
    }


def _listed(article: Article, *, is_here: bool) -> str:
    authors = ", ".join(article.authors[:NAMED_AUTHORS]) + (" et al." if len(article.authors) > NAMED_AUTHORS else "")
    year = str(article.published.year) if article.published else ""
    label = article.ids[0].label if article.ids else "no ID"
    told = "".join(f" [{notice.kind}]" for notice in article.notices)
    place = ". ".join(part for part in (authors, article.journal, year) if part)
    return f"{'=' if is_here else ' '} {label}  {article.title}{told}\n    {place}"


def _filing(tag: list[str] | None, journey: list[str] | None) -> Filing:
    return Filing(tags=frozenset(tag) if tag else None, journeys=frozenset(journey) if journey else None)


def _literature(library: App, watch: PlainProgress) -> Literature:
    from citewell.operations.literature import Literature

    shown = watch.one_by_one()
    return Literature(
        library,
        scope=library.scope_of_owner(),
        put=lambda source, filing: library.add_source(source, filing=filing, watch=partial(shown, source.name)),
    )


def _report(outcomes: Iterable[ImportOutcome], *, json: bool, watch: PlainProgress) -> None:
    """Tell of each as it is done; the exit status is 1 where one failed."""
    done = []
    for outcome in outcomes:
        done.append(outcome)
        if not json:
            watch.line(_line(outcome), err=outcome.error is not None)
    failed = sum(outcome.error is not None for outcome in done)
    if json:
        from citewell.operations.literature import outcome_json

        print_json({"articles": [outcome_json(outcome) for outcome in done], "failed": failed})
    else:
        new = sum(outcome.state in ("added", "changed") for outcome in done)
        watch.line(f"{new} added, {len(done) - new - failed} already here" + (f", {failed} failed" if failed else ""))
    if failed:
        raise typer.Exit(1)


def _line(outcome: ImportOutcome) -> str:
    title = f": {outcome.title} ({(outcome.document_id or '')[:8]})" if outcome.title else ""
    told = "".join(f"\n    ! {text}" for text in outcome.said)
    return f"{SIGNS[outcome.state]} {outcome.asked}{title}. {outcome.detail}{told}"
