"""`citewell journeys`: care journeys, and which documents belong to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json, print_result, printable
from citewell.cli.common import Journey as JourneyOption
from citewell.cli.ids import find, part_of
from citewell.types import OWNER_ID

if TYPE_CHECKING:
    from citewell.types import LibraryEntry
    from citewell.types.journeys import Journey

app = typer.Typer(help="Manage care journeys and the documents in them.", add_completion=False, no_args_is_help=True)

Slug = Annotated[str, typer.Argument(help="The journey's slug, such as back-pain.", show_default=False)]
Description = Annotated[str | None, typer.Option(help="What the journey is about.", show_default=False)]
Documents = Annotated[list[str], typer.Argument(help="IDs of documents, or their first characters.")]


@app.command("list")
def list_journeys(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the journeys, by name."""
    with opened(context, home) as library:
        journeys = library.journeys.all(library.scope_of_owner())
    if json:
        print_json({"journeys": journeys})
        return
    if not journeys:
        typer.echo("No journeys yet. Every document is for everyone. Add a journey with `citewell journeys add NAME`.")
    for journey in journeys:
        typer.echo(printable(_line(journey)))


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Display name, such as “Back pain”.", show_default=False)],
    slug: Annotated[
        str | None, typer.Option(help="Short name. By default it is made from the name.", show_default=False)
    ] = None,
    description: Description = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Add a journey."""
    with opened(context, home) as library:
        scope = library.scope_of_owner()
        made = library.journeys.add(name, slug=slug, description=description or "", scope=scope, by=OWNER_ID)
    _tell(made, json=json)


@app.command()
def edit(
    context: typer.Context,
    slug: Slug,
    name: Annotated[str | None, typer.Option(help="New display name.", show_default=False)] = None,
    new_slug: Annotated[
        str | None, typer.Option("--slug", help="New short name; its documents move with it.", show_default=False)
    ] = None,
    description: Description = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Change a journey. Searches use it straight away, with no re-indexing."""
    from citewell.adapters.store.journeys import JourneyChange

    with opened(context, home) as library:
        change = JourneyChange(name, new_slug, description)
        made = library.journeys.edit(slug, change, revision=None, scope=library.scope_of_owner(), by=OWNER_ID)
    _tell(made, json=json)


@app.command()
def remove(
    context: typer.Context,
    slug: Slug,
    to: Annotated[str | None, typer.Option(help="The journey to move its documents to.", show_default=False)] = None,
    universal: Annotated[
        bool, typer.Option("--universal", help="Make documents that are only in this journey available to everyone.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Remove a journey. No document becomes visible to everyone unless you say so."""
    with opened(context, home) as library:
        scope = library.scope_of_owner()
        changed = library.journeys.remove(slug, to=to, universal=universal, scope=scope, by=OWNER_ID)
    print_result(
        {"removed": slug, "documents": changed},
        f"Removed {slug}; {changed} document{'' if changed == 1 else 's'} moved.",
        as_json=json,
    )


@app.command()
def assign(context: typer.Context, slug: Slug, documents: Documents, home: Home = None, json: Json = False) -> None:
    """Add documents to a journey."""
    with opened(context, home) as library:
        ids = [library.find(document) for document in documents]
        _tell_filed(library.journeys.assign(slug, ids, scope=library.scope_of_owner(), by=OWNER_ID), json=json)


@app.command()
def unassign(context: typer.Context, slug: Slug, documents: Documents, home: Home = None, json: Json = False) -> None:
    """Take documents out of a journey. Those in no other journey become available to everyone."""
    with opened(context, home) as library:
        ids = [library.find(document) for document in documents]
        _tell_filed(library.journeys.unassign(slug, ids, scope=library.scope_of_owner(), by=OWNER_ID), json=json)


@app.command()
def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="A question about the literature.", show_default=False)],
    journey: JourneyOption = None,
    conversation: Annotated[
        str | None, typer.Option(help="ID of the conversation to continue.", show_default=False)
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Ask the literature of a journey and the literature for everyone, or only the latter."""
    from citewell.answer.answer_json import done_json

    with opened(context, home) as library:
        asker, talk_id = library.owner(), None
        if conversation is not None:
            part = part_of(conversation)
            talks = library.evidence.ask_service.conversations
            known = talks.page(asker, limit=part.limit, starting=part.starting).items
            talk_id = find(
                conversation,
                (other.id for other in known),
                missing="Conversation not found. Leave out --conversation to start a new one.",
            )
        done = library.evidence.answer(question, asker=asker, journey=journey, conversation_id=talk_id)
    if json:
        print_json(done_json(done, with_withheld=True))
        return
    answer = done.answer
    typer.echo(printable(answer.text))
    for citation in answer.citations:
        place = f", page {citation.page}" if citation.page else ""
        typer.echo(printable(f"[{citation.n}] {citation.document}{place}: “{citation.quote}”"))
    typer.echo(f"To continue: --conversation {(done.conversation_id or '')[:8]}")


def _line(journey: Journey) -> str:
    count = f"{journey.documents} document{'' if journey.documents == 1 else 's'}"
    return f"{journey.slug:<24} {journey.name}  ({count})"


def _tell(journey: Journey, *, json: bool) -> None:
    print_result({"journey": journey}, _line(journey), as_json=json)


def _tell_filed(entries: list[LibraryEntry], *, json: bool) -> None:
    if json:
        print_json(
            {
                "documents": [
                    {"document_id": library_entry.id, "journeys": library_entry.journeys} for library_entry in entries
                ]
            }
        )
        return
    for entry in entries:
        typer.echo(printable(f"{entry.id[:8]}  {entry.title}: {', '.join(entry.journeys) or 'for everyone'}"))
