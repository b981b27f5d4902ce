"""All verbs, in the order a newcomer meets them."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell import __version__
from citewell.cli import (
    add,
    ask,
    assess,
    audit,
    backup,
    chat,
    check,
    consult,
    conversations,
    delete,
    doctor,
    entries,
    evidence,
    file,
    guidelines,
    inbox,
    journeys,
    migrate,
    models,
    records,
    reindex,
    replay,
    replica,
    search,
    serve,
    show,
    tags,
    users,
    vault,
    verify,
    worker,
)
from citewell.cli.frame import Home

app = typer.Typer(
    help="Citewell: answers from medical documents, each pointing at the exact words it rests on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

for verb, name in (
    (add.add, "add"),
    (search.search, "search"),
    (ask.ask, "ask"),
    (check.check, "check"),
    (assess.assess, "assess"),
    (chat.chat, "chat"),
    (replay.replay, "replay"),
    (entries.list_entries, "list"),
    (show.show, "show"),
    (file.file, "file"),
    (delete.delete, "delete"),
    (reindex.reindex, "reindex"),
    (verify.verify, "verify"),
    (serve.serve, "serve"),
    (worker.worker, "worker"),
    (doctor.doctor, "doctor"),
    (backup.backup, "backup"),
    (backup.restore, "restore"),
    (migrate.migrate, "migrate"),
):
    app.command(name)(verb)
for group, name in (
    (conversations.app, "conversations"),
    (inbox.app, "inbox"),
    (audit.app, "audit"),
    (users.app, "users"),
    (tags.app, "tags"),
    (journeys.app, "journeys"),
    (models.app, "models"),
    (guidelines.app, "guidelines"),
    (evidence.app, "evidence"),
    (vault.app, "vault"),
    (records.app, "records"),
    (consult.app, "consult"),
    (replica.app, "replica"),
):
    app.add_typer(group, name=name)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"citewell {__version__}")
        raise typer.Exit


@app.callback()
def frame(
    context: typer.Context,
    home: Home = None,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Remember the home that was named before the verb."""
    context.obj = home
