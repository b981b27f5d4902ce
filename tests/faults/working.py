"""One process of a clinic network over a library whose vectors are hashes: a web server or a part of a worker."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import SecretStr

import citewell.app
from citewell.app import build
from citewell.config import Settings
from citewell.operations.workers import run_part
from tests.faults.churn import Hashes

TOKEN = "a-token-for-faults"
PROCESSES = 2


def main(part: str, home: str, broker: str, port: int) -> None:
    """Do one part until killed."""
    citewell.app.make_embedder = lambda _settings: Hashes()  # type: ignore[attr-defined,assignment]
    settings = Settings(home=Path(home), broker_url=SecretStr(broker) if broker else None)
    with build(settings) as app:
        if part == "web":
            from citewell.api.serve import bind, run  # a worker and the processes that it starts need none of it

            run(app, bind("127.0.0.1", port), token=TOKEN)
        else:
            run_part(app, part, processes=PROCESSES)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
