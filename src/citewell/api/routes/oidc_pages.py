"""Signing in through a provider: there, and back."""

from __future__ import annotations

import json
import logging
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from citewell.adapters.oidc.provider import Identity
from citewell.adapters.oidc.rights import role_of, values_of
from citewell.api.guard import PROVIDER, PROVIDER_DONE, SIGN_IN, own_path
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Visitor
from citewell.errors import InputError, SignInRefused
from citewell.types.hashed_ids import logged
from citewell.web.pages import page

log = logging.getLogger(__name__)
router = APIRouter()

MINUTES = 10
NO_ROLE = "Your account does not have a role that can use Citewell. Ask your administrator for one."
NO_SECOND_FACTOR = (
    "Your provider did not ask you for a second factor, which this server needs. Set one up there and sign in again."
)
BEGIN_AGAIN = "This sign-in was started in another browser or has expired. Start again."


@router.get(PROVIDER)
def begin(
    request: Request, site: Here, leads_to: Annotated[str, Query(alias="next", max_length=2_000)] = "/"
) -> Response:
    """Send the browser to the provider."""
    leaving = site.door.provider.leave(_back(request, site))
    kept = {"state": leaving.state, "nonce": leaving.nonce, "verifier": leaving.verifier, "next": own_path(leads_to)}
    response = RedirectResponse(leaving.address, status_code=HTTPStatus.SEE_OTHER)
    # Lax, not strict: the browser comes back from the provider's page.
    response.set_cookie(
        _cookie(site),
        site.keys.sealed(json.dumps(kept), lasts_s=60 * MINUTES),
        max_age=60 * MINUTES,
        httponly=True,
        samesite="lax",
        path=SIGN_IN,
        secure=site.app.settings.is_https,
    )
    return response


@router.get(PROVIDER_DONE)
def done(
    request: Request,
    site: Here,
    code: Annotated[str, Query(max_length=4_000)] = "",
    state: Annotated[str, Query(max_length=200)] = "",
    error: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Check what the provider says and open a session."""
    opened = site.keys.opened(request.cookies.get(_cookie(site)))
    kept = json.loads(opened) if opened else None
    if kept is None or not state or kept["state"] != state:
        raise SignInRefused(BEGIN_AGAIN)
    if error or not code:
        raise SignInRefused("Your sign-in provider refused access. Try again, or ask its administrator.")
    who = site.door.provider.arrive(code, back=_back(request, site), nonce=kept["nonce"], verifier=kept["verifier"])
    session = _let_in(site, who)
    leads_to = "/" if kept["next"].startswith(SIGN_IN) else kept["next"]
    # A page, not a redirect: browsers withhold strict cookies from what another site's redirects lead to.
    response = page("signed_in.html", leads_to=leads_to)
    response.delete_cookie(_cookie(site), path=SIGN_IN, httponly=True, samesite="lax")
    site.set_cookie(response, session)
    return response


def _let_in(site: ServerState, who: Identity) -> str:
    settings = site.app.settings
    role = role_of(who.claims, claim=settings.oidc_role_claim, roles=settings.oidc_roles)
    if role is None:
        site.metrics.count("sign_ins", outcome="wrong")
        raise SignInRefused(NO_ROLE)
    wanted = settings.oidc_second_factor
    if wanted and not {*values_of(who.claims, "amr"), *values_of(who.claims, "acr")} & set(wanted):
        site.metrics.count("sign_ins", outcome="wrong")
        raise SignInRefused(NO_SECOND_FACTOR)
    tags = values_of(who.claims, settings.oidc_tags_claim) if settings.oidc_tags_claim else None
    user, session = site.identities.let_in(
        tenant=site.tenant,
        issuer=who.issuer,
        subject=who.subject,
        email=who.email,
        name=who.name,
        role=role,
        tags=tags,
    )
    site.metrics.count("sign_ins", outcome="right")
    site.note(Visitor.of(user, way="session", csrf=""), "session.open", user.id)
    log.info("user %s signed in through a provider", logged(user.id))
    return session


def _cookie(site: ServerState) -> str:
    return f"{site.keys.cookie}_in"


def _back(request: Request, site: ServerState) -> str:
    """Where the provider sends the browser back to: an address of ours, which the provider has on its list."""
    base = site.app.settings.oidc_back or f"{request.url.scheme}://{request.headers['host']}"
    if not base.startswith(("https://", "http://")):
        raise InputError("CITEWELL_OIDC_BACK must be an address that begins with https://.")
    return base.rstrip("/") + PROVIDER_DONE
