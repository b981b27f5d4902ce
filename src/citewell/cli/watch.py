"""`citewell watch`: add the documents of a folder by themselves, and keep up with what changes there."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.common import Home, Json, Tags, opened, print_json, printable
from citewell.errors import InputError, NotFound
from citewell.types.watched import NO_SUCH_FOLDER, NOTHING_NEW

if TYPE_CHECKING:
    from citewell.app import App
    from citewell.types.watched import WatchedFolder


def watch(
    context: typer.Context,
    folder: Annotated[
        str | None,
        typer.Argument(help="A folder, s3://BUCKET/PREFIX, or the https:// address of WebDAV.", show_default=False),
    ] = None,
    tag: Tags = None,
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", help="Other tags for a subfolder: SUBFOLDER=TAG,TAG. Repeat.", show_default=False),
    ] = None,
    journey: Annotated[
        list[str] | None, typer.Option("--journey", help="A care journey. Leave out for everyone.", show_default=False)
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Look once, then stop.")] = False,
    confirm: Annotated[bool, typer.Option("--confirm", help="Withdraw what is gone, however much it is.")] = False,
    show: Annotated[bool, typer.Option("--list", help="List the watched folders and how the last look went.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Stop watching; the documents stay, as if added by hand.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Watch a folder: add its files, make changes new versions, withdraw what is removed. Nothing is erased.

    The folder stays on the list, and `serve` keeps looking at it. To change its tags, name the folder again
    with the new ones.
    Without tags only administrators see its documents.
    """
    from citewell.operations.watch import look_at_all, plain_address, watch_folder

    address = None if folder is None else plain_address(folder)
    if address is None and (remove or confirm or tag or rule or journey):
        raise InputError("Name the folder. `citewell watch --list` shows the folders that are watched.")
    with opened(context, home) as app:
        if remove:
            app.watched.remove(address or "", tenant=app.tenant)
            typer.echo(f"{address} is no longer watched. Its documents stay.")
            return
        known = {listed.address for listed in app.watched.all(tenant=app.tenant)}
        if confirm and address not in known:
            raise NotFound(NO_SUCH_FOLDER)
        if address is not None and not show and (address not in known or tag or rule or journey):
            tags, journeys = frozenset(tag or ()), frozenset(journey or ())
            watch_folder(app, address, tags=tags, rules=tuple(rule or ()), journeys=journeys)
        if not (once or confirm or show or json):
            _keep_watching(app)
            return
        is_looking = once or confirm
        looked = list(look_at_all(app, only=address, is_confirmed=confirm)) if is_looking else ()
        folders = looked or app.watched.all(tenant=app.tenant)
    if json:
        print_json({"folders": folders})
    else:
        _print(folders)
    if is_looking and any(listed.problem for listed in folders):
        raise typer.Exit(1)


def _keep_watching(app: App) -> None:
    """Look again and again, and say what is new, until it is stopped."""
    from citewell.operations.watch import keep_watching

    if not app.watched.all(tenant=app.tenant):
        raise InputError("No folders are watched. Name one: `citewell watch FOLDER --tag TAG`.")
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    typer.echo("Watching. Stop with Ctrl-C.")
    try:
        keep_watching(app, stopped, _tell_news)
    except KeyboardInterrupt:
        typer.echo("Stopped.")


def _print(folders: list[WatchedFolder]) -> None:
    if not folders:
        typer.echo("No folders are watched.")
    for folder in folders:
        rules = "".join(f"; {name}: {' '.join(tags)}" for name, tags in folder.rules.items())
        looked = "never" if folder.looked_at is None else f"{folder.looked_at:%d %b %Y %H:%M} UTC"
        words = "" if folder.look is None else f": {folder.look.words}"
        typer.echo(f"{printable(folder.address)} ({' '.join(folder.tags)}{rules})")
        typer.echo(
            f"  {folder.documents} {'document' if folder.documents == 1 else 'documents'}; last look: {looked}{words}"
        )
        _print_problems(folder)


def _tell_news(folder: WatchedFolder) -> None:
    """Say what a look did, where it did anything."""
    words = "" if folder.look is None else folder.look.words
    if folder.problem or words != NOTHING_NEW:
        typer.echo(f"{printable(folder.address)}: {words}")
        _print_problems(folder)


def _print_problems(folder: WatchedFolder) -> None:
    if folder.problem:
        typer.echo(f"  {printable(folder.problem)}", err=True)
    for path, problem in folder.problems.items():
        typer.echo(f"  ✗ {printable(path)}: {printable(problem)}", err=True)
    if folder.look is not None and folder.look.skipped:
        reasons = Counter(folder.look.skipped.values())
        told = ", ".join(f"{count} ({reason})" for reason, count in reasons.items())
        typer.echo(f"  Not read: {told}")
