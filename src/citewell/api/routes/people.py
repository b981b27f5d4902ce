"""/api/v1/me, keys, users and tags: who may come in, what they may see, and who answers about what."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path

from citewell.adapters.store.users import UserAccount
from citewell.api.bodies.documents import DeletedResponse
from citewell.api.bodies.people import (
    TAG,
    KeyMadeResponse,
    KeysResponse,
    MeResponse,
    NewKeyRequest,
    NewPasswordRequest,
    NewUserRequest,
    TagOwnerRequest,
    TagResponse,
    TagsResponse,
    UserChangeRequest,
    UserResponse,
    UsersResponse,
)
from citewell.api.people import Change, OwnedTag, added, changed, new_password, own_id, owned_tags, set_owner
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here
from citewell.api.visitor import Governor, Reader, Visitor

router = APIRouter(prefix="/api/v1")


@router.get("/me", response_model=MeResponse)
def me(visitor: Reader) -> Visitor:
    """Who you are signed in as, and what you can do."""
    return visitor


@router.post("/me/password", status_code=HTTPStatus.NO_CONTENT, dependencies=[Depends(our_request)])
async def change_password(site: Here, visitor: Reader, given: NewPasswordRequest) -> None:
    """Change your own password; all your sessions end, your API keys stay."""
    change = partial(new_password, site, visitor, current=given.current, new=given.new)
    await asyncio.wrap_future(site.hashers.submit(change))


# ------------------------------------------------------------------------------------------------------------- keys


@router.get("/keys", response_model=KeysResponse)
def keys(site: Here, visitor: Reader) -> dict[str, Any]:
    """Your own API keys; the keys themselves are not shown again."""
    return {"keys": [] if visitor.is_owner else site.people.keys(visitor.user_id, tenant=visitor.tenant)}


@router.post(
    "/keys", response_model=KeyMadeResponse, status_code=HTTPStatus.CREATED, dependencies=[Depends(our_request)]
)
def add_key(site: Here, visitor: Reader, given: NewKeyRequest) -> dict[str, Any]:
    """Create an API key for yourself; it is shown only once."""
    key_id, key = site.people.add_key(own_id(visitor), tenant=visitor.tenant, name=given.name)
    return {"id": key_id, "name": given.name, "key": key}


@router.delete("/keys/{key_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def remove_key(site: Here, visitor: Reader, key_id: str) -> dict[str, Any]:
    """Revoke one of your API keys."""
    site.people.remove_key(key_id, user_id=own_id(visitor))
    return {"deleted": [key_id]}


# ------------------------------------------------------------------------------------------------------------ users


@router.get("/users", response_model=UsersResponse)
def users(site: Here, visitor: Governor) -> dict[str, Any]:
    """The users of the tenant, by email address."""
    return {"users": site.people.all(tenant=visitor.tenant)}


@router.post("/users", response_model=UserResponse, status_code=HTTPStatus.CREATED, dependencies=[Depends(our_request)])
def add_user(site: Here, visitor: Governor, given: NewUserRequest) -> UserAccount:
    """Add a user; without a password they can use only API keys."""
    return added(site, visitor, given)


@router.patch("/users/{user_id}", response_model=UserResponse, dependencies=[Depends(our_request)])
def change_user(site: Here, visitor: Governor, user_id: str, given: UserChangeRequest) -> UserAccount:
    """Change a user's role, tags or password, or whether they can sign in."""
    return changed(site, visitor, user_id, Change(**given.model_dump()))


@router.get("/users/{user_id}/keys", response_model=KeysResponse)
def keys_of(site: Here, visitor: Governor, user_id: str) -> dict[str, Any]:
    """The API keys of a user."""
    return {"keys": site.people.keys(user_id, tenant=visitor.tenant)}


@router.post(
    "/users/{user_id}/keys",
    response_model=KeyMadeResponse,
    status_code=HTTPStatus.CREATED,
    dependencies=[Depends(our_request)],
)
def add_key_for(site: Here, visitor: Governor, user_id: str, given: NewKeyRequest) -> dict[str, Any]:
    """Create an API key for a user; it is shown only once."""
    key_id, key = site.people.add_key(user_id, tenant=visitor.tenant, name=given.name)
    return {"id": key_id, "name": given.name, "key": key}


@router.delete("/users/{user_id}/keys/{key_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def remove_key_of(site: Here, visitor: Governor, user_id: str, key_id: str) -> dict[str, Any]:
    """Revoke a user's API key."""
    site.people.user(user_id, tenant=visitor.tenant)
    site.people.remove_key(key_id, user_id=user_id)
    return {"deleted": [key_id]}


# ------------------------------------------------------------------------------------------------------------- tags


@router.get("/tags", response_model=TagsResponse)
def tags(site: Here, visitor: Governor) -> dict[str, Any]:
    """The tags in use, and who answers questions about each."""
    return {"tags": owned_tags(site, visitor)}


@router.put("/tags/{tag}", response_model=TagResponse, dependencies=[Depends(our_request)])
def own_tag(
    site: Here, visitor: Governor, tag: Annotated[str, Path(max_length=64, pattern=TAG)], given: TagOwnerRequest
) -> OwnedTag:
    """Set who answers questions about a tag; if no one is set, they go to an administrator."""
    return set_owner(site, visitor, tag, given.owner_id)
