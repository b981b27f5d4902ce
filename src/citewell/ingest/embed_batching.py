"""Texts of documents that are read side by side are embedded together: a batch is full sooner, and costs less."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from threading import Event
from types import TracebackType
from typing import Self

from citewell.errors import EmbedderRefused, EmbedderUnavailable, Unavailable
from citewell.ports import Embedder, Progress, Vectors

MAX_TEXTS = 4_096
"""Texts that are embedded together at most: no batch gets fuller beyond, and who came first would wait for all."""


@dataclass(frozen=True, slots=True)
class _Call:
    texts: Sequence[str]
    progress: Progress | None
    vectors: Future[Vectors] = field(default_factory=Future)


class BatchingEmbedder:
    """An embedder whose callers wait for one another: all who came during one computation make the next."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._waiting: deque[_Call] = deque()
        self._hand = ThreadPoolExecutor(1, "citewell-embedding")
        self._is_over = Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        self._hand.shutdown()

    def stop(self) -> None:
        """Answer nobody any more: what is computed is left half-way, and all who wait or come are told so."""
        self._is_over.set()

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """One vector per text, in the order given."""
        call = _Call(texts, progress)
        self._waiting.append(call)
        self._hand.submit(self._serve)
        return call.vectors.result()

    def _serve(self) -> None:
        """Answer all who wait; where their texts are refused, each alone, so that each is told only of its own."""
        calls = list(self._next())
        if calls and not self._is_answered(calls):
            for call in calls:
                self._is_answered([call])

    def _next(self) -> Iterator[_Call]:
        """Those who are answered together; each who comes has one turn made, so none is left."""
        many = 0
        while self._waiting and (many == 0 or many + len(self._waiting[0].texts) <= MAX_TEXTS):
            many += len(self._waiting[0].texts)
            yield self._waiting.popleft()

    def go_on(self) -> None:
        """CancelledError where it was stopped."""
        if self._is_over.is_set():
            raise CancelledError

    def _is_answered(self, calls: Sequence[_Call]) -> bool:
        def tell(done: int, total: int) -> None:
            self.go_on()
            for call in calls:
                if call.progress is not None:
                    call.progress(len(call.texts) * done // total, len(call.texts))

        try:
            self.go_on()
            vectors = self._embedder.embed([text for call in calls for text in call.texts], progress=tell)
        except BaseException as error:
            is_for_all = isinstance(error, Unavailable | EmbedderUnavailable | CancelledError) and not isinstance(
                error, EmbedderRefused
            )
            if len(calls) > 1 and not is_for_all:
                return False
            for call in calls:
                call.vectors.set_exception(error)
            return True
        bounds = accumulate((len(call.texts) for call in calls), initial=0)
        for call, (start, end) in zip(calls, pairwise(bounds), strict=True):
            call.vectors.set_result(vectors[start:end])
        return True
