"""Uploads: limits are kept while bytes arrive, names are cleaned, one bad file does not stop the others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

import citewell
from citewell.api import document_changes
from citewell.api.app import create_app
from citewell.api.server_state import ServerState
from citewell.api.uploads import RefusedFile
from citewell.api.visitor import Visitor
from citewell.app import build
from citewell.config import Settings
from citewell.errors import DiskFull
from citewell.ingest.library_changes import AddedDocument
from citewell.types import Filing, Role, Scope, Source
from tests.api.running import run

BEARER = {"Authorization": "Bearer a-token-for-tests"}
MIB = 1024 * 1024


class Idle:
    """A worker that is never there."""

    def nudge(self) -> None:
        pass


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    """A site that takes files of up to 1 MiB and queues them for a worker that is not there."""

    monkeypatch.setattr(ServerState, "worker", lambda _site: Idle())
    with build(Settings(home=tmp_path, max_file_mb=1)) as app:
        yield TestClient(create_app(app, token="a-token-for-tests"), base_url="http://127.0.0.1", headers=BEARER)


def files(*pairs: tuple[str, bytes]) -> list[tuple[str, tuple[str, bytes]]]:
    return [("files", pair) for pair in pairs]


def test_a_file_is_queued_under_its_bare_name(small: httpx.Client) -> None:
    answer = small.post("/api/v1/documents", files=files(("../../etc/pass\\word.txt", b"words")))
    assert answer.status_code == 202
    (entry,) = answer.json()["documents"]
    assert {key: entry[key] for key in ("name", "title", "state", "size_bytes", "added_by", "was_there")} == {
        "name": "word.txt",
        "title": "word.txt",
        "state": "queued",
        "size_bytes": 5,
        "added_by": "web",
        "was_there": False,
    }
    assert entry["progress"]["words"] == "Queued"


def test_a_file_of_just_the_limit_is_taken_and_one_byte_more_is_not(small: httpx.Client) -> None:
    assert small.post("/api/v1/documents", files=files(("a.txt", b"x" * MIB))).status_code == 202
    answer = small.post("/api/v1/documents", files=files(("a.txt", b"x" * (MIB + 1))))
    assert (answer.status_code, answer.json()["kind"]) == (413, "TooLarge")
    assert "1 MiB" in answer.json()["detail"]


def test_a_file_that_is_too_large_does_not_stop_the_others(small: httpx.Client) -> None:
    sent = files(("first.txt", b"one"), ("large.txt", b"x" * (2 * MIB)), ("last.txt", b"three"))
    body = small.post("/api/v1/documents", files=sent).json()
    assert [(entry["name"], entry["size_bytes"]) for entry in body["documents"]] == [("first.txt", 3), ("last.txt", 5)]
    assert [(one["name"], one["kind"]) for one in body["refused"]] == [("large.txt", "TooLarge")]


def test_a_store_that_is_full_refuses_the_files_that_do_not_fit_and_keeps_those_that_came_before(
    small: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = document_changes.queue

    def full(site: ServerState, source: Source, filing: Filing, visitor: Visitor) -> AddedDocument:
        if len(source.data) > 100:
            raise DiskFull("The store of original files is full.")
        return queue(site, source, filing, visitor)

    monkeypatch.setattr(document_changes, "queue", full)
    answer = small.post("/api/v1/documents", files=files(("a.txt", b"words"), ("b.txt", b"w" * 200)))
    body = answer.json()
    assert (answer.status_code, [one["name"] for one in body["documents"]]) == (202, ["a.txt"])
    assert [(one["name"], one["kind"]) for one in body["refused"]] == [("b.txt", "DiskFull")]
    assert small.post("/api/v1/documents", files=files(("b.txt", b"w" * 200))).status_code == 507


def test_a_field_that_an_upload_does_not_know_is_refused_and_nothing_is_added(small: httpx.Client) -> None:
    answer = small.post("/api/v1/documents", files=files(("a.txt", b"words")), data={"tag": "wards"})
    assert (answer.status_code, answer.json()["kind"]) == (422, "InputError")
    assert small.get("/api/v1/documents").json()["documents"] == []


def test_a_request_that_says_it_is_huge_is_refused_before_it_is_read(small: httpx.Client) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": str(1024 * MIB)}
    answer = small.post("/api/v1/documents", content=b"--x", headers=headers)
    assert (answer.status_code, answer.json()["kind"]) == (413, "TooLarge")


def test_a_stream_that_does_not_end_is_refused_while_it_is_read(small: httpx.Client) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
        for _ in range(64):
            sent += MIB
            yield b"x" * MIB

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = small.post("/api/v1/documents", content=endless(), headers=headers)
    assert (answer.status_code, answer.json()["kind"]) == (413, "TooLarge")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "multipart/form-data; boundary=x"),
        (b"--x\r\nnonsense", "multipart/form-data; boundary=x"),
        (b"--x", "multipart/form-data"),
        (b"{}", "application/json"),
    ],
)
def test_a_body_that_is_no_form_is_told(small: httpx.Client, content: bytes, kind: str) -> None:
    answer = small.post("/api/v1/documents", content=content, headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["kind"]) == (422, "InputError")


def test_more_files_than_are_taken_at_once_are_told(small: httpx.Client) -> None:
    answer = small.post("/api/v1/documents", files=files(*[(f"{at}.txt", b"x") for at in range(101)]))
    assert (answer.status_code, "100 files" in answer.json()["detail"]) == (422, True)
    assert small.get("/api/v1/documents").json() == {"documents": []}


def test_a_form_without_a_file_says_so(small: httpx.Client) -> None:
    answer = small.post("/library", data={"tags": "x"}, files={"files": ("", b"")})
    assert (answer.status_code, "No files selected" in answer.text) == (422, True)


def test_tags_journeys_and_person_go_with_the_file(small: httpx.Client) -> None:
    fields = {"tags": "lung, nurses", "journeys": "copd", "subject": "p-1", "title": "Mine"}
    (entry,) = small.post("/api/v1/documents", data=fields, files=files(("a.txt", b"x"))).json()["documents"]
    assert {key: entry[key] for key in ("tags", "journeys", "subject", "title")} == {
        "tags": ["lung", "nurses"],
        "journeys": ["copd"],
        "subject": "p-1",
        "title": "Mine",
    }


def test_the_sign_for_all_is_no_tag(small: httpx.Client) -> None:
    answer = small.post("/api/v1/documents", data={"tags": "*"}, files=files(("a.txt", b"x")))
    assert (answer.status_code, answer.json()["kind"]) == (422, "InputError")
    answer = small.post("/api/v1/documents", data={"journeys": "*"}, files=files(("a.txt", b"x")))
    assert (answer.status_code, answer.json()["kind"]) == (403, "ScopeRefused")


def test_a_form_of_our_own_page_is_taken_and_leads_back(small: httpx.Client) -> None:
    import re

    del small.headers["Authorization"]
    small.get("/?token=a-token-for-tests")
    found = re.search(r'name="csrf" value="(\w+)"', small.get("/library").text)
    assert found is not None
    answer = small.post(
        "/library",
        data={"csrf": found.group(1)},
        files=files(("a.txt", b"one"), ("b.txt", b"two")),
        headers={"Origin": "http://127.0.0.1", "Sec-Fetch-ServerState": "same-origin"},
        follow_redirects=False,
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/library?queued=2")
    assert "2 documents queued" in small.get("/library?queued=2").text


def test_turned_away_files_keep_their_reason() -> None:
    from citewell.api.multipart import over_limit

    assert "100 MiB" in str(RefusedFile("a", over_limit(100 * MIB)).error)


def test_the_same_bytes_twice_are_queued_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServerState, "worker", lambda _site: Idle())
    from citewell.api.token_signer import TokenSigner

    with citewell.open(tmp_path) as app:
        site = ServerState(app, TokenSigner("x"))
        owner = Visitor.owner("local", way="link", csrf="")
        first = document_changes.queue(site, Source(b"same", "a.txt"), Filing(), owner)
        again = document_changes.queue(site, Source(b"same", "b.txt"), Filing(), owner)
        other_person = document_changes.queue(site, Source(b"same", "b.txt"), Filing(subject="p-1"), owner)
        assert (first.was_there, again.was_there, again.entry) == (False, True, first.entry)
        assert other_person.was_there is False
        assert len(app.entries(Scope.owner("local"))) == 2


def test_a_title_is_one_line_of_a_decent_length(small: httpx.Client) -> None:
    title = "Iron\r\n\x1b[31m and\u202e ore " + "x" * 900
    answer = small.post("/api/v1/documents", files=files(("a.txt", b"words")), data={"title": title})
    assert answer.json()["documents"][0]["title"] == ("Iron [31m and ore " + "x" * 900)[:300]


# ------------------------------------------------------------------------------------------- who may send how much


class Sending:
    """A client that sends a body part by part, for as long as it is read."""

    def __init__(self, part: bytes, *, stalls: bool = False) -> None:
        self.part, self.stalls, self.read, self.pause_s = part, stalls, 0, 0.0

    async def receive(self) -> Message:
        if self.stalls and self.read:
            await asyncio.Event().wait()
        await asyncio.sleep(self.pause_s)
        part = b"y" if self.pause_s and self.read else self.part
        self.read += len(part)
        return {"type": "http.request", "body": part, "more_body": True}


def knocked(site: ASGIApp, path: str, sending: Sending, *headers: tuple[bytes, bytes]) -> int:
    """The status that a multipart body gets; it never ends."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"multipart/form-data; boundary=x"), *headers],
        "client": ("127.0.0.1", 1),
        "http_version": "1.1",
        "scheme": "http",
    }
    answered: list[Message] = []

    async def send(message: Message) -> None:
        answered.append(message)

    async def once() -> None:
        await asyncio.wait_for(site(scope, sending.receive, send), 10)

    run(once())
    return int(answered[0]["status"])


FIELD = b'--x\r\nContent-Disposition: form-data; name="note"\r\n\r\n'
OWNER = (b"authorization", b"Bearer a-token-for-tests")


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/api/v1/ask", "/documents/delete", "/nowhere"])
def test_no_route_but_those_for_files_takes_more_because_it_is_called_a_form(small: httpx.Client, path: str) -> None:
    sending = Sending(FIELD + b"x" * 65_536)
    assert knocked(small.app, path, sending, OWNER) == 413  # type: ignore[attr-defined]
    assert sending.read < 4 * MIB


@pytest.mark.parametrize("path", ["/library", "/api/v1/documents", "/documents/an-id/version"])
def test_the_role_is_asked_before_a_file_is_read(tmp_path: Path, path: str) -> None:
    with build(Settings(home=tmp_path, max_file_mb=1)) as app:
        user = app.people.add(
            tenant="local", email="r@x.example", name="", role=Role.READER, tags=(), password="x" * 20
        )
        _, key = app.people.add_key(user.id, tenant="local", name="tests")
        sending = Sending(FIELD)
        site = create_app(app, token="a-token-for-tests")
        assert knocked(site, path, sending, (b"authorization", f"Bearer {key}".encode())) == 403
        assert sending.read == 0


@pytest.mark.parametrize("stalls", [True, False])
def test_an_upload_that_stalls_or_trickles_is_given_up(
    small: httpx.Client, monkeypatch: pytest.MonkeyPatch, stalls: bool
) -> None:
    monkeypatch.setattr("citewell.api.multipart.STALL_S", 0.2)
    monkeypatch.setattr("citewell.api.multipart.SLOWEST_BYTES_S", 10 * MIB)

    sending = Sending(FIELD, stalls=stalls)
    sending.pause_s = 0.05
    assert knocked(small.app, "/api/v1/documents", sending, OWNER) == 408  # type: ignore[attr-defined]
