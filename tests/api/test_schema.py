"""The schema tells the truth: whatever it allows is answered as it says, whatever it forbids is refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import DataObject, data, sampled_from
from schemathesis import Case, CheckFunction, GenerationMode
from schemathesis.python import asgi
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from starlette.testclient import TestClient

from citewell.api.app import API, create_app
from citewell.api.routes.status import exposition
from citewell.app import App, build
from citewell.config import Settings
from citewell.types import Role
from tests.api.things import Things

TOKEN = "a-token-for-tests"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1"}

pytestmark = pytest.mark.slow


# In an address, one word is a list of one: that `tag` was made something else than a list cannot be seen there.
UNTELLABLE = {("/api/v1/search", "get"): [negative_data_rejection]}

# What no schema can say, and the one way in which it may be refused: which bytes are a document, or a copy of a vault,
# that neighbours share at most half of a passage, and which fields a patient has who may be a FHIR bundle too.
UNSAYABLE = {
    ("/api/v1/documents", "post"): {"UnsupportedFile", "DamagedFile", "EmptyFile"},
    ("/api/v1/vaults/restore", "post"): {"InputError", "DamagedFile"},
    ("/api/v1/admin/documents/{document_id}", "patch"): {"InputError"},
    ("/api/v1/assess", "post"): {"InputError"},
    ("/api/v1/guidelines/related", "post"): {"InputError"},
}

EXAMPLES = int(os.environ.get("CITEWELL_EXAMPLES", "3"))
IS_THOROUGH = EXAMPLES >= 100

ANSWERED_S = 120
SEED = int(os.environ["CITEWELL_SEED"])
# Each run draws other cases, from the seed that its last lines name. `make schema` takes more of each with three
# seeds; `make soak` takes 100 of each, and the limits.
BOUNDED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def opened(samples_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A library with documents, a user, a conversation and a routed question."""
    home = tmp_path_factory.mktemp("schema") / "home"
    shutil.copytree(samples_home, home)
    with build(Settings(home=home, requests_per_minute=1_000_000, asks_per_minute=1_000_000)) as app:
        app.people.add(tenant="local", email="ann@local.example", name="Ann", role=Role.MEMBER, tags=["lung"])
        app.ask("who needs heparin bridging for AF")
        app.ask("Which nurse is in charge of warfarin today?")
        yield app


@pytest.fixture(scope="module")
def described(opened: App) -> BaseSchema:
    """The schema of its site."""
    site = create_app(opened, token=TOKEN)
    if not IS_THOROUGH:
        _without_long_limits(site.openapi())
    found = schemathesis.openapi.from_asgi("/api/v1/openapi.json", site, headers=HEADERS)
    # Who comes in without a key is test_access's matter; here everyone has one.
    found.config.generation.with_security_parameters = False
    return found


def _without_long_limits(node: object) -> None:
    """Takes away limits that no example reaches: to draw a text of a pattern up to 4,000 characters takes seconds."""
    if isinstance(node, dict) and isinstance(node.get("maxLength"), int) and node["maxLength"] > 1_000:
        del node["maxLength"]
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _without_long_limits(part)


@pytest.fixture(scope="module")
def client(described: BaseSchema) -> Iterator[asgi.ASGIClient]:
    """The same site, started once for all cases."""
    with asgi.get_client(described.app) as started:
        yield started


@pytest.fixture(scope="module")
def things(opened: App, client: asgi.ASGIClient) -> Things:
    """What its routes can name."""
    return Things(opened, TestClient(client.app, base_url="http://127.0.0.1", headers=HEADERS))


def operations(*, only_with_input: bool = False) -> list[tuple[str, str]]:
    routers = [*(part.router for part in API), exposition]
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    if only_with_input:
        routes = [route for route in routes if route.dependant.query_params or route.body_field]
    return sorted((route.path, method.lower()) for route in routes for method in route.methods)


def validated(
    case: Case,
    client: asgi.ASGIClient,
    *,
    excluded: Sequence[CheckFunction] = (),
    ids: Mapping[str, str] = MappingProxyType({}),
    key: str = TOKEN,
) -> None:
    """Send a case, perhaps to something that is there, and hold what comes back against the schema."""
    if ids:
        case.path_parameters = {**case.path_parameters, **ids}
        excluded = [*excluded, positive_data_acceptance]  # what is there may refuse what its state does not allow
    headers = {**HEADERS, "Authorization": f"Bearer {key}"}
    response = case.call(session=client, headers=headers, timeout=ANSWERED_S)
    refusals = UNSAYABLE.get((case.operation.path, case.operation.method.lower()), ())
    if refusals and response.status_code >= 400 and response.json()["kind"] in refusals:
        excluded = [*excluded, positive_data_acceptance]
    sent = {"session": client, "headers": headers, "timeout": ANSWERED_S}
    case.validate_response(response, excluded_checks=list(excluded), headers=headers, transport_kwargs=sent)


@pytest.mark.parametrize(("path", "method"), operations())
def test_a_route_answers_as_the_schema_says(
    described: BaseSchema, client: asgi.ASGIClient, path: str, method: str
) -> None:
    operation = described[path][method]

    @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    @seed(SEED)
    @BOUNDED
    def allowed(case: Case) -> None:
        validated(case, client)

    allowed()


@pytest.mark.parametrize(("path", "method"), operations(only_with_input=True))
def test_a_route_refuses_what_the_schema_forbids(
    described: BaseSchema, client: asgi.ASGIClient, path: str, method: str
) -> None:
    operation = described[path][method]

    @given(case=operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    @seed(SEED)
    @BOUNDED
    def forbidden(case: Case) -> None:
        validated(case, client, excluded=UNTELLABLE.get((path, method), []))

    forbidden()


@pytest.mark.parametrize(("path", "method"), [way for way in operations() if "{" in way[0]])
def test_a_route_answers_as_the_schema_says_about_what_is_there(
    described: BaseSchema, client: asgi.ASGIClient, things: Things, path: str, method: str
) -> None:
    operation = described[path][method]
    key = things.key if path.startswith(("/api/v1/keys", "/api/v1/sessions")) else TOKEN

    @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE), data=data())
    @seed(SEED)
    @BOUNDED
    def allowed(case: Case, data: DataObject) -> None:
        known = things.ids(path)
        ids = {name: data.draw(sampled_from(values)) for name, values in known.items() if values}
        validated(case, client, ids=ids, key=key)

    allowed()


@pytest.mark.skipif(not IS_THOROUGH, reason="part of `make soak`")
@pytest.mark.parametrize(("path", "method"), operations() if IS_THOROUGH else [("", "")])
def test_a_route_stands_what_is_at_and_over_its_limits(
    described: BaseSchema, client: asgi.ASGIClient, path: str, method: str
) -> None:
    """The coverage phase: every bound and type of the schema, media types and methods that are not declared."""
    operation = described[path][method]
    cases = described.iter_coverage_cases(
        operation,
        generation_modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE],
        generation_config=described.config.generation,
    )
    for case in cases:
        validated(case, client, excluded=UNTELLABLE.get((path, method), []))


def test_every_answer_that_can_come_is_declared(described: BaseSchema) -> None:
    raw = described.raw_schema
    assert {(path, method) for path, ways in raw["paths"].items() for method in ways} == set(operations())
    for ways in raw["paths"].values():
        for told in ways.values():
            for status in ("401", "403", "404", "422", "429", "500"):
                assert list(told["responses"][status]["content"]) == ["application/problem+json"]


def test_every_number_that_is_sent_has_a_limit_that_a_store_can_hold(described: BaseSchema) -> None:
    def integers(node: object, seen: frozenset[str]) -> Iterator[dict[str, object]]:
        if isinstance(node, list):
            for one in node:
                yield from integers(one, seen)
        if isinstance(node, dict):
            name = str(node.get("$ref", "")).rsplit("/", 1)[-1]
            if name and name not in seen:
                yield from integers(described.raw_schema["components"]["schemas"][name], seen | {name})
            if node.get("type") == "integer":
                yield node
            for one in node.values():
                yield from integers(one, seen)

    told = [way for ways in described.raw_schema["paths"].values() for way in ways.values()]
    sent = [
        one for way in told for one in integers([way.get("parameters", []), way.get("requestBody", {})], frozenset())
    ]
    assert sent
    assert not [one for one in sent if one.get("maximum") is None or one["maximum"] > 2**31 - 1]
