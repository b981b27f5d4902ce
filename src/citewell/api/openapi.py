"""The schema of the API: what FastAPI knows of each route, and what holds for all of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from citewell.api.bodies.events import data_schemas
from citewell.api.problems import PROBLEM, TITLES

ANYONE = ("/api/v1/health",)
PROBLEM_SCHEMA = {
    "title": "Problem",
    "description": "What went wrong and what to do next (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail", "kind"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "kind": {"type": "string", "description": "The name of the error, for programs."},
        "conversation_id": {"type": "string", "description": "Where the unanswered question was saved."},
    },
}
SECURITY = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key (cw_…), or the token in the link that `citewell serve` printed.",
    },
}
COMMON = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.INSUFFICIENT_STORAGE,
)
"""What any route may answer besides its own."""


def described(site: FastAPI) -> dict[str, Any]:
    """The whole schema, made once."""
    if site.openapi_schema is None:
        schema = get_openapi(title=site.title, version=site.version, description=site.description, routes=site.routes)
        for path, operations in schema["paths"].items():
            for operation in operations.values():
                _declare_problems(operation)
                operation["security"] = [] if path.startswith(ANYONE) else [{"key": []}]
        components = schema.setdefault("components", {})
        components["securitySchemes"] = SECURITY
        shapes = components.setdefault("schemas", {})
        shapes["Problem"] = PROBLEM_SCHEMA
        shapes.update({name: shape for name, shape in data_schemas().items() if name not in shapes})
        for unused in ("HTTPValidationError", "ValidationError"):
            shapes.pop(unused, None)
        site.openapi_schema = schema
    return site.openapi_schema


def _declare_problems(operation: dict[str, Any]) -> None:
    content = {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status in COMMON:
        declared = operation["responses"].get(str(status.value))
        if declared is None or status is HTTPStatus.UNPROCESSABLE_ENTITY:
            response = {"description": TITLES.get(status, status.phrase), "content": content}
            if status is HTTPStatus.TOO_MANY_REQUESTS:
                response["headers"] = {
                    "Retry-After": {
                        "schema": {"type": "integer"},
                        "description": "Seconds to wait before trying again.",
                    }
                }
            operation["responses"][str(status.value)] = response
