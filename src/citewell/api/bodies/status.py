"""How the server is, and which models there are."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

PartName = Literal["store", "embedder", "model", "entailment", "replica", "broker", "originals"]


class PartState(BaseModel):
    """How one part is: it answers, it is slow, it is away and done without, or it fails."""

    state: Literal["ok", "slow", "away", "failed"]
    took_ms: float
    detail: str | None


class HealthResponse(BaseModel):
    """Whether the server lives, and whether it can do its work."""

    status: Literal["ok", "degraded"]
    live: bool
    ready: bool
    parts: dict[PartName, PartState]


class ModelResponse(BaseModel):
    """A model that is allowed, or there, or both."""

    name: str
    is_allowed: bool
    is_present: bool
    is_chosen: bool
    context_window: int | None
    max_reply_tokens: int | None
    digest: str | None
    size_bytes: int | None


class ModelsResponse(BaseModel):
    """Who writes answers, and which models could."""

    writer: str
    server: str
    problem: str | None
    models: list[ModelResponse]
