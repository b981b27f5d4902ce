"""Problems as their readers get them: JSON for programs, and for people a calm page that names where to go next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from citewell.api.doors.openai_errors import error_json
from citewell.api.problems import AS_PROGRAM, PROBLEM, Problem, Refused, problem_of
from citewell.api.visitor import VISITOR, Visitor
from citewell.errors import CitewellError
from citewell.web.display_words import advice
from citewell.web.pages import page

SIGN_IN_FORM = "sign_in.html"
OPENAI = "/v1/"
FOR_PROGRAMS = ("/api/", "/metrics", "/assess", "/chat", "/mcp", "/cds-services", OPENAI)
"""Where problems are told as JSON: the API, and the short paths of guidelines beside it."""

WAYS: dict[str, tuple[str, str]] = {
    "list": ("GET /api/v1/documents", "Library"),
    "inbox": ("GET /api/v1/inbox", "Team inbox"),
    "conversations": ("GET /api/v1/conversations", "Ask"),
    "users list": ("GET /api/v1/users", "Admin"),
    "audit list": ("GET /api/v1/audit", "Audit"),
    "journeys list": ("GET /api/v1/journeys", "Evidence"),
    "guidelines list": ("GET /api/v1/guidelines", "Guidelines"),
    "guidelines add FILE": ("POST /api/v1/documents", "Library"),
    "consult list": ("GET /api/v1/consults", "Consult"),
    "consult show": ("GET /api/v1/consults/{consult_id}", "The consultation page"),
    "consult findings": ("GET /api/v1/consults/{consult_id}", "The consultation page"),
    "records facts": ("GET /api/v1/records/{vault}/facts", "Facts"),
    "records alerts": ("GET /api/v1/records/{vault}/alerts", "Alerts"),
    "records papers": ("GET /api/v1/records/{vault}/papers", "Documents"),
    "vault list": ("GET /api/v1/vaults", "My records"),
    "vault create": ("POST /api/v1/vaults", "My records"),
}
"""The command of a message, the route that does the same, and the page."""

TOOLS = {"list": "list_documents", "guidelines list": "guidelines"}
"""The command of a message, and the tool of assistants that does the same."""

_COMMAND = re.compile(r"`citewell (?P<command>[^`]+)`(?P<ids> shows the (?:names and )?IDs)?")


PAGES = {
    "Library": "/library",
    "Team inbox": "/inbox",
    "Ask": "/",
    "Admin": "/admin",
    "Audit": "/audit",
    "Evidence": "/evidence",
    "Guidelines": "/guidelines",
    "Consult": "/consult",
    "My records": "/records",
}
"""Where the pages are that a message may name."""


def advised(detail: str, *, is_program: bool) -> str:
    """The message with the ways that its reader has; commands that have none over HTTP stay.

    >>> advised("There is no such document here. `citewell list` shows the IDs.", is_program=True)
    'There is no such document here. `GET /api/v1/documents` shows the IDs.'
    >>> advised("There is no such document here. `citewell list` shows the IDs.", is_program=False)
    'There is no such document here. See Library.'
    """

    def way(match: re.Match[str]) -> str:
        if match["command"] not in WAYS:
            return match[0]
        route, page = WAYS[match["command"]]
        ids = match["ids"] or ""
        return f"`{route}`{ids}" if is_program else f"See {page.replace('The ', 'the ')}" if ids else page

    return _COMMAND.sub(way, detail)


def by_tools(detail: str) -> str:
    """The message for an assistant, which has tools and neither routes nor commands.

    >>> by_tools("Document not found. `citewell list` shows the IDs.")
    'Document not found. Use `list_documents`.'
    >>> by_tools("Conversation not found. `citewell conversations` shows the IDs.")
    'Conversation not found.'
    """
    sentences = []
    for sentence in re.split(r"(?<=\.) (?=[A-Z`])", detail):
        match = _COMMAND.search(sentence)
        tool = None if match is None else TOOLS.get(match["command"])
        if match is None:
            sentences.append(sentence)
        elif tool is not None:
            sentences.append(f"Use `{tool}`.")
    return " ".join(sentences)


def pieces(detail: str) -> list[tuple[str, str | None]]:
    """The message for a person in pieces, each with the address of the page that it names.

    >>> pieces("There is no such document here. `citewell list` shows the IDs.")
    [('There is no such document here. See ', None), ('Library', '/library'), ('.', None)]
    """
    parts: list[tuple[str, str | None]] = []
    at = 0
    for match in _COMMAND.finditer(detail):
        page = WAYS.get(match["command"], ("", ""))[1]
        words_of_page = advised(match[0], is_program=False)
        before, named, after = words_of_page.partition(page) if page in PAGES else (words_of_page, "", "")
        parts += [(f"{detail[at : match.start()]}{before}", None), (named, PAGES.get(page)), (after, None)]
        at = match.end()
    return [(words, to) for words, to in [*parts, (detail[at:], None)] if words]


def answer(
    path: str, problem: Problem, *, form: Callable[[], Mapping[str, Any]] = dict, visitor: Visitor | None = None
) -> Response:
    """The problem as the asker can read it: with their menu, or with what the form asks for where they must sign in."""
    is_program = path.startswith(FOR_PROGRAMS)
    words = pieces(problem.detail)
    told = AS_PROGRAM.get(problem.detail, problem.detail) if is_program else problem.detail
    problem = replace(problem, detail=advised(told, is_program=is_program))
    if is_program:
        response = _for_program(path, problem)
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


def _for_program(path: str, problem: Problem) -> Response:
    """The problem as the protocol of an address has it."""
    if path.startswith(OPENAI):
        status = HTTPStatus.BAD_REQUEST if problem.status is HTTPStatus.UNPROCESSABLE_ENTITY else problem.status
        return JSONResponse(error_json(status, problem.kind, problem.detail), status_code=status)
    return JSONResponse(problem_json(problem), status_code=problem.status, media_type=PROBLEM)


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
    matching = [(len(route.param_convertors), route.methods) for route in routes if route.path_regex.match(path)]
    closest = min((holes for holes, _ in matching), default=0)
    taken = {method for holes, named in matching if holes == closest for method in named or ()}
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

    for kind in (CitewellError, Refused, RequestValidationError, HTTPException):
        site.add_exception_handler(kind, handle)
