"""/api/v1/me, keys, users and tags: who may come in, what they may see, and who answers about what."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path

from citewell.adapters.store.second_factor import SetUp
from citewell.adapters.store.users import Profile, UserAccount
from citewell.api.bodies.documents import DeletedResponse
from citewell.api.bodies.people import (
    TAG,
    CodeRequest,
    ConfirmRequest,
    EndedResponse,
    KeyMadeResponse,
    KeysResponse,
    MeResponse,
    NewKeyRequest,
    NewPasswordRequest,
    NewUserRequest,
    ProfileRequest,
    ProfileResponse,
    RecoveryCodesResponse,
    RotateRequest,
    SecondFactorResponse,
    SessionsResponse,
    SetUpResponse,
    TagOwnerRequest,
    TagResponse,
    TagsResponse,
    UserChangeRequest,
    UserResponse,
    UsersResponse,
)
from citewell.api.people import (
    OWN_KEYS_ONLY,
    Change,
    OwnedTag,
    added,
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
from citewell.api.problems import Refused
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here
from citewell.api.visitor import Governor, Reader, Visitor
from citewell.errors import ScopeRefused

router = APIRouter(prefix="/api/v1")
OWN_PROFILE = (
    "Your name and registration number are entered by an administrator on the Admin page. Nothing was changed."
)


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
    key_id, key = make_key(site, visitor, given.name, given.days)
    return {"id": key_id, "name": given.name, "key": key}


@router.post(
    "/keys/{key_id}/rotate",
    response_model=KeyMadeResponse,
    status_code=HTTPStatus.CREATED,
    dependencies=[Depends(our_request)],
)
def replace_key(site: Here, visitor: Reader, key_id: str, given: RotateRequest) -> dict[str, Any]:
    """Replace one of your API keys; the old one works for another 24 hours."""
    name = next((key.name for key in site.people.keys(own_id(visitor), tenant=visitor.tenant) if key.id == key_id), "")
    new_id, key = rotate_key(site, visitor, key_id, given.days)
    return {"id": new_id, "name": name, "key": key}


@router.delete("/keys/{key_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def remove_key(site: Here, visitor: Reader, key_id: str) -> dict[str, Any]:
    """Revoke one of your API keys."""
    site.people.remove_key(key_id, user_id=own_id(visitor))
    return {"deleted": [key_id]}


# ------------------------------------------------------------------------------------- sessions and second factor


@router.get("/sessions", response_model=SessionsResponse)
def sessions(site: Here, visitor: Reader) -> dict[str, Any]:
    """Your own open sessions."""
    return {
        "sessions": site.people.open_sessions(visitor.user_id, tenant=visitor.tenant, token=visitor.session),
    }


@router.delete("/sessions", response_model=EndedResponse, dependencies=[Depends(our_request)])
def end_sessions(site: Here, visitor: Reader) -> dict[str, Any]:
    """End all your sessions but the one that asks."""
    return {"ended": site.people.end_sessions(visitor.user_id, tenant=visitor.tenant, but=visitor.session)}


@router.delete("/sessions/{session_id}", response_model=EndedResponse, dependencies=[Depends(our_request)])
def end_session(site: Here, visitor: Reader, session_id: str) -> dict[str, Any]:
    """End one of your sessions."""
    return {"ended": site.people.end_sessions(visitor.user_id, tenant=visitor.tenant, only=session_id)}


@router.get("/me/second-factor", response_model=SecondFactorResponse)
def second_factor(site: Here, visitor: Reader) -> dict[str, Any]:
    """Whether your sign-in asks for a code."""
    return {"is_on": site.app.second_factors.is_on(visitor.user_id)}


@router.post("/me/second-factor", response_model=SetUpResponse, dependencies=[Depends(our_request)])
def begin_second_factor(site: Here, visitor: Reader, given: ConfirmRequest) -> SetUp:
    """Get a secret for your authenticator; it counts once you have sent a code of it."""
    return set_up_factor(site, visitor, password=given.password)


@router.post("/me/second-factor/code", response_model=RecoveryCodesResponse, dependencies=[Depends(our_request)])
def confirm_second_factor(site: Here, visitor: Reader, given: CodeRequest) -> dict[str, Any]:
    """Turn the second factor on with a first code; the recovery codes are shown only once."""
    return {"recovery_codes": turn_on_factor(site, visitor, given.code)}


@router.post("/me/second-factor/off", status_code=HTTPStatus.NO_CONTENT, dependencies=[Depends(our_request)])
def end_second_factor(site: Here, visitor: Reader, given: ConfirmRequest) -> None:
    """Turn the second factor off with your password and a last code."""
    turn_off_factor(site, visitor, password=given.password, code=given.code)


@router.put("/me/profile", response_model=ProfileResponse, dependencies=[Depends(our_request)])
def set_profile(site: Here, visitor: Governor, given: ProfileRequest) -> Profile:
    """Set the name and registration number under which the owner of the installation signs."""
    if not visitor.is_owner:
        raise ScopeRefused(OWN_PROFILE)
    return site.people.set_owner_profile(visitor.tenant, name=given.name, registration=given.registration)


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
    """Create an API key for yourself; for anybody else it is refused, whoever asks."""
    if user_id != visitor.user_id:
        raise Refused(OWN_KEYS_ONLY)
    key_id, key = make_key(site, visitor, given.name, given.days)
    return {"id": key_id, "name": given.name, "key": key}


@router.delete("/users/{user_id}/keys/{key_id}", response_model=DeletedResponse, dependencies=[Depends(our_request)])
def remove_key_of(site: Here, visitor: Governor, user_id: str, key_id: str) -> dict[str, Any]:
    """Revoke a user's API key."""
    site.people.user(user_id, tenant=visitor.tenant)
    site.people.remove_key(key_id, user_id=user_id)
    return {"deleted": [key_id]}


@router.get("/users/{user_id}/sessions", response_model=SessionsResponse)
def sessions_of(site: Here, visitor: Governor, user_id: str) -> dict[str, Any]:
    """The open sessions of a user."""
    return {"sessions": site.people.open_sessions(user_id, tenant=visitor.tenant)}


@router.delete("/users/{user_id}/sessions", response_model=EndedResponse, dependencies=[Depends(our_request)])
def end_sessions_of(site: Here, visitor: Governor, user_id: str) -> dict[str, Any]:
    """Sign a user out everywhere."""
    return {"ended": site.people.end_sessions(user_id, tenant=visitor.tenant)}


@router.delete("/users/{user_id}/second-factor", status_code=HTTPStatus.NO_CONTENT, dependencies=[Depends(our_request)])
def remove_second_factor(site: Here, visitor: Governor, user_id: str) -> None:
    """Turn off the second factor of a user who lost their authenticator; they sign in again."""
    remove_factor_of(site, visitor, user_id)


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
