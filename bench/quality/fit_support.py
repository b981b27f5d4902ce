"""Fits what the pair reader's word is worth, on claims that it has not learned from, and writes it into the table.

    python bench/quality/fit_support.py --data FOLDER --claims dev.jsonl [--write]

CLAIMS is the development set of `bench.reader.claims_data`. Beside it stand the hundred paraphrases of the tests, as
they are and altered, and sentences of the guidelines and reports in FOLDER: with a word before them, altered, and with
a noun in the place of another. Claims that a veto stops take no part. Folds keep the claims of one passage together;
without `--write` the figures are only printed.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.answer.verify.compare import matches
from citewell.answer.verify.source_match import MOST_ODDS
from citewell.answer.verify.verify_sentence import best_support, evidence_of
from citewell.vocabulary import FOLDER

if __package__:
    from bench.quality.alterations import altered, other_nouns, paraphrased, pool_of
    from bench.quality.claims import Case, Judge, cases_of
else:
    from alterations import altered, other_nouns, paraphrased, pool_of
    from claims import Case, Judge, cases_of

COPIES, NOUNS = 120, 60
WORTH = {"written": 1.0, "paraphrase": 1.0, "altered paraphrase": 0.6, "copy": 0.5, "altered copy": 0.5, "noun": 1.0}
"""How much a claim of each kind counts."""
PENALTY, FOLDS, SEEDS = 3.0, 5, 3
THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75)

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim, and what the check has before it weighs the reader's word."""

    case: Case
    kind: str
    odds: float
    opposed: float
    is_able: bool


def every_case(data: Path, claims: Path) -> Iterator[tuple[str, Case]]:
    """Every claim with its kind."""
    for case in cases_of(claims):
        yield "written", case
    for one in paraphrased():
        label = "SUPPORT" if one.kind == "paraphrase" else "CONTRADICT"
        yield one.kind, Case(one.sentence, one.passage, label, one.kind)
    pool = pool_of(data)
    for pair in altered(pool, COPIES):
        for one in pair:
            is_true = one.kind == "unaltered"
            text = f"Importantly, {one.sentence[0].lower()}{one.sentence[1:]}" if is_true else one.sentence
            kind = "copy" if is_true else "altered copy"
            yield kind, Case(text, one.passage, "SUPPORT" if is_true else "CONTRADICT", kind)
    for one in other_nouns(pool, NOUNS):
        yield "noun", Case(one.sentence, one.passage, "NONE", "noun")


def judged(judge: Judge, kind: str, case: Case) -> Judged | None:
    """What the check has of one claim; None where the passage holds nothing to check it against."""
    found = matches(case.claim, [case.passage], lexicon=judge.lexicon, similarity=judge.similarity)
    if not found:
        return None
    carried, opposed = judge.pair(*evidence_of(case.claim, found[0], judge.lexicon))
    return Judged(case, kind, max(-MOST_ODDS, min(MOST_ODDS, carried)), opposed, best_support(found) is not None)


def fitted(odds: Numbers, true: Numbers, worth: Numbers) -> Numbers:
    """Base and slope of a logistic curve."""
    table, weights = np.c_[np.ones(len(odds)), odds], np.zeros(2)
    for _ in range(60):
        chance = 1 / (1 + np.exp(-table @ weights))
        curve = (table.T * (chance * (1 - chance) * worth)) @ table + PENALTY * np.diag([0.0, 1.0])
        weights += np.linalg.solve(curve, table.T @ ((true - chance) * worth) - PENALTY * np.r_[0, weights[1]])
    return weights


def unseen(rows: list[Judged]) -> tuple[Numbers, Numbers]:
    """The chance of each claim by weights that have not seen its passage, and the weights of all."""
    odds, true = (
        np.array(column, float)
        for column in zip(*((row.odds, row.case.label == "SUPPORT") for row in rows), strict=True)
    )
    worth, able = np.array([WORTH[row.kind] for row in rows]), np.array([row.is_able for row in rows])
    passages = [row.case.passage.text[:60] for row in rows]
    names, total = sorted(set(passages)), np.zeros(len(rows))
    for seed in range(SEEDS):
        fold = dict(zip(names, np.random.default_rng(seed).permutation(len(names)) % FOLDS, strict=True))
        place = np.array([fold[passage] for passage in passages])
        for number in range(FOLDS):
            used, held = (place != number) & able, place == number
            base, slope = fitted(odds[used], true[used], worth[used])
            total[held] += base + slope * odds[held]
    chance = 1 / (1 + np.exp(-total / SEEDS))
    return np.where(able, chance, 0.0), fitted(odds[able], true[able], worth[able])


def main() -> None:
    """Fit, print the shares called supported at several thresholds, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--claims", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        judge = Judge(Path(cache))
        found = [judged(judge, kind, case) for kind, case in every_case(options.data, options.claims)]
    rows = [row for row in found if row is not None]
    chances, (base, slope) = unseen(rows)
    print(f"base {base:.2f}, read as carried {slope:.2f}")
    groups = sorted({(row.kind, row.case.label) for row in rows})
    for least in THRESHOLDS:
        shares = []
        for kind, label in groups:
            own = np.array([(row.kind, row.case.label) == (kind, label) for row in rows])
            shares.append(f"{kind} {label.lower()} {(chances[own] >= least).mean():.3f}")
        print(f"{least}: {', '.join(shares)}")
    if options.write:
        path = FOLDER / "support.tsv"
        text = re.sub(r"(?m)^base\t[^\t]*", f"base\t{base:.2f}", path.read_text("utf-8"))
        path.write_text(re.sub(r"(?m)^read as carried\t[^\t]*", f"read as carried\t{slope:.2f}", text), "utf-8")


if __name__ == "__main__":
    main()
