"""Counts tokens here, without asking a server: WordPiece tokens times a ratio measured per family of models."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import pairwise

from citewell.minilm.tokenizer import WordPiece

UNKNOWN = 100
"""The id that stands for a word that the vocabulary cannot spell."""

RATIOS: tuple[tuple[str, float], ...] = (
    ("deepseek-r1", 1.30),  # before deepseek: its small versions are Qwen and Llama models
    ("deepseek", 1.20),
    ("llama", 1.15),
    ("qwen|qwq", 1.30),
    ("gpt|^o[134]", 1.15),
    ("smollm", 1.35),
    ("mistral|mixtral|ministral|magistral", 1.50),
    ("claude", 1.70),  # 1.23 was measured for Claude 2; the tokenizers of later ones are not published
)
"""Tokens per WordPiece token: the most that any prompt of five passages took; `docs/models.md` has the table."""
DEFAULT_RATIO = 1.50
MAX_RATIO = 4.0
MIN_TOKENS_TO_LEARN = 256
"""Below this, what a chat template adds weighs too much to tell anything of the text."""


class TokenCounter:
    """Counts as one model does, or a little more; never less than a server has been seen to count."""

    def __init__(self, name: str) -> None:
        self._measured = next((ratio for family, ratio in RATIOS if re.search(family, name.lower())), DEFAULT_RATIO)
        self._ratio = self._measured

    def count(self, text: str) -> int:
        """Tokens of a text, never too few as far as is known."""
        return max(math.ceil(_pieces(text) * self._ratio), least_tokens(text))

    def estimate(self, text: str) -> int:
        """Tokens of a text by the measured ratio, whatever was learned since."""
        return max(math.ceil(_pieces(text) * self._measured), least_tokens(text))

    def learn(self, text: str, *, counted: int) -> None:
        """Count more from now on if a server counted more than expected for this prompt."""
        pieces = _pieces(text)
        if pieces >= MIN_TOKENS_TO_LEARN:
            self._ratio = max(self._ratio, min(counted / pieces, MAX_RATIO))


def least_tokens(text: str) -> int:
    """Fewer tokens than this no tokenizer makes of a text: none joins words across a space."""
    return len(text.split())


@lru_cache(maxsize=2_048)
def _pieces(text: str) -> int:
    """WordPiece tokens; a word that cannot be spelled counts its bytes, which no byte-level tokenizer exceeds."""
    words = WordPiece.load()
    ids = words.ids([text], max_tokens=len(text.encode(errors="replace")) + 2)[0][1:-1]
    if UNKNOWN not in ids:
        return len(ids)
    bounds = pairwise([*words.starts(text), len(text)])
    return sum(
        len(text[start:end].strip().encode(errors="replace")) if one == UNKNOWN else 1
        for one, (start, end) in zip(ids, bounds, strict=True)
    )
