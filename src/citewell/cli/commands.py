"""All verbs, in the order a newcomer meets them; the file of a verb is read when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from citewell import __version__
from citewell.cli.common import Home

VERBS = {
    "add": "add",
    "search": "search",
    "ask": "ask",
    "check": "check",
    "assess": "assess",
    "chat": "chat",
    "replay": "replay",
    "list": "list_documents.list_entries",
    "show": "show",
    "file": "file",
    "delete": "delete",
    "reindex": "reindex",
    "calibrate": "calibrate",
    "verify": "verify",
    "serve": "serve",
    "mcp": "mcp",
    "worker": "worker",
    "watch": "watch",
    "doctor": "doctor",
    "backup": "backup",
    "restore": "backup.restore",
    "encrypt": "encrypt",
    "decrypt": "encrypt.decrypt",
    "migrate": "migrate",
}
"""The file of each verb, and its function where that has another name."""
GROUPS = (
    *("conversations", "inbox", "audit", "users", "tags", "journeys", "models", "guidelines", "evidence", "literature"),
    *("vault", "records", "consult", "replica", "person", "holds"),
)
"""Files that hold several verbs."""
LOOK: dict[str, Any] = {"pretty_exceptions_enable": False, "rich_markup_mode": "markdown"}


class LazyGroup(TyperGroup):
    """Reads the files of the verbs that are called: all of them take as long as a search."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the same in any context
        return [*VERBS, *GROUPS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        names = self.list_commands(ctx)
        for name in [cmd_name] if cmd_name in names else names:  # of an unknown one, those that are like it are told
            if name not in self.commands:
                self.commands[name] = _read(name)
        return self.commands.get(cmd_name)


def _read(name: str) -> Any:
    one = typer.Typer(**LOOK)
    if name in VERBS:
        file, _, function = VERBS[name].partition(".")
        one.command(name)(getattr(import_module(f"citewell.cli.{file}"), function or file))
    else:
        one.add_typer(import_module(f"citewell.cli.{name}").app, name=name)
    return get_group(one).commands[name]


app = typer.Typer(
    cls=LazyGroup,
    help="Citewell: answers from medical documents, with every sentence linked to its source.",
    no_args_is_help=True,
    add_completion=False,
    **LOOK,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"citewell {__version__}")
        raise typer.Exit


@app.callback()
def frame(
    context: typer.Context,
    home: Home = None,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Remember the home that was named before the verb."""
    context.obj = home
