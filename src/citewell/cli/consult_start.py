"""`citewell consult start`: from nothing, or from a record that the patient agrees to be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.cli.consult_frame import room, show_turn
from citewell.cli.frame import Home, Json
from citewell.cli.unlock import PassphraseStdin, Vault
from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.consultations import Consultations
    from citewell.types.consult import Finding

NO_CONSENT = (
    "{consent} Nothing has been read yet. Ask the patient, then start again with --consent to confirm they agree."
)


def start(
    context: typer.Context,
    record: Annotated[
        Path | None, typer.Option(help="The patient's record as a FHIR R4 bundle.", show_default=False)
    ] = None,
    vault: Vault = None,
    from_vault: Annotated[bool, typer.Option("--from-vault", help="Read from one of your vaults.")] = False,
    consent: Annotated[
        bool, typer.Option("--consent", help="The patient consents to their record being read.")
    ] = False,
    setting: Annotated[
        str | None, typer.Option(help="Care setting, such as “primary care” or “hospital”.", show_default=False)
    ] = None,
    country: Annotated[str | None, typer.Option(help="Country.", show_default=False)] = None,
    passphrase_stdin: PassphraseStdin = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Start a consultation, optionally from a record if the patient consents."""
    with room(context, home) as (place, asker):
        told = _record(
            context,
            home,
            place,
            record,
            vault=vault,
            is_vault=from_vault or vault is not None,
            is_agreed=consent,
            from_stdin=passphrase_stdin,
        )
        turn = place.service.start(asker, setting=setting, country=country, record=told)
    show_turn(turn, json=json)


def _record(
    context: typer.Context,
    home: Path | None,
    place: Consultations,
    record: Path | None,
    *,
    vault: str | None,
    is_vault: bool,
    is_agreed: bool,
    from_stdin: bool,
) -> tuple[str, Sequence[Finding]] | None:
    """The findings of a record, once the patient agrees; None without one."""
    if record is None and not is_vault:
        return None
    source = f"the file {record.name}" if record is not None else "the patient's vault"
    if not is_agreed:
        raise InputError(NO_CONSENT.format(consent=place.service.consent(source)))
    if record is not None:
        return place.from_bundle(record)
    from citewell.cli.unlock import opened_profile

    with opened_profile(context, home, vault, from_stdin=from_stdin) as profile:
        facts = profile.record.facts.all(profile.record.scope)
    return source, place.from_facts(facts)
