"""`citewell worker`: read what is queued, in processes of its own."""

from __future__ import annotations

import logging
import os
from typing import Annotated

import typer

from citewell.cli.common import Home, Json, print_json, settings
from citewell.config import Settings


def worker(
    context: typer.Context,
    processes: Annotated[
        int | None, typer.Option(help="Number of documents to process at once. Default: one per core.", min=1, max=256)
    ] = None,
    drain: Annotated[bool, typer.Option("--drain", help="Process what is queued now, then exit.")] = False,
    part: Annotated[str | None, typer.Option(hidden=True, help="One part of a worker; started automatically.")] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Process queued documents until stopped. Start as many as you like, on any computer that reaches the library."""
    from citewell.app import build
    from citewell.operations.workers import drain as read_all
    from citewell.operations.workers import process_count, refuse_misfit, run_part, supervise, worker_commands

    chosen = settings(context, home)
    count = processes or process_count(chosen)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(process)d %(levelname)s %(message)s")
    match part:
        case None:
            pass
        case "poll" | "serve" | "sweep" | "literature":
            with build(_shared(chosen, count)) as app:
                run_part(app, part, processes=count)
            return
        case _:
            raise typer.BadParameter("The part must be poll, serve, sweep or literature.")
    with build(chosen) as app:
        refuse_misfit(app)
        if drain:
            _told(*read_all(app), as_json=json)
            return
    if json:
        print_json({"processes": count, "broker": chosen.broker_url is not None})
    else:
        way = "woken through Redis" if chosen.broker_url else "checking the library every second"
        typer.echo(f"Working with {count} process{'es' if count > 1 else ''}, {way}. Stop it with Ctrl-C.")
    raise typer.Exit(supervise(worker_commands(chosen, count)))


def _shared(chosen: Settings, count: int) -> Settings:
    """The settings of one process of several: they share the cores rather than fight for them."""
    if chosen.embedder_threads is not None:
        return chosen
    threads = max(1, (os.cpu_count() or 1) // count)
    return chosen.model_copy(update={"embedder_threads": threads})


def _told(count: int, failed: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"documents": count, "failed": failed})
    else:
        rest = f"; {failed} could not be read: `citewell evidence list` says why" if failed else "; the queue is empty"
        typer.echo(f"{count} document{'' if count == 1 else 's'} processed{rest}.")
