"""How alike texts are, by vectors that are kept while they are in use: the words of a source are read many times."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence

from citewell.ports import Embedder, Vector
from citewell.types import Span

MAX_TEXTS = 20_000
"""About 30 MB of vectors: the sentences of several long documents."""


Passage = tuple[str, int]
"""The document id and the number of a passage."""

Stored = Callable[[Collection[Passage]], Mapping[Passage, Mapping[tuple[int, int], Vector]]]
"""The vectors that a library keeps of the sentences of passages."""


class Likeness:
    """The cosine of a sentence with parts of a source; threads may share one.

    What the library holds a vector of is not embedded again.
    """

    def __init__(self, embedder: Embedder, stored: Stored, *, max_texts: int = MAX_TEXTS) -> None:
        self._embedder = embedder
        self._stored = stored
        self._max_texts = max_texts
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, sentence: str, parts: Sequence[Span]) -> list[float]:
        """One cosine per part."""
        texts = {sentence, *(part.text for part in parts)}
        with self._lock:
            found = {text: self._known[text] for text in texts if text in self._known}
        found |= self._kept([part for part in parts if part.text not in found])
        missing = [text for text in texts if text not in found]
        if missing:
            found.update(zip(missing, self._embedder.embed(missing), strict=True))
        self._remember(found)
        return [float(found[part.text] @ found[sentence]) for part in parts]

    def _kept(self, parts: Sequence[Span]) -> dict[str, Vector]:
        """The vectors of these parts that the library has."""
        passage_of = {source_id: _passage(source_id) for source_id in {part.source_id for part in parts}}
        known = [passage for passage in passage_of.values() if passage is not None]
        stored = self._stored(known) if known else {}
        found: dict[str, Vector] = {}
        for part in parts:
            passage = passage_of[part.source_id]
            vectors = stored.get(passage, {}) if passage else {}
            if (part.start, part.end) in vectors:
                found[part.text] = vectors[part.start, part.end].copy()  # or it would hold all that was read with it
        return found

    def _remember(self, found: Mapping[str, Vector]) -> None:
        """These are the last that were used; the oldest go."""
        with self._lock:
            for text, vector in found.items():
                self._known[text] = vector
                self._known.move_to_end(text)
            while len(self._known) > self._max_texts:
                self._known.popitem(last=False)


def _passage(source_id: str) -> Passage | None:
    """The passage that a source id names; None for words that were given with the question."""
    document_id, _, index = source_id.rpartition(":")
    return (document_id, int(index)) if document_id else None
