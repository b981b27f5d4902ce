"""What embedders behind a server share: batches, retries, checks, and unit rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from citewell.adapters.remote import RETRY_AFTER_S, Sleep, TransientFailure, place_of, spread
from citewell.errors import EmbedderRefused, EmbedderUnavailable
from citewell.minilm.tokenizer import encodable
from citewell.ports import Progress, Vectors

ANSWER_S = 120.0
"""A server on a CPU may take this long for one batch, loading its model included."""

BATCH_TEXTS = 64
_PROBE = "dimensions"

T = TypeVar("T")


class RemoteEmbedder(ABC):
    """An embedder behind a server; a vendor's class says only how to ask once."""

    vendor: str

    def __init__(self, model: str, *, url: str, sleep: Sleep) -> None:
        self.model = model
        self.url = url.rstrip("/")
        self._sleep = sleep

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Names vendor, model and dimensions."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections to the server."""

    @abstractmethod
    def _ask(self, texts: list[str]) -> Any:
        """What the server gives for one batch: a list of numbers per text; raises Transient where a retry may help."""

    @cached_property
    def dimensions(self) -> int:
        """The length of a vector, learnt from the server at first use."""
        return len(self._batch([_PROBE], None)[0])

    @property
    def place(self) -> str:
        """The vendor and its address, without any user or key that the address may hold."""
        return place_of(self.vendor, self.url)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One unit vector per text, in the order given; equal texts are asked for once."""
        places: dict[str, int] = {}
        rows = [places.setdefault(_sendable(text), len(places)) for text in texts]
        distinct = list(places)
        vectors = np.empty((len(distinct), self.dimensions), np.float32)
        for start in range(0, len(distinct), BATCH_TEXTS):
            batch = distinct[start : start + BATCH_TEXTS]
            vectors[start : start + len(batch)] = self._batch(batch, self.dimensions)
            if progress is not None and start + len(batch) < len(distinct):
                progress((start + len(batch)) * len(texts) // len(distinct), len(texts))
        if progress is not None:
            progress(len(texts), len(texts))
        return vectors[rows]

    def _batch(self, texts: list[str], dimensions: int | None) -> Vectors:
        """The unit vectors of one batch."""
        return self._checked(self._tried(lambda: self._ask(texts)), len(texts), dimensions)

    def _tried(self, call: Callable[[], T]) -> T:
        """The result of a call, after as many tries as are worth it."""
        for pause_s in RETRY_AFTER_S:
            try:
                return call()
            except TransientFailure as failure:
                wait_s = failure.wait_s
            self._sleep(spread(pause_s, wait_s))
        try:
            return call()
        except TransientFailure as failure:
            raise failure.error from failure

    def _checked(self, answer: Any, count: int, dimensions: int | None) -> Vectors:
        """The answer as unit rows, once it is what was asked for."""
        try:
            vectors: Vectors = np.array(answer, np.float32)
            found = vectors.shape
        except (TypeError, ValueError) as error:
            raise self._unreadable() from error
        if vectors.ndim != 2 or len(vectors) != count:
            raise self._unreadable()
        if dimensions is not None and found[1] != dimensions:
            raise EmbedderUnavailable(
                f"{self.place} returned vectors of {found[1]} numbers for {self.model}, but {dimensions} before. "
                "Check that one model serves all requests, then run the command again."
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise self._unreadable()
        unit: Vectors = vectors / lengths
        return unit

    def _unreadable(self) -> EmbedderUnavailable:
        return EmbedderUnavailable(
            f"{self.place} did not return one vector per text for {self.model}. Check that the address is right and "
            "that the model makes embeddings."
        )

    def _unreachable(self, start: str) -> TransientFailure:
        return TransientFailure(EmbedderUnavailable(f"{self.place} could not be reached. {start}"))

    def _refused(self, status: int, *, fetch: str, retry_after: str | None = None) -> Exception:
        """Our error for an HTTP status; the server's own words may repeat a text, so they are left out."""
        if status in (401, 403):
            return EmbedderUnavailable(f"{self.place} refused the key ({status}). Check CITEWELL_EMBEDDER_KEY.")
        if status == 404:
            return EmbedderUnavailable(f"{self.place} does not have the model {self.model}. {fetch}")
        if status in (408, 425, 429) or status >= 500:
            error = EmbedderUnavailable(
                f"{self.place} cannot embed at the moment ({status}). Run the command again in a minute. If it keeps "
                "failing, check the server's log."
            )
            return TransientFailure(error, retry_after=retry_after)
        return EmbedderRefused(
            f"{self.place} refused the request ({status}). Check the model's name and CITEWELL_EMBEDDER_URL."
        )


def _sendable(text: str) -> str:
    """The text, or a full stop for an empty one, which servers refuse."""
    return encodable(text) if text.strip() else "."
