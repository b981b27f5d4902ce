"""Vectors of texts that are read again and again, kept while they are in use; threads may share them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from citewell.ports import Embedder, Progress, Vector, Vectors
from citewell.types import EvidenceSpan

MAX_WORDS = 4
"""A longer text than a name may tell of a person, and is not kept."""
MAX_NAMES = 2_000
"""About 3 MB of vectors."""
MAX_TEXTS = 20_000
"""About 30 MB of vectors: the sentences of several long documents."""


class VectorCache:
    """An embedder that is asked once for a text; of those that are kept, the longest unused go."""

    def __init__(self, embedder: Embedder, most: int, is_kept: Callable[[str], bool] = lambda _: True) -> None:
        self._embedder, self._most, self._is_kept = embedder, most, is_kept
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, texts: Iterable[str], *, progress: Progress | None = None) -> dict[str, Vector]:
        """The unit vector of each text."""
        wanted = dict.fromkeys(texts)
        with self._lock:
            found = {text: self._known[text] for text in wanted if text in self._known}
        if missing := [text for text in wanted if text not in found]:
            found.update(zip(missing, self._embedder.embed(missing, progress=progress), strict=True))
        with self._lock:
            for text in filter(self._is_kept, found):
                self._known[text] = found[text]
                self._known.move_to_end(text)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return found


class CachedNames:
    """Another embedder that keeps short names: a consult looks for the same few diagnoses again and again."""

    def __init__(self, embedder: Embedder, *, max_names: int = MAX_NAMES) -> None:
        self._embedder = embedder
        self._cache = VectorCache(embedder, max_names, lambda text: len(text.split()) <= MAX_WORDS)

    @property
    def fingerprint(self) -> str:
        """That of the embedder behind it."""
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One unit vector per text, in the order given."""
        if not texts:
            return self._embedder.embed(texts, progress=progress)
        found = self._cache.vectors(texts, progress=progress)
        return np.stack([found[text] for text in texts])


class Likeness:
    """The cosine of a sentence with parts of a source, whose words are read many times."""

    def __init__(self, embedder: Embedder, *, max_texts: int = MAX_TEXTS) -> None:
        self._cache = VectorCache(embedder, max_texts)

    def __call__(self, sentence: str, parts: Sequence[EvidenceSpan]) -> list[float]:
        """One cosine per part."""
        found = self._cache.vectors([sentence, *(part.text for part in parts)])
        return [float(found[part.text] @ found[sentence]) for part in parts]
