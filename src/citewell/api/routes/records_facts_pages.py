"""The pages of what a record knows: facts, results with their course, what happened when, what waits for a person."""

from __future__ import annotations

from fastapi import APIRouter, Response

from citewell.api.records import Opened, Owner
from citewell.api.routes.records_pages import room_page
from citewell.web.records import fact_groups

router = APIRouter(prefix="/records/{vault}")


@router.get("/facts")
def facts(visitor: Owner, room: Opened) -> Response:
    """Allergies, medicines, conditions, procedures and vaccinations, each with the way to its words."""
    found = room.record.facts.all(room.scope)
    return room_page("records_facts.html", room, visitor, tab="facts", groups=fact_groups(found))
