"""One OpenID Connect provider: where it signs people in, and who it says they are."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import httpx

from citewell.errors import CitewellError, InputError, MissingExtra, SignInRefused, Unavailable

KNOWN_FOR_S = 3_600.0
SKEW_S = 60
"""Clocks may differ by so much."""
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""What a provider may sign with: never a shared secret, never nothing."""
_LOCAL = ("http://127.0.0.1", "http://localhost", "http://[::1]")


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in that has begun: where the browser goes, and what must come back with it."""

    address: str
    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a provider says that somebody is."""

    issuer: str
    subject: str
    email: str
    name: str
    claims: Mapping[str, Any]


class Provider:
    """Asks a provider for its addresses and keys once an hour, and checks every token that it gives."""

    def __init__(self, issuer: str, *, client_id: str, client_secret: str | None, timeout_s: float = 10.0) -> None:
        if not issuer.startswith(("https://", *_LOCAL)):
            raise InputError("CITEWELL_OIDC_ISSUER must begin with https://.")
        self._issuer = issuer.rstrip("/")
        self._client_id, self._client_secret = client_id, client_secret
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, dict[str, Any]]] = {}

    def check(self) -> None:
        """Ask the provider for all that a sign-in needs of it; whatever is missing says what to do."""
        for name in ("authorization_endpoint", "token_endpoint"):
            self._said(name)
        self._fetched(self._said("jwks_uri"))

    def leave(self, back: str) -> PendingSignIn:
        """Begin: the address to send a browser to, which then comes back to `back`."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        with self._client(back) as client:
            address, _ = client.create_authorization_url(
                self._said("authorization_endpoint"), state=state, nonce=nonce, code_verifier=verifier
            )
        return PendingSignIn(address, state, nonce, verifier)

    def arrive(self, code: str, *, back: str, nonce: str, verifier: str) -> Identity:
        """Finish: exchange the code for a token, check it, and say who it names."""
        from authlib.integrations.base_client import OAuthError

        try:
            with self._client(back) as client:
                given = client.fetch_token(self._said("token_endpoint"), code=code, code_verifier=verifier)
        except OAuthError as error:
            raise SignInRefused("The sign-in expired or was already used. Start again.") from error
        except httpx.HTTPError as error:
            raise _unreachable(error) from error
        claims = self._checked(str(given.get("id_token") or ""), nonce=nonce)
        email = str(claims.get("email") or "")
        if not email or claims.get("email_verified") is not True:
            raise SignInRefused("Your provider has not verified your email address. Ask its administrator.")
        return Identity(self._issuer, str(claims["sub"]), email.lower(), str(claims.get("name") or email), claims)

    # --------------------------------------------------------------------------------------------------- its words

    def _checked(self, token: str, *, nonce: str) -> dict[str, Any]:
        """The claims of a token that this provider signed for us, for this sign-in, and that has not expired."""
        from joserfc import jwt
        from joserfc.errors import ExpiredTokenError, JoseError
        from joserfc.jwk import KeySet
        from joserfc.jwt import JWTClaimsRegistry

        wanted = JWTClaimsRegistry(
            leeway=SKEW_S,
            iss={"essential": True, "values": [self._issuer, self._issuer + "/"]},
            sub={"essential": True},
            aud={"essential": True, "value": self._client_id},
            exp={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        for is_last in (False, True):
            try:
                keys = KeySet.import_key_set(cast("Any", self._fetched(self._said("jwks_uri"), anew=is_last)))
                found = jwt.decode(token, keys, algorithms=ALGORITHMS)
                wanted.validate(found.claims)
            except ExpiredTokenError as error:
                raise SignInRefused(
                    "Your provider's token has expired. Try again; if it keeps failing, ask your administrator to "
                    "check the clocks of both servers."
                ) from error
            except (JoseError, ValueError, TypeError) as error:
                if is_last:  # it may have changed its keys: they were fetched anew
                    raise SignInRefused("Your provider's token could not be verified. Start again.") from error
            else:
                return dict(found.claims)
        raise AssertionError("unreachable")

    def _said(self, name: str) -> str:
        """An address from what the provider says of itself."""
        about = self._fetched(f"{self._issuer}/.well-known/openid-configuration")
        if str(about.get("issuer", "")).rstrip("/") != self._issuer:
            raise Unavailable("The sign-in provider gives a different issuer name. Check CITEWELL_OIDC_ISSUER.")
        address = about.get(name)
        if not isinstance(address, str) or not address.startswith(("https://", *_LOCAL)):
            raise Unavailable(f"The sign-in provider gives no secure {name.replace('_', ' ')}.")
        return address

    def _fetched(self, address: str, *, anew: bool = False) -> dict[str, Any]:
        with self._lock:
            at, entry = self._known.get(address, (-KNOWN_FOR_S, {}))
            if not anew and time.monotonic() - at < KNOWN_FOR_S:
                return entry
        try:
            reply = httpx.get(address, timeout=self._timeout_s)
            reply.raise_for_status()
            entry = reply.json()
        except (httpx.HTTPError, ValueError) as error:
            raise _unreachable(error) from error
        if not isinstance(entry, dict):
            raise Unavailable("The sign-in provider sent an unreadable reply. Check CITEWELL_OIDC_ISSUER.")
        with self._lock:
            self._known[address] = time.monotonic(), entry
        return entry

    def _client(self, back: str) -> Any:
        try:
            from authlib.integrations.httpx_client import OAuth2Client
        except ImportError as error:
            raise MissingExtra("Single sign-on needs an extra: pip install 'citewell[oidc]'.") from error
        return OAuth2Client(
            self._client_id,
            self._client_secret,
            redirect_uri=back,
            scope="openid email profile",
            code_challenge_method="S256",
            timeout=self._timeout_s,
        )


def _unreachable(error: Exception) -> CitewellError:
    return Unavailable(
        f"The sign-in provider is not responding ({type(error).__name__}). Try again, or sign in with a password."
    )
