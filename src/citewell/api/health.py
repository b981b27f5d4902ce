"""How the store, the embedder and the model are, each asked within its own time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from citewell.adapters.llm import split_spec
from citewell.adapters.llm.listing import server_of
from citewell.api.errors import problem_of
from citewell.api.site import Site
from citewell.bootstrap.index import make_replica, shelf_for_replica
from citewell.errors import ReplicaUnavailable

KEPT_S = 5.0
"""So long an answer counts: whoever asks every second does not keep the parts busy."""

LIMITS_S: Mapping[str, float] = MappingProxyType(
    {"store": 2.0, "embedder": 5.0, "model": 5.0, "entailment": 5.0, "replica": 5.0}
)

Ask = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Part:
    """How one part is."""

    state: Literal["ok", "slow", "failed"]
    took_ms: float
    detail: str | None = None


class Health:
    """Asks each part in a thread, never twice at the same time: one that hangs holds one thread, not all."""

    def __init__(self, asked: Mapping[str, Ask], *, limits_s: Mapping[str, float] = LIMITS_S) -> None:
        self._asked, self._limits_s = asked, limits_s
        self._known: dict[str, tuple[float, Part]] = {}
        self._running: dict[str, asyncio.Task[Part]] = {}

    @classmethod
    def of(cls, site: Site) -> Health:
        """The health of a site."""
        asked: dict[str, Ask] = {
            "store": site.app.library.stamp,
            "embedder": lambda: site.loaded().embedder.embed(["fever"]),
            "model": lambda: _ask_model(site),
        }
        if site.app.settings.entailment is not None:
            asked["entailment"] = lambda: _ask_entailment(site)
        if site.app.settings.qdrant_url is not None:
            asked["replica"] = lambda: _ask_replica(site)
        return cls(asked)

    async def parts(self) -> dict[str, Part]:
        """The state of every part, within the longest of the limits."""
        found = await asyncio.gather(*map(self._part, self._asked))
        return dict(zip(self._asked, found, strict=True))

    async def _part(self, name: str) -> Part:
        at_s, known = self._known.get(name, (0.0, None))
        if known is not None and time.monotonic() - at_s < KEPT_S:
            return known
        running = self._running.get(name)
        if running is None or running.done():
            running = self._running[name] = asyncio.create_task(asyncio.to_thread(_asked, self._asked[name]))
        limit_s = self._limits_s[name]
        try:
            part = await asyncio.wait_for(asyncio.shield(running), limit_s)
        except TimeoutError:
            return Part("slow", limit_s * 1000, f"No answer within {limit_s:g} seconds.")
        self._known[name] = time.monotonic(), part
        return part


def _asked(ask: Ask) -> Part:
    """What came of asking; an error is told in its own calm words."""
    started = time.perf_counter()
    try:
        told = ask()
        part = Part("ok", 0.0, told if isinstance(told, str) else None)
    except Exception as error:
        part = Part("failed", 0.0, problem_of(error).detail)
    return replace(part, took_ms=round((time.perf_counter() - started) * 1000, 1))


def _ask_replica(site: Site) -> str:
    """How far the replica is behind; searches do without it, so the server is ready all the same."""
    try:
        lag = make_replica(site.app.settings).lag(shelf_for_replica(site.app.library))
    except ReplicaUnavailable as error:
        return str(error)
    return "like the library" if lag.is_current else f"{lag.documents} document versions behind"


def _ask_model(site: Site) -> None:
    """Ask the model's server whether it has the model; verbatim answers need none."""
    settings = site.app.settings
    if settings.model == "extractive":
        return
    vendor, name = split_spec(settings.model)
    with closing(server_of(settings, vendor)) as server:
        server.check(name)


def _ask_entailment(site: Site) -> str | None:
    """Let the entailment model read two texts; which one it is."""
    model = site.loaded().entailment
    if model is None:
        return None
    model.score("Give iron.", "Iron is given.")
    return model.name
