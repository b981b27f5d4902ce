"""Models of Google, through the official client of the Gemini API."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from citewell.adapters.llm.failures import Endpoint
from citewell.adapters.llm.remote import NO_KEY, TEMPERATURE, Items, RemoteModel, RemoteServer, ReplyEnd, Vendor
from citewell.adapters.remote import is_local, vendor_package
from citewell.errors import ModelError
from citewell.ports import ModelInfo, Prompt

if TYPE_CHECKING:
    pass

URL = "https://generativelanguage.googleapis.com"

ENDS: dict[str, Literal["stop", "length", "filter"]] = {"STOP": "stop", "MAX_TOKENS": "length"}
"""All other reasons that the protocol knows are ways to withhold a reply."""


def _client(url: str, key: str | None, timeout_s: float) -> Any:
    genai = vendor_package("google.genai", "Google's client", extra="google")
    options = genai.types.HttpOptions(
        base_url=url, timeout=int(timeout_s * 1_000), client_args={"trust_env": not is_local(url)}
    )
    # Without `vertexai=False` a variable of the environment could send prompts elsewhere.
    return genai.Client(api_key=key or NO_KEY, vertexai=False, http_options=options)


VENDOR = Vendor("google", URL, partial(Endpoint, "Google"), _client)


class GoogleModel(RemoteModel):
    """A model of the Gemini API."""

    vendor = VENDOR

    def _ask(self, prompt: Prompt) -> Items:
        end: ReplyEnd | None = None
        try:
            started: Any = self._client.models.generate_content_stream(**self._request(prompt))
            with closing(started) as chunks:
                for chunk in chunks:
                    if chunk.usage_metadata is not None:
                        self._learn(prompt, chunk.usage_metadata.prompt_token_count)
                    if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
                        end = ReplyEnd("filter")
                    for candidate in (chunk.candidates or [])[:1]:
                        parts = (candidate.content and candidate.content.parts) or []
                        yield "".join(part.text or "" for part in parts if not part.thought)
                        if candidate.finish_reason is not None:
                            end = ReplyEnd(ENDS.get(candidate.finish_reason.name, "filter"))
        except Exception as error:
            raise _named(error, self.endpoint) from None
        if end is not None:
            yield end

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        config: dict[str, Any] = {
            "system_instruction": prompt.system or None,
            "temperature": TEMPERATURE,
            "max_output_tokens": prompt.max_reply_tokens,
            "candidate_count": 1,
        }
        if prompt.schema is not None:
            config |= {"response_mime_type": "application/json", "response_json_schema": dict(prompt.schema)}
        roles = {"user": "user", "assistant": "model"}
        contents = [{"role": roles[message.role], "parts": [{"text": message.text}]} for message in prompt.messages]
        return {"model": self.model, "contents": contents, "config": config}


class GoogleServer(RemoteServer):
    """The models that the Gemini API lists."""

    vendor = VENDOR

    def _list(self) -> list[ModelInfo]:
        try:
            return [
                ModelInfo(one.name.removeprefix("models/"), context_window=one.input_token_limit)
                for one in self._client.models.list()
                if one.name
            ]
        except Exception as error:
            raise _named(error, self.endpoint) from None


def _named(error: Exception, endpoint: Endpoint) -> Exception:
    """A wrong key as such: this API calls it a bad request, with the reason in the details."""
    if "API_KEY_INVALID" in str(getattr(error, "details", "")):
        return ModelError(f"{endpoint.place} refused the key. Check CITEWELL_MODEL_KEY and its permissions.")
    return error
