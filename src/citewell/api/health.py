"""How each part of the server is, asked within its own time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Literal

from citewell.adapters.blobs import try_blobs
from citewell.adapters.index.qdrant import QdrantIndex
from citewell.adapters.llm.model_list import server_of
from citewell.adapters.llm.vendors import split_spec
from citewell.adapters.queue.celery import AWAY, CeleryQueue
from citewell.adapters.store.engine import refuse_full, refuse_newer, refuse_read_only
from citewell.answer.retrieve import refuse_misfit
from citewell.api.problems import problem_of
from citewell.api.server_state import ServerState
from citewell.errors import Unavailable

KEPT_S = 5.0
"""So long an answer counts: whoever asks every second does not keep the parts busy."""

PartName = Literal["store", "embedder", "model", "entailment", "replica", "broker", "originals"]
LIMITS_S: Mapping[PartName, float] = MappingProxyType(
    {"store": 2.0, "embedder": 5.0, "model": 5.0, "entailment": 5.0, "replica": 5.0, "broker": 5.0, "originals": 5.0}
)
DONE_WITHOUT = frozenset({"replica", "broker", "originals"})
"""Parts without which questions are answered all the same: a server that misses one is ready."""

NO_WORKER = "No workers are running. Start one with `citewell worker`."

Ask = Callable[[], object]


@dataclass(frozen=True, slots=True)
class PartHealth:
    """How one part is."""

    state: Literal["ok", "slow", "away", "failed"]
    """Away: it does not answer as it should, and questions are answered without it."""
    took_ms: float
    detail: str | None = None


class Health:
    """Asks each part in a thread, never twice at the same time: one that hangs holds one thread, not all."""

    def __init__(self, asked: Mapping[PartName, Ask], *, limits_s: Mapping[PartName, float] = LIMITS_S) -> None:
        self._asked, self._limits_s = asked, limits_s
        self._known: dict[PartName, tuple[float, PartHealth]] = {}
        self._running: dict[PartName, asyncio.Task[PartHealth]] = {}

    @classmethod
    def of(cls, site: ServerState) -> Health:
        chosen = site.app.settings
        asked: dict[PartName, Ask] = {
            "store": lambda: ask_store(site),
            "embedder": lambda: ask_embedder(site),
            "model": lambda: ask_model(site),
        }
        optional: tuple[tuple[PartName, object, Callable[[ServerState], object]], ...] = (
            ("entailment", chosen.entailment, ask_entailment),
            ("replica", chosen.qdrant_url, ask_replica),
            ("broker", chosen.broker_url, ask_broker),
            ("originals", chosen.blobs, ask_originals),
        )
        for name, is_set, ask in optional:
            if is_set is not None:
                asked[name] = partial(ask, site)
        return cls(asked)

    async def parts(self) -> dict[PartName, PartHealth]:
        """The state of every part, within the longest of the limits."""
        parts = await asyncio.gather(*map(self._part, self._asked))
        return dict(zip(self._asked, parts, strict=True))

    async def _part(self, name: PartName) -> PartHealth:
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
            part = PartHealth("slow", limit_s * 1000, f"No response within {limit_s:g} seconds.")
            return replace(part, state="away") if name in DONE_WITHOUT else part
        if part.state == "failed" and name in DONE_WITHOUT:
            part = replace(part, state="away")
        self._known[name] = time.monotonic(), part
        return part


def is_ready(parts: Mapping[PartName, PartHealth]) -> bool:
    """Whether everything answers that questions need."""
    return all(part.state in ("ok", "away") for part in parts.values())


def _asked(ask: Ask) -> PartHealth:
    """What came of asking; an error is told in its own calm words."""
    started = time.perf_counter()
    try:
        detail = ask()
        part = PartHealth("ok", 0.0, detail if isinstance(detail, str) else None)
    except Exception as error:
        part = PartHealth("failed", 0.0, problem_of(error).detail)
    return replace(part, took_ms=round((time.perf_counter() - started) * 1000, 1))


def ask_store(site: ServerState) -> None:
    """Read a row, and look whether answers can be kept and no newer version has brought the tables up to date."""
    library = site.app.library
    library.stamp()
    refuse_newer(library.engine, library.path)
    if site.app.settings.database_url is None:  # PostgreSQL tells of its own disk when it is written to
        refuse_read_only(library.path)
        refuse_full(library.path)


def ask_embedder(site: ServerState) -> None:
    """Embed a word, and look whether the library's vectors are of the same embedder and its calibration can be used."""
    app = site.loaded()
    app.embedder.embed(["fever"])
    refuse_misfit(app.library.embedder(), app.embedder.fingerprint)
    app.calibration_of(app.embedder.fingerprint)


def ask_model(site: ServerState) -> None:
    """Ask the model's server whether it has the model; verbatim answers need none."""
    settings = site.app.settings
    if settings.model == "extractive":
        return
    vendor, name = split_spec(settings.model)
    with closing(server_of(settings, vendor)) as server:
        server.check(name)


def ask_entailment(site: ServerState) -> str | None:
    """Let the entailment model read two texts; which one it is."""
    model = site.loaded().entailment
    if model is None:
        return None
    model.score("Give iron.", "Iron is given.")
    return model.name


def ask_replica(site: ServerState) -> str | None:
    """How far the replica is behind."""
    index = site.loaded().index
    if not isinstance(index, QdrantIndex):
        return None
    lag = index.lag()
    return "like the library" if lag.is_current else f"{lag.documents} document versions behind"


def ask_broker(site: ServerState) -> str:
    """Whether Redis answers, and who works."""
    queue = site.app.queue
    if isinstance(queue, CeleryQueue) and not queue.answers():
        raise Unavailable(AWAY)
    workers = site.app.library.status(site.app.scope_of_owner()).workers
    alive = sum(not worker.is_silent for worker in workers)
    return f"{alive} worker{'' if alive == 1 else 's'} running" if alive else NO_WORKER


def ask_originals(site: ServerState) -> None:
    """Whether a file can be kept, read back and removed."""
    if site.app.library.blobs is not None:
        try_blobs(site.app.library.blobs)
