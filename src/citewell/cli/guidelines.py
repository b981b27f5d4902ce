"""`citewell guidelines`: add a guideline, check how it was read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli import bookshelf
from citewell.cli.common import Home, Json, opened, print_json, printable
from citewell.cli.progress import progress

if TYPE_CHECKING:
    from citewell.app import App
    from citewell.assistants.guidelines.guideline import Guideline

app = typer.Typer(
    help="Guidelines to assess patients against: check, add, compare and list them.",
    no_args_is_help=True,
    add_completion=False,
)

File = Annotated[Path, typer.Argument(help="The guideline as a PDF.", show_default=False)]


@app.command()
def add(
    context: typer.Context,
    file: File,
    replaces: Annotated[str | None, typer.Option(help="ID of the edition this one replaces.")] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Import a guideline, replacing any older edition. A document that is not a guideline is refused."""
    from citewell.assistants.guidelines.guideline_json import counts_json

    with opened(context, home) as app, progress(quiet=json) as watch:
        added = app.guidelines.add(
            file,
            replaces=app.find(replaces) if replaces else None,
            watch=lambda step: watch(file.name, step),
        )
        guideline = app.guidelines.guideline(added.entry.id, app.scope_of_owner())
    shown = {"was_there": added.was_there, **counts_json(guideline)}
    if json:
        print_json(shown)
        return
    mark = "=" if added.was_there else "✓"
    typer.echo(printable(f"{mark} {guideline.name}: {guideline.title} ({added.entry.id[:8]})"))
    _print_counts(guideline)


@app.command()
def check(context: typer.Context, file: File, home: Home = None, json: Json = False) -> None:
    """Report how a guideline was imported: recommendations, gaps, symptom rows, references and criteria to check."""
    from citewell.assistants.guidelines.guideline_json import guideline_json

    with opened(context, home) as app:
        guideline = app.guidelines.check(file)
    if json:
        print_json(guideline_json(guideline))
        return
    typer.echo(printable(f"{guideline.name}: {guideline.title}"))
    _print_counts(guideline)
    for problem in guideline.problems:
        typer.echo(printable(f"  ! {problem.message}"))
    for text, pages in guideline.coverage.left_out.items():
        typer.echo(printable(f"  - left out on {pages} pages: “{text}”"))


@app.command()
def diff(
    context: typer.Context,
    old: Annotated[str, typer.Argument(help="The older edition: a file, or the ID of a document in the library.")],
    new: Annotated[str, typer.Argument(help="The newer edition.")],
    home: Home = None,
    json: Json = False,
) -> None:
    """Show what changed between two editions, and which saved assessments would change."""
    from citewell.assistants.guidelines.diff import diff_json

    with opened(context, home) as app:
        editions = [_edition(app, one) for one in (old, new)]
        found, changed = app.guidelines.diff(editions[0], editions[1], asker=app.owner())
    shown = {**diff_json(found), "assessments": changed}
    if json:
        print_json(shown)
    else:
        _print_diff(shown)


def _edition(app: App, named: str) -> Guideline:
    path = Path(named)
    return (
        app.guidelines.edition(path)
        if path.is_file()
        else app.guidelines.guideline(app.find(named), app.scope_of_owner())
    )


def _print_diff(entry: dict[str, Any]) -> None:
    lines = [f"{one}: {entry[one]['name']}, {entry[one]['edition'] or 'no date'}" for one in ("old", "new")]
    lines += [f"- {one['rule']} (p.{one['page']}) removed: {one['text']}" for one in entry["removed"]]
    lines += [f"+ {one['rule']} (p.{one['page']}) added: {one['text']}" for one in entry["added"]]
    for one in entry["changed"]:
        lines.append(f"~ {one['rule']} (p.{one['page']}): {_marked(one['words'])}")
        lines += [f"    {difference}" for difference in one["differences"]]
    lines += [f"> {one['from']} is now {one['to']}" for one in entry["moved"]]
    lines.append(f"Recommendations unchanged: {entry['unchanged']}.")
    tables, symptoms = entry["tables"], entry["symptoms"]
    for table in tables["changed"]:
        lines.append(f"~ {table['title']} (p.{table['page']})")
        lines += [f"    ~ {_marked(row['words'])}" for row in table["rows"]]
        lines += [f"    {sign} {row}" for sign, name in (("-", "removed"), ("+", "added")) for row in table[name]]
    reworded = {row[name] for row in entry["symptoms_changed"] for name in ("was", "now")}
    lines += [f"~ symptom index: {_marked(row['words'])}" for row in entry["symptoms_changed"]]
    for sign, name in (("-", "removed"), ("+", "added")):
        lines += [f"{sign} table: {title}" for title in tables[name]]
        lines += [f"{sign} symptom index: {row}" for row in symptoms[name] if row not in reworded]
        lines += [f"{sign} term: {term}" for term in entry["definitions"][name]]
    lines += [f"~ term: {term}" for term in entry["definitions"]["changed"]]
    for one in entry["assessments"]:
        risk = one["risk_level"]
        lines.append(f"! {one['patient']} ({one['answer_id'][:8]}): {risk['then']} before, {risk['now']} now")
    if not entry["assessments"]:
        is_here = entry["old"]["document_id"] is not None
        why = "would change" if is_here else "uses the older edition: it is not in the library"
        lines.append(f"No saved assessment {why}.")
    typer.echo(printable("\n".join(lines)))


def _marked(words: list[dict[str, str]]) -> str:
    marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return " ".join(marks[word["op"]].format(word["text"]) for word in words)


@app.command("list")
def list_guidelines(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """List the guidelines used to assess patients."""
    from citewell.assistants.guidelines.guideline_json import counts_json

    with opened(context, home) as app:
        entries = [counts_json(guideline) for guideline in app.guidelines.all(app.scope_of_owner())]
    if json:
        print_json({"guidelines": entries})
        return
    for entry in entries:
        read = f"{entry['sections']} sections" if entry["sections"] else f"{entry['rules']} rules"
        about = f"({entry['edition'] or 'no date'}, {read})"
        typer.echo(printable(f"{entry['document_id'][:8]}  {entry['name']}  {entry['title']}  {about}"))


for step in (bookshelf.download, bookshelf.parse, bookshelf.embed):
    app.command()(step)


def _print_counts(guideline: Guideline) -> None:
    typer.echo(f"  edition {guideline.edition or 'not stated'}")
    if guideline.sections:
        typer.echo(f"  {len(guideline.sections)} sections")
        for problem in guideline.problems:
            typer.echo(f"  {problem.message}")
        return
    with_criteria = sum(rule.criteria is not None for rule in guideline.rules)
    without = len(guideline.rules) - with_criteria
    typer.echo(f"  {len(guideline.rules)} recommendations: {with_criteria} with criteria; none found in {without}")
    typer.echo(f"  {len(guideline.symptoms)} symptom rows, {len(guideline.definitions)} definitions")
    coverage, bound = guideline.coverage, {id(table) for rule in guideline.rules for table in rule.tables}
    typer.echo(f"  {len(guideline.tables)} tables and boxes, {len(bound)} of them referred to by recommendations")
    typer.echo(f"  {len(guideline.rules)} of {coverage.numbered} recommendation numbers read")
    told = ", ".join(f"{count:,} {kind}" for kind, count in coverage.characters.items() if kind != "unread")
    typer.echo(f"  characters read: {coverage.read_characters:,} ({told}); not read: {coverage.unread_characters:,}")
    kinds = Counter(problem.kind.replace("_", " ") for problem in guideline.problems)
    typer.echo("  problems: " + (", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"))
