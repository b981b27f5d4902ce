"""Measure the ranges of the embedding model's inner values on texts, and write those that the package brings.

    python scripts/calibrate_minilm.py TEXT_FILE

The file holds one text per line: a few hundred of the kinds that libraries hold, passages, sentences and questions.
All inner values are held in memory at once, about 25 kB per token.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from citewell.adapters.embedding.calibration import measure, save
from citewell.adapters.embedding.weights import model_file, read_tensors


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    lines = [line for line in parser.parse_args().texts.read_text().splitlines() if line.strip()]
    save(measure(read_tensors(model_file("model.safetensors")), lines))
    print(f"The ranges over {len(lines)} texts are written.")


if __name__ == "__main__":
    main()
