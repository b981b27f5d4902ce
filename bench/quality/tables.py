"""The check on tables: sentences about rows, true and false, held against a library that has the tables.

    python bench/quality/tables.py [--set first|fresh] [--json FILE] [--misses]

Prints how many true sentences are called contradicted, how many false ones supported, and how many true ones are shown
a row as their evidence.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from citewell.app import App, open_library
from citewell.types import SentenceCheck, Verdict

DATA = Path(__file__).parents[2] / "tests" / "data"


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence about a row of a table."""

    group: str
    document: str
    is_true: bool
    changed: str
    text: str


def claims() -> list[Claim]:
    """All sentences of the table."""
    lines = (DATA / "table_claims.tsv").read_text(encoding="utf-8").splitlines()
    told = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [Claim(group, document, truth == "true", changed, text) for group, document, truth, changed, text in told]


def fill(app: App) -> None:
    """The sample library, and the documents that were written for these sentences."""
    with as_file(files("citewell.samples")) as folder:
        for path in sorted(path for path in folder.iterdir() if path.suffix in (".docx", ".html", ".nxml", ".pdf")):
            app.add(path)
    for path in sorted((DATA / "tables").iterdir()):
        app.add(path)


def is_wrong(claim: Claim, check: SentenceCheck) -> bool:
    """A true sentence called contradicted, or a false one supported."""
    return check.verdict is (Verdict.CONTRADICTED if claim.is_true else Verdict.SUPPORTED)


def main() -> None:
    """Check all sentences and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", dest="group")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    counts: dict[tuple[str, bool], Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder, open_library(folder) as app:
        fill(app)
        for claim in claims():
            if options.group not in (None, claim.group):
                continue
            (_, check), *_ = app.check(claim.text)
            counts.setdefault((claim.group, claim.is_true), Counter())[check.verdict.value] += 1
            if options.misses and is_wrong(claim, check):
                print(
                    f"{check.verdict.value}: {claim.text}\n    {check.reasons}\n    {check.span and check.span.text!r}"
                )
    shown = [verdict.value for verdict in Verdict]
    print(f"{'':14}" + "".join(f"{verdict:>14}" for verdict in shown))
    for (group, is_true), found in counts.items():
        print(f"{group + (' true' if is_true else ' false'):14}" + "".join(f"{found[verdict]:14}" for verdict in shown))
    if options.json:
        told = {f"{group} {'true' if is_true else 'false'}": dict(found) for (group, is_true), found in counts.items()}
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
