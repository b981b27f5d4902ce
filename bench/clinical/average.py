"""Averages the weights of two trained readers, of which one went on from the other."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

BY_MEANING = ("meanings", "commonness")
"""Weights that have a row for each meaning."""


def average(first: Path, second: Path, to: Path) -> None:
    """Write the mean of both; a meaning that only the second has keeps its row."""
    with np.load(first) as former, np.load(second) as later:
        kept = {name: later[name] for name in later.files}
        rows = {str(name): row for row, name in enumerate(former["names"])}
        shared = [row for row, name in enumerate(later["names"]) if str(name) in rows]
        same = [rows[str(later["names"][row])] for row in shared]
        for name, weights in kept.items():
            if weights.dtype.kind == "U":
                continue
            mean = weights.astype(np.float32)
            if name in BY_MEANING:
                mean[shared] = (mean[shared] + former[name][same].astype(np.float32)) / 2
            else:
                mean = (mean + former[name].astype(np.float32)) / 2
            kept[name] = mean.astype(np.float16)
    np.savez_compressed(to, **kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    chosen = parser.parse_args()
    average(chosen.first, chosen.second, chosen.to)
