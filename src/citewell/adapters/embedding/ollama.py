"""Embeddings of an Ollama server, through its official client."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from citewell.adapters.embedding.remote import ANSWER_S, RemoteEmbedder, T
from citewell.adapters.remote import CONNECT_S, Sleep, is_local, vendor_package

URL = "http://127.0.0.1:11434"
_START = "Start it with `ollama serve`, or set CITEWELL_EMBEDDER_URL."


class OllamaEmbedder(RemoteEmbedder):
    """A model of an Ollama server."""

    vendor = "Ollama"

    def __init__(self, model: str, *, url: str | None = None, sleep: Sleep = time.sleep) -> None:
        super().__init__(model, url=url or URL, sleep=sleep)
        self._ollama = vendor_package("ollama", "Ollama's client", extra="ollama")
        self._httpx = vendor_package("httpx", "Ollama's client", extra="ollama")
        self._client: Any = self._ollama.Client(
            host=self.url, timeout=self._httpx.Timeout(ANSWER_S, connect=CONNECT_S), trust_env=not is_local(self.url)
        )

    @cached_property
    def fingerprint(self) -> str:
        """Vendor, model, the digest of its weights, and dimensions."""
        return f"ollama:{self.model}:{self._digest()}:{self.dimensions}"

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    def _ask(self, texts: list[str]) -> Any:
        return self._called(lambda: self._client.embed(model=self.model, input=texts).embeddings)

    def _digest(self) -> str:
        """The start of the digest of the model's files, as the server lists it."""
        name = self.model if ":" in self.model else f"{self.model}:latest"
        for found in self._tried(lambda: self._called(lambda: self._client.list().models)):
            if found.model == name and found.digest:
                return str(found.digest).removeprefix("sha256:")[:12]
        raise self._refused(404, fetch=self._fetch)

    def _called(self, call: Callable[[], T]) -> T:
        """A call of the client, its errors made ours."""
        try:
            return call()
        except self._ollama.ResponseError as error:
            raise self._refused(error.status_code, fetch=self._fetch) from error
        except (ConnectionError, self._httpx.TransportError) as error:
            raise self._unreachable(_START) from error
        except ValueError as error:
            raise self._unreadable() from error

    @property
    def _fetch(self) -> str:
        return f"Download it with `ollama pull {self.model}`."
