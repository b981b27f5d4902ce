"""What the Chat page shows of an answer: what is said in the assistant's words, and each rule with the way to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citewell.assistants.guidelines.chat_view import cited
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.search_entries import facts
from citewell.web.answers import Chip, notice_of, turn


@dataclass(frozen=True, slots=True)
class ChatStatement:
    """A statement of an answer, and the labels that open its words."""

    text: str
    verdict: str
    chips: tuple[tuple[str, Chip], ...]


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A message and what it got; no answer while it waits for one."""

    message: str
    answer: Mapping[str, Any] | None
    notice: str = ""
    """The way to help, where the message tells of an emergency; it stands first and apart."""
    before: str = ""
    said: tuple[ChatStatement, ...] = ()
    after: str = ""


def examples(guidelines: Sequence[Guideline]) -> list[str]:
    """Questions that the guidelines at hand answer: a finding, a term and a rule, as far as they have them."""
    found = []
    for guideline in guidelines[:1]:
        rules = [rule for rule in guideline.rules if rule.action.deed != "advice"] or list(guideline.rules)
        named = (each.phrase for rule in rules for each in facts(rule).findings if len(each.phrase.split()) <= 2)
        found += [f"Which people with {phrase} should be referred?" for phrase in [*named][:1]]
        found += [f"What does “{term.term.lower()}” mean?" for term in guideline.definitions[-2:-1]]
        found += [f"What does {rule.id} say?" for rule in rules[:1]]
        found += [heading.capitalize() for heading in guideline.headings[:2]]
    return found


def chat_turn(message: str, answer: Mapping[str, Any] | None) -> ChatTurn:
    """An answer in its JSON shape, ready to be shown."""
    if answer is None:
        return ChatTurn(message, None)
    notice = notice_of(answer)
    if not answer["sentences"]:
        return ChatTurn(message, answer, notice, answer["text"].removeprefix(notice).strip())
    chips = turn(message, answer).chips
    labels = {one["n"]: cited(one)["label"] for one in answer["citations"]}
    chat_statements = tuple(
        ChatStatement(one["text"], one["verdict"], tuple((labels[n], chips[n]) for n in one["citations"]))
        for one in answer["sentences"]
    )
    notes = answer.get("notes", {})
    return ChatTurn(message, answer, notice, notes.get("before", ""), chat_statements, notes.get("after", ""))
