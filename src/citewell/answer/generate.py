"""Fits rules, history, evidence and question into the window of a writer, and writes with a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from citewell.answer.cite import MARK
from citewell.answer.confidence import self_rating
from citewell.errors import CitewellError, ReplyCut, TokenBudgetExceededError
from citewell.orders import screened
from citewell.ports import Model, Prompt
from citewell.ports.models import EXTRACTIVE
from citewell.prompts import Template
from citewell.sentences import sentences
from citewell.types import Context, Evidence, Hit, Message

Count = Callable[[str], int]
"""Tokens of a text."""

TURN_TOKENS = 8
"""What a chat template puts round every turn, generously."""
MIN_EVIDENCE_TOKENS = 60
"""A passage is not worth showing with less room than this."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How the window is shared; all in tokens."""

    window: int
    reply: int
    max_evidence: int = 3_000
    max_history: int = 1_000


def assemble(
    question: str,
    hits: Sequence[Hit],
    history: Sequence[Message],
    *,
    system: str,
    budget: Budget,
    count: Count,
) -> Context:
    """Fit the newest history and the best evidence round the rules and the question.

    Rules and question are never cut; the reply's room is kept free. The newest turns come first, then the best
    passages; one that is too large is cut after a sentence.
    """
    fixed = count(system) + count(render([], question)) + 2 * TURN_TOKENS
    room = budget.window - budget.reply - fixed
    if room < 0:
        raise TokenBudgetExceededError(
            f"Rules and question take {fixed} tokens and the reply {budget.reply}, which is more than the model's "
            f"context window of {budget.window}. Shorten the question, or choose a model with a larger window."
        )
    turns, used = _newest([_unmarked(turn) for turn in history], min(budget.max_history, room // 3), count)
    room -= used
    evidence, taken = _best(hits, min(budget.max_evidence, room), count)
    return Context(evidence, turns, left_out=len(hits) - len(evidence), tokens=fixed + used + taken)


def render(evidence: Sequence[Evidence], question: str) -> str:
    """The last message: escaped, numbered evidence, then the question."""
    blocks = "\n\n".join(render_one(passage) for passage in evidence)
    return f"{blocks}\n\nQuestion: {question}" if blocks else f"Question: {question}"


def render_one(evidence: Evidence) -> str:
    """A passage as data: nothing in it can close its block.

    The names of things are attributes, escaped too; ids of the library are not shown to the model.
    """
    hit = evidence.hit
    place = {
        "document": hit.document,
        "page": str(hit.page) if hit.page else "",
        "section": " > ".join(hit.section),
        "note": "a part that read like an instruction was left out" if evidence.is_suspicious else "",
    }
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in place.items() if value)
    return f'<evidence id="{evidence.alias}"{attributes}>\n{escape(evidence.text, quote=False)}\n</evidence>'


def _unmarked(message: Message) -> Message:
    """A turn without the marks of an earlier answer: they number what was found then, and not what is shown now."""
    return replace(message, text=MARK.sub("", message.text)) if message.role == "assistant" else message


def _newest(history: Sequence[Message], room: int, count: Count) -> tuple[tuple[Message, ...], int]:
    """The newest turns that fit, oldest first; the newest of all is cut rather than dropped."""
    kept: list[Message] = []
    used = 0
    for message in reversed(history):
        cost = count(message.text) + TURN_TOKENS
        if used + cost > room:
            if not kept and (cut := _cut(message.text, room - TURN_TOKENS, count)):
                kept.append(replace(message, text=cut))
                used += count(cut) + TURN_TOKENS
            break
        kept.append(message)
        used += cost
    return tuple(reversed(kept)), used


def _best(hits: Sequence[Hit], room: int, count: Count) -> tuple[tuple[Evidence, ...], int]:
    """The best passages that fit, the last one up to the last sentence that does; then no worse one is taken instead.

    Passages before the first that fits, of which not even a sentence does, give way to it.
    """
    kept: list[Evidence] = []
    used = 0
    for hit in map(screened, hits):
        if not hit.text.strip():
            continue  # it held nothing but orders
        whole = Evidence(len(kept) + 1, hit, hit.start, hit.end, hit.is_suspicious)
        cost = count(render_one(whole)) + 1
        if used + cost > room:
            shorter = _shortened(whole, room - used, count) if room - used >= MIN_EVIDENCE_TOKENS else None
            if shorter is None and not kept:
                continue
            if shorter is None:
                break
            whole, cost = shorter, count(render_one(shorter)) + 1
        kept.append(whole)
        used += cost
    return tuple(kept), used


def _shortened(evidence: Evidence, room: int, count: Count) -> Evidence | None:
    """The passage up to the last sentence that fits, or None when not even one does."""
    text = evidence.hit.text
    fitting = None
    for _, end in sentences(text):
        shorter = replace(evidence, end=evidence.hit.start + end)
        if count(render_one(shorter)) + 1 > room:
            break
        fitting = shorter
    return fitting


def _cut(text: str, room: int, count: Count) -> str:
    """The end of a text that fits, from the start of a sentence or else of a word."""
    starts = [start for start, _ in sentences(text)]
    for start in starts:
        if count(text[start:]) <= room:
            return text[start:]
    words = text.split()
    while words and count(" ".join(words)) > room:
        words = words[max(1, len(words) // 4) :]
    return " ".join(words)


# --------------------------------------------------------------------------------------------------- the language model


RATING_TOKENS = 256
"""The least room for a rating; a model that thinks aloud first gets as much as for a draft, where the window has it."""


class LocalWriter:
    """What writers without a model have in common: nothing is sent anywhere, so all evidence fits."""

    name: str = EXTRACTIVE
    digest: str | None = None
    window: int = 1_000_000
    reply: int = 0

    def rate(self, question: str, context: Context, answer: str, *, begun_at: float | None = None) -> float | None:  # noqa: ARG002
        """None: it has no opinion of its own words."""
        return None

    def close(self) -> None:
        """Nothing is open."""


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
        instructions = self._rating.filled(evidence=render(context.evidence, question), answer=answer)
        room = self._window - self.count(instructions) - 2 * TURN_TOKENS
        reply = min(self._reply, max(RATING_TOKENS, room))
        prompt = Prompt("", (Message("user", instructions),), reply, self._window, begun_at=begun_at)
        try:
            return self_rating("".join(self._model.stream(prompt)))
        except CitewellError:  # the “8” of a reply that broke off may have been an 85
            return None

    def close(self) -> None:
        """Let go of the model's connections."""
        self._model.close()
