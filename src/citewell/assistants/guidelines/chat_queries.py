"""Builds the search query in tiers: A as it stands, C with the topic of the talk, B rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from citewell.answer.cite import cite
from citewell.assistants.guidelines.retrieve import RULE_ID
from citewell.assistants.guidelines.tables import rows
from citewell.clinical import mentions
from citewell.errors import ModelError, TokenBudgetExceededError
from citewell.orders import is_suspicious
from citewell.ports import Writer
from citewell.prompts import Template
from citewell.types import Context, Message

REWRITE = Template.read(Path(__file__).parent / "chat_rewrite.txt")

Strategy = Literal["direct", "topic_enriched", "llm_rewrite", "rewrite"]
"""Tier A, tier C, tier B by a model, and the same without one."""

Rewrite = Callable[[str, Sequence[Message]], str | None]
"""A model's standalone search query; None when it gives none that can be used."""

SHORT_WORDS = 3
POINTING_WORDS = 8
HISTORY_MESSAGES = 12
"""Six turns, each a question and its answer."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, and how it came about."""

    text: str
    strategy: Strategy


@cache
def _pattern(where: str) -> re.Pattern[str]:
    words = next(pattern for name, pattern in rows("chat_followups.tsv") if name == where)
    start = r"^\W*" if where == "opens" else r"(?<!\w)"
    return re.compile(rf"{start}(?:{words})(?!\w)", re.IGNORECASE)


def is_follow_up(message: str) -> bool:
    """Whether a message leans on what was said before; one with a clinical thing of its own does not.

    >>> is_follow_up("what about under 40?"), is_follow_up("haematuria aged 60"), is_follow_up("and haematuria?")
    (True, False, False)
    """
    if has_own_entity(message):
        return False
    return len(message.split()) <= SHORT_WORDS or goes_on(message)


def goes_on(message: str) -> bool:
    """Whether a message opens like a follow-up, or is short and points at something said before."""
    points = _pattern("points").search(message) is not None
    return _pattern("opens").search(message) is not None or (points and len(message.split()) < POINTING_WORDS)


def has_own_entity(message: str) -> bool:
    """Whether a message names a finding, a disease, a test or a rule: it is searched as it stands, however short."""
    named = any(mention.kind not in ("lifestyle", "other") for mention in mentions(message))
    return named or RULE_ID.search(message) is not None


def build_query(message: str, topic: str | None, history: Sequence[Message], rewrite: Rewrite | None) -> Query:
    """The query for a message: direct unless it is a follow-up, then with the topic, then rewritten by a model."""
    if not is_follow_up(message):
        return Query(message, "direct")
    if topic:
        return Query(f"{topic} {message}", "topic_enriched")
    if rewrite is not None and history and (written := rewrite(message, history[-HISTORY_MESSAGES:])):
        return Query(written, "llm_rewrite")
    before = _asked_before(message, history)
    return Query(f"{before} {message}", "rewrite") if before else Query(message, "direct")


def rewritten(query: Query, message: str, history: Sequence[Message], rewrite: Rewrite | None) -> Query | None:
    """Another query where the first found nothing; None where there is no other one to try."""
    if query.strategy in ("llm_rewrite", "rewrite"):
        return None
    if rewrite is not None and (written := rewrite(message, history[-HISTORY_MESSAGES:])):
        return Query(written, "llm_rewrite")
    before = "" if has_own_entity(message) else _asked_before(message, history)
    return Query(f"{before} {message}", "rewrite") if before else None


def _asked_before(message: str, history: Sequence[Message]) -> str:
    """The last message of the person that stood on its own."""
    asked = (other.text for other in reversed(history) if other.role == "user" and other.text != message)
    return next((text for text in asked if not is_follow_up(text)), "")


MAX_QUERY_WORDS = 20


def rewriting(writer: Writer, begun_at: float) -> Rewrite:
    """Has a model make a message stand on its own, in the time of the answer that was begun then.

    A reply that is none, or reads like an order, is not used.
    """

    def rewrite(message: str, history: Sequence[Message]) -> str | None:
        try:
            asked = Context((), tuple(history))
            told = "".join(writer.write(message, asked, rules=REWRITE.text, begun_at=begun_at))
        except (ModelError, TokenBudgetExceededError):  # the question can be searched as it stands
            return None
        reply = next((line.strip() for line in told.splitlines() if line.strip()), "")
        text = " ".join(cite(reply, ()).text.strip("\"'“”").split()[:MAX_QUERY_WORDS])
        return None if not text or is_suspicious(text) else text

    return rewrite
