"""What writing an answer needs: Model, Writer, the servers behind them, and the people who are asked instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from citewell.ports.reading import Progress
from citewell.types import Context, Message

EXTRACTIVE = "extractive"
"""The writer that quotes and needs no model."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked: rules, turns and the question with its evidence, and how long the reply may be."""

    system: str
    messages: tuple[Message, ...]
    """History, oldest first; the last one is the question with its evidence."""
    max_reply_tokens: int
    context_window: int
    """Tokens that the whole exchange may take; always sent to servers that would cut silently."""
    schema: Mapping[str, object] | None = None
    """A JSON schema that the reply must follow, where structured output is wanted."""
    begun_at: float | None = None
    """When the answer that the reply is a part of was begun, by `time.monotonic`: all of its replies share one time."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that a server offers."""

    name: str
    context_window: int | None = None
    digest: str | None = None
    size_bytes: int | None = None


class Model(Protocol):
    """Writes replies, piece by piece."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str | None:
        """What the server had under the name when it was last asked; None where it tells none."""
        ...

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """Pieces of the reply as they come; raises a ModelError when it cannot go on."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text, as this model or a stand-in tokenizer counts them."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class Writer(Protocol):
    """Writes an answer from evidence; a model behind a prompt, or verbatim sentences without one."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str | None:
        """Which model wrote last under that name, where its server tells one from another."""
        ...

    @property
    def window(self) -> int:
        """Tokens that rules, history, evidence, question and reply may take together."""
        ...

    @property
    def reply(self) -> int:
        """Tokens kept free for the reply."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def write(self, question: str, context: Context, *, rules: str, begun_at: float | None = None) -> Iterator[str]:
        """The answer piece by piece, each sentence followed by marks such as [S1]; nothing without an answer.

        Where it is told when the answer was begun, the writer's time counts from then.
        """
        ...

    def rate(self, question: str, context: Context, answer: str, *, begun_at: float | None = None) -> float | None:
        """The writer's own estimate, in [0, 1], of how well the evidence carries the answer; None without one."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class Person(Protocol):
    """Someone who may be asked."""

    @property
    def id(self) -> str: ...

    @property
    def email(self) -> str: ...


class Owners(Protocol):
    """Who knows about a tag, and who answers where nobody does."""

    def owner_of(self, tag: str, *, tenant: str) -> Person | None:
        """The owner of a tag in this tenant, if it has one."""
        ...

    def administrators(self, *, tenant: str) -> list[str]:
        """The e-mail addresses of those who administer a tenant, who has done it longest first."""
        ...


class ModelServer(Protocol):
    """What a vendor's server can tell of its models."""

    def models(self) -> list[ModelInfo]:
        """The models that are there now."""
        ...

    def check(self, name: str) -> ModelInfo:
        """The model of exactly this name and tag; ModelUnavailableError says how to get one that is not there."""
        ...

    def pull(self, name: str, progress: Progress) -> None:
        """Fetch a model, where the server can."""
        ...
