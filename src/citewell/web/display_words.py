"""How numbers, dates and states are said to a person."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from citewell.answer.gate import WHY
from citewell.ingest import media_types
from citewell.ingest.parse_cut_embed import Step
from citewell.types import EVERY, LifecycleState

RELEVANCE = ((0.5, "strong"), (0.25, "good"), (0.1, "fair"), (0.0, "weak"))
"""From which relevance a match is called what."""

ANSWERS, PROBABLY, UNSURE = (
    "Answers your question",
    "Probably answers it: check the source",
    "May not answer it: read the source",
)
LEVELS = ((0.75, ANSWERS), (0.5, PROBABLY), (0.0, UNSURE))
"""What an answer is called by how often one with its score is right."""

VERDICTS = {
    "supported": ("✓", "supported by the source", "good"),
    "partly": ("≈", "partly supported by the source", "busy"),
    "contradicted": ("✗", "contradicted by the source", "bad"),
    "not_found": ("?", "not found in the sources", "wait"),
}
"""The mark of a verdict, its words, and the colour it has."""

TURN = {
    "verdicts": VERDICTS,
    "withheld": list(WHY.items()),
    "calibrated": "how often answers with this score are right, measured on questions with known answers",
    "instruction": "contains what looks like an instruction; it was not followed",
}
"""What an answer is drawn with, by the server and by the script."""

STATES = {
    LifecycleState.PENDING: ("not queued yet", "wait"),
    LifecycleState.QUEUED: ("queued", "wait"),
    LifecycleState.PROCESSING: ("processing", "busy"),
    LifecycleState.COMPLETED: ("ready", "good"),
    LifecycleState.FAILED: ("could not be read", "bad"),
    LifecycleState.SUPERSEDED: ("replaced", "wait"),
    LifecycleState.WITHDRAWN: ("withdrawn", "wait"),
}
"""What a person reads for a state, and the colour it has."""

STAGES = {
    "reading": "Reading file",
    "cutting": "Splitting into passages",
    "embedding": "Indexing",
    "storing": "Saving",
}

ID_LENGTH = 36

KINDS = {
    media_types.PDF: "PDF",
    media_types.DOCX: "Word",
    media_types.HTML: "HTML",
    media_types.MARKDOWN: "Markdown",
    media_types.TEXT: "Text",
    media_types.XML: "XML",
    media_types.JATS: "Article XML",
    media_types.CDA: "Patient record XML",
}


def looked_in(scope: Mapping[str, Any]) -> str:
    """Where an answer was looked for, in words.

    >>> looked_in({"tags": ["*"], "journey": None, "subject": None, "documents": 12})
    'Searched all 12 documents.'
    >>> looked_in({"tags": ["lung", "ward"], "journey": "stroke", "subject": None, "documents": 1})
    'Searched 1 document: tagged “lung” or “ward”, or for everyone; includes the journey “stroke”.'
    >>> looked_in({"tags": [], "journey": None, "subject": None, "documents": 3})
    'Searched 3 documents: for everyone.'
    """
    if scope.get("document"):
        return "Searched this document alone."
    count = counted(scope["documents"], "document")
    tags = [f"“{tag}”" for tag in scope["tags"] if tag != "public"]
    if EVERY in scope["tags"]:
        told = f"Searched all {count}"
    else:
        tagged = f"tagged {' or '.join(tags)}, or " if tags else ""
        told = f"Searched {count}: {tagged}for everyone"
    if scope["journey"] not in (None, EVERY):
        told += f"; includes the journey “{scope['journey']}”"
    if scope["subject"] is not None:
        told += f"; includes documents about “{scope['subject']}”"
    return f"{told}."


def answer_level(answer: Mapping[str, Any]) -> tuple[str, str]:
    """How far an answer answers the question, in words, and its colour; one with a reservation never does wholly.

    >>> answer_level({"action": "CITE", "confidence": {"calibrated": 0.8}})
    ('Answers your question', 'good')
    >>> answer_level({"action": "QUALIFY", "confidence": {"calibrated": 0.9}})[1]
    'busy'
    """
    level = next(word for least, word in LEVELS if answer["confidence"]["calibrated"] >= least)
    if answer["action"] == "QUALIFY" and level == ANSWERS:
        level = PROBABLY
    return level, {ANSWERS: "good", PROBABLY: "busy", UNSURE: "wait"}[level]


def relevance_word(relevance: float) -> str:
    """What a relevance is called.

    >>> relevance_word(0.86), relevance_word(0.05), relevance_word(float("nan"))
    ('strong', 'weak', 'weak')
    """
    return next((word for least, word in RELEVANCE if relevance >= least), RELEVANCE[-1][1])


def state_word(state: LifecycleState) -> str:
    """What a state is called."""
    return STATES[state][0]


def state_colour(state: LifecycleState) -> str:
    """The name of a state's colour."""
    return STATES[state][1]


def kind(media_type: str) -> str:
    """What a type of file is called.

    >>> kind("application/pdf"), kind("application/fhir+json"), kind("")
    ('PDF', 'JSON', '')
    """
    if media_type in KINDS:
        return KINDS[media_type]
    return media_type.rpartition("+")[2].rpartition("/")[2].upper()


def day(moment: datetime | date | str | None) -> str:
    """A day as people write it, in this machine's time zone.

    >>> day(date(2025, 3, 12)), day("2025-03-12")
    ('12 Mar 2025', '12 Mar 2025')
    """
    if not moment:
        return ""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment) if "T" in moment else date.fromisoformat(moment)
    local = moment.astimezone() if isinstance(moment, datetime) else moment
    return f"{local.day} {local:%b %Y}"


def moment(when: datetime | None) -> str:
    """A day with its time, to the minute, in this machine's time zone.

    >>> moment(datetime(2026, 3, 2, 14, 5).astimezone()), moment(None)
    ('2 Mar 2026, 14:05', '')
    """
    return "" if when is None else f"{day(when)}, {when.astimezone():%H:%M}"


def size(count: int) -> str:
    """A number of bytes in words.

    >>> size(900), size(25_600), size(3_500_000)
    ('1 KB', '25 KB', '3.3 MB')
    """
    if count < 1024 * 1024:
        return f"{max(1, round(count / 1024)):,} KB"
    return f"{count / 1024 / 1024:,.1f} MB"


def audit_title(question: str) -> str:
    """What a record of the audit log is called: the question, or what was signed or assessed in words.

    >>> audit_title("consult 0d97a8c4-a43c-4118-a911-dab7d6ebeece"), audit_title("unnamed assessed against NG12")
    ('Consultation 0d97a8c4', 'Unnamed patient assessed against NG12')
    """
    first, _, rest = question.partition(" ")
    if first == "consult" and len(rest) == ID_LENGTH and " " not in rest:
        return f"Consultation {rest[:8]}"
    return f"Unnamed patient {rest}" if first == "unnamed" and rest.startswith("assessed ") else question


def raised(words: str) -> str:
    """Words with a capital at their beginning; those of names and units stay as they are.

    >>> raised("the sources do not speak of NSAIDs"), raised("")
    ('The sources do not speak of NSAIDs', '')
    """
    return words[:1].upper() + words[1:]


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "page"), counted(12_431, "passage"), counted(2, "copy", "copies")
    ('1 page', '12,431 passages', '2 copies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """A length of time, rounded the way one says it.

    >>> [duration(seconds) for seconds in (0.4, 3.2, 48, 130, 5_000)]
    ['1 s', '4 s', '50 s', '3 min', '1 h 24 min']
    """
    whole = max(1, math.ceil(seconds))
    if whole < 10:
        return f"{whole} s"
    if whole < 60:
        return f"{math.ceil(whole / 5) * 5} s"
    minutes = math.ceil(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


_SETTING = re.compile(r", or raise (?:CITEWELL_[A-Z_]+|max_\w+)(?: and start again| in the settings)?(?=\.)")


def advice(message: str, *, runs_site: bool) -> str:
    """What went wrong and what to do; settings are named only to those who run the site.

    >>> advice("It is too long. Split it and add the parts, or raise CITEWELL_MAX_CHARACTERS.", runs_site=False)
    'It is too long. Split it and add the parts.'
    """
    return message if runs_site else _SETTING.sub("", message)


ELSEWHERE = "Processing on another worker"


def next_attempt(at: datetime) -> str:
    """When something that failed is tried again, in this machine's time zone.

    >>> next_attempt(datetime(2026, 3, 2, 14, 5).astimezone())
    'Will retry at 14:05'
    """
    return f"Will retry at {at.astimezone():%H:%M}"


def stage(step: Step | None, time_left_s: float | None) -> str:
    """How far a document has come, in words.

    >>> stage(Step("embedding", 120, 400), 20.0)
    'Indexing 120 of 400 · about 20 s left'
    >>> stage(None, None)
    'Queued'
    """
    if step is None:
        return "Queued"
    words = STAGES[step.stage]
    if step.total:
        words += f" {step.done:,} of {step.total:,}"
    return words if time_left_s is None else f"{words} · about {duration(time_left_s)} left"
