"""An entailment model that a person has put on this machine: a cross-encoder as ONNX, run by onnxruntime."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from citewell.errors import ModelFilesMissing

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL, TOKENIZER, CONFIG = "model.onnx", "tokenizer.json", "config.json"
MAX_TOKENS = 512
REMEMBERED = 4_096
ENTAILED, NEUTRAL, CONTRADICTED = "entail", "neutral", "contradict"
NOT_ENTAILED = ("not_entail", "not entail", "non_entail", "non-entail")


class OnnxEntailment:
    """Reads a folder with model.onnx, tokenizer.json and config.json, whose `id2label` says what each number means."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        for name in (MODEL, TOKENIZER, CONFIG):
            if not (folder / name).is_file():
                raise ModelFilesMissing(f"{name} is missing from {folder}. Put it there, or unset CITEWELL_ENTAILMENT.")
        digest = hashlib.sha256((folder / MODEL).read_bytes()).hexdigest()
        self.name = f"{folder.name}, sha256 {digest}"
        """Which model it is, as health tells it and as every record does."""
        try:
            config = json.loads((folder / CONFIG).read_text("utf-8"))
            self._order = label_order(config["id2label"])
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
            self._session = onnxruntime.InferenceSession(
                str(folder / MODEL), providers=["CPUExecutionProvider"], sess_options=_options(onnxruntime)
            )
        except Exception as error:  # each of the three libraries has errors of its own
            raise ModelFilesMissing(
                f"The entailment model in {folder} could not be read ({type(error).__name__}). Put a classifier "
                "there whose id2label names entailment and contradiction, or unset CITEWELL_ENTAILMENT."
            ) from error
        limit = min(MAX_TOKENS, int(config.get("max_position_embeddings", MAX_TOKENS)))
        self._tokenizer.enable_truncation(limit, strategy="only_first")
        self._tokenizer.no_padding()
        self._inputs = [other.name for other in self._session.get_inputs()]
        self.score = lru_cache(maxsize=REMEMBERED)(self._score)

    def _score(self, premise: str, hypothesis: str) -> tuple[float, float, float]:
        """The probabilities of entailed, neutral and contradicted."""
        read = self._tokenizer.encode(premise, hypothesis)
        known = {"input_ids": read.ids, "attention_mask": read.attention_mask, "token_type_ids": read.type_ids}
        given = {name: np.array([known[name]], dtype=np.int64) for name in self._inputs}
        (logits, *_) = self._session.run(None, given)
        chances = _softmax(np.asarray(logits, dtype=np.float64)[0])
        first, second, third = (sum(float(chances[place]) for place in places) for places in self._order)
        return first, second, third


def label_order(labels: dict[str, str]) -> tuple[list[int], list[int], list[int]]:
    """The places of entailed, neutral and contradicted among a model's numbers.

    >>> label_order({"0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL"})
    ([1], [2], [0])
    >>> label_order({"0": "entailment", "1": "not_entailment"})
    ([0], [1], [])
    """
    entailed: list[int] = []
    neutral: list[int] = []
    contradicted: list[int] = []
    for place, label in labels.items():
        told = label.casefold()
        if ENTAILED in told and not told.startswith(NOT_ENTAILED):
            entailed.append(int(place))
        elif CONTRADICTED in told:
            contradicted.append(int(place))
        else:
            neutral.append(int(place))
    if len(entailed) != 1:
        raise ValueError("id2label names no entailment")
    return entailed, neutral, contradicted


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    raised: NDArray[np.float64] = np.exp(logits - logits.max())
    shares: NDArray[np.float64] = raised / raised.sum()
    return shares


def _options(onnxruntime: Any) -> Any:
    """One thread: a sentence is short, and other people ask at the same time."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return options
