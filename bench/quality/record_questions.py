"""How well questions about a record are answered: real files, questions as patients type them, patterns of the facts.

A row names a record, the question, what a right answer must hold (patterns, any case) and what it must never hold; rows
with the same `talk` are one conversation. Both were written from the JSON and the XML of the files, not from answers.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from citewell.app import build
from citewell.config import Settings
from citewell.types import User
from citewell.vaults.ask import make_record_service
from citewell.vaults.health_record import Record

HERE = Path(__file__).parent
DENIES = re.compile(r"does not (?:mention|list|have)|has no |lists no ", re.IGNORECASE)


def judged(row: dict[str, Any], text: str) -> str:
    """Right, partly (something is missing), wrong (a “no” that is not true, or what does not belong)."""
    missing = [one for one in row["must"] if not re.search(one, text, re.IGNORECASE | re.DOTALL)]
    extra = [one for one in row.get("never", ()) if re.search(one, text, re.IGNORECASE)]
    if not missing and not extra:
        return "right"
    is_false_no = bool(missing) and bool(DENIES.search(text.partition("\n")[0]))
    return "wrong" if is_false_no or (extra and missing) else "partly"


def main() -> None:
    """Ask every question and print what was right; with --show also the answers that were not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", default=[str(HERE / "record_questions_dev.jsonl")])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--show", choices=("missed", "all"))
    given = parser.parse_args()
    counts, took = Counter[str](), list[float]()
    rows = [json.loads(line) for name in given.files for line in Path(name).read_text("utf-8").splitlines()]
    for name in dict.fromkeys(row["record"] for row in rows):
        path = next(path for path in sorted(given.data.rglob("*")) if path.is_file() and path.name.startswith(name))
        with tempfile.TemporaryDirectory() as folder, build(Settings(home=Path(folder) / "home")) as app:
            record = Record(app)
            record.import_file(path)
            service, asker = make_record_service(app, record.facts), User.owner(record.scope)
            talks: dict[str, str] = {}
            for row in (row for row in rows if row["record"] == name):
                talk, started = row.get("talk", ""), time.perf_counter()
                asked = service.answer(row["ask"], asker=asker, conversation_id=talks.get(talk))
                took.append(time.perf_counter() - started)
                if talk and asked.conversation_id:
                    talks[talk] = asked.conversation_id
                verdict = judged(row, asked.answer.text)
                counts[verdict] += 1
                if given.show == "all" or (given.show and verdict != "right"):
                    print(f"\n--- {verdict}: {name}{' / ' + talk if talk else ''}: {row['ask']}\n{asked.answer.text}")
    slowest = sorted(took)[-1 - len(took) // 20]
    print(f"\n{len(rows)} questions: {dict(counts)}; 95 % within {slowest * 1000:.0f} ms")


if __name__ == "__main__":
    main()
