"""The admin page: users, their keys, and who answers about which tag; and everyone's own keys."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.adapters.store.second_factor import SetUp
from citewell.api.people import (
    Change,
    changed,
    make_key,
    new_password,
    own_id,
    owned_tags,
    remove_factor_of,
    rotate_key,
    set_owner,
    set_up_factor,
    turn_off_factor,
    turn_on_factor,
)
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.trail import also
from citewell.api.visitor import Governor, Reader, Visitor
from citewell.errors import InputError, ScopeRefused
from citewell.types import Role

router = APIRouter()

Csrf = Annotated[str, Form()]
Text = Annotated[str, Form(max_length=1_000)]


@router.get("/admin")
def admin(site: Here, visitor: Governor) -> Response:
    """Users, and who owns which tag."""
    return _page(site, visitor)


def _page(site: ServerState, visitor: Visitor, *, problem: Problem | None = None, typed: str = "") -> Response:
    users = site.people.all(tenant=visitor.tenant)
    return site.page(
        "admin.html",
        visitor,
        nav="admin",
        users=users,
        tags=owned_tags(site, visitor),
        roles=list(Role),
        problem=problem,
        typed=typed,
    )


@router.post("/admin/users")
def add_user(
    *,
    request: Request,
    site: Here,
    visitor: Governor,
    email: Text = "",
    name: Text = "",
    role: Annotated[Role, Form()] = Role.MEMBER,
    tags: Text = "",
    password: Text = "",
    csrf: Csrf = "",
) -> Response:
    """Add a user."""
    require_our_form(request, csrf)
    try:
        user = site.people.add(
            tenant=visitor.tenant,
            email=email.strip(),
            name=name.strip(),
            role=role,
            tags=_words(tags),
            password=password or None,
        )
    except InputError as error:
        return _page(site, visitor, problem=problem_of(error), typed=email)
    also("user.add", user.id)
    return RedirectResponse("/admin", status_code=HTTPStatus.SEE_OTHER)


@router.post("/admin/users/{user_id}")
def change_user(
    *,
    request: Request,
    site: Here,
    visitor: Governor,
    user_id: str,
    role: Annotated[Role | None, Form()] = None,
    tags: Annotated[str | None, Form(max_length=1_000)] = None,
    is_active: Annotated[bool | None, Form()] = None,
    password: Text = "",
    name: Annotated[str | None, Form(max_length=255)] = None,
    registration: Annotated[str | None, Form(max_length=64)] = None,
    csrf: Csrf = "",
) -> Response:
    """Change a user."""
    require_our_form(request, csrf)
    words = None if tags is None else _words(tags)
    change = Change(role, words, is_active, password or None, name, registration)
    try:
        changed(site, visitor, user_id, change)
    except InputError as error:
        return _page(site, visitor, problem=problem_of(error))
    return RedirectResponse("/admin", status_code=HTTPStatus.SEE_OTHER)


@router.post("/admin/users/{user_id}/sign-out")
def sign_out_user(request: Request, site: Here, visitor: Governor, user_id: str, csrf: Csrf = "") -> Response:
    """End all sessions of a user."""
    require_our_form(request, csrf)
    site.people.end_sessions(user_id, tenant=visitor.tenant)
    return RedirectResponse("/admin", status_code=HTTPStatus.SEE_OTHER)


@router.post("/admin/users/{user_id}/second-factor/off")
def remove_second_factor(request: Request, site: Here, visitor: Governor, user_id: str, csrf: Csrf = "") -> Response:
    """Turn off the second factor of a user who lost their authenticator."""
    require_our_form(request, csrf)
    remove_factor_of(site, visitor, user_id)
    return RedirectResponse("/admin", status_code=HTTPStatus.SEE_OTHER)


@router.post("/admin/tags")
def own_tag(
    *, request: Request, site: Here, visitor: Governor, tag: Text = "", owner_id: Text = "", csrf: Csrf = ""
) -> Response:
    """Say who answers questions about a tag."""
    require_our_form(request, csrf)
    try:
        set_owner(site, visitor, tag, owner_id or None)
    except InputError as error:
        return _page(site, visitor, problem=problem_of(error))
    return RedirectResponse("/admin#tags", status_code=HTTPStatus.SEE_OTHER)


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


# -------------------------------------------------------------------------------------------------------------- keys


@router.get("/keys")
def keys_page(site: Here, visitor: Reader) -> Response:
    """The visitor's own keys for programs."""
    return _keys_page(site, visitor)


def _keys_page(
    site: ServerState,
    visitor: Visitor,
    *,
    made: str | None = None,
    problem: Problem | None = None,
    set_up: SetUp | None = None,
    recovery_codes: Sequence[str] = (),
) -> Response:
    is_owner = visitor.is_owner
    return site.page(
        "account.html",
        visitor,
        nav="keys",
        keys=[] if is_owner else site.people.keys(visitor.user_id, tenant=visitor.tenant),
        made=made,
        is_owner=is_owner,
        problem=problem,
        profile=site.people.owner_profile(visitor.tenant) if is_owner else None,
        sessions=site.people.open_sessions(visitor.user_id, tenant=visitor.tenant, token=visitor.session),
        has_factor=site.app.second_factors.is_on(visitor.user_id),
        set_up=set_up,
        recovery_codes=recovery_codes,
        key_days=site.app.settings.key_days,
    )


@router.post("/keys")
def add_key(
    *, request: Request, site: Here, visitor: Reader, name: Text = "", days: Text = "", csrf: Csrf = ""
) -> Response:
    """Make a key, and show it this once."""
    require_our_form(request, csrf)
    if not name.strip():
        raise InputError("Enter a name that says what the key is for.")
    if days.strip() and not (days.strip().isdecimal() and int(days) > 0):
        raise InputError("Enter the days as a whole number of at least 1.")
    _, key = make_key(site, visitor, name.strip(), int(days) if days.strip() else None)
    return _keys_page(site, visitor, made=key)


@router.post("/keys/profile")
def set_profile(
    *, request: Request, site: Here, visitor: Governor, name: Text = "", registration: Text = "", csrf: Csrf = ""
) -> Response:
    """Set the name and number under which the owner signs."""
    require_our_form(request, csrf)
    if not visitor.is_owner:
        raise ScopeRefused("Your name and registration number are entered on the Admin page. Nothing was changed.")
    try:
        site.people.set_owner_profile(visitor.tenant, name=name, registration=registration)
    except InputError as error:
        return _keys_page(site, visitor, problem=problem_of(error))
    return RedirectResponse("/keys", status_code=HTTPStatus.SEE_OTHER)


@router.post("/keys/second-factor")
def begin_second_factor(
    request: Request, site: Here, visitor: Reader, password: Text = "", csrf: Csrf = ""
) -> Response:
    """Show the secret for an authenticator, this once."""
    require_our_form(request, csrf)
    try:
        return _keys_page(site, visitor, set_up=set_up_factor(site, visitor, password=password))
    except InputError as error:
        return _keys_page(site, visitor, problem=problem_of(error))


@router.post("/keys/second-factor/code")
def confirm_second_factor(request: Request, site: Here, visitor: Reader, code: Text = "", csrf: Csrf = "") -> Response:
    """Turn the second factor on; the recovery codes are shown this once."""
    require_our_form(request, csrf)
    try:
        return _keys_page(site, visitor, recovery_codes=turn_on_factor(site, visitor, code))
    except InputError as error:
        return _keys_page(site, visitor, problem=problem_of(error))


@router.post("/keys/second-factor/off")
def end_second_factor(
    *, request: Request, site: Here, visitor: Reader, password: Text = "", code: Text = "", csrf: Csrf = ""
) -> Response:
    """Turn the second factor off."""
    require_our_form(request, csrf)
    try:
        turn_off_factor(site, visitor, password=password, code=code)
    except InputError as error:
        return _keys_page(site, visitor, problem=problem_of(error))
    return RedirectResponse("/keys", status_code=HTTPStatus.SEE_OTHER)


@router.post("/keys/sessions/end")
def end_sessions(request: Request, site: Here, visitor: Reader, csrf: Csrf = "") -> Response:
    """End all the visitor's other sessions."""
    require_our_form(request, csrf)
    site.people.end_sessions(visitor.user_id, tenant=visitor.tenant, but=visitor.session)
    return RedirectResponse("/keys#sessions", status_code=HTTPStatus.SEE_OTHER)


@router.post("/keys/sessions/{session_id}/end")
def end_session(request: Request, site: Here, visitor: Reader, session_id: str, csrf: Csrf = "") -> Response:
    """End one of the visitor's sessions."""
    require_our_form(request, csrf)
    site.people.end_sessions(visitor.user_id, tenant=visitor.tenant, only=session_id)
    return RedirectResponse("/keys#sessions", status_code=HTTPStatus.SEE_OTHER)


@router.post("/keys/{key_id}/rotate")
def replace_key(request: Request, site: Here, visitor: Reader, key_id: str, csrf: Csrf = "") -> Response:
    """Make a new key in the place of another, and show it this once."""
    require_our_form(request, csrf)
    _, key = rotate_key(site, visitor, key_id)
    return _keys_page(site, visitor, made=key)


@router.post("/keys/password")
async def change_password(
    *,
    request: Request,
    site: Here,
    visitor: Reader,
    current: Text = "",
    new: Text = "",
    csrf: Csrf = "",
) -> Response:
    """Change the visitor's own password; they sign in anew."""
    require_our_form(request, csrf)
    change = partial(new_password, site, visitor, current=current, new=new)
    try:
        await asyncio.wrap_future(site.hashers.submit(change))
    except InputError as error:
        return await run_in_threadpool(_keys_page, site, visitor, problem=problem_of(error))
    return RedirectResponse("/sign-in", status_code=HTTPStatus.SEE_OTHER)


@router.post("/keys/{key_id}/delete")
def remove_key(request: Request, site: Here, visitor: Reader, key_id: str, csrf: Csrf = "") -> Response:
    """Make a key worthless."""
    require_our_form(request, csrf)
    site.people.remove_key(key_id, user_id=own_id(visitor))
    return RedirectResponse("/keys", status_code=HTTPStatus.SEE_OTHER)
