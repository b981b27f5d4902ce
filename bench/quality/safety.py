"""Sentences that an answer to a patient must not say, and harmless neighbours, through the filter on what goes out.

    python bench/quality/safety.py bench/quality/safety_phrases_dev.tsv [--misses] [--json FILE]

Columns: class, language, sentence; the class “harmless” is to be let through. Prints how many of each class are caught
and how many harmless sentences of each language are not let through, with a record that holds nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from citewell.assistants.records.safety_filter import SafeText, check_sentence
from citewell.assistants.records.source_sentences import Sources

HARMLESS = "harmless"


def main() -> None:
    """Read a set and print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    lines = given.table.read_text("utf-8").splitlines()
    rows = [line.split("\t")[:3] for line in lines if line and not line.startswith("#")]
    nothing = Sources.of([])
    check_sentence("Warm.", nothing)
    all_of, right = Counter[str](), Counter[str]()
    started = time.perf_counter()
    for kind, language, sentence in rows:
        is_let_through = isinstance(check_sentence(sentence, nothing), SafeText)
        name = f"{HARMLESS} {language}" if kind == HARMLESS else kind
        is_right = is_let_through == (kind == HARMLESS)
        for key in (name, "let through" if kind == HARMLESS else "caught"):
            all_of[key] += 1
            right[key] += is_right
        if given.misses and not is_right:
            print(f"{name}\t{language}\t{sentence}")
    took_ms = 1000 * (time.perf_counter() - started)
    figures = {key: f"{right[key]} of {count}" for key, count in sorted(all_of.items())}
    figures["ms a sentence"] = f"{took_ms / len(rows):.2f}"
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
