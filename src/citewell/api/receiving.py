"""Takes in the body of a request before anything reads it, so that no one can send more than is allowed."""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus

from starlette.types import Message, Receive

from citewell.api.errors import Problem, Refused
from citewell.errors import TooLarge

BODY_S = 30.0
"""So long a body may take to arrive: a client that sends a byte now and then must not hold a place for ever."""
TOO_SLOW = Problem(
    HTTPStatus.REQUEST_TIMEOUT, "TooSlow", "The request did not arrive within 30 seconds. Send it again."
)
TOO_LARGE = "The request is too large. Send less at a time."


UPLOADS = re.compile(
    "/library|/api/v1/documents|/documents/[^/]+/version|(/api/v1)?/records/[^/]+/import"
    "|/records/restore|/api/v1/vaults/restore"
)
"""The routes that take files."""


BUNDLES = re.compile("/consult|/api/v1/consults/[^/]+/record")
"""The routes that take a patient's record within their body."""
MAX_BUNDLE_BYTES = 32 * 1024 * 1024


def limit_of(path: str, usual: int) -> int:
    """How many bytes the body of a request may have.

    >>> limit_of("/consult", 512), limit_of("/consult/1/say", 512)
    (33554432, 512)
    """
    return max(usual, MAX_BUNDLE_BYTES) if BUNDLES.fullmatch(path) else usual


def is_upload(method: str, path: str) -> bool:
    """Whether a route reads the body itself, with limits of its own: files are never held in memory.

    >>> is_upload("POST", "/library"), is_upload("POST", "/sign-in"), is_upload("PUT", "/library")
    (True, False, False)
    """
    return method == "POST" and UPLOADS.fullmatch(path) is not None


async def buffered(receive: Receive, *, max_bytes: int) -> Receive:
    """The same channel with its body read; what comes after the body is passed on as it comes."""
    try:
        async with asyncio.timeout(BODY_S):
            return await _buffered(receive, max_bytes)
    except TimeoutError:
        raise Refused(TOO_SLOW) from None


async def _buffered(receive: Receive, max_bytes: int) -> Receive:
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
