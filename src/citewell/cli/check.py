"""`citewell check`: hold any text against the library, one document, or words given with it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.answer.answer_json import check_json
from citewell.cli.common import Home, Json, Tags, need_documents, opened, opened_to_read, print_json, printable
from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.app import App

PATH = re.compile(r"(?:~|\.{0,2})/\S.*|\S+\.[a-z][a-z0-9]{1,4}", re.IGNORECASE)
"""A way through folders, or one word with the ending of a file."""
STANDARD_INPUT = "-"
MARKS = {"supported": "✓", "partly": "≈", "contradicted": "✗", "not_found": "?"}


def check(
    context: typer.Context,
    text: Annotated[
        str,
        typer.Argument(
            help="Text to check, or a file that holds it (plain text, PDF, Word or any other supported type). Use - "
            "for standard input.",
            show_default=False,
        ),
    ],
    against: Annotated[
        str | None, typer.Option(help="ID of the one document to check against.", show_default=False)
    ] = None,
    evidence: Annotated[
        str | None,
        typer.Option(
            help="Text, a file, or - for standard input, to check against instead of the library.", show_default=False
        ),
    ] = None,
    tag: Tags = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Check a text sentence by sentence: supported, partly, contradicted or not found, with the source text."""
    if text == evidence == STANDARD_INPUT:
        raise InputError("Standard input can be used only once. Give the text or the evidence as a file.")
    files = {given: _file(given) for given in (text, evidence) if given is not None}
    opening = opened_to_read if evidence is None else opened  # given words need no library
    with opening(context, home) as app:
        texts = {given: _words(app, given, path) for given, path in files.items()}
        words, held = texts[text], None if evidence is None else texts[evidence]
        if held is None:
            need_documents(app)
        checked = app.check(
            words,
            against=app.find(against) if against else None,
            evidence=held,
            scope=app.scope(tags=tag),
        )
    if json:
        print_json({"sentences": [check_json(sentence, result) for sentence, result in checked]})
        return
    for sentence, result in checked:
        typer.echo(printable(f"{MARKS[result.verdict]} {sentence}"))
        for reason in result.reasons:
            typer.echo(printable(f"    {reason}"))
        for span in result.spans:
            typer.echo(printable(f"    “{span.text}” ({span.source_id})"))


def _words(app: App, given: str, path: Path | None) -> str:
    """The words of a file or of standard input, or those that were given."""
    if given == STANDARD_INPUT:
        from citewell.ingest.file_bytes import read_stream

        source = read_stream(sys.stdin.buffer, "Standard input", app.settings.limits.max_bytes)
        if not source.data.strip():
            raise InputError("Standard input is empty. Pipe in a text, or give the text itself.")
        return app.text_of(source)
    if path is None:
        return given
    from citewell.ingest.file_bytes import read_source

    return app.text_of(read_source(path, app.settings.limits.max_bytes))


def _file(given: str) -> Path | None:
    """The file that was named, or None where the words themselves, or standard input, were given."""
    if given == STANDARD_INPUT:
        return None
    try:
        is_file = len(given) < 1_000 and Path(given).is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file and looks_like_a_path(given):
        raise InputError(f"File not found: {printable(given)}. Check the name, or give the text itself.")
    return Path(given) if is_file else None


def looks_like_a_path(given: str) -> bool:
    """Whether a file was meant: words are not written like this.

    >>> [looks_like_a_path(text) for text in ("/tmp/no such.txt", "~/note.md", "leaflet.pdf", "Take 5 mg/kg.", "Iron.")]
    [True, True, True, False, False]
    """
    return PATH.fullmatch(given.strip()) is not None
