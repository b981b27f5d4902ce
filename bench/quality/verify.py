"""The claim check on SciFact: F1 of supported and of contradicted, each beside a plain baseline; calibration.

    python bench/quality/verify.py --data FOLDER [--json FILE] [--vectors FILE] [--without-reader]

Thresholds and coefficients in the product were chosen on the train claims; the validation claims are only reported. A
claim is checked against the abstract that holds its evidence, or against all that it cites where there is none. The
pair reader was trained on the train claims: for these, the word of readers that had not seen them is taken
(`bench/reader/unseen.json`), and claims without one are left out. `fit_support.py` fits the tables anew; `--vectors`
keeps the sentence vectors in a file between runs.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.engine import PUBLISHED
from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.entailment.pair import PairReader
from citewell.answer.verify import verify
from citewell.answer.verify.compare import SentencePair, Similarity
from citewell.answer.verify.source_match import PairScores
from citewell.answer.verify.source_sentences import parts_of
from citewell.answer.verify.support_model import calibrated
from citewell.clinical import Lexicon
from citewell.types import EvidenceSpan, SentenceCheck, Verdict

UNSEEN = Path(__file__).parents[1] / "reader" / "unseen.json"

DRAWS = 2_000
"""Of the claims, with return, for the interval of the gain."""

SEED_STOP_WORDS = frozenset(
    """the a an is are was were be been being have has had do does did will would could should may might must shall can
    need dare to of in for on with at by from as into through during before after above below between under again
    further then once here there when where why how all each few more most other some such no nor not only own same so
    than too very just and but if or because until while this that these those i me my myself we our ours you your
    yours he him his she her hers it its they them""".split()
)
"""Of the coverage formula that is the baseline."""

DENIALS = frozenset(
    "no not nor never none neither without cannot fail fails failed lack lacks lacking absence absent unlikely".split()
)
"""What makes a denial of a sentence for the baseline of contradicted."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, the abstracts to hold it against, and what they say of it."""

    text: str
    spans: tuple[EvidenceSpan, ...]
    label: str


def claims(folder: Path, name: str) -> list[Claim]:
    """The claims of a file, one for each abstract with evidence, or one for all cited without."""
    corpus = {row["_id"]: row for row in map(json.loads, (folder / "corpus.jsonl").open(encoding="utf-8"))}
    found: dict[tuple[str, str], Claim] = {}
    with (folder / name).open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            ids = [row["evidence_doc_id"]] if row["evidence_doc_id"] else re.findall(r"\d+", row["cited_doc_ids"])
            spans = tuple(_span(identifier, corpus[identifier]) for identifier in ids if identifier in corpus)
            label = row["evidence_label"] or "NONE"
            found[row["id"], row["evidence_doc_id"]] = Claim(row["claim"], spans, label)
    return list(found.values())


def _span(identifier: str, row: dict[str, str]) -> EvidenceSpan:
    text = f"{row['title']}\n\n{row['text']}"
    return EvidenceSpan(identifier, 0, len(text), text)


def cosines(every: Sequence[Claim], vectors_file: Path | None) -> Similarity:
    """Cosines from vectors made once, or read from a file of an earlier run."""
    parts = {part.text for claim in every for part in parts_of(claim.spans)}
    texts = sorted(parts | {claim.text for claim in every})
    known: dict[str, NDArray[np.float32]] = {}
    if vectors_file and vectors_file.exists():
        with np.load(vectors_file) as kept:
            known = dict(zip(json.loads(str(kept["texts"])), kept["vectors"], strict=True))
    missing = [text for text in texts if text not in known]
    if missing:
        with tempfile.TemporaryDirectory() as cache:
            known |= dict(zip(missing, MiniLM(Path(cache), model=PUBLISHED).embed(missing), strict=True))
        if vectors_file:
            np.savez(vectors_file, texts=json.dumps(list(known)), vectors=np.stack(list(known.values())))

    def similarity(sentence: str, parts: Sequence[EvidenceSpan]) -> Sequence[float]:
        rows = np.stack([known[part.text] for part in parts])
        return [float(cosine) for cosine in rows @ known[sentence]]

    return similarity


def unseen_by_reader(every: Sequence[Claim]) -> list[PairScores | None]:
    """What readers that had not seen a train claim say of it, by a hash of its text and first abstract."""
    known = json.loads(UNSEEN.read_text("utf-8"))
    keys = (f"{claim.text}\t{claim.spans[0].source_id}" for claim in every)
    found = (known.get(hashlib.sha256(key.encode()).hexdigest()[:16]) for key in keys)
    return [None if scores is None else PairScores.of(*scores) for scores in found]


# -------------------------------------------------------------------------------------------------------- the figures


def f1(said: Sequence[bool], true: Sequence[bool]) -> float:
    """Harmonic mean of precision and recall."""
    both = sum(one and other for one, other in zip(said, true, strict=True))
    return 2 * both / (sum(said) + sum(true)) if both else 0.0


def area(scores: Sequence[float], true: Sequence[bool]) -> float:
    """The chance that a true one is scored above a false one."""
    yes = np.array([score for score, is_true in zip(scores, true, strict=True) if is_true])
    no = np.array([score for score, is_true in zip(scores, true, strict=True) if not is_true])
    return float((yes[:, None] > no).mean() + 0.5 * (yes[:, None] == no).mean())


def key_terms(text: str) -> set[str]:
    """The terms of the baseline: longer than two letters, no stop words."""
    return {
        word for word in re.findall(r"\b[a-z0-9]+\b", text.lower()) if word not in SEED_STOP_WORDS and len(word) >= 3
    }


def term_share(claim: Claim) -> float:
    """The baseline: the share of a claim's terms found in its abstracts."""
    terms = key_terms(claim.text)
    return len(terms & key_terms(" ".join(span.text for span in claim.spans))) / len(terms) if terms else 0.0


def is_turned(claim: Claim) -> bool:
    """Whether the claim denies something and its abstracts nothing, or the other way round.

    The coverage formula knows no contradiction; this is the least that can be added to it ("coverage and not"). Held
    against the sentence with most of the claim's terms instead, it does worse: 0.320 on train and 0.243 on validation.
    """
    return _denies(claim.text) != _denies(" ".join(span.text for span in claim.spans))


def _denies(text: str) -> bool:
    return not DENIALS.isdisjoint(re.findall(r"[a-z]+", text.lower().replace("n't", " not")))


def best_threshold(scores: Sequence[float], true: Sequence[bool]) -> float:
    """The threshold with the best F1."""
    return max(sorted(set(scores)), key=lambda least: f1([score >= least for score in scores], true))


@dataclass(frozen=True, slots=True)
class Baseline:
    """From which share of its terms a claim counts as covered; each chosen for the best F1 on the train claims."""

    supported_from: float
    contradicted_from: float

    @classmethod
    def on(cls, every: Sequence[Claim]) -> Baseline:
        """The baseline at its best on these claims."""
        shares = [term_share(claim) for claim in every]
        turned = [share if is_turned(claim) else -1.0 for claim, share in zip(every, shares, strict=True)]
        return cls(
            best_threshold(shares, [claim.label == "SUPPORT" for claim in every]),
            best_threshold(turned, [claim.label == "CONTRADICT" for claim in every]),
        )

    def is_supported(self, claim: Claim) -> bool:
        """The coverage formula."""
        return term_share(claim) >= self.supported_from

    def is_contradicted(self, claim: Claim) -> bool:
        """Covered, and denied on one side only."""
        return term_share(claim) >= self.contradicted_from and is_turned(claim)


def figures(every: Sequence[Claim], checks: Sequence[SentenceCheck], baseline: Baseline) -> dict[str, float]:
    """All figures of one set of claims."""
    supported = [claim.label == "SUPPORT" for claim in every]
    contradicted = [claim.label == "CONTRADICT" for claim in every]
    said = [check.verdict is Verdict.SUPPORTED for check in checks]
    against = [check.verdict is Verdict.CONTRADICTED for check in checks]
    plain = [baseline.is_supported(claim) for claim in every]
    plain_against = [baseline.is_contradicted(claim) for claim in every]
    return {
        "claims": len(every),
        "f1_supported": f1(said, supported),
        "precision_supported": _precision(said, supported),
        "f1_contradicted": f1(against, contradicted),
        "precision_contradicted": _precision(against, contradicted),
        "auc_supported": area([calibrated([check]) for check in checks], supported),
        "no_evidence_called_supported": _share(said, [claim.label == "NONE" for claim in every]),
        "contradicted_called_supported": _share(said, contradicted),
        "baseline_f1_supported": f1(plain, supported),
        "baseline_precision_supported": _precision(plain, supported),
        "baseline_f1_contradicted": f1(plain_against, contradicted),
        "baseline_precision_contradicted": _precision(plain_against, contradicted),
        "baseline_auc_supported": area([term_share(claim) for claim in every], supported),
        "baseline_no_evidence_called_supported": _share(plain, [claim.label == "NONE" for claim in every]),
        "baseline_contradicted_called_supported": _share(plain, contradicted),
        "always_f1_supported": f1([True] * len(every), supported),
        "always_f1_contradicted": f1([True] * len(every), contradicted),
    }


def gain(true: Sequence[bool], said: Sequence[bool], plain: Sequence[bool]) -> dict[str, float]:
    """How much the F1 is over the baseline's, and within what 95 of 100 draws of the claims lie."""
    table = np.array([true, said, plain]).T
    draws = np.random.default_rng(0).integers(0, len(table), (DRAWS, len(table)))
    gains = [_gain(table[drawn]) for drawn in draws]
    return {"f1": _gain(table), "low": float(np.quantile(gains, 0.025)), "high": float(np.quantile(gains, 0.975))}


def gains(every: Sequence[Claim], checks: Sequence[SentenceCheck], baseline: Baseline) -> dict[str, dict[str, float]]:
    """The same of supported and of contradicted."""
    return {
        "supported": gain(
            [claim.label == "SUPPORT" for claim in every],
            [check.verdict is Verdict.SUPPORTED for check in checks],
            [baseline.is_supported(claim) for claim in every],
        ),
        "contradicted": gain(
            [claim.label == "CONTRADICT" for claim in every],
            [check.verdict is Verdict.CONTRADICTED for check in checks],
            [baseline.is_contradicted(claim) for claim in every],
        ),
    }


def _gain(table: NDArray[np.bool_]) -> float:
    true, said, plain = (list(column) for column in table.T)
    return f1(said, true) - f1(plain, true)


def _precision(said: Sequence[bool], true: Sequence[bool]) -> float:
    return sum(one and other for one, other in zip(said, true, strict=True)) / max(1, sum(said))


def _share(said: Sequence[bool], among: Sequence[bool]) -> float:
    return sum(one and other for one, other in zip(said, among, strict=True)) / max(1, sum(among))


def reliability(every: Sequence[Claim], checks: Sequence[SentenceCheck]) -> dict[str, object]:
    """Ten bins of the calibrated probability: how many claims, mean probability, share truly supported."""
    chances = np.array([calibrated([check]) for check in checks])
    true = np.array([claim.label == "SUPPORT" for claim in every])
    bins = []
    for low in np.arange(10) / 10:
        inside = (chances >= low) & (chances < low + 0.1 + (low > 0.85))
        if inside.any():
            mean, share = float(chances[inside].mean()), float(true[inside].mean())
            bins.append({"from": float(low), "claims": int(inside.sum()), "said": mean, "true": share})
    error = sum(abs(one["said"] - one["true"]) * one["claims"] for one in bins) / len(checks)
    return {"bins": bins, "expected_calibration_error": error, "brier": float(((chances - true) ** 2).mean())}


# ------------------------------------------------------------------------------------------------------------ the fit


def logistic(rows: NDArray[np.float64], true: NDArray[np.float64], penalty: float = 0.3) -> NDArray[np.float64]:
    """Coefficients of a logistic regression by Newton's method, the intercept first."""
    inputs = np.c_[np.ones(len(rows)), rows]
    shrink = penalty * np.eye(inputs.shape[1])
    shrink[0, 0] = 0
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (chance - true) + shrink @ weights
        curve = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + shrink
        weights = weights - np.linalg.solve(curve, slope)
    return weights


def saying(judged: PairScores) -> SentencePair:
    """A reader that says this of whatever it is given."""
    return lambda _sentence, _evidence: judged


def checked(
    every: Sequence[Claim], similarity: Similarity, pairs: Sequence[SentencePair] | None = None
) -> list[SentenceCheck]:
    """The verdicts on claims."""
    lexicon = Lexicon.load()
    return [
        verify(claim.text, claim.spans, lexicon=lexicon, similarity=similarity, pair=pair)
        for claim, pair in zip(every, pairs or [None] * len(every), strict=True)
    ]


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--without-reader", action="store_true", help="words and cosines alone")
    options = parser.parse_args()
    train, held = claims(options.data, "claims_train.csv"), claims(options.data, "claims_validation.csv")
    similarity = cosines([*train, *held], options.vectors)
    least = Baseline.on(train)
    if options.without_reader:
        on_train, on_held = checked(train, similarity), checked(held, similarity)
    else:
        judged = unseen_by_reader(train)
        train = [claim for claim, one in zip(train, judged, strict=True) if one is not None]
        pairs = [saying(one) for one in judged if one is not None]
        on_train = checked(train, similarity, pairs)
        with tempfile.TemporaryDirectory() as cache:
            on_held = checked(held, similarity, [PairReader(Path(cache))] * len(held))
    result: dict[str, dict[str, float]] = {
        "train": figures(train, on_train, least),
        "validation": figures(held, on_held, least),
    }
    curve = reliability(held, on_held)
    over = {"train": gains(train, on_train, least), "validation": gains(held, on_held, least)}
    print(f"{'':40} {'train':>8} {'validation':>11}")
    for key, value in result["train"].items():
        print(f"{key:40} {value:8.3f} {result['validation'][key]:11.3f}")
    print(f"{'expected_calibration_error':40} {'':8} {curve['expected_calibration_error']:11.3f}")
    for name, of_set in over.items():
        for verdict, one in of_set.items():
            drawn = f"95 of 100 draws {one['low']:.3f} to {one['high']:.3f}"
            print(f"F1 of {verdict} over the baseline's, {name}: {one['f1']:.3f}, {drawn}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        told = {**result, "gain": over, "baseline_from": asdict(least), "reliability": curve}
        options.json.write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
