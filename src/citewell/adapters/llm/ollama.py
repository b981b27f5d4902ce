"""Models of an Ollama server, through its official client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from citewell.adapters.llm.counting import least_tokens
from citewell.adapters.llm.failures import Endpoint
from citewell.adapters.llm.model_limits import exact
from citewell.adapters.llm.remote import TEMPERATURE, Items, RemoteModel, RemoteServer, ReplyEnd, Vendor, turns
from citewell.adapters.remote import CONNECT_S, is_local, vendor_package
from citewell.errors import ModelReply, TokenBudgetExceededError
from citewell.ports import ModelInfo, Progress, Prompt

if TYPE_CHECKING:
    import ollama

URL = "http://127.0.0.1:11434"
KEEP_ALIVE = "10m"
"""How long the server keeps the model in memory after a reply."""


def _endpoint(url: str) -> Endpoint:
    return Endpoint(
        vendor="Ollama",
        url=url,
        start="Start it with `ollama serve`, or set CITEWELL_MODEL_URL.",
        fetch="Download it with `ollama pull {name}`, or `citewell models pull {name}`.",
    )


def _client(url: str, key: str | None, timeout_s: float) -> Any:
    ollama = vendor_package("ollama", "Ollama's client", extra="ollama")
    httpx = vendor_package("httpx", "Ollama's client", extra="ollama")
    return ollama.Client(
        host=url,
        headers={"Authorization": f"Bearer {key}"} if key else None,
        timeout=httpx.Timeout(timeout_s, connect=CONNECT_S),
        trust_env=not is_local(url),
    )


VENDOR = Vendor("ollama", URL, _endpoint, _client)


class OllamaModel(RemoteModel):
    """A model of an Ollama server; window and reply length are sent with every prompt, as it cuts silently."""

    vendor = VENDOR

    def _ask(self, prompt: Prompt) -> Items:
        self.digest = self._digest()
        parts: Iterator[ollama.ChatResponse] = self._client.chat(
            model=exact(self.model),
            messages=turns(prompt),
            stream=True,
            format=dict(prompt.schema) if prompt.schema is not None else None,
            options={
                "num_ctx": prompt.context_window,
                "num_predict": prompt.max_reply_tokens,
                "temperature": TEMPERATURE,
            },
            keep_alive=KEEP_ALIVE,
        )
        for part in parts:
            yield part.message.content or ""
            if part.done:
                self._check_whole(prompt, part.prompt_eval_count)
                self._learn(prompt, None, written=part.eval_count)
                yield ReplyEnd("length" if part.done_reason == "length" else "stop")
                return

    def _digest(self) -> str | None:
        """What the name stands for now: another model can be put under it at any time."""
        with suppress(Exception):  # one that does not tell may answer, and one that is gone says so when it is asked
            for model in self._client.list().models:
                if model.model and exact(model.model) == exact(self.model):
                    return str(model.digest) if model.digest else None
        return None

    def _check_whole(self, prompt: Prompt, counted: int | None) -> None:
        """Refuse the reply to a prompt that the server cut; it tells of none that it has in its cache."""
        if counted is None:
            return
        least = least_tokens(" ".join((prompt.system, *(message.text for message in prompt.messages))))
        if counted < least or counted >= prompt.context_window:
            raise TokenBudgetExceededError(
                f"Ollama cut the prompt: it read {counted} tokens of at least {least} sent, and its window is "
                f"{prompt.context_window}. Lower CITEWELL_MAX_CONTEXT_TOKENS, or choose a model with a larger "
                "window."
            )
        self._learn(prompt, counted)

    def _detail(self, error: Exception) -> str | None:
        return _reason(error)


class OllamaServer(RemoteServer):
    """The models that an Ollama server has, and how to fetch others."""

    vendor = VENDOR

    def names(self) -> list[str] | None:
        """What the models are called; their windows, which take a question each, are not asked for."""
        try:
            return [model.model for model in self._client.list().models if model.model]
        except Exception as error:
            raise self._failure(error, "") from None

    def check(self, name: str) -> ModelInfo:
        """The model of exactly this name and tag."""
        for model in self.models():
            if exact(model.name) == exact(name):
                return model
        raise self.endpoint.unavailable(exact(name))

    def memory_bytes(self, name: str) -> int | None:
        """What the loaded model takes, as the server tells it: of this machine, or of the one that it runs on."""
        with suppress(Exception):  # an older server does not tell
            for model in self._client.ps().models:
                if model.model and exact(model.model) == exact(name):
                    return int(model.size) if model.size else None
        return None

    def pull(self, name: str, progress: Progress) -> None:
        """Fetch a model; `progress` is told bytes of the layer that is coming."""
        status = ""
        try:
            for step in self._client.pull(exact(name), stream=True):
                status = step.status or ""
                if step.total:
                    progress(step.completed or 0, step.total)
        except Exception as error:
            raise self._failure(error, exact(name)) from None
        if status != "success":
            raise ModelReply(f"The download of {name} was interrupted. Run the same command again to continue it.")

    def _list(self) -> list[ModelInfo]:
        return [
            ModelInfo(model.model, context_window=self._window(model.model), digest=model.digest, size_bytes=model.size)
            for model in self._client.list().models
            if model.model
        ]

    def _window(self, name: str) -> int | None:
        """The window that the model was made for, where the server tells it."""
        details = self._client.show(name).modelinfo or {}
        return next((value for key, value in details.items() if key.endswith(".context_length")), None)

    def _detail(self, error: Exception) -> str | None:
        return _reason(error)


def _reason(error: Exception) -> str | None:
    """The server's reason, in its own words: Ollama's errors tell of models and memory, never of a prompt.

    A page that a proxy sent in its stead is no reason.
    """
    reason = getattr(error, "error", None)
    return reason.strip() if isinstance(reason, str) and not re.search(r"[<\n]", reason.strip()) else None
