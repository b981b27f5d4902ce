"""Averages the weights of two trained readers, of which one went on from the other."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np


def average(first: Path, second: Path, to: Path) -> None:
    """Write the mean of both; names of rows are those of the second."""
    with np.load(first) as one, np.load(second) as two:
        kept = {
            name: two[name]
            if two[name].dtype.kind == "U"
            else ((one[name].astype(np.float32) + two[name].astype(np.float32)) / 2).astype(np.float16)
            for name in two.files
        }
    np.savez_compressed(to, **kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    chosen = parser.parse_args()
    average(chosen.first, chosen.second, chosen.to)
