"""Search over HTTP: the shape of the command line, the same scope, no words in any log."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from citewell.cli.commands import app
from citewell.samples import EXAMPLE_QUESTIONS

pytestmark = pytest.mark.slow


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    for name in ("citewell", "uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)
    return caplog


def test_the_shape_is_that_of_the_command_line(reader: httpx.Client, samples_home: Path) -> None:
    question = EXAMPLE_QUESTIONS[0].text
    words = ["search", question, "--limit", "5", "--home", str(samples_home), "--json"]
    expected = json.loads(CliRunner().invoke(app, words).stdout)
    found = reader.get("/api/v1/search", params={"q": question, "limit": 5}).json()
    assert found.pop("took_ms") > 0
    expected.pop("took_ms")
    assert found == expected


def test_a_scope_decides_what_is_found(writer: httpx.Client) -> None:
    fields = {"tags": "nurses", "journeys": "gout", "subject": "p-1"}
    text = b"Colchicine is given for an acute attack of gout."
    sent = writer.post("/api/v1/documents", data=fields, files={"files": ("gout.txt", text)}).json()["documents"][0]
    while writer.get(f"/api/v1/documents/{sent['document_id']}").json()["progress"] is not None:
        pass

    def finds(**scope: str) -> bool:
        hits = writer.get("/api/v1/search", params={"q": "colchicine for gout", **scope}).json()["hits"]
        return sent["document_id"] in {hit["document_id"] for hit in hits}

    assert not finds()
    assert not finds(journey="gout")
    assert finds(journey="gout", subject="p-1")
    assert finds(journey="gout", subject="p-1", tag="nurses")
    assert not finds(journey="gout", subject="p-1", tag="doctors")


def test_a_question_is_checked(reader: httpx.Client) -> None:
    answers = [reader.get("/api/v1/search", params={"q": question}) for question in ("   ", "\x1f", "x " * 2_001)]
    assert [(answer.status_code, answer.json()["kind"]) for answer in answers] == [(422, "InputError")] * 3


def test_no_word_of_a_question_reaches_a_log(
    writer: httpx.Client, everything_logged: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    for path in ("/search", "/api/v1/search", "/", "/library", "/nowhere"):
        writer.get(path, params={"q": "zanamivir for Mrs Example", "limit": "Example"})
        writer.get(path, params={"q": "zanamivir for Mrs Example"})
    # The client of this test logs what it asks for; the server is what matters.
    records = [record for record in everything_logged.records if not record.name.startswith("http")]
    told = "\n".join([*(record.getMessage() for record in records), *capfd.readouterr()])
    assert "search: " in told
    for word in ("zanamivir", "Example"):
        assert word not in told
