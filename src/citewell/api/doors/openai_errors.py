"""What went wrong, as clients of OpenAI's models read it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

ERROR_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}


def error_json(status: HTTPStatus, kind: str, message: str) -> dict[str, Any]:
    """The body of an error.

    >>> error_json(HTTPStatus.UNAUTHORIZED, "NotSignedIn", "Sign in.")["error"]["type"]
    'authentication_error'
    """
    usual = "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    return {"error": {"message": message, "type": ERROR_TYPES.get(status, usual), "param": None, "code": kind}}
