"""Decides what a failure means: it may heal and is tried again later, or it cannot and says what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from citewell.errors import (
    CitewellError,
    EmbedderMismatch,
    InputError,
    LibraryError,
    MissingExtra,
    TookTooLong,
    Unavailable,
)

RETRIES = 3
"""How often a document is tried again after the first time."""
FIRST_PAUSE_S = 15.0
GROWTH = 4.0
MAX_PAUSE_S = 1_800.0
MAY_HEAL: tuple[type[CitewellError], ...] = (LibraryError, Unavailable, TookTooLong)
"""The machine's troubles rather than the file's: an embedder that does not answer, a full disk, a slow hour."""
CANNOT_HEAL: tuple[type[CitewellError], ...] = (InputError, MissingExtra, EmbedderMismatch)
STOPPED = "Processing stopped unexpectedly ({name}). Convert the file to PDF or split it, and add that."
STOPPED_PROGRAM = "This file crashed processing several times. Convert it to another format, or split it, and add that."


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Try again after a pause."""

    pause_s: float
    message: str


@dataclass(frozen=True, slots=True)
class PermanentFailure:
    """It will not get better by trying."""

    message: str


def judge(error: Exception, *, attempts: int, chance: Callable[[], float]) -> RetryLater | PermanentFailure:
    """What follows from an error at the so-manyth attempt; `chance` gives numbers from 0 to 1.

    >>> judge(LibraryError("The disk is full."), attempts=1, chance=lambda: 0.5)
    RetryLater(pause_s=15.0, message='The disk is full.')
    >>> judge(InputError("It needs a password."), attempts=1, chance=lambda: 0.5)
    PermanentFailure(message='It needs a password.')
    """
    is_ours = isinstance(error, CitewellError)
    message = error.told if isinstance(error, CitewellError) else STOPPED.format(name=type(error).__name__)
    if isinstance(error, CANNOT_HEAL) or (is_ours and not isinstance(error, MAY_HEAL)):
        return PermanentFailure(message)
    if attempts > RETRIES:
        return PermanentFailure(f"{message} It was tried {attempts} times.")
    return RetryLater(pause_s(attempts, chance=chance), message)


def may_heal(attempts: int, *, is_waiting: bool) -> bool:
    """Whether another try is worth it: the next one is waited for, or only so many were made.

    >>> may_heal(1, is_waiting=True), may_heal(RETRIES + 1, is_waiting=False), may_heal(1, is_waiting=False)
    (True, True, False)
    """
    return is_waiting or attempts > RETRIES


def pause_s(attempts: int, *, chance: Callable[[], float]) -> float:
    """How long to wait after so many attempts: longer each time, and never all at the same moment.

    >>> [pause_s(attempts, chance=lambda: 0.5) for attempts in (1, 2, 3, 9)]
    [15.0, 60.0, 240.0, 1800.0]
    >>> pause_s(1, chance=lambda: 0.0), pause_s(1, chance=lambda: 1.0)
    (7.5, 22.5)
    """
    usual_s: float = min(FIRST_PAUSE_S * GROWTH ** (attempts - 1), MAX_PAUSE_S)
    return usual_s * (0.5 + chance())
