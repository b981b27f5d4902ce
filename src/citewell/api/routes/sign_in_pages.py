"""Signing in with e-mail address and password, and signing out."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.adapters.store.users import UserAccount
from citewell.api.guard import NO_ENTRY, SIGN_IN, SIGN_IN_CODE, own_path
from citewell.api.machine import machine_of
from citewell.api.problem_responses import answer
from citewell.api.problems import Problem, Refused
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.trail import REFUSED
from citewell.api.visitor import Reader, Visitor
from citewell.errors import NotFound
from citewell.history import TrailEvent
from citewell.types.hashed_ids import logged
from citewell.web.pages import page

log = logging.getLogger(__name__)
router = APIRouter()

WHICH_ORGANISATION = Problem(
    HTTPStatus.UNAUTHORIZED,
    "OrganisationNotNamed",
    "Enter the short name of your organisation, which your administrator gave you, and try again.",
)
TOO_LATE = Problem(
    HTTPStatus.UNAUTHORIZED, "SignInExpired", "This sign-in took too long. Enter your email address and password again."
)
WRONG_CODE = Problem(
    HTTPStatus.UNAUTHORIZED,
    "WrongCode",
    "The code is wrong or was used already. Enter the code that your authenticator shows now, or a recovery code.",
)
CODE_S = 300
"""How long the second step of a sign-in may take."""
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
    account, machine = f"{own}/{email.strip().lower()}", machine_of(request, site)
    try:
        site.take_try(account, machine)
    except Refused:
        site.metrics.count("sign_ins", outcome="throttled")
        raise
    look = partial(site.people.by_password, tenant=own, email=email.strip(), password=password)
    user = await asyncio.wrap_future(site.hashers.submit(look))
    if user is None:
        site.metrics.count("sign_ins", outcome="wrong")
        await run_in_threadpool(_note_refusal, site, own, email.strip())
        raise Refused(WRONG)
    site.give_back_try(account, machine)
    if await run_in_threadpool(site.app.second_factors.is_on, user.id):
        return _code_form(_ticket(site, user, leads_to))
    return await run_in_threadpool(_let_in, site, user, leads_to)


@router.post(SIGN_IN_CODE)
def enter_code(
    *,
    request: Request,
    site: Here,
    ticket: Annotated[str, Form(max_length=4_000)] = "",
    code: Annotated[str, Form(max_length=64)] = "",
) -> Response:
    """The second step, where the account has an authenticator: a code, or a recovery code."""
    opened = site.keys.opened(ticket)
    if opened is None:
        raise Refused(TOO_LATE)
    told = json.loads(opened)
    user = site.people.user(told["user"], tenant=told["tenant"])
    account, machine = f"{user.tenant}/{user.email}", machine_of(request, site)
    site.take_try(account, machine)
    if not user.is_active or not site.app.second_factors.takes(user.id, code):
        site.metrics.count("sign_ins", outcome="wrong")
        _note_refusal(site, user.tenant, user.email)
        response = _code_form(ticket, problem=WRONG_CODE)
        response.status_code = HTTPStatus.UNAUTHORIZED
        return response
    site.give_back_try(account, machine)
    return _let_in(site, user, told["next"])


def _ticket(site: ServerState, user: UserAccount, leads_to: str) -> str:
    """That somebody's password was right a moment ago: what the second step must bring along."""
    told = {"user": user.id, "tenant": user.tenant, "next": leads_to}
    return site.keys.sealed(json.dumps(told), lasts_s=CODE_S)


def _code_form(ticket: str, *, problem: Problem | None = None) -> Response:
    return page("sign_in_code.html", ticket=ticket, problem=problem)


def _note_refusal(site: ServerState, tenant: str, email: str) -> None:
    """Keep on the trail for whom a sign-in was tried: the account, or the hash of an address that has none."""
    user_id, object_id = "", logged(email.lower())
    with suppress(NotFound):
        user_id = object_id = site.people.by_email(email, tenant=tenant).id
    event = TrailEvent(tenant, user_id, "session", "session.open", object_id, REFUSED, datetime.now(UTC))
    site.keep([event])


def _let_in(site: ServerState, user: UserAccount, leads_to: str) -> Response:
    """Open a session for somebody who has shown who they are."""
    session = site.people.open_session(user.id)
    site.note(Visitor.of(user, way="session", csrf=""), "session.open", user.id)
    site.metrics.count("sign_ins", outcome="right")
    log.info("user %s signed in", logged(user.id))
    clean = own_path(leads_to)
    response = RedirectResponse("/" if clean == SIGN_IN else clean, status_code=HTTPStatus.SEE_OTHER)
    site.set_cookie(response, session)
    return response


@router.post("/sign-out")
def sign_out(request: Request, site: Here, visitor: Reader, csrf: Annotated[str, Form()] = "") -> Response:
    """End the session on the server, a user's or the owner's."""
    require_our_form(request, csrf)
    if visitor.session is not None:
        site.people.sign_out(visitor.session)
    response = RedirectResponse(SIGN_IN, status_code=HTTPStatus.SEE_OTHER)
    response.delete_cookie(site.keys.cookie, path="/", httponly=True, samesite="strict")
    return response
