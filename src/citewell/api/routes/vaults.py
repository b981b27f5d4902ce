"""/api/v1/vaults: the vaults of the owner of this library, made, opened, locked and erased."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from citewell.adapters.vault.header import Header
from citewell.adapters.vault.vault import MAX_LABEL_CHARACTERS, MIN_PASSPHRASE_CHARACTERS, label_of
from citewell.api.bodies.base import RequestBody, ResponseBody
from citewell.api.problems import Problem, Refused
from citewell.api.request_checks import our_request
from citewell.api.vault_copies import exported, restored
from citewell.api.vault_sessions import Known, OpenVaults, Owner, Vaulted
from citewell.errors import InputError

Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL_CHARACTERS, pattern=r"^\w([ -]?\w)*$")]
Passphrase = Annotated[str, Field(max_length=1_000)]
CONTROL = r"\x00-\x1f\x7f-\x9f"
AN_END, INSIDE = rf"[^\s{CONTROL}]", rf"[^{CONTROL}]{{{MIN_PASSPHRASE_CHARACTERS - 2},}}"
NewPassphrase = Annotated[str, Field(max_length=1_000, pattern=f"^{AN_END}{INSIDE}{AN_END}$")]
"""No control signs, which nobody can type again, and no space at either end."""


class NewVaultRequest(RequestBody):
    """A vault to be made."""

    label: Label
    """Whose it is; anybody who uses the machine can read it."""
    passphrase: NewPassphrase


class UnlockRequest(RequestBody):
    """The passphrase that opens a vault."""

    passphrase: Passphrase


class PassphraseRequest(RequestBody):
    """The passphrase of a vault, and the one it gets."""

    passphrase: Passphrase
    new: NewPassphrase


class EraseRequest(RequestBody):
    """The label of a vault, typed to say that it is meant."""

    label: Annotated[str, Field(max_length=200)]


class VaultResponse(ResponseBody):
    """A vault as it is known without being opened."""

    id: str
    label: str
    made_at: datetime
    is_open: bool


class VaultsResponse(ResponseBody):
    """Every vault here, by label."""

    vaults: list[VaultResponse]
    unreadable: dict[str, str]
    """What is wrong with each that cannot be read, by its id."""


class MadeResponse(ResponseBody):
    """A new vault, still locked, and its recovery words, which are shown only now."""

    vault: VaultResponse
    recovery_phrase: str


class ErasedResponse(ResponseBody):
    """The id of what was erased."""

    erased: str


router = APIRouter(prefix="/api/v1/vaults")

OURS = [Depends(our_request)]
COPY = "application/octet-stream"
BODY = {"required": True, "content": {COPY: {"schema": {"type": "string", "format": "binary"}}}}
LABEL_TAKEN = Problem(HTTPStatus.CONFLICT, "LabelTaken", "A record with this name already exists. Choose another name.")


@router.get("", response_model=VaultsResponse)
def vaults(_visitor: Owner, safe: Vaulted) -> dict[str, Any]:
    """Every vault by label, and whether it is unlocked."""
    shown = [vault_json(header, safe) for header in safe.vaults.all()]
    return {"vaults": shown, "unreadable": safe.vaults.unreadable()}


@router.post("", status_code=HTTPStatus.CREATED, response_model=MadeResponse, dependencies=OURS)
def create(_visitor: Owner, safe: Vaulted, new: NewVaultRequest) -> dict[str, Any]:
    """Create a vault; its recovery words are shown only once."""
    if label_of(new.label).casefold() in {header.label.casefold() for header in safe.vaults.all()}:
        raise Refused(LABEL_TAKEN)
    made, phrase = safe.vaults.create(new.label, new.passphrase)
    return {"vault": vault_json(made, safe), "recovery_phrase": phrase}


@router.post("/{vault}/unlock", response_model=VaultResponse, dependencies=OURS)
def unlock(_visitor: Owner, safe: Vaulted, vault: Known, sent: UnlockRequest) -> dict[str, Any]:
    """Unlock a vault; it stays unlocked until you lock it or the idle time in the settings has passed."""
    safe.vaults.open(vault.id, sent.passphrase)
    return vault_json(vault, safe)


@router.post("/{vault}/lock", response_model=VaultResponse, dependencies=OURS)
def lock(_visitor: Owner, safe: Vaulted, vault: Known) -> dict[str, Any]:
    """Lock a vault now; a locked one stays locked."""
    safe.vaults.lock(vault.id)
    return vault_json(vault, safe)


@router.post("/{vault}/passphrase", response_model=VaultResponse, dependencies=OURS)
def change_passphrase(_visitor: Owner, safe: Vaulted, vault: Known, sent: PassphraseRequest) -> dict[str, Any]:
    """Change a vault's passphrase; its recovery words stay the same."""
    safe.vaults.change_passphrase(vault.id, sent.passphrase, sent.new)
    return vault_json(vault, safe)


@router.post("/{vault}/export", response_class=Response, responses={200: {"content": {COPY: {}}}}, dependencies=OURS)
def export(_visitor: Owner, safe: Vaulted, vault: Known, sent: UnlockRequest) -> Response:
    """A copy of a vault as one file, still encrypted; it opens with the same passphrase."""
    return Response(exported(safe, vault.id, sent.passphrase), media_type=COPY)


@router.post(
    "/restore", status_code=HTTPStatus.CREATED, response_model=VaultResponse, openapi_extra={"requestBody": BODY}
)
async def restore(request: Request, _visitor: Owner, safe: Vaulted) -> dict[str, Any]:
    """Restore such a copy; it is locked."""
    made = await restored(request, safe)
    return await run_in_threadpool(vault_json, made, safe)


@router.post("/{vault}/erase", response_model=ErasedResponse, dependencies=OURS)
def erase(_visitor: Owner, safe: Vaulted, vault: Known, sent: EraseRequest) -> dict[str, Any]:
    """Permanently erase a vault; send its label to confirm."""
    if sent.label != vault.label:
        raise InputError("Nothing was erased. Send the vault's label to confirm.")
    safe.vaults.erase(vault.id)
    return {"erased": vault.id}


def vault_json(vault: Header, safe: OpenVaults) -> dict[str, Any]:
    """A vault as programs see it."""
    return {"id": vault.id, "label": vault.label, "made_at": vault.made_at, "is_open": safe.is_open(vault.id)}
