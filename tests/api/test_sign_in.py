"""Signing in: sessions, keys, wrong passwords that have to wait, allowances, and bodies that are too large."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from citewell.api.app import create_app
from citewell.api.rate_limits import RateLimit
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Role
from tests.api.running import run

TOKEN = "a-token-for-tests"
PASSWORD = "a long enough password"
FORM = {"email": "ann@clinic.example", "password": PASSWORD, "tenant": "local"}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    settings = Settings(
        home=tmp_path,
        tenant="local",
        requests_per_minute=40,
        asks_per_minute=2,
        sign_ins_per_quarter=3,
        max_request_kb=16,
    )
    with build(settings) as app:
        for tenant in ("local", "other"):
            app.people.add(
                tenant=tenant, email="ann@clinic.example", name="Ann", role=Role.MEMBER, tags=[], password=PASSWORD
            )
        yield app


@pytest.fixture
def client(app: App) -> httpx.Client:
    return TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1", follow_redirects=False)


def test_a_password_opens_a_session_that_scripts_cannot_read(client: httpx.Client, app: App) -> None:
    answer = client.post("/sign-in", data={**FORM, "next": "/library"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/library")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    told = client.get("/api/v1/me").json()
    assert (told["name"], told["tenant"], told["role"]) == ("Ann", "local", "member")
    user = app.people.by_email("ann@clinic.example", tenant="local")
    app.people.change(user.id, tenant="local", is_active=False)
    assert client.get("/api/v1/me").status_code == 401


def test_over_tls_the_cookie_is_secure_and_a_proxys_name_is_ours(tmp_path: Path) -> None:
    with build(Settings(home=tmp_path, is_https=True, hosts=("clinic.example",))) as app:
        client = TestClient(create_app(app, token=TOKEN), base_url="http://clinic.example", follow_redirects=False)
        assert "Secure" in client.get(f"/?token={TOKEN}").headers["set-cookie"]
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 421


def test_another_organisation_is_signed_in_to_by_its_name(client: httpx.Client) -> None:
    client.post("/sign-in", data={**FORM, "tenant": "other"})
    assert client.get("/api/v1/me").json()["tenant"] == "other"


@pytest.mark.parametrize("named", [{}, {"tenant": ""}, {"tenant": "  "}])
def test_among_several_organisations_none_is_the_default(client: httpx.Client, named: dict[str, str]) -> None:
    answer = client.post("/sign-in", data={"email": FORM["email"], "password": PASSWORD, **named})
    assert (answer.status_code, bool(client.cookies)) == (401, False)
    assert "Enter the short name of your organisation" in answer.text
    for page in (answer, client.get("/sign-in"), client.get("/library")):
        assert re.search(r'<input id="tenant" name="tenant" [^>]*required', page.text)
        assert "local" not in re.sub(r"citewell serve", "", page.text)
        assert "other" not in page.text


@pytest.mark.parametrize("tenant", ["local", "clinic"])
def test_the_only_organisation_need_not_be_named(tmp_path: Path, tenant: str) -> None:
    with build(Settings(home=tmp_path)) as app:
        app.people.add(tenant=tenant, email=FORM["email"], name="Ann", role=Role.MEMBER, tags=[], password=PASSWORD)
        client = TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1", follow_redirects=False)
        assert 'name="tenant"' not in client.get("/sign-in").text
        assert client.post("/sign-in", data={"email": FORM["email"], "password": PASSWORD}).status_code == 303
        assert client.get("/api/v1/me").json()["tenant"] == tenant


@pytest.mark.parametrize("leads_to", ["//evil.example", "https://evil.example", "\\\\evil.example", "/\\evil.example"])
def test_signing_in_never_leads_to_another_site(client: httpx.Client, leads_to: str) -> None:
    location = client.post("/sign-in", data={**FORM, "next": leads_to}).headers["location"]
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))


def test_signing_out_ends_the_session_everywhere(client: httpx.Client) -> None:
    client.post("/sign-in", data=FORM)
    session = dict(client.cookies)
    found = re.search(r'name="csrf" value="(\w+)"', client.get("/library").text)
    assert found is not None
    assert client.post("/sign-out").status_code == 403
    assert client.post("/sign-out", data={"csrf": found.group(1)}).headers["location"] == "/sign-in"
    client.cookies.update(session)
    assert client.get("/api/v1/me").json()["kind"] == "SessionEnded"
    page = client.post("/admin/journeys", data={"name": "Knee pain"})
    assert (page.status_code, "Your session has ended, so nothing was done." in page.text) == (401, True)


def test_the_form_token_of_one_session_is_worth_nothing_in_another(client: httpx.Client) -> None:
    client.post("/sign-in", data=FORM)
    mine = re.search(r'name="csrf" value="(\w+)"', client.get("/library").text)
    client.cookies.clear()
    client.post("/sign-in", data=FORM)
    assert mine is not None
    assert client.post("/sign-out", data={"csrf": mine.group(1)}).status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"password": "wrong"},
        {"password": ""},
        {"email": "bob@clinic.example"},
        {"email": ""},
        {"tenant": "nowhere"},
        {"password": PASSWORD.upper()},
    ],
)
def test_what_is_wrong_is_not_told_apart(client: httpx.Client, wrong: dict[str, str]) -> None:
    answer = client.post("/sign-in", data={**FORM, **wrong})
    assert answer.status_code == 401
    assert "Email address or password is wrong" in answer.text
    assert not client.cookies


def test_many_wrong_passwords_have_to_wait_and_then_even_the_right_one(client: httpx.Client) -> None:
    client.app.state.site.failures._clock = lambda: 0.0  # type: ignore[attr-defined]
    tries = [client.post("/sign-in", data={**FORM, "password": "wrong"}) for _ in range(4)]
    assert [one.status_code for one in tries] == [401, 401, 401, 429]
    late = client.post("/sign-in", data=FORM)
    assert late.status_code == 429
    assert 1 <= int(late.headers["retry-after"]) <= 300
    assert client.post("/sign-in", data={**FORM, "tenant": "other"}).status_code == 303


def test_a_form_of_another_site_signs_nobody_in(client: httpx.Client) -> None:
    answer = client.post("/sign-in", data=FORM, headers={"Origin": "http://evil.example"})
    assert (answer.status_code, "another site" in answer.text) == (403, True)


def test_a_key_is_a_users_and_needs_no_form_token(client: httpx.Client, app: App) -> None:
    user = app.people.by_email("ann@clinic.example", tenant="other")
    key_id, key = app.people.add_key(user.id, tenant="other", name="script")
    bearer = {"Authorization": f"Bearer {key}"}
    assert client.get("/api/v1/me", headers=bearer).json()["tenant"] == "other"
    assert client.post("/api/v1/keys", json={"name": "two"}, headers=bearer).status_code == 201
    for wrong in (key[:-1], key + "x", "cw_", "cw_x", key.upper()):
        assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {wrong}"}).status_code == 401
    app.people.remove_key(key_id, user_id=user.id)
    assert client.get("/api/v1/me", headers=bearer).status_code == 401


def test_a_new_password_ends_all_sessions_and_needs_the_old_one(client: httpx.Client) -> None:
    client.post("/sign-in", data=FORM)
    found = re.search(r'name="csrf" value="(\w+)"', client.get("/library").text)
    assert found is not None
    csrf = {"X-CSRF-Token": found.group(1)}
    wrong = client.post("/api/v1/me/password", json={"current": "wrong", "new": "x" * 12}, headers=csrf)
    assert (wrong.status_code, wrong.json()["kind"]) == (422, "InputError")
    right = client.post("/api/v1/me/password", json={"current": PASSWORD, "new": "x" * 12}, headers=csrf)
    assert right.status_code == 204
    assert client.get("/api/v1/me").status_code == 401
    assert client.post("/sign-in", data=FORM).status_code == 401
    assert client.post("/sign-in", data={**FORM, "password": "x" * 12}).status_code == 303


def test_a_wrong_key_is_not_saved_by_a_right_cookie(client: httpx.Client) -> None:
    client.post("/sign-in", data=FORM)
    assert client.get("/api/v1/me", headers={"Authorization": "Bearer cw_wrong"}).status_code == 401


def test_who_asks_too_often_is_told_how_long_to_wait(client: httpx.Client, app: App) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    site = client.app.state.site  # type: ignore[attr-defined]
    for allowance in (site.asks, site.requests):
        allowance._clock = lambda: 0.0  # however slow the machine is, nothing comes back meanwhile
    checks = [client.post("/api/v1/check", json={"text": "a", "evidence": "a"}, headers=bearer) for _ in range(3)]
    assert [one.status_code for one in checks] == [200, 200, 429]
    assert checks[-1].headers["content-type"] == "application/problem+json"
    assert checks[-1].json()["kind"] == "TooManyRequests"
    assert 1 <= int(checks[-1].headers["retry-after"]) <= 30
    statuses = [client.get("/api/v1/me", headers=bearer).status_code for _ in range(45)]
    assert statuses == [200] * 37 + [429] * 8
    user = app.people.by_email("ann@clinic.example", tenant="local")
    _, key = app.people.add_key(user.id, tenant="local", name="script")
    assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_a_body_that_is_too_large_is_refused_however_it_comes(client: httpx.Client) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    def pieces() -> Iterator[bytes]:
        yield b'{"text": "'
        for _ in range(40):
            yield b"x" * 1024
        yield b'"}'

    for body in (b'{"text": "' + b"x" * 40_000 + b'"}', pieces()):
        answer = client.post("/api/v1/check", content=body, headers=bearer)
        assert (answer.status_code, answer.json()["kind"]) == (413, "TooLarge")
    assert client.post("/sign-in", data={**FORM, "next": "x" * 40_000}).status_code == 413


def test_an_allowance_fills_up_again_and_forgets_who_was_seen_long_ago() -> None:
    now_s = 0.0
    allowance = RateLimit(60, every_s=60.0, clock=lambda: now_s)
    assert [allowance.take("ann") for _ in range(60)] == [0.0] * 60
    assert allowance.take("ann") == 1.0
    assert allowance.take("bob") == 0.0
    now_s = 30.0
    assert sum(allowance.take("ann") == 0.0 for _ in range(60)) == 30


def test_wrong_passwords_that_come_at_the_same_moment_count_each(app: App) -> None:
    site = create_app(app, token=TOKEN)
    looked = []
    by_password = app.people.by_password

    def slow(**given: str) -> object:
        looked.append(given["email"])
        time.sleep(0.2)
        return by_password(**given)

    app.people.by_password = slow  # type: ignore[method-assign, assignment]

    async def all_at_once() -> list[int]:
        transport = httpx.ASGITransport(site, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            tries = (client.post("/sign-in", data={**FORM, "password": f"wrong {at}"}) for at in range(12))
            return [answer.status_code for answer in await asyncio.gather(*tries)]

    statuses = run(all_at_once())
    assert sorted(statuses) == [401] * 3 + [429] * 9
    assert len(looked) == 3


def test_right_passwords_use_up_nothing(client: httpx.Client) -> None:
    for _ in range(8):
        assert client.post("/sign-in", data=FORM).status_code == 303
