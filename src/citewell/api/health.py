"""How each part of the server is, asked within its own time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Literal

from citewell.api import health_parts
from citewell.api.errors import problem_of
from citewell.api.site import Site

KEPT_S = 5.0
"""So long an answer counts: whoever asks every second does not keep the parts busy."""

PartName = Literal["store", "embedder", "model", "entailment", "replica", "broker", "originals"]
LIMITS_S: Mapping[PartName, float] = MappingProxyType(
    {"store": 2.0, "embedder": 5.0, "model": 5.0, "entailment": 5.0, "replica": 5.0, "broker": 5.0, "originals": 5.0}
)
DONE_WITHOUT = frozenset({"replica", "broker", "originals"})
"""Parts without which questions are answered all the same: a server that misses one is ready."""

Ask = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Part:
    """How one part is."""

    state: Literal["ok", "slow", "away", "failed"]
    """Away: it does not answer as it should, and questions are answered without it."""
    took_ms: float
    detail: str | None = None


class Health:
    """Asks each part in a thread, never twice at the same time: one that hangs holds one thread, not all."""

    def __init__(self, asked: Mapping[PartName, Ask], *, limits_s: Mapping[PartName, float] = LIMITS_S) -> None:
        self._asked, self._limits_s = asked, limits_s
        self._known: dict[PartName, tuple[float, Part]] = {}
        self._running: dict[PartName, asyncio.Task[Part]] = {}

    @classmethod
    def of(cls, site: Site) -> Health:
        """The health of a site."""
        chosen = site.app.settings
        asked: dict[PartName, Ask] = {
            "store": lambda: health_parts.ask_store(site),
            "embedder": lambda: health_parts.ask_embedder(site),
            "model": lambda: health_parts.ask_model(site),
        }
        optional: tuple[tuple[PartName, object, Callable[[Site], object]], ...] = (
            ("entailment", chosen.entailment, health_parts.ask_entailment),
            ("replica", chosen.qdrant_url, health_parts.ask_replica),
            ("broker", chosen.broker_url, health_parts.ask_broker),
            ("originals", chosen.blobs, health_parts.ask_originals),
        )
        for name, is_set, ask in optional:
            if is_set is not None:
                asked[name] = partial(ask, site)
        return cls(asked)

    async def parts(self) -> dict[PartName, Part]:
        """The state of every part, within the longest of the limits."""
        found = await asyncio.gather(*map(self._part, self._asked))
        return dict(zip(self._asked, found, strict=True))

    async def _part(self, name: PartName) -> Part:
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
            part = Part("slow", limit_s * 1000, f"No response within {limit_s:g} seconds.")
            return replace(part, state="away") if name in DONE_WITHOUT else part
        if part.state == "failed" and name in DONE_WITHOUT:
            part = replace(part, state="away")
        self._known[name] = time.monotonic(), part
        return part


def is_ready(parts: Mapping[PartName, Part]) -> bool:
    """Whether everything answers that questions need."""
    return all(part.state in ("ok", "away") for part in parts.values())


def _asked(ask: Ask) -> Part:
    """What came of asking; an error is told in its own calm words."""
    started = time.perf_counter()
    try:
        detail = ask()
        part = Part("ok", 0.0, detail if isinstance(detail, str) else None)
    except Exception as error:
        part = Part("failed", 0.0, problem_of(error).detail)
    return replace(part, took_ms=round((time.perf_counter() - started) * 1000, 1))
