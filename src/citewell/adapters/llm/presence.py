"""Whether a server has a model, asked before a question is answered by it, without holding up anybody else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field

from citewell.adapters.llm.failures import Endpoint
from citewell.adapters.llm.limits import exact
from citewell.adapters.llm.remote import RemoteServer
from citewell.errors import CitewellError, LLMTimeoutError

LIMIT_S = 5.0
"""How long a server may take to say which models it has."""
KEPT_S = 5.0
"""So long what it said counts, a failure too: sixty questions to a silent server ask it once."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a server said: its models, or that it does not tell."""

    names: tuple[str, ...] | None
    endpoint: Endpoint


@dataclass(slots=True)
class Asking:
    """A question to the server that is under way or answered."""

    begun_at: float = field(default_factory=time.monotonic)
    told: Future[Told] = field(default_factory=Future)

    @property
    def is_over(self) -> bool:
        """Whether it is time to ask anew; while one question hangs there is no second one."""
        return self.told.done() and time.monotonic() - self.begun_at > KEPT_S


class Presence:
    """Asks a server for its models in one thread, however many want to know; each waits for so long and no longer."""

    def __init__(self, connect: Callable[[], RemoteServer]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._asking: Asking | None = None

    def check(self, name: str) -> None:
        """Raise where the server does not have the model, cannot be reached or does not say in time."""
        asking = self._asked()
        try:
            told = asking.told.result(max(0.0, asking.begun_at + LIMIT_S - time.monotonic()))
        except TimeoutError:
            raise LLMTimeoutError(
                f"The model server does not say within {LIMIT_S:g} s which models it has. Ask again, or without naming "
                "a model; if it stays so, look at the server."
            ) from None
        except CitewellError as error:
            raise type(error)(*error.args) from None  # one for each who asked: an error carries who it was told
        if told.names is not None and exact(name) not in map(exact, told.names):
            raise told.endpoint.unavailable(name)

    def _asked(self) -> Asking:
        with self._lock:
            if self._asking is None or self._asking.is_over:
                self._asking = Asking()
                threading.Thread(target=self._ask, args=(self._asking,), name="citewell-models", daemon=True).start()
            return self._asking

    def _ask(self, asking: Asking) -> None:
        try:
            with closing(self._connect()) as server:
                names = server.names()
                asking.told.set_result(Told(None if names is None else tuple(names), server.endpoint))
        except Exception as error:
            asking.told.set_exception(error)
