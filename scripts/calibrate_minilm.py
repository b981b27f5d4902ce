"""Measure the ranges of the embedding model's inner values on texts, and write the file that the package brings.

    python scripts/calibrate_minilm.py TEXT_FILE [--published]

The file holds one text per line: a few hundred of the kinds that libraries hold, passages, sentences and questions.
All inner values are held in memory at once, about 25 kB per token.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from citewell.adapters.embedding.engine import PUBLISHED, TRAINED, OnnxRuntime, cached_graph
from citewell.adapters.embedding.minilm import MAX_TOKENS
from citewell.adapters.embedding.quantisation_ranges import REFERENCE_TEXT, measure, save
from citewell.minilm.tokenizer import WordPiece


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--published", action="store_true", help="of the model without what training changed")
    options = parser.parse_args()
    model = PUBLISHED if options.published else TRAINED
    lines = [line for line in options.texts.read_text().splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        engine = OnnxRuntime(cached_graph(Path(folder), "float", model), flavour="float")
        (vector,) = engine.run(np.array(WordPiece.load().ids([REFERENCE_TEXT], max_tokens=MAX_TOKENS)))
    save(measure(model.tensors(), lines), model.ranges, vector)
    print(f"The ranges over {len(lines)} texts are written.")


if __name__ == "__main__":
    main()
