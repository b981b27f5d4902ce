"""Patients with free text against NICE NG12: which recommendations match, held against what a clinician expects.

    python bench/quality/assess.py --data ../shared/data --set bench/clinical/sets/dev/ng12.json [--misses]

A set is a JSON list of {"patient": {...}, "expected": ["1.1.1", ...]}. A miss without a word is a recommendation that
is expected and neither matches nor is named among what would match, while nothing of the patient is said to be unused.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import citewell
from citewell.assistants.guidelines.assess import assess, assessment_json
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.read_patient import patient_from


def measure(guideline: Guideline, cases: list[dict[str, Any]], *, show: bool) -> dict[str, Any]:
    """Precision and recall over all patients together."""
    right = extra = missed = silent = exact = 0
    for case in cases:
        shown = assessment_json(assess(patient_from(case["patient"]), [guideline]))
        expected, matched = set(case["expected"]), {rule["rule"] for rule in shown["matched"]}
        near = {rule["rule"] for rule in shown["near_misses"]}
        right += len(expected & matched)
        extra += len(matched - expected)
        missed += len(expected - matched)
        exact += expected == matched
        silent += sum(rule not in near and not shown.get("unused") for rule in expected - matched)
        if show and expected != matched:
            patient = {key: value for key, value in case["patient"].items() if key != "name"}
            print(json.dumps(patient, ensure_ascii=False))
            print(
                "   missed", sorted(expected - matched), "extra", sorted(matched - expected), "|", case.get("note", "")
            )
    return {
        "patients": len(cases),
        "precision": round(right / max(right + extra, 1), 3),
        "recall": round(right / max(right + missed, 1), 3),
        "patients_exactly_right": exact,
        "missed": missed,
        "missed_without_a_word": silent,
        "extra": extra,
    }


def main() -> None:
    """Measure one set of patients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--set", type=Path, required=True)
    parser.add_argument("--home", type=Path, help="A library that holds NG12 already.")
    parser.add_argument("--misses", action="store_true", help="Show each patient that is not exactly right.")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, citewell.open(chosen.home or Path(folder)) as app:
        entries = [entry for entry in app.entries() if "ng12" in entry.name]
        entry_id = (
            entries[0].id
            if entries
            else app.guidelines.add(chosen.data / "guidelines" / "nice-ng12-2025-05.pdf").entry.id
        )
        guideline = app.guidelines.guideline(entry_id, app.scope_of_owner())
        figures = measure(guideline, json.loads(chosen.set.read_text("utf-8")), show=chosen.misses)
    for name, value in figures.items():
        print(f"{name:24} {value}")
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
