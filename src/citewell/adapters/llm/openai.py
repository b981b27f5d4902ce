"""Models of OpenAI and of every server that speaks its protocol, through the official client."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

from citewell.adapters.llm.failures import Endpoint
from citewell.adapters.llm.remote import (
    TEMPERATURE,
    Items,
    RemoteModel,
    RemoteServer,
    ReplyEnd,
    Vendor,
    made_client,
    turns,
)
from citewell.adapters.remote import vendor_package
from citewell.ports import ModelInfo, Prompt

if TYPE_CHECKING:
    import openai

URL = "https://api.openai.com/v1"

NO_LIST = (404, 405, 501)
"""How servers say that they do not list their models."""
OPTIONAL = frozenset({"temperature", "max_tokens", "stream_options"})
"""Parameters that some models refuse; instead of `max_tokens` they take `max_completion_tokens`."""
ENDS: dict[str, Literal["stop", "length", "filter"]] = {"length": "length", "content_filter": "filter"}


def _endpoint(url: str) -> Endpoint:
    return Endpoint("OpenAI" if url == URL else "The model server", url, "Start it, or set CITEWELL_MODEL_URL.")


def _client(url: str, key: str | None, timeout_s: float) -> Any:
    return made_client(vendor_package("openai", "The OpenAI client", extra="openai"), "OpenAI", url, key, timeout_s)


VENDOR = Vendor("openai", URL, _endpoint, _client)


class OpenAIModel(RemoteModel):
    """A model of an OpenAI-compatible server.

    The name must be one that the server lists: servers with one model answer to any name, and what answered must be
    what is recorded. Parameters that a model refuses by name are left out from then on.
    """

    vendor = VENDOR

    _is_listed = False
    _refused: frozenset[str] = frozenset()

    def _ask(self, prompt: Prompt) -> Items:
        self._check_listed()
        end: ReplyEnd | None = None
        with closing(self._started(prompt)) as chunks:
            for chunk in chunks:
                if chunk.usage is not None:
                    self._learn(prompt, chunk.usage.prompt_tokens, written=chunk.usage.completion_tokens)
                for choice in chunk.choices[:1]:
                    yield choice.delta.content or ""
                    if choice.finish_reason is not None:
                        end = ReplyEnd(ENDS.get(choice.finish_reason, "stop"))
        if end is not None:
            yield end

    def _started(self, prompt: Prompt) -> openai.Stream[Any]:
        """The stream of a reply; asked again without a parameter that this model does not take."""
        import openai

        while True:
            try:
                created: openai.Stream[Any] = self._client.chat.completions.create(**self._request(prompt))
            except openai.BadRequestError as error:
                if error.param not in OPTIONAL - self._refused:
                    raise
                self._refused |= {error.param}
            else:
                return created

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        reply = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        request: dict[str, Any] = {
            "model": self.model,
            "messages": turns(prompt),
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": TEMPERATURE,
            reply: prompt.max_reply_tokens,
        }
        if prompt.schema is not None:
            shape = {"name": "reply", "schema": dict(prompt.schema), "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": shape}
        return {name: value for name, value in request.items() if name not in self._refused}

    def _check_listed(self) -> None:
        """Refuse a model that the server does not list; a server without a list is taken at its word."""
        import openai

        if not self._is_listed:
            try:
                names = [one.id for one in self._client.models.list()]
            except openai.APIStatusError as error:
                if error.status_code not in NO_LIST:
                    raise
                names = [self.model]
            if self.model not in names:
                raise self.endpoint.unavailable(self.model)
            self._is_listed = True


class OpenAIServer(RemoteServer):
    """The models that an OpenAI-compatible server lists."""

    vendor = VENDOR

    def names(self) -> list[str] | None:
        """What the models are called; a server without a list is taken at its word."""
        import openai

        try:
            return [one.id for one in self._client.models.list()]
        except openai.APIStatusError as error:
            if error.status_code in NO_LIST:
                return None
            raise self._failure(error, "") from None
        except Exception as error:
            raise self._failure(error, "") from None

    def _list(self) -> list[ModelInfo]:
        return [ModelInfo(one.id, context_window=_window(one.model_extra or {})) for one in self._client.models.list()]


def _window(extra: Mapping[str, Any]) -> int | None:
    """The context window, under the names that vLLM, OpenRouter and llama.cpp give it."""
    meta = extra.get("meta")
    nested = meta if isinstance(meta, dict) else {}
    found = (extra.get("max_model_len"), extra.get("context_length"), nested.get("n_ctx"), nested.get("n_ctx_train"))
    return next((value for value in found if isinstance(value, int)), None)
