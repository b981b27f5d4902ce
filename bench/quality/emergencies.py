"""How many emergencies are found, and how many alarms are false: by the detector, and by the red flags of a consult.

    python bench/quality/emergencies.py FILE.tsv ... [--json] [--misses]
    python bench/quality/emergencies.py --fit FILE.tsv ...   # learns the weights of the meanings anew

A file has a kind, “none”, “yes” or “no” and a text in each row; columns between them are not read.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from citewell.assistants.consult.messages import hear
from citewell.assistants.consult.red_flags import flags_of
from citewell.assistants.consult.replay_events import fold
from citewell.clinical.emergencies import EmergencyReading, find_emergencies
from citewell.clinical.tables import FOLDER
from citewell.ports.consult import ConsultEvent

HARMLESS = ("none", "no")
WHEN = "2026-01-01T00:00:00+00:00"
HEADER = """# How much each meaning of the other tables says of an emergency. Columns: meaning, weight (log odds).
# Learned from {count} written texts (bench/quality/emergencies.py --fit), not edited by hand. Names in brackets are
# facts about the whole text.
"""


def read(path: Path) -> list[tuple[bool, str]]:
    """Whether each text is an emergency, and the text."""
    cells = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line.strip() and line[0] != "#"]
    wanted = [next((cell for cell in row[:-1] if cell in ("yes", *HARMLESS)), row[0]) for row in cells]
    named = ("expected", "id", "kind", "label")
    return [(what not in HARMLESS, row[-1]) for what, row in zip(wanted, cells, strict=True) if row[0] not in named]


def flags(text: str) -> bool:
    """Whether a consult raises a red flag at a message."""
    started = ConsultEvent("started", WHEN, "bench", {"id": "bench", "setting": None, "country": None})
    change = hear(fold([started]), text)
    heard = [ConsultEvent(kind, WHEN, "bench", body) for kind, body in change.events]
    return bool(flags_of(fold([started, *heard])))


def measured(path: Path) -> dict[str, object]:
    """Both doors, over one file."""
    texts = read(path)
    began = time.perf_counter()
    found = [(is_one, find_emergencies(text) is not None, text) for is_one, text in texts]
    took = (time.perf_counter() - began) * 1000 / max(1, len(texts))
    flagged = [(is_one, flags(text)) for is_one, text in texts]
    return {
        "file": path.name,
        "emergencies": sum(is_one for is_one, _ in texts),
        "harmless": sum(not is_one for is_one, _ in texts),
        "found": sum(is_one and hit for is_one, hit, _ in found),
        "false_alarms": sum(hit and not is_one for is_one, hit, _ in found),
        "red_flags": sum(is_one and hit for is_one, hit in flagged),
        "false_red_flags": sum(hit and not is_one for is_one, hit in flagged),
        "ms_each": round(took, 2),
        "missed": [text for is_one, hit, text in found if is_one and not hit],
        "alarms": [text for is_one, hit, text in found if hit and not is_one],
    }


def fit(paths: list[Path], *, penalty: float = 5e-4, steps: int = 1_200) -> None:
    """Learn the weights by logistic regression and write their table."""
    texts = [one for path in paths for one in read(path)]
    rows = [EmergencyReading.of(text).features() for _, text in texts]
    names = sorted({name for row in rows for name in row})
    values = np.array([[row.get(name, 0.0) for name in names] + [1.0] for row in rows])
    wanted = np.array([float(is_one) for is_one, _ in texts])
    weights = np.zeros(values.shape[1])
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        error = 1 / (1 + np.exp(-values @ weights)) - wanted
        slope = values.T @ error / len(wanted) + penalty * np.append(weights[:-1], 0.0)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        weights -= 0.05 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    lines = [f"{name}\t{weight:.2f}" for name, weight in zip([*names, "(always)"], weights, strict=True)]
    (FOLDER / "emergency_weights.tsv").write_text(HEADER.format(count=len(texts)) + "\n".join(lines) + "\n", "utf-8")


def main() -> None:
    """Measure, or learn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", action="store_true", help="show what was missed and what was a false alarm")
    parser.add_argument("--fit", action="store_true", help="learn the weights from these files")
    options = parser.parse_args()
    if options.fit:
        fit(options.files)
        return
    for path in options.files:
        one = measured(path)
        if options.json:
            print(json.dumps(one, ensure_ascii=False))
            continue
        print(
            "{file}: found {found} of {emergencies}, false alarms {false_alarms} of {harmless}; red flags {red_flags}, "
            "false {false_red_flags}; {ms_each} ms each".format(**one)
        )
        if options.misses:
            for name in ("missed", "alarms"):
                print("\n".join(f"  {name}: {text}" for text in one[name]))  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
