"""Writes the generated blocks of the docs, or with --check says which are out of date.

A block stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from bench_tables import alterations, calibration, gain, reliability, sizing, table
from make_sbom import weights

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PLOT = ROOT / "docs" / "images" / "reliability.svg"
VERBS = ROOT / "scripts" / "verbs.txt"
SHARED = ("home", "json", "vault", "passphrase_stdin", "yes", "limit", "after", "tag", "subject")
"""Options that docs/cli.md explains once, above the tables."""
RESULTS = sorted(path.stem for path in (ROOT / "bench" / "results").glob("*.json"))
BLOCK = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def settings_table() -> str:
    """Every setting with its default."""
    from citewell.config import Settings

    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "~/.citewell" if name == "home" else field.default
        shown = "" if default is None else f"`{default}`"
        rows.append(f"| `CITEWELL_{name.upper()}` | {shown} | {field.description} |")
    return "\n".join(rows)


def weights_table() -> str:
    """Every file of weights: what it is for, where it comes from, what it learned from, and its sha256."""
    rows = ["| file | used for | made by | learned from | licence | sha256 |", "|---|---|---|---|---|---|"]
    for file in weights():
        digest = f"`{file.sha256[:16]}…`"
        rows.append(f"| {file.name} | {file.use} | {file.origin} | {file.learned_from} | {file.licence} | {digest} |")
    return "\n".join(rows)


def commands() -> str:
    """Every verb under what a person wants to do: its purpose, one example, and the options that are its own."""
    from typer.main import get_command

    from citewell.cli.commands import app

    verbs = dict(_flat(get_command(app)))
    parts = []
    missing = set(verbs)
    for heading, *lines in (block.strip().splitlines() for block in VERBS.read_text().split("## ")[1:]):
        examples = [line for line in lines if line]
        named = [(_verb_of(example, verbs), example) for example in examples]
        missing -= {name for name, _ in named}
        rows = ["| command | what it does |", "|---|---|"]
        rows += [f"| `{example}` | {_line(verbs[name].help)} |" for name, example in named]
        once = dict.fromkeys(name for name, _ in named)
        options = [f"| `citewell {name}` | {text} |" for name in once if (text := _options(verbs[name]))]
        if options:
            rows += ["", "| options | |", "|---|---|", *options]
        parts.append("\n".join([f"## {heading}", "", *rows, ""]))
    if missing:
        raise SystemExit(f"{VERBS.name} has no example of: {', '.join(sorted(missing))}")
    return "\n".join(parts)


def _line(text: str) -> str:
    """The paragraphs of a help text in one row of a table."""
    return " ".join(text.split())


def _verb_of(example: str, verbs: dict[str, Any]) -> str:
    """The verb of an example that the command line would understand."""
    _, *words = shlex.split(example)
    name = next(name for length in (3, 2, 1) if (name := " ".join(words[:length])) in verbs)
    command = verbs[name]
    given, *_ = command.make_parser(command.context_class(command)).parse_args(words[len(name.split()) :])
    if lacking := [known.name for known in command.params if known.required and given.get(known.name) is None]:
        raise SystemExit(f"{example}: {', '.join(lacking)} is missing")
    return name


def _options(command: Any) -> str:
    """The options of a verb, without those that many verbs share."""
    shown = []
    for known in command.params:
        if known.param_type_name == "option" and known.name != "help" and known.name not in SHARED and not known.hidden:
            kind = known.type_descriptor.annotation
            choices = ", ".join(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ""
            meaning = re.sub(r"\. (\w)", lambda start: f"; {start[1].lower()}", (known.help or "").strip().rstrip("."))
            shown.append(f"`{known.opts[0]}` {meaning}" + (f" ({choices})" if choices else ""))
    return " · ".join(shown)


def _flat(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every verb, those of a group after the group's name."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from _flat(command, f"{before}{name} ")
        else:
            yield before + name, command


def routes() -> str:
    """Every path of the API."""
    from fastapi.routing import APIRoute

    from citewell.api.app import API
    from citewell.api.routes.status import exposition

    rows = ["| method | path | what it does |", "|---|---|---|"]
    for route in [*(route for part in API for route in part.router.routes), *exposition.routes]:
        if isinstance(route, APIRoute):
            told = (route.endpoint.__doc__ or "").strip().splitlines()[0]
            rows.append(f"| {', '.join(sorted(route.methods))} | `{route.path}` | {told} |")
    return "\n".join(rows)


def events() -> str:
    """Every event of the stream with its data."""
    from pydantic import TypeAdapter

    from citewell.api.bodies.events import EVENTS, DoneResponse

    rows = ["| event | data | when |", "|---|---|---|"]
    for name, shape in EVENTS.items():
        schema = TypeAdapter(shape).json_schema()
        fields = (f'"{name}": {_type(field, schema)}' for name, field in schema["properties"].items())
        data = "the answer as `POST /api/v1/ask` gives it" if shape is DoneResponse else f"`{{{', '.join(fields)}}}`"
        rows.append(f"| `{name}` | {data} | {' '.join((shape.__doc__ or '').split())} |")
    return "\n".join(rows)


def _type(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """What a field holds, in the words of JSON."""
    if "anyOf" in field:
        return " or ".join(_type(part, schema) for part in field["anyOf"])
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return (
            str(schema["$defs"][name]["type"])
            if "enum" in schema["$defs"][name]
            else name.removesuffix("Response").lower()
        )
    if field["type"] == "array":
        return f"[{_type(field['items'], schema)}]"
    return str(field["type"])


def errors() -> str:
    """The exception tree."""
    import citewell.errors

    tree = (citewell.errors.__doc__ or "").split("\n\n", 1)[1].strip()
    return f"```text\n{tree}\n```"


def bench(name: str) -> Callable[[], str]:
    """The last results of a bench, as they were written."""

    return lambda: table(_result(name))


def _result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text())
    return found


BLOCKS: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "weights": weights_table,
    "commands": commands,
    "routes": routes,
    "events": events,
    "errors": errors,
    "sizing": lambda: sizing(_result("search"), _result("ingest")),
    **{f"bench-{name}": bench(name) for name in RESULTS},
    "bench-questions": lambda: table(_result("questions")),
    "bench-alterations": lambda: alterations(_result("alterations")),
    "bench-gain": lambda: gain(_result("verify")),
    "bench-calibration": lambda: calibration(_result("verify")),
}


def main() -> int:
    """Write or check all pages."""
    check = "--check" in sys.argv
    stale = []
    for page in PAGES:
        before = page.read_text()
        after = BLOCK.sub(lambda match: f"{match[1]}{BLOCKS[match['name']]()}\n{match[3]}", before)
        if after != before:
            stale.append(page.relative_to(ROOT))
            if not check:
                page.write_text(after)
    plot = reliability(ROOT / "bench" / "results" / "verify.json")
    if not PLOT.exists() or PLOT.read_text() != plot:
        stale.append(PLOT.relative_to(ROOT))
        if not check:
            PLOT.write_text(plot)
    for page in stale:
        print(f"{page}: {'out of date, run `python scripts/make_docs.py`' if check else 'written'}")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
