"""`citewell search`: find the passages nearest to a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from citewell.api.bodies.documents import ResultsResponse
from citewell.cli.common import NO_DOCUMENTS, Home, Journey, Json, Subject, Tags, opened_to_read, print_json, printable

if TYPE_CHECKING:
    from citewell.app import Results


NOT_CALIBRATED = (
    "Match scores are not calibrated for this embedding model and reflect shared words only: run `citewell calibrate`."
)


def search(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="A question, or a few words.", show_default=False)],
    limit: Annotated[int, typer.Option(help="Number of passages to show.", min=1, max=200)] = 10,
    tag: Tags = None,
    journey: Journey = None,
    subject: Subject = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Find the passages closest to a question, with their sources and why they matched."""
    with opened_to_read(context, home) as app:
        results = app.search(question, scope=app.scope(tags=tag, journey=journey, subject=subject), limit=limit)
        empty = not results.hits and not app.entries()
    if json:
        print_json(ResultsResponse.model_validate(results))
    elif results.hits:
        _print(results)
    elif empty:
        typer.echo(NO_DOCUMENTS)
    else:
        typer.echo("No results. Try other words, or fewer. `citewell list` shows what can be searched.")


def _print(results: Results) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.text import Text

    console = Console(highlight=False)
    for number, hit in enumerate(results.hits, 1):
        place = " · ".join([*([f"page {hit.page}"] if hit.page else []), " > ".join(hit.section)]).strip(" ·")
        console.print(f"[bold]{number}. {escape(printable(hit.document))}[/bold]  {escape(printable(place))}")
        body = Text(printable(hit.text))
        if hit.why.best_sentence is not None:
            start, end = hit.why.best_sentence
            body.stylize("bold cyan", start - hit.start, end - hit.start)
        console.print(body)
        ranks = [
            f"meaning #{hit.why.dense_rank}" if hit.why.dense_rank else "",
            f"words #{hit.why.lexical_rank}" if hit.why.lexical_rank else "",
            ", ".join(hit.why.matched_terms),
        ]
        console.print(
            f"[dim]{hit.source_id}  {hit.relevance:.2f}  {escape(printable('  '.join(filter(None, ranks))))}[/dim]\n"
        )
    if not all(hit.is_calibrated for hit in results.hits):
        console.print(f"[dim]{NOT_CALIBRATED}[/dim]")
    for item in results.expansions:
        if item.reason == "misspelling":
            console.print(f"[dim]Showing results for {escape(item.phrase)}.[/dim]")
    added = ", ".join(f"{item.phrase} ({item.reason})" for item in results.expansions)
    if added:
        console.print(f"[dim]also searched for: {escape(added)}[/dim]")
