"""Errors are told in one way, and nothing is told that should stay inside."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from pathlib import Path

import httpx
import pytest
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

import citewell
from citewell import errors
from citewell.adapters.store.engine import plain_errors
from citewell.api.app import create_app
from citewell.api.problems import STATUS, problem_of
from citewell.app import App
from citewell.ingest.retries import PermanentFailure, RetryLater, judge
from citewell.types import Role
from tests.api.conftest import TOKEN

BEARER = {"Authorization": "Bearer a-token-for-tests"}
SECRET = "Mrs Example has an INR of 9"


def family(kind: type[Exception]) -> list[type[Exception]]:
    return [kind, *(member for child in kind.__subclasses__() for member in family(child))]


@pytest.mark.parametrize("kind", family(errors.CitewellError))
def test_every_error_of_ours_has_a_status_and_keeps_its_words(kind: type[Exception]) -> None:
    problem = problem_of(kind("Do this next."))
    assert problem.status in STATUS.values()
    assert (problem.kind, problem.detail) == (kind.__name__, "Do this next.")


SEEDS = {
    "ContextError": errors.EmbedderUnavailable,
    "LLMConnectionError": errors.LLMConnectionError,
    "LLMTimeoutError": errors.LLMTimeoutError,
    "ModelNotAllowedError": errors.ModelNotAllowedError,
    "ModelUnavailableError": errors.ModelUnavailableError,
    "TokenBudgetExceededError": errors.TokenBudgetExceededError,
}


@pytest.mark.parametrize(("name", "raised"), SEEDS.items())
def test_whoever_catches_a_question_that_failed_by_the_names_of_the_specification_catches_ours(
    name: str, raised: type[Exception]
) -> None:
    assert issubclass(raised, getattr(errors, name))
    assert issubclass(getattr(errors, name), errors.RAGServiceError)
    assert issubclass(errors.RAGServiceError, errors.CitewellError)


@pytest.mark.parametrize("path", ["/", "/library", "/api/v1/documents"])
def test_an_unexpected_error_tells_a_reference_and_nothing_else(
    empty: httpx.Client, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_args: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(App, "entries", broken)
    with caplog.at_level(logging.DEBUG):
        answer = empty.get(path, headers=BEARER)
    assert answer.status_code == 500
    assert "reference" in answer.text
    assert answer.headers["cache-control"] == "no-store"
    for told in (answer.text, caplog.text):
        assert SECRET not in told
        assert "Traceback" not in told
    assert "unexpected RuntimeError" in caplog.text


def test_a_request_that_cannot_be_used_is_not_repeated_in_the_answer(empty: httpx.Client) -> None:
    answer = empty.get("/api/v1/search", params={"q": SECRET, "limit": "Mrs Example"}, headers=BEARER)
    assert answer.status_code == 422
    assert answer.json() == {
        "type": "about:blank",
        "title": "Invalid input",
        "status": 422,
        "detail": "Check these parts of the request: limit (must be a whole number).",
        "kind": "InputError",
    }


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/documents/unknown",
        "/api/v1/documents/unknown/file",
        "/api/v1/documents/unknown/pages/1.png",
        "/api/v1/documents/unknown/text",
        "/api/v1/documents/unknown/boxes?start=0&end=1",
        "/api/v1/nothing",
        "/documents/unknown",
        "/documents/unknown/source?chunk=0",
        "/documents/unknown/panel",
        "/documents/unknown/row",
        "/documents/delete?id=unknown",
        "/nowhere",
        "/documents/%00",
        "/documents/%E0%80",
    ],
)
def test_what_is_not_there_is_not_found(empty: httpx.Client, path: str) -> None:
    answer = empty.get(path, headers=BEARER)
    is_api = path.startswith("/api/")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == ("application/problem+json" if is_api else "text/html; charset=utf-8")
    assert "unknown" not in answer.text


@pytest.mark.parametrize("path", ["/nowhere", "/documents/nothing"])
def test_who_is_signed_in_keeps_the_menu_where_nothing_is(empty: httpx.Client, path: str) -> None:
    page = empty.get(path, headers=BEARER).text
    assert 'aria-label="Main"' in page
    assert '<a href="/library">' in page
    assert 'aria-label="Main"' not in empty.get(path).text


def test_an_address_that_is_mistyped_is_told_to_be_no_page(empty: httpx.Client) -> None:
    page = empty.get("/serach", headers=BEARER).text
    assert "Page not found. Check the address." in page
    assert "deleted" not in page


def test_who_may_not_do_a_thing_keeps_the_menu_of_what_they_may(tmp_path: Path) -> None:
    with citewell.open(tmp_path) as app:
        ann = app.people.add(tenant="local", email="ann@x.example", name="", role=Role.READER, tags=())
        _, key = app.people.add_key(ann.id, tenant="local", name="tests")
        site = TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1")
        answer = site.get("/admin", headers={"Authorization": f"Bearer {key}"})
    assert (answer.status_code, "Your role does not allow this." in answer.text) == (403, True)
    assert '<a href="/search">' in answer.text
    assert '"/admin' not in answer.text


def test_a_method_that_is_not_there_is_told(empty: httpx.Client) -> None:
    assert empty.put("/api/v1/documents", headers=BEARER).json()["kind"] == "MethodNotAllowed"


def test_the_empty_library_says_what_to_do_first(empty: httpx.Client) -> None:
    assert "Add documents" in empty.get("/", headers=BEARER).text
    page = empty.get("/library", headers=BEARER).text
    assert "No documents yet" in page
    assert "Add samples" in page


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/documents/some-id", "DELETE, GET, PATCH"),
        ("DELETE", "/api/v1/ask", "POST"),
        ("DELETE", "/api/v1/admin/documents/actions", "POST"),
        ("DELETE", "/library", "GET, POST"),
        ("PUT", "/static/ask.js", "GET, HEAD"),
    ],
)
def test_what_cannot_be_done_at_an_address_comes_with_what_can(
    empty: httpx.Client, method: str, path: str, allowed: str
) -> None:
    answer = empty.request(method, path, headers=BEARER)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/api/v1/documents/nothing", "`GET /api/v1/documents` shows the IDs."),
        ("/api/v1/conversations/nothing", "`GET /api/v1/conversations` shows the IDs."),
        ("/api/v1/audit/nothing", "`GET /api/v1/audit` shows the IDs."),
        ("/api/v1/inbox/nothing", "`GET /api/v1/inbox` shows the IDs."),
        ("/documents/nothing/source", 'See <a href="/library">Library</a>.'),
    ],
)
def test_what_is_not_there_comes_with_a_way_over_http(empty: httpx.Client, path: str, told: str) -> None:
    answer = empty.get(path, headers=BEARER)
    assert answer.status_code == 404
    assert told in answer.text
    assert "citewell " not in answer.text.replace("citewell serve", "")


def test_a_text_is_held_against_one_thing_at_a_time(empty: httpx.Client) -> None:
    both = {"text": "Iron is red.", "against": "some-id", "evidence": "Iron is red."}
    answer = empty.post("/api/v1/check", json=both, headers=BEARER)
    assert (answer.status_code, answer.json()["kind"]) == (422, "InputError")
    assert "not both" in answer.json()["detail"]


@pytest.mark.parametrize(
    "words", ["database or disk is full", "database is locked", "attempt to write a readonly database", "what else"]
)
def test_no_folder_of_the_server_is_told_over_http(tmp_path: Path, words: str) -> None:
    home = tmp_path / "our files (new)"
    with pytest.raises(errors.LibraryError) as raised, plain_errors(home / "library.sqlite"):
        raise OperationalError("INSERT", {}, sqlite3.OperationalError(words))
    assert str(home) in str(raised.value)  # who is at the machine needs it
    told = problem_of(raised.value).detail
    assert "our files" not in told
    assert "/" not in told
    assert "  " not in told
    match judge(raised.value, attempts=1, chance=lambda: 0.5):
        case RetryLater(_, message) | PermanentFailure(message):
            assert "our files" not in message  # a document's error is shown to whoever may see the document


def test_a_server_on_a_full_disk_is_not_ready_and_says_so(
    empty: httpx.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert empty.get("/api/v1/health/ready", headers=BEARER).json()["parts"]["store"]["state"] == "ok"
    empty.app.state.health._known.clear()  # type: ignore[attr-defined]
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: usage._replace(free=4_096))
    answer = empty.get("/api/v1/health/ready", headers=BEARER)
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    store = answer.json()["parts"]["store"]
    assert (store["state"], "disk of the library is full" in store["detail"]) == ("failed", True)
    assert str(tmp_path) not in answer.text
