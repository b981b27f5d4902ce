"""How much one person may ask of a server that others use too."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from citewell.api import rate_limits
from citewell.api.app import create_app
from citewell.api.rate_limits import RateLimit
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Role

TOKEN = "a-token-for-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
SENTENCE = "Take iron with water. "


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with build(Settings(home=tmp_path, tenant="local", asks_per_minute=10)) as app:
        yield app


@pytest.fixture
def client(app: App) -> httpx.Client:
    client = TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1", headers=BEARER)
    client.app.state.site.asks._clock = lambda: 0.0  # type: ignore[attr-defined]  # nothing comes back meanwhile
    return client


def check(client: httpx.Client, sentences: int, **headers: str) -> httpx.Response:
    body = {"text": SENTENCE * sentences, "evidence": "Take iron with water."}
    return client.post("/api/v1/check", json=body, headers=headers)


def key_of(app: App, *, tenant: str, name: str, role: Role = Role.MEMBER) -> dict[str, str]:
    user = app.people.add(tenant=tenant, email=f"{name}@clinic.example", name=name, role=role, tags=[], password=None)
    return {"Authorization": f"Bearer {app.people.add_key(user.id, tenant=tenant, name='script')[1]}"}


# ------------------------------------------------------------------------------------------------------------- checks


def test_a_text_counts_by_its_sentences(client: httpx.Client) -> None:
    assert check(client, 85).status_code == 200  # nine of the ten
    late = check(client, 11)
    assert (late.status_code, late.json()["kind"]) == (429, "TooManyRequests")
    assert 1 <= int(late.headers["retry-after"]) <= 6
    assert check(client, 10).status_code == 200


def test_a_text_that_counts_for_more_than_there_is_takes_all_of_it(client: httpx.Client) -> None:
    assert check(client, 300).status_code == 200
    assert check(client, 1).status_code == 429


def test_a_person_has_two_checks_under_way_and_others_are_not_held_up(
    client: httpx.Client, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = key_of(app, tenant="local", name="ben")
    begun, may_end = threading.Semaphore(0), threading.Event()
    real = App.check

    def held(self: App, text: str, **given: object) -> object:
        begun.release()
        assert may_end.wait(60)
        return real(self, text, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(App, "check", held)
    with ThreadPoolExecutor(3) as threads:
        running = [threads.submit(check, client, 1) for _ in range(2)]
        assert all(begun.acquire(timeout=60) for _ in running)
        third = check(client, 1)
        assert (third.status_code, third.headers["retry-after"]) == (429, "10")
        assert "2 of your texts are still being checked" in third.json()["detail"]
        others = threads.submit(check, client, 1, **other)
        assert begun.acquire(timeout=60)
        may_end.set()
        assert [one.result().status_code for one in (*running, others)] == [200] * 3
    assert check(client, 1).status_code == 200


# ---------------------------------------------------------------------------------------------------------- allowances


def test_a_flood_of_names_frees_nobody_and_who_has_all_again_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MANY", 10)
    now = 0.0
    tries = RateLimit(2, every_s=60, clock=lambda: now)
    assert [tries.take("victim") for _ in range(3)] == [0.0, 0.0, 30.0]
    for number in range(1_000):
        tries.take(f"made up {number}")
    assert tries.take("victim") == 30.0
    now = 120.0
    for number in range(2_000):
        tries.take(f"later {number}")
        tries.give_back(f"later {number}")
    assert len(tries._buckets) < 2_000
    assert tries.take("victim") == 0.0


def test_several_are_taken_at_once_or_none() -> None:
    allowance = RateLimit(10, every_s=60, clock=lambda: 0.0)
    assert [allowance.take("ann", uses=uses) for uses in (8, 3, 2)] == [0.0, 6.0, 0.0]


# ---------------------------------------------------------------------------------------------- who is told of servers


def test_only_who_runs_the_server_is_told_where_the_model_is(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, tenant="local", model="ollama:llama3.2", model_url="http://127.0.0.1:9")
    with build(settings) as app:
        client = TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1")
        elsewhere = key_of(app, tenant="other", name="ann", role=Role.ADMIN)
        told = {
            who: client.get("/api/v1/models", headers=head).text for who, head in (("ours", BEARER), ("no", elsewhere))
        }
        health = client.get("/api/v1/health", headers=elsewhere).json()
    assert "127.0.0.1:9" in told["ours"]
    assert "127.0.0.1:9" not in told["no"]
    assert "Tell an administrator" in told["no"]
    assert {part["detail"] for part in health["parts"].values()} == {None}


# ------------------------------------------------------------------------------------------------------------ the parts


def test_all_rooms_are_made_before_threads_need_them(client: httpx.Client, app: App) -> None:
    client.app.state.site.loaded()  # type: ignore[attr-defined]
    assert {"chat", "evidence", "consult", "_likeness", "knowledge"} <= set(vars(app))
