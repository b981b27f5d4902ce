"""`citewell inbox`: questions that were passed on to a person, and their replies."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.answer.history_json import with_questions
from citewell.api.bodies.history import RoutedListResponse
from citewell.cli.audit import AnswerId, answer_id
from citewell.cli.common import After, Home, Json, Limit, opened, print_json, print_next, print_result, printable
from citewell.cli.ids import find, part_of
from citewell.history import PAGE_LENGTH

if TYPE_CHECKING:
    from citewell.answer.service import Case
    from citewell.app import App
    from citewell.history import HistoryPage, RoutedQuestion

app = typer.Typer(help="Read and answer questions the documents could not answer.", add_completion=False)

FIRST_WORDS = 48
RoutedId = Annotated[
    str, typer.Argument(help="The question's ID in the inbox, or its first characters.", show_default=False)
]


def _routed_id(library: App, prefix: str) -> str:
    part = part_of(prefix)
    items = library.ask_service.inbox.waiting(library.owner(), limit=part.limit, starting=part.starting).items
    missing = "Question not found in the inbox. `citewell inbox` shows the IDs."
    return find(prefix, (item.id for item in items), missing=missing)


@app.callback(invoke_without_command=True)
@app.command("list")
def list_waiting(
    context: typer.Context, limit: Limit = PAGE_LENGTH, after: After = None, home: Home = None, json: Json = False
) -> None:
    """List the questions waiting for a reply, open ones first."""
    if context.invoked_subcommand is not None:
        return
    with opened(context, home) as library:
        items = library.ask_service.inbox.waiting(library.owner(), limit=limit, after=after)
        words = library.ask_service.questions(items.items, library.owner())
    _print_items(items, words, json=json, empty="No questions waiting.")


@app.command()
def asked(
    context: typer.Context, limit: Limit = PAGE_LENGTH, after: After = None, home: Home = None, json: Json = False
) -> None:
    """List the questions of yours that were sent on, with their replies."""
    with opened(context, home) as library:
        items = library.ask_service.inbox.asked(library.owner(), limit=limit, after=after)
        words = library.ask_service.questions(items.items, library.owner())
    _print_items(items, words, json=json, empty="No sent questions.")


@app.command()
def show(context: typer.Context, question: RoutedId, home: Home = None, json: Json = False) -> None:
    """Show a question with the passages found, the withheld draft and the reply."""
    with opened(context, home) as library:
        case = library.ask_service.case(_routed_id(library, question), library.owner())
    if json:
        print_json(case)
    else:
        _print_case(case)


@app.command()
def send(
    context: typer.Context,
    answer: AnswerId,
    problem: Annotated[str | None, typer.Option(help="What is wrong with the answer.", show_default=False)] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Send a question of yours that was not answered, or answered wrongly, to the right person."""
    with opened(context, home) as library:
        service, asker = library.ask_service, library.owner()
        known = answer_id(library, answer)
        item_id = library.report(known, problem) if problem else service.hand_on(known, asker)
        item = service.inbox.one(item_id, asker)
    print_result(item, "Sent. `citewell inbox asked` will show the reply.", as_json=json)


@app.command()
def reply(
    context: typer.Context,
    question: RoutedId,
    text: Annotated[str, typer.Argument(help="Your reply to the person who asked.", show_default=False)],
    home: Home = None,
    json: Json = False,
) -> None:
    """Reply to a question. The person who asked sees the reply."""
    with opened(context, home) as library:
        item = library.ask_service.inbox.reply(_routed_id(library, question), text, library.owner())
    print_result(
        item, "Reply sent. The person who asked sees it under Sent, or with `citewell inbox asked`.", as_json=json
    )


@app.command()
def close(context: typer.Context, question: RoutedId, home: Home = None, json: Json = False) -> None:
    """Close a question, answered or not."""
    with opened(context, home) as library:
        item = library.ask_service.inbox.close(_routed_id(library, question), library.owner())
    print_result(item, "Closed.", as_json=json)


def _print_items(page: HistoryPage[RoutedQuestion], words: Mapping[str, str], *, json: bool, empty: str) -> None:
    if json:
        print_json(RoutedListResponse.model_validate(with_questions(page, words)))
        return
    if not page.items:
        typer.echo(empty)
    for item in page.items:
        told = shorten(words.get(item.answer_id, ""), FIRST_WORDS, placeholder="…")
        typer.echo(printable(f"{item.id[:8]}  {item.state:<8}  {item.made_at:%d %b %Y}  {told}"))
        typer.echo(printable(f"          {item.tag}: {item.reason}"))
        if item.reply:
            typer.echo(printable(f"          Reply: {item.reply}"))
    print_next(page)


def _print_case(case: Case) -> None:
    lines = [case.question, f"Why it was sent on: {case.reason} (tag {case.tag}, {case.state})"]
    for number, passage in enumerate(case.evidence, 1):
        lines.append(f"\n[{number}] {passage.document}, version {passage.version} ({passage.source_id})")
        lines.append(passage.text or "    This version has since been erased or re-processed.")
    if case.hidden_evidence:
        lines.append(f"{case.hidden_evidence} passages not shown: from documents you do not have access to.")
    lines += [f"\nWithheld draft, {sentence['verdict']}: {sentence['text']}" for sentence in case.draft]
    if case.reply:
        lines.append(f"\nReply: {case.reply}")
    typer.echo(printable("\n".join(lines)))
