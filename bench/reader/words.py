"""What the teacher reads: texts in its small vocabulary, and prompts made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bench.reader.needs import Tokenizer
from tokenizers import pre_tokenizers

END, PAD = 151645, 151643
"""Tokens of Qwen2.5 in its full vocabulary."""

ABSTRACT = "Abstract: "
ASK = "\nClaim: {claim}\nDoes the abstract support the claim, contradict it, or not say?\nAnswer:"
ANSWERS = (" support", " contradict", " neither")
WRITE = (
    "\nWrite a claim that the abstract supports.\nClaim:",
    "\nWrite a claim that the abstract contradicts.\nClaim:",
    "\nWrite a claim that the abstract does not settle.\nClaim:",
)
PROMPT_WORDS = (
    "Abstract: Claim: Does the abstract support the claim, contradict it, or not say?\nAnswer: support contradict "
    "neither Write a claim that the abstract supports contradicts does not settle:\nClaim: \n\n.\n"
)
"""The words of all of them, for the vocabulary that is kept."""

ABSTRACT_TOKENS = 448
SEVERAL_TOKENS, LEAST_EACH, MOST_ABSTRACTS = 608, 120, 4
"""Of several abstracts: all together, each at least, and how many."""


class Words:
    """The teacher's tokenizer, with a vocabulary of the tokens in use."""

    def __init__(self, work: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(work / "qwen.json"))
        self._full = np.load(work / "ids.npy")
        self._small = {int(full): small for small, full in enumerate(self._full)}
        letters = pre_tokenizers.ByteLevel.alphabet()
        self._bytes = {letter: self._small[self._tokenizer.token_to_id(letter)] for letter in letters}
        self.end, self.pad = self._small[END], self._small[PAD]

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text; one that was not kept is spelt byte by byte."""
        rows = []
        for found in self._tokenizer.encode_batch(list(texts)):
            row: list[int] = []
            for full, token in zip(found.ids, found.tokens, strict=True):
                small = self._small.get(full)
                row += [self._bytes[letter] for letter in token] if small is None else [small]
            rows.append(row)
        return rows

    def say(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of rows of tokens."""
        return self._tokenizer.decode_batch([[int(self._full[token]) for token in row] for row in rows])

    def __len__(self) -> int:
        return len(self._full)


class Prompts:
    """Abstracts and questions as tokens."""

    def __init__(self, words: Words, abstracts: dict[str, list[str]]) -> None:
        self._words = words
        bodies = words.read([ABSTRACT + " ".join(sentences) for sentences in abstracts.values()])
        self._bodies = dict(zip(abstracts, bodies, strict=True))
        self.write = words.read(WRITE)
        """How a claim of each kind is asked for."""
        answers = words.read(ANSWERS)
        if any(len(row) != 1 for row in answers):
            raise SystemExit("Each answer must be one token: run bench.reader.pack again")
        self.answers = [row[0] for row in answers]
        """Support, contradict, neither."""

    def body(self, abstracts: Sequence[str]) -> list[int]:
        """One abstract, or the beginnings of several."""
        if len(abstracts) == 1:
            return self._bodies[abstracts[0]][:ABSTRACT_TOKENS]
        each = max(LEAST_EACH, ABSTRACT_TOKENS // len(abstracts))
        joined = [token for one in abstracts[:MOST_ABSTRACTS] for token in self._bodies[one][:each]]
        return joined[:SEVERAL_TOKENS]

    def questions(self, claims: Sequence[str]) -> list[list[int]]:
        """What is said of each claim? To be read after an abstract."""
        return self._words.read([ASK.format(claim=claim) for claim in claims])

    def ask(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[list[int]]:
        """What do these abstracts say of this claim?"""
        questions = self.questions([claim for claim, _ in pairs])
        return [self.body(abstracts) + question for (_, abstracts), question in zip(pairs, questions, strict=True)]
