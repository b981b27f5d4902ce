"""Users, keys and tags."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StrictBool

from citewell.adapters.store.sessions import Session
from citewell.adapters.store.users import ApiKey
from citewell.api.bodies.base import SEEN, Id, RequestBody, ResponseBody, SortedNames
from citewell.types import Role

EMAIL = r"^[^@\s\x00-\x1f\x7f-\x9f]{1,64}@[^@\s\x00-\x1f\x7f-\x9f]{1,190}$"
TAG = r"^[a-z0-9]([a-z0-9]|-[a-z0-9])*$"
Tag = Annotated[str, Field(min_length=1, max_length=64, pattern=TAG)]
Password = Annotated[str, Field(min_length=10, max_length=1_000)]


class NewUserRequest(RequestBody):
    """A person who may come in."""

    email: Annotated[str, Field(min_length=3, max_length=255, pattern=EMAIL)]
    name: Annotated[str, Field(max_length=255)] = ""
    role: Role = Role.MEMBER
    tags: Annotated[tuple[Tag, ...], Field(max_length=64)] = ()
    password: Password | None = None


class UserChangeRequest(RequestBody):
    """What is to change; what is left out stays."""

    role: Role | None = None
    tags: Annotated[list[Tag] | None, Field(max_length=64)] = None
    is_active: StrictBool | None = None
    password: Password | None = None
    name: Annotated[str, Field(min_length=1, max_length=255, pattern=SEEN)] | None = None
    registration: Annotated[str, Field(max_length=64)] | None = None
    """The number under which a professional body lists them; empty to remove it."""


class NewPasswordRequest(RequestBody):
    """The sender's password, and what it is to become."""

    current: Annotated[str, Field(max_length=1_000)]
    new: Password


class NewKeyRequest(RequestBody):
    """A key to be made."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    days: Annotated[int, Field(ge=1, le=3_650)] | None = None
    """How long it lasts; as long as the settings allow where none is given."""


class RotateRequest(RequestBody):
    """How long the new key lasts."""

    days: Annotated[int, Field(ge=1, le=3_650)] | None = None


class ConfirmRequest(RequestBody):
    """A fresh confirmation that it is the signed-in person who acts."""

    password: Annotated[str, Field(max_length=1_000)] = ""
    code: Annotated[str, Field(max_length=64)] = ""


class CodeRequest(RequestBody):
    """A code of the authenticator that is being set up."""

    code: Annotated[str, Field(max_length=64)]


class ProfileRequest(RequestBody):
    """Under which name and number the owner of the installation signs."""

    name: Annotated[str, Field(min_length=1, max_length=255, pattern=SEEN)] | None = None
    registration: Annotated[str, Field(max_length=64)] | None = None


class ProfileResponse(ResponseBody):
    """Under which name and number somebody signs."""

    name: str
    registration: str | None


class SecondFactorResponse(ResponseBody):
    """Whether sign-in asks for a code."""

    is_on: bool


class SetUpResponse(ResponseBody):
    """What an authenticator is given, once."""

    secret: str
    address: str


class RecoveryCodesResponse(ResponseBody):
    """Codes for a lost authenticator, each good once; they are not shown again."""

    recovery_codes: list[str]


class SessionsResponse(ResponseBody):
    """Open sessions, newest first."""

    sessions: list[Session]


class EndedResponse(ResponseBody):
    """How many sessions were ended."""

    ended: int


class TagOwnerRequest(RequestBody):
    """Who answers questions about a tag."""

    owner_id: Id | None


class MeResponse(ResponseBody):
    """Who the sender is."""

    user_id: str
    tenant: str
    name: str
    email: str | None
    role: Role
    tags: SortedNames
    may: SortedNames = Field(validation_alias="deeds")
    registration: str | None
    """The number under which they sign."""


class UserResponse(ResponseBody):
    """A user."""

    id: str
    email: str
    name: str
    role: Role
    tags: SortedNames
    is_active: bool
    registration: str | None
    has_own_password: bool
    """Whether they set their password themselves; one that an administrator set cannot confirm a signature."""


class UsersResponse(ResponseBody):
    """Users, by e-mail address."""

    users: list[UserResponse]


class KeysResponse(ResponseBody):
    """Keys, oldest first."""

    keys: list[ApiKey]


class KeyMadeResponse(ResponseBody):
    """A key that was made just now."""

    id: str
    name: str
    key: str


class TagResponse(ResponseBody):
    """A tag and its owner."""

    tag: str
    owner_id: str | None


class TagsResponse(ResponseBody):
    """The tags in use."""

    tags: list[TagResponse]
