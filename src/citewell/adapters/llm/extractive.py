"""The writer without a model: verbatim statements of the evidence, each sentence with its mark."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citewell.answer.expand import expand
from citewell.answer.gate import MAX_HEAD_WORDS
from citewell.answer.generate import LocalWriter
from citewell.answer.select import AnswerScorer, select
from citewell.answer.statements import Statement
from citewell.clinical import Lexicon
from citewell.minilm.tokenizer import WordPiece
from citewell.sentences import sentences
from citewell.types import Context

_LIST_NUMBER = re.compile(r"\(?\w{1,3}[.)]")
"""The number of a list item, which would be checked as a sentence if it were shown."""


class Extractive(LocalWriter):
    """Quotes the evidence; says nothing where nothing answers."""

    def __init__(self, lexicon: Lexicon, *, reader: AnswerScorer | None = None) -> None:
        self._lexicon = lexicon
        self._reader = reader

    def count(self, text: str) -> int:
        """Tokens as the embedder counts them: there is no model with a count of its own."""
        return WordPiece.load().count(text)

    def write(self, question: str, context: Context, *, rules: str, begun_at: float | None = None) -> Iterator[str]:  # noqa: ARG002
        """Statement by statement, a blank line between two; every sentence ends in its mark."""
        expansions = expand(question, lexicon=self._lexicon, to_answer=True)
        statements = select(question, context.evidence, reader=self._reader, expansions=expansions)
        for position, statement in enumerate(statements):
            yield ("\n\n" if position else "") + marked(statement)


def marked(statement: Statement) -> str:
    """The words of a statement, line by line, with a mark after every sentence but a head of a word or two.

    A mark for each sentence and not for each line, because every sentence is checked by itself.
    """
    lines = [[line[start:end] for start, end in sentences(line)] for line in statement.lines]
    return "\n".join(
        " ".join(
            _with_mark(one, statement.number, is_last=one is line[-1])
            for one in line
            if one is not line[-1] or _says(one)
        )
        for line in lines
    )


def _says(sentence: str) -> bool:
    return _LIST_NUMBER.fullmatch(sentence) is None


def _with_mark(sentence: str, number: int, *, is_last: bool) -> str:
    is_head = len(sentence.split()) <= MAX_HEAD_WORDS and not is_last
    return sentence if is_head else f"{sentence} [S{number}]"
