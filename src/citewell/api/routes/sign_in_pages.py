"""Signing in with e-mail address and password, and signing out."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.api.guard import NO_ENTRY, SIGN_IN, own_path
from citewell.api.problem_responses import answer
from citewell.api.problems import Problem, Refused
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here
from citewell.api.visitor import Reader
from citewell.types.hashed_ids import logged

log = logging.getLogger(__name__)
router = APIRouter()

WHICH_ORGANISATION = Problem(
    HTTPStatus.UNAUTHORIZED,
    "OrganisationNotNamed",
    "Enter the short name of your organisation, which your administrator gave you, and try again.",
)
WRONG = Problem(
    HTTPStatus.UNAUTHORIZED, "WrongPassword", "Email address or password is wrong. Check both and try again."
)


@router.get(SIGN_IN)
def sign_in_page(site: Here) -> Response:
    """The form."""
    response = answer(SIGN_IN, NO_ENTRY, form=site.door.form)
    response.status_code = HTTPStatus.OK
    return response


@router.post(SIGN_IN)
async def sign_in(
    *,
    request: Request,
    site: Here,
    email: Annotated[str, Form(max_length=255)] = "",
    password: Annotated[str, Form(max_length=1_000)] = "",
    tenant: Annotated[str, Form(max_length=64)] = "",
    leads_to: Annotated[str, Form(alias="next", max_length=2_000)] = "/",
) -> Response:
    """Open a session; many wrong passwords for one account or from one machine have to wait."""
    named = tenant.strip() or None
    own = await run_in_threadpool(site.door.only_tenant) if named is None else named
    if own is None:
        raise Refused(WHICH_ORGANISATION)
    account, machine = f"{own}/{email.strip().lower()}", request.client.host if request.client else ""
    try:
        site.take_try(account, machine)
    except Refused:
        site.metrics.count("sign_ins", outcome="throttled")
        raise
    look = partial(site.people.sign_in, tenant=own, email=email.strip(), password=password)
    signed_in = await asyncio.wrap_future(site.hashers.submit(look))
    if signed_in is None:
        site.metrics.count("sign_ins", outcome="wrong")
        raise Refused(WRONG)
    site.give_back_try(account, machine)
    user, session = signed_in
    site.metrics.count("sign_ins", outcome="right")
    log.info("user %s signed in", logged(user.id))
    clean = own_path(leads_to)
    response = RedirectResponse("/" if clean == SIGN_IN else clean, status_code=HTTPStatus.SEE_OTHER)
    site.set_cookie(response, session)
    return response


@router.post("/sign-out")
def sign_out(request: Request, site: Here, _visitor: Reader, csrf: Annotated[str, Form()] = "") -> Response:
    """End the session."""
    require_our_form(request, csrf)
    session = request.cookies.get(site.keys.cookie)
    if session is not None:
        site.people.sign_out(session)
    response = RedirectResponse(SIGN_IN, status_code=HTTPStatus.SEE_OTHER)
    response.delete_cookie(site.keys.cookie, path="/", httponly=True, samesite="strict")
    return response
