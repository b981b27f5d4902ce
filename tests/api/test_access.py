"""Who may come in, from where, and what every answer carries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

import citewell
from citewell.api.app import create_app

TOKEN = "a-token-for-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
SOMEWHERE = "550e8400-e29b-41d4-a716-446655440000"
PAGES = ("/", "/search?q=fever", "/library", f"/documents/{SOMEWHERE}", f"/documents/{SOMEWHERE}/source")


def sign_in(client: httpx.Client) -> None:
    assert client.get(f"/?token={TOKEN}").status_code == 303


def csrf_of(client: httpx.Client) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', client.get("/library").text)
    assert found is not None
    return found.group(1)


@pytest.fixture(scope="module")
def signed_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Somebody in an empty library, for requests that are all refused; each sends the proof of our form or does not."""
    with citewell.open(tmp_path_factory.mktemp("refusing")) as app:
        site = create_app(app, token=TOKEN)
        with TestClient(site, base_url="http://127.0.0.1:8477", follow_redirects=False) as client:
            sign_in(client)
            yield client


@pytest.fixture(scope="module")
def proof(signed_in: httpx.Client) -> str:
    """What our own forms carry."""
    return csrf_of(signed_in)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_without_the_token_says_where_to_find_it(empty: httpx.Client, path: str) -> None:
    answer = empty.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "Open the link that <code>citewell serve</code> printed" in answer.text
    assert 'name="password"' in answer.text


@pytest.mark.parametrize("path", ["/api/v1/search?q=fever", "/api/v1/documents", "/api/v1/openapi.json"])
def test_the_api_without_the_token_is_a_problem(empty: httpx.Client, path: str) -> None:
    answer = empty.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert {key: answer.json()[key] for key in ("status", "kind")} == {"status": 401, "kind": "NotSignedIn"}


@pytest.mark.parametrize("given", ["wrong", "", "A-TOKEN-FOR-TESTS", TOKEN + "x", "ü", TOKEN[:-1]])
def test_a_wrong_token_opens_nothing(empty: httpx.Client, given: str) -> None:
    assert empty.get("/", params={"token": given}).status_code == 401
    assert empty.get("/api/v1/documents", headers={"Authorization": f"Bearer {given}".encode()}).status_code == 401
    assert not empty.cookies


def test_the_printed_link_sets_a_cookie_and_leads_to_a_clean_address(empty: httpx.Client) -> None:
    answer = empty.get(f"/search?q=fever&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/search?q=fever")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert empty.get("/library").status_code == 200


def test_the_way_in_never_leads_to_another_site(empty: httpx.Client) -> None:
    answer = empty.get(f"http://127.0.0.1:8477//evil.example/%5Cx?token={TOKEN}")
    assert answer.headers["location"].startswith("/evil.example/")


def test_a_session_of_one_token_is_worth_nothing_under_another(empty: httpx.Client) -> None:
    from citewell.api.token_signer import TokenSigner

    mine, other = TokenSigner(TOKEN), TokenSigner("another")
    empty.get("/", params={"token": TOKEN})
    (session,) = empty.cookies.jar
    assert empty.get("/library").status_code == 200
    empty.cookies.clear()
    empty.cookies.set(mine.cookie, other.csrf_of(session.value or ""))
    assert empty.get("/library").status_code == 401
    assert mine.cookie != other.cookie


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:8477", "", "127.0.0.1@evil.example", "[::1", "127.0.0.2"],
)
def test_another_host_name_is_refused(empty: httpx.Client, host: str) -> None:
    assert empty.get("/api/v1/documents", headers={**BEARER, "Host": host}).status_code == 421
    assert empty.get("/api/v1/health", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8477", "localhost:8477", "[::1]:8477", "LOCALHOST"])
def test_our_own_host_names_are_answered(empty: httpx.Client, host: str) -> None:
    assert empty.get("/api/v1/documents", headers={**BEARER, "Host": host}).status_code == 200


def changing_routes() -> list[tuple[str, str]]:
    from citewell.api.app import API, PAGES

    routes = [route for part in (*API, *PAGES) for route in part.router.routes if isinstance(route, APIRoute)]
    return [
        (method, re.sub(r"\{\w+\}", SOMEWHERE, route.path))
        for route in routes
        for method in sorted(route.methods - {"GET", "HEAD"})
        if route.path not in ("/sign-in", "/sign-in/code")  # forms for people who are nobody yet, tested elsewhere
    ]


def test_there_are_routes_that_change_something() -> None:
    assert ("POST", "/library") in changing_routes()
    assert ("DELETE", f"/api/v1/documents/{SOMEWHERE}") in changing_routes()
    assert ("POST", "/api/v1/ask/stream") in changing_routes()


def refused(answers: Iterator[tuple[str, httpx.Response]], words: str) -> None:
    """Every answer is a refusal that says why."""
    let_in = [asked for asked, answer in answers if (answer.status_code, words in answer.text) != (403, True)]
    assert let_in == []


ELSEWHERE = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:3000"},
    {"Origin": "https://127.0.0.1:8477"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]
"""Every one is tried on every route: `make check` tries the first of them, and the first wrong proof."""


def later(*cases: Any) -> list[Any]:
    return [pytest.param(case, marks=pytest.mark.slow) for case in cases]


@pytest.mark.parametrize("headers", [ELSEWHERE[0], *later(*ELSEWHERE[1:])])
def test_nothing_changes_for_a_page_of_another_site(
    signed_in: httpx.Client, proof: str, headers: dict[str, str]
) -> None:
    sent = {**headers, "X-CSRF-Token": proof}
    asked = ((f"{method} {path}", signed_in.request(method, path, headers=sent)) for method, path in changing_routes())
    refused(asked, "another site")


@pytest.mark.parametrize("csrf", [None, *later("", "0" * 64)])
def test_nothing_changes_without_the_proof_of_our_own_form(signed_in: httpx.Client, csrf: str | None) -> None:
    fields = {"id": SOMEWHERE} | ({} if csrf is None else {"csrf": csrf})

    def answered(method: str, path: str) -> httpx.Response:
        takes_files = path in ("/library", "/api/v1/documents") or path.endswith(("/version", "/literature/import"))
        files = {"files": ("a.txt", b"words")} if takes_files else None
        return signed_in.request(method, path, data=fields, files=files)

    refused(((f"{method} {path}", answered(method, path)) for method, path in changing_routes()), "out of date")


def test_a_request_without_token_or_cookie_changes_nothing_either(empty: httpx.Client) -> None:
    assert {empty.request(method, path).status_code for method, path in changing_routes()} == {401}


def test_every_answer_carries_the_headers_that_keep_it_in(empty: httpx.Client) -> None:
    for path in ("/", "/library", "/api/v1/health", "/nowhere", "/static/citewell.css", "/api/v1/documents/nothing"):
        headers = empty.get(path, headers=BEARER).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        expected = "no-cache" if path.startswith("/static/citewell") else "no-store"
        assert headers["cache-control"] == expected
        assert "server" not in headers
        assert not any(name.startswith("access-control") for name in headers)


def test_static_files_do_not_lead_out_of_their_folder(empty: httpx.Client) -> None:
    for path in ("/static/../pages.py", "/static/%2e%2e/pages.py", "/static/..%2fpages.py", "/static//etc/passwd"):
        answer = empty.get(path, headers=BEARER)
        assert (answer.status_code, "import" in answer.text, "root:" in answer.text) == (404, False, False), path
