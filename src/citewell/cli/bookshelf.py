"""`citewell guidelines download | parse | embed`: open-access guidelines of a bookshelf, into the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.common import Home, Json, Tags, opened, print_json, printable, settings
from citewell.cli.progress import PlainProgress, progress
from citewell.errors import InputError
from citewell.types import Filing

if TYPE_CHECKING:
    from collections.abc import Callable

    from citewell.operations.bookshelf import Done

Folder = Annotated[Path, typer.Argument(help="Working folder shared by all the steps.", show_default=False)]
SHOWN_REASONS = 5


def download(
    context: typer.Context,
    folder: Folder,
    source: Annotated[str, typer.Option(help="Type of server: bookshelf.")] = "bookshelf",
    publisher: Annotated[
        list[str] | None,
        typer.Option(help="WHO, NICE, AHRQ, … or part of a publisher's name. Repeat for several."),
    ] = None,
    topic: Annotated[list[str] | None, typer.Option(help="Only titles with a word starting with this.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include books that are not about patient care.")] = False,
    address: Annotated[str | None, typer.Option("--from", help="Address of the folder that holds the list.")] = None,
    pause: Annotated[float, typer.Option(help="Seconds between requests.", min=0.0)] = 1.0,
    listing: Annotated[bool, typer.Option("--list", help="Only list the books that would be fetched.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Download open-access guidelines. If interrupted, run the same command again to continue."""
    from citewell.adapters.bookshelf.catalogue import BookFilter, choose
    from citewell.adapters.bookshelf.fetch import ADDRESS, Bookshelf
    from citewell.operations.bookshelf import download

    if source != "bookshelf":
        raise InputError("Unknown type of server. The only one supported is bookshelf.")
    wanted = BookFilter(tuple(publisher or ()), tuple(topic or ()), clinical_only=not everything)
    limits = settings(context, home).limits
    with Bookshelf(address or ADDRESS, pause_s=pause) as shelf, progress(quiet=json) as watch:
        if listing:
            books = choose(shelf.catalogue(folder), wanted)
            _print_books([{"accession": book.accession, "title": book.title} for book in books], json=json)
            return
        fetched = download(shelf, folder, wanted=wanted, limits=limits, watch=_bytes(watch))
        _report(fetched, what="texts", json=json, watch=watch)


def parse(
    context: typer.Context,
    folder: Folder,
    language: Annotated[list[str] | None, typer.Option(help="Two-letter language code; `any` for all.")] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Split the downloads into passages, one JSON line each, to review before indexing."""
    from citewell.operations.bookshelf import Parsing

    chosen = frozenset(one.lower() for one in language or ["en"])
    with opened(context, home) as app:
        parsing = Parsing(app, folder, languages=frozenset() if "any" in chosen else chosen)
        _report(parsing.run(), what="passages", json=json, watch=PlainProgress())


def embed(context: typer.Context, folder: Folder, tag: Tags = None, home: Home = None, json: Json = False) -> None:
    """Add the parsed books to the library. Anything already there is not indexed again."""
    from citewell.operations.bookshelf import embed

    with opened(context, home) as app, progress(quiet=json) as watch:
        filing = Filing(tags=frozenset(tag) if tag else None)
        with closing(embed(app, folder, filing=filing, watch=watch)) as embedding:
            _report(embedding, what="passages", json=json, watch=watch)


def _report(works: Iterable[Done], *, what: str, json: bool, watch: PlainProgress) -> None:
    done = []
    for work in works:
        done.append(work)
        watch.end(work.accession)
        if not json:
            watch.line(_line(work, what), err=work.error is not None)
    failed = [other for other in done if other.error is not None]
    total = sum(one.count for one in done)
    if json:
        print_json({"done": [_shown(one, what) for one in done], what: total, "failed": len(failed)})
    else:
        watch.line(f"{len(done)} in all, {total:,} {what}" + (f", {len(failed)} failed" if failed else ""))
    if failed:
        raise typer.Exit(1)


def _line(done: Done, what: str) -> str:
    if done.error is not None:
        return f"✗ {done.accession}: {done.error}"
    reasons = Counter(reason for _name, reason in done.passed_over)
    passed = "".join(f"\n    {count} skipped: {reason}" for reason, count in reasons.most_common(SHOWN_REASONS))
    return f"{'=' if done.was_there else '✓'} {done.accession}: {done.title}, {done.count:,} {what}{passed}"


def _shown(done: Done, what: str) -> dict[str, Any]:
    error = {"kind": type(done.error).__name__, "message": str(done.error)} if done.error else None
    return {
        "accession": done.accession,
        "title": done.title,
        what: done.count,
        "was_there": done.was_there,
        "passed_over": [{"file": name, "reason": reason} for name, reason in done.passed_over],
        "error": error,
    }


def _print_books(books: list[dict[str, str]], *, json: bool) -> None:
    if json:
        print_json({"books": books})
        return
    for book in books:
        typer.echo(printable(f"{book['accession']}  {book['title']}"))
    typer.echo(f"{len(books)} books")


def _bytes(watch: PlainProgress) -> Callable[[Any, int, int], Callable[[int, int], None]]:
    """The book that is fetched now, with the time left."""
    from citewell.ingest.parse_cut_embed import Step

    shown = watch.one_by_one()

    def begun(book: Any, number: int, count: int) -> Callable[[int, int], None]:
        name = f"{book.accession} ({number} of {count})"
        return lambda have, size: shown(name, Step("reading", have, size))

    return begun
