"""The events of a stream, each with the shape of its data."""

from __future__ import annotations

from typing import Any, get_type_hints

from citewell.answer.events import AnswerFailed, AnswerStarted, Notice, StageStarted
from citewell.api.bodies.answers import AnswerResponse, CitationResponse
from citewell.api.bodies.base import ResponseBody
from citewell.types import Verdict

MEDIA_TYPE = "text/event-stream"
REFERENCE = "#/components/schemas/{model}"


class CheckedSentenceResponse(ResponseBody):
    """A sentence was checked; `shown` says whether it is part of the answer."""

    index: int
    shown: bool
    text: str
    verdict: Verdict
    reasons: list[str]
    citations: list[int]
    sources: list[CitationResponse]


class ReplacedSentenceResponse(CheckedSentenceResponse):
    """A later check overturned a sentence that was sent before: it is withdrawn, or shown as given here."""


class DoneResponse(AnswerResponse):
    """The whole answer, as logged. The last event."""


class Events(ResponseBody):
    """The data of every event by its name, in the order in which they come."""

    started: AnswerStarted
    working: StageStarted
    told: Notice
    sentence: CheckedSentenceResponse
    replace: ReplacedSentenceResponse
    done: DoneResponse
    failed: AnswerFailed


EVENTS: dict[str, type] = get_type_hints(Events)

ORDER = """Server-sent events, in this order: `started`; `working` for each stage; `told` for words of the assistant's
own that come first; for every sentence, once it is checked, `sentence`; `replace` where a later check overturns one
that was shown; at the end `done` with the whole answer, or `failed`. A line that begins with a colon is a sign of life.
A client that closes the connection stops the work."""
"""The one stream that the command line, the API and the page read."""


def _event(name: str, shape: type) -> dict[str, Any]:
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": REFERENCE.format(model=shape.__name__)},
    }
    return {
        "title": name,
        "type": "object",
        "required": ["event", "data"],
        "properties": {"event": {"const": name}, "data": data},
    }


def data_schemas() -> dict[str, Any]:
    """The shapes of all data, for the components of the schema."""
    schema = Events.model_json_schema(mode="serialization", ref_template=REFERENCE)
    defined: dict[str, Any] = schema["$defs"]
    return defined


STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": ORDER,
        "content": {MEDIA_TYPE: {"schema": {"oneOf": [_event(name, shape) for name, shape in EVENTS.items()]}}},
    }
}
"""What a route that streams answers with: one event, its data JSON on one line."""
