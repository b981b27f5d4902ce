"""How many files may be parsed side by side, and how much text they may hold: what is small may unpack to very much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition
from types import TracebackType


class MemoryReservations:
    """Lets few in at a time, and none while those who were in hold too much; nobody any more where it is over.

    Who is waited for, and the one after, may hold any amount: so all come to their turn.
    """

    def __init__(self, *, at_once: int, max_characters: int, go_on: Callable[[], None]) -> None:
        self._at_once = at_once
        self._max_characters = max_characters
        self._go_on = go_on
        self._changed = Condition()
        self._inside = 0
        self._held: dict[int, int] = {}
        self._awaited = 0
        self._is_over = False

    def place(self, number: int) -> ParseReservation:
        """What the one with this number holds while it parses; numbers count up from 0, in the order of turns."""
        return ParseReservation(self, number)

    def hold(self, number: int, characters: int) -> None:
        """Say how much text one has, until it is waited for no more."""
        with self._changed:
            self._held[number] = characters

    def leave(self, number: int) -> None:
        """Say that all that one held is let go, and that the next one is waited for."""
        with self._changed:
            self._held.pop(number, None)
            self._awaited = number + 1
            self._changed.notify_all()

    def stop(self) -> None:
        """Wake all who wait."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def enter(self, number: int) -> None:
        """Wait for room; CancelledError where it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._has_room(number))
            self._go_on()
            self._inside += 1

    def go_out(self) -> None:
        """Make room for another to parse."""
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def _has_room(self, number: int) -> bool:
        is_next = number <= self._awaited + 1
        return self._inside < self._at_once and (is_next or sum(self._held.values()) < self._max_characters)


@dataclass(frozen=True, slots=True)
class ParseReservation:
    """The room of one file while it is parsed."""

    room: MemoryReservations
    number: int

    def __enter__(self) -> None:
        self.room.enter(self.number)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.room.go_out()
