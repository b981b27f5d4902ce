"""GET /api/v1/search."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS
from citewell.api.bodies.base import SEEN
from citewell.api.bodies.documents import ResultsResponse
from citewell.api.server_state import Here
from citewell.api.visitor import Reader
from citewell.app import Results

router = APIRouter(prefix="/api/v1")

Question = Annotated[str, Query(min_length=1, max_length=MAX_QUESTION_CHARACTERS, pattern=SEEN)]
Tags = Annotated[tuple[str, ...], Query()]


@router.get("/search", response_model=ResultsResponse)
def search(
    *,
    site: Here,
    visitor: Reader,
    q: Question,
    limit: Annotated[int, Query(ge=1, le=200)] = 10,
    tag: Tags = (),
    journey: str | None = None,
    subject: str | None = None,
) -> Results:
    """The passages closest to a question."""
    scope = visitor.scope(tags=tag or None, journey=journey, subject=subject)
    return site.search(q, scope, limit=limit)
