"""A language model as a writer: renders the prompt, streams the reply, asks for its own estimate."""

from __future__ import annotations

from collections.abc import Iterator

from citewell.answer.assemble import TURN_TOKENS, render
from citewell.answer.score import self_rating
from citewell.errors import CitewellError, ReplyCut
from citewell.ports import Model, Prompt
from citewell.prompts import Template
from citewell.types import Context, Message

RATING_TOKENS = 256
"""The least room for a rating; a model that thinks aloud first gets as much as for a draft, where the window has it."""


class ModelWriter:
    """Writes with a model behind a server."""

    def __init__(self, model: Model, *, window: int, reply: int, rating: Template) -> None:
        self._model, self._window, self._reply, self._rating = model, window, reply, rating

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def digest(self) -> str | None:
        return self._model.digest

    @property
    def window(self) -> int:
        return self._window

    @property
    def reply(self) -> int:
        return self._reply

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self._model.count(text)

    def write(self, question: str, context: Context, *, rules: str, begun_at: float | None = None) -> Iterator[str]:
        """The reply, piece by piece; one that is too long ends where its room does."""
        asked = Message("user", render(context.evidence, question))
        prompt = Prompt(rules, (*context.history, asked), self._reply, self._window, begun_at=begun_at)
        try:
            yield from self._model.stream(prompt)
        except ReplyCut as cut:
            if cut.reason != "length":  # a reply that grew too long is checked as far as it goes
                raise

    def rate(self, question: str, context: Context, answer: str, *, begun_at: float | None = None) -> float | None:
        """The model's own estimate; None when it gives none that can be read, or its reply does not come whole."""
        told = self._rating.filled(evidence=render(context.evidence, question), answer=answer)
        room = self._window - self.count(told) - 2 * TURN_TOKENS
        reply = min(self._reply, max(RATING_TOKENS, room))
        prompt = Prompt("", (Message("user", told),), reply, self._window, begun_at=begun_at)
        try:
            return self_rating("".join(self._model.stream(prompt)))
        except CitewellError:  # the “8” of a reply that broke off may have been an 85
            return None

    def close(self) -> None:
        """Let go of the model's connections."""
        self._model.close()
