"""`citewell records add`: what the person says themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.common import Json
from citewell.cli.records_review import show_outcome
from citewell.cli.unlock import ChosenVault, on_vault
from citewell.types.facts import FrequencyType, MedicationStatus, PartialDate, Severity

app = typer.Typer(help="Add a symptom, a medicine or an allergy.", no_args_is_help=True, add_completion=False)

Name = Annotated[str, typer.Argument(help="Name.", show_default=False)]
Since = Annotated[str | None, typer.Option(help="Since when: 2024, 2024-03 or 2024-03-12.", show_default=False)]


@app.command()
@on_vault
def symptom(
    vault: ChosenVault,
    name: Name,
    severity: Annotated[int, typer.Option(min=1, max=5, help="How bad, from 1 (mild) to 5 (worst).")],
    since: Since = None,
    region: Annotated[str | None, typer.Option(help="Where on the body.", show_default=False)] = None,
    medication: Annotated[
        str | None, typer.Option(help="ID of a medicine it may be linked to.", show_default=False)
    ] = None,
    gone: Annotated[bool, typer.Option("--gone", help="It has stopped.")] = False,
    json: Json = False,
) -> None:
    """Add a symptom."""
    with vault.opened() as profile:
        record = profile.record
        fields = {
            "specific": name,
            "severity": severity,
            "onset": since,
            "body_region": region,
            "recorded": PartialDate.now().text,
            "still_active": not gone,
            "medication_id": record.facts.find(medication, record.scope) if medication else None,
        }
        fact = record.add("symptom", fields)
    show_outcome(fact, "Added", json=json)


@app.command()
@on_vault
def medication(
    vault: ChosenVault,
    name: Name,
    dose: Annotated[str | None, typer.Option(help="Such as “5 mg”.", show_default=False)] = None,
    frequency: Annotated[str | None, typer.Option(help="Such as “once a day”.", show_default=False)] = None,
    as_needed: Annotated[bool, typer.Option("--as-needed", help="Taken only when needed.")] = False,
    over_the_counter: Annotated[
        bool, typer.Option("--over-the-counter", help="Bought without a prescription.")
    ] = False,
    since: Since = None,
    reason: Annotated[str | None, typer.Option(help="What it is for.", show_default=False)] = None,
    prescriber: Annotated[str | None, typer.Option(help="Who prescribed it.", show_default=False)] = None,
    status: Annotated[MedicationStatus, typer.Option(help="Whether it is being taken now.")] = MedicationStatus.ACTIVE,
    json: Json = False,
) -> None:
    """Add a medicine."""
    how = FrequencyType.AS_NEEDED if as_needed else FrequencyType.SCHEDULED if frequency else None
    fields = {
        "generic_name": name,
        "dose": dose,
        "frequency": frequency,
        "frequency_type": how,
        "over_the_counter": over_the_counter,
        "start": since,
        "reason_start": reason,
        "prescriber": prescriber,
        "status": status,
    }
    with vault.opened() as profile:
        fact = profile.record.add("medication", fields)
    show_outcome(fact, "Added", json=json)


@app.command()
@on_vault
def allergy(
    vault: ChosenVault,
    name: Name,
    reaction: Annotated[str | None, typer.Option(help="What happened.", show_default=False)] = None,
    severity: Annotated[Severity | None, typer.Option(help="How severe it was.", show_default=False)] = None,
    since: Since = None,
    json: Json = False,
) -> None:
    """Add an allergy."""
    fields = {"allergen": name, "reaction": reaction, "severity": severity, "since": since}
    with vault.opened() as profile:
        fact = profile.record.add("allergy", fields)
    show_outcome(fact, "Added", json=json)
