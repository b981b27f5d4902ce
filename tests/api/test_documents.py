"""Documents over HTTP, with a real server, worker and library."""

from __future__ import annotations

import html
import socket
import struct
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewell.samples import GUIDELINE, LEAFLET, sample_files
from tests.assistants.printed import FIRST, print_edition

pytestmark = pytest.mark.slow

NOTE = b"# Gout\n\nOffer colchicine 500 micrograms twice a day for an acute attack of gout.\n"


def documents(client: httpx.Client) -> dict[str, Any]:
    return {entry["name"]: entry for entry in client.get("/api/v1/documents").json()["documents"]}


def upload(client: httpx.Client, name: str, data: bytes, **fields: str) -> dict[str, Any]:
    answer = client.post("/api/v1/documents", data=fields, files={"files": (name, data)})
    assert answer.status_code == 202, answer.text
    entry: dict[str, Any] = answer.json()["documents"][0]
    return entry


def settled(client: httpx.Client, document_id: str) -> dict[str, Any]:
    """The document once it is read or has failed."""
    while True:
        entry: dict[str, Any] = client.get(f"/api/v1/documents/{document_id}").json()
        if entry["progress"] is None:
            return entry
        time.sleep(0.05)


def test_the_list_holds_what_was_added(reader: httpx.Client) -> None:
    found = documents(reader)
    assert set(found) == {path.name for path in sample_files()}
    guideline = found[GUIDELINE]
    assert {key: guideline[key] for key in ("state", "version", "page_count", "media_type", "progress")} == {
        "state": "completed",
        "version": 1,
        "page_count": 14,
        "media_type": "application/pdf",
        "progress": None,
    }


def test_an_uploaded_file_is_read_and_found(writer: httpx.Client) -> None:
    entry = upload(writer, "gout.md", NOTE)
    done = settled(writer, entry["document_id"])
    assert (done["state"], done["title"], done["error"]) == ("completed", "Gout", None)
    while done["embedding_ms"] is None:  # what it took is known a moment after it answers
        done = settled(writer, entry["document_id"])
    assert (done["chunks_indexed"], done["replaced_existing"]) == (1, False)
    assert min(done["embedding_ms"], done["indexing_ms"]) > 0
    hits = writer.get("/api/v1/search", params={"q": "colchicine for gout"}).json()["hits"]
    assert hits[0]["document_id"] == entry["document_id"]
    again = upload(writer, "copy of gout.md", NOTE)
    assert (again["document_id"], again["was_there"]) == (entry["document_id"], True)


def test_a_file_that_cannot_be_read_says_why_and_the_others_go_on(writer: httpx.Client) -> None:
    sent = [("files", ("broken.pdf", b"%PDF-1.7 nonsense")), ("files", ("gout.md", NOTE))]
    queued = writer.post("/api/v1/documents", files=sent).json()["documents"]
    broken, good = [settled(writer, entry["document_id"]) for entry in queued]
    assert [one["state"] for one in (broken, good)] == ["failed", "completed"]
    assert "damaged" in broken["error"]
    page = writer.get(f"/documents/{broken['document_id']}").text
    assert "This document could not be read" in page
    assert "Add a better copy, or delete it." in page
    assert "Try again" not in page
    assert writer.post(f"/documents/{broken['document_id']}/retry").status_code == 303
    assert settled(writer, broken["document_id"])["state"] == "failed"
    history = writer.get(f"/api/v1/documents/{broken['document_id']}/history").json()["history"]
    assert [one["change"] for one in history] == ["added", *["queued", "processing", "failed"] * 2]
    assert writer.post(f"/documents/{good['document_id']}/retry").status_code == 422


def test_a_file_that_is_no_document_is_refused_at_the_door_and_the_others_are_taken_in(writer: httpx.Client) -> None:
    before = writer.get("/api/v1/documents").json()["documents"]
    wrong = [("empty.txt", b" \n"), ("tool.pdf", b"MZ\x90\x00" * 50), ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")]
    alone = writer.post("/api/v1/documents", files=[("files", wrong[0])])
    assert (alone.status_code, alone.json()["kind"]) == (422, "EmptyFile")
    answer = writer.post("/api/v1/documents", files=[("files", one) for one in (*wrong, ("gout.md", NOTE))]).json()
    assert [(one["name"], one["kind"]) for one in answer["refused"]] == [
        ("empty.txt", "EmptyFile"),
        ("tool.pdf", "UnsupportedFile"),
        ("old.doc", "UnsupportedFile"),
    ]
    assert [one["name"] for one in answer["documents"]] == ["gout.md"]
    assert len(writer.get("/api/v1/documents").json()["documents"]) <= len(before) + 1


def test_a_newer_version_takes_the_place_of_the_old_one(writer: httpx.Client) -> None:
    first = settled(writer, upload(writer, "gout.md", NOTE)["document_id"])
    newer = NOTE.replace(b"500 micrograms", b"0.5 mg")
    sent = {"files": ("gout-2.md", newer)}
    assert writer.post(f"/documents/{first['document_id']}/version", files=sent).status_code == 303
    second = settled(writer, documents(writer)["gout-2.md"]["document_id"])
    assert (second["version"], second["lineage"], second["is_current"]) == (2, first["lineage"], True)
    assert second["replaced_existing"]
    hits = writer.get("/api/v1/search", params={"q": "colchicine for gout"}).json()["hits"]
    assert [hit["document_id"] for hit in hits if "olchicine" in hit["text"]] == [second["document_id"]]
    assert writer.get(f"/api/v1/documents/{first['document_id']}").json()["state"] == "superseded"
    page = writer.get(f"/documents/{second['document_id']}").text
    assert f"/documents/{first['document_id']}" in page


def test_a_deleted_document_is_gone_with_its_pages_and_hits(writer: httpx.Client) -> None:
    document_id = documents(writer)[GUIDELINE]["document_id"]
    image = f"/api/v1/documents/{document_id}/pages/1.png"
    assert writer.get(image).status_code == 200
    assert writer.delete(f"/api/v1/documents/{document_id}").json() == {"deleted": [document_id]}
    gone = ("", "/file", "/pages/1.png", "/text", "/boxes?start=0&end=9")
    assert {writer.get(f"/api/v1/documents/{document_id}{path}").status_code for path in gone} == {404}
    hits = writer.get("/api/v1/search", params={"q": "haemoptysis referral"}).json()["hits"]
    assert document_id not in {hit["document_id"] for hit in hits}


def test_the_original_comes_back_as_a_download_that_can_do_nothing(reader: httpx.Client) -> None:
    document_id = documents(reader)[LEAFLET]["document_id"]
    answer = reader.get(f"/api/v1/documents/{document_id}/file")
    assert answer.content == next(path.read_bytes() for path in sample_files() if path.name == LEAFLET)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{LEAFLET}"')
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_page_is_drawn_in_the_width_that_was_asked_for(reader: httpx.Client) -> None:
    document_id = documents(reader)[GUIDELINE]["document_id"]
    answer = reader.get(f"/api/v1/documents/{document_id}/pages/5.png", params={"width": 640})
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == ("image/png", "private, max-age=600")
    assert struct.unpack(">II", answer.content[16:24])[0] == 640


@pytest.mark.parametrize("path", ["pages/0.png", "pages/15.png", "pages/-1.png"])
def test_a_page_that_is_not_there_is_not_found(reader: httpx.Client, path: str) -> None:
    document_id = documents(reader)[GUIDELINE]["document_id"]
    assert reader.get(f"/api/v1/documents/{document_id}/{path}").status_code == 404


@pytest.mark.parametrize("width", [0, 199, 2401, 10**9])
def test_a_page_is_not_drawn_in_an_absurd_width(reader: httpx.Client, width: int) -> None:
    document_id = documents(reader)[GUIDELINE]["document_id"]
    answer = reader.get(f"/api/v1/documents/{document_id}/pages/1.png", params={"width": width})
    assert answer.status_code == 422


def test_text_and_boxes_of_a_hit_are_those_of_its_offsets(reader: httpx.Client) -> None:
    hit = reader.get("/api/v1/search", params={"q": "coughing up blood, when to refer"}).json()["hits"][0]
    span = {"start": hit["start"], "end": hit["end"]}
    here = f"/api/v1/documents/{hit['document_id']}"
    assert reader.get(f"{here}/text", params=span).json()["text"] == hit["text"]
    boxes = reader.get(f"{here}/boxes", params=span).json()["boxes"]
    assert boxes
    assert all(0 <= box["left"] < box["right"] <= 596 and 0 <= box["top"] < box["bottom"] <= 842 for box in boxes)
    assert boxes[0]["page"] == hit["page"]


@pytest.mark.parametrize("span", [{"start": 9, "end": 3}, {"start": 0, "end": 10**9}, {"start": -1, "end": 3}])
def test_a_span_outside_the_text_is_told(reader: httpx.Client, span: dict[str, int]) -> None:
    document_id = documents(reader)[LEAFLET]["document_id"]
    assert reader.get(f"/api/v1/documents/{document_id}/boxes", params=span).status_code == 422
    assert reader.get(f"/api/v1/documents/{document_id}/text", params=span).status_code == 422


def test_a_gigabyte_is_refused_before_it_is_sent_and_the_server_goes_on(reader: httpx.Client) -> None:
    address = (reader.base_url.host, reader.base_url.port)
    head = (
        f"POST /api/v1/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {reader.headers['authorization']}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {1 << 30}\r\n\r\n"
    )
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(head.encode())
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")
    assert reader.get("/api/v1/health").status_code == 200


def test_a_document_is_filed_anew_and_search_follows(writer: httpx.Client) -> None:
    entry = settled(writer, upload(writer, "scurvy.md", b"# Scurvy\n\nGive vitamin C 250 mg daily.")["document_id"])
    address = f"/api/v1/documents/{entry['document_id']}"
    filed = writer.patch(address, json={"tags": ["ward"]}).json()
    assert (filed["tags"], filed["journeys"]) == (["ward"], [])
    found = writer.get("/api/v1/search", params={"q": "scurvy vitamin", "tag": "nobody"}).json()["hits"]
    assert entry["document_id"] not in {hit["document_id"] for hit in found}
    assert writer.patch(address, json={"tags": ["*"]}).status_code >= 400


def test_a_guideline_that_was_uploaded_as_any_document_is_offered_and_applied(
    writer: httpx.Client, tmp_path: Path
) -> None:
    printed = print_edition(tmp_path / "spots.pdf", "1 June 2015", FIRST)
    sent = upload(writer, "spots.pdf", printed.read_bytes())
    document_id = sent["document_id"]
    name = settled(writer, document_id)["guideline"]
    assert name
    page = writer.get(f"/documents/{document_id}").text
    assert f"This looks like a guideline: {name}." in html.unescape(page)
    assert "Apply it to patients" in page
    applied = writer.post(f"/api/v1/guidelines/{document_id}/refresh").json()
    assert (applied["name"], applied["rules"], applied["unread"]) == (name, 3, 0)
    assert writer.get(f"/api/v1/documents/{document_id}").json()["guideline"] is None
