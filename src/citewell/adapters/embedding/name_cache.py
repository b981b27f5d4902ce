"""An embedder that keeps the vectors of short names: a consult looks for the same few diagnoses again and again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from citewell.ports import Embedder, Progress, Vector, Vectors

MAX_WORDS = 4
"""A longer text may tell of a person, and is not kept."""
MAX_NAMES = 2_000
"""About 3 MB of vectors."""


class CachedNames:
    """Another embedder, which is asked once for a name; threads may share one."""

    def __init__(self, embedder: Embedder, *, max_names: int = MAX_NAMES) -> None:
        self._embedder = embedder
        self._max_names = max_names
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """That of the embedder behind it."""
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One unit vector per text, in the order given."""
        with self._lock:
            found = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            found.update(zip(missing, self._embedder.embed(missing, progress=progress), strict=True))
            self._keep({text: found[text] for text in missing if len(text.split()) <= MAX_WORDS})
        if not texts:
            return self._embedder.embed(texts, progress=progress)
        return np.stack([found[text] for text in texts])

    def _keep(self, found: dict[str, Vector]) -> None:
        """The oldest go."""
        with self._lock:
            self._known |= found
            while len(self._known) > self._max_names:
                self._known.popitem(last=False)
