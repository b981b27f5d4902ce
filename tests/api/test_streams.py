"""Many people ask at once on one process: nothing is lost, nothing is mixed, each sees only what is theirs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Filing, Role, Scope, Source
from tests.api.conftest import serving_app
from tests.api.running import run

pytestmark = pytest.mark.slow

STREAMS = int(os.environ.get("CITEWELL_PEOPLE", "30"))
"""`make soak` has a hundred."""
TEAMS = 10
DRUGS = ("amoxicillin", "warfarin", "insulin", "digoxin", "lithium", "codeine", "heparin", "ramipril", "senna", "zinc")


def told(team: int) -> str:
    return f"The dose of {DRUGS[team]} on ward {team} is {10 + team} mg twice a day, given by the ward nurse."


@pytest.fixture
def app(samples_home: Path, tmp_path: Path) -> Any:
    shutil.copytree(samples_home, tmp_path / "home")
    with build(Settings(home=tmp_path / "home")) as app:
        for team in range(TEAMS):
            source = Source(told(team).encode(), f"ward-{team}.txt")
            app.add_source(source, filing=Filing(tags=frozenset({f"ward-{team}"})))
        yield app


def keys_of(app: App) -> list[str]:
    """A key for each of the people, as many on each ward."""
    keys = []
    for number in range(STREAMS):
        tags = [f"ward-{number % TEAMS}"]
        user = app.people.add(tenant="local", email=f"u{number}@local.example", name="", role=Role.MEMBER, tags=tags)
        keys.append(app.people.add_key(user.id, tenant="local", name="t")[1])
    return keys


async def listened(client: httpx.AsyncClient, number: int, key: str) -> list[tuple[str, dict[str, Any]]]:
    question = f"What is the dose of {DRUGS[number % TEAMS]} on ward {number % TEAMS}?"
    found, name = [], ""
    headers = {"Authorization": f"Bearer {key}"}
    async with client.stream("POST", "/api/v1/ask/stream", json={"question": question}, headers=headers) as response:
        assert response.status_code == 200
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((name, json.loads(line.removeprefix("data: "))))
    return found


def test_many_streams_lose_and_mix_nothing(app: App) -> None:
    keys = keys_of(app)

    async def all_at_once(address: str) -> list[list[tuple[str, dict[str, Any]]]]:
        limits = httpx.Limits(max_connections=STREAMS)
        async with httpx.AsyncClient(base_url=address, timeout=300, limits=limits) as client:
            return await asyncio.gather(*(listened(client, number, key) for number, key in enumerate(keys)))

    with serving_app(app) as client:
        streams = run(all_at_once(str(client.base_url)))
        metrics = client.get("/metrics").text
    titles = {entry.id: entry.name for entry in app.entries(Scope.owner("local"))}
    wards = {document_id for document_id, name in titles.items() if name.startswith("ward-")}
    conversations = set()
    for number, events in enumerate(streams):
        names = [name for name, _ in events]
        assert names[0] == "started"
        assert names[-1] == "done"
        done = events[-1][1]
        conversations.add(done["conversation_id"])
        assert told(number % TEAMS) in [one["text"] for one in done["sentences"]]
        seen = {one["document_id"] for one in [*done["citations"], *done["evidence"]]} & wards
        assert {titles[one] for one in seen} == {f"ward-{number % TEAMS}.txt"}
        shown = [data["text"] for name, data in events if name == "sentence" and data["shown"]]
        assert shown == [one["text"] for one in done["sentences"]]
    assert len(conversations) == STREAMS
    asker = app.owner()
    assert len(app.ask_service.audit.entries(asker, limit=1_000)) == STREAMS
    assert app.ask_service.audit.verify_chain("local").problems == ()
    assert "citewell_streams 0" in metrics.splitlines()


def test_a_listener_that_leaves_frees_its_place(app: App) -> None:
    with serving_app(app) as client:
        for _ in range(3):
            with client.stream("POST", "/api/v1/ask/stream", json={"question": told(1)}) as response:
                next(response.iter_lines())
        for _ in range(200):
            if "citewell_streams 0" in client.get("/metrics").text.splitlines():
                break
        else:
            pytest.fail("a stream is still open")
        assert client.post("/api/v1/ask", json={"question": told(1)}).status_code == 200
