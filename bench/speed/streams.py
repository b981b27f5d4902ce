"""A hundred people at once on one process, against one person alone: `python bench/speed/streams.py`.

Each figure is a throughput over HTTP with its ratio to one person's in the same run. Every answer is compared with the
one that the same question got alone: `lost` and `mixed` must be 0. With --data FOLDER (BEIR layout) the library is that
of `answer.py`, 10,000 passages of real sentences, and the questions are its test queries; else it is the samples.
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
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
from answer import fill, read

from citewell.app import build
from citewell.config import Settings
from citewell.samples import EXAMPLE_QUESTIONS, sample_files

PASSAGES = 10_000
QUESTIONS = 20
ALONE = 40
"""How many questions one person asks."""

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


async def measured(client: httpx.AsyncClient, call: Call, questions: list[str], people: int) -> dict[str, float]:
    """One person's throughput, that of many at once, and what the many lost or got from another's answer."""
    await call(client, questions[0])
    started = time.perf_counter()
    alone = {}
    for question in islice(cycle(questions), ALONE):
        alone[question] = await call(client, question)
    one_per_s = ALONE / (time.perf_counter() - started)
    asked = list(islice(cycle(questions), people))
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


async def all_measured(link: str, questions: list[str], people: int) -> dict[str, Any]:
    """Answers and searches of one server."""
    address, _, token = link.partition("/?token=")
    limits = httpx.Limits(max_connections=people)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=600, limits=limits) as client:
        return {
            "answers": await measured(client, ask, questions, people),
            "searches": await measured(client, search, questions, people),
        }


def prepared(home: Path, data: Path | None) -> list[str]:
    """Fill a library; the questions to ask of it."""
    with build(Settings(home=home)) as app:
        if data is None:
            for outcome in app.add_all(sample_files()):
                assert outcome.error is None
            return [question.text for question in EXAMPLE_QUESTIONS]
        pool, questions = read(data, QUESTIONS)
        fill(app, pool, PASSAGES)
        return questions


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    allowed = {"CITEWELL_ASKS_PER_MINUTE": "1000000", "CITEWELL_REQUESTS_PER_MINUTE": "1000000"}
    with tempfile.TemporaryDirectory() as home:
        questions = prepared(Path(home), options.data)
        command = [sys.executable, "-m", "citewell.cli", "--home", home, "serve", "--port", "0", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **allowed}) as server:
            try:
                assert server.stdout is not None
                told = ""
                while not told.rstrip().endswith("}"):
                    told += server.stdout.readline()
                measures = asyncio.run(all_measured(json.loads(told)["url"], questions, options.people))
            finally:
                server.terminate()
                with suppress(subprocess.TimeoutExpired):
                    server.wait(20)
    library = "samples" if options.data is None else f"{PASSAGES} passages"
    result = {"people": options.people, "library": library, "cores": os.cpu_count(), **measures}
    for name, figures in measures.items():
        print(f"{name:10}" + "".join(f"  {key} {value:>8}" for key, value in figures.items()))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
