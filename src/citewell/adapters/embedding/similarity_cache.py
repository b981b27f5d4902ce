"""How alike texts are, by vectors that are kept while they are in use: the words of a source are read many times."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from citewell.ports import Embedder, Vector
from citewell.types import EvidenceSpan

MAX_TEXTS = 20_000
"""About 30 MB of vectors: the sentences of several long documents."""


class Likeness:
    """The cosine of a sentence with parts of a source; threads may share one."""

    def __init__(self, embedder: Embedder, *, max_texts: int = MAX_TEXTS) -> None:
        self._embedder = embedder
        self._max_texts = max_texts
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, sentence: str, parts: Sequence[EvidenceSpan]) -> list[float]:
        """One cosine per part."""
        texts = {sentence, *(part.text for part in parts)}
        with self._lock:
            found = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in texts if text not in found]
        if missing:
            found.update(zip(missing, self._embedder.embed(missing), strict=True))
        self._remember(found)
        return [float(found[part.text] @ found[sentence]) for part in parts]

    def _remember(self, found: Mapping[str, Vector]) -> None:
        """These are the last that were used; the oldest go."""
        with self._lock:
            for text, vector in found.items():
                self._known[text] = vector
                self._known.move_to_end(text)
            while len(self._known) > self._max_texts:
                self._known.popitem(last=False)
