"""SMART App Launch 2: a public client with PKCE asks a record system to let a person open one patient."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from citewell.adapters.smart.http import ELSEWHERE, RecordSystemClient, origin_of
from citewell.config import SmartServer
from citewell.errors import InputError, Unavailable

KINDS = (
    "Patient",
    "Condition",
    "AllergyIntolerance",
    "MedicationRequest",
    "MedicationStatement",
    "Medication",
    "Procedure",
    "Observation",
)
"""What Citewell asks to read; nothing is ever written."""
FHIR_ID = re.compile(r"[A-Za-z0-9.-]{1,64}")

NOT_SET_UP = (
    "This record system is not set up here, so nothing was sent to it. Ask an administrator to add it to "
    "CITEWELL_SMART_SERVERS."
)
NO_SMART = (
    "The record system does not offer SMART App Launch with PKCE (S256). Nothing was read. Ask its administrator."
)
WRONG_ISSUER = "The reply came from another record system than the one asked. Nothing was read."
USED = "The record system no longer accepts this launch. Nothing was read. Open the patient again."
NO_PATIENT = (
    "The record system did not say which patient is open. Nothing was read. Choose a patient there and open Citewell "
    "again."
)


@dataclass(frozen=True, slots=True)
class PendingLaunch:
    """A launch that has begun: where the browser goes, and what must come back with it."""

    server: str
    address: str
    back: str
    state: str
    issuer: str | None
    """How its sign-in server calls itself, where it says so."""
    token_endpoint: str
    verifier: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a person was granted: one patient, for as long as this is read. It is kept nowhere."""

    patient: str
    token: str = field(repr=False)


def known_server(servers: Mapping[str, SmartServer], given: str) -> tuple[str, SmartServer]:
    """The record system of the settings that an address names; any other is never contacted."""
    for address, server in servers.items():
        if address.rstrip("/") == given.rstrip("/"):
            return address.rstrip("/"), server
    raise InputError(NOT_SET_UP)


def begin(
    client: RecordSystemClient, address: str, server: SmartServer, *, back: str, launch: str | None
) -> PendingLaunch:
    """Ask the record system where it signs people in, and make the address to send the browser to."""
    about = client.get(f"{address}/.well-known/smart-configuration").body
    methods, said = about.get("code_challenge_methods_supported"), about.get("capabilities")
    if not isinstance(methods, list) or "S256" not in methods:
        raise Unavailable(NO_SMART)
    authorize, token = (
        _endpoint(about.get(name), address, server) for name in ("authorization_endpoint", "token_endpoint")
    )
    issuer = about.get("issuer")
    capabilities = said if isinstance(said, list) else []
    rights = "read" if "permission-v1" in capabilities and "permission-v2" not in capabilities else "rs"
    context = "launch/patient" if launch is None else "launch"
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    asked = {
        "response_type": "code",
        "client_id": server.client_id,
        "redirect_uri": back,
        "scope": " ".join([context, *(f"patient/{kind}.{rights}" for kind in KINDS)]),
        "state": state,
        "aud": address,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        **({} if launch is None else {"launch": launch}),
    }
    joined = "&" if urlsplit(authorize).query else "?"
    return PendingLaunch(
        address,
        f"{authorize}{joined}{urlencode(asked)}",
        back,
        state,
        issuer if isinstance(issuer, str) else None,
        token,
        verifier,
    )


def arrive(
    client: RecordSystemClient, pending: PendingLaunch, server: SmartServer, *, code: str, issuer: str | None
) -> Grant:
    """Exchange the code for a token and the patient that it is for."""
    if issuer is not None and pending.issuer is not None and issuer.rstrip("/") != pending.issuer.rstrip("/"):
        raise Unavailable(WRONG_ISSUER)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": pending.back,
        "client_id": server.client_id,
        "code_verifier": pending.verifier,
    }
    reply = client.post(pending.token_endpoint, form)
    if reply.status != 200:
        raise InputError(USED)
    token, kind, patient = (reply.body.get(name) for name in ("access_token", "token_type", "patient"))
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or str(kind).lower() != "bearer":
        raise InputError(USED)
    if not isinstance(patient, str) or not FHIR_ID.fullmatch(patient):
        raise InputError(NO_PATIENT)
    return Grant(patient, token)


def _endpoint(given: object, address: str, server: SmartServer) -> str:
    """An address of the sign-in server: on the host of the record system, or on the one that the settings name."""
    allowed = [address, *([server.sign_in] if server.sign_in else [])]
    if not isinstance(given, str):
        raise Unavailable(NO_SMART)
    if origin_of(given) not in map(origin_of, allowed):
        raise Unavailable(ELSEWHERE)
    return given
