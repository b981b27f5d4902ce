"""Signing in through a real OpenID Connect provider that the test runs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from pydantic import SecretStr
from starlette.testclient import TestClient

from citewell.api.app import create_app
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Role

ANN = {"sub": "ann-1", "email": "ann@clinic.example", "email_verified": True, "name": "Ann", "groups": ["nurses"]}
BOB = {"sub": "bob-1", "email": "bob@clinic.example", "email_verified": True, "groups": ["library", "nurses", "ward-5"]}
EVE = {"sub": "eve-1", "email": "ann@clinic.example", "email_verified": False, "groups": ["nurses"]}
CAT = {"sub": "cat-1", "email": "cat@clinic.example", "email_verified": True, "groups": ["visitors"]}
DAN = {"sub": "dan-9", "email": "ann@clinic.example", "email_verified": True, "groups": ["library"]}


@contextmanager
def running(*options: str) -> Iterator[str]:
    """A provider on a free port; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    users = [word for one in (ANN, BOB, EVE, CAT, DAN) for word in ("--user-claims", json.dumps(one))]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), *users, *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            while True:
                try:
                    httpx.get(f"{address}/.well-known/openid-configuration").raise_for_status()
                    break
                except httpx.HTTPError:
                    assert process.poll() is None, "the provider did not start"
                    time.sleep(0.05)
            yield address
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    pytest.importorskip("authlib", reason="needs the oidc extra")
    with running() as address:
        yield address


@contextmanager
def site(home: Path, issuer: str) -> Iterator[tuple[App, TestClient]]:
    settings = Settings(
        home=home,
        oidc_issuer=issuer,
        oidc_label="Clinic login",
        oidc_client_secret=SecretStr("a secret"),
        oidc_role_claim="groups",
        oidc_roles={"nurses": Role.MEMBER, "library": Role.EDITOR},
    )
    with build(settings) as app:
        yield app, browser(app)


def browser(app: App) -> TestClient:
    return TestClient(create_app(app, token="a-token"), base_url="http://127.0.0.1", follow_redirects=False)


def go(client: httpx.Client, who: str, *, leads_to: str = "/library") -> str:
    """Begin here, agree at the provider; the path that the provider sends the browser back to."""
    begun = client.get("/sign-in/provider", params={"next": leads_to})
    assert begun.status_code == 303, begun.text
    there = httpx.post(begun.headers["location"], data={"sub": who})
    assert there.status_code in (302, 303), there.text
    back = urlsplit(there.headers["location"])
    return f"{back.path}?{back.query}"


def test_a_provider_signs_people_in_with_the_role_of_their_claims(tmp_path: Path, provider: str) -> None:
    with site(tmp_path, provider) as (app, client):
        assert "Sign in with Clinic login" in client.get("/sign-in").text
        assert "Sign in with Clinic login" in client.get("/library").text, "also where a page asks for it"
        done = client.get(go(client, "ann-1"))
        assert done.status_code == 200
        assert 'content="0;url=/library"' in done.text
        told = client.get("/api/v1/me").json()
        assert (told["name"], told["role"]) == ("Ann", "member")
        other = browser(app)
        other.get(go(other, "bob-1"))
        assert other.get("/api/v1/me").json()["role"] == "editor", "the highest of several"
        user = app.people.by_email("ann@clinic.example", tenant="local")
        app.people.change(user.id, tenant="local", is_active=False)
        refused = client.get(go(client, "ann-1"))
        assert refused.status_code == 401
        assert "has been disabled" in refused.text
        assert len(app.people.all(tenant="local")) == 2


def test_the_way_back_from_a_provider_never_leads_to_another_site(tmp_path: Path, provider: str) -> None:
    with site(tmp_path, provider) as (_app, client):
        for leads_to, stays in (
            ("/\t/evil.example/phish", "/%09/evil.example/phish"),
            ("/search?q=chest pain", "/search?q=chest%20pain"),
        ):
            done = client.get(go(client, "ann-1", leads_to=leads_to)).text
            assert f'content="0;url={stays}"' in done
            assert f'href="{stays}"' in done


def test_a_user_with_a_password_is_the_same_user_and_no_one_else_takes_the_address(
    tmp_path: Path, provider: str
) -> None:
    with site(tmp_path, provider) as (app, client):
        before = app.people.add(
            tenant="local", email="ann@clinic.example", name="Ann", role=Role.READER, tags=["ward-5"]
        )
        client.get(go(client, "ann-1"))
        told = client.get("/api/v1/me").json()
        assert (app.people.by_email("ann@clinic.example", tenant="local").id, told["role"]) == (before.id, "member")
        assert app.people.user(before.id, tenant="local").tags == {"ward-5"}, "tags stay as they were set here"
        for who, said in (("dan-9", "Another account"), ("eve-1", "verified"), ("cat-1", "does not have a role")):
            stranger = browser(app)
            refused = stranger.get(go(stranger, who))
            assert refused.status_code == 401
            assert said in refused.text
            assert stranger.get("/api/v1/me").status_code == 401


def _other_browser(app: App, client: TestClient) -> tuple[TestClient, str]:
    return browser(app), go(client, "ann-1")


def _other_state(app: App, client: TestClient) -> tuple[TestClient, str]:
    path = go(client, "ann-1")
    return client, path.replace(f"state={parse_qs(urlsplit(path).query)['state'][0]}", "state=guessed")


def _changed_cookie(app: App, client: TestClient) -> tuple[TestClient, str]:
    path = go(client, "ann-1")
    (name,) = [cookie.name for cookie in client.cookies.jar if cookie.name.endswith("_in")]
    client.cookies.clear()
    client.cookies.set(name, "eyJ9.0000")
    return client, path


def _code_twice(app: App, client: TestClient) -> tuple[TestClient, str]:
    path = go(client, "ann-1")
    cookies = dict(client.cookies)
    client.get(path)
    again = browser(app)
    again.cookies.update(cookies)
    return again, path


def _denied(app: App, client: TestClient) -> tuple[TestClient, str]:
    path = go(client, "ann-1")
    state = parse_qs(urlsplit(path).query)["state"][0]
    return client, f"/sign-in/provider/done?error=access_denied&state={state}"


def test_a_sign_in_counts_once_in_the_browser_that_began_it(tmp_path: Path, provider: str) -> None:
    with site(tmp_path, provider) as (app, _client):
        for trick in (_other_browser, _other_state, _changed_cookie, _code_twice, _denied):
            used, path = trick(app, browser(app))
            refused = used.get(path)
            assert refused.status_code == 401, trick.__name__
            assert "again" in refused.text


def test_an_expired_token_and_a_provider_that_is_away_get_one_sentence_each(tmp_path: Path) -> None:
    pytest.importorskip("authlib", reason="needs the oidc extra")
    with running("--token-max-age=-600") as address, site(tmp_path / "late", address) as (_app, client):
        refused = client.get(go(client, "ann-1"))
        assert refused.status_code == 401
        assert "expired" in refused.text
    with site(tmp_path / "away", address) as (_app, client):
        away = client.get("/sign-in/provider")
        assert away.status_code == 503
        assert "sign in with a password" in away.text
    with site(tmp_path / "unsafe", "http://login.example") as (_app, client):
        assert "https" in client.get("/sign-in/provider").text


def test_without_a_provider_the_page_offers_none(tmp_path: Path) -> None:
    with build(Settings(home=tmp_path)) as app:
        client = browser(app)
        assert "Sign in with" not in client.get("/sign-in").text
        assert client.get("/sign-in/provider").status_code == 404
