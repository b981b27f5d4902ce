"""`citewell assess`: hold a patient against the guidelines in the library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from citewell.cli.common import Home, Json, opened, print_json, printable
from citewell.types import User

if TYPE_CHECKING:
    from citewell.assistants.guidelines.patient import PatientInput
    from citewell.bootstrap import App

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
        found = [one.shown() for one in kept]
    if json:
        print_json(found[0] if len(found) == 1 else {"assessments": found})
        return
    for one, shown in zip(kept, found, strict=True):
        _print(shown)
        typer.echo(f"  audit record {one.id[:8]}\n")


def _patients(app: App, named: str) -> tuple[PatientInput, ...]:
    from citewell.assistants.guidelines.patients_on_file import read_patients

    path = Path(named)
    return read_patients(path) if path.is_file() else (app.guidelines.patient(named),)


def _print(found: dict[str, Any]) -> None:
    lines = [found["emergency"]["text"]] if found["emergency"] else []
    lines += [f"{found['patient']['id']}: {found['risk_level']}"]
    if not found["matched"]:
        lines += _account(found)
    if found["sites"]:
        lines.append("  " + "; ".join(found["sites"]))
    if found["action"]:
        lines.append("  " + found["action"])
    for rule in found["matched"]:
        lines.append(f"  {rule['guideline']} §{rule['rule']}, p.{rule['page']} ({rule['risk_level']})")
        lines += [f"    {MARKS[one['state']]} {one['text']}" + _fact(one) for one in rule["conditions"]]
    for rule in found["near_misses"]:
        place = f"  near: {rule['guideline']} §{rule['rule']}, p.{rule['page']}"
        lines.append(f"{place} would match if: {rule['would_match_if']}")
    if wording := found["wording"]:
        lines.append(f"  summary by {wording['model']}: {wording['text'] or wording['problem']}")
    lines += [f"  {one['kind']}: {one['ask']}" for one in found["unknowns"]]
    if found["matched"]:
        lines += _account(found)
    lines += [f"  note: {one}" for one in found["notes"] if not one.startswith("Not understood")]
    typer.echo(printable("\n".join(lines)))


def _account(found: dict[str, Any]) -> list[str]:
    """What was taken into account, then each thing that was not, with why."""
    lines = ["  taken into account:" + ("" if found["taken_into_account"] else " nothing")]
    for one in found["taken_into_account"]:
        read_as = "" if one["read_as"] == "given" else f" — {one['read_as']}"
        lines.append(f"    {one['words']}{read_as}" + (f" ({one['note']})" if one["note"] else ""))
    for title, is_strange in (("not understood", True), ("not used", False)):
        listed = [one for one in found["unused"] if (one["kind"] == "not understood") is is_strange]
        lines += [f"  {title}:"] if listed else []
        lines += [f"    {one['words']} ({_place(one)})" + ("" if is_strange else f" — {one['why']}") for one in listed]
    return lines


def _place(one: dict[str, Any]) -> str:
    return one["field"] if one["index"] is None else f"{one['field']} {one['index'] + 1}"


def _fact(one: dict[str, Any]) -> str:
    return f" — {one['fact']}" if one["fact"] else ""
