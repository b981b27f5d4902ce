"""Processor time of the requests that cost most, and how long others wait meanwhile: `python bench/speed/attacks.py`.

Each attack is a text of repeated fragments at the length that a public entry takes, over a library of the samples. The
`worst_s` of each entry is held against `allowed_s`. Then so many attackers send the questions for a while, and the
`…_p95_ratio` is that of the searches of another person and of health, with attackers over without. `crowds` are idle
and half-sent connections on loopback, with whether health answers and what they write into the log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx
from starlette.testclient import TestClient

from citewell.api.app import create_app
from citewell.app import build
from citewell.config import Settings
from citewell.samples import sample_files
from citewell.types import Role, Source

FRAGMENTS = (
    "1 mg ",
    "10% ",
    "[1] ",
    "no ",
    "a (b ",
    "1 ",
    "\u00a0",
    ". ",
    "ab\u0430\u03b2 ",
    "warfarin and ",
    "3 years ",
)
OFTEN = 200
SHORT = 900
TOKEN = "a-token-for-the-bench"
GUIDELINE = """# Green spots: recognition and referral

## 1.1 Spots

1.1.1 Refer people by suspected cancer pathway for spot cancer if aged 40 and over with unexplained jaundice. [2020]

1.1.2 Consider an urgent ultrasound scan for spot cancer in people with persistent cough. [2020]
"""
Body = Callable[[str], dict[str, Any]]
ENTRIES: dict[str, tuple[str, int, Body]] = {
    "ask": ("/api/v1/ask", 4_000, lambda text: {"question": text}),
    "check": ("/api/v1/check", 50_000, lambda text: {"text": text}),
    "check against a text": ("/api/v1/check", 50_000, lambda text: {"text": "Give iron.", "evidence": text}),
    "assess": ("/api/v1/assess", 2_000, lambda text: {"age": 60, "sex": "female", "symptoms": [text] * 50}),
    "assess tests": ("/api/v1/assess", 1_700, lambda text: {"age": 60, "tests": [{"name": text, "text": text}] * 50}),
    "consult": ("/api/v1/consults/{id}/messages", 20_000, lambda text: {"text": text}),
}


def repeated(fragment: str, length: int) -> str:
    """A text of one fragment."""
    return (fragment * length)[:length]


def worst(home: Path) -> dict[str, Any]:
    """The processor time of the dearest request of each entry."""
    found: dict[str, Any] = {}
    with build(Settings(home=home, asks_per_minute=10**6)) as app:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        client = TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1", headers=headers)
        for name, (path, length, body) in ENTRIES.items():
            taken = []
            for fragment in ("Is iron safe? ", *FRAGMENTS):
                consult = client.post("/api/v1/consults", json={}).json()["id"] if "{id}" in path else ""
                started_s = time.process_time()
                response = client.post(path.format(id=consult), json=body(repeated(fragment, length)))
                taken.append((time.process_time() - started_s, fragment, response.status_code))
            seconds, fragment, status = max(taken[1:])  # the first loads what the others find in memory
            found[name] = {"worst_s": round(seconds, 2), "fragment": fragment, "status": status}
            print(f"{name:22} {seconds:6.2f} s  {fragment!r} {status}", flush=True)
    return found


async def searched(client: httpx.AsyncClient, key: str, count: int) -> tuple[list[float], list[float]]:
    """How long the searches of one person took, and the looks at health between them."""
    searches, looks = [], []
    for _ in range(count):
        started_s = time.perf_counter()
        response = await client.get(
            "/api/v1/search", params={"q": "warfarin before surgery"}, headers={"Authorization": f"Bearer {key}"}
        )
        assert response.status_code == 200, response.text
        searches.append(time.perf_counter() - started_s)
        started_s = time.perf_counter()
        assert (await client.get("/api/v1/health")).status_code == 200
        looks.append(time.perf_counter() - started_s)
    return searches, looks


async def attack(client: httpx.AsyncClient, key: str, number: int, answers: Counter[int]) -> None:
    """Send one expensive request after the other, whatever comes back."""
    names = list(ENTRIES)
    name, fragment = names[number % len(names)], FRAGMENTS[number % len(FRAGMENTS)]
    path, length, body = ENTRIES[name]
    # Some stay below the length from which a text is taken for long work.
    text = repeated(f"iron {fragment}", SHORT if number % 3 == 2 else length)
    headers = {"Authorization": f"Bearer {key}"}
    consult = ""
    while True:
        with suppress(httpx.HTTPError):
            if "{id}" in path and not consult:
                consult = (await client.post("/api/v1/consults", json={}, headers=headers)).json().get("id", "")
            answer = await client.post(path.format(id=consult), json=body(text), headers=headers)
            answers[answer.status_code] += 1


async def under_attack(address: str, keys: list[str], count: int) -> dict[str, Any]:
    """The p95 of another person's searches and of health, without attackers and with them."""
    limits, answers = httpx.Limits(max_connections=200), Counter[int]()
    async with httpx.AsyncClient(base_url=address, timeout=600, limits=limits) as client:
        await searched(client, keys[0], 5)
        alone = await searched(client, keys[0], count)
        attackers = [asyncio.create_task(attack(client, key, number, answers)) for number, key in enumerate(keys[1:])]
        await asyncio.sleep(2)
        attacked = await searched(client, keys[0], count)
        for task in attackers:
            task.cancel()
        await asyncio.gather(*attackers, return_exceptions=True)
    result: dict[str, Any] = {"attacks_answered": dict(sorted(answers.items()))}
    for name, before, during in zip(("search", "health"), alone, attacked, strict=True):
        p95_alone, p95 = (quantiles(values, n=20)[-1] for values in (before, during))
        result |= {
            f"{name}_alone_p95_ms": round(p95_alone * 1000, 1),
            f"{name}_attacked_p95_ms": round(p95 * 1000, 1),
            f"{name}_p95_ratio": round(p95 / p95_alone, 2),
        }
    return result


@contextmanager
def served(home: Path, *, log: Path | None = None, descriptors: int | None = None) -> Iterator[str]:
    """A server of its own, by its address; it may open so many files."""
    command = [sys.executable, "-m", "citewell.cli", "--home", str(home), "serve", "--port", "0", "--json"]
    allowed = {"CITEWELL_ADMIN_EMAIL": "0@local.example", "CITEWELL_ASKS_PER_MINUTE": "1000000"}

    with (
        nullcontext() if log is None else log.open("wb") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **allowed}
        ) as server,
    ):
        try:
            assert server.stdout is not None
            if descriptors is not None:  # long before the server looks at what it may open
                resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (descriptors, descriptors))
            said = ""
            while not said.rstrip().endswith("}"):
                said += server.stdout.readline()
            yield json.loads(said)["url"].partition("/?token=")[0]
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.wait(20)


def crowded(home: Path, *, connections: int, said: bytes = b"", descriptors: int | None = None) -> dict[str, Any]:
    """Whether health answers while so many connections are open that said this much, and what the log grew by."""
    log = home / "crowd.log"
    with served(home, log=log, descriptors=descriptors) as address:
        time.sleep(5)
        url = httpx.URL(address)
        sockets, refused, looks = list[socket.socket](), 0, list[float]()
        for number in range(connections):
            try:
                sockets.append(socket.create_connection((url.host, url.port or 80), timeout=10))
                if said:
                    sockets[-1].sendall(said)
            except OSError:
                refused += 1
            if number % (connections // 10) == connections // 10 - 1:
                started_s = time.perf_counter()
                assert httpx.get(f"{address}/api/v1/health", timeout=30).status_code == 200
                looks.append(time.perf_counter() - started_s)
        time.sleep(15)  # until the heads are late
        assert httpx.get(f"{address}/api/v1/health", timeout=30).status_code == 200
        open_after = sum(map(is_open, sockets))
        for each in sockets:
            each.close()
    return {
        "connections": connections,
        "refused": refused,
        "open_after_15_s": open_after,
        "slowest_health_ms": round(max(looks) * 1000, 1),
        "log_bytes": log.stat().st_size,
    }


def is_open(connection: socket.socket) -> bool:
    """Whether the server has not closed a connection."""
    connection.settimeout(0)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def crowds(home: Path) -> dict[str, Any]:
    """Idle connections, more of them than the server may open files, and requests that never end."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192) if hard != resource.RLIM_INFINITY else 8_192, hard))
    half = b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
    try:
        return {
            "idle": crowded(home, connections=5_000),
            "idle, 1,024 descriptors": crowded(home, connections=1_100, descriptors=1_024),
            "half-sent": crowded(home, connections=400, said=half),
        }
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def attacked(home: Path, attackers: int, count: int) -> dict[str, Any]:
    """The same on a server of its own."""
    with build(Settings(home=home)) as app:
        keys = []
        for number in range(attackers + 1):
            user = app.people.add(
                tenant="local", email=f"{number}@local.example", name="", role=Role.MEMBER, tags=[], password=None
            )
            keys.append(app.people.add_key(user.id, tenant="local", name="bench")[1])
    with served(home) as address:
        time.sleep(10)  # until what searches need is loaded
        return asyncio.run(under_attack(address, keys, count))


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attackers", type=int, default=20)
    parser.add_argument("--searches", type=int, default=OFTEN)
    parser.add_argument("--only", choices=("entries", "others", "crowds"), help="a part of it")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with build(Settings(home=home)) as app:
            assert not [outcome.error for outcome in app.add_all(sample_files()) if outcome.error]
            app.guidelines.add_source(Source(GUIDELINE.encode(), "spots.md"))
        result: dict[str, Any] = {"allowed_s": Settings(home=home).max_processor_s}
        if options.only in (None, "entries"):
            result["entries"] = worst(home)
        if options.only in (None, "crowds"):
            result["crowds"] = crowds(home)
        if options.only in (None, "others"):
            result |= {"attackers": options.attackers, **attacked(home, options.attackers, options.searches)}
    print(json.dumps(result, indent=2))
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
