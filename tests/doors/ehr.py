"""A small record system: FHIR R4 and the sign-in of SMART App Launch 2, which can be told to misbehave."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

PAGE = 20
ACTIVE = {"coding": [{"code": "active"}]}


def own_patient() -> list[dict[str, Any]]:
    """A woman who coughs blood and may not have penicillin."""
    about = {"subject": {"reference": "Patient/p1"}}
    code = {"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "R04.2", "display": "Hemoptysis"}
    return [
        {
            "resourceType": "Patient",
            "id": "p1",
            "name": [{"given": ["Ada"], "family": "Byrne"}],
            "birthDate": "1955-03-02",
            "gender": "female",
        },
        {
            "resourceType": "Condition",
            "id": "c1",
            "code": {"coding": [code], "text": "Haemoptysis"},
            "clinicalStatus": ACTIVE,
            "onsetDateTime": "2026-10-01",
            **about,
        },
        {
            "resourceType": "AllergyIntolerance",
            "id": "a1",
            "code": {"text": "Penicillin"},
            "clinicalStatus": ACTIVE,
            "patient": {"reference": "Patient/p1"},
        },
        {
            "resourceType": "MedicationRequest",
            "id": "m1",
            "status": "active",
            "intent": "order",
            "medicationReference": {"reference": "Medication/md1"},
            **about,
        },
        {"resourceType": "Medication", "id": "md1", "code": {"text": "Simvastatin 20 mg tablets"}},
        {
            "resourceType": "Observation",
            "id": "o1",
            "status": "final",
            "code": {"text": "Haemoglobin"},
            "category": [{"coding": [{"code": "laboratory"}]}],
            "valueQuantity": {"value": 101, "unit": "g/L"},
            "effectiveDateTime": "2026-11-01",
            **about,
        },
    ]


def synthea(file: Path) -> list[dict[str, Any]]:
    """The resources of a bundle of Synthea, as a server names them."""
    text = file.read_text("utf-8")
    entries = json.loads(text)["entry"]
    for entry in entries:
        text = text.replace(f'"{entry["fullUrl"]}"', f'"{entry["resource"]["resourceType"]}/{entry["resource"]["id"]}"')
    return [entry["resource"] for entry in json.loads(text)["entry"]]


@dataclass
class Ehr:
    """What the record system holds, how it misbehaves, and what it was asked."""

    resources: list[dict[str, Any]] = field(default_factory=own_patient)
    patient: str | None = "p1"
    """The patient in context."""
    address: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    """What its smart-configuration says instead."""
    token_reply: dict[str, Any] = field(default_factory=dict)
    """What its token response says instead."""
    instead: dict[str, Callable[[Any], None]] = field(default_factory=dict)
    """What answers a path instead, by the first word of the path below the address."""
    asked: list[str] = field(default_factory=list)
    launches: set[str] = field(default_factory=set)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)

    def open(self) -> str:
        """The launch that a click in the record system makes."""
        self.launches.add(launch := secrets.token_urlsafe(8))
        return launch

    def agree(self, address: str) -> str:
        """Sign in and agree as a person would at an authorization address; where the browser is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.address}/authorize?")
        assert asked["response_type"] == "code"
        assert asked["client_id"] == "citewell-test"
        assert asked["aud"] == self.address
        assert asked["code_challenge_method"] == "S256"
        scopes = asked["scope"].split()
        assert "patient/Condition.rs" in scopes
        assert not any("write" in scope or scope.endswith((".c", ".u", ".d", ".cruds")) for scope in scopes)
        if "launch" in asked:
            assert "launch" in scopes
            self.launches.remove(asked["launch"])
        else:
            assert "launch/patient" in scopes
        self.codes[code := secrets.token_urlsafe(8)] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def exchange(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """A token for a code, once, with the verifier that its challenge was made of."""
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or (challenge, form["redirect_uri"], form["client_id"], form["grant_type"]) != (
            asked["code_challenge"],
            asked["redirect_uri"],
            asked["client_id"],
            "authorization_code",
        ):
            return 400, {"error": "invalid_grant"}
        self.tokens.add(token := secrets.token_urlsafe(16))
        given = {"access_token": token, "token_type": "Bearer", "expires_in": 300, "scope": asked["scope"]}
        return 200, {**given, **({} if self.patient is None else {"patient": self.patient}), **self.token_reply}

    def found(self, kind: str, query: dict[str, list[str]]) -> dict[str, Any]:
        """A page of a search."""
        wanted = query.get("category", [""])[0]
        held = [
            one
            for one in self.resources
            if one["resourceType"] == kind
            and (not wanted or wanted in json.dumps(one.get("category", "")))
            and json.dumps(one).find(f'Patient/{query["patient"][0]}"') >= 0
        ]
        at = int(query.get("page", ["0"])[0])
        entries = [{"resource": one, "search": {"mode": "match"}} for one in held[at : at + PAGE]]
        named = {str(one.get("medicationReference", {}).get("reference")) for one in held}
        if "_include" in query:
            entries += [
                {"resource": one, "search": {"mode": "include"}}
                for one in self.resources
                if f"{one['resourceType']}/{one['id']}" in named
            ]
        bundle = {"resourceType": "Bundle", "type": "searchset", "total": len(held), "entry": entries}
        if at + PAGE < len(held):
            flat = {name: values[0] for name, values in query.items()} | {"page": str(at + PAGE)}
            bundle["link"] = [{"relation": "next", "url": f"{self.address}/{kind}?{urlencode(flat)}"}]
        return bundle


class Handler(BaseHTTPRequestHandler):
    """One request."""

    ehr: Ehr

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        below = parts.path.removeprefix("/fhir/")
        word = below.split("/")[0]
        self.ehr.asked.append(self.path)
        if word in self.ehr.instead:
            self.ehr.instead[word](self)
        elif below == ".well-known/smart-configuration":
            self.send(200, smart_configuration(self.ehr) | self.ehr.about)
        elif self.headers.get("Authorization", "").removeprefix("Bearer ") not in self.ehr.tokens:
            self.send(401, {"resourceType": "OperationOutcome"})
        elif "/" in below:
            held = [one for one in self.ehr.resources if f"{one['resourceType']}/{one['id']}" == below]
            self.send(200, held[0]) if held else self.send(404, {"resourceType": "OperationOutcome"})
        else:
            self.send(200, self.ehr.found(below, parse_qs(parts.query)))

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.ehr.asked.append(self.path)
        if "token" in self.ehr.instead:
            self.ehr.instead["token"](self)
        else:
            self.send(*self.ehr.exchange({name: values[0] for name, values in parse_qs(data).items()}))

    def send(self, status: int, body: Any, kind: str = "application/json", **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


def smart_configuration(ehr: Ehr) -> dict[str, Any]:
    """What the specification shows as an example, with the addresses of this server."""
    return {
        "issuer": ehr.address,
        "jwks_uri": f"{ehr.address}/.well-known/jwks.json",
        "authorization_endpoint": f"{ehr.address}/authorize",
        "token_endpoint": f"{ehr.address}/token",
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"],
        "grant_types_supported": ["authorization_code", "client_credentials"],
        "scopes_supported": ["openid", "profile", "launch", "launch/patient", "patient/*.rs", "user/*.rs"],
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "capabilities": ["launch-ehr", "permission-patient", "permission-v2", "client-public", "context-ehr-patient"],
    }


@contextmanager
def running() -> Iterator[Ehr]:
    """A record system on a free port."""
    ehr = Ehr()
    handler = type("Handler", (Handler,), {"ehr": ehr})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        ehr.address = f"http://127.0.0.1:{server.server_address[1]}/fhir"
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield ehr
        finally:
            server.shutdown()
            thread.join()


def sends(status: int, body: Any, kind: str = "application/json", **headers: str) -> Callable[[Handler], None]:
    """An answer that is always the same."""
    return lambda handler: handler.send(status, body, kind, **headers)


def breaks_off(handler: Handler) -> None:
    """Promise more than is sent, and leave."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/fhir+json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"resourceType": "Bundle", "entry": [')
    handler.wfile.flush()
    handler.connection.close()


def drips(handler: Handler) -> None:
    """Send a byte now and then, without end."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/fhir+json")
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        return
