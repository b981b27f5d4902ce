"""The events of a stream, each with the shape of its data."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from citewell.api.bodies.answers import AnswerResponse, CitationResponse, Verdict
from citewell.api.stream import MEDIA_TYPE

REFERENCE = "#/components/schemas/{model}"


class StartedResponse(BaseModel):
    """The question is saved in this conversation, whatever the outcome."""

    conversation_id: str


class WorkingResponse(BaseModel):
    """A stage begins: `searching` the library; `reading` the passages that were found, as far as they fit; `writing`
    from those; `checking`, once the first sentence is there. `count` is how many passages the stage looks at, null
    while searching."""

    stage: Literal["searching", "reading", "writing", "checking"]
    count: int | None


class ToldResponse(BaseModel):
    """Words of the assistant's own that come before its sentences, such as the notice in an emergency."""

    text: str
    is_emergency: bool
    """It is the way to help, which comes before everything else."""


class CheckedSentenceResponse(BaseModel):
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


class FailedResponse(BaseModel):
    """It cannot go on; ask again with the same conversation id. The last event."""

    kind: str
    message: str


EVENTS: dict[str, type[BaseModel]] = {
    "started": StartedResponse,
    "working": WorkingResponse,
    "told": ToldResponse,
    "sentence": CheckedSentenceResponse,
    "replace": ReplacedSentenceResponse,
    "done": DoneResponse,
    "failed": FailedResponse,
}
"""The events by their names, in the order in which they come."""

ORDER = """Server-sent events, in this order: `started`; `working` for each stage; `told` for words of the assistant's
own that come first; for every sentence, once it is checked, `sentence`; `replace` where a later check overturns one
that was shown; at the end `done` with the whole answer, or `failed`. A line that begins with a colon is a sign of life.
A client that closes the connection stops the work."""
"""The one stream that the command line, the API and the page read."""


def _event(name: str, shape: type[BaseModel]) -> dict[str, Any]:
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
    wanted = [(shape, "serialization") for shape in EVENTS.values()]
    _, found = models_json_schema(wanted, ref_template=REFERENCE)  # type: ignore[arg-type]
    defined: dict[str, Any] = found["$defs"]
    return defined


STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": ORDER,
        "content": {MEDIA_TYPE: {"schema": {"oneOf": [_event(name, shape) for name, shape in EVENTS.items()]}}},
    }
}
"""What a route that streams answers with: one event, its data JSON on one line."""
