"""How many connections there may be and how long each may take to say what it wants."""

from __future__ import annotations

import asyncio
import logging
import resource
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger(__name__)

WANTED_DESCRIPTORS = 16_384
MOST = 8_192
FEWEST = 16
ACCEPTED_AT_ONCE = 64
"""So many connections are taken in before the first of them is counted."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What all connections of a server may take."""

    connections: int
    """The idle one that has waited longest is closed where there are more."""
    header_s: float
    """So long the head of a request may take to arrive."""


def own_limit() -> int:
    """The connections that fit beside files and databases, once the process may open as many as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, WANTED_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return max(FEWEST, min(MOST, soft * 3 // 4 if soft != resource.RLIM_INFINITY else MOST))


def bounded_protocol(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """HTTP/1.1 within limits."""
    idle: dict[BoundedProtocol, None] = {}
    """Connections that wait for a request, the one that waits longest first."""

    class BoundedProtocol(H11Protocol):
        """One connection."""

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._head: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)  # type: ignore[arg-type]
            idle[self] = None
            self._wait_for_head()
            if len(self.connections) > limits.connections:
                oldest = next(iter(idle))
                log.warning("more than %d connections: the one that was idle longest is closed", limits.connections)
                oldest.close_now()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self._forget()
            elif self.is_idle and self._head is None:
                self._wait_for_head()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.is_idle and not self.transport.is_closing():
                idle[self] = None

        @property
        def is_idle(self) -> bool:
            """Whether no request is being answered."""
            return self.cycle is None or self.cycle.response_complete

        def close_now(self) -> None:
            """End the connection, whatever was sent on it so far."""
            self._forget()
            self.connections.discard(self)
            self.transport.abort()

        def _wait_for_head(self) -> None:
            self._head = self.loop.call_later(limits.header_s, self.close_now)

        def _forget(self) -> None:
            idle.pop(self, None)
            if self._head is not None:
                self._head.cancel()
                self._head = None

    return BoundedProtocol
