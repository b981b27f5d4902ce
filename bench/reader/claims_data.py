"""Claims, step 1, in the project's own environment: the claims of `bench/reader/claims` beside the words they cite.

    python -m bench.reader.claims_data --data FOLDER --out FOLDER

A place is `start-end` in the text of a guideline, label or sample as the product parses it, or `first:end` in the
numbered sentences of a document of the question sets. Writes a file for each set, one JSON object a line: “claim”,
“evidence”, “label”, “kind”.
"""

from __future__ import annotations

import argparse
import gzip
import json
from functools import cache
from pathlib import Path

from bench.reader.answers_data import SAMPLES

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.ingest.parse import parse
from citewell.types import ParseLimits, Source

CLAIMS = Path(__file__).parent / "claims"
LABELS = {"s": "SUPPORT", "c": "CONTRADICT", "n": "NONE"}


class Documents:
    """The documents that claims cite, each read once."""

    def __init__(self, data: Path) -> None:
        folders = (data / "guidelines", data / "guidelines" / "nigeria-stg", SAMPLES)
        self._files = {path.stem: path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()}
        self._sets = data / "questions" / "documents.jsonl.gz"
        self.text = cache(self._text)
        self.sentences = cache(self._sentences)

    def words(self, document: str, place: str) -> str:
        """The words at a place."""
        if "/" in document:
            first, end = map(int, place.split(":"))
            return " ".join(self.sentences()[document][first:end])
        start, end = map(int, place.split("-"))
        return self.text(document)[start:end]

    def _text(self, document: str) -> str:
        path = self._files[document]
        return parse(Source(path.read_bytes(), path.name), parsers=all_parsers(), limits=ParseLimits()).text

    def _sentences(self) -> dict[str, list[str]]:
        with gzip.open(self._sets, "rt", encoding="utf-8") as lines:
            return {f"{row['set']}/{row['id']}": row["sentences"] for row in map(json.loads, lines)}


def main() -> None:
    """Write every set with its evidence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the data folder")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    documents = Documents(options.data)
    for path in sorted(CLAIMS.glob("*.tsv")):
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
        lines = [
            {"claim": claim, "evidence": documents.words(document, place), "label": LABELS[label], "kind": kind}
            for document, place, label, kind, claim in rows
        ]
        (options.out / f"{path.stem}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        print(path.stem, len(lines), "claims")


if __name__ == "__main__":
    main()
