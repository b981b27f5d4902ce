"""Pages for those who run it: queue and workers, health."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

import citewell
from citewell.adapters.store.document_lists import DocumentFilter, ListOrder
from citewell.api import document_changes
from citewell.api.bodies.base import MAX_NUMBER
from citewell.api.health import Health, is_ready
from citewell.api.history import names
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Editor, Governor, Visitor
from citewell.history import TrailFilter
from citewell.types import LifecycleState
from citewell.web.trail_words import THINGS

router = APIRouter(prefix="/admin")

Csrf = Annotated[str, Form()]
Short = Annotated[str, Query(max_length=200)]
FAILED_SHOWN = 20


@router.get("/queue")
def queue(site: Here, visitor: Editor) -> Response:
    """How the queue stands, who works on it, and what could not be read."""
    return _queue(site, visitor, queued=None)


def _queue(site: ServerState, visitor: Visitor, *, queued: int | None) -> Response:
    scope = visitor.whole
    failed = site.app.catalogue.listed(
        DocumentFilter(state=LifecycleState.FAILED), ListOrder(limit=FAILED_SHOWN), scope
    )
    return site.page(
        "admin_queue.html",
        visitor,
        nav="admin",
        queue=document_changes.queue_of(site, visitor),
        shows_workers=document_changes.runs_server(site, visitor),
        is_reading=site.is_reading,
        folders=site.app.watched.all(tenant=visitor.tenant) if visitor.may("govern") else (),
        failed=failed,
        queued=queued,
    )


@router.post("/queue/reingest")
def reingest(request: Request, site: Here, visitor: Governor, csrf: Csrf = "") -> Response:
    """Read everything a second time, with the embedder in the settings."""
    require_our_form(request, csrf)
    return _queue(site, visitor, queued=len(document_changes.reread_all(site, visitor)))


@router.get("/audit")
def audit(request: Request, _visitor: Governor) -> Response:
    """The log has a page of its own; old links lead there."""
    query = request.url.query
    return RedirectResponse(f"/audit?{query}" if query else "/audit", status_code=HTTPStatus.SEE_OTHER)


@router.get("/trail")
def trail(
    *,
    request: Request,
    site: Here,
    visitor: Governor,
    user: Short = "",
    action: Short = "",
    outcome: Short = "",
    object_id: Annotated[str, Query(alias="object", max_length=200)] = "",
    before: Annotated[int | None, Query(ge=1, le=MAX_NUMBER)] = None,
) -> Response:
    """Who opened, searched, exported or administered what."""
    sought = TrailFilter(user or None, action or None, object_id or None, outcome or None, before)
    records = site.app.trail.records(visitor.tenant, sought)
    return site.page(
        "admin_trail.html",
        visitor,
        nav="admin",
        records=records,
        sought=sought,
        things=THINGS,
        titles={entry.id: entry.title for entry in site.app.entries(visitor.whole)},
        users=site.people.all(tenant=visitor.tenant),
        names=names(site, visitor, {record.event.user_id for record in records} - {""}),
        asked={name: value for name, value in request.query_params.items() if value and name != "before"},
        proof=site.app.trail.verify_chain(visitor.tenant) if "proof" in request.query_params else None,
    )


@router.get("/health")
async def health(request: Request, site: Here, visitor: Governor) -> Response:
    """How each part is, and how much there is."""
    asked: Health = request.app.state.health
    parts = await asked.parts()

    def shown() -> Response:
        scope = visitor.whole
        status = site.app.library.status(scope)
        documents, passages = site.app.catalogue.counts(scope)
        return site.page(
            "admin_health.html",
            visitor,
            nav="admin",
            parts=parts,
            is_ready=is_ready(parts),
            is_whole=all(part.state == "ok" for part in parts.values()),
            documents=documents,
            passages=passages,
            waiting=status.states[LifecycleState.QUEUED] + status.states[LifecycleState.PROCESSING],
            failed=status.states[LifecycleState.FAILED],
            model=site.app.settings.model,
            embedder=site.app.library.embedder(),
            version=citewell.__version__,
        )

    return await run_in_threadpool(shown)
