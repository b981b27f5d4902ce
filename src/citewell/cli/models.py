"""`citewell models`: which language models are allowed, which are there, and how to get one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.frame import Home, Json, print_json, settings
from citewell.errors import ModelConnection

if TYPE_CHECKING:
    from citewell.adapters.llm.remote import RemoteServer
    from citewell.config import Settings
    from citewell.ports import ModelInfo

app = typer.Typer(help="List, check and fetch language models.", add_completion=False)

Name = Annotated[str, typer.Argument(help="A model, such as qwen3:8b or openai:NAME.", show_default=False)]
Vendor = Annotated[
    str | None,
    typer.Option("--server", help="ollama, openai, anthropic or google [as CITEWELL_MODEL says].", show_default=False),
]


@dataclass(frozen=True, slots=True)
class Row:
    """A model that is allowed, or there, or both."""

    name: str
    is_allowed: bool
    is_present: bool
    is_chosen: bool
    context_window: int | None
    """Tokens that may be used: what is allowed, or less if the model was made for less."""
    max_reply_tokens: int | None
    digest: str | None
    size_bytes: int | None


@app.callback(invoke_without_command=True)
def models(context: typer.Context, server: Vendor = None, home: Home = None, json: Json = False) -> None:
    """List language models: which are allowed, which are there."""
    if context.invoked_subcommand is None:
        list_models(context, server, home, json)


@app.command("list")
def list_models(context: typer.Context, server: Vendor = None, home: Home = None, json: Json = False) -> None:
    """List language models: which are allowed, which are there."""
    chosen = settings(context, home)
    vendor = server or _vendor(chosen)
    problem = None
    with closing(_server(chosen, vendor)) as asked:
        try:
            present = asked.models()
        except ModelConnection as error:
            present, problem = [], str(error)
    rows = _rows(chosen, vendor, present)
    if json:
        print_json({"server": vendor, "problem": problem, "models": [asdict(row) for row in rows]})
        return
    _print(rows)
    if problem:
        typer.echo(problem, err=True)


@app.command()
def check(context: typer.Context, name: Name, server: Vendor = None, home: Home = None, json: Json = False) -> None:
    """Check that a model is allowed and that its server has exactly this one."""
    from citewell.adapters.llm.limits import allowed

    chosen = settings(context, home)
    vendor, model = _named(name, server or _vendor(chosen))
    limits = allowed(model, chosen.allowed_models)
    with closing(_server(chosen, vendor)) as asked:
        found = asked.check(model)
    (row,) = (one for one in _rows(chosen, vendor, [found]) if one.is_present)
    if json:
        print_json({"server": vendor, "model": asdict(row)})
        return
    _print([row])
    if found.context_window is not None and found.context_window < limits.context_window:
        typer.echo(
            f"{found.name} was made for {found.context_window} tokens, but {limits.context_window} are allowed. "
            f"Set CITEWELL_ALLOWED_MODELS='[\"{model}={found.context_window}/{limits.max_reply_tokens}\"]'.",
            err=True,
        )


@app.command()
def pull(context: typer.Context, name: Name, server: Vendor = None, home: Home = None, json: Json = False) -> None:
    """Fetch an allowed model, where the server can do that."""
    from citewell.adapters.llm.limits import allowed

    chosen = settings(context, home)
    vendor, model = _named(name, server or _vendor(chosen))
    allowed(model, chosen.allowed_models)
    with closing(_server(chosen, vendor)) as asked:
        with _bar(model, quiet=json) as watch:
            asked.pull(model, watch)
        found = asked.check(model)
    if json:
        print_json({"server": vendor, "pulled": found.name, "digest": found.digest, "size_bytes": found.size_bytes})
    else:
        typer.echo(f"{found.name} is there. Use it with CITEWELL_MODEL={vendor}:{model}.")


def _vendor(chosen: Settings) -> str:
    """The vendor in the settings; Ollama where no model is set."""
    from citewell.adapters.llm import VENDORS

    vendor = chosen.model.partition(":")[0]
    return vendor if vendor in VENDORS else "ollama"


def _named(name: str, vendor: str) -> tuple[str, str]:
    """Vendor and model; a name may begin with its vendor."""
    from citewell.adapters.llm import VENDORS

    before, _, after = name.partition(":")
    return (before, after) if before in VENDORS and after else (vendor, name)


def _server(chosen: Settings, vendor: str) -> RemoteServer:
    """The vendor's server; the address and key of one vendor are never used with another."""
    from citewell.adapters.llm import make_server

    if vendor != _vendor(chosen):
        return make_server(vendor)
    key = chosen.model_key.get_secret_value() if chosen.model_key else None
    return make_server(vendor, url=chosen.model_url, key=key)


def _rows(chosen: Settings, vendor: str, present: list[ModelInfo]) -> list[Row]:
    """Allowed models first, then what else is there."""
    from citewell.adapters.llm.limits import allow_list, exact

    limits = {exact(name): (name, one) for name, one in allow_list(chosen.allowed_models).items()}
    there = {exact(one.name): one for one in present}
    in_use = chosen.model.partition(":")
    rows = []
    for key in [*limits, *(key for key in there if key not in limits)]:
        name, allowance = limits.get(key, (there[key].name if key in there else key, None))
        found = there.get(key)
        windows = [allowance and allowance.context_window, found and found.context_window]
        rows.append(
            Row(
                name=found.name if found else name,
                is_allowed=allowance is not None,
                is_present=found is not None,
                is_chosen=(vendor, key) == (in_use[0], exact(in_use[2])),
                context_window=min((window for window in windows if window), default=None),
                max_reply_tokens=allowance.max_reply_tokens if allowance else None,
                digest=found.digest if found else None,
                size_bytes=found.size_bytes if found else None,
            )
        )
    return rows


def _print(rows: list[Row]) -> None:
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
def _bar(name: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar of bytes on standard error; nothing where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"fetching {name}", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
