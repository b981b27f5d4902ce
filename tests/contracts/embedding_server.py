"""A small server that speaks OpenAI's and Ollama's protocols for embeddings, as they document them."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIMENSIONS = 8
DIGEST = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"


@dataclass
class Behaviour:
    """How the server answers; the failures come first, one per request for embeddings."""

    failures: list[int | str] = field(default_factory=list)
    """HTTP statuses, `cut` for a connection that breaks, `words` for an answer that is no JSON."""
    headers: dict[str, str] = field(default_factory=dict)
    change: Callable[[list[list[float]]], Any] = lambda vectors: vectors
    place: Callable[[int], int] = lambda index: index
    """Which text OpenAI's answer says that a vector belongs to."""
    dimensions: int = DIMENSIONS
    embed: Callable[[list[str]], list[list[float]]] | None = None
    """Gives real vectors; without it, numbers that depend on the text alone."""
    batches: list[int] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)


class Handler(BaseHTTPRequestHandler):
    """`POST /v1/embeddings` as OpenAI documents it; `POST /api/embed` and `GET /api/tags` as Ollama does."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self._send(200, {"models": [{"model": "tiny:latest", "digest": DIGEST}]})

    def do_POST(self) -> None:
        behaviour = self.server.behaviour
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        behaviour.batches.append(len(body["input"]))
        behaviour.keys.add(self.headers["authorization"])
        failure = behaviour.failures.pop(0) if behaviour.failures else None
        if failure == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif failure == "words":
            self._send(200, "<html>not what was asked for</html>")
        elif isinstance(failure, int):
            self._send(failure, {"error": "the words of a document"})
        elif body["model"] not in ("tiny", "tiny:latest"):
            self._send(404, {"error": f"model {body['model']!r} not found"})
        else:
            embed = behaviour.embed or (lambda texts: [pseudo_vector(one, behaviour.dimensions) for one in texts])
            vectors = behaviour.change(embed(body["input"]))
            self._send(200, self._answer(vectors))

    def _answer(self, vectors: Any) -> Any:
        if self.path == "/api/embed":
            return {"model": "tiny", "embeddings": vectors}
        place = self.server.behaviour.place
        items = [{"object": "embedding", "index": place(index), "embedding": row} for index, row in enumerate(vectors)]
        return {"object": "list", "data": items[::-1], "model": "tiny", "usage": {"prompt_tokens": 1}}

    def _send(self, status: int, answer: Any) -> None:
        data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(status)
        for name, value in self.server.behaviour.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Embeds by hashing, unless it is told how."""

    behaviour: Behaviour

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


def pseudo_vector(text: str, dimensions: int) -> list[float]:
    """Numbers that depend on the text alone, of no particular length."""
    seed = int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest(), "little")
    return [float(number) for number in np.random.default_rng(seed).standard_normal(dimensions) * 3]


@contextmanager
def serving() -> Iterator[tuple[str, Behaviour]]:
    """A server on a free port, and how it behaves."""
    with Server(("127.0.0.1", 0), Handler) as server:
        server.behaviour = Behaviour()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.behaviour
        finally:
            server.shutdown()
            thread.join()
