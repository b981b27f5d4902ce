"""Measure the ranges of the pair reader's inner values on pairs of texts, and write the file that the package brings.

    python scripts/calibrate_pair_reader.py {pair,answers} PAIRS_FILE

The file holds one pair per line, two texts with a tab between: a few hundred of the kinds that are
checked. All inner values are held in memory at once, about 25 kB per token.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from citewell.adapters.embedding.quantisation_ranges import measure_tokens, save
from citewell.adapters.entailment.pair import ANSWERS, ENTAILMENT


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=(ENTAILMENT.name, ANSWERS.name))
    parser.add_argument("pairs", type=Path)
    options = parser.parse_args()
    trained = ANSWERS if options.reader == ANSWERS.name else ENTAILMENT
    lines = [line for line in options.pairs.read_text("utf-8").splitlines() if line.strip()]
    cut = [trained.tokens(*line.split("\t")) for line in lines]
    measured = measure_tokens(trained.tensors(), [ids for ids, _ in cut], [types for _, types in cut])
    save(measured, path=trained.ranges)
    print(f"The ranges over {len(lines)} pairs are written.")


if __name__ == "__main__":
    main()
