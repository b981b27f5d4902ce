"""Settings of a vault: its lock time, its passphrase, a copy of everything, and its end."""

from __future__ import annotations

from fastapi import APIRouter, Response

from citewell.adapters.vault.folder import MIN_PASSPHRASE_CHARACTERS
from citewell.api.errors import Problem, problem_of
from citewell.api.records import Opened, Owner, Room, Vaulted
from citewell.api.routes.documents import disposition
from citewell.api.routes.records_pages import FORM, Line, Secret, room_page, see
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError, InputError

router = APIRouter(prefix="/records/{vault}")

BUNDLE = "application/fhir+json"


@router.get("/settings")
def settings(visitor: Owner, room: Opened) -> Response:
    """What can be set, and what can be done to the whole record."""
    return _settings(room, visitor)


@router.post("/passphrase", dependencies=FORM)
def change_passphrase(
    *, visitor: Owner, room: Opened, safe: Vaulted, current: Secret = "", new: Secret = "", again: Secret = ""
) -> Response:
    """Another passphrase; the recovery words stay the same."""
    try:
        if new != again:
            raise InputError("The two new passphrases differ. Type the same one twice.")
        safe.vaults.change_passphrase(room.id, current, new)
    except CitewellError as error:
        return _settings(room, visitor, problem=problem_of(error))
    return _settings(room, visitor, done="The passphrase is changed. The recovery words are still the same.")


@router.post("/export", dependencies=FORM)
def export(_visitor: Owner, room: Opened) -> Response:
    """Everything as a FHIR R4 bundle; the file is not encrypted."""
    headers = {"Content-Disposition": disposition(f"{room.profile.vault.label}.json")}
    return Response(room.record.export(), media_type=BUNDLE, headers=headers)


@router.post("/erase", dependencies=FORM)
def erase(*, visitor: Owner, room: Opened, safe: Vaulted, typed: Line = "") -> Response:
    """Remove the record for good, when its name was typed to say so."""
    label = room.profile.vault.label
    if typed.strip() != label:
        problem = problem_of(InputError(f"Nothing was erased. Type “{label}” to say that you mean it."))
        return _settings(room, visitor, problem=problem)
    safe.vaults.erase(room.id)
    return see("/records")


def _settings(room: Room, visitor: Visitor, *, problem: Problem | None = None, done: str = "") -> Response:
    return room_page(
        "records_settings.html",
        room,
        visitor,
        tab="settings",
        lock_minutes=room.site.app.settings.lock_minutes,
        min_passphrase=MIN_PASSPHRASE_CHARACTERS,
        problem=problem,
        done=done,
    )
