"""Claims beside their evidence, as the small model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from bench.reader.batches import processor
from bench.reader.figures import Scores
from bench.reader.minilm import BEGIN, END, PAD, Pieces, Reader
from bench.reader.needs import torch
from numpy.typing import NDArray

CLAIM_PIECES, EVIDENCE_PIECES = 72, 224
WIDTH = CLAIM_PIECES + EVIDENCE_PIECES + 3

Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Pairs:
    """[CLS] claim [SEP] evidence [SEP], one row for each pair."""

    pieces: NDArray[np.int16]
    first: Numbers
    """How many places there are up to the first [SEP]; their token type is 0, that of the others 1."""
    lengths: Numbers

    def batch(self, numbers: Numbers) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Pieces, mask and types of some pairs."""
        width = int(self.lengths[numbers].max())
        places = np.arange(width)
        mask = places < self.lengths[numbers, None]
        types = mask & (places >= self.first[numbers, None])
        pieces, mask, types = (
            torch.from_numpy(one.astype(np.int64)).to(processor())
            for one in (self.pieces[numbers, :width], mask, types)
        )
        return pieces, mask, types


def pairs_of(pieces: Pieces, claims: Sequence[str], evidence: Sequence[str]) -> Pairs:
    """Claims beside their evidence, both cut to their lengths."""
    rows = np.full((len(claims), WIDTH), PAD, np.int16)
    first, lengths = np.zeros(len(claims), np.intp), np.zeros(len(claims), np.intp)
    for number, (claim, words) in enumerate(zip(pieces.read(claims), pieces.read(evidence), strict=True)):
        one = [BEGIN, *claim[:CLAIM_PIECES], END]
        both = [*one, *words[:EVIDENCE_PIECES], END]
        rows[number, : len(both)] = both
        first[number], lengths[number] = len(one), len(both)
    return Pairs(rows, first, lengths)


@torch.no_grad()
def judge(model: Reader, pairs: Pairs, numbers: Numbers, *, size: int = 512) -> Scores:
    """The logarithms of the three probabilities of some pairs."""
    found = np.zeros((len(numbers), 3), np.float32)
    order = np.argsort(pairs.lengths[numbers])
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        with torch.autocast(processor(), torch.bfloat16, enabled=processor() == "cuda"):
            said = model(*pairs.batch(numbers[chosen]))
        found[chosen] = torch.log_softmax(said, 1).cpu().numpy()
    return found
