"""The second factor of a sign-in: six digits from an authenticator (RFC 6238), and codes for when it is lost."""

from __future__ import annotations

import base64
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Engine, Row, delete, insert, select, update

from citewell.adapters.store.encryption import TextCipher
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.row_mapping import hashed, now
from citewell.adapters.store.schema import recovery_codes, second_factors
from citewell.errors import InputError

STEP_S = 30
DIGITS = 6
SECRET_BYTES = 20
STEPS_APART = 1
"""How many steps the clock of a telephone may be before or behind ours."""
RECOVERY_CODES = 10
RECOVERY_BYTES = 10
WRONG_CODE = "The code is wrong or was used already. Enter the code that your authenticator shows now."
NOT_BEGUN = "Set up your authenticator first, then enter the code that it shows."
IS_ON = "The second factor is on already. Turn it off first to set it up again."


def one_time_code(secret: bytes, step: int, *, digits: int = DIGITS, algorithm: str = "sha1") -> str:
    """The code of a step (RFC 4226): SHA-1 is what authenticators speak.

    >>> one_time_code(b"12345678901234567890", 59 // STEP_S, digits=8)
    '94287082'
    """
    digest = hmac.digest(secret, step.to_bytes(8, "big"), algorithm)
    start = digest[-1] & 0xF
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFF_FFFF
    return str(number % 10**digits).zfill(digits)


@dataclass(frozen=True, slots=True)
class SetUp:
    """What an authenticator is given, once."""

    secret: str
    """In base 32, to type in."""
    address: str
    """The same as an otpauth address, for a link or a QR code."""


class SqlSecondFactors:
    """Secrets are sealed; a code is good once, within a step of now."""

    def __init__(
        self, engine: Engine, path: Path, seal: Callable[[], TextCipher], clock: Callable[[], float] = time.time
    ) -> None:
        self._engine, self._path, self._seal, self._clock = engine, path, seal, clock

    def is_on(self, user_id: str) -> bool:
        """Whether a person's sign-in asks for a code."""
        query = select(second_factors.c.is_on).where(second_factors.c.user_id == user_id)
        with reading(self._engine, self._path) as connection:
            return bool(connection.execute(query).scalar())

    def begin(self, user_id: str, *, label: str) -> SetUp:
        """A new secret, which counts once a code of it was entered."""
        secret = secrets.token_bytes(SECRET_BYTES)
        sealed = self._seal().close(base64.b32encode(secret).decode(), about=_about(user_id))
        with writing(self._engine, self._path) as connection:
            mine = second_factors.c.user_id == user_id
            if connection.execute(select(second_factors.c.is_on).where(mine)).scalar():
                raise InputError(IS_ON)
            connection.execute(delete(second_factors).where(mine))
            row = {"user_id": user_id, "secret": sealed, "is_on": False, "last_step": 0, "made_at": now()}
            connection.execute(insert(second_factors).values(**row))
        told = base64.b32encode(secret).decode()
        return SetUp(told, f"otpauth://totp/Citewell:{quote(label)}?secret={told}&issuer=Citewell")

    def turn_on(self, user_id: str, code: str) -> list[str]:
        """Ask for codes from now on; the recovery codes, which are told only once."""
        if not self._takes(user_id, code, is_on=False):
            raise InputError(WRONG_CODE if self._row(user_id) else NOT_BEGUN)
        codes = [_recovery_code() for _ in range(RECOVERY_CODES)]
        with writing(self._engine, self._path) as connection:
            connection.execute(update(second_factors).where(second_factors.c.user_id == user_id).values(is_on=True))
            connection.execute(delete(recovery_codes).where(recovery_codes.c.user_id == user_id))
            connection.execute(
                insert(recovery_codes), [{"user_id": user_id, "code_hash": hashed(_plain(code))} for code in codes]
            )
        return codes

    def takes(self, user_id: str, code: str) -> bool:
        """Whether a code is right: of the authenticator, or a recovery code, which is used up by it."""
        if self._takes(user_id, code, is_on=True):
            return True
        mine = (recovery_codes.c.user_id == user_id) & (recovery_codes.c.code_hash == hashed(_plain(code)))
        with writing(self._engine, self._path) as connection:
            return connection.execute(delete(recovery_codes).where(mine)).rowcount == 1

    def turn_off(self, user_id: str) -> bool:
        """Ask for no codes any more; whether any were asked for."""
        with writing(self._engine, self._path) as connection:
            connection.execute(delete(recovery_codes).where(recovery_codes.c.user_id == user_id))
            gone = connection.execute(delete(second_factors).where(second_factors.c.user_id == user_id)).rowcount
            return gone > 0

    def _takes(self, user_id: str, code: str, *, is_on: bool) -> bool:
        row = self._row(user_id)
        if row is None or bool(row.is_on) is not is_on:
            return False
        secret = base64.b32decode(self._seal().open(row.secret, about=_about(user_id)))
        here, given = int(self._clock()) // STEP_S, "".join(code.split())
        steps = range(here - STEPS_APART, here + STEPS_APART + 1)
        right = [step for step in steps if hmac.compare_digest(one_time_code(secret, step).encode(), given.encode())]
        if not right:
            return False
        unused = (second_factors.c.user_id == user_id) & (second_factors.c.last_step < right[-1])
        with writing(self._engine, self._path) as connection:
            return connection.execute(update(second_factors).where(unused).values(last_step=right[-1])).rowcount == 1

    def _row(self, user_id: str) -> Row[Any] | None:
        with reading(self._engine, self._path) as connection:
            return connection.execute(select(second_factors).where(second_factors.c.user_id == user_id)).first()


def _about(user_id: str) -> str:
    return f"second-factor:{user_id}"


def _recovery_code() -> str:
    text = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower()
    return "-".join(text[at : at + 4] for at in range(0, len(text), 4))


def _plain(code: str) -> str:
    return "".join(code.split()).replace("-", "").lower()
