"""GET /api/v1/search and /api/v1/health."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from citewell.api.shapes import results_json
from citewell.api.site import Here

router = APIRouter(prefix="/api/v1")

Tags = Annotated[list[str] | None, Query()]


@router.get("/health")
def health() -> dict[str, str]:
    """Whether the server answers."""
    return {"status": "ok"}


@router.get("/search")
def search(
    *,
    site: Here,
    q: str,
    limit: Annotated[int, Query(ge=1, le=200)] = 10,
    tag: Tags = None,
    journey: str | None = None,
    subject: str | None = None,
) -> dict[str, Any]:
    """The passages nearest to a question."""
    scope = site.app.scope(tags=tag, journey=journey, subject=subject)
    return results_json(site.search(q, scope, limit=limit))
