"""Small HTTP servers that speak the documented protocols of the vendors, and misbehave on demand."""

from __future__ import annotations

import json
import threading
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

PIECES = ("Take ", "5 mg ", "daily [S1].")


@dataclass
class Script:
    """What the server has, and how it answers."""

    models: tuple[str, ...]
    pieces: tuple[str, ...] = PIECES
    end: str | None = "stop"
    """How a reply ends: stop, length or filter; None: the protocol's end never comes."""
    is_torn: bool = False
    """The connection breaks after the pieces."""
    statuses: list[int] = field(default_factory=list)
    """Failures to answer with first, one per chat."""
    prompt_tokens: int | None = 40
    stalls_at: int | None = None
    """The piece before which the server falls silent until it is closed."""
    line: str | None = None
    """Sent as it is after the pieces, in place of the end."""
    body: str | None = None
    """Sent as it is with a failing status."""
    digest: str | None = "digest of {name}"
    """What an Ollama server says that its models are."""


@dataclass(frozen=True)
class Request:
    """What was asked."""

    path: str
    headers: dict[str, str]
    body: Any


class Vendor(BaseHTTPRequestHandler):
    """A protocol: what it answers to a chat, and to a question for its models."""

    protocol_version = "HTTP/1.1"
    server: Server
    chat_marks: ClassVar[tuple[str, ...]]
    media_type: ClassVar[str] = "text/event-stream"

    @abstractmethod
    def chat(self, script: Script) -> Iterator[str]:
        """The lines of a streamed reply."""

    @abstractmethod
    def listing(self, script: Script) -> Any:
        """The models; None where the server does not tell."""

    @abstractmethod
    def error(self, status: int) -> Any:
        """The body of a failure."""

    def model_of(self, body: Any) -> str:
        return str(body.get("model"))

    def other(self, body: Any) -> None:
        """Anything but a chat or a listing."""
        self.answer(404, self.error(404))

    def do_GET(self) -> None:
        self.server.requests.append(Request(self.path, dict(self.headers), None))
        script = self.server.script
        if script.statuses and "GET" in self.server.fails:
            self.answer(status := script.statuses.pop(0), script.body or self.error(status))
        else:
            listing = self.listing(script)
            self.answer(404, self.error(404)) if listing is None else self.answer(200, listing)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        self.server.requests.append(Request(self.path, dict(self.headers), body))
        script = self.server.script
        if not any(mark in self.path for mark in self.chat_marks):
            self.other(body)
        elif script.statuses:
            self.answer(status := script.statuses.pop(0), script.body or self.error(status))
        elif self.model_of(body) not in script.models:
            self.answer(404, self.error(404))
        else:
            self.stream(self.chat(script), is_torn=script.is_torn)

    def stream(self, lines: Iterator[str], *, is_torn: bool = False) -> None:
        self.send_response(200)
        self.send_header("Content-Type", self.media_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")  # a client must not send its next request into the closing of this one
        self.end_headers()
        try:
            for line in lines:
                data = line.encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            if not is_torn:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.server.left.set()
        self.close_connection = True

    def pieces(self, script: Script) -> Iterator[str]:
        """The pieces of the reply, with the silence where it was asked for."""
        for number, piece in enumerate((*script.pieces, None)):
            if number == script.stalls_at:
                self.server.closing.wait()
            if piece is not None:
                yield piece

    def answer(self, status: int, body: Any) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A vendor's server on a free port of this machine."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, vendor: type[Vendor], script: Script) -> None:
        super().__init__(("127.0.0.1", 0), vendor)
        self.script = script
        self.requests: list[Request] = []
        self.fails = {"POST"}
        self.closing = threading.Event()
        self.left = threading.Event()
        """Set when a client went away in the middle of a reply."""
        self._thread = threading.Thread(target=lambda: self.serve_forever(0.02), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def chats(self) -> list[Any]:
        """The bodies of all chats."""
        marks = self.RequestHandlerClass.chat_marks  # type: ignore[attr-defined]
        return [one.body for one in self.requests if any(mark in one.path for mark in marks)]

    def stop(self) -> None:
        self.closing.set()
        self.shutdown()
        self._thread.join()
        self.server_close()


class Ollama(Vendor):
    """https://github.com/ollama/ollama/blob/main/docs/api.md"""

    chat_marks = ("/api/chat",)
    media_type = "application/x-ndjson"

    def chat(self, script: Script) -> Iterator[str]:
        for piece in self.pieces(script):
            yield _line({"message": {"role": "assistant", "content": piece}, "done": False})
        if script.line is not None:
            yield script.line + "\n"
        elif script.end is not None:
            last: dict[str, Any] = {"message": {"role": "assistant", "content": ""}, "done": True}
            last["done_reason"] = script.end
            if script.prompt_tokens is not None:
                last["prompt_eval_count"] = script.prompt_tokens
            yield _line(last)

    def listing(self, script: Script) -> Any:
        return {
            "models": [
                {
                    "name": name,
                    "model": name,
                    "digest": script.digest and script.digest.format(name=name),
                    "size": 2_000_000_000,
                    "details": {},
                }
                for name in script.models
            ]
        }

    def error(self, status: int) -> Any:
        return {"error": f"the server's reason for {status}"}

    def other(self, body: Any) -> None:
        if self.path == "/api/show":
            self.answer(200, {"model_info": {"general.architecture": "llama", "llama.context_length": 131_072}})
        elif self.path == "/api/pull":
            self.stream(self.pull(body["model"]))

    def pull(self, name: str) -> Iterator[str]:
        script = self.server.script
        if name == "nothing:latest":
            yield _line({"error": "pull model manifest: file does not exist"})
            return
        yield _line({"status": "pulling manifest"})
        for done in (0, 500, 1_000):
            yield _line({"status": "pulling aabbcc", "digest": "sha256:aabbcc", "total": 1_000, "completed": done})
        if script.end is not None:
            yield _line({"status": "success"})
            script.models = (*script.models, name)


class OpenAI(Vendor):
    """https://platform.openai.com/docs/api-reference/chat-streaming"""

    chat_marks = ("/v1/chat/completions",)

    def chat(self, script: Script) -> Iterator[str]:
        for piece in self.pieces(script):
            yield _event({**_CHUNK, "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})
        if script.line is not None:
            yield f"data: {script.line}\n\n"
        elif script.end is not None:
            reason = {"filter": "content_filter"}.get(script.end, script.end)
            yield _event({**_CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
            tokens = script.prompt_tokens or 0
            usage = {"prompt_tokens": tokens, "completion_tokens": 3, "total_tokens": tokens + 3}
            yield _event({**_CHUNK, "choices": [], "usage": usage})
            yield "data: [DONE]\n\n"

    def listing(self, script: Script) -> Any:
        rows = [{"id": name, "object": "model", "created": 1, "owned_by": "test"} for name in script.models]
        return {"object": "list", "data": [{**row, "max_model_len": 131_072} for row in rows]}

    def error(self, status: int) -> Any:
        return {"error": {"message": "the server's reason", "type": "its_type", "code": "its_code", "param": None}}


class Anthropic(Vendor):
    """https://platform.claude.com/docs/en/build-with-claude/streaming"""

    chat_marks = ("/v1/messages",)

    def chat(self, script: Script) -> Iterator[str]:
        message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": script.models[0]}
        usage = {"input_tokens": script.prompt_tokens or 0, "output_tokens": 1}
        yield _named("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})
        yield _named("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield _named("ping")
        for piece in self.pieces(script):
            yield _named("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        if script.line is not None:
            yield f"event: content_block_delta\ndata: {script.line}\n\n"
        elif script.end is not None:
            reason = {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"}[script.end]
            yield _named("content_block_stop", index=0)
            delta = {"stop_reason": reason, "stop_sequence": None}
            yield _named("message_delta", delta=delta, usage={"output_tokens": 3})
            yield _named("message_stop")

    def listing(self, script: Script) -> Any:
        rows = [
            {
                "id": name,
                "type": "model",
                "display_name": name,
                "created_at": "2026-01-01T00:00:00Z",
                "lifecycle": "active",
                "max_input_tokens": 131_072,
            }
            for name in script.models
        ]
        return {"data": rows, "has_more": False, "first_id": None, "last_id": None}

    def error(self, status: int) -> Any:
        return {"type": "error", "error": {"type": "its_type", "message": "the server's reason"}}


class Google(Vendor):
    """https://ai.google.dev/api/generate-content"""

    chat_marks = (":streamGenerateContent",)

    def model_of(self, body: Any) -> str:
        return self.path.rpartition("/")[2].partition(":")[0]

    def chat(self, script: Script) -> Iterator[str]:
        for piece in self.pieces(script):
            yield _event({"candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}, "index": 0}]})
        if script.line is not None:
            yield f"data: {script.line}\n\n"
        elif script.end is not None:
            reason = {"stop": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"}[script.end]
            usage = {"promptTokenCount": script.prompt_tokens, "candidatesTokenCount": 3}
            yield _event({"candidates": [{"finishReason": reason, "index": 0}], "usageMetadata": usage})

    def listing(self, script: Script) -> Any:
        return {"models": [{"name": f"models/{name}", "inputTokenLimit": 131_072} for name in script.models]}

    def error(self, status: int) -> Any:
        return {"error": {"code": status, "message": "the server's reason", "status": "ITS_STATUS"}}


_CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def _line(value: Any) -> str:
    return json.dumps(value) + "\n"


def _event(value: Any) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _named(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"
