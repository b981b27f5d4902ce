"""Takes each rule of the reading of clinical language away, one at a time, and counts what that mends and harms.

    .venv/bin/python -m bench.clinical.ablate --home LIBRARY [--sets bench/clinical/sets/dev] [--json FILE]

`LIBRARY` holds NICE NG12. Patients are counted by recommendation (right, missed, extra), marked words by status.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.clinical.material import read_marked
from bench.quality.assess import measure

import citewell
from citewell.clinical.assertion import read_context

NEVER = re.compile(r"(?!)")
MEANINGS = "citewell.clinical.implied_findings"
SAID, FINDING = "citewell.assistants.guidelines.record_clauses", "citewell.assistants.guidelines.evaluate_finding"
RULES: dict[str, tuple[tuple[str, str, Any], ...]] = {
    "all of them": (),
    "a normal state behind the words": ((SAID, "is_normal", lambda *_: False),),
    "a name inside other words": ((SAID, "is_misread", lambda *_: False),),
    "the reader's meaning beside a name": ((MEANINGS, "CERTAIN", 2.0),),
    "a result is no finding": ((MEANINGS, "results", lambda _: ()),),
    "counted more than once": ((SAID, "_AGAIN", NEVER),),
    "treated and no better": ((SAID, "_UNHELPED", NEVER),),
    "never before": ((SAID, "_NEVER_BEFORE", NEVER),),
    "qualities of the next clause": ((SAID, "_joined", list),),
    "pain denied": ((SAID, "pains", frozenset),),
    "lasting for weeks": ((FINDING, "_lasting", lambda _: frozenset()),),
    "the site of a cancer": ((FINDING, "_OF_SITE", NEVER),),
    "a report taken whole": ((FINDING, "_suspected", lambda *_: None),),
    "a condition that is not parsed": ((FINDING, "_meant", lambda _: frozenset()),),
}


@contextmanager
def without(changes: tuple[tuple[str, str, Any], ...]) -> Iterator[None]:
    """The code with some of its parts replaced."""
    modules = [importlib.import_module(module) for module, _, _ in changes]
    kept = [getattr(module, name) for module, (_, name, _) in zip(modules, changes, strict=True)]
    for module, (_, name, value) in zip(modules, changes, strict=True):
        setattr(module, name, value)
    importlib.import_module(MEANINGS).meant.cache_clear()
    try:
        yield
    finally:
        for module, (_, name, _), value in zip(modules, changes, kept, strict=True):
            setattr(module, name, value)


def statuses(path: Path) -> int:
    """How many marked words of a set are read with the right status."""
    right = 0
    for document in read_marked(path):
        context = read_context(document.text)
        right += sum(context.assertion(mark.start, mark.end).status == mark.status for mark in document.marks)
    return right


def main() -> None:
    """Measure every rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--sets", type=Path, default=Path("bench/clinical/sets/dev"))
    parser.add_argument("--only", nargs="*", help="The rules to take away; all of them unless given.")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    figures: dict[str, dict[str, object]] = {}
    with citewell.open(chosen.home) as app:
        entry = next(entry for entry in app.entries() if "ng12" in entry.name)
        guideline = app.guidelines.guideline(entry.id, app.scope_of_owner())
        for rule, changes in RULES.items():
            if chosen.only and rule not in (*chosen.only, "all of them"):
                continue
            with without(changes):
                found: dict[str, object] = {}
                for path in sorted(chosen.sets.glob("ng12*.json")):
                    told = measure(guideline, json.loads(path.read_text("utf-8")), show=False)
                    found[path.stem] = {name: told[name] for name in ("missed", "extra")}
                for path in sorted(chosen.sets.glob("*.txt")):
                    found[path.stem] = statuses(path)
            figures[rule] = found
            print(f"{rule:38}", *(_told(one) for one in found.values()), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _told(found: object) -> str:
    return f"-{found['missed']}/+{found['extra']}" if isinstance(found, dict) else str(found)


if __name__ == "__main__":
    main()
