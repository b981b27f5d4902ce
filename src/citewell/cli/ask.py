"""`citewell ask`: a question, answered with sentences that are each cited and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from citewell.answer.stream import Done, Replace, Sentence
from citewell.answer.view import answer_json
from citewell.cli.frame import Home, Journey, Json, Subject, Tags, opened, print_json, printable
from citewell.types import Cite, Qualify

if TYPE_CHECKING:
    from citewell.types import Answer


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="A question about the documents.", show_default=False)],
    tag: Tags = None,
    journey: Journey = None,
    subject: Subject = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Answer a question: every sentence cited and checked, or a word about who should be asked."""
    with opened(context, home) as app:
        answer = None
        for event in app.ask_stream(question, asker=app.owner(tags=tag, journey=journey, subject=subject)):
            if isinstance(event, Done):
                answer = event.answer
            elif isinstance(event, Sentence) and event.claim.is_shown and not json:
                marks = "".join(f" [{n}]" for n in event.claim.citations)
                typer.echo(printable(f"{event.claim.text}{marks}  ({event.claim.check.verdict})"))
            elif isinstance(event, Replace) and not json:
                typer.echo("  (taken back: the whole is not supported well enough)")
    assert answer is not None
    if json:
        print_json(answer_json(answer, with_withheld=True))
    else:
        _print_end(answer)


def _print_end(answer: Answer) -> None:
    """The sources, or why there is no answer."""
    if not isinstance(answer.action, Cite | Qualify):
        typer.echo(printable(answer.text))
        return
    typer.echo("")
    for citation in answer.citations:
        place = " · ".join([*([f"page {citation.page}"] if citation.page else []), " > ".join(citation.section)])
        typer.echo(printable(f"[{citation.n}] {citation.document}, {place.strip(' ·')}  ({citation.source_id})"))
    if isinstance(answer.action, Qualify):
        typer.echo(f"Note: {answer.action.reason}.")
    if answer.left_out:
        total = answer.left_out + len(answer.evidence)
        typer.echo(f"{answer.left_out} of {total} passages were not shown to the model.")
    typer.echo(f"Confidence {answer.confidence.overall:.2f} · {answer.model} · {answer.took_ms:.0f} ms")
