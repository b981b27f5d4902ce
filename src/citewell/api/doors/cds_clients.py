"""The record systems that may ask for cards: each signs its requests, and acts as one user of this library."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any, cast

import httpx

from citewell.adapters.oidc.provider import SKEW_S
from citewell.adapters.store.users import SqlPeople, UserAccount
from citewell.config import CdsClient
from citewell.errors import MissingExtra, SignInRefused, Unavailable

ALGORITHMS = ["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
"""What a record system may sign with: never a shared secret, never nothing."""
LONGEST_S = 3_600
"""A request's token may be valid for an hour at most; the standard asks for five minutes."""
KNOWN_FOR_S = 3_600.0
TIMEOUT_S = 10.0
REFUSED = "The token of this request could not be verified: {why}. Check CITEWELL_CDS_CLIENTS and both clocks."
UNVERIFIED = "its signature does not match a key of this record system"
NO_USER = "the user of this record system is not active"
REPLAYED = "it was used before (`jti`)"
TOO_LONG = "it is valid for over an hour (`exp`)"
log = logging.getLogger(__name__)


def refused(issuer: str, why: str) -> SignInRefused:
    """The refusal of a token; the log says for which record system and why, and nothing of the token."""
    log.warning("The token of %s was refused: %s.", issuer, why)
    return SignInRefused(REFUSED.format(why=why))


class CdsClients:
    """Checks the token of a request against the keys in the settings, and says as whom it acts."""

    def __init__(self, clients: dict[str, CdsClient], people: SqlPeople, tenant: str) -> None:
        self._clients, self._people, self._tenant = clients, people, tenant
        self._lock = threading.Lock()
        self._keys: dict[str, tuple[float, dict[str, Any]]] = {}
        self._seen: dict[tuple[str, str], float] = {}
        """Tokens that were used, until they expire."""

    def user(self, token: str, *, address: str) -> UserAccount | None:
        """The user as whom a request acts; None where the token is of no system in the settings.

        `address` is where the request was sent: a token for another one is refused.
        """
        issuer = _unchecked_issuer(token)
        client = self._clients.get(issuer or "")
        if issuer is not None and client is None:
            log.warning("A token was refused: its issuer (`iss`) is not in CITEWELL_CDS_CLIENTS.")
        if issuer is None or client is None:
            return None
        claims = self._checked(token, issuer, client, address)
        self._use_once(issuer, str(claims["jti"]), float(claims["exp"]))
        account = self._people.by_email(client.user, tenant=self._tenant)
        if not account.is_active:
            raise refused(issuer, NO_USER)
        return account

    def _checked(self, token: str, issuer: str, client: CdsClient, address: str) -> dict[str, Any]:
        try:
            from joserfc import jwt
            from joserfc.errors import JoseError
            from joserfc.jwk import KeySet
            from joserfc.jwt import JWTClaimsRegistry
        except ImportError as error:
            raise MissingExtra("CDS Hooks needs an extra: pip install 'citewell[oidc]'.") from error

        wanted = JWTClaimsRegistry(
            leeway=SKEW_S,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "value": address},
            exp={"essential": True},
            iat={"essential": True},
            jti={"essential": True},
        )
        for is_last in (False, True):
            try:
                keys = KeySet.import_key_set(cast("Any", self._key_set(client, anew=is_last)))
                claims = dict(jwt.decode(token, keys, algorithms=ALGORITHMS).claims)
                wanted.validate(claims)
            except (JoseError, ValueError, TypeError) as error:
                if is_last:  # its keys may have changed: they were read anew
                    raise refused(issuer, _reason(error)) from error
            else:
                if not isinstance(claims["jti"], str):
                    raise refused(issuer, "its `jti` is not text")
                if float(claims["exp"]) > time.time() + LONGEST_S + SKEW_S:
                    raise refused(issuer, TOO_LONG)
                return claims
        raise AssertionError("unreachable")

    def _use_once(self, issuer: str, name: str, expires_at: float) -> None:
        """Refuse a token that was sent before."""
        now = time.time()
        with self._lock:
            self._seen = {key: until for key, until in self._seen.items() if until + SKEW_S > now}
            if (issuer, name) in self._seen:
                raise refused(issuer, REPLAYED)
            self._seen[issuer, name] = expires_at

    def _key_set(self, client: CdsClient, *, anew: bool) -> dict[str, Any]:
        """The keys in the file or at the address that the settings name; what a token names is never fetched."""
        with self._lock:
            at, known = self._keys.get(client.keys, (-KNOWN_FOR_S, {}))
            if not anew and time.monotonic() - at < KNOWN_FOR_S:
                return known
        try:
            if client.is_remote:
                reply = httpx.get(client.keys, timeout=TIMEOUT_S)
                reply.raise_for_status()
                known = reply.json()
            else:
                known = json.loads(client.path.read_text("utf-8"))
        except (httpx.HTTPError, OSError, ValueError) as error:
            raise Unavailable("The keys of this record system cannot be read. Check CITEWELL_CDS_CLIENTS.") from error
        if not isinstance(known, dict) or not isinstance(known.get("keys"), list):
            raise Unavailable("The keys of this record system are no key set. Check CITEWELL_CDS_CLIENTS.")
        with self._lock:
            self._keys[client.keys] = time.monotonic(), known
        return known


def _reason(error: Exception) -> str:
    """Which check of a token failed, in words that repeat nothing of it."""
    from joserfc import errors

    match error:
        case errors.ExpiredTokenError():
            return "it has expired (`exp`)"
        case errors.MissingClaimError():
            return f"it has no `{error.claim}`"
        case errors.InvalidClaimError() if error.claim == "aud":
            return "it is for another address (`aud`)"
        case errors.ClaimError():
            return f"its `{error.claim}` is not valid"
        case errors.UnsupportedAlgorithmError() | errors.ConflictAlgorithmError() | errors.MissingAlgorithmError():
            return f"its algorithm is none of {', '.join(ALGORITHMS)}"
        case _:
            return UNVERIFIED


def _unchecked_issuer(token: str) -> str | None:
    """Whom a token says that it is from; whether it is, its signature must tell."""
    try:
        from joserfc import jws

        claims = json.loads(jws.extract_compact(token.encode()).payload)
    except ImportError as error:
        raise MissingExtra("CDS Hooks needs an extra: pip install 'citewell[oidc]'.") from error
    except Exception:  # whatever is wrong with it, it is no token of ours
        return None
    issuer = claims.get("iss") if isinstance(claims, dict) else None
    return issuer if isinstance(issuer, str) else None
