"""Whose turn it is: few requests are worked on at a time, and who has used little of late comes first."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count

from citewell.api.problems import Refused
from citewell.api.rate_limits import too_many
from citewell.work import WorkAllowance

HALF_LIFE_S = 30.0
"""After so long, what somebody used counts half."""
HEAVY_S = 3.0
"""Who has used more than this of late leaves half of the turns to the others."""
LEAST_S = 0.005
"""What a request counts for at least."""
WAIT_S = 5
FULL = "Too many of your requests are waiting. Wait until some are answered, then try again."


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks, and for which tenant."""

    tenant: str
    user_id: str


ASKING: ContextVar[Asking | None] = ContextVar("asking", default=None)
"""Who asks in this request."""


@dataclass(slots=True)
class Asking:
    """A person in one request, and what it used that was counted already."""

    person: Person
    allowance: WorkAllowance
    counted_s: float = 0.0
    end_turn: Callable[[], None] = lambda: None
    """Ends the turn that the request holds, if it holds one."""

    def uncounted_s(self) -> float:
        """What it used since this was last asked."""
        used_s, self.counted_s = self.allowance.used_s - self.counted_s, self.allowance.used_s
        return used_s


def end_own_turn() -> None:
    """End the turn of this request: it is about to wait for another server, and works on nothing meanwhile."""
    asking = ASKING.get()
    if asking is not None:
        asking.end_turn()


@dataclass(slots=True)
class _Use:
    """Processor time that somebody used, which fades."""

    seconds: float = 0.0
    at_s: float = 0.0

    def now(self, at_s: float) -> float:
        self.seconds *= 0.5 ** ((at_s - self.at_s) / HALF_LIFE_S)
        self.at_s = at_s
        return self.seconds


@dataclass(slots=True)
class _Waiting:
    person: Person
    number: int
    turn: asyncio.Future[None]


@dataclass
class FairTurns:
    """Lets a few requests in at a time: first those of the tenant, then of the person, who used least of late.

    Nobody holds all turns, and those who have used much hold half of them at most.
    """

    at_once: int
    waiting: int
    clock: Callable[[], float] = time.monotonic
    _used: dict[Person | str, _Use] = field(default_factory=dict)
    _queue: list[_Waiting] = field(default_factory=list)
    _active: Counter[Person] = field(default_factory=Counter)
    _numbers: count[int] = field(default_factory=count)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def take(self, person: Person) -> None:
        """Wait for a turn; refused where too many of this person's requests wait already."""
        with self._lock:
            if self._may_begin(person) and not self._queue:
                self._active[person] += 1
                return
            if sum(other.person == person for other in self._queue) >= self.waiting:
                raise Refused(too_many(FULL, WAIT_S))
            entry = _Waiting(person, next(self._numbers), asyncio.get_running_loop().create_future())
            self._queue.append(entry)
            self._begin_next()
        try:
            await entry.turn
        except BaseException:
            self._leave(entry)
            raise

    async def begin(self) -> Callable[[], None]:
        """Wait for a turn of whoever asks in this request, in place of the one it holds; the result ends it, once."""
        asking = ASKING.get()
        if asking is None:
            return lambda: None
        asking.end_turn()
        await self.take(asking.person)
        ended = iter([False])

        def end() -> None:
            if next(ended, True) is False:
                self.give_back(asking.person, asking.uncounted_s())

        asking.end_turn = end
        return end

    def give_back(self, person: Person, used_s: float) -> None:
        """End a turn, and count what it took."""
        with self._lock:
            now_s = self.clock()
            for name in (person, person.tenant):
                use = self._used.setdefault(name, _Use(0.0, now_s))
                use.seconds = use.now(now_s) + max(used_s, LEAST_S)
            self._end(person)

    def _leave(self, entry: _Waiting) -> None:
        """Take out who no longer waits; who was let in at the same moment gives the turn back."""
        with self._lock:
            if entry in self._queue:
                self._queue.remove(entry)
            else:
                self._end(entry.person)

    def _end(self, person: Person) -> None:
        self._active[person] -= 1
        if not self._active[person]:
            del self._active[person]
        if not self._active and not self._queue:
            self._used = {name: use for name, use in self._used.items() if use.now(self.clock()) > LEAST_S}
        self._begin_next()

    def _begin_next(self) -> None:
        now_s = self.clock()
        for entry in sorted(self._queue, key=lambda waiting: self._order(waiting, now_s)):
            if self._active.total() >= self.at_once:
                return
            if self._may_begin(entry.person):
                self._queue.remove(entry)
                self._active[entry.person] += 1
                entry.turn.get_loop().call_soon_threadsafe(_let_in, entry.turn)

    def _order(self, entry: _Waiting, now_s: float) -> tuple[float, float, int]:
        return self._of(entry.person.tenant, now_s), self._of(entry.person, now_s), entry.number

    def _of(self, name: Person | str, now_s: float) -> float:
        use = self._used.get(name)
        return 0.0 if use is None else round(use.now(now_s), 2)

    def _may_begin(self, person: Person) -> bool:
        if self._active.total() >= self.at_once or self._active[person] >= max(1, self.at_once - 1):
            return False
        heavy = sum(turns for other, turns in self._active.items() if self._is_heavy(other))
        return not self._is_heavy(person) or heavy < max(1, self.at_once // 2)

    def _is_heavy(self, person: Person) -> bool:
        return self._of(person, self.clock()) > HEAVY_S


def _let_in(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
