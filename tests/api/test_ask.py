"""Questions over HTTP: whole or as a stream, the same answer, one kept conversation, nothing in any log."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from citewell.answer.events import Event, StageStarted
from citewell.api.asking import BEAT, sent
from citewell.api.bodies.events import EVENTS
from citewell.errors import LLMConnectionError
from tests.api.running import run as in_thread

QUESTION = "how much ORS for a 12 kg child with diarrhea"
NOWHERE = "550e8400-e29b-41d4-a716-446655440000"


def events(response: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    blocks = [block.split("\n") for block in response.text.split("\n\n") if block and not block.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def without_chance(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key not in ("id", "took_ms", "conversation_id")}


@pytest.mark.slow
def test_the_stream_ends_in_the_same_answer_and_every_sentence_came_before_it(reader: httpx.Client) -> None:
    whole = reader.post("/api/v1/ask", json={"question": QUESTION}).json()
    told = events(reader.post("/api/v1/ask/stream", json={"question": QUESTION}))
    names = [name for name, _ in told]
    assert names[:5] == ["started", *["working"] * 4]
    stages = [(data["stage"], data["count"]) for name, data in told if name == "working"]
    read = len(whole["evidence"])
    assert stages == [("searching", None), ("reading", read), ("writing", read), ("checking", read)]
    assert set(names[5:-1]) == {"sentence"}
    assert names[-1] == "done"
    done = told[-1][1]
    assert without_chance(done) == without_chance(whole)
    assert whole["action"] in ("CITE", "QUALIFY")
    assert "ORS 75 ml/kg" in whole["text"]
    shown = [data for name, data in told if name == "sentence" and data["shown"]]
    assert [one["text"] for one in shown] == [one["text"] for one in done["sentences"]]
    sources = {source["n"]: source for one in shown for source in one["sources"]}
    assert [sources[n] for n in sorted(sources)] == done["citations"]
    assert told[0][1]["conversation_id"] == done["conversation_id"]
    for name, data in told:
        TypeAdapter(EVENTS[name]).validate_json(json.dumps(data), strict=True)


@pytest.mark.slow
def test_the_way_to_help_comes_first_and_the_question_is_still_answered(reader: httpx.Client) -> None:
    said = "I feel like killing myself"
    whole = reader.post("/api/v1/ask", json={"question": said}).json()
    emergency = whole["emergency"]
    assert (emergency["kinds"], emergency["language"], emergency["words"]) == (["suicide"], "en", ["killing myself"])
    assert "Samaritans 116 123" in emergency["text"]
    assert whole["text"].startswith(emergency["text"])
    told = events(reader.post("/api/v1/ask/stream", json={"question": said}))
    assert [name for name, _ in told[:3]] == ["started", "told", "working"]
    assert told[1][1] == {"text": emergency["text"], "is_emergency": True}
    assert told[-1][1]["emergency"] == emergency
    beside = reader.post("/api/v1/ask", json={"question": f"My child is floppy and won't wake up. {QUESTION}?"}).json()
    assert beside["text"].startswith("This may be an emergency. Call 999 or 112 now")
    assert beside["text"] != beside["emergency"]["text"]
    assert reader.post("/api/v1/ask", json={"question": QUESTION}).json()["emergency"] is None


@pytest.mark.slow
def test_a_citation_points_at_the_very_words(reader: httpx.Client) -> None:
    answer = reader.post("/api/v1/ask", json={"question": QUESTION}).json()
    for one in answer["citations"]:
        part = reader.get(
            f"/api/v1/documents/{one['document_id']}/text", params={"start": one["start"], "end": one["end"]}
        )
        assert part.json()["text"] == one["quote"]


@pytest.mark.slow
def test_what_nothing_answers_is_routed_and_says_to_whom(reader: httpx.Client) -> None:
    answer = reader.post("/api/v1/ask", json={"question": "zebra carburettor tuning"}).json()
    assert (answer["action"], answer["sentences"], answer["citations"]) == ("ROUTE", [], [])
    assert answer["route"]["fallback"] is True
    assert answer["inbox_id"] is not None


def test_what_is_wrong_with_a_question_is_told_before_anything_is_streamed(empty: httpx.Client) -> None:
    headers = {"Authorization": "Bearer a-token-for-tests"}
    wrong: list[tuple[dict[str, Any], int]] = [
        ({}, 422),
        ({"question": "  "}, 422),
        ({"question": "x" * 4_001}, 422),
        ({"question": 5}, 422),
        ({"question": "fever", "nonsense": 1}, 422),
        ({"question": "fever", "conversation_id": NOWHERE}, 404),
    ]
    for path in ("/api/v1/ask", "/api/v1/ask/stream"):
        for body, status in wrong:
            answer = empty.post(path, json=body, headers=headers)
            assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")


@pytest.mark.slow
def test_a_text_is_checked_as_the_command_line_does_it(reader: httpx.Client) -> None:
    text = "Do not give loperamide to children under 12 years. Give loperamide to children with diarrhoea."
    told = reader.post("/api/v1/check", json={"text": text}).json()["sentences"]
    assert [one["verdict"] for one in told] == ["supported", "contradicted"]
    assert "loperamide" in told[1]["evidence"][0]["quote"]
    given = reader.post("/api/v1/check", json={"text": "Give 5 mg.", "evidence": "Give 50 mg."}).json()["sentences"]
    assert given[0]["verdict"] == "contradicted"
    assert given[0]["evidence"][0]["source_id"] == "given"
    assert reader.post("/api/v1/check", json={"text": "Give 5 mg.", "against": NOWHERE}).status_code == 404


@pytest.mark.slow
def test_no_word_of_a_question_or_an_answer_reaches_a_log(
    reader: httpx.Client, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    reader.post("/api/v1/ask", json={"question": "Does Mrs Zanamivir need ORS for diarrhea?"})
    reader.post("/api/v1/ask/stream", json={"question": "Does Mrs Zanamivir need ORS for diarrhea?"})
    reader.post("/api/v1/check", json={"text": "Mrs Zanamivir needs loperamide."})
    records = [record for record in caplog.records if not record.name.startswith("http")]
    told = "\n".join([*(record.getMessage() for record in records), *capfd.readouterr()])
    assert "answer " in told
    for word in ("Zanamivir", "ORS", "diarrh", "loperamide"):
        assert word not in told


# ----------------------------------------------------------------------------------------------------- the stream alone


def collected(answer: Iterator[Event], *, beat_s: float = 10.0, stop_after: int | None = None) -> list[bytes]:
    async def run() -> list[bytes]:
        parts = []
        with ThreadPoolExecutor(1) as threads:
            sending = sent(answer, threads=threads, with_withheld=True, watch=lambda _event: None, beat_s=beat_s)
            async for part in sending:
                parts.append(part)
                if len(parts) == stop_after:
                    await sending.aclose()
                    break
        return parts

    return in_thread(run())


def test_a_failure_on_the_way_is_the_last_event_in_its_own_words() -> None:
    def broken() -> Iterator[Event]:
        yield StageStarted("searching")
        raise LLMConnectionError("The model's server does not answer. Start it, then try again.")

    assert [part.decode().split("\n")[0] for part in collected(broken())] == ["event: working", "event: failed"]
    assert b"Start it, then try again." in collected(broken())[-1]


def test_an_unexpected_failure_tells_a_reference_and_nothing_else() -> None:
    def broken() -> Iterator[Event]:
        yield StageStarted("searching")
        raise RuntimeError("Mrs Example")

    last = collected(broken())[-1].decode()
    assert "reference" in last
    assert "Example" not in last


def test_a_slow_writer_is_covered_by_signs_of_life() -> None:
    def slow() -> Iterator[Event]:
        time.sleep(0.3)
        yield StageStarted("searching")

    parts = collected(slow(), beat_s=0.05)
    assert parts[0] == BEAT
    assert parts[-1].startswith(b"event: working")


def test_when_the_listener_leaves_the_writing_stops() -> None:
    written, closed = 0, threading.Event()

    def endless() -> Iterator[Event]:
        nonlocal written
        try:
            while True:
                written += 1
                yield StageStarted("writing", written)
                time.sleep(0.01)
        finally:
            closed.set()

    collected(endless(), stop_after=3)
    assert closed.wait(5)
    assert written < 100
