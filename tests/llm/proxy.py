"""Stands before a real model server, passes its stream through as it comes, and damages the bytes on the way."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Damage = Callable[[Iterator[bytes]], Iterator[bytes]]
"""From the lines of the real stream to those that the client gets."""

DATA = b"data: "
DONE = b"[DONE]"


def untouched(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The real stream as it is."""
    return lines


def broken_json(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The JSON of every piece that brings words ends in its middle."""
    for line in lines:
        yield line[: len(line) // 2] + b"\n" if _words(line) is not None else line


def emptied(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Every piece comes, with no word in it, and a good end."""
    full, good = b'"finish_reason":"length"', b'"finish_reason":"stop"'
    return (line.replace(full, good) for line in _reworded(lines, lambda _words: ""))


def unmarked(lines: Iterator[bytes]) -> Iterator[bytes]:
    """All words come, and no bracket of a mark."""
    return _reworded(lines, lambda words: re.sub(r"[\[\]()]", "", words))


def before(words: str, *, then: Damage = untouched) -> Damage:
    """A sentence is put before the model's own words."""

    def damage(lines: Iterator[bytes]) -> Iterator[bytes]:
        is_put = False
        for line in lines:
            if not is_put and _words(line) is not None:
                yield _with_words(line, f"{words} ")
                yield b"\n"
                is_put = True
            yield from then(iter([line]))

    return damage


def instead(words: str) -> Damage:
    """A sentence stands in place of the model's own words; the rest of the stream is the real one."""
    return before(words, then=emptied)


def _reworded(lines: Iterator[bytes], change: Callable[[str], str]) -> Iterator[bytes]:
    for line in lines:
        words = _words(line)
        yield line if words is None else _with_words(line, change(words))


def _is_piece(line: bytes) -> bool:
    return line.startswith(DATA) and DONE not in line


def _words(line: bytes) -> str | None:
    """The words that a line of the stream brings, where it brings any."""
    if not _is_piece(line):
        return None
    choices = json.loads(line.removeprefix(DATA)).get("choices") or [{}]
    words = choices[0].get("delta", {}).get("content")
    return words if isinstance(words, str) and words else None


def _with_words(line: bytes, words: str) -> bytes:
    piece = json.loads(line.removeprefix(DATA))
    piece["choices"][0]["delta"]["content"] = words
    return DATA + json.dumps(piece).encode() + b"\n"


class Proxy(ThreadingHTTPServer):
    """Passes on to a real server; the next reply of a chat is damaged, and those after it are not."""

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.upstream = urlsplit(upstream)
        self.damage: Damage = untouched
        self.passed_on: list[bytes] = []
        """The words that the real model sent, piece by piece, before any damage."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.upstream.path}"

    def watched(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """The lines of the real stream, with its words written down."""
        for line in lines:
            words = _words(line)
            self.passed_on += [] if words is None else [words.encode()]
            yield line


class _Passing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def do_GET(self) -> None:
        with self._asked(None) as answer:
            data = answer.read()
            self._begin(answer, {"Content-Length": str(len(data))})
            self.wfile.write(data)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        damage, self.server.damage = self.server.damage, untouched
        with self._asked(body) as answer:
            self._begin(answer, {"Transfer-Encoding": "chunked"})
            for line in damage(self.server.watched(iter(answer.readline, b""))):
                self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

    @contextmanager
    def _asked(self, body: bytes | None) -> Iterator[HTTPResponse]:
        """The real server's answer to the same request."""
        upstream = self.server.upstream
        line = HTTPConnection(str(upstream.hostname), upstream.port)
        kept = {name: value for name, value in self.headers.items() if name in ("Content-Type", "Authorization")}
        line.request(self.command, self.path, body, kept)
        try:
            yield line.getresponse()
        except OSError:  # the client went away: so do we
            self.close_connection = True
        finally:
            line.close()

    def _begin(self, answer: HTTPResponse, headers: dict[str, str]) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def proxied(upstream: str) -> Iterator[Proxy]:
    """A proxy before a server, until the block ends."""
    proxy = Proxy(upstream)
    thread = threading.Thread(target=lambda: proxy.serve_forever(0.02), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
