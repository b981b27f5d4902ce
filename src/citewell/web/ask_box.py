"""The one box to ask: what its form sends for each service that answers, and the chips that narrow it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AskBox:
    """Where the box of a page sends a question, and what it says."""

    title: str
    action: str
    stream: str
    talks: str
    """Where conversations stand, before their id."""
    new: str
    """Where a new one begins."""
    place: str
    """Which chip is chosen."""
    help: str
    field: str = "question"
    conversation_field: str = "conversation_id"
    placeholder: str = "Ask in your own words"
    sources: str = ""
    """Where what an answer cites is opened, before /documents."""
    can_delete: bool = False
    """Whether the conversation can be deleted from its page."""


@dataclass(frozen=True, slots=True)
class AskPlace:
    """A chip: where a question can be narrowed to."""

    key: str
    label: str
    address: str


LIBRARY = AskBox(
    title="What do you need to know?",
    action="/ask",
    stream="/api/v1/ask/stream",
    talks="/conversations/",
    new="/",
    place="all",
    help="Every sentence is checked against its source.",
)


def guidelines_box(days: str) -> AskBox:
    """The box narrowed to guidelines; `days` is how long its conversations are kept."""
    return AskBox(
        title="What do the guidelines say?",
        action="/guidelines/chat",
        stream="/api/v1/chat/stream",
        talks="/guidelines/chat/",
        new="/guidelines/chat",
        place="guidelines",
        help="Recommendations are quoted in full. This helps you read the guideline; it does not diagnose. "
        f"These conversations are deleted {days} after the last message.",
        field="message",
        conversation_field="session_id",
        placeholder="Ask the guidelines",
        can_delete=True,
    )


def journey_box(slug: str | None, name: str, *, passages: str, sources: str) -> AskBox:
    """The box narrowed to a journey."""
    return AskBox(
        title="What does the literature say?",
        action="/evidence/ask",
        stream="/api/v1/evidence/ask/stream",
        talks="/evidence/conversations/",
        new=f"/evidence?journey={slug}" if slug else "/evidence",
        place=f"journey:{slug}" if slug else "journey",
        help=f"Searches {passages}: documents for everyone{f' and for {name}' if slug else ''} only. "
        "Every sentence is checked against its source.",
        sources=sources,
        can_delete=True,
    )
