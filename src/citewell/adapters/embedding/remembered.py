"""How alike texts are, by vectors that are kept while they are in use: the words of a source are read many times."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from citewell.ports import Embedder, Vector
from citewell.types import Span

MAX_TEXTS = 20_000
"""About 30 MB of vectors: the sentences of several long documents."""


Stored = Callable[[str, int], Mapping[tuple[int, int], Vector]]
"""The vectors that a library keeps of a passage's sentences, by document id and number of the passage."""


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
        found: dict[str, Vector] = {}
        for source_id in dict.fromkeys(part.source_id for part in parts):
            document_id, _, index = source_id.rpartition(":")
            if not document_id:
                continue  # words that were given with the question
            vectors = self._stored(document_id, int(index))
            mine = (part for part in parts if part.source_id == source_id)
            found |= {part.text: vectors[part.start, part.end] for part in mine if (part.start, part.end) in vectors}
        return found

    def _remember(self, found: Mapping[str, Vector]) -> None:
        """These are the last that were used; the oldest go."""
        with self._lock:
            for text, vector in found.items():
                self._known[text] = vector
                self._known.move_to_end(text)
            while len(self._known) > self._max_texts:
                self._known.popitem(last=False)
