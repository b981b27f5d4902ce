"""The check of a sentence as it ships: with the likeness of the embedder and the trained reader."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from citewell.adapters.embedding import minilm
from citewell.adapters.embedding.engine import PUBLISHED
from citewell.adapters.embedding.vector_cache import Likeness
from citewell.adapters.entailment.pair import PairReader
from citewell.answer.verify import verify
from citewell.clinical import Lexicon
from citewell.types import EvidenceSpan, SentenceCheck
from tests.once import model_folder


@cache
def _models() -> tuple[Lexicon, Likeness, PairReader]:
    folder = model_folder()
    return Lexicon.load(), Likeness(minilm.MiniLM(folder, model=PUBLISHED)), PairReader(folder)


def checked(sentence: str, spans: Sequence[EvidenceSpan]) -> SentenceCheck:
    """What the check says of a sentence."""
    lexicon, likeness, reader = _models()
    return verify(sentence, spans, lexicon=lexicon, similarity=likeness, pair=reader)
