"""Vaults, as they are made, opened and known without being opened."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from citewell.adapters.vault.folder import MAX_LABEL_CHARACTERS, MIN_PASSPHRASE_CHARACTERS
from citewell.api.bodies.base import RequestBody, ResponseBody

Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL_CHARACTERS, pattern=r"^\w([ -]?\w)*$")]
Passphrase = Annotated[str, Field(max_length=1_000)]
CONTROL = r"\x00-\x1f\x7f-\x9f"
AN_END, INSIDE = rf"[^\s{CONTROL}]", rf"[^{CONTROL}]{{{MIN_PASSPHRASE_CHARACTERS - 2},}}"
NewPassphrase = Annotated[str, Field(max_length=1_000, pattern=f"^{AN_END}{INSIDE}{AN_END}$")]
"""No control signs, which nobody can type again, and no space at either end."""


class NewVault(RequestBody):
    """A vault to be made."""

    label: Label
    """Whose it is; anybody who uses the machine can read it."""
    passphrase: NewPassphrase


class Unlocking(RequestBody):
    """The passphrase that opens a vault."""

    passphrase: Passphrase


class NewPhrase(RequestBody):
    """The passphrase of a vault, and the one it gets."""

    passphrase: Passphrase
    new: NewPassphrase


class Erasing(RequestBody):
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
