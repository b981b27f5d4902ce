"""The page of care journeys: add, change and remove them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from citewell.adapters.store.journeys import JourneyChange
from citewell.api.bodies.base import Revision
from citewell.api.document_changes import who
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Governor, Visitor
from citewell.errors import CitewellError, NotFound
from citewell.types.journeys import UNIVERSAL

router = APIRouter(prefix="/admin/journeys")

Csrf = Annotated[str, Form()]
Text = Annotated[str, Form(max_length=4_000)]


@router.get("")
def journeys(site: Here, visitor: Governor) -> Response:
    """The journeys by name."""
    return _page(site, visitor)


def _page(
    site: ServerState, visitor: Visitor, *, problem: Problem | None = None, typed: str = "", edited: str | None = None
) -> Response:
    """The journeys as they are now; after a refusal with what was typed, and the form of `edited` open."""
    journeys = site.app.journeys.all(visitor.whole)
    values = {"journeys": journeys, "problem": problem, "typed": typed, "edited": edited}
    response = site.page("admin_journeys.html", visitor, nav="admin", **values)
    if problem is not None:
        response.status_code = problem.status
    return response


@router.post("")
def add(
    *,
    request: Request,
    site: Here,
    visitor: Governor,
    name: Text = "",
    slug: Text = "",
    description: Text = "",
    csrf: Csrf = "",
) -> Response:
    """Add a journey."""
    require_our_form(request, csrf)
    try:
        site.app.journeys.add(
            name, slug=slug.strip() or None, description=description, scope=visitor.whole, by=who(visitor)
        )
    except CitewellError as error:
        return _page(site, visitor, problem=problem_of(error), typed=name)
    return _done()


@router.post("/{journey}")
def edit(
    *,
    request: Request,
    site: Here,
    visitor: Governor,
    journey: str,
    name: Text = "",
    slug: Text = "",
    description: Text = "",
    revision: Annotated[Revision | None, Form()] = None,
    csrf: Csrf = "",
) -> Response:
    """Change a journey, unless somebody else did since it was shown."""
    require_our_form(request, csrf)
    change = JourneyChange(name, slug, description)
    try:
        site.app.journeys.edit(journey, change, revision=revision, scope=visitor.whole, by=who(visitor))
    except NotFound:
        raise
    except CitewellError as error:
        typed = "; ".join(part for part in (name, slug, description) if part)
        return _page(site, visitor, problem=problem_of(error), typed=typed, edited=journey)
    return _done()


@router.post("/{journey}/remove")
def remove(
    *, request: Request, site: Here, visitor: Governor, journey: str, to: Text = "", csrf: Csrf = ""
) -> Response:
    """Remove a journey; its documents go where the form says."""
    require_our_form(request, csrf)
    target = None if to in ("", UNIVERSAL) else to
    try:
        is_for_all = to == UNIVERSAL
        site.app.journeys.remove(journey, to=target, universal=is_for_all, scope=visitor.whole, by=who(visitor))
    except NotFound:
        raise
    except CitewellError as error:
        return _page(site, visitor, problem=problem_of(error), edited=journey)
    return _done()


def _done() -> Response:
    return RedirectResponse("/admin/journeys", status_code=HTTPStatus.SEE_OTHER)
