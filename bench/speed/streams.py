"""A hundred people at once on one process, against one person alone: `python bench/speed/streams.py`.

Each figure is a throughput over HTTP with its ratio to one person's in the same run. Every answer is compared with the
one that the same question got alone: `lost` and `mixed` must be 0. Without --home the sample library is served.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from citewell.samples import EXAMPLE_QUESTIONS

QUESTIONS = [question.text for question in EXAMPLE_QUESTIONS]
ROUNDS_ALONE = 5
"""How often one person asks every question."""

Call = Callable[[httpx.AsyncClient, str], Awaitable[list[str] | None]]


async def ask(client: httpx.AsyncClient, question: str) -> list[str] | None:
    """The sentences of a streamed answer; None when it did not come to its end."""
    sentences: list[str] | None = None
    async with client.stream("POST", "/api/v1/ask/stream", json={"question": question}) as response:
        name = ""
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: ") and name == "done":
                sentences = [one["text"] for one in json.loads(line.removeprefix("data: "))["sentences"]]
    return sentences


async def search(client: httpx.AsyncClient, question: str) -> list[str] | None:
    """The passages of a search; None when it failed."""
    response = await client.get("/api/v1/search", params={"q": question})
    return [hit["source_id"] for hit in response.json()["hits"]] if response.status_code == 200 else None


async def measured(client: httpx.AsyncClient, call: Call, people: int) -> dict[str, float]:
    """One person's throughput, that of many at once, and what the many lost or got from another's answer."""
    await call(client, QUESTIONS[0])
    started = time.perf_counter()
    alone = {}
    for _ in range(ROUNDS_ALONE):
        for question in QUESTIONS:
            alone[question] = await call(client, question)
    one_per_s = ROUNDS_ALONE * len(QUESTIONS) / (time.perf_counter() - started)
    asked = [QUESTIONS[at % len(QUESTIONS)] for at in range(people)]
    started = time.perf_counter()
    found = await asyncio.gather(*(call(client, question) for question in asked))
    many_per_s = people / (time.perf_counter() - started)
    return {
        "one_per_s": round(one_per_s, 2),
        "many_per_s": round(many_per_s, 2),
        "ratio_to_one": round(many_per_s / one_per_s, 2),
        "lost": sum(answer is None for answer in found),
        "mixed": sum(
            answer is not None and answer != alone[question] for question, answer in zip(asked, found, strict=True)
        ),
    }


async def all_measured(link: str, people: int) -> dict[str, Any]:
    """Answers and searches of one server."""
    address, _, token = link.partition("/?token=")
    limits = httpx.Limits(max_connections=people)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=600, limits=limits) as client:
        return {"answers": await measured(client, ask, people), "searches": await measured(client, search, people)}


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--home", type=Path, help="a library to serve; the samples otherwise")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    allowed = {"CITEWELL_ASKS_PER_MINUTE": "1000000", "CITEWELL_REQUESTS_PER_MINUTE": "1000000"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "citewell.cli", "--home", str(options.home or folder), "serve", "--port", "0"]
        command += ["--json"] if options.home else ["--samples", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **allowed}) as server:
            try:
                assert server.stdout is not None
                told = ""
                while not told.rstrip().endswith("}"):
                    told += server.stdout.readline()
                measures = asyncio.run(all_measured(json.loads(told)["url"], options.people))
            finally:
                server.terminate()
                with suppress(subprocess.TimeoutExpired):
                    server.wait(20)
    result = {"people": options.people, "cores": os.cpu_count(), **measures}
    for name, figures in measures.items():
        print(f"{name:10}" + "".join(f"  {key} {value:>8}" for key, value in figures.items()))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
