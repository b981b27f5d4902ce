"""Embeddings of any server that speaks OpenAI's protocol."""

from __future__ import annotations

import time
from typing import Any

from citewell.adapters.embedding.remote import ANSWER_S, RemoteEmbedder
from citewell.adapters.remote import CONNECT_S, Sleep, is_local

URL = "https://api.openai.com/v1"


class OpenAIEmbedder(RemoteEmbedder):
    """A model behind `POST /embeddings`; `url` is given up to and with its version, such as `…/v1`."""

    vendor = "The OpenAI-compatible server"

    def __init__(
        self, model: str, *, url: str | None = None, key: str | None = None, sleep: Sleep = time.sleep
    ) -> None:
        import httpx

        super().__init__(model, url=url or URL, sleep=sleep)
        self._httpx = httpx
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
            trust_env=not is_local(self.url),
        )

    @property
    def fingerprint(self) -> str:
        """Vendor, model and dimensions: the protocol tells no more of a model."""
        return f"openai:{self.model}:{self.dimensions}"

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    def _ask(self, texts: list[str]) -> Any:
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        try:
            response = self._client.post(f"{self.url}/embeddings", json=body)
        except self._httpx.TransportError as error:
            raise self._unreachable("Start it, or set CITEWELL_EMBEDDER_URL.") from error
        if response.status_code != 200:
            fetch = "Check CITEWELL_EMBEDDER_MODEL, and that CITEWELL_EMBEDDER_URL ends in /v1."
            raise self._refused(response.status_code, fetch=fetch, retry_after=response.headers.get("retry-after"))
        try:
            placed = sorted((item["index"], item["embedding"]) for item in response.json()["data"])
        except (ValueError, KeyError, TypeError) as error:
            raise self._unreadable() from error
        if [index for index, _ in placed] != list(range(len(texts))):  # else texts would get the vectors of others
            raise self._unreadable()
        return [vector for _, vector in placed]
