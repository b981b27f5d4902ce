"""One table from errors to HTTP: a problem (RFC 9457) for programs, a calm page for people."""

from __future__ import annotations

import logging
import re
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from citewell import errors
from citewell.api.advise import advised, pieces
from citewell.api.auth import VISITOR
from citewell.api.bodies.base import UNKNOWN_FIELD
from citewell.web.pages import page
from citewell.web.phrases import advice

if TYPE_CHECKING:
    from citewell.api.visitor import Visitor

log = logging.getLogger(__name__)

PROBLEM = "application/problem+json"
SIGN_IN_FORM = "sign_in.html"

_ADDRESS = re.compile(r" at [a-z]+://[^\s,;)]*[^\s,;).:]")
_FOLDER = re.compile(r" \(/[^)]*\)| (?:in|at) /[^\s,;:()]*[^\s,;:().]")

FOR_PROGRAMS = ("/api/", "/metrics", "/assess", "/chat")
"""Where problems are told as JSON: the API, and the short paths of guidelines beside it."""

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


RULES = {
    "missing": "missing",
    "extra_forbidden": "not recognised",
    "string_too_long": "at most {max_length:,} characters",
    "string_too_short": "at least {min_length:,} characters",
    "string_pattern_mismatch": "not in the expected format",
    "string_type": "must be text",
    "int_parsing": "must be a whole number",
    "bool_type": "must be true or false",
    "too_long": "at most {max_length:,} items",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "json_invalid": "not valid JSON",
}
"""What is said of a part of a request, by the rule it breaks."""


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
    detail = (
        "Citewell hit an unexpected error and nothing was changed. Try again. If it keeps happening, "
        f"look in the log for reference {reference}."
    )
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
    part = "body" if item["type"] == "json_invalid" else str(item["loc"][-1])
    return part if rule is None else f"{part} ({rule.format_map(item.get('ctx', {}))})"


def _logged(error: Exception) -> str:
    """Note where an unexpected error came from, without its message, and give it a reference."""
    reference = uuid.uuid4().hex[:8]
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    places = " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in reversed(frames))
    log.error("unexpected %s (reference %s) at %s", type(error).__name__, reference, places)
    return reference


def answer(
    path: str, problem: Problem, *, form: Callable[[], Mapping[str, Any]] = dict, visitor: Visitor | None = None
) -> Response:
    """The problem as the asker can read it: with their menu, or with what the form asks for where they must sign in."""
    is_program = path.startswith(FOR_PROGRAMS)
    words = pieces(problem.detail)
    problem = replace(problem, detail=advised(problem.detail, is_program=is_program))
    if is_program:
        response: Response = JSONResponse(problem_json(problem), status_code=problem.status, media_type=PROBLEM)
    else:
        template = _template(path, problem)
        asked = form() if template == SIGN_IN_FORM else {}
        known = {} if visitor is None or asked else {"visitor": visitor, "csrf": visitor.csrf}
        response = page(template, status=problem.status, problem=problem, words=words, next=path, **asked, **known)
    if problem.status is HTTPStatus.UNAUTHORIZED and is_program:
        response.headers["WWW-Authenticate"] = "Bearer"
    if problem.retry_after_s is not None:
        response.headers["Retry-After"] = str(problem.retry_after_s)
    return response


def problem_json(problem: Problem) -> dict[str, Any]:
    """The problem as programs read it (RFC 9457)."""
    return {
        "type": "about:blank",
        "title": problem.title,
        "status": problem.status.value,
        "detail": problem.detail,
        "kind": problem.kind,
        **({"conversation_id": problem.conversation_id} if problem.conversation_id else {}),
    }


def _template(path: str, problem: Problem) -> str:
    if path.endswith("/panel"):
        return "panel_error.html"
    return SIGN_IN_FORM if problem.status is HTTPStatus.UNAUTHORIZED else "error.html"


def methods(path: str, routes: Iterable[APIRoute]) -> list[str]:
    """All that an address takes, by the routes that name it most closely: `…/actions` is no id of `…/{id}`."""
    found = [(len(one.param_convertors), one.methods) for one in routes if one.path_regex.match(path)]
    closest = min((holes for holes, _ in found), default=0)
    taken = {method for holes, named in found if holes == closest for method in named or ()}
    return sorted(taken) or ["GET", "HEAD"]  # files are only read


def install(site: FastAPI, routes: Sequence[APIRoute]) -> None:
    """Answer every expected error of the site; the guard answers the unexpected ones."""

    async def handle(request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        here, visitor = request.app.state.site, request.scope.get(VISITOR)
        problem = replace(problem, detail=advice(problem.detail, runs_site=here.is_run_by(visitor)))
        response = answer(request.url.path, problem, form=here.door.form, visitor=visitor)
        if problem.status is HTTPStatus.METHOD_NOT_ALLOWED:
            response.headers["Allow"] = ", ".join(methods(request.scope["path"], routes))
        return response

    for kind in (errors.CitewellError, Refused, RequestValidationError, HTTPException):
        site.add_exception_handler(kind, handle)
