"""A fresh confirmation that it is the signed-in person who acts: their password or token, and their second factor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.errors import InputError
from citewell.types.consult import Signer

FRESH = timedelta(minutes=5)
"""How long ago somebody without a password here may have signed in with their provider."""
WRONG = "Password is wrong. Nothing was changed."
WRONG_LINK = "The token is wrong. Paste the link that `citewell serve` printed, or its token. Nothing was changed."
WRONG_CODE = "The code of your authenticator is missing, wrong or already used. Nothing was changed."
SIGN_IN_AGAIN = (
    "Sign in again with your provider, then repeat this within five minutes. Nothing was changed. With an "
    "authenticator set up on the Account page, its code is enough."
)
SET_BY_ADMIN = (
    "An administrator set your password, so it cannot confirm a signature. Set your own on the Account page first. "
    "Nothing was signed."
)
NO_NAME = (
    "Your profile has no registration number, so you cannot sign. Ask an administrator to enter it. Nothing was signed."
)
NO_OWNER_NAME = (
    "Enter your name and registration number first: on the Account page, or with `citewell users profile`. Nothing "
    "was signed."
)


def confirmed(site: ServerState, visitor: Visitor, *, password: str, code: str = "") -> str:
    """How the visitor has just shown who they are; InputError where they have not."""
    account = f"{visitor.tenant}/{visitor.email or visitor.user_id}"
    site.take_try(account)
    way = _shown(site, visitor, password, code)
    site.give_back_try(account)
    return way


def _shown(site: ServerState, visitor: Visitor, password: str, code: str) -> str:
    if visitor.is_owner:
        if not site.keys.is_token(password.strip().rpartition("token=")[2]):
            raise InputError(WRONG_LINK)
        return "token"
    factors = site.app.second_factors
    has_factor = factors.is_on(visitor.user_id)
    if site.people.has_password(visitor.user_id):
        assert visitor.email is not None
        if site.people.by_password(tenant=visitor.tenant, email=visitor.email, password=password) is None:
            raise InputError(WRONG)
        if not has_factor:
            return "password"
    if has_factor:
        if not factors.takes(visitor.user_id, code):
            raise InputError(WRONG_CODE)
        return "password and code" if password else "code"
    session = None if visitor.session is None else site.people.session(visitor.session)
    if session is None or session.way != "provider" or datetime.now(UTC) - session.made_at > FRESH:
        raise InputError(SIGN_IN_AGAIN)
    return "provider"


def signs_as(site: ServerState, visitor: Visitor) -> str | None:
    """Under which name and number a visitor would sign; None where their profile does not say."""
    profile = site.people.owner_profile(visitor.tenant) if visitor.is_owner else visitor
    return f"{profile.name}, {profile.registration}" if profile is not None and profile.registration else None


def signer(site: ServerState, visitor: Visitor, *, password: str, code: str = "") -> Signer:
    """The visitor as the one who signs: under the name and number of their profile, once they have confirmed it."""
    if visitor.is_owner:
        profile = site.people.owner_profile(visitor.tenant)
        if profile is None or profile.registration is None:
            raise InputError(NO_OWNER_NAME)
        name, registration = profile.name, profile.registration
    else:
        account = site.people.user(visitor.user_id, tenant=visitor.tenant)
        if account.registration is None:
            raise InputError(NO_NAME)
        if site.people.has_password(account.id) and not account.has_own_password:
            raise InputError(SET_BY_ADMIN)
        name, registration = account.name, account.registration
    way = confirmed(site, visitor, password=password, code=code)
    return Signer(visitor.user_id, name, registration, way)
