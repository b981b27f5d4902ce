"""What all verbs share: the home, JSON out, errors in one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import BaseModel

from citewell.config import Settings
from citewell.errors import CitewellError, InputError

if TYPE_CHECKING:
    from citewell.app import App
    from citewell.history import HistoryPage

Home = Annotated[
    Path | None,
    typer.Option("--home", help="Folder that holds the library [CITEWELL_HOME, else ~/.citewell].", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag. Repeat for several.", show_default=False)]
Journey = Annotated[str | None, typer.Option("--journey", help="A care journey.", show_default=False)]
Subject = Annotated[
    str | None, typer.Option("--subject", help="The person the documents are about.", show_default=False)
]
Limit = Annotated[int, typer.Option("--limit", help="Maximum number to show.", min=1)]
After = Annotated[
    str | None,
    typer.Option("--after", help="Continue after this point, as printed by the previous page.", show_default=False),
]
NO_DOCUMENTS = "No documents yet. Add one with `citewell add FILE`, or add samples with `citewell add --samples`."
DocumentId = Annotated[
    str, typer.Argument(help="The document's ID, its first characters, or its hash in a log.", show_default=False)
]


def settings(context: typer.Context, home: Path | None) -> Settings:
    """The settings, with the home named on the command line."""
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    chosen = home or context.obj
    try:
        return Settings() if chosen is None else Settings(home=chosen)
    except ValidationError as error:
        wrong = ", ".join(f"CITEWELL_{str(item['loc'][0]).upper()}: {item['msg']}" for item in error.errors())
        raise CitewellError(f"A setting is invalid. {wrong}.") from error
    except SettingsError as error:  # it names the field in its message alone
        named = re.search(r'field "(\w+)"', str(error))
        which = f"CITEWELL_{named.group(1).upper()}" if named else "One that holds a list"
        raise CitewellError(f"A setting is invalid. {which}: write it as JSON, such as '[\"one\"]'.") from error


@contextmanager
def opened(context: typer.Context, home: Path | None) -> Iterator[App]:
    """The library, open."""
    from citewell.app import build

    with build(settings(context, home)) as app:
        try:
            yield app
        except BaseException:
            _note(app, context, "refused")
            raise
        _note(app, context, "done")


NO_LIBRARY = (
    "There is no library in {home}, and none was made. Check --home and CITEWELL_HOME, or begin one with "
    "`citewell add FILE`."
)


@contextmanager
def opened_to_read(context: typer.Context, home: Path | None) -> Iterator[App]:
    """The library, open, where there is one; none is made for who only wants to read."""
    from citewell.wiring import LIBRARY_FILE

    chosen = settings(context, home)
    if chosen.database_url is None and not (chosen.home / LIBRARY_FILE).exists():
        raise InputError(NO_LIBRARY.format(home=chosen.home))
    with opened(context, home) as app:
        yield app


UNRECORDED = ("doctor", "serve", "worker", "status", "verify", "models", "calibrate", "backup", "migrate", "replica")
"""Verbs that open no document and no person's record for anybody to read."""


def _note(app: App, context: typer.Context, outcome: str) -> None:
    """Keep on the trail which verb was used, with the beginning of the ID that it names; a vault keeps none."""
    from citewell.history import TrailEvent
    from citewell.types import OWNER_ID

    words = context.command_path.split()[1:]
    if not words or words[0] in UNRECORDED or app.library.is_vault:
        return
    given = (value for value in context.params.values() if isinstance(value, str))
    object_id = next((value for value in given if re.fullmatch(r"h?[0-9a-f-]{4,36}", value)), "")
    with suppress(CitewellError, OSError):
        now = datetime.now(UTC)
        app.trail.keep([TrailEvent(app.tenant, OWNER_ID, "cli", ".".join(words), object_id, outcome, now)])


def need_documents(app: App) -> None:
    """Say how to begin where the library holds nothing that could answer."""
    if app.is_empty:
        raise InputError(NO_DOCUMENTS)


def print_json(value: object) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))


def print_result(value: object, text: str, *, as_json: bool) -> None:
    """What a verb came to: one JSON object, or a text for people."""
    if as_json:
        print_json(value)
    else:
        typer.echo(printable(text))


def _plain(value: object) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)


def tell(error: CitewellError, *, as_json: bool) -> int:
    """Say what went wrong; the exit status to leave with."""
    if as_json:
        print_json({"error": {"kind": type(error).__name__, "message": str(error)}})
    else:
        typer.echo(str(error), err=True)
    return 1


def printable(text: str) -> str:
    r"""A text that may hold anything, without what a terminal would obey.

    >>> printable("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def print_next(page: HistoryPage[Any]) -> None:
    """Say how to read on, where a list is longer than what was shown."""
    if page.next is not None:
        typer.echo(f"There are more. To continue: --after {page.next}")
