"""The key of a vault, how it is wrapped, and how a wrapping key is made from what a person knows."""

from __future__ import annotations

import math
import os
import time
import unicodedata
from dataclasses import dataclass
from typing import Any

from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from citewell.errors import LibraryError, VaultLocked, WrongSecret

KEY_BYTES = 32
SALT_BYTES = 16
NONCE_BYTES = 12
SLOW_MS = 300
"""How long one guess should take on the machine where a vault is made; 200 at least, with some room."""
LOWEST_TIME_COST, HIGHEST_TIME_COST = 3, 64
LOWEST_MEMORY_KIB, HIGHEST_MEMORY_KIB = 64 * 1024, 1024 * 1024
HIGHEST_LANES = 16


class VaultKey:
    """The 256-bit key of one vault, in memory that is overwritten when the vault is locked."""

    __slots__ = ("_bytes",)

    def __init__(self, data: bytes) -> None:
        self._bytes = bytearray(data)

    @classmethod
    def new(cls) -> VaultKey:
        """A random one."""
        return cls(os.urandom(KEY_BYTES))

    def __repr__(self) -> str:
        return "Key(***)"

    @property
    def is_wiped(self) -> bool:
        """Whether it is gone."""
        return not any(self._bytes)

    def read(self) -> bytes:
        """Its bytes, while the vault is open."""
        if self.is_wiped:
            raise VaultLocked
        return bytes(self._bytes)

    def wipe(self) -> None:
        """Overwrite it with zeros."""
        for position in range(len(self._bytes)):
            self._bytes[position] = 0


@dataclass(frozen=True, slots=True)
class Derivation:
    """How costly it is to make a key from a phrase: Argon2id, version 1.3."""

    time_cost: int
    memory_kib: int = 128 * 1024
    lanes: int = 1

    def __post_init__(self) -> None:
        if not (
            LOWEST_TIME_COST <= self.time_cost <= HIGHEST_TIME_COST
            and LOWEST_MEMORY_KIB <= self.memory_kib <= HIGHEST_MEMORY_KIB
            and 1 <= self.lanes <= HIGHEST_LANES
        ):
            raise LibraryError(
                "vault.json asks for an impossible key setting, so it was altered or damaged. Restore it from a backup."
            )

    @classmethod
    def measured(cls) -> Derivation:
        """As costly as it takes to be slow on this machine, whatever else it is busy with at the moment."""
        start = cls(LOWEST_TIME_COST)
        began = time.thread_time()
        start.derive("how long does one guess take", salt=bytes(SALT_BYTES))
        took_ms = (time.thread_time() - began) * 1000
        wanted = math.ceil(LOWEST_TIME_COST * SLOW_MS / took_ms)
        return cls(min(max(wanted, LOWEST_TIME_COST), HIGHEST_TIME_COST))

    def derive(self, phrase: str, *, salt: bytes) -> bytes:
        """The key that a phrase makes; the same phrase typed on another keyboard makes the same one."""
        return hash_secret_raw(
            unicodedata.normalize("NFKD", phrase).encode(),
            salt,
            time_cost=self.time_cost,
            memory_cost=self.memory_kib,
            parallelism=self.lanes,
            hash_len=KEY_BYTES,
            type=Type.ID,
        )


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """The vault's key, sealed by a key that a phrase makes; the seal is also what proves the phrase."""

    salt: bytes
    sealed: bytes

    @classmethod
    def of(cls, key: VaultKey, phrase: str, *, derivation: Derivation, about: str) -> WrappedKey:
        """Wrap a key; `about` binds it to its vault and its use."""
        salt, nonce = os.urandom(SALT_BYTES), os.urandom(NONCE_BYTES)
        cipher = AESGCM(derivation.derive(phrase, salt=salt))
        return cls(salt, nonce + cipher.encrypt(nonce, key.read(), _bound(about, derivation)))

    def open(self, phrase: str, *, derivation: Derivation, about: str) -> VaultKey:
        """The key again; whatever is wrong, it takes as long and says the same."""
        cipher = AESGCM(derivation.derive(phrase, salt=self.salt))
        nonce, rest = self.sealed[:NONCE_BYTES], self.sealed[NONCE_BYTES:]
        try:
            return VaultKey(cipher.decrypt(nonce, rest, _bound(about, derivation)))
        except (InvalidTag, ValueError) as error:
            raise WrongSecret from error

    def as_json(self) -> dict[str, str]:
        """As vault.json holds it."""
        return {"salt": self.salt.hex(), "sealed": self.sealed.hex()}

    @classmethod
    def read(cls, told: Any) -> WrappedKey:
        """As vault.json held it."""
        wrapped = cls(bytes.fromhex(told["salt"]), bytes.fromhex(told["sealed"]))
        if len(wrapped.salt) != SALT_BYTES or len(wrapped.sealed) <= NONCE_BYTES + KEY_BYTES:
            raise ValueError("a wrapped key of another length")
        return wrapped


def _bound(about: str, derivation: Derivation) -> bytes:
    cost = f"argon2id:{derivation.time_cost}:{derivation.memory_kib}:{derivation.lanes}"
    return f"citewell-vault:{about}:{cost}".encode()
