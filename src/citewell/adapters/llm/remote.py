"""What all language models behind a server share: limits, deadlines, retries, and replies that are whole or refused."""

from __future__ import annotations

import json
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, Literal

from citewell.adapters.llm.counting import TokenCounter
from citewell.adapters.llm.failures import Endpoint, failure
from citewell.adapters.llm.model_limits import ModelLimits
from citewell.adapters.remote import CONNECT_S, RETRY_AFTER_S, Sleep, TransientFailure, is_local, spread
from citewell.errors import LLMTimeoutError, ModelError, ModelReply, ReplyCut, TokenBudgetExceededError
from citewell.ports import ModelInfo, Progress, Prompt

DEFAULT_BILLIONS = 3.0
"""Assumed where the name tells no size: small local models such as llama3.2, and the servers of vendors."""
BASE_S, PER_BILLION_S, MAX_S = 60.0, 30.0, 1_200.0
"""A model of 8 billion parameters on a CPU reads 4,000 tokens in about 80 s and writes 2,000 in about 4 minutes."""

_SIZE = re.compile(r"(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReplyTimeouts:
    """How long to wait for the first token, loading included, and for the whole reply, retries included."""

    first_token_s: float
    total_s: float


def patience_for(name: str, *, timeout_s: float | None = None) -> ReplyTimeouts:
    """Time that grows with the size in the model's name, unless it was set.

    >>> patience_for("llama3.2")
    ReplyTimeouts(first_token_s=75.0, total_s=150.0)
    >>> patience_for("qwen3:8b").total_s, patience_for("deepseek-r1:32b").total_s, patience_for("mixtral:8x7b").total_s
    (300.0, 1020.0, 1200.0)
    >>> patience_for("qwen3:8b", timeout_s=30)
    ReplyTimeouts(first_token_s=15.0, total_s=30)
    """
    match = _SIZE.search(name)
    billions = float(match[2]) * int(match[1] or 1) if match else DEFAULT_BILLIONS
    total_s = timeout_s if timeout_s is not None else min(MAX_S, BASE_S + PER_BILLION_S * billions)
    return ReplyTimeouts(first_token_s=total_s / 2, total_s=total_s)


OPENED, CLOSED = "<think>", "</think>"


class ThinkingFilter:
    """What a reply says outside of `<think>` blocks, piece by piece; a tag may be split over pieces.

    >>> visible = ThinkingFilter()
    >>> [visible.feed(piece) for piece in ("Take <thi", "nk>hm</", "think> 5 m", "g <b")], visible.rest()
    (['Take ', '', ' 5 m', 'g <b'], '')
    """

    def __init__(self) -> None:
        self._held = ""
        self._is_thinking = False

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        self._held += piece
        shown = []
        while True:
            tag = CLOSED if self._is_thinking else OPENED
            before, found, after = self._held.partition(tag)
            if not found:
                break
            if not self._is_thinking:
                shown.append(before)
            self._held, self._is_thinking = after, not self._is_thinking
        kept = _possible_start(self._held, tag)
        if not self._is_thinking:
            shown.append(self._held[: len(self._held) - kept])
        self._held = self._held[len(self._held) - kept :]
        return "".join(shown)

    def rest(self) -> str:
        """What was held back in case it was a tag, once it is known that nothing follows."""
        rest, self._held = "" if self._is_thinking else self._held, ""
        return rest


def _possible_start(text: str, tag: str) -> int:
    """How many characters at the end of the text may begin the tag."""
    return next((size for size in range(len(tag) - 1, 0, -1) if text.endswith(tag[:size])), 0)


TEMPERATURE = 0.1
NO_KEY = "none"
"""Sent to a server that needs no key, so that a key of the environment never goes to it."""


@dataclass(frozen=True, slots=True)
class ReplyEnd:
    """The server said that the reply is over, and why."""

    reason: Literal["stop", "length", "filter"]


Items = Generator[str | ReplyEnd, None, None]
"""Pieces of a reply, empty ones as signs of life, then its end; without an end the reply was cut."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """Who runs a server: where it is unless the person says, what to say of it, and how to reach it."""

    name: str
    url: str
    endpoint: Callable[[str], Endpoint]
    connect: Callable[[str, str | None, float], Any]
    """The vendor's client for an address, a key and a time limit in seconds."""


def made_client(package: Any, name: str, url: str, key: str | None, timeout_s: float) -> Any:
    """A client of the packages of OpenAI and Anthropic, which are generated from one template."""
    return getattr(package, name)(
        base_url=url,
        api_key=key or NO_KEY,
        max_retries=0,
        timeout=package.Timeout(timeout_s, connect=CONNECT_S),
        http_client=package.DefaultHttpxClient(trust_env=False) if is_local(url) else None,
    )


class RemoteModel(ABC):
    """A model behind a server; a vendor's class says only how to ask once."""

    vendor: ClassVar[Vendor]

    def __init__(
        self,
        model: str,
        *,
        limits: ModelLimits,
        url: str | None = None,
        key: str | None = None,
        patience: ReplyTimeouts | None = None,
        sleep: Sleep = time.sleep,
    ) -> None:
        url = url or self.vendor.url
        self.model = model
        self.limits = limits
        self.endpoint = self.vendor.endpoint(url)
        self.patience = patience or patience_for(model)
        self.digest: str | None = None
        """What the server had under the name when it was last asked, where it tells."""
        self.written_tokens = 0
        """Tokens of all replies, as the server counts them, thoughts included."""
        self.writing_s = 0.0
        """What all replies took, each from its first sign to its end."""
        self._sleep = sleep
        self._counter = TokenCounter(model)
        self._client = self.vendor.connect(url, key, self.patience.total_s)
        self._waiting: set[SimpleQueue[str | ReplyEnd | Exception | None]] = set()
        """Where replies are awaited now."""

    @property
    def name(self) -> str:
        """Vendor and model, as in the settings."""
        return f"{self.vendor.name}:{self.model}"

    def count(self, text: str) -> int:
        """Tokens of a text, counted here."""
        return self._counter.count(text)

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """Pieces of the reply as they come; a reply that does not come to a good end raises after its last piece."""
        fitted = self._fitted(prompt)
        begun_at = time.monotonic() if prompt.begun_at is None else prompt.begun_at
        deadline = begun_at + self.patience.total_s
        if time.monotonic() >= deadline:  # what came before took all of the time
            raise self._late()
        for pause_s in (*RETRY_AFTER_S, None):
            try:
                yield from self._reply(fitted, deadline)
            except TransientFailure as met:
                wait_s = spread(pause_s, met.wait_s) if pause_s is not None else None
                if wait_s is None or time.monotonic() + wait_s > deadline:
                    raise met.error from None
                self._sleep(wait_s)
            else:
                return

    def close(self) -> None:
        """Let go of connections; whoever waits for a reply waits no longer."""
        for items in list(self._waiting):
            items.put(ModelError(f"Citewell was stopped before {self.model} answered. Start it and ask again."))
        self._client.close()

    @abstractmethod
    def _ask(self, prompt: Prompt) -> Items:
        """One try; may raise whatever the vendor's client raises."""

    def _detail(self, error: Exception) -> str | None:  # noqa: ARG002 - for vendors whose errors repeat no prompt
        """The server's own reason, where it can hold no words of a prompt."""
        return None

    def _fitted(self, prompt: Prompt) -> Prompt:
        """The prompt within the model's limits; one that would not fit is refused before anything is sent."""
        window = min(prompt.context_window, self.limits.context_window)
        reply = min(prompt.max_reply_tokens, self.limits.max_reply_tokens)
        needed = sum(map(self._counter.estimate, _texts(prompt)))
        if needed + reply > window:
            raise TokenBudgetExceededError(
                f"The prompt takes {needed} tokens and the reply {reply}, which is more than the context window of "
                f"{self.model} ({window}). Lower CITEWELL_MAX_CONTEXT_TOKENS, or choose a model with a larger "
                "window."
            )
        return replace(prompt, context_window=window, max_reply_tokens=reply)

    def _learn(self, prompt: Prompt, counted: int | None, *, written: int | None = None) -> None:
        """Remember how many tokens the server made of a prompt, and wrote."""
        self.written_tokens += written or 0
        if counted:
            self._counter.learn("\n".join(_texts(prompt)), counted=counted)

    def _reply(self, prompt: Prompt, deadline: float) -> Iterator[str]:
        """One try, without thoughts; once a piece was given, what fails is a cut and never tried again."""
        visible, end, received = ThinkingFilter(), None, 0
        kept: list[str] = []
        first_at: float | None = None
        try:
            for item in self._paced(prompt, deadline):
                first_at = first_at or time.monotonic()
                end = item if isinstance(item, ReplyEnd) else end
                text = visible.rest() if isinstance(item, ReplyEnd) else visible.feed(item)
                text = text if received else text.lstrip()
                if text:
                    received += len(text)
                    kept += [text] if prompt.schema is not None else []
                    yield text
        except (LLMTimeoutError, ModelReply):
            raise
        except (TransientFailure, ModelError):
            if received:
                raise self._cut("cut", received) from None
            raise
        finally:
            self.writing_s += 0.0 if first_at is None else time.monotonic() - first_at
        if end is None or end.reason != "stop":
            raise self._cut("cut" if end is None else end.reason, received)
        if not received:
            raise ModelReply(f"{self.model} returned an empty answer. Ask again, or choose another model.")
        if prompt.schema is not None:
            _check_json("".join(kept), self.model)

    def _cut(self, reason: Literal["cut", "length", "filter", "stop"], received: int) -> ModelReply:
        if reason == "length":
            message = f"The reply of {self.model} was too long. Ask for less, or raise its reply limit."
            return ReplyCut(message, reason="length", received_characters=received)
        if reason == "filter":
            message = f"{self.endpoint.vendor} blocked the reply of {self.model}. Rephrase the question."
            return ReplyCut(message, reason="filter", received_characters=received)
        message = f"The reply of {self.model} was cut off after {received} characters. Ask again."
        return ReplyCut(message, reason="cut", received_characters=received)

    def _guarded(self, prompt: Prompt) -> Items:
        """One try, with the vendor's errors as ours."""
        try:
            yield from self._ask(prompt)
        except Exception as error:
            raise failure(error, self.endpoint, model=self.model, detail=self._detail(error)) from None

    def _paced(self, prompt: Prompt, deadline: float) -> Iterator[str | ReplyEnd]:
        """Items as they come; a thread reads them, so that no silence and no stream of pings outlasts the limits."""
        items: SimpleQueue[str | ReplyEnd | Exception | None] = SimpleQueue()
        abandoned = threading.Event()
        first_by = time.monotonic() + self.patience.first_token_s

        def read() -> None:
            try:
                with closing(self._guarded(prompt)) as source:
                    for item in source:
                        if abandoned.is_set():
                            return
                        if time.monotonic() > deadline:
                            raise self._late()
                        items.put(item)
                items.put(None)
            except Exception as error:
                items.put(error)

        wait_until = min(deadline, first_by)
        self._waiting.add(items)  # before anything is asked, so that a stop meets whoever has asked
        threading.Thread(target=read, name="citewell-model", daemon=True).start()
        try:
            while (item := self._next(items, wait_until)) is not None:
                wait_until = deadline
                yield item
        finally:
            abandoned.set()
            self._waiting.discard(items)

    def _next(self, items: SimpleQueue[str | ReplyEnd | Exception | None], wait_until: float) -> str | ReplyEnd | None:
        """The next item; what has come is given even after the deadline."""
        try:
            item = items.get(timeout=max(0.0, wait_until - time.monotonic()))
        except Empty:
            raise self._late() from None
        if isinstance(item, Exception):
            raise item
        return item

    def _late(self) -> LLMTimeoutError:
        limits = f"{self.patience.first_token_s:g} s to start, {self.patience.total_s:g} s in total"
        return LLMTimeoutError(
            f"{self.model} took too long (limit: {limits}). Ask again, choose a smaller model, or raise "
            "CITEWELL_MODEL_TIMEOUT_S."
        )


class RemoteServer(ABC):
    """What a vendor's server can tell of its models; a vendor's class says only how to list them."""

    vendor: ClassVar[Vendor]

    def __init__(self, *, url: str | None = None, key: str | None = None, timeout_s: float = 30.0) -> None:
        url = url or self.vendor.url
        self.endpoint = self.vendor.endpoint(url)
        self._client = self.vendor.connect(url, key, timeout_s)

    def models(self) -> list[ModelInfo]:
        try:
            return self._list()
        except Exception as error:
            raise self._failure(error, "") from None

    def names(self) -> list[str] | None:
        """What the models are called that are there now; None where the server does not tell."""
        return [model.name for model in self.models()]

    def check(self, name: str) -> ModelInfo:
        """The model of exactly this name."""
        for model in self.models():
            if model.name == name:
                return model
        raise self.endpoint.unavailable(name)

    def pull(self, name: str, progress: Progress) -> None:  # noqa: ARG002 - only Ollama can
        """Say that models of this server cannot be fetched."""
        raise ModelError(
            f"{self.endpoint.place} cannot download models; only Ollama can. Install {name} there by hand."
        )

    def memory_bytes(self, name: str) -> int | None:  # noqa: ARG002 - only Ollama tells it of each model
        """What the server takes of this machine's memory; None where that is not known."""
        from citewell.adapters.llm.server_memory import server_memory

        return server_memory(self.endpoint.url)

    def close(self) -> None:
        self._client.close()

    @abstractmethod
    def _list(self) -> list[ModelInfo]:
        """The models; may raise whatever the vendor's client raises."""

    def _failure(self, error: Exception, model: str) -> Exception:
        """Our error for a vendor's; what a server tells of its models is not asked for twice."""
        transient_failure = failure(error, self.endpoint, model=model, detail=self._detail(error))
        return transient_failure.error if isinstance(transient_failure, TransientFailure) else transient_failure

    def _detail(self, error: Exception) -> str | None:  # noqa: ARG002 - for vendors whose errors repeat no prompt
        """The server's own reason."""
        return None


def turns(prompt: Prompt) -> list[dict[str, str]]:
    """Rules, if there are any, and messages, in the form that most protocols share."""
    rules = [{"role": "system", "content": prompt.system}] if prompt.system else []
    return [*rules, *({"role": message.role, "content": message.text} for message in prompt.messages)]


def _texts(prompt: Prompt) -> list[str]:
    return [prompt.system, *(message.text for message in prompt.messages)]


def _check_json(text: str, model: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):  # brackets within brackets, thousands deep, are no answer either
        raise ModelReply(f"{model} did not answer in the required form. Ask again, or choose another model.") from None
