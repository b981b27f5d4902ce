"""Fits how the cosines of an embedder are read: to judged first hits, or to the built-in model's on the same pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citewell.answer.relevance_curve import Calibration, built_in
from citewell.errors import InputError

Numbers = NDArray[np.float64]

LEAST_PAIRS = 60
LEAST_AGREEMENT = 0.3
"""The correlation with the built-in model's cosines below which an embedder's tell nothing of what texts say."""
LEAST_OF_EACH = 20
"""First hits that are right, and that are wrong, without which no curve is fitted."""
NEAR_SHARE, WIDE_SHARE = 0.05, 0.20
"""The share of passages taken at random that the least cosines let through, as those of the built-in model do."""
FOLDS = 5
PENALTY = 0.01
STEPS = 50
BINS = 10


@dataclass(frozen=True, slots=True)
class CalibrationFit:
    """A calibration, and how good it is by the same data."""

    calibration: Calibration
    pairs: int
    agreement: float | None = None
    """The correlation with the built-in model's cosines, where it was held to those."""
    error: float | None = None
    """The expected calibration error on hits that the curve had not seen, where hits were judged."""


@dataclass(frozen=True, slots=True)
class JudgedHits:
    """First hits, and whether each is right."""

    cosines: Numbers
    """The nearer of passage and best sentence."""
    coverages: Numbers
    is_right: NDArray[np.bool_]
    questions: NDArray[np.int64]
    """Which question each is a hit of: a fold holds out questions."""


def equate(cosines: Numbers, of_built_in: Numbers, *, embedder: str) -> CalibrationFit:
    """The built-in model's curve, moved to where an embedder's cosines of the same pairs of texts lie.

    Linear equating: the scale on which mean and spread are the built-in model's. It needs no judgements, and adds none:
    that a probability is right is taken from the built-in model.

    >>> seen = np.linspace(-0.1, 0.9, 100)
    >>> found = equate(0.7 + 0.25 * seen, seen, embedder="another").calibration
    >>> round(found.near, 3), round(found.cosine, 2)
    (0.775, 22.36)
    """
    if len(cosines) < LEAST_PAIRS:
        raise InputError(
            f"{len(cosines)} pairs of sentences are too few to calibrate on; {LEAST_PAIRS} are needed. Add documents "
            "first, or give judged claims with --data."
        )
    spread = float(cosines.std())
    agreement = float(np.corrcoef(cosines, of_built_in)[0, 1]) if spread > 1e-6 and of_built_in.std() > 1e-6 else 0.0
    if not agreement >= LEAST_AGREEMENT:
        raise _useless(
            f"they agree with the built-in model's by only {agreement:.2f}; at least {LEAST_AGREEMENT} is needed"
        )
    base = built_in()
    scale = float(of_built_in.std()) / spread
    shift = float(of_built_in.mean()) - scale * float(cosines.mean())
    near, wide = (float(np.clip((least - shift) / scale, -1.0, 1.0)) for least in (base.near, base.wide))
    made = Calibration(
        embedder, base.bias + base.cosine * shift, base.cosine * scale, base.coverage, near=near, wide=wide
    )
    return CalibrationFit(made, len(cosines), agreement=agreement)


def fit_curve(judged: JudgedHits, at_random: Numbers, *, embedder: str) -> CalibrationFit:
    """A logistic curve on judged first hits; the least cosines let a fixed share of pairs at random through."""
    right = int(judged.is_right.sum())
    if min(right, len(judged.is_right) - right) < LEAST_OF_EACH:
        raise InputError(
            f"{right} of {len(judged.is_right)} first hits are right; {LEAST_OF_EACH} right and {LEAST_OF_EACH} "
            "wrong ones are needed. Give more claims with --data, or calibrate without it."
        )
    rows = np.stack([np.ones_like(judged.cosines), judged.cosines, judged.coverages], axis=1)
    bias, cosine, coverage = map(float, logistic(rows, judged.is_right))
    if cosine <= 0 or coverage < 0:
        raise _useless("in these claims, closer passages are not more often right")
    near, wide = (float(np.clip(np.quantile(at_random, 1 - share), -1, 1)) for share in (NEAR_SHARE, WIDE_SHARE))
    unseen = np.zeros(len(rows))
    for number in range(FOLDS):
        held = judged.questions % FOLDS == number
        unseen[held] = _chances(rows[held], logistic(rows[~held], judged.is_right[~held]))
    error = calibration_error(unseen, judged.is_right)
    return CalibrationFit(Calibration(embedder, bias, cosine, coverage, near=near, wide=wide), len(rows), error=error)


def logistic(rows: Numbers, is_right: NDArray[np.bool_]) -> Numbers:
    """The weights of a logistic regression by Newton's method; the first column is the bias, which is not shrunk."""
    shrink = PENALTY * np.eye(rows.shape[1])
    shrink[0, 0] = 1e-9
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chances = _chances(rows, weights)
        slope = rows.T @ (chances - is_right) + shrink @ weights
        curve = (rows * (chances * (1 - chances))[:, None]).T @ rows + shrink
        weights = weights - np.linalg.solve(curve, slope)
    return weights


def calibration_error(said: Numbers, is_right: NDArray[np.bool_]) -> float:
    """How far what is said is from what is found, over ten bins.

    >>> calibration_error(np.array([0.25, 0.25, 0.25, 0.25]), np.array([True, False, False, False]))
    0.0
    """
    places = np.minimum((said * BINS).astype(int), BINS - 1)
    parts = (places == number for number in range(BINS))
    return float(sum(abs(said[part].mean() - is_right[part].mean()) * part.mean() for part in parts if part.any()))


def _chances(rows: Numbers, weights: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-np.clip(rows @ weights, -50, 50))), dtype=np.float64)


def _useless(why: str) -> InputError:
    return InputError(
        f"Similarity in this embedding model does not reflect relevance: {why}. Nothing was saved. Check that its "
        "model embeds whole texts."
    )
