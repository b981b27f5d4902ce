"""Fits the head of the clinical reader that scores a text for danger, on what the trained reader makes of it.

    .venv/bin/python -m bench.clinical.danger --out src/citewell/clinical/reader.npz [--hold-out]

Long and short messages of people in danger, harmless ones that share their words, and pieces of ordinary notes and
dialogues, which are none. Runs on a CPU in a few minutes.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
from bench.clinical.material import read_marked

from citewell.clinical.context import ADAPTER, ClinicalReader
from citewell.clinical.windows import segments

HERE = Path(__file__).parent / "material"
ORDINARY = ("gp_notes.txt", "gp_notes_remote.txt", "dialogues.txt", "dialogues_remote.txt", "entries.txt")
PIECES = 2_200
"""Pieces of ordinary notes and dialogues that are read as harmless."""
HIDDEN, STEPS, RATE, DECAY = 96, 3_000, 2e-3, 2e-3


def lines() -> list[tuple[str, str]]:
    """Kind and text of every written message."""
    found = []
    for path in sorted(HERE.glob("emergencies*.tsv")):
        for line in path.read_text("utf-8").splitlines():
            kind, _, text = line.partition("\t")
            if text.strip():
                found.append((kind, text.strip()))
    return found


def ordinary(draw: random.Random) -> list[tuple[str, str]]:
    """Pieces of one to four sentences of notes and dialogues in which nobody is in danger, as far as is known."""
    documents = [document.text for name in ORDINARY for document in read_marked(HERE / name)]
    found = []
    while len(found) < PIECES:
        text = draw.choice(documents)
        spans = segments(text)
        first = draw.randrange(len(spans))
        last = min(len(spans), first + draw.choice((1, 2, 3, 4)))
        found.append(("none", text[spans[first][0] : spans[last - 1][1]].strip()))
    return found


def fit(
    given: np.ndarray, wanted: np.ndarray, weights: np.ndarray, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two layers by Adam, with a decay of the weights."""
    draw = np.random.default_rng(seed)
    layers = [
        draw.normal(0, given.shape[1] ** -0.5, (HIDDEN, given.shape[1])).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        draw.normal(0, HIDDEN**-0.5, (count, HIDDEN)).astype(np.float32),
        np.zeros(count, np.float32),
    ]
    first, second = [np.zeros_like(layer) for layer in layers], [np.zeros_like(layer) for layer in layers]
    for step in range(1, STEPS + 1):
        some = draw.choice(len(given), 256, p=weights)
        values, labels = given[some], wanted[some]
        inner = np.maximum(values @ layers[0].T + layers[1], 0)
        kept = (draw.random(inner.shape) > 0.3) / 0.7
        hidden = inner * kept
        scores = hidden @ layers[2].T + layers[3]
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        error = shares.copy()
        error[np.arange(len(some)), labels] -= 1
        error /= len(some)
        back = (error @ layers[2]) * kept * (inner > 0)
        changes = [back.T @ values, back.sum(0), error.T @ hidden, error.sum(0)]
        rate = RATE * min(1.0, step / 100) * max(0.02, np.cos(step / STEPS * np.pi / 2))
        for at, change in enumerate(changes):
            first[at] = 0.9 * first[at] + 0.1 * change
            second[at] = 0.999 * second[at] + 0.001 * change**2
            bias = np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            layers[at] -= rate * (bias * first[at] / (np.sqrt(second[at]) + 1e-8) + DECAY * layers[at])
    return layers[0], layers[1], layers[2], layers[3]


def main() -> None:
    """Fit the head, say how it does on what was held out, and write it into the adapter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ADAPTER)
    parser.add_argument("--hold-out", action="store_true")
    chosen = parser.parse_args()
    draw = random.Random(3)
    reader = ClinicalReader.load()
    rows = [*lines(), *ordinary(draw)]
    draw.shuffle(rows)
    kinds = sorted({kind for kind, _ in rows})
    given = np.array([reader.text_state(text) for _, text in rows], np.float32)
    mean, spread = given.mean(axis=0), given.std(axis=0) + 1e-3
    given = (given - mean) / spread
    wanted = np.array([kinds.index(kind) for kind, _ in rows])
    held = len(rows) // 5 if chosen.hold_out else 0
    counts = np.bincount(wanted[held:], minlength=len(kinds))
    chance = np.where(
        np.array([kind == "none" for kind in kinds]), 0.5 / counts, 0.5 / (len(rows) - held - counts.max())
    )
    weights = chance[wanted[held:]] / chance[wanted[held:]].sum()
    layers = fit(given[held:], wanted[held:], weights, len(kinds), 1)
    if held:
        report(rows[:held], given[:held], layers, kinds)
        return
    with np.load(chosen.out, allow_pickle=False) as file:
        kept = {name: file[name] for name in file.files if not name.startswith(("text_", "dangers"))}
    kept["text_inner.weight"] = (layers[0] / spread).astype(np.float16)
    kept["text_inner.bias"] = (layers[1] - layers[0] @ (mean / spread)).astype(np.float16)
    kept["text_head.weight"], kept["text_head.bias"] = layers[2].astype(np.float16), layers[3].astype(np.float16)
    kept["dangers"] = np.array(kinds)
    np.savez_compressed(chosen.out, **kept)


def report(rows: list[tuple[str, str]], given: np.ndarray, layers: tuple[np.ndarray, ...], kinds: list[str]) -> None:
    """Recall and false alarms, of short and of long texts."""
    scores = np.maximum(given @ layers[0].T + layers[1], 0) @ layers[2].T + layers[3]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    danger = 1 - (shares / shares.sum(axis=1, keepdims=True))[:, kinds.index("none")]
    for name, is_in in (("short", lambda text: len(text.split()) <= 12), ("long", lambda text: len(text.split()) > 12)):
        chosen = [(kind, value) for (kind, text), value in zip(rows, danger, strict=True) if is_in(text)]
        yes = [value > 0.5 for kind, value in chosen if kind != "none"]
        no = [value > 0.5 for kind, value in chosen if kind == "none"]
        print(f"{name}: found {sum(yes)} of {len(yes)}, false alarms {sum(no)} of {len(no)}")


if __name__ == "__main__":
    main()
