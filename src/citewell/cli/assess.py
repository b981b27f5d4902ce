"""`citewell assess`: hold a patient against the guidelines in the library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.common import Home, Json, opened, print_json, printable
from citewell.types import User

if TYPE_CHECKING:
    from citewell.app import App
    from citewell.assistants.guidelines.patient import PatientInput

MARKS = {"met": "✓", "assumed": "~", "not met": "✗", "unknown": "?"}


def assess(
    context: typer.Context,
    patient: Annotated[str, typer.Option(help="A JSON file, a FHIR bundle, or the ID of a saved patient.")],
    guideline: Annotated[
        list[str] | None,
        typer.Option(help="ID of a guideline document. All guidelines by default.", show_default=False),
    ] = None,
    worded: Annotated[
        bool,
        typer.Option("--worded", help="Let the configured model write up the reasons, with each sentence checked."),
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Compare a patient with the guidelines: recommendations met, recommendations nearly met, and what to ask next."""
    with opened(context, home) as app:
        only = [app.find(one) for one in guideline or []]
        kept = [
            app.guidelines.assess_kept(
                patient_input, asker=User.owner(app.scope_of_owner()), only=only, is_worded=worded
            )
            for patient_input in _patients(app, patient)
        ]
        entries = [other.shown() for other in kept]
    if json:
        print_json(entries[0] if len(entries) == 1 else {"assessments": entries})
        return
    for one, shown in zip(kept, entries, strict=True):
        _print(shown)
        typer.echo(f"  audit record {one.id[:8]}\n")


def _patients(app: App, named: str) -> tuple[PatientInput, ...]:
    from citewell.assistants.guidelines.patients_on_file import read_patients

    path = Path(named)
    return read_patients(path) if path.is_file() else (app.guidelines.patient(named),)


def _print(entry: dict[str, Any]) -> None:
    lines = [entry["emergency"]["text"]] if entry["emergency"] else []
    lines += [f"{entry['patient']['id']}: {entry['risk_level']}"]
    if not entry["matched"]:
        lines += _account(entry)
    if entry["sites"]:
        lines.append("  " + "; ".join(entry["sites"]))
    if entry["action"]:
        lines.append("  " + entry["action"])
    for rule in entry["matched"]:
        lines.append(f"  {rule['guideline']} §{rule['rule']}, p.{rule['page']} ({rule['risk_level']})")
        lines += [f"    {MARKS[one['state']]} {one['text']}" + _fact(one) for one in rule["conditions"]]
    for rule in entry["near_misses"]:
        place = f"  near: {rule['guideline']} §{rule['rule']}, p.{rule['page']}"
        lines.append(f"{place} would be met if: {rule['would_match_if']}")
    if wording := entry["wording"]:
        lines.append(f"  summary by {wording['model']}: {wording['text'] or wording['problem']}")
    for score in entry.get("scores", ()):
        total = f"{score['total']}" if score["total"] == score["highest"] else f"{score['total']} to {score['highest']}"
        meaning = f": {score['meaning']}" if score["meaning"] else ""
        lines.append(f"  score: {score['guideline']} {score['name']}, p.{score['page']}: {total}{meaning}")
        lines += [f"    {MARKS[one['state']]} {one['points']} {one['text']}" + _fact(one) for one in score["items"]]
    lines += [f"  {one['kind']}: {one['ask']}" for one in entry["unknowns"]]
    if entry["matched"]:
        lines += _account(entry)
    lines += [f"  note: {one}" for one in entry["notes"] if not one.startswith("Not understood")]
    typer.echo(printable("\n".join(lines)))


def _account(entry: dict[str, Any]) -> list[str]:
    """What was taken into account, then each thing that was not, with why."""
    lines = ["  taken into account:" + ("" if entry["taken_into_account"] else " nothing")]
    for one in entry["taken_into_account"]:
        read_as = "" if one["read_as"] == "given" else f" — {one['read_as']}"
        lines.append(f"    {one['words']}{read_as}" + (f" ({one['note']})" if one["note"] else ""))
    for title, is_strange in (("not understood", True), ("not used", False)):
        listed = [one for one in entry["unused"] if (one["kind"] == "not understood") is is_strange]
        lines += [f"  {title}:"] if listed else []
        lines += [f"    {one['words']} ({_place(one)})" + ("" if is_strange else f" — {one['why']}") for one in listed]
    return lines


def _place(entry: dict[str, Any]) -> str:
    return entry["field"] if entry["index"] is None else f"{entry['field']} {entry['index'] + 1}"


def _fact(one: dict[str, Any]) -> str:
    return f" — {one['fact']}" if one["fact"] else ""
