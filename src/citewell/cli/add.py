"""`citewell add`: read files into the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.common import Home, Json, Subject, Tags, opened, print_json
from citewell.cli.progress import progress
from citewell.errors import InputError
from citewell.types import Chunking, Filing

if TYPE_CHECKING:
    from citewell.ingest.library_changes import FileOutcome

Files = Annotated[
    list[Path] | None,
    typer.Argument(help="Files or folders to add. Every file in a folder is read.", show_default=False),
]


def add(
    context: typer.Context,
    files: Files = None,
    samples: Annotated[bool, typer.Option("--samples", help="Add the sample library.")] = False,
    tag: Tags = None,
    journey: Annotated[
        list[str] | None, typer.Option("--journey", help="A care journey. Leave out for everyone.", show_default=False)
    ] = None,
    subject: Subject = None,
    title: Annotated[str | None, typer.Option(help="A title to use instead of the document's own.")] = None,
    replaces: Annotated[str | None, typer.Option(help="ID of the document this is a new version of.")] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="How to split the text: sections, headings (tokens) or characters.", show_default=False),
    ] = None,
    size: Annotated[int | None, typer.Option(help="Largest passage, in the strategy's unit.", min=50)] = None,
    overlap: Annotated[
        int | None, typer.Option(help="Overlap between neighbouring passages, in the same unit.", min=0)
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Add files to the library. A file that cannot be read does not stop the others."""
    paths = list(_all_files(files or []))
    if not paths and not samples:
        raise InputError("Give a file or folder to add, or use --samples to add the sample library.")
    if (len(paths) > 1 or samples) and (title or replaces):
        raise InputError("--title and --replaces work with one file at a time. Add the files one by one.")
    with opened(context, home) as app, progress(quiet=json) as watch:
        filing = Filing(
            tags=frozenset(tag) if tag else None,
            journeys=frozenset(journey) if journey else None,
            subject=subject,
            title=title,
            replaces=app.find(replaces) if replaces else None,
            chunking=_chunking(strategy, size, overlap),
        )
        outcomes = []
        guidelines: dict[Path, str | None] = {}
        names = Counter(path.name for path in paths)
        with (
            closing(app.add_all(paths, filing=filing, watch=watch)) as adding,
            closing(app.add_samples(filing=filing, watch=watch)) as sampling,
        ):
            for outcome in chain(adding, sampling if samples else ()):
                outcomes.append(outcome)
                name = app.guidelines.recognised(outcome.added.entry, app.scope_of_owner()) if outcome.added else None
                guidelines[outcome.path] = name
                watch.end(outcome.path)
                if not json:
                    watch.line(_line(outcome, names) + _offer(outcome.path, name), err=outcome.error is not None)
    failed = [_failed(outcome) for outcome in outcomes if outcome.error is not None]
    tried = {outcome.path for outcome in outcomes}
    not_tried = [str(path) for path in paths if path not in tried]  # the library itself could not be written
    if json:
        added = [{**_added(outcome), "guideline": guidelines[outcome.path]} for outcome in outcomes if outcome.added]
        print_json({"added": added, "failed": failed, "not_tried": not_tried})
    elif not_tried:
        typer.echo(f"{_counted(len(not_tried), 'more file')} not tried.", err=True)
    if failed:
        raise typer.Exit(1)


def _all_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.is_file() and not _is_hidden(file, path))
        else:
            yield path


def _is_hidden(file: Path, folder: Path) -> bool:
    """Whether a file was not meant to be found: a link that may lead anywhere, or behind a leading dot."""
    return file.is_symlink() or any(part.startswith(".") for part in file.relative_to(folder).parts)


def _chunking(strategy: str | None, size: int | None, overlap: int | None) -> Chunking | None:
    from citewell.ingest.chunk import CHARACTERS, HEADINGS, SECTIONS

    if strategy is None and size is None and overlap is None:
        return None
    known = {"sections": SECTIONS, "headings": HEADINGS, "characters": CHARACTERS}
    if strategy not in known:
        raise InputError(f"--strategy must be one of {', '.join(known)}. --size and --overlap also need it.")
    base = known[strategy]
    chosen = size or base.size
    shared = min(base.overlap, chosen // 4) if overlap is None else overlap
    return Chunking(base.strategy, chosen, shared, base.unit)


def _line(outcome: FileOutcome, names: Mapping[str, int]) -> str:
    file = outcome.path if names[outcome.path.name] > 1 else outcome.path.name
    if outcome.added is None:
        return f"✗ {file}: {outcome.error}"
    entry = outcome.added.entry
    if outcome.added.was_refiled:
        where = " ".join([*entry.tags, *entry.journeys])
        return f"= {file}: already in the library as {entry.id[:8]}, now filed under {where}"
    if outcome.added.was_there:
        return f"= {file}: already in the library as {entry.id[:8]}, nothing to do"
    pages = f"{_counted(entry.page_count, 'page')}, " if entry.page_count else ""
    version = f", version {entry.version}" if entry.version > 1 else ""
    notes = "".join(f"\n    {note}" for note in entry.notes)
    return f"✓ {entry.title} ({entry.id[:8]}{version}): {pages}{_counted(entry.chunk_count, 'passage')}{notes}"


def _offer(file: Path, guideline: str | None) -> str:
    if guideline is None:
        return ""
    command = f"citewell guidelines add {quote(str(file))}"
    return f"\n    This looks like a guideline: {guideline}. Apply it to patients: {command}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def _added(outcome: FileOutcome) -> dict[str, Any]:
    assert outcome.added is not None
    entry = outcome.added.entry
    return {
        "path": str(outcome.path),
        "document_id": entry.id,
        "title": entry.title,
        "version": entry.version,
        "pages": entry.page_count,
        "chunks": entry.chunk_count,
        "chunks_indexed": outcome.added.chunks_indexed,
        "replaced_existing": outcome.added.replaced_existing,
        "embedding_ms": round(outcome.added.embedding_ms, 1),
        "indexing_ms": round(outcome.added.indexing_ms, 1),
        "was_there": outcome.added.was_there,
        "took_s": entry.took_s,
        "notes": list(entry.notes),
    }


def _failed(outcome: FileOutcome) -> dict[str, str]:
    return {"path": str(outcome.path), "kind": type(outcome.error).__name__, "message": str(outcome.error)}
