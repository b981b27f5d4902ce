"""/api/v1/trail: who opened, searched, exported or administered what, the proof that it is whole, and its export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from citewell.api.bodies.base import MAX_NUMBER, Moment
from citewell.api.bodies.history import ProofResponse, TrailResponse
from citewell.api.server_state import Here
from citewell.api.visitor import Governor
from citewell.history import Proof, TrailFilter

router = APIRouter(prefix="/api/v1/trail")

Name = Annotated[str | None, Query(max_length=128)]


@router.get("", response_model=TrailResponse)
def records(
    *,
    site: Here,
    visitor: Governor,
    user: Name = None,
    action: Annotated[
        str | None, Query(max_length=64, description="The action, or what it begins with, such as `document`.")
    ] = None,
    object: Name = None,
    outcome: Name = None,
    before: Annotated[int | None, Query(ge=1, le=MAX_NUMBER, description="Only records with a lower number.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> dict[str, Any]:
    """The newest records of the tenant: IDs only, never the words of a question or a document."""
    sought = TrailFilter(user, action, object, outcome, before, limit=limit)
    return {"records": [record.as_json() for record in site.app.trail.records(visitor.tenant, sought)]}


@router.get("/proof", response_model=ProofResponse)
def proof(site: Here, visitor: Governor) -> Proof:
    """Verify the tenant's trail from first to last record, and say whether any was altered or is missing."""
    return site.app.trail.verify_chain(visitor.tenant)


@router.get("/export", response_class=StreamingResponse)
def export(site: Here, visitor: Governor, since: Moment | None = None) -> StreamingResponse:
    """All records as lines of JSON, the oldest first; each names its number and hash."""

    def lines() -> Iterator[str]:
        for record in site.app.trail.exported(visitor.tenant, TrailFilter(since=since)):
            yield json.dumps(record.as_json()) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")
