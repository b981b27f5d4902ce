"""WordPiece tokens, as the default embedder sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from citewell.minilm.weights import model_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CLASSIFIER, SEPARATOR = 101, 102
"""Ids of the tokens that stand before and after every text."""

_RUN = re.compile(r"[!-/:-@\[-`{-~]|[^ \t\n\r!-/:-@\[-`{-~]+")
"""A mark of ASCII, or what stands between such marks and white space: no token crosses its ends."""

_WHOLE = (0,)
"""The places of a run that is one token, as most are."""

_LONGEST_KNOWN = 40
"""Characters of a run that is remembered at most: a longer one hardly comes again, and there may be very many."""


class WordPiece:
    """Counts, places and numbers tokens; a text that spells out a special token gets no special treatment.

    >>> words = WordPiece.load()
    >>> words.starts("Give 5 mg.")
    [0, 5, 7, 9]
    >>> words.count("angiotensin")
    4
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known = lru_cache(maxsize=100_000)(self._placed)

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

    def starts(self, text: str) -> list[int]:
        """Where every token starts, without special ones; words come again and again, and are looked up."""
        found: list[int] = []
        known, append = self._known, found.append
        for run in _RUN.finditer(encodable(text)):
            word = run[0]
            places = known(word) if len(word) <= _LONGEST_KNOWN else self._placed(word)
            if places is _WHOLE:
                append(run.start())
            else:
                found += [run.start() + place for place in places]
        return found

    def _placed(self, run: str) -> tuple[int, ...]:
        """Where the tokens of a run start in it."""
        places = tuple(start for start, _ in self._tokenizer.encode(run, add_special_tokens=False).offsets)
        return _WHOLE if places == _WHOLE else places

    def placed(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids of a text without special ones, and where each stands."""
        encoding = self._tokenizer.encode(encodable(text), add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def count(self, text: str) -> int:
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
