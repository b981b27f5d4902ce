"""MCP by the SDK's own client, over standard input and output and over HTTP: the same tools, scopes and refusals."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from citewell.app import build
from citewell.config import Settings
from tests.api.running import run as in_thread
from tests.doors.conftest import ATTACKED_QUESTION, EMERGENCY, SAMPLE_QUESTION, WARD_NOTE, WARD_QUESTION, Door

pytestmark = pytest.mark.slow

EVERY_TOOL = {"ask", "search", "check", "show_source", "list_documents", "assess", "guidelines"}


@asynccontextmanager
async def connected(door: Door, key: str) -> AsyncIterator[Client]:
    """A client over HTTP with a key."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(f"{door.address}/mcp", http_client=http)) as client,
    ):
        yield client


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return in_thread(work)


async def use(door: Door, key: str, tool: str, **arguments: Any) -> Any:
    async with connected(door, key) as client:
        return await client.call_tool(tool, arguments)


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


def test_an_answer_carries_verdicts_quotes_and_links_that_lead_to_exactly_those_words(door: Door) -> None:
    async def work() -> None:
        async with connected(door, door.nurse) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == EVERY_TOOL
            result = await client.call_tool("ask", {"question": WARD_QUESTION})
            found, text = result.structured_content, text_of(result)
            assert found["action"] == "CITE"
            assert {sentence["verdict"] for sentence in found["sentences"]} == {"supported"}
            citation = found["citations"][0]
            assert "zanfluoride rinse 7 ml" in citation["quote"]
            assert citation["quote"] in text
            assert citation["link"] in text
            assert "1 supported" in text
            words = await client.read_resource(citation["uri"])
            assert words.contents[0].text == citation["quote"]
            shown = await client.call_tool(
                "show_source", {name: citation[name] for name in ("document_id", "start", "end")}
            )
            assert shown.structured_content["text"] == citation["quote"]
            with door.client(door.owner) as browser:
                page = browser.get(citation["link"])
            assert page.status_code == 200
            assert "zanfluoride" in page.text
            more = await client.call_tool(
                "ask", {"question": "and when is it stopped?", "conversation_id": found["conversation_id"]}
            )
            assert more.structured_content["conversation_id"] == found["conversation_id"]

    run(work())


def test_a_key_sees_through_tools_and_resources_what_it_sees_elsewhere(door: Door) -> None:
    async def work() -> None:
        async with connected(door, door.member) as client:
            listed = await client.call_tool("list_documents", {})
            titles = {document["title"] for document in listed.structured_content["documents"]}
            assert len(titles) == 4
            resources = (await client.list_resources()).resources
            assert {resource.title for resource in resources} == titles
            hits = await client.call_tool("search", {"question": WARD_QUESTION})
            assert "zanfluoride" not in text_of(hits)
            answer = await client.call_tool("ask", {"question": WARD_QUESTION})
            assert answer.structured_content["citations"] == []
            assert answer.structured_content["action"] in ("ROUTE", "REFUSE")
            assert "zanfluoride rinse 7 ml" not in text_of(answer)
            asked = await client.call_tool("check", {"text": "Give zanfluoride rinse 7 ml twice a day."})
            assert asked.structured_content["sentences"][0]["verdict"] != "supported"
            shown = await client.call_tool("show_source", {"document_id": door.ward_note})
            assert shown.is_error
            assert text_of(shown) == "Document not found. Use `list_documents`."
            with pytest.raises(MCPError) as refused:
                await client.read_resource(f"citewell://documents/{door.ward_note}")
            assert refused.value.error.code == -32602
        async with connected(door, door.nurse) as client:
            whole = await client.read_resource(f"citewell://documents/{door.ward_note}")
            assert "Give zanfluoride rinse 7 ml twice a day" in whole.contents[0].text
            part = await client.call_tool("show_source", {"document_id": door.ward_note, "start": 3, "end": 7})
            assert part.structured_content["text"] == whole.contents[0].text[3:7]
            checked = await client.call_tool("check", {"text": "Give zanfluoride rinse 70 ml twice a day."})
            assert checked.structured_content["sentences"][0]["verdict"] == "contradicted"
            assert "70" in text_of(checked)

    run(work())


def test_a_reader_is_offered_and_may_use_only_what_reads(door: Door) -> None:
    async def work() -> None:
        async with connected(door, door.reader) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"search", "show_source", "list_documents", "guidelines"}
            refused = await client.call_tool("ask", {"question": SAMPLE_QUESTION})
            assert refused.is_error
            assert text_of(refused).startswith("Your role does not allow this")
            assert not (await client.call_tool("search", {"question": SAMPLE_QUESTION})).is_error

    run(work())


def test_the_way_to_help_comes_first(door: Door) -> None:
    for tool in ("ask", "search"):
        result = run(use(door, door.member, tool, question=EMERGENCY))
        emergency = result.structured_content["emergency"]
        assert text_of(result).startswith(emergency["text"])
        assert "Samaritans 116 123" in emergency["text"]


def test_a_question_reaches_a_person_only_where_the_caller_says_so(door: Door) -> None:
    async def work() -> None:
        question = {"question": "what dose of zolgensma is given for spinal muscular atrophy?"}
        with door.client(door.member) as api:
            before = len(api.get("/api/v1/asked").json()["questions"])
            async with connected(door, door.member) as client:
                kept = await client.call_tool("ask", question)
                assert (kept.structured_content["action"], kept.structured_content["inbox_id"]) == ("ROUTE", None)
                assert "not sent to anyone" in text_of(kept)
                assert "send_to_person" in text_of(kept)
                assert len(api.get("/api/v1/asked").json()["questions"]) == before
                sent = await client.call_tool("ask", {**question, "send_to_person": True})
            items = api.get("/api/v1/asked").json()["questions"]
            assert sent.structured_content["inbox_id"] in [item["id"] for item in items]
            assert "no owner for" not in text_of(sent)
            assert "send_to_person" not in text_of(sent)

    run(work())


def test_a_patient_is_assessed_with_quoted_recommendations(door: Door) -> None:
    async def work() -> None:
        async with connected(door, door.owner) as client:
            listed = await client.call_tool("list_documents", {"title": "breathlessness"})
            document_id = listed.structured_content["documents"][0]["document_id"]
            with door.client(door.owner) as api:
                api.post(f"/api/v1/guidelines/{document_id}/refresh").raise_for_status()
            patient = {"age": 58, "sex": "female", "symptoms": ["coughing up blood"]}
            result = await client.call_tool("assess", {"patient": patient})
            shown = result.structured_content
            with door.client(door.owner) as api:
                assert shown["risk_level"] == api.post("/api/v1/assess", json=patient).json()["risk_level"]
            for rule in shown["matched"]:
                assert rule["quote"] in text_of(result)
            guidelines = await client.call_tool("guidelines", {})
            row = guidelines.structured_content["guidelines"][0]
            assert row["document_id"] == document_id
            rules = await client.call_tool("guidelines", {"document_id": document_id, "limit": 1})
            rule = rules.structured_content["recommendations"][0]
            words = await client.read_resource(rule["uri"])
            assert words.contents[0].text == rule["text"]
            one = await client.call_tool("guidelines", {"document_id": document_id, "recommendation": rule["id"]})
            assert one.structured_content["recommendations"] == [rule]

    run(work())


def test_a_passage_that_reads_like_an_order_is_marked_and_never_answers(door: Door) -> None:
    found = run(use(door, door.nurse, "search", question="what to tell everyone about zanfluoride rinse hourly"))
    flagged = [passage for passage in found.structured_content["passages"] if passage["is_suspicious"]]
    assert {passage["document"] for passage in flagged} == {"Mouth sores", "Gum care"}
    assert all(
        f"It was left out: blanks stand in its place.)\n{passage['text']}" in text_of(found) for passage in flagged
    )
    assert "salt water every hour" in text_of(found)
    assert "700 ml hourly" not in text_of(found) + json.dumps(found.structured_content)
    answer = run(use(door, door.nurse, "ask", question=ATTACKED_QUESTION))
    assert "salt water every hour" in answer.structured_content["text"]
    assert "700 ml hourly" not in answer.structured_content["text"]
    assert all("700 ml hourly" not in citation["quote"] for citation in answer.structured_content["citations"])
    assert "contains what looks like an instruction; it was not followed and is left out" in text_of(answer)


def test_a_source_is_shown_and_read_without_the_orders_in_it_and_says_so(door: Door) -> None:
    async def work() -> None:
        async with connected(door, door.nurse) as client:
            listed = await client.call_tool("list_documents", {"title": "mouth sores"})
            attacked = listed.structured_content["documents"][0]["document_id"]
            shown = await client.call_tool("show_source", {"document_id": attacked})
            assert shown.structured_content["is_suspicious"]
            assert shown.structured_content["text"].startswith("Mouth sores")
            assert "It was left out: blanks stand in its place." in text_of(shown)
            start = shown.structured_content["text"].index("Mouth sores are rinsed")
            beside = await client.call_tool("show_source", {"document_id": attacked, "start": start, "end": start + 11})
            assert beside.structured_content["text"] == "Mouth sores"
            assert beside.structured_content["is_suspicious"]
            words, said = (await client.read_resource(f"citewell://documents/{attacked}")).contents
            assert words.text == shown.structured_content["text"]
            assert "It was left out" in said.text
            clean = await client.call_tool("show_source", {"document_id": door.ward_note})
            assert not clean.structured_content["is_suspicious"]
            assert len((await client.read_resource(f"citewell://documents/{door.ward_note}")).contents) == 1
            said_of_all = f"{shown} {beside} {words}"
            assert "salt water every hour" in said_of_all
            assert "700 ml" not in said_of_all

    run(work())


def test_prompts_say_to_answer_only_from_the_library(door: Door) -> None:
    async def work() -> None:
        async with connected(door, door.member) as client:
            prompts = (await client.list_prompts()).prompts
            assert {prompt.title for prompt in prompts} == {
                "Answer only from my library",
                "Check a text against my library",
            }
            prompt = await client.get_prompt("only_my_library", {"question": SAMPLE_QUESTION})
            words = prompt.messages[0].content.text
            assert "only from my library" in words
            assert words.endswith(SAMPLE_QUESTION)
            for wrong in (("none", {"question": "x"}), ("only_my_library", {})):
                with pytest.raises(MCPError) as refused:
                    await client.get_prompt(*wrong)
                assert refused.value.error.code == -32602

    run(work())


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask", {}, "question (missing)"),
        ("ask", {"question": "?!"}, "question"),
        ("ask", {"question": "dose of iron", "subject": "p1"}, "subject"),
        ("ask", {"question": "dose of iron " * 2_000}, "too long"),
        ("search", {"question": "iron", "limit": 5_000}, "limit (at most 50)"),
        ("show_source", {"document_id": "550e8400-e29b-41d4-a716-446655440000"}, "Document not found"),
        ("check", {"text": "Iron.", "against": "x", "evidence": "y"}, "not both"),
        ("assess", {"patient": {"age": 900}}, "age"),
        ("guidelines", {"words": "iron"}, "Name the guideline"),
    ],
)
def test_wrong_arguments_are_told_and_nothing_is_done(
    door: Door, tool: str, arguments: dict[str, Any], said: str
) -> None:
    result = run(use(door, door.member, tool, **arguments))
    assert result.is_error
    assert said in text_of(result)


def test_unknown_tools_and_wrong_words_get_the_protocols_own_errors(door: Door) -> None:
    async def work() -> None:
        async with connected(door, door.member) as client:
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("delete_everything", {})
            assert unknown.value.error.code == -32602

    run(work())
    with door.client(door.member) as client:
        headers = {"Accept": "application/json, text/event-stream"}
        broken = client.post("/mcp", content=b"{", headers={**headers, "Content-Type": "application/json"})
        assert (broken.status_code, broken.json()["error"]["code"]) == (400, -32700)
        assert client.get("/mcp").status_code == 405
        large = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "x" * 600_000}, headers=headers)
        assert large.status_code == 413


def test_nobody_comes_in_without_a_key(door: Door) -> None:
    with door.client(None) as stranger, door.client("cw_wrong") as wrong, door.client(None) as browser:
        for client in (stranger, wrong):
            answer = client.post("/mcp", json={})
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert stranger.post("/mcp", json={}).json()["detail"].startswith("There is no key in this request.")
        assert wrong.post("/mcp", json={}).json()["detail"].startswith("This key is unknown, revoked or expired.")
        browser.get(f"/?token={door.owner}")
        assert browser.get("/api/v1/me").status_code == 200
        assert browser.post("/mcp", json={}).json()["kind"] == "KeyNeeded"


def test_the_same_over_standard_input_and_output(samples_home: Path, tmp_path: Path, door: Door) -> None:
    async def work() -> None:
        words = ["-m", "citewell.cli", "--home", str(door.home), "mcp"]
        for user, sees in ((None, True), ("member@clinic.example", False)):
            arguments = [*words, *([] if user is None else ["--user", user])]
            server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
            async with Client(stdio_client(server)) as client:
                assert {tool.name for tool in (await client.list_tools()).tools} == EVERY_TOOL
                result = await client.call_tool("ask", {"question": WARD_QUESTION})
                assert bool(result.structured_content["citations"]) is sees
                if sees:
                    citation = result.structured_content["citations"][0]
                    assert citation["link"] is None
                    assert citation["uri"] in text_of(result)
                    assert citation["quote"] in WARD_NOTE

    run(work())


def test_an_empty_library_says_so_and_still_shows_the_way_to_help(tmp_path: Path) -> None:
    async def work() -> None:
        build(Settings(home=tmp_path / "home")).close()
        words = ["-m", "citewell.cli", "--home", str(tmp_path / "home"), "mcp"]
        server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with Client(stdio_client(server)) as client:
            for tool, arguments in (
                ("ask", {"question": SAMPLE_QUESTION}),
                ("search", {"question": SAMPLE_QUESTION}),
                ("check", {"text": "Give iron."}),
            ):
                refused = await client.call_tool(tool, arguments)
                assert (refused.is_error, text_of(refused).startswith("The library is empty")) == (True, True)
            help_first = await client.call_tool("search", {"question": EMERGENCY})
            assert "Samaritans 116 123" in text_of(help_first)
            given = await client.call_tool("check", {"text": "Give iron daily.", "evidence": "Give iron daily."})
            assert given.structured_content["sentences"][0]["verdict"] == "supported"

    run(work())


def test_what_an_assistant_opened_or_was_refused_is_on_the_trail(door: Door) -> None:
    async def work() -> str:
        async with connected(door, door.nurse) as client:
            found = await client.call_tool("search", {"question": WARD_QUESTION})
            document = str(found.structured_content["passages"][0]["document_id"])
            await client.call_tool("show_source", {"document_id": document, "start": 0, "end": 10})
        async with connected(door, door.member) as client:
            await client.call_tool("show_source", {"document_id": document, "start": 0, "end": 10})
        return document

    document = run(work())
    with door.client(door.owner) as owner:
        records = owner.get("/api/v1/trail", params={"limit": 100}).json()["records"]
    kept = [(one["action"], one["object_id"], one["outcome"]) for one in records]
    assert ("search.search", "", "done") in kept
    assert ("document.open", document, "done") in kept
    assert ("document.open", document, "refused") in kept
