"""A guideline against the embedding of its passages, and one patient against a plain look at every rule's words.

python bench/speed/guidelines.py --data FOLDER [--json FILE]

`read_ratio` is the time to read, cut, embed and store the guideline over the time to embed the same texts alone.
`assess_first_p50_ms` is the first assessment of each patient, whose words were not read before; `assess_ratio` is one
assessment over a scan of all rules for the words of the same patient's symptoms.
All times are those of the processor, so that a busy machine does not make them longer.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import citewell
from citewell.assistants.guidelines.assess import assessment_json
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import PatientInput
from citewell.assistants.guidelines.patients_on_file import read_patients

ROUNDS = 20


def timed_ms(work: Callable[[], object]) -> float:
    """How long one call keeps the processor."""
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


def scan(guideline: Guideline, patient: PatientInput) -> list[str]:
    """The baseline: rules that hold any word of the symptoms."""
    words = {word for one in patient.complaints for word in one.text.casefold().split()}
    return [rule.id for rule in guideline.rules if words & set(rule.text.casefold().split())]


def measure(folder: Path) -> dict[str, float]:
    """Read the real guideline once, then assess its ten patients many times."""
    with tempfile.TemporaryDirectory() as home, citewell.open(Path(home)) as app:
        app.embedder.embed(["warm up"])
        added: list[str] = []
        path = folder / "guidelines" / "nice-ng12-2025-05.pdf"
        read_ms = timed_ms(lambda: added.append(app.guidelines.add(path).entry.id))
        _, document, chunks = app.show(added[0])
        texts = [one.passage for one in chunks] + [document.text[a:b] for one in chunks for a, b in one.sentences]
        bare_ms = timed_ms(lambda: app.embedder.embed(texts))
        scope = app.scope_of_owner()
        load_ms = timed_ms(lambda: app.guidelines.guideline(added[0], scope))
        guideline = app.guidelines.guideline(added[0], scope)
        patients = read_patients(folder / "patients" / "ng12-patients.json")
        app.guidelines.assess(replace(patients[0], complaints=()), scope=scope)
        assess_ms = [
            timed_ms(lambda one=one: assessment_json(app.guidelines.assess(one, scope=scope)))  # type: ignore[misc]
            for _ in range(ROUNDS)
            for one in patients
        ]
        scan_ms = [timed_ms(lambda one=one: scan(guideline, one)) for _ in range(ROUNDS) for one in patients]  # type: ignore[misc]
    return {
        "texts": len(texts),
        "read_and_index_s": read_ms / 1000,
        "bare_embedding_s": bare_ms / 1000,
        "read_ratio": read_ms / bare_ms,
        "load_ms": load_ms,
        "assess_first_p50_ms": median(assess_ms[: len(patients)]),
        "assess_p50_ms": median(assess_ms),
        "assess_worst_ms": max(assess_ms),
        "scan_p50_ms": median(scan_ms),
        "assess_ratio": median(assess_ms) / median(scan_ms),
    }


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = measure(options.data)
    for key, value in result.items():
        print(f"{key:24} {value:10.3f}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
