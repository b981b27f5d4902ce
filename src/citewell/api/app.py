"""create_app: the pages and the API over one open library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.formparsers import MultiPartParser
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

import citewell
from citewell import web
from citewell.api import problem_responses
from citewell.api.bodies.events import data_schemas
from citewell.api.doors import cds_hooks, mcp_server, openai_chat, smart
from citewell.api.guard import Guard
from citewell.api.health import Health
from citewell.api.multipart import NEVER
from citewell.api.problems import PROBLEM, TITLES
from citewell.api.request_checks import known_names
from citewell.api.routes import (
    admin_documents,
    admin_journey_pages,
    admin_operations_pages,
    admin_pages,
    ask,
    ask_pages,
    assess,
    audit,
    audit_pages,
    chat,
    chat_pages,
    check_pages,
    consult,
    consult_pages,
    conversations,
    documents,
    evidence,
    evidence_pages,
    guideline_pages,
    guidelines,
    inbox,
    inbox_pages,
    journeys,
    library_pages,
    lifecycle,
    literature,
    literature_pages,
    oidc_pages,
    people,
    people_pages,
    records,
    records_facts_pages,
    records_pages,
    records_papers_pages,
    records_settings_pages,
    records_talks,
    search,
    search_pages,
    sign_in_pages,
    source_pages,
    status,
    trail,
    vaults,
)
from citewell.api.server_state import ServerState
from citewell.api.token_signer import TokenSigner
from citewell.api.vault_sessions import OpenVaults
from citewell.app import App

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
    for problem in COMMON:
        declared = operation["responses"].get(str(problem.value))
        if declared is None or problem is HTTPStatus.UNPROCESSABLE_ENTITY:
            response = {"description": TITLES.get(problem, problem.phrase), "content": content}
            if problem is HTTPStatus.TOO_MANY_REQUESTS:
                response["headers"] = {
                    "Retry-After": {
                        "schema": {"type": "integer"},
                        "description": "Seconds to wait before trying again.",
                    }
                }
            operation["responses"][str(problem.value)] = response


API = (
    ask,
    search,
    documents,
    lifecycle,
    admin_documents,
    journeys,
    literature,
    evidence,
    conversations,
    inbox,
    audit,
    trail,
    guidelines,
    assess,
    chat,
    vaults,
    records,
    records_talks,
    consult,
    people,
    status,
)
SHORT = (assess, chat)
DOORS = (openai_chat, cds_hooks)
"""Routes by the protocols of others, described in docs/doors.md and not in our schema."""
PAGES = (
    ask_pages,
    check_pages,
    inbox_pages,
    audit_pages,
    admin_pages,
    admin_journey_pages,
    admin_operations_pages,
    people_pages,
    search_pages,
    source_pages,
    chat_pages,
    guideline_pages,
    evidence_pages,
    consult_pages,
    records_pages,
    records_facts_pages,
    records_papers_pages,
    records_settings_pages,
    library_pages,
    literature_pages,
    sign_in_pages,
    oidc_pages,
    smart,
)
STATIC = Path(web.__file__).parent / "static"


class Assets(StaticFiles):
    """Styles and scripts: kept by the browser, asked for again each time, so that an upgrade shows at once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def shortened(router: APIRouter) -> APIRouter:
    """The same routes without the version in their paths, as the first users of these assistants call them."""
    short = APIRouter(route_class=router.route_class)
    for route in router.routes:
        assert isinstance(route, APIRoute)
        short.add_api_route(
            route.path.removeprefix(router.prefix),
            route.endpoint,
            methods=sorted(route.methods or ()),
            response_model=route.response_model,
            status_code=route.status_code,
            dependencies=route.dependencies,
        )
    return short


@cache
def _routers() -> tuple[list[APIRouter], list[APIRouter], list[APIRouter]]:
    """The routers that are documented, those without a version, and those of the pages."""
    return (
        [*(part.router for part in API), status.exposition],
        [*(shortened(part.router) for part in SHORT), *(door.router for door in DOORS)],
        [page.router for page in PAGES],
    )


@cache
def _routes() -> APIRouter:
    """Every route but the files; FastAPI analyses their parameters once for all sites of a process."""
    documented, short, pages = _routers()
    every = APIRouter()
    for router in documented:
        every.include_router(router, dependencies=[Depends(known_names)])
    for router in short:
        every.include_router(router, dependencies=[Depends(known_names)], include_in_schema=False)
    for router in pages:
        every.include_router(router, include_in_schema=False)
    return every


@cache
def _endpoints() -> tuple[APIRoute, ...]:
    return tuple(
        route for routers in _routers() for router in routers for route in router.routes if isinstance(route, APIRoute)
    )


def create_app(app: App, *, token: str, host: str | None = None) -> FastAPI:
    """The web site of an open library; whoever shows the token is its owner."""
    MultiPartParser.spool_max_size = NEVER  # other forms are in memory already; a patient's file must touch no disk
    keys = TokenSigner(token)
    here = ServerState(app, keys)
    safe = OpenVaults(here)
    patients = smart.SmartPatients()
    mcp = mcp_server.McpEndpoint(here)

    @asynccontextmanager
    async def lifespan(_site: FastAPI) -> AsyncIterator[None]:
        # Pages open at once; loading the model goes on beside them.
        loading = asyncio.create_task(asyncio.to_thread(here.start))
        yield
        await loading
        await mcp.close()
        await asyncio.to_thread(here.stop)
        await asyncio.to_thread(safe.close)
        patients.close()

    site = FastAPI(
        title="Citewell",
        version=citewell.__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        routes=_routes().routes,
    )
    site.state.site = here
    site.state.safe = safe
    site.state.smart = patients
    site.state.health = Health.of(here)
    site.openapi = partial(described, site)  # type: ignore[method-assign]
    site.router.routes.append(Route(mcp_server.PATH, mcp))
    site.mount("/static", Assets(directory=STATIC), name="static")
    problem_responses.install(site, _endpoints())
    records_pages.install(site)
    site.add_middleware(Guard, site=here, host=host or app.settings.host)
    return site
