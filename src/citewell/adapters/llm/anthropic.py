"""Models of Anthropic, through the official client."""

from __future__ import annotations

import logging
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from citewell.adapters.llm.failures import Endpoint
from citewell.adapters.llm.remote import Items, RemoteModel, RemoteServer, ReplyEnd, Vendor, made_client
from citewell.adapters.remote import vendor_package
from citewell.ports import ModelInfo, Prompt

if TYPE_CHECKING:
    pass

URL = "https://api.anthropic.com"

ENDS: dict[str, Literal["stop", "length", "filter"]] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
}


def _client(url: str, key: str | None, timeout_s: float) -> Any:
    package = vendor_package("anthropic", "Anthropic's client", extra="anthropic")
    # At its loudest this client logs whole requests, which hold the words of questions and documents.
    logging.getLogger("anthropic").setLevel(logging.INFO)
    return made_client(package, "Anthropic", url, key, timeout_s)


VENDOR = Vendor("anthropic", URL, partial(Endpoint, "Anthropic"), _client)


class AnthropicModel(RemoteModel):
    """A model of Anthropic; its newer ones take no temperature, so none is sent."""

    vendor = VENDOR

    def _ask(self, prompt: Prompt) -> Items:
        reason: str | None = None
        with closing(self._client.messages.create(**self._request(prompt))) as events:
            for event in events:
                if event.type == "message_start":
                    used = event.message.usage
                    cached = (used.cache_read_input_tokens or 0) + (used.cache_creation_input_tokens or 0)
                    self._learn(prompt, used.input_tokens + cached)
                elif event.type == "content_block_delta":
                    # Thoughts come as deltas of another type: signs of life, not part of the reply.
                    yield event.delta.text if event.delta.type == "text_delta" else ""
                elif event.type == "message_delta":
                    reason = event.delta.stop_reason or reason
                    self._learn(prompt, None, written=event.usage.output_tokens)
                elif event.type == "message_stop" and reason is not None:
                    yield ReplyEnd(ENDS.get(reason, "stop"))

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.text} for message in prompt.messages],
            "max_tokens": prompt.max_reply_tokens,
            "stream": True,
        }
        if prompt.system:
            request["system"] = prompt.system
        if prompt.schema is not None:
            request["output_config"] = {"format": {"type": "json_schema", "schema": dict(prompt.schema)}}
        return request


class AnthropicServer(RemoteServer):
    """The models that Anthropic lists."""

    vendor = VENDOR

    def _list(self) -> list[ModelInfo]:
        return [ModelInfo(one.id, context_window=one.max_input_tokens) for one in self._client.models.list()]
