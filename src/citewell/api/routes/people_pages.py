"""The admin page: users, their keys, and who answers about which tag; and everyone's own keys."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.api.people import Change, changed, new_password, own_id, owned_tags, set_owner
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Governor, Reader, Visitor
from citewell.errors import InputError
from citewell.types import OWNER_ID, Role

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
        site.people.add(
            tenant=visitor.tenant,
            email=email.strip(),
            name=name.strip(),
            role=role,
            tags=_words(tags),
            password=password or None,
        )
    except InputError as error:
        return _page(site, visitor, problem=problem_of(error), typed=email)
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
    csrf: Csrf = "",
) -> Response:
    """Change a user."""
    require_our_form(request, csrf)
    change = Change(role, None if tags is None else _words(tags), is_active, password or None)
    try:
        changed(site, visitor, user_id, change)
    except InputError as error:
        return _page(site, visitor, problem=problem_of(error))
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
    site: ServerState, visitor: Visitor, *, made: str | None = None, problem: Problem | None = None
) -> Response:
    is_owner = visitor.user_id == OWNER_ID
    keys = [] if is_owner else site.people.keys(visitor.user_id, tenant=visitor.tenant)
    return site.page("account.html", visitor, nav="keys", keys=keys, made=made, is_owner=is_owner, problem=problem)


@router.post("/keys")
def add_key(request: Request, site: Here, visitor: Reader, name: Text = "", csrf: Csrf = "") -> Response:
    """Make a key, and show it this once."""
    require_our_form(request, csrf)
    if not name.strip():
        raise InputError("Enter a name that says what the key is for.")
    _, key = site.people.add_key(own_id(visitor), tenant=visitor.tenant, name=name.strip())
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
