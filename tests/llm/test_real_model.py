"""A real language model behind a real server: what the protocol servers of the other tests only imitate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from citewell.adapters.llm.remote import RemoteModel
from citewell.errors import (
    LLMConnectionError,
    LLMTimeoutError,
    ModelUnavailableError,
    ReplyCut,
    TokenBudgetExceededError,
)
from citewell.ports import ModelInfo, Prompt
from citewell.types import Message
from tests.llm.conftest import RealServer

pytestmark = pytest.mark.slow


def asked(text: str, *, reply: int = 16, schema: dict[str, object] | None = None) -> Prompt:
    return Prompt("Answer in a few words.", (Message("user", text),), reply, 2_048, schema)


@pytest.fixture
def model(real_server: RealServer) -> Iterator[RemoteModel]:
    made = real_server.model()
    yield made
    made.close()


def pieces_until_the_limit(model: RemoteModel, prompt: Prompt) -> list[str]:
    """What came; a tiny model seldom ends before its limit."""
    pieces: list[str] = []
    cut = None
    try:
        pieces.extend(model.stream(prompt))
    except ReplyCut as error:
        cut = error.reason, error.received_characters
    assert cut in (None, ("length", len("".join(pieces))))
    return pieces


def test_a_reply_streams_and_stops_at_its_limit(model: RemoteModel) -> None:
    pieces = pieces_until_the_limit(model, asked("Write a long story about a river.", reply=12))
    assert 1 < len(pieces) <= 12


def test_a_schema_binds_the_reply(model: RemoteModel) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"answer": {"enum": ["yes", "no"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    reply = json.loads("".join(model.stream(asked("Is water wet?", reply=24, schema=schema))))
    assert reply in ({"answer": "yes"}, {"answer": "no"})


def test_json_that_does_not_fit_its_limit_is_a_cut(model: RemoteModel) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"words": {"type": "array", "items": {"type": "string"}, "minItems": 50}},
        "required": ["words"],
    }
    with pytest.raises(ReplyCut) as cut:
        list(model.stream(asked("Name animals.", reply=8, schema=schema)))
    assert cut.value.reason == "length"


def test_the_server_tells_its_model_and_window(real_server: RealServer) -> None:
    lister = real_server.lister()
    assert lister.models() == [ModelInfo("smollm2:135m", context_window=2_048)]
    with pytest.raises(ModelUnavailableError, match="gpt-nothing"):
        lister.check("gpt-nothing")
    lister.close()


def test_another_model_is_refused_though_the_server_would_answer(real_server: RealServer) -> None:
    model = real_server.model("gpt-nothing")
    with pytest.raises(ModelUnavailableError, match="gpt-nothing"):
        list(model.stream(asked("Hello?")))
    model.close()


def test_tokens_are_counted_as_the_server_counts_or_higher(model: RemoteModel) -> None:
    text = "Offer apixaban 5 mg twice daily to adults with an eGFR of 30 mL/min or more (NICE, 2021). " * 10
    before = model.count(text)
    pieces_until_the_limit(model, asked(text, reply=1))
    assert model.count(text) == before


def test_a_prompt_over_the_window_is_refused_here(model: RemoteModel) -> None:
    with pytest.raises(TokenBudgetExceededError):
        list(model.stream(asked("river " * 2_100)))


def test_a_model_that_is_too_slow_is_left(real_server: RealServer) -> None:
    model = real_server.model(timeout_s=0.05)
    with pytest.raises(LLMTimeoutError, match="CITEWELL_MODEL_TIMEOUT_S"):
        list(model.stream(asked("Write a long story about a mountain.", reply=24)))
    model.close()


def forced(word: str) -> Prompt:
    """A question that can only be answered with this word, so that a reply tells whose it is."""
    properties: dict[str, object] = {"answer": {"enum": [word]}}
    shape: dict[str, object] = {"type": "object", "properties": properties, "required": ["answer"]}
    return asked("Say it.", reply=24, schema={**shape, "additionalProperties": False})


def test_two_readers_get_a_reply_each(model: RemoteModel) -> None:
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(lambda asking: pieces_until_the_limit(model, asking), [forced("fig"), forced("Nile")]))
    assert [json.loads("".join(reply)) for reply in replies] == [{"answer": "fig"}, {"answer": "Nile"}]


def test_a_server_killed_in_the_middle_of_a_reply_is_a_cut_and_then_gone(mortal_server: RealServer) -> None:
    model = mortal_server.model()
    reply = model.stream(asked("Count from one to a hundred in words.", reply=200))
    came = [next(reply), next(reply)]
    mortal_server.kill()
    with pytest.raises(ReplyCut) as cut:
        came.extend(reply)
    assert (cut.value.reason, cut.value.received_characters) == ("cut", len("".join(came)))
    with pytest.raises(LLMConnectionError, match="CITEWELL_MODEL_URL"):
        list(model.stream(asked("Hello?")))
    model.close()
