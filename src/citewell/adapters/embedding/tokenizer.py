"""WordPiece tokens, as the default embedder sees them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from citewell.adapters.embedding.weights import model_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CLASSIFIER, SEPARATOR = 101, 102
"""Ids of the tokens that stand before and after every text."""


class WordPiece:
    """Counts, places and numbers tokens; a text that spells out a special token gets no special treatment.

    >>> words = WordPiece.load()
    >>> words.spans("Give 5 mg.")
    [(0, 4), (5, 6), (7, 9), (9, 10)]
    >>> words.count("angiotensin")
    4
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @staticmethod
    @cache
    def load() -> WordPiece:
        """The tokenizer of the packaged model, read once per process."""
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(model_file("tokenizer.json")))
        # The file truncates and pads at 128 tokens; the model was made for 256, and padding is the batch's business.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        return WordPiece(tokenizer)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The offsets of every token, without special ones."""
        return list(self._tokenizer.encode(encodable(text), add_special_tokens=False).offsets)

    def count(self, text: str) -> int:
        """The number of tokens, without special ones."""
        return len(self._tokenizer.encode(encodable(text), add_special_tokens=False))

    def ids(self, texts: Sequence[str], *, max_tokens: int) -> list[list[int]]:
        """Token ids of each text between the special ones, cut to `max_tokens` in all."""
        encodings = self._tokenizer.encode_batch_fast([encodable(text) for text in texts], add_special_tokens=False)
        return [[CLASSIFIER, *encoding.ids[: max_tokens - 2], SEPARATOR] for encoding in encodings]


def encodable(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot carry, replaced one for one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
