"""What every language model owes: whole replies or typed errors, within limits and deadlines, and no word too many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from citewell.adapters.llm.remote import RemoteModel, RemoteServer
from citewell.adapters.llm.vendors import make_model, make_server
from citewell.errors import (
    LLMConnectionError,
    LLMTimeoutError,
    ModelError,
    ModelNotAllowedError,
    ModelReply,
    ModelUnavailableError,
    ReplyCut,
    TokenBudgetExceededError,
)
from citewell.ports import Model, ModelInfo, ModelServer, Prompt
from citewell.types import Message
from tests.llm.servers import PIECES, Anthropic, Google, Ollama, OpenAI, Script, Server, Vendor

KEY = "sk-very-secret"
SCHEMA = {"type": "object", "properties": {"dose": {"type": "string"}}, "required": ["dose"]}


@dataclass(frozen=True)
class Adapter:
    """A vendor's protocol, the name of a model there, and the request that a prompt must become."""

    protocol: type[Vendor]
    model: str
    path: str
    request: Callable[[str], dict[str, Any]]
    schema: Callable[[], dict[str, Any]]


def _turns(role: str = "assistant") -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "Earlier?"},
        {"role": role, "content": "Earlier."},
        {"role": "user", "content": "How much?"},
    ]


def _part(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}


ADAPTERS: dict[str, Adapter] = {
    "ollama": Adapter(
        Ollama,
        "qwen3:8b",
        "",
        lambda model: {
            "model": model,
            "messages": [{"role": "system", "content": "Be brief."}, *_turns()],
            "stream": True,
            "options": {"num_ctx": 4_096, "num_predict": 200, "temperature": 0.1},
            "keep_alive": "10m",
            "tools": [],
        },
        lambda: {"format": SCHEMA},
    ),
    "openai": Adapter(
        OpenAI,
        "some-model",
        "/v1",
        lambda model: {
            "model": model,
            "messages": [{"role": "system", "content": "Be brief."}, *_turns()],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.1,
            "max_tokens": 200,
        },
        lambda: {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
            }
        },
    ),
    "anthropic": Adapter(
        Anthropic,
        "some-model",
        "",
        lambda model: {
            "model": model,
            "system": "Be brief.",
            "messages": _turns(),
            "stream": True,
            "max_tokens": 200,
        },
        lambda: {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
    ),
    "google": Adapter(
        Google,
        "some-model",
        "",
        lambda model: {
            "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}]},
            "contents": [_part("user", "Earlier?"), _part("model", "Earlier."), _part("user", "How much?")],
            "generationConfig": {"temperature": 0.1, "maxOutputTokens": 200, "candidateCount": 1},
        },
        lambda: {
            "generationConfig": {
                "temperature": 0.1,
                "maxOutputTokens": 200,
                "candidateCount": 1,
                "responseMimeType": "application/json",
                "responseJsonSchema": SCHEMA,
            }
        },
    ),
}


@dataclass
class Case:
    """A vendor's server, and a model that asks it."""

    vendor: str
    adapter: Adapter
    server: Server
    waits_s: list[float] = field(default_factory=list)
    made: list[RemoteModel | RemoteServer] = field(default_factory=list)

    @property
    def script(self) -> Script:
        return self.server.script

    @property
    def url(self) -> str:
        return self.server.url + self.adapter.path

    def model(self, name: str | None = None, *, url: str | None = None, timeout_s: float = 60) -> Model:
        allowed = [f"{name or self.adapter.model}=8192/1024"]
        spec = f"{self.vendor}:{name or self.adapter.model}"
        where = url or self.url
        made = make_model(spec, url=where, key=KEY, timeout_s=timeout_s, allowed=allowed, sleep=self.waits_s.append)
        self.made.append(made)
        return made

    def lister(self) -> ModelServer:
        made = make_server(self.vendor, url=self.url, key=KEY)
        self.made.append(made)
        return made


@pytest.fixture(params=ADAPTERS)
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    adapter = ADAPTERS[request.param]
    server = Server(adapter.protocol, Script(models=(adapter.model,)))
    case = Case(request.param, adapter, server)
    yield case
    for one in case.made:
        one.close()
    server.stop()


def prompt(text: str = "How much?", *, reply: int = 200, schema: dict[str, Any] | None = None) -> Prompt:
    turns = (Message("user", "Earlier?"), Message("assistant", "Earlier."), Message("user", text))
    return Prompt("Be brief.", turns, max_reply_tokens=reply, context_window=4_096, schema=schema)


def pieces_and_error(model: Model, asked: Prompt) -> tuple[list[str], ModelError | TokenBudgetExceededError]:
    """What came, and how it ended."""
    came: list[str] = []
    with pytest.raises((ModelError, TokenBudgetExceededError)) as met:
        came.extend(model.stream(asked))
    assert KEY not in str(met.value)
    return came, met.value


# ------------------------------------------------------------------------------------------------------- good replies


def test_a_reply_comes_piece_by_piece(case: Case) -> None:
    assert list(case.model().stream(prompt())) == list(PIECES)


def test_a_prompt_is_sent_whole_with_its_limits(case: Case) -> None:
    list(case.model().stream(prompt()))
    assert case.server.chats == [case.adapter.request(case.adapter.model)]
    assert any(KEY in value for value in case.server.requests[-1].headers.values())


def test_a_schema_is_sent_and_json_comes_back(case: Case) -> None:
    case.script.pieces = ('{"dose": ', '"5 mg"}')
    assert "".join(case.model().stream(prompt(schema=SCHEMA))) == '{"dose": "5 mg"}'
    assert case.server.chats == [{**case.adapter.request(case.adapter.model), **case.adapter.schema()}]


def test_no_rules_are_sent_where_there_are_none(case: Case) -> None:
    list(case.model().stream(Prompt("", (Message("user", "Hm?"),), 200, 4_096)))
    (sent,) = case.server.chats
    roles = [turn["role"] for turn in sent.get("messages") or sent["contents"]]
    assert (roles, {"system", "systemInstruction"} & set(sent)) == (["user"], set())


def test_limits_of_the_model_bind_what_is_asked(case: Case) -> None:
    list(case.model().stream(Prompt("Be brief.", (Message("user", "Hm?"),), 5_000, 1_000_000)))
    (sent,) = case.server.chats
    asked = {**sent, **sent.get("options", {}), **sent.get("generationConfig", {})}
    replies = [asked[name] for name in ("num_predict", "max_tokens", "maxOutputTokens") if name in asked]
    assert (replies, asked.get("num_ctx", 8_192)) == ([1_024], 8_192)


def test_thoughts_are_not_part_of_the_reply(case: Case) -> None:
    case.script.pieces = ("<thi", "nk>Hm, 5 or ", "50?</th", "ink>\n\nTake ", "5 mg.")
    assert list(case.model().stream(prompt())) == ["Take ", "5 mg."]


def test_a_model_names_its_vendor(case: Case) -> None:
    assert case.model().name == f"{case.vendor}:{case.adapter.model}"


def test_two_replies_at_once_do_not_mix(case: Case) -> None:
    model = case.model()
    first, second = model.stream(prompt()), model.stream(prompt())
    assert list(zip(first, second, strict=True)) == [(piece, piece) for piece in PIECES]


def test_a_reader_who_leaves_stops_the_reply(case: Case) -> None:
    case.script.pieces = ("word ",) * 200_000
    reply = case.model().stream(prompt())
    assert next(reply) == "word "
    reply.close()  # type: ignore[attr-defined]
    assert case.server.left.wait(30)


# ------------------------------------------------------------------------------------------------------ broken replies


@pytest.mark.parametrize("is_torn", [False, True], ids=["ended", "torn"])
def test_a_cut_reply_says_how_much_came(case: Case, is_torn: bool) -> None:
    case.script.end, case.script.is_torn = None, is_torn
    came, error = pieces_and_error(case.model(), prompt())
    assert isinstance(error, ReplyCut)
    assert (came, error.reason, error.received_characters) == (list(PIECES), "cut", len("".join(PIECES)))
    assert (len(case.server.chats), case.waits_s) == (1, [])


@pytest.mark.parametrize("reason", ["length", "filter"])
def test_a_reply_that_was_stopped_says_why(case: Case, reason: str) -> None:
    if (case.vendor, reason) == ("ollama", "filter"):
        pytest.skip("Ollama withholds nothing")
    case.script.end = reason
    came, error = pieces_and_error(case.model(), prompt())
    assert isinstance(error, ReplyCut)
    assert (came, error.reason) == (list(PIECES), reason)


@pytest.mark.parametrize("pieces", [(), ("", " \n"), ("<think>Hm.</think>",)], ids=["nothing", "blank", "thoughts"])
def test_an_empty_reply_is_an_error(case: Case, pieces: tuple[str, ...]) -> None:
    case.script.pieces = pieces
    came, error = pieces_and_error(case.model(), prompt())
    assert (came, type(error)) == ([], ModelReply)


def test_a_line_that_is_no_json_is_an_error(case: Case) -> None:
    case.script.line = '{"half": '
    came, error = pieces_and_error(case.model(), prompt())
    assert (came, isinstance(error, ModelReply)) == (list(PIECES), True)


def test_a_reply_that_is_not_the_json_asked_for_is_an_error(case: Case) -> None:
    came, error = pieces_and_error(case.model(), prompt(schema=SCHEMA))
    assert (came, type(error)) == (list(PIECES), ModelReply)
    assert "5 mg" not in str(error)


@pytest.mark.parametrize("stalls_at", [0, 2], ids=["before the first piece", "in the middle"])
def test_a_silent_server_is_left(case: Case, stalls_at: int) -> None:
    case.script.stalls_at = stalls_at
    came, error = pieces_and_error(case.model(timeout_s=1.5), prompt())
    assert (came, type(error)) == (list(PIECES[:stalls_at]), LLMTimeoutError)
    assert (len(case.server.chats), case.waits_s) == (1, [])


def test_an_endless_reply_is_left_at_the_deadline(case: Case) -> None:
    case.script.pieces = ("",) * 200_000
    came, error = pieces_and_error(case.model(timeout_s=1), prompt())
    assert (came, type(error)) == ([], LLMTimeoutError)


# ------------------------------------------------------------------------------------------------------------ failures


def test_a_busy_server_is_asked_again(case: Case) -> None:
    case.script.statuses = [429, 503, 500]
    assert list(case.model().stream(prompt())) == list(PIECES)
    assert [round(wait_s / base) for wait_s, base in zip(case.waits_s, (1, 2, 4), strict=True)] == [1, 1, 1]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_stays_busy_is_an_error(case: Case, status: int) -> None:
    case.script.statuses = [status] * 9
    came, error = pieces_and_error(case.model(), prompt())
    assert (came, type(error), len(case.server.chats)) == ([], ModelError, 4)
    assert str(status) in str(error)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_told_without_the_key(case: Case, status: int) -> None:
    case.script.statuses = [status]
    _, error = pieces_and_error(case.model(), prompt())
    assert (type(error), case.waits_s) == (ModelError, [])
    assert "CITEWELL_MODEL_KEY" in str(error)


def test_a_refused_request_is_told_without_its_words(case: Case) -> None:
    case.script.statuses, case.script.body = [400], '{"error": {"message": "bad input: How much?"}}'
    _, error = pieces_and_error(case.model(), prompt())
    assert type(error) is ModelError
    assert "How much" not in str(error)


def test_a_model_that_is_not_there_is_named(case: Case) -> None:
    came, error = pieces_and_error(case.model("missing:1b"), prompt())
    assert (came, type(error), case.waits_s) == ([], ModelUnavailableError, [])
    assert "missing:1b" in str(error)


def test_a_dead_server_is_told_after_three_more_tries(case: Case) -> None:
    model = case.model()
    case.server.stop()
    came, error = pieces_and_error(model, prompt())
    assert (came, type(error), len(case.waits_s)) == ([], LLMConnectionError, 3)
    assert "CITEWELL_MODEL_URL" in str(error)


def test_an_unknown_host_cannot_be_reached(case: Case) -> None:
    model = case.model(url="http://nowhere.invalid/v1")
    assert type(pieces_and_error(model, prompt())[1]) is LLMConnectionError


def test_no_try_begins_after_the_deadline(case: Case) -> None:
    case.script.statuses = [503] * 9
    _, error = pieces_and_error(case.model(timeout_s=2.5), prompt())
    assert (type(error), len(case.waits_s) < 3) == (ModelError, True)


# -------------------------------------------------------------------------------------------------------------- tokens


def test_a_prompt_that_cannot_fit_is_never_sent(case: Case) -> None:
    _, error = pieces_and_error(case.model(), prompt("word " * 5_000))
    assert (type(error), case.server.requests) == (TokenBudgetExceededError, [])


def test_tokens_are_counted_here_and_never_too_few(case: Case) -> None:
    model = case.model()
    text = "Give 5 mg of warfarin once daily, then check the INR. " * 20
    before = model.count(text)
    case.script.prompt_tokens = 3 * before
    list(model.stream(prompt(text)))
    assert before >= 20 * 12
    assert model.count(text) > 2.5 * before
    assert model.count("") == 0


# -------------------------------------------------------------------------------------------------------- their server


def test_models_are_listed_with_their_windows(case: Case) -> None:
    (found,) = case.lister().models()
    assert (found.name, found.context_window) == (case.adapter.model, 131_072)


def test_only_the_exact_name_is_there(case: Case) -> None:
    lister = case.lister()
    assert lister.check(case.adapter.model) == lister.models()[0]
    with pytest.raises(ModelUnavailableError, match="missing"):
        lister.check("missing")


def test_a_server_that_cannot_list_says_why(case: Case) -> None:
    lister = case.lister()
    case.server.fails, case.script.statuses = {"GET"}, [401, 500]
    with pytest.raises(ModelError, match="CITEWELL_MODEL_KEY"):
        lister.models()
    with pytest.raises(ModelError, match="500"):
        lister.models()
    case.script.statuses, case.script.body = [200] * 4, "<html>Sign in to this network</html>"
    with pytest.raises(ModelError) as told:  # not that the model is missing
        lister.check(case.adapter.model)
    assert not isinstance(told.value, ModelUnavailableError)
    case.server.stop()
    with pytest.raises(LLMConnectionError):
        lister.check(case.adapter.model)


def test_only_ollama_fetches_models(case: Case) -> None:
    told: list[tuple[int, int]] = []
    if case.vendor == "ollama":
        case.lister().pull("llama3.2", lambda done, total: told.append((done, total)))
        assert told == [(0, 1_000), (500, 1_000), (1_000, 1_000)]
        assert case.lister().check("llama3.2") == ModelInfo(
            "llama3.2:latest", 131_072, "digest of llama3.2:latest", 2_000_000_000
        )
    else:
        with pytest.raises(ModelError, match="only Ollama"):
            case.lister().pull("llama3.2", lambda done, total: None)


def test_a_model_that_is_not_allowed_is_not_made(case: Case) -> None:
    with pytest.raises(ModelNotAllowedError, match=r"llama3\.2, qwen3:8b, deepseek-r1:32b"):
        make_model(f"{case.vendor}:other", url=case.url, key=KEY)
