"""`citewell literature`: articles of PubMed and Europe PMC into the library."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.answer.references import REFERENCE_FORMATS, ReferenceFormatName
from citewell.cli.common import Home, Json, Tags, opened, print_json, printable
from citewell.cli.progress import PlainProgress, progress
from citewell.types import OWNER_ID, Filing

if TYPE_CHECKING:
    from citewell.app import App
    from citewell.operations.literature import ImportOutcome, Literature
    from citewell.types.literature import Article, SavedQuery

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
    from citewell.operations.literature import article_json

    with opened(context, home) as library, _literature(library, PlainProgress()) as literature:
        found = literature.search(query, source=source, limit=limit)
        known = literature.known(found.articles)
    if json:
        listed = [article_json(article, known.get(article)) for article in found.articles]
        print_json({"total": found.total, "articles": listed})
        return
    for article in found.articles:
        typer.echo(printable(_listed(article, is_here=article in known)))
    typer.echo(f"{found.total:,} found, {len(found.articles)} listed.")


@app.command()
def save(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What to call the query.", show_default=False)],
    query: Annotated[str, typer.Argument(help="A query in the index's own language.", show_default=False)],
    source: From = None,
    most: Annotated[int, typer.Option(help="Articles that a run looks at, the newest first.", min=1, max=1_000)] = 100,
    tag: Tags = None,
    journey: Journeys = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Save a query. `serve` and `worker` run it every day and add what is new."""
    from citewell.types.literature import SavedQuery

    with opened(context, home) as library, _literature(library, PlainProgress()) as literature:
        index = literature.source(source).name
        filing = _filing(tag, journey)
        known = library.journeys.known(filing.journeys or (), library.scope_of_owner())
        filed = (tuple(sorted(filing.tags or ())), tuple(sorted(known)))
        saved = SavedQuery(library.tenant, name, index, query, most, *filed, OWNER_ID)
        library.literature.save(saved)
    if json:
        print_json({"query": saved})
    else:
        typer.echo(printable(f"Saved as “{name}”. To run it now: citewell literature run {quote(name)}"))


@app.command()
def run(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(help="Saved queries; all by default.", show_default=False)
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Run saved queries now, and say what is new."""
    with opened(context, home) as library, progress(quiet=json) as watch, _literature(library, watch) as literature:
        store, tenant = library.literature, library.tenant
        saved = [store.one(tenant, name) for name in names] if names else store.saved(tenant)
        _report((outcome for query in saved for outcome in literature.run(query)), json=json, watch=watch)


@app.command("list")
def list_queries(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the saved queries, with what their last run brought."""
    with opened(context, home) as library:
        queries = library.literature.saved(library.tenant)
    if json:
        print_json({"queries": queries})
        return
    if not queries:
        typer.echo("No saved queries. Save one with `citewell literature save NAME QUERY`.")
    for saved in queries:
        typer.echo(printable(_saved_line(saved)))


@app.command()
def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A saved query.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Remove a saved query. The articles that it brought stay."""
    with opened(context, home) as library:
        library.literature.remove(library.literature.one(library.tenant, name))
    if json:
        print_json({"removed": name})
    else:
        typer.echo(printable(f"“{name}” removed. Its articles stay in the library."))


def _saved_line(saved: SavedQuery) -> str:
    head = f"{saved.name}  {saved.source}: {saved.query}"
    last = saved.last
    if last is None:
        return f"{head}\n    not run yet"
    told = f"{len(last.new)} new of {last.total:,}" + (f", {len(last.failed)} not added" if last.failed else "")
    ran = f"{head}\n    {last.at:%d %b %Y %H:%M} UTC: {last.error or told}"
    return ran + "".join(f"\n    + {new.title} ({new.document_id[:8]})" for new in last.new)


@app.command("import")
def import_files(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="RIS, BibTeX, CSL-JSON or zotero.sqlite.", show_default=False)
    ],
    tag: Tags = None,
    journey: Journeys = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Add the references of files: as PubMed or Europe PMC know them where allowed, else with their own abstract."""
    from citewell.ingest.file_bytes import read_source

    with opened(context, home) as library, progress(quiet=json) as watch, _literature(library, watch) as literature:
        sources = [read_source(file, library.settings.limits.max_bytes) for file in files]
        _report(literature.add_files(sources, filing=_filing(tag, journey)), json=json, watch=watch)


@app.command()
def zotero(
    context: typer.Context,
    account: Annotated[
        str, typer.Argument(metavar="LIBRARY", help="users/NUMBER or groups/NUMBER.", show_default=False)
    ],
    collection: Annotated[str | None, typer.Option(help="Key of one collection.", show_default=False)] = None,
    tag: Tags = None,
    journey: Journeys = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Add the references of a library of Zotero's web API, like those of a file."""
    with opened(context, home) as library, progress(quiet=json) as watch, _literature(library, watch) as literature:
        found = literature.zotero(account, collection)
        _report(literature.add_references(found, filing=_filing(tag, journey)), json=json, watch=watch)


@app.command()
def export(
    context: typer.Context,
    to: Annotated[Path, typer.Option(help="The file to write.", show_default=False)],
    format: Annotated[ReferenceFormatName, typer.Option(help="Format of the references.")] = ReferenceFormatName.RIS,
    home: Home = None,
    json: Json = False,
) -> None:
    """Write the references of all documents in use to a file, for reference managers."""
    with opened(context, home) as library:
        references = library.library_references()
    to.write_text(REFERENCE_FORMATS[format].write(references), "utf-8")
    if json:
        print_json({"file": str(to), "format": format, "count": len(references)})
    else:
        typer.echo(printable(f"{len(references)} references saved to {to}."))


@app.command()
def check(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """Look again for retractions, expressions of concern and corrections of the articles here."""
    with opened(context, home) as library, _literature(library, PlainProgress()) as literature:
        outcomes = list(literature.check())
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    if json:
        new = [notice.as_json() for outcome in outcomes for notice in outcome.new]
        print_json({"checked": len(outcomes) - len(failed), "failed": len(failed), "new": new})
    else:
        for outcome in outcomes:
            for notice in outcome.new:
                typer.echo(printable(f"! {outcome.document_id[:8]} {notice.text}"))
        for told in dict.fromkeys(str(outcome.error) for outcome in failed):
            typer.echo(told, err=True)
        typer.echo(f"{len(outcomes) - len(failed)} checked" + (f", {len(failed)} not reached" if failed else ""))
    if failed:
        raise typer.Exit(1)


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
        from citewell.operations.literature import outcomes_json

        print_json(outcomes_json(done))
    else:
        new = sum(outcome.state in ("added", "changed") for outcome in done)
        watch.line(f"{new} added, {len(done) - new - failed} already here" + (f", {failed} failed" if failed else ""))
    if failed:
        raise typer.Exit(1)


def _line(outcome: ImportOutcome) -> str:
    title = f": {outcome.title} ({(outcome.document_id or '')[:8]})" if outcome.title else ""
    told = "".join(f"\n    ! {text}" for text in outcome.said)
    return f"{SIGNS[outcome.state]} {outcome.asked}{title}. {outcome.detail}{told}"
