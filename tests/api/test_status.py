"""Health with a time limit for each part, metrics without words, and the list of models."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import insert, text
from starlette.testclient import TestClient

from citewell.adapters.store.schema import library as facts
from citewell.api.app import create_app
from citewell.api.health import Health
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import LibraryBusy
from tests.api.running import run

BEARER = {"Authorization": "Bearer a-token-for-tests"}


def test_health_tells_anyone_how_each_part_is(empty: httpx.Client) -> None:
    told = empty.get("/api/v1/health").json()
    times = [part.pop("took_ms") for part in told["parts"].values()]
    assert all(took_ms >= 0 for took_ms in times)
    assert told == {
        "status": "ok",
        "live": True,
        "ready": True,
        "parts": {name: {"state": "ok", "detail": None} for name in ("store", "embedder", "model")},
    }
    assert empty.get("/api/v1/health/ready").status_code == 200
    assert empty.get("/api/v1/health/live").json() == {"live": True}


def test_a_part_that_hangs_is_called_slow_within_its_limit_and_asked_only_once() -> None:
    asked = 0
    free = threading.Event()

    def hang() -> None:
        nonlocal asked
        asked += 1
        free.wait(30)

    def fail() -> None:
        raise LibraryBusy("Try again in a moment.")

    async def look() -> list[dict[str, str | None]]:
        health = Health({"store": hang, "embedder": fail}, limits_s={"store": 0.05, "embedder": 5.0})
        started = time.perf_counter()
        found = [{name: part.state for name, part in (await health.parts()).items()} for _ in range(3)]
        assert time.perf_counter() - started < 20
        free.set()
        return found

    assert run(look()) == [{"store": "slow", "embedder": "failed"}] * 3
    assert asked == 1


def test_a_server_whose_part_fails_lives_but_is_not_ready(empty: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> int:
        raise LibraryBusy("Try again in a moment.")

    monkeypatch.setitem(empty.app.state.health._asked, "store", busy)  # type: ignore[attr-defined]
    answer = empty.get("/api/v1/health/ready")
    assert (answer.status_code, answer.json()["ready"], answer.json()["live"]) == (503, False, True)
    assert answer.json()["parts"]["store"]["detail"] is None
    told = empty.get("/api/v1/health", headers=BEARER).json()
    assert told["parts"]["store"]["detail"] == "Try again in a moment."
    assert empty.get("/api/v1/health").status_code == 200
    assert empty.get("/api/v1/health/live").status_code == 200


def test_parts_that_questions_do_without_are_told_as_away_and_the_server_stays_ready(tmp_path: Path) -> None:
    pytest.importorskip("celery", reason="needs the workers extra")
    pytest.importorskip("qdrant_client", reason="needs the qdrant extra")
    (tmp_path / "papers").write_text("a file where a folder is expected")
    settings = Settings(
        home=tmp_path / "home",
        blobs=str(tmp_path / "papers"),
        broker_url=SecretStr("redis://127.0.0.1:1/0"),
        qdrant_url="http://127.0.0.1:1",
    )
    with build(settings) as app, TestClient(create_app(app, token="t"), base_url="http://127.0.0.1") as client:
        headers = {"Authorization": "Bearer t"}
        ready = client.get("/api/v1/health/ready", headers=headers)
        told = ready.json()
        assert (ready.status_code, told["status"], told["ready"]) == (200, "degraded", True)
        away = {name: part["detail"] for name, part in told["parts"].items() if part["state"] == "away"}
        assert set(away) == {"replica", "broker", "originals"}
        assert "citewell replica feed" in away["replica"]
        assert "correct CITEWELL_BROKER_URL" in away["broker"]
        assert "Check CITEWELL_BLOBS" in away["originals"]
        page = client.get("/admin/health", headers=headers).text
        assert "Questions are answered without it" in page
        assert "correct CITEWELL_BROKER_URL" in page


def test_a_server_is_not_ready_where_its_embedder_or_its_version_no_longer_fits(empty: httpx.Client) -> None:
    app: App = empty.app.state.site.app  # type: ignore[attr-defined]
    with app.library.engine.begin() as connection:
        connection.execute(insert(facts).values(key="embedder", value="other:8"))
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    answer = empty.get("/api/v1/health/ready", headers=BEARER)
    parts = answer.json()["parts"]
    assert answer.status_code == 503
    assert "citewell evidence reingest" in parts["embedder"]["detail"]
    assert "written by a newer version of Citewell" in parts["store"]["detail"]


def test_metrics_are_an_administrators_and_hold_counts_and_times_only(empty: httpx.Client) -> None:
    assert empty.get("/metrics").status_code == 401
    empty.get("/api/v1/documents/some-id", headers=BEARER)
    answer = empty.get("/metrics", headers=BEARER)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    line = re.compile(r"# (HELP|TYPE) citewell_\w+ .+|citewell_\w+(\{\w+=\".*\"\})? [0-9.e+]+")
    assert [one for one in answer.text.splitlines() if not line.fullmatch(one)] == []
    wanted = 'citewell_requests_total{method="GET",route="/api/v1/documents/{document_id}",status="404"} 1'
    assert wanted in answer.text.splitlines()
    assert "some-id" not in answer.text


def test_the_models_are_listed_with_who_writes_now(empty: httpx.Client) -> None:
    told = empty.get("/api/v1/models", headers=BEARER).json()
    assert (told["writer"], told["server"]) == ("extractive", "ollama")
    assert {"llama3.2", "qwen3:8b", "deepseek-r1:32b"} <= {model["name"] for model in told["models"]}
    assert told["problem"] is not None  # no Ollama runs beside the tests


def test_methods_that_a_client_made_up_are_counted_as_one(empty: httpx.Client) -> None:
    for at in range(5):
        empty.request(f"MADE{at}", "/library", headers=BEARER)
    told = empty.get("/metrics", headers=BEARER).text
    assert "MADE" not in told
    assert sum('method="other"' in line for line in told.splitlines()) == 1
