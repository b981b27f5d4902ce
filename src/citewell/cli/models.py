"""`citewell models`: which language models are allowed, which are there, how to get one, and how well it answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.common import Home, Json, print_json, print_result, settings
from citewell.errors import InputError, ModelNotAllowedError

if TYPE_CHECKING:
    from citewell.adapters.llm.model_list import ModelRow, WriterKind
    from citewell.config import Settings
    from citewell.operations.try_model import Trial

NOT_A_MODEL = (
    "extractive is no language model: it quotes word for word and is always available. `citewell models try` compares "
    "each model with it. `citewell models list` shows the models."
)
NOT_ALLOWED = (
    "The {vendor} model {model} is not allowed. Allow it with CITEWELL_ALLOWED_MODELS='[\"{model}=WINDOW/REPLY\"]' "
    "(its context window and longest reply, in tokens)."
)
app = typer.Typer(help="List, check, download and try language models.", add_completion=False)

Name = Annotated[str, typer.Argument(help="A model, such as qwen3:8b or openai:NAME.", show_default=False)]
Vendor = Annotated[
    str | None,
    typer.Option("--server", help="ollama, openai, anthropic or google [from CITEWELL_MODEL].", show_default=False),
]


@app.callback(invoke_without_command=True)
@app.command("list")
def list_models(context: typer.Context, server: Vendor = None, home: Home = None, json: Json = False) -> None:
    """List language models: which are allowed and which are available."""
    if context.invoked_subcommand is not None:
        return
    from citewell.adapters.llm.model_list import kinds, listing, vendor_of

    chosen = settings(context, home)
    found, ways = listing(chosen, server or vendor_of(chosen)), list(kinds(chosen))
    if json:
        print_json({**asdict(found), "kinds": [{**asdict(way), "install": _install(way)} for way in ways]})
        return
    typer.echo(f"extractive{' (in use)' if ways[0].is_chosen else ''}: quotes word for word; always available\n")
    _print(found.models)
    missing = [kind for kind in ways if not kind.is_installed]
    if missing:
        typer.echo("\nNot installed:")
    for writer_kind in missing:
        typer.echo(f"  {writer_kind.name}: {_install(writer_kind)}")
    if found.problem:
        typer.echo(found.problem, err=True)


def _install(kind: WriterKind) -> str | None:
    """The command that installs what a kind of model needs, where that is not there: with this very Python."""
    return None if kind.is_installed else f"{sys.executable} -m pip install 'citewell[{kind.extra}]'"


@app.command()
def check(context: typer.Context, name: Name, server: Vendor = None, home: Home = None, json: Json = False) -> None:
    """Check that a model is allowed and that its server has exactly that model."""
    from citewell.adapters.llm.model_limits import allowed
    from citewell.adapters.llm.model_list import rows, server_of

    chosen = settings(context, home)
    vendor, model = _named(name, chosen, server)
    limits = allowed(model, chosen.allowed_models)
    with closing(server_of(chosen, vendor)) as asked:
        info = asked.check(model)
    (row,) = (model_row for model_row in rows(chosen, vendor, [info]) if model_row.is_present)
    if json:
        print_json({"server": vendor, "model": row})
        return
    _print([row])
    if info.context_window is not None and info.context_window < limits.context_window:
        typer.echo(
            f"{info.name} supports {info.context_window} tokens, but {limits.context_window} are allowed. Set "
            f"CITEWELL_ALLOWED_MODELS='[\"{model}={info.context_window}/{limits.max_reply_tokens}\"]'.",
            err=True,
        )


@app.command()
def pull(context: typer.Context, name: Name, server: Vendor = None, home: Home = None, json: Json = False) -> None:
    """Download an allowed model, if the server supports it."""
    from citewell.adapters.llm.model_limits import allowed
    from citewell.adapters.llm.model_list import server_of

    chosen = settings(context, home)
    vendor, model = _named(name, chosen, server)
    allowed(model, chosen.allowed_models)
    with closing(server_of(chosen, vendor)) as asked:
        with _bar(f"fetching {model}", quiet=json) as watch:
            asked.pull(model, watch)
        info = asked.check(model)
    print_result(
        {"server": vendor, "pulled": info.name, "digest": info.digest, "size_bytes": info.size_bytes},
        f"{info.name} is available. Use it with CITEWELL_MODEL={vendor}:{model}.",
        as_json=json,
    )


@app.command("try")
def try_model(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help="A model, such as qwen3:8b. Leave out to see what can be tried.", show_default=False),
    ] = None,
    server: Vendor = None,
    questions: Annotated[int, typer.Option("--questions", help="How many of the ten to ask.", min=1, max=10)] = 10,
    home: Home = None,
    json: Json = False,
) -> None:
    """Ask a model ten questions about the samples and compare it with word-for-word answers.

    Only the samples and these questions are sent to it. Nothing is added to your library.
    """
    from citewell.operations.try_model import try_model as tried

    if name is None:
        list_models(context, server, home, json)
        return
    chosen = settings(context, home)
    vendor, model = _named(name, chosen, server)
    with _bar("asking", quiet=json) as watch:
        trials = tried(chosen, vendor, model, count=questions, watch=watch)
    if json:
        print_json({"questions": questions, "trials": [{**asdict(trial), **trial.figures()} for trial in trials]})
        return
    _print_trials(trials)


def _print_trials(trials: Sequence[Trial]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    asked = Table("question", *(trial.writer for trial in trials), box=None, pad_edge=False)
    for number, reply in enumerate(trials[0].replies):
        asked.add_row(reply.question, *(trial.replies[number].outcome for trial in trials))
    console.print(asked)
    table = Table("", "right", "sentences that pass", "tokens/s", "s/answer", "memory", box=None, pad_edge=False)
    for trial in trials:
        speed, memory, is_model = trial.tokens_per_s, trial.memory_bytes, trial.is_model
        table.add_row(
            trial.writer,
            f"{trial.right} of {len(trial.replies)}",
            f"{trial.passed} of {trial.sentences}",
            f"{speed:.1f}" if speed else "unknown" if is_model else "",
            f"{trial.seconds_per_answer:.1f}",
            f"{memory / 1e9:.1f} GB" if memory else "unknown" if is_model else "",
        )
    console.print()
    console.print(table)


def _named(name: str, chosen: Settings, server: str | None) -> tuple[str, str]:
    """Vendor and model; a name may begin with its vendor, and the models of a service must be allowed by name."""
    from citewell.adapters.llm.model_limits import allow_list, exact
    from citewell.adapters.llm.model_list import vendor_of
    from citewell.adapters.llm.vendors import VENDORS
    from citewell.ports.models import EXTRACTIVE

    if name == EXTRACTIVE:
        raise InputError(NOT_A_MODEL)
    before, _, after = name.partition(":")
    vendor, model = (before, after) if before in VENDORS and after else (server or vendor_of(chosen), name)
    if vendor != "ollama" and exact(model) not in map(exact, allow_list(chosen.allowed_models)):
        raise ModelNotAllowedError(NOT_ALLOWED.format(vendor=vendor, model=model))
    return vendor, model


def _print(rows: Sequence[ModelRow]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("model", "allowed", "there", "window", "reply", "size", "digest", box=None, pad_edge=False)
    for row in rows:
        table.add_row(
            f"{row.name} (in use)" if row.is_chosen else row.name,
            "yes" if row.is_allowed else "no",
            "yes" if row.is_present else "no",
            f"{row.context_window:,}" if row.context_window else "",
            f"{row.max_reply_tokens:,}" if row.max_reply_tokens else "",
            f"{row.size_bytes / 1e9:.1f} GB" if row.size_bytes else "",
            (row.digest or "").removeprefix("sha256:")[:12],
        )
    Console(highlight=False, markup=False).print(table)


@contextmanager
def _bar(doing: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error; nothing where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
