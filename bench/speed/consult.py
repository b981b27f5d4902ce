"""Retrieval for three diagnoses of a consult against one search, in turn: `bench/speed/consult.py --data FOLDER`.

The library is that of `answer.py`: passages made of real sentences of the corpus in the folder (BEIR layout). A consult
sends two queries for each diagnosis (its name; half way between its name, the findings and “recommended treatment”) and
one for the findings alone, 50 passages each; everything is embedded in one batch. One search is that of
`citewell search` for five passages. Names of diagnoses are embedded once in a process: a consult looks for them when
they are entered, and again for the plan. The first is told as “new”; what every consult looks for is known by then.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from answer import fill, read, timed

from citewell.adapters.embedding.vector_cache import CachedNames
from citewell.answer.retrieve import Search
from citewell.app import App, build
from citewell.assistants.consult.extract import InterviewMessage, extract
from citewell.assistants.consult.gather import WANTED, gather
from citewell.config import Settings
from citewell.types import User
from citewell.types.consult import Patient

STORY = "Fever for three days with rigors and headache, no cough, vomiting twice."
PATIENT = Patient(age_years=28, sex="female", is_pregnant=True, pregnancy_weeks=9)
CONDITIONS = (
    ("Malaria", "Influenza", "Pneumonia"),
    ("Asthma", "Heart failure", "Pulmonary embolism"),
    ("Hypertension", "Stroke", "Migraine"),
    ("Breast cancer", "Type 2 diabetes", "Anaemia"),
    ("Tuberculosis", "Bronchitis", "Lung cancer"),
    ("Dengue", "Typhoid fever", "Sepsis"),
    ("Gout", "Rheumatoid arthritis", "Cellulitis"),
    ("Pre-eclampsia", "Epilepsy", "Hypoglycaemia"),
)


def measure(app: App, rounds: int) -> dict[str, float]:
    """Medians over rounds; one search, three diagnoses that are new and the same three again take turns."""
    asker = User.owner(app.scope_of_owner())
    kept = app.consult.parts(asker).search
    findings = extract(InterviewMessage(STORY, 1)).findings

    def three(conditions: tuple[str, ...], search: Search) -> object:
        return gather(conditions, findings, PATIENT, scope=asker.scope, search=search)

    app.search(CONDITIONS[0][0], limit=5)
    three(CONDITIONS[0], kept)
    one, first, again = [], [], []
    for at in range(rounds):
        conditions = CONDITIONS[at % len(CONDITIONS)]
        asked = f"{conditions[at % 3]} treatment in pregnancy with fever"
        new = replace(kept, embedder=CachedNames(app.embedder))
        new.embedder.embed([WANTED])
        one.append(timed(lambda asked=asked: app.search(asked, scope=asker.scope, limit=5)))
        first.append(timed(lambda conditions=conditions, new=new: three(conditions, new)))
        again.append(timed(lambda conditions=conditions, new=new: three(conditions, new)))
    found: dict[str, float] = {"passages": sum(entry.chunk_count for entry in app.entries())}
    for name, times in (("one_search", one), ("three_diagnoses", again), ("three_new_diagnoses", first)):
        for place, unit in enumerate(("p50_ms", "cpu_p50_ms")):
            found[f"{name}_{unit}"] = round(float(np.median([time[place] for time in times])), 3)
    for name, told in (("three_diagnoses", "ratio"), ("three_new_diagnoses", "ratio_of_new")):
        for unit, kind in (("p50_ms", ""), ("cpu_p50_ms", "cpu_")):
            found[kind + told] = round(found[f"{name}_{unit}"] / found[f"one_search_{unit}"], 3)
    return found


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder in BEIR layout")
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    options = parser.parse_args()
    pool, _ = read(options.data, 1)
    with tempfile.TemporaryDirectory() as home, build(Settings(home=Path(home))) as app:
        fill(app, pool, options.passages)
        row = measure(app, options.rounds)
    for name, value in row.items():
        print(f"{name:28}{value:>12,.2f}")
    if options.json:
        options.json.write_text(json.dumps(row, indent=2) + "\n")


if __name__ == "__main__":
    main()
