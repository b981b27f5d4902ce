"""Health, metrics and models."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from citewell.adapters.llm.model_list import Listing, ModelRow, unanswered, vendor_of
from citewell.adapters.llm.shared_request import LIMIT_S, PendingRequest
from citewell.api import metrics
from citewell.api.bodies.base import ResponseBody
from citewell.api.fair_turns import end_own_turn
from citewell.api.health import Health, PartHealth, PartName, is_ready
from citewell.api.problems import Refused
from citewell.api.server_state import UNDER_WAY, Here, ServerState
from citewell.api.visitor import NOT_THIS_ROLE, VISITOR, Governor, Member, Visitor
from citewell.operations.scheduled_backup import BackupSchedule
from citewell.types import LifecycleState

router = APIRouter(prefix="/api/v1")
exposition = APIRouter()

SILENT = f"The model server did not list its models within {LIMIT_S:g} s. Check it, then try again."


class HealthResponse(ResponseBody):
    """Whether the server lives, and whether it can do its work."""

    status: Literal["ok", "degraded"]
    live: bool
    ready: bool
    parts: dict[PartName, PartHealth]


class ModelsResponse(ResponseBody):
    """Who writes answers, and which models could."""

    writer: str
    server: str
    problem: str | None
    models: list[ModelRow]


async def _health(request: Request) -> HealthResponse:
    health: Health = request.app.state.health
    visitor: Visitor | None = request.scope[VISITOR]
    parts = await health.parts()
    site: ServerState = request.app.state.site
    if not site.is_run_by(visitor):  # a reason may name a folder or a server
        parts = {name: replace(part, detail=None) for name, part in parts.items()}
    status: Literal["ok", "degraded"] = "ok" if all(part.state == "ok" for part in parts.values()) else "degraded"
    return HealthResponse(status=status, live=True, ready=is_ready(parts), parts=parts)


@router.get("/health")
async def health(request: Request) -> HealthResponse:
    """Whether the server is running and the state of each part; administrators also get details."""
    return await _health(request)


@router.get("/health/live", response_model=dict[str, bool])
async def live() -> dict[str, bool]:
    """Whether the server is running."""
    return {"live": True}


@router.get("/health/ready", responses={503: {"model": HealthResponse}})
async def ready(request: Request, response: Response) -> HealthResponse:
    """Whether every part is working: 200, or 503 if one is not."""
    health = await _health(request)
    if not health.ready:
        response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    return health


@router.get("/models")
async def models(site: Here, visitor: Member) -> ModelsResponse:
    """The current answer model, the allowed models, and which of them are available."""
    settings = site.app.settings
    end_own_turn()
    try:
        listing = await _answer(site.models.asked())
    except TimeoutError:
        listing = unanswered(settings, vendor_of(settings), SILENT)
    if listing.problem is not None and not site.is_run_by(visitor):  # it names the server's address
        listing = replace(listing, problem="The model server is not responding. Tell an administrator.")
    return ModelsResponse(
        writer=settings.model, server=listing.server, problem=listing.problem, models=list(listing.models)
    )


async def _answer(asking: PendingRequest[Listing]) -> Listing:
    """What the server says, awaited without a thread: however many ask a silent one, other requests go on."""
    loop, is_told = asyncio.get_running_loop(), asyncio.Event()

    def tell(_told: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server stops
            loop.call_soon_threadsafe(is_told.set)

    asking.told.add_done_callback(tell)
    if not asking.told.done():
        await asyncio.wait_for(is_told.wait(), asking.left_s)
    return asking.told.result()


@exposition.get("/metrics", response_class=PlainTextResponse)
def exposed(site: Here, visitor: Governor) -> Response:
    """Counts and times of the whole server for Prometheus, for an administrator of the tenant that runs it."""
    if not site.is_run_by(visitor):
        raise Refused(NOT_THIS_ROLE)
    entries = site.app.entries(visitor.whole)
    queue = site.app.library.status(visitor.whole)
    oldest = queue.oldest_waiting_at
    levels = {
        "documents": float(sum(entry.is_current for entry in entries)),
        "documents_under_way": float(sum(entry.state in UNDER_WAY for entry in entries)),
        "documents_failed": float(queue.states[LifecycleState.FAILED]),
        "passages": float(site.passages(visitor.whole)),
        "queue_oldest_seconds": max(0.0, (datetime.now(UTC) - oldest).total_seconds()) if oldest else 0.0,
        "workers": float(sum(not worker.is_silent for worker in queue.workers)),
    }
    if schedule := BackupSchedule.of(site.app.settings):
        levels["backup_age_seconds"] = schedule.age_s(datetime.now(UTC))
    return Response(site.metrics.text(levels), media_type=metrics.MEDIA_TYPE)
