"""Who somebody is: sessions that end on the server, keys that end and are replaced, a second factor, own profiles."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from citewell.adapters.store.engine import writing
from citewell.adapters.store.schema import api_keys, sessions
from citewell.adapters.store.second_factor import STEP_S, SqlSecondFactors, one_time_code
from citewell.api.app import create_app
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Role

TOKEN = "a-token-for-tests"
PASSWORD = "a long enough password"
OWN = "a password of my own"


@pytest.fixture
def app(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[App]:
    chosen = getattr(request, "param", {})
    with build(Settings(home=tmp_path, tenant="local", key_days=30, **chosen)) as app:
        for name, role in (("ann", Role.MEMBER), ("boss", Role.ADMIN)):
            app.people.add(
                tenant="local", email=f"{name}@clinic.example", name=name, role=role, tags=[], password=PASSWORD
            )
        yield app


Browser = Callable[..., "Signed"]


class Signed:
    """A browser with a session, which sends the token of our own forms."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def __call__(self, method: str, path: str, **given: Any) -> httpx.Response:
        found = re.search(r'name="csrf" value="(\w+)"', self.client.get("/keys").text)
        headers = {"X-CSRF-Token": found.group(1)} if found else {}
        return self.client.request(method, path, headers=headers, **given)


@pytest.fixture
def site(app: App) -> Any:
    return create_app(app, token=TOKEN)


@pytest.fixture
def browser(site: Any) -> Browser:
    def signed(name: str = "ann", password: str = PASSWORD) -> Signed:
        client = TestClient(site, base_url="http://127.0.0.1", follow_redirects=False)
        if name == "owner":
            assert client.get("/", params={"token": TOKEN}).status_code == 303
        else:
            form = {"email": f"{name}@clinic.example", "password": password}
            assert client.post("/sign-in", data=form).status_code == 303
        return Signed(client)

    return signed


def user_id(app: App, name: str = "ann") -> str:
    return app.people.by_email(f"{name}@clinic.example", tenant="local").id


@pytest.mark.parametrize("name", ["ann", "owner"])
def test_signing_out_ends_the_session_on_the_server(browser: Browser, site: Any, name: str) -> None:
    mine = browser(name)
    (cookie,) = mine.client.cookies.jar
    stolen = TestClient(site, base_url="http://127.0.0.1", cookies={cookie.name: cookie.value or ""})
    assert stolen.get("/api/v1/me").status_code == 200
    assert mine("POST", "/sign-out").status_code == 303
    assert stolen.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("name", ["ann", "owner"])
def test_sessions_are_listed_and_ended_one_by_one_or_all_but_this(browser: Browser, name: str) -> None:
    first, second, third = browser(name), browser(name), browser(name)
    listed = first("GET", "/api/v1/sessions").json()["sessions"]
    assert [one["is_this"] for one in listed].count(True) == 1
    assert {one["way"] for one in listed} == {"link" if name == "owner" else "password"}
    (mine,) = (one for one in second("GET", "/api/v1/sessions").json()["sessions"] if one["is_this"])
    assert first("DELETE", f"/api/v1/sessions/{mine['id']}").json() == {"ended": 1}
    assert second.client.get("/api/v1/me").status_code == 401
    assert first("DELETE", f"/api/v1/sessions/{mine['id']}").status_code == 404
    assert first("DELETE", "/api/v1/sessions").json() == {"ended": 1}
    assert third.client.get("/api/v1/me").status_code == 401
    assert first.client.get("/api/v1/me").status_code == 200


def test_nobody_ends_the_sessions_of_another_but_an_administrator(browser: Browser, app: App) -> None:
    ann, boss = browser("ann"), browser("boss")
    (session,) = ann("GET", "/api/v1/sessions").json()["sessions"]
    assert boss("DELETE", f"/api/v1/sessions/{session['id']}").status_code == 404
    assert ann("DELETE", f"/api/v1/users/{user_id(app, 'boss')}/sessions").status_code == 403
    assert ann("GET", f"/api/v1/users/{user_id(app, 'boss')}/sessions").status_code == 403
    assert boss("DELETE", f"/api/v1/users/{user_id(app)}/sessions").json() == {"ended": 1}
    assert ann.client.get("/api/v1/me").status_code == 401


def test_a_password_that_an_administrator_sets_revokes_keys_and_sessions(browser: Browser, app: App) -> None:
    ann, boss = browser("ann"), browser("boss")
    key = ann("POST", "/api/v1/keys", json={"name": "laptop"}).json()["key"]
    bearer = {"Authorization": f"Bearer {key}"}
    assert boss.client.get("/api/v1/me", headers=bearer).json()["name"] == "ann"
    reset = boss("PATCH", f"/api/v1/users/{user_id(app)}", json={"password": "another long password"})
    assert (reset.status_code, reset.json()["has_own_password"]) == (200, False)
    assert ann.client.get("/api/v1/me").status_code == 401
    assert boss.client.get("/api/v1/me", headers=bearer).status_code == 401
    assert app.people.keys(user_id(app), tenant="local") == []


def test_nobody_makes_a_key_for_another(browser: Browser, app: App) -> None:
    for target in ("ann", "boss"):
        asked = browser("owner")("POST", f"/api/v1/users/{user_id(app, target)}/keys", json={"name": "x"})
        assert (asked.status_code, asked.json()["kind"]) == (403, "OwnKeysOnly")
    asked = browser("boss")("POST", f"/api/v1/users/{user_id(app)}/keys", json={"name": "x"})
    assert (asked.status_code, asked.json()["kind"]) == (403, "OwnKeysOnly")
    assert app.people.keys(user_id(app), tenant="local") == []


def test_a_key_ends_and_can_be_replaced_without_a_gap(browser: Browser, app: App) -> None:
    ann = browser("ann")
    made = ann("POST", "/api/v1/keys", json={"name": "laptop", "days": 3_000}).json()
    (listed,) = ann("GET", "/api/v1/keys").json()["keys"]
    lasts = datetime.fromisoformat(listed["ends_at"]) - datetime.now(UTC)
    assert timedelta(days=29) < lasts <= timedelta(days=30), "never longer than the settings allow"
    new = ann("POST", f"/api/v1/keys/{made['id']}/rotate", json={}).json()
    assert new["name"] == "laptop"
    for key in (made["key"], new["key"]):
        assert ann.client.get("/api/v1/me", headers={"Authorization": f"Bearer {key}"}).status_code == 200
    old = next(one for one in ann("GET", "/api/v1/keys").json()["keys"] if one["id"] == made["id"])
    assert datetime.fromisoformat(old["ends_at"]) - datetime.now(UTC) <= timedelta(hours=24)
    with writing(app.library.engine, app.library.path) as connection:
        past = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=1)
        connection.execute(update(api_keys).where(api_keys.c.id == made["id"]).values(ends_at=past))
    assert ann.client.get("/api/v1/me", headers={"Authorization": f"Bearer {made['key']}"}).status_code == 401
    assert browser("boss")("POST", f"/api/v1/keys/{new['id']}/rotate", json={}).status_code == 404


# ------------------------------------------------------------------------------------------------------ second factor


@pytest.mark.parametrize(
    ("at_s", "sha1", "sha256", "sha512"),
    [
        (59, "94287082", "46119246", "90693936"),
        (1111111109, "07081804", "68084774", "25091201"),
        (1111111111, "14050471", "67062674", "99943326"),
        (1234567890, "89005924", "91819424", "93441116"),
        (2000000000, "69279037", "90698825", "38618901"),
        (20000000000, "65353130", "77737706", "47863826"),
    ],
)
def test_codes_are_those_of_rfc_6238(at_s: int, sha1: str, sha256: str, sha512: str) -> None:
    for algorithm, length, code in (("sha1", 20, sha1), ("sha256", 32, sha256), ("sha512", 64, sha512)):
        secret = (b"1234567890" * 7)[:length]
        assert one_time_code(secret, at_s // STEP_S, digits=8, algorithm=algorithm) == code


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = time.time()

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(app: App) -> Clock:
    stands = Clock()
    app.__dict__["second_factors"] = SqlSecondFactors(
        app.library.engine, app.library.path, app.second_factors._seal, stands
    )
    return stands


def code_of(secret: str, clock: Clock) -> str:
    import base64

    return one_time_code(base64.b32decode(secret), int(clock()) // STEP_S)


def turned_on(mine: Signed, clock: Clock) -> tuple[str, list[str]]:
    """A second factor that is on: its secret and its recovery codes."""
    begun = mine("POST", "/api/v1/me/second-factor", json={"password": PASSWORD}).json()
    assert re.match(r"otpauth://totp/Citewell:\w+%40clinic.example\?secret=", begun["address"])
    wrong = mine("POST", "/api/v1/me/second-factor/code", json={"code": "000000x"})
    assert wrong.status_code == 422
    told = mine("POST", "/api/v1/me/second-factor/code", json={"code": code_of(begun["secret"], clock)})
    assert told.status_code == 200, told.text
    clock.now_s += STEP_S
    return begun["secret"], told.json()["recovery_codes"]


def test_with_a_second_factor_a_password_alone_opens_nothing(
    browser: Browser, site: Any, clock: Clock, app: App
) -> None:
    mine, other = browser("ann"), browser("ann")
    assert mine("POST", "/api/v1/me/second-factor", json={"password": "guess"}).status_code == 422
    secret, recovery = turned_on(mine, clock)
    assert other.client.get("/api/v1/me").status_code == 401, "what was signed in without it ends"
    client = TestClient(site, base_url="http://127.0.0.1", follow_redirects=False)

    def begin() -> str:
        page = client.post("/sign-in", data={"email": "ann@clinic.example", "password": PASSWORD, "next": "/library"})
        assert page.status_code == 200
        assert not client.cookies
        found = re.search(r'name="ticket" value="([^"]+)"', page.text)
        assert found is not None
        return found.group(1)

    def enter(code: str, ticket: str | None = None) -> httpx.Response:
        return client.post("/sign-in/code", data={"ticket": ticket or begin(), "code": code})

    foreign = client.post("/sign-in/code", data={"ticket": "x", "code": "1"}, headers={"Origin": "http://evil.example"})
    assert (foreign.status_code, "another site" in foreign.text) == (403, True)
    assert enter("123").status_code == 401
    assert enter(code_of(secret, clock), "forged.ticket").status_code == 401
    assert not client.cookies
    right = code_of(secret, clock)
    answer = enter(right)
    assert (answer.status_code, answer.headers["location"]) == (303, "/library")
    client.cookies.clear()
    assert enter(right).status_code == 401, "a code is good once"
    assert enter(recovery[0]).status_code == 303
    client.cookies.clear()
    assert enter(recovery[0]).status_code == 401, "and so is a recovery code"
    clock.now_s += 10 * STEP_S
    assert enter(right).status_code == 401
    kept = (app.settings.home / "library.sqlite").read_bytes()
    assert secret.encode() not in kept
    assert recovery[1].encode() not in kept


def test_an_administrator_helps_who_lost_their_authenticator(browser: Browser, clock: Clock, app: App) -> None:
    mine, boss = browser("ann"), browser("boss")
    secret, _ = turned_on(mine, clock)
    assert mine("POST", "/api/v1/me/second-factor/off", json={"password": PASSWORD}).status_code == 422
    path = f"/api/v1/users/{user_id(app)}/second-factor"
    assert mine("DELETE", path).status_code == 403
    assert boss("DELETE", path).status_code == 204
    assert mine.client.get("/api/v1/me").status_code == 401
    assert boss("DELETE", path).status_code == 404
    assert browser("ann")("GET", "/api/v1/me/second-factor").json() == {"is_on": False}
    assert not app.second_factors.takes(user_id(app), code_of(secret, clock))


# ---------------------------------------------------------------------------------------------------------- profiles


def test_a_name_and_number_are_entered_by_an_administrator(browser: Browser, app: App) -> None:
    ann, boss = browser("ann"), browser("boss")
    assert ann("PUT", "/api/v1/me/profile", json={"name": "Professor Ann"}).status_code == 403
    assert boss("PUT", "/api/v1/me/profile", json={"name": "Professor Boss"}).status_code == 403
    assert ann("PATCH", f"/api/v1/users/{user_id(app)}", json={"registration": "GMC 1"}).status_code == 403
    told = boss("PATCH", f"/api/v1/users/{user_id(app)}", json={"name": "Dr Ann Hill", "registration": "GMC  7654321"})
    assert (told.json()["name"], told.json()["registration"]) == ("Dr Ann Hill", "GMC 7654321")
    assert ann("GET", "/api/v1/me").json()["registration"] == "GMC 7654321"
    assert "GMC 7654321" in ann.client.get("/keys").text


def test_a_session_from_before_sessions_had_ids_is_listed_and_ended(browser: Browser, app: App) -> None:
    ann = browser("ann")
    with writing(app.library.engine, app.library.path) as connection:
        connection.execute(update(sessions).values(id=None, way=None))
    (session,) = ann("GET", "/api/v1/sessions").json()["sessions"]
    assert session["way"] == "password"
    assert ann("DELETE", f"/api/v1/sessions/{session['id']}").json() == {"ended": 1}
    assert ann.client.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("app", [{"second_factor_roles": (Role.ADMIN,)}], indirect=True)
def test_a_role_that_must_have_a_second_factor_can_do_nothing_but_set_one_up(
    browser: Browser, app: App, clock: Clock
) -> None:
    boss, ann = browser("boss"), browser("ann")
    assert ann("POST", "/api/v1/keys", json={"name": "laptop"}).status_code == 201
    for path in ("/", "/admin", "/library", "/admin/trail"):
        asked = boss.client.get(path)
        assert (asked.status_code, asked.headers["location"]) == (303, "/keys")
    assert "Your role needs a second factor." in boss.client.get("/keys").text
    for method, path in (
        ("GET", "/api/v1/users"),
        ("POST", "/api/v1/keys"),
        ("POST", "/keys"),
        ("DELETE", f"/api/v1/users/{user_id(app)}/sessions"),
        ("POST", "/mcp"),
        ("POST", "/v1/chat/completions"),
    ):
        assert boss(method, path, json={"name": "laptop"}).status_code == 403, path
    assert app.people.keys(user_id(app, "boss"), tenant="local") == []
    turned_on(boss, clock)
    assert "Your role needs" not in boss.client.get("/keys").text
    assert boss("GET", "/api/v1/users").status_code == 200
    assert boss.client.get("/admin").status_code == 200
