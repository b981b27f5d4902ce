"""Takes in the body of a request before anything reads it, so that no one can send more than is allowed."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from citewell.errors import TooLarge

TOO_LARGE = "The request is larger than what is taken here. Send less at a time."


def is_form_with_files(headers: Headers) -> bool:
    """Whether the body is an upload, which has limits of its own and is never held in memory."""
    return headers.get("content-type", "").startswith("multipart/form-data")


async def buffered(receive: Receive, *, max_bytes: int) -> Receive:
    """The same channel with its body read; what comes after the body is passed on as it comes."""
    parts: list[bytes] = []
    size, ended = 0, False
    while not ended:
        message = await receive()
        if message["type"] != "http.request":
            return _replayed(message, receive)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > max_bytes:
            raise TooLarge(TOO_LARGE)
        ended = not message.get("more_body", False)
    return _replayed({"type": "http.request", "body": b"".join(parts), "more_body": False}, receive)


def _replayed(first: Message, receive: Receive) -> Receive:
    waiting = [first]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message
