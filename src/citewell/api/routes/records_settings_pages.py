"""Settings of a vault: its lock time, its passphrase, a copy of everything, and its end."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Response

from citewell.adapters.vault.vault import MIN_PASSPHRASE_CHARACTERS
from citewell.api.problems import Problem, problem_of
from citewell.api.routes.documents import disposition
from citewell.api.routes.records_pages import FORM, Line, Secret, room_page, see
from citewell.api.vault_copies import exported
from citewell.api.vault_sessions import Opened, Owner, Vaulted, VaultSession
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError, InputError
from citewell.ports.records import RecordSettings
from citewell.vaults.idle_lock import MAX_LOCK_MINUTES

router = APIRouter(prefix="/records/{vault}")

BUNDLE = "application/fhir+json"
LANGUAGES = {"": "same as my question", "en": "English", "fr": "French", "de": "German"}
"""The languages of our own words, as a person reads them."""


@router.get("/settings")
def settings(visitor: Owner, room: Opened) -> Response:
    """What can be set, and what can be done to the whole record."""
    return _settings(room, visitor)


@router.post("/choices", dependencies=FORM)
def choose(
    *,
    visitor: Owner,
    room: Opened,
    lock_minutes: Annotated[int, Form(ge=1, le=MAX_LOCK_MINUTES)],
    language: Annotated[Literal["", "en", "fr", "de"], Form()] = "",
    model: Line = "",
) -> Response:
    """Set the lock time, the language of our own words, and who words the answers."""
    try:
        room.profile.choose(RecordSettings(lock_minutes, language or None, model or None))
    except CitewellError as error:
        return _settings(room, visitor, problem=problem_of(error))
    return _settings(room, visitor, done="Saved. This applies from your next question.")


@router.post("/passphrase", dependencies=FORM)
def change_passphrase(
    *, visitor: Owner, room: Opened, safe: Vaulted, current: Secret = "", new: Secret = "", again: Secret = ""
) -> Response:
    """Another passphrase; the recovery words stay the same."""
    try:
        if new != again:
            raise InputError("The two new passphrases do not match. Enter the same one twice.")
        safe.vaults.change_passphrase(room.id, current, new)
    except CitewellError as error:
        return _settings(room, visitor, problem=problem_of(error))
    return _settings(room, visitor, done="Passphrase changed. Your recovery words are still the same.")


@router.post("/words", dependencies=FORM)
def other_words(*, visitor: Owner, room: Opened, safe: Vaulted, passphrase: Secret = "") -> Response:
    """Other recovery words, shown this once; the old ones open nothing any more."""
    try:
        phrase = safe.vaults.new_recovery(room.id, passphrase)
    except CitewellError as error:
        return _settings(room, visitor, problem=problem_of(error))
    return room.site.page(
        "records_recovery_words.html", visitor, nav="records", vault=room.profile.vault, words=phrase.split()
    )


@router.post("/export", dependencies=FORM)
def export(_visitor: Owner, room: Opened) -> Response:
    """Everything as a FHIR R4 bundle; the file is not encrypted."""
    headers = {"Content-Disposition": disposition(f"{room.profile.vault.label}.json")}
    return Response(room.record.export(), media_type=BUNDLE, headers=headers)


@router.post("/export/summary", dependencies=FORM)
def summary(_visitor: Owner, room: Opened) -> Response:
    """A short International Patient Summary; the file is not encrypted."""
    headers = {"Content-Disposition": disposition(f"{room.profile.vault.label} summary.json")}
    return Response(room.record.summary(), media_type=BUNDLE, headers=headers)


@router.post("/copy", dependencies=FORM)
def copy(*, visitor: Owner, room: Opened, safe: Vaulted, passphrase: Secret = "") -> Response:
    """The whole vault as one file, still encrypted; it opens with the same passphrase."""
    try:
        data = exported(safe, room.id, passphrase)
    except CitewellError as error:
        return _settings(room, visitor, problem=problem_of(error))
    headers = {"Content-Disposition": disposition(f"{room.profile.vault.label}.vault")}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.post("/erase", dependencies=FORM)
def erase(*, visitor: Owner, room: Opened, safe: Vaulted, typed: Line = "") -> Response:
    """Remove the record for good, when its name was typed to say so."""
    label = room.profile.vault.label
    if typed.strip() != label:
        problem = problem_of(InputError(f"Nothing was erased. Type “{label}” to confirm."))
        return _settings(room, visitor, problem=problem)
    safe.vaults.erase(room.id)
    return see("/records")


def _settings(room: VaultSession, visitor: Visitor, *, problem: Problem | None = None, done: str = "") -> Response:
    return room_page(
        "records_settings.html",
        room,
        visitor,
        tab="settings",
        lock_minutes=int(room.profile.lock_minutes),
        max_lock_minutes=MAX_LOCK_MINUTES,
        choices=room.profile.choices,
        models=room.profile.models,
        in_use=room.profile.app.settings.model,
        languages=LANGUAGES,
        min_passphrase=MIN_PASSPHRASE_CHARACTERS,
        problem=problem,
        done=done,
    )
