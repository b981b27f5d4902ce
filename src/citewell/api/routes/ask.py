"""/api/v1/ask and /api/v1/check: questions answered whole or as a stream, and any text checked."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from citewell.answer.answer_json import check_json, done_json
from citewell.answer.service import may_open
from citewell.api.asking import Asking, answered, asker_of, begun, event_stream, streamed
from citewell.api.bodies.answers import AnswerResponse, AskRequest, CheckRequest, ChecksResponse
from citewell.api.bodies.events import STREAMED
from citewell.api.check import Checking, checked
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Member, Visitor
from citewell.types import AskOptions

router = APIRouter(prefix="/api/v1", dependencies=[Depends(our_request)])


def _asking(site: ServerState, asked: AskRequest, visitor: Visitor) -> Asking:
    asker = asker_of(
        site, visitor, tags=asked.tags, journey=asked.journey, subject=asked.subject, document=asked.document
    )
    options = AskOptions(asked.model, asked.max_context_chunks)
    return Asking(asked.question, asker, asked.conversation_id, options, asked.hand_on)


@router.post("/ask", response_model=AnswerResponse)
async def ask(site: Here, visitor: Member, asked: AskRequest) -> dict[str, Any]:
    """Answer a question with every sentence cited and checked, or send it to a person."""
    site.take_ask(visitor)
    asking = await run_in_threadpool(_asking, site, asked, visitor)
    done = await answered(site, await begun(site, asking))
    opens = may_open(asking.asker, asked_by=asking.asker.user_id)
    return done_json(done, with_withheld=opens, marks=asked.marks)


@router.post(
    "/ask/stream",
    response_class=StreamingResponse,
    responses=STREAMED,
)
async def ask_stream(site: Here, visitor: Member, asked: AskRequest) -> StreamingResponse:
    """The same, streamed sentence by sentence."""
    site.take_ask(visitor)
    events = await begun(site, await run_in_threadpool(_asking, site, asked, visitor))
    sending = streamed(site, events, marks=asked.marks)
    return event_stream(sending)


@router.post("/check", response_model=ChecksResponse)
async def check(site: Here, visitor: Member, given: CheckRequest) -> dict[str, Any]:
    """Check a text sentence by sentence against the library, one document, or text sent with it."""
    scope = visitor.whole if given.against else visitor.scope(tags=given.tags)
    results = await checked(site, visitor, Checking(given.text, scope, given.against, given.evidence))
    return {"sentences": [check_json(sentence, result) for sentence, result in results]}
