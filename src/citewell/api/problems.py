"""One table from errors to HTTP: what went wrong as a problem (RFC 9457), in words that tell nothing of a document."""

from __future__ import annotations

import logging
import re
import traceback
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from citewell import errors
from citewell.adapters.store.engine import KEPT
from citewell.api.bodies.base import UNKNOWN_FIELD

log = logging.getLogger(__name__)

PROBLEM = "application/problem+json"

_ADDRESS = re.compile(r" at [a-z]+://[^\s,;)]*[^\s,;).:]")
_FOLDER = re.compile(r" \(/[^)]{0,200}\)| (?:in|at) /[^\s,;:()]*[^\s,;:().]")

STATUS: dict[type[Exception], HTTPStatus] = {
    errors.InputError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.UnsupportedFile: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    errors.AlreadyThere: HTTPStatus.CONFLICT,
    errors.DoesNotFit: HTTPStatus.CONFLICT,
    errors.TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.ScopeRefused: HTTPStatus.FORBIDDEN,
    errors.SignInRefused: HTTPStatus.UNAUTHORIZED,
    errors.ChangedMeanwhile: HTTPStatus.CONFLICT,
    errors.EmbedderMismatch: HTTPStatus.CONFLICT,
    errors.NoModel: HTTPStatus.CONFLICT,
    errors.ModelNotAllowedError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.LibraryError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.LibraryBusy: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.LibraryUnreachable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.TokenBudgetExceededError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.DiskFull: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.LibraryReadOnly: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.VaultError: HTTPStatus.FORBIDDEN,
    errors.VaultWaits: HTTPStatus.TOO_MANY_REQUESTS,
    errors.VaultLocked: HTTPStatus.LOCKED,
    errors.Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.RAGServiceError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.ClientGone: HTTPStatus.REQUEST_TIMEOUT,
    errors.MissingExtra: HTTPStatus.NOT_IMPLEMENTED,
    errors.CitewellError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""The nearest class in an error's family decides."""

TITLES = {
    HTTPStatus.BAD_REQUEST: "Invalid request",
    HTTPStatus.UNAUTHORIZED: "Sign in",
    HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.METHOD_NOT_ALLOWED: "Not available here",
    HTTPStatus.CONFLICT: "Conflicts with existing data",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Too large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "File type not supported",
    HTTPStatus.MISDIRECTED_REQUEST: "Wrong address",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Invalid input",
    HTTPStatus.LOCKED: "Record locked",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests",
    HTTPStatus.SERVICE_UNAVAILABLE: "Temporarily unavailable",
    HTTPStatus.INSUFFICIENT_STORAGE: "Could not save",
}

WHAT_TO_DO = {
    HTTPStatus.NOT_FOUND: "Page not found. Check the address.",
    HTTPStatus.METHOD_NOT_ALLOWED: "That action is not available at this address. Go back and try another way.",
    HTTPStatus.BAD_REQUEST: "The request could not be understood. Go back and try again.",
}


FROM_ANOTHER_SITE = "This request came from another site, so nothing was done. Go back and try again."
AS_PROGRAM = {
    WHAT_TO_DO[HTTPStatus.NOT_FOUND]: "Nothing is at this address. Check the path.",
    WHAT_TO_DO[
        HTTPStatus.METHOD_NOT_ALLOWED
    ]: "This address does not take that method. The Allow header lists those it takes.",
    WHAT_TO_DO[HTTPStatus.BAD_REQUEST]: "The request could not be understood. Check that its body is valid JSON.",
    FROM_ANOTHER_SITE: "This request came from a page of another site, so nothing was done. Send it from a program, "
    "without an Origin header.",
}
"""What a program reads where a person is told how to go on in a browser."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong, for whoever asked."""

    status: HTTPStatus
    kind: str
    detail: str
    retry_after_s: int | None = None
    conversation_id: str | None = None
    """Where the question was kept, to be asked again."""

    @property
    def title(self) -> str:
        return TITLES.get(self.status, "Something went wrong")


NOT_OUR_FORM = Problem(
    HTTPStatus.FORBIDDEN,
    "NotOurForm",
    "The form was out of date or did not come from this site, so nothing was done. Reload the page and try again.",
)


UNCHANGED = "Citewell hit an unexpected error and nothing was changed. Try again."
PARTLY_KEPT = (
    "Citewell hit an unexpected error after some of this was saved. Reload and look at what is there before you try "
    "again."
)

RULES = {
    "missing": "missing",
    "extra_forbidden": "not recognised",
    "string_too_long": "at most {max_length:,} characters",
    "string_too_short": "at least {min_length:,} characters",
    "string_pattern_mismatch": "not in the expected format",
    "string_type": "must be text",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "date_from_datetime_parsing": "must be a date such as 2025-03-31",
    "date_parsing": "must be a date such as 2025-03-31",
    "too_long": "at most {max_length:,} items",
    "too_short": "at least {min_length:,} items",
    "greater_than": "more than {gt}",
    "less_than": "less than {lt}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "json_invalid": "not valid JSON",
}
"""What is said of a part of a request, by the rule it breaks."""


_KINDS = frozenset({"str", "int", "float", "bool", "list", "dict"})
"""What stands in the place of a part for each kind that it may have."""


class Refused(Exception):
    """A request that goes no further, with what to tell its sender."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.kind)
        self.problem = problem


def problem_of(error: Exception) -> Problem:
    """The problem that an error is; only our own errors speak, since others may quote a document."""
    if isinstance(error, errors.CitewellError):
        status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
        wait_s = error.wait_s if isinstance(error, errors.VaultWaits) else None
        return Problem(status, type(error).__name__, without_addresses(error.told), wait_s, error.conversation_id)
    if isinstance(error, Refused):
        return error.problem
    if isinstance(error, RequestValidationError):
        return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "InputError", _wrong_parts(error.errors()))
    if isinstance(error, HTTPException):
        status = HTTPStatus(error.status_code)
        return Problem(status, status.phrase.replace(" ", ""), WHAT_TO_DO.get(status, status.phrase))
    reference = _logged(error)
    told = UNCHANGED if not KEPT.get([]) else PARTLY_KEPT
    detail = f"{told} If it keeps happening, look in the log for reference {reference}."
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "Unexpected", detail)


def without_addresses(text: str) -> str:
    """A message without the servers behind this one and its folders: who operates them knows, and others need not.

    >>> without_addresses("Ollama at http://10.0.0.7:11434 cannot be reached. Start it.")
    'Ollama cannot be reached. Start it.'
    >>> without_addresses("The entailment model in /srv/models cannot be read. Put a classifier there.")
    'The entailment model cannot be read. Put a classifier there.'
    """
    return _FOLDER.sub("", _ADDRESS.sub("", text))


def _wrong_parts(items: Sequence[Mapping[str, Any]]) -> str:
    """The fields that are not known, else what breaks another rule."""
    if unknown := [str(item["ctx"]["told"]) for item in items if item["type"] == UNKNOWN_FIELD]:
        return " ".join(dict.fromkeys(unknown))
    return f"Check these parts of the request: {', '.join(dict.fromkeys(map(_wrong, items)))}."


def _wrong(item: Mapping[str, Any]) -> str:
    """A part of a request and the rule it broke, in words of our own: others may quote what was sent."""
    rule = RULES.get(item["type"])
    named = [str(part) for part in item["loc"] if isinstance(part, str) and part.isidentifier() and part not in _KINDS]
    part = "body" if item["type"] == "json_invalid" or not named else named[-1]
    return part if rule is None else f"{part} ({rule.format_map(item.get('ctx', {}))})"


def _logged(error: Exception) -> str:
    """Note where an unexpected error came from, without its message, and give it a reference."""
    reference = uuid.uuid4().hex[:8]
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    places = " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in reversed(frames))
    log.error("unexpected %s (reference %s) at %s", type(error).__name__, reference, places)
    return reference
