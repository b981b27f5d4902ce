"""Fits the weights of the claim check on SciFact's train claims, and writes them as tables to be reviewed.

    python bench/quality/fit_support.py --data FOLDER [--vectors FILE] [--write]

Only the train claims are read. All take part in the fit; one that a veto stops counts as not carried, whatever its
score. Folds keep the claims of one abstract together. The threshold is the one with the best F1 over the claims that
each fold has not seen; the F1 that is printed comes from a second, outer set of folds, in which neither weights nor
threshold have seen a claim. What the pair reader says of a train claim comes from readers that had not seen it
(`bench/reader/unseen.json`); claims without one are left out there. Without `--write` the tables are only printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.answer.verify.look import Similarity, heard, looks
from citewell.answer.verify.score import log_odds, weights
from citewell.answer.verify.verdict import bearer
from citewell.answer.verify.weigh import Judged, facts
from citewell.clinical import Lexicon
from citewell.types import Check, Verdict
from citewell.vocabulary import FOLDER

if __package__:
    from bench.quality.verify import (
        Claim,
        best_threshold,
        checked,
        claims,
        cosines,
        f1,
        logistic,
        term_share,
        unseen_by_reader,
    )
else:
    from verify import (
        Claim,
        best_threshold,
        checked,
        claims,
        cosines,
        f1,
        logistic,
        term_share,
        unseen_by_reader,
    )

Numbers = NDArray[np.float64]

FACTS = {
    "passage": "share of the claim's words, names and amounts that the cited words say in any wording",
    "strange": "content words of the claim that they do not have, five or more being 1",
    "letters": "share of the claim's words that they say, others counting by their runs of four letters",
    "likeness": "cosine of the sentence most like the claim, and mean of the three most like it, half each",
    "turned": "the nearest sentence says the other way: less for more, or no effect",
    "denied": "the nearest sentence denies what the claim says, or the other way round",
    "unsaid": "the claim says which way, the nearest sentence does not",
    "way": "nearness of the nearest sentence that says the same way, less that of the nearest that says another",
    "against": "share of the sentences read closely that speak against the claim",
    "opposed": "nearness of the nearest sentence that speaks against it beyond doubt",
    "read as carried": "log-odds of the pair reader that the cited words carry the claim",
    "read as opposed": "log-odds of the pair reader that they say otherwise",
}
OF_THE_READER = ("read as carried", "read as opposed")
PENALTY = 10.0
"""On the square of each weight, facts being scaled to a spread of one: few claims must not make great weights."""
FOLDS, SEEDS = 5, 6
THRESHOLDS = np.linspace(0.2, 0.7, 51)
NEVER_FROM = tuple(np.arange(0.0, 4.5, 0.5).tolist())
WORTH = 0.01
"""F1 of supported that we give for fewer contradicted claims that pass."""
VERDICTS = {Verdict.PARTLY: "the verdict is “partly”", Verdict.CONTRADICTED: "the verdict is “contradicted”"}


@dataclass(frozen=True, slots=True)
class Rows:
    """The facts of all claims, and which of them a score may carry."""

    facts: Numbers
    is_able: NDArray[np.bool_]
    is_true: NDArray[np.bool_]
    abstract: NDArray[np.str_]
    names: tuple[str, ...]


def rows(every: Sequence[Claim], similarity: Similarity | None, judged: Sequence[Judged] | None = None) -> Rows:
    """What the check knows of each claim; `judged` is what the pair reader says of it."""
    lexicon = Lexicon.load()
    names = tuple(
        name
        for name in FACTS
        if (similarity is not None or name != "likeness") and (judged is not None or name not in OF_THE_READER)
    )
    table, able = np.zeros((len(every), len(names))), np.zeros(len(every), bool)
    for number, claim in enumerate(every):
        found = looks(claim.text, claim.spans, lexicon=lexicon, similarity=similarity)
        found = found if judged is None else heard(found, judged[number])
        told = facts(found)
        table[number] = [told[name] for name in names]
        able[number] = bearer(found) is not None
    true = np.array([claim.label == "SUPPORT" for claim in every])
    return Rows(table, able, true, np.array([claim.spans[0].source_id for claim in every]), names)


def fitted(data: Rows, used: NDArray[np.bool_]) -> Numbers:
    """Base and weights from the claims that are used."""
    mean, spread = data.facts[used].mean(0), data.facts[used].std(0) + 1e-9
    found = logistic((data.facts[used] - mean) / spread, data.is_true[used].astype(float), PENALTY)
    slopes = found[1:] / spread
    return np.r_[found[0] - slopes @ mean, slopes]


def chances(data: Rows, weights: Numbers) -> Numbers:
    """The probability of each claim; none where a veto stands in the way."""
    return np.where(data.is_able, 1 / (1 + np.exp(-(weights[0] + data.facts @ weights[1:]))), 0.0)


def unseen(data: Rows, used: NDArray[np.bool_], seed: int) -> Numbers:
    """The probability of each used claim, by weights that have not seen its abstract."""
    names = np.unique(data.abstract)
    fold = dict(zip(names, np.random.default_rng(seed).permutation(len(names)) % FOLDS, strict=True))
    place = np.array([fold[one] for one in data.abstract])
    found = np.zeros(len(place))
    for number in range(FOLDS):
        held = place == number
        found[held] = chances(data, fitted(data, used & ~held))[held]
    return found


def threshold(data: Rows, used: NDArray[np.bool_], seeds: Sequence[int]) -> float:
    """The threshold with the best F1 on claims not seen, neighbouring ones taken together."""
    shares = np.array([unseen(data, used, seed)[used] for seed in seeds])
    scores = [np.mean([f1(list(one >= least), list(data.is_true[used])) for one in shares]) for least in THRESHOLDS]
    smooth = np.convolve(np.pad(scores, 2, "edge"), np.ones(5) / 5, "valid")
    return float(THRESHOLDS[smooth.argmax()].round(2))


def outer_f1(data: Rows, seed: int) -> float:
    """F1 where neither weights nor threshold have seen the claims."""
    names = np.unique(data.abstract)
    fold = dict(zip(names, np.random.default_rng(1_000 + seed).permutation(len(names)) % FOLDS, strict=True))
    place = np.array([fold[one] for one in data.abstract])
    said = np.zeros(len(place), bool)
    for number in range(FOLDS):
        held = place == number
        least = threshold(data, ~held, range(2))
        said[held] = chances(data, fitted(data, ~held))[held] >= least
    return f1(list(said), list(data.is_true))


def support_table(tables: Sequence[Rows], opposed_from: float, never_from: float) -> str:
    """The weights by what is known, and the thresholds."""
    columns = []
    for data in tables:
        everything = np.ones(len(data.is_true), bool)
        weights = dict(zip(("base", *data.names), fitted(data, everything).round(2), strict=True))
        columns.append({**weights, "supported from": threshold(data, everything, range(SEEDS))})
    columns[0] |= {"opposed from": opposed_from, "never from": never_from}
    told = {
        "base": "where all the others are nothing",
        **FACTS,
        "supported from": "no weight: the least probability",
        "opposed from": "no weight: the least log-odds of the pair reader that make what is not carried contradicted",
        "never from": "no weight: the least log-odds of the pair reader with which nothing is carried",
    }
    lines = ["\t".join((name, *(_number(one.get(name)) for one in columns), text)) for name, text in told.items()]
    head = (
        "# What each fact adds to the log-odds that cited words carry a claim. Columns: fact, weight with pair reader\n"
        "# and similarity, with similarity, with neither, meaning. Vetoes (amounts, medicines, opposites …) stand\n"
        "# above it. Fitted on the train claims of SciFact by\n"
        "# `python bench/quality/fit_support.py --data FOLDER --write`; see the docs, verification-notes.md.\n"
    )
    return head + "\n".join(lines) + "\n"


def stopped(data: Rows, judged: Sequence[Judged], never_from: float) -> Rows:
    """The same where nothing is carried that the pair reader reads as the opposite."""
    return replace(data, is_able=data.is_able & np.array([one.opposed < never_from for one in judged]))


def said_unseen(data: Rows) -> NDArray[np.bool_]:
    """Which claims are called supported, each by weights that have not seen its abstract."""
    everything = np.ones(len(data.is_true), bool)
    return unseen(data, everything, seed=0) >= threshold(data, everything, range(SEEDS))


def lowest_never(data: Rows, judged: Sequence[Judged]) -> float:
    """The least log-odds of an opposition that may stop a claim and cost next to nothing in F1 of supported."""
    costs = {least: f1(list(said_unseen(stopped(data, judged, least))), list(data.is_true)) for least in NEVER_FROM}
    return min(least for least, score in costs.items() if score >= max(costs.values()) - WORTH)


def best_opposed(every: Sequence[Claim], judged: Sequence[Judged], checks: Sequence[Check], data: Rows) -> float:
    """The log-odds of the pair reader with the best F1 of contradicted, beside what the rules call so."""
    true = [claim.label == "CONTRADICT" for claim in every]
    ruled = [check.verdict is Verdict.CONTRADICTED for check in checks]
    is_open = ~said_unseen(data)

    def score(least: float) -> float:
        said = zip(ruled, is_open, judged, strict=True)
        return f1([one or bool(free and reader.opposed >= least) for one, free, reader in said], true)

    return float(max(np.linspace(-2, 4, 25), key=score))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def calibration_table(every: Sequence[Claim], checks: Sequence[Check]) -> str:
    """From support and verdict to a probability."""
    table = np.array([[log_odds(one.support), *(one.verdict is verdict for verdict in VERDICTS)] for one in checks])
    weights = logistic(table, np.array([claim.label == "SUPPORT" for claim in every], float), 0.3).round(2)
    told = {"base": "where support is a half", "support": "log-odds of support"}
    told |= {verdict.value: text for verdict, text in VERDICTS.items()}
    head = (
        "# From support and verdict to the log-odds that a sentence is truly carried. Columns: name, weight, meaning.\n"
        "# Fitted on the train claims of SciFact by `python bench/quality/fit_support.py --data FOLDER --write`.\n"
    )
    lines = [f"{name}\t{weight:g}\t{text}" for (name, text), weight in zip(told.items(), weights, strict=True)]
    return head + "\n".join(lines) + "\n"


def main() -> None:
    """Fit, say how well it does on claims not seen, and write or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--write", action="store_true", help="write the tables into the package")
    options = parser.parse_args()
    train = claims(options.data, "claims_train.csv")
    similarity = cosines(train, options.vectors)
    true = [claim.label == "SUPPORT" for claim in train]
    shares = [term_share(claim) for claim in train]
    least = best_threshold(shares, true)
    print(f"baseline, threshold fitted on the same claims: F1 {f1([one >= least for one in shares], true):.3f}")
    seen_by_none = unseen_by_reader(train)
    known = [claim for claim, judged in zip(train, seen_by_none, strict=True) if judged is not None]
    judged = [one for one in seen_by_none if one is not None]
    with_reader = rows(known, similarity, judged)
    never_from = lowest_never(with_reader, judged)
    with_reader = stopped(with_reader, judged, never_from)
    opposed_from = best_opposed(known, judged, checked(known, similarity), with_reader)
    tables = [with_reader, rows(train, similarity), rows(train, None)]
    for name, data in zip(("with the pair reader", "with similarity", "without"), tables, strict=True):
        outer = [outer_f1(data, seed) for seed in range(3)]
        print(f"{name}, {len(data.is_true)} unseen: F1 {np.mean(outer):.3f} ({min(outer):.3f} to {max(outer):.3f})")
    table = support_table(tables, opposed_from, never_from)
    print(table)
    if options.write:
        (FOLDER / "support.tsv").write_text(table, "utf-8")
        weights.cache_clear()
    # Of the rules' verdicts: those of the pair reader stand in support already, and would leave a verdict no weight.
    table = calibration_table(train, checked(train, similarity))
    print(table)
    if options.write:
        (FOLDER / "calibration.tsv").write_text(table, "utf-8")


if __name__ == "__main__":
    main()
