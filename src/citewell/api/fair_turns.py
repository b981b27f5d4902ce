"""Whose turn it is: few requests are worked on at a time, quick ones first, then who has used little of late."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count

from citewell.api.problems import Refused
from citewell.api.rate_limits import too_many
from citewell.work import WorkAllowance

HALF_LIFE_S = 30.0
"""After so long, what somebody used counts half."""
HEAVY_S = 3.0
"""Who has used more than this of late asks for nothing but long work."""
QUICK_S = 0.15
"""A request that has used more than this is long: it leaves half of the turns to others, and stands aside for them."""
COUNTED_S = 0.1
"""Use is counted in parts of this size, so that those who still work count as much as those who are done."""
LEAST_S = 0.005
"""What a request counts for at least."""
ASIDE_S = 0.05
"""How long a long request stands aside between two steps: it may hold what a quick one waits for."""
ASIDE_SHARE = 8.0
"""So many times what it has used, a long request stands aside in all: whatever comes, it goes on."""
LONG_BYTES = 1_000
"""Who sends a text longer than this asks for long work."""
BLOCKED = 8
"""Threads that may wait for a turn of long work; further requests keep the turn that they have."""
BLOCKED_S = 10.0
"""How long each may wait: it may hold what those wait for whose turn it is."""
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
    is_long: bool = False
    """Whether it looks like long work from the start."""
    counted_s: float = 0.0
    aside_s: float = 0.0
    """How long it stood aside for others."""
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


@dataclass(slots=True, eq=False)
class Turn:
    """A request that is worked on, or waits to be."""

    person: Person
    number: int
    is_long: bool
    wake: Callable[[], object]
    """Tells who waits that the turn has begun, or that it is over."""
    is_blocking: bool = False
    """Whether a thread waits for it."""


@dataclass
class FairTurns:
    """Lets a few requests in at a time: first those of the tenant, then of the person, who used least of late.

    Nobody holds all turns. Long requests hold half of them at most, and stand aside while a quick one is worked on.
    """

    at_once: int
    waiting: int
    clock: Callable[[], float] = time.monotonic
    _used: dict[Person | str, _Use] = field(default_factory=dict)
    _queue: list[Turn] = field(default_factory=list)
    _active: set[Turn] = field(default_factory=set)
    _arriving: int = 0
    _numbers: count[int] = field(default_factory=count)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._calm = threading.Condition(self._lock)
        """Told when no quick request is worked on."""

    async def take(self, person: Person, *, is_long: bool = False) -> Turn:
        """Wait for a turn; refused where too many of this person's requests wait already."""
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[None] = loop.create_future()
        with self._lock:
            is_long = is_long or self._of(person, self.clock()) > HEAVY_S
            turn = Turn(person, next(self._numbers), is_long, lambda: loop.call_soon_threadsafe(_let_in, begun))
            waiting = sum(other.person == person for other in self._queue)
            self._queue.append(turn)
            self._begin_next()
            if turn in self._queue and waiting >= self.waiting:
                self._queue.remove(turn)
                raise Refused(too_many(FULL, WAIT_S))
        try:
            await begun
        except BaseException:
            self._end(turn)
            raise
        return turn

    async def begin(self) -> Callable[[], None]:
        """Wait for a turn of whoever asks in this request, in place of the one it holds; the result ends it, once."""
        asking = ASKING.get()
        if asking is None:
            return lambda: None
        asking.end_turn()
        turn = await self.take(asking.person, is_long=asking.is_long)
        ended = iter([False])

        def end() -> None:
            if next(ended, True) is False:
                self.give_back(turn, asking.uncounted_s())

        asking.end_turn = end
        asking.allowance.at_step = lambda: self._step(asking, turn)
        return end

    def give_back(self, turn: Turn, used_s: float) -> None:
        """End a turn, and count what it took."""
        with self._lock:
            self._count(turn.person, max(used_s, LEAST_S))
            self._end(turn)

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Let long requests stand aside for one that is being let in, or that needs no turn."""
        with self._lock:
            self._arriving += 1
        try:
            yield
        finally:
            with self._lock:
                self._arriving -= 1
                self._changed()

    def _step(self, asking: Asking, turn: Turn) -> None:
        """What a request does between two steps of its work: it is counted, and lets quick ones go first."""
        used_s = asking.allowance.used_s
        if used_s - asking.counted_s > COUNTED_S:
            with self._lock:
                self._count(asking.person, asking.uncounted_s())
        if used_s > QUICK_S and not turn.is_long:
            self._become_long(asking, turn)
        if turn.is_long and self._is_hurried() and asking.aside_s < ASIDE_SHARE * used_s and not _is_on_loop():
            since_s = time.monotonic()
            with self._calm:
                self._calm.wait_for(lambda: not self._is_hurried(), ASIDE_S)
            asking.aside_s += time.monotonic() - since_s

    def _is_hurried(self) -> bool:
        return self._arriving > 0 or any(not turn.is_long for turn in tuple(self._active))

    def _become_long(self, asking: Asking, turn: Turn) -> None:
        """Wait in this thread for one of the turns that long requests hold."""
        begun = threading.Event()
        with self._lock:
            blocked = sum(other.is_blocking for other in self._queue)
            if turn not in self._active or blocked >= BLOCKED or _is_on_loop():
                return
            self._active.remove(turn)
            turn.is_long, turn.is_blocking, turn.wake = True, True, begun.set
            self._queue.append(turn)
            self._changed()
        until_s = time.monotonic() + BLOCKED_S
        while not begun.wait(ASIDE_S):
            if asking.allowance.is_stopped or time.monotonic() > until_s:
                break
        with self._lock:
            turn.is_blocking = False
            if turn in self._queue:
                self._queue.remove(turn)
                self._active.add(turn)

    def _count(self, person: Person, used_s: float) -> None:
        now_s = self.clock()
        for name in (person, person.tenant):
            use = self._used.setdefault(name, _Use(0.0, now_s))
            use.seconds = use.now(now_s) + used_s

    def _end(self, turn: Turn) -> None:
        """Take out who is done, or waits no longer."""
        with self._lock:
            self._active.discard(turn)
            if turn in self._queue:
                self._queue.remove(turn)
            if not self._active and not self._queue:
                self._used = {name: use for name, use in self._used.items() if use.now(self.clock()) > LEAST_S}
            self._changed()
        if turn.is_blocking:
            turn.wake()

    def _changed(self) -> None:
        self._begin_next()
        if not self._is_hurried():
            self._calm.notify_all()

    def _begin_next(self) -> None:
        now_s = self.clock()
        for turn in sorted(self._queue, key=lambda waiting: self._order(waiting, now_s)):
            if len(self._active) >= self.at_once:
                return
            if self._may_begin(turn):
                self._queue.remove(turn)
                self._active.add(turn)
                turn.wake()

    def _order(self, turn: Turn, now_s: float) -> tuple[bool, float, float, int]:
        tenant, person = self._of(turn.person.tenant, now_s), self._of(turn.person, now_s)
        return turn.is_long, tenant, person, turn.number

    def _of(self, name: Person | str, now_s: float) -> float:
        use = self._used.get(name)
        return 0.0 if use is None else round(use.now(now_s), 2)

    def _may_begin(self, turn: Turn) -> bool:
        own = Counter(other.person for other in self._active)[turn.person]
        if len(self._active) >= self.at_once or own >= max(1, self.at_once - 1):
            return False
        return not turn.is_long or sum(other.is_long for other in self._active) < max(1, self.at_once // 2)


def _let_in(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


def _is_on_loop() -> bool:
    """Whether this thread serves all connections, so that nothing may wait in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
