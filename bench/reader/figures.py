"""How well a model tells supported claims from others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LABELS = {"SUPPORT": 0, "CONTRADICT": 1, "NONE": 2}
"""The order of a model's three numbers."""

Scores = NDArray[np.float32]


def area(scores: Scores, true: NDArray[np.bool_]) -> float:
    """The chance that a true one is scored above a false one; not a number where there is only one kind.

    >>> area(np.array([3.0, 1.0, 2.0]), np.array([True, False, True]))
    1.0
    """
    yes, no = scores[true], scores[~true]
    if not len(yes) or not len(no):
        return float("nan")
    return float((yes[:, None] > no).mean() + 0.5 * (yes[:, None] == no).mean())


def best_f1(scores: Scores, true: NDArray[np.bool_]) -> float:
    """F1 at the threshold that suits these very claims."""
    said = [scores >= least for least in np.unique(scores)]
    return max(float(2 * (one & true).sum() / (one.sum() + true.sum())) for one in said)


def tell(name: str, log_chances: Scores, labels: Sequence[str]) -> None:
    """Print the figures of one model on claims."""
    label = np.array(labels)
    true = label == "SUPPORT"
    support = log_chances[:, 0]
    settled, not_against = label != "NONE", label != "CONTRADICT"
    right = log_chances.argmax(1) == [LABELS[one] for one in labels]
    print(
        f"{name}: {len(label)} claims, AUC of supported {area(support, true):.4f}, "
        f"against contradicted {area((support - log_chances[:, 1])[settled], true[settled]):.4f}, "
        f"against neither {area(support[not_against], true[not_against]):.4f}, "
        f"best F1 {best_f1(support, true):.4f}, right {right.mean():.4f}",
        flush=True,
    )
