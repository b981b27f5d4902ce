"""10,000 small documents queued while worker processes are killed every few seconds: none stuck, none read twice.

The next kill waits until something was read since the last one: on a slow machine a process takes a while to start.

python -m tests.faults.many [--documents 10000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from sqlalchemy import func, select

from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.schema import document_history
from citewell.types import Filing, LifecycleState, Scope, Source
from tests.faults.network import Network

OWNER = Scope.owner("local")
EVERY_S = 4.0


def fill(library: SqlLibrary, documents: int) -> None:
    """Queue the documents, as a server would."""
    for number in range(documents):
        source = Source(f"Note {number}\n\nTake {number} mg once daily.".encode(), f"{number}.txt")
        library.enqueue(source, filing=Filing(), scope=OWNER)


def run(documents: int, minutes: float) -> dict[str, float]:
    """Fill the queue, kill, wait for its end, and count."""
    chance, kills = random.Random(3), Counter[str]()
    with tempfile.TemporaryDirectory() as home, Network(Path(home)) as network:
        library = SqlLibrary(Path(home) / "library.sqlite")
        fill(library, documents)
        started = time.monotonic()
        network.start("redis", "serve", "sweep")
        done = 0
        while time.monotonic() - started < 60 * minutes:
            time.sleep(EVERY_S)
            network.revive()
            states = library.status(OWNER).states
            left = states[LifecycleState.PENDING] + states[LifecycleState.QUEUED] + states[LifecycleState.PROCESSING]
            print(
                f"{time.monotonic() - started:6.0f} s {left:6d} wait, {states[LifecycleState.COMPLETED]:6d} done",
                flush=True,
            )
            if not left:
                break
            if states[LifecycleState.COMPLETED] == done:  # those killed last are still starting
                continue
            done = states[LifecycleState.COMPLETED]
            victim = chance.choice(["child"] * 8 + ["serve", "sweep"])
            kills[victim] += 1
            if victim == "child":
                network.kill_child("serve", chance)
            else:
                network.kill(victim)
                network.start(victim)
        took_s = time.monotonic() - started
        result = counted(library, documents) | {"kills": kills.total(), "minutes": took_s / 60}
        library.close()
    return result


def counted(library: SqlLibrary, documents: int) -> dict[str, float]:
    """What became of them."""
    entries = library.entries(OWNER)
    completed = document_history.c.change == "completed"
    often = select(func.count()).where(completed).group_by(document_history.c.document_id)
    with library.engine.connect() as connection:
        times = list(connection.execute(often).scalars())
    return {
        "documents": documents,
        "completed": sum(entry.state is LifecycleState.COMPLETED for entry in entries),
        "failed": sum(entry.state is LifecycleState.FAILED for entry in entries),
        "stuck": sum(entry.state not in (LifecycleState.COMPLETED, LifecycleState.FAILED) for entry in entries),
        "lost": documents - len(entries),
        "read_twice": sum(count > 1 for count in times),
        "problems": len(library.verify().problems),
    }


def main() -> None:
    """Run, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=50)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # whatever was started ends too
    result = run(options.documents, options.minutes)
    for name, value in result.items():
        print(f"{name:>12} {value:,.1f}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
