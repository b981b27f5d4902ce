"""Two worker processes against one: how much faster the same queue is read where each has a core to itself.

python bench/speed/workers.py --data FOLDER [--documents 200] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from sqlalchemy import select

import citewell
from citewell.adapters.store.schema import document_history
from citewell.app import App
from citewell.types import Filing, LifecycleState, Source

WARM = 2
"""Documents that a worker reads before the clock starts: it loads its model with them."""


def texts(folder: Path, count: int) -> list[str]:
    """Titles and texts of a BEIR corpus, several to a document, so that reading takes a while."""
    rows = [json.loads(line) for line in (folder / "corpus.jsonl").open()]
    joined = [f"# {row['title']}\n\n{row['text']}" for row in rows]
    return ["\n\n".join(joined[at * 8 : at * 8 + 8]) for at in range(count)]


def queue(app: App, bodies: list[str]) -> None:
    """Keep documents for workers."""
    for number, body in enumerate(bodies):
        source = Source(body.encode(), f"{number}.md")
        app.library.enqueue(source, filing=Filing(title=f"Paper {number}"), scope=app.scope_of_owner())


def measure(home: Path, bodies: list[str], processes: int) -> float:
    """Documents a second with so many processes, each on its own core, from when all of them are at work."""
    shutil.rmtree(home, ignore_errors=True)
    with citewell.open(home) as app:
        queue(app, bodies)
        command = [sys.executable, "-m", "citewell.cli", "--home", str(home), "worker", "--part", "poll"]
        environment = os.environ | {"CITEWELL_EMBEDDER_THREADS": "1"}
        cores = sorted(os.sched_getaffinity(0))
        workers = [
            subprocess.Popen(["taskset", "-c", str(cores[at % len(cores)]), *command], env=environment)
            for at in range(processes)
        ]
        try:
            while app.library.status(app.scope_of_owner()).states[LifecycleState.COMPLETED] < len(bodies):
                time.sleep(0.2)
        finally:
            for worker in workers:
                worker.terminate()
                worker.wait()
        return rate(app, processes)


def rate(app: App, processes: int) -> float:
    """Documents a second after every process has read its first ones, which load its model."""
    done = select(document_history.c.by, document_history.c.at).where(document_history.c.change == "completed")
    with app.library.engine.connect() as connection:
        rows = connection.execute(done.order_by(document_history.c.at)).all()
    by_worker: dict[str, list[datetime]] = {}
    for row in rows:
        by_worker.setdefault(row.by, []).append(row.at)
    assert len(by_worker) == processes, "a process read nothing"
    begun = max(moments[WARM] for moments in by_worker.values())
    after = [row.at for row in rows if row.at > begun]
    return len(after) / (after[-1] - begun).total_seconds()


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    bodies = texts(options.data, options.documents)
    rates: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):  # turn about, so that a busy minute meets both
            for processes in (1, 2):
                rates[processes].append(measure(Path(folder) / "home", bodies, processes))
    one, two = max(rates[1]), max(rates[2])
    result = {
        "documents": len(bodies),
        "one_documents_per_s": one,
        "two_documents_per_s": two,
        "times_faster": two / one,
        "load_average": os.getloadavg()[0],
    }
    for name, value in result.items():
        print(f"{name:>20} {value:,.2f}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
