"""Citewell as a model that cites: /v1/chat/completions and /v1/models, as programs for OpenAI's models call them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from http import HTTPStatus
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from citewell.answer.answer_json import action_name, citation_json, claim_json, without_help
from citewell.answer.events import AnswerDone, AnswerFailed, AnswerStarted, Event, Notice
from citewell.answer.service import AskService
from citewell.api.asking import BEAT, Asking, answered, as_it_comes, begun, counted, event_stream
from citewell.api.chat import chatting
from citewell.api.doors.openai_errors import error_json
from citewell.api.doors.readable import Links, after_the_sentences, is_sendable, with_links
from citewell.api.guidelines import whole_asker
from citewell.api.problems import Problem, Refused
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Member, Reader, Visitor
from citewell.assistants.guidelines.chat_topic import mark
from citewell.errors import InputError
from citewell.types import Answer, User

router = APIRouter(prefix="/v1")

LIBRARY, GUIDELINES = "citewell", "citewell-guidelines"
MODELS = {LIBRARY: "Answers from the documents of the library.", GUIDELINES: "Answers from the guidelines."}
NO_MODEL = Problem(
    HTTPStatus.NOT_FOUND, "model_not_found", f"This server has no such model. Use one of these: {', '.join(MODELS)}."
)
ONE_AT_A_TIME = "Citewell gives one answer at a time. Leave out `n`."
ONLY_TEXT = "Citewell reads text only. Send messages without images, sound or files."
NO_TOOLS = "Citewell calls no tools. Leave out `tools` and `functions`."
NO_FORMAT = "Citewell answers in its sources' words. Leave out `response_format`."
NO_QUESTION = "The last message must be a question from the user."
FORGOTTEN = "Note: the earlier messages are not on record here, so this question was read on its own."
CONVERSATIONS_LOOKED_AT = 50
"""Among how many of a person's newest conversations the one is looked for that a request goes on with."""
SEND = "citewell_send"
"""The entry of `metadata` by which a request has an unanswered question sent to a person."""
WRONG_SEND = f'Set `metadata.{SEND}` to "true" or "false".'
TO_SEND = "To send it to a person, open {link} and choose “Ask a person”."
USED = frozenset({"model", "messages", "stream", "n", "tools", "functions", "response_format", "metadata"})
_MARK = re.compile(r"\[(\d+)\](?=\s|$)")


class TextPart(BaseModel):
    """A part of a message."""

    type: str
    text: str | None = None


class ChatMessage(BaseModel):
    """A message of a talk so far."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[str, Field(max_length=400_000)] | Annotated[list[TextPart], Field(max_length=200)] | None = None

    @property
    def text(self) -> str:
        """Its words."""
        if not isinstance(self.content, list):
            return self.content or ""
        if any(part.type != "text" for part in self.content):
            raise InputError(ONLY_TEXT)
        return "\n".join(part.text or "" for part in self.content)


class CompletionRequest(BaseModel):
    """A request for a completion; what steers a language model's wording has nothing to steer here, and is named."""

    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=1_000)]
    stream: bool = False
    n: int | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None

    @property
    def is_sent_on(self) -> bool:
        """Whether a question that the documents do not answer is to be sent to a person."""
        return (self.metadata or {}).get(SEND) == "true"

    @property
    def question(self) -> str:
        """The question that is asked now."""
        if self.messages[-1].role != "user":
            raise InputError(NO_QUESTION)
        return self.messages[-1].text

    @property
    def earlier_questions(self) -> list[str]:
        """What the user asked before."""
        return [message.text.strip() for message in self.messages[:-1] if message.role == "user"]

    @property
    def unused(self) -> list[str]:
        """What was sent and has no bearing on an answer."""
        roles = {"system", "developer"} & {message.role for message in self.messages}
        sent = (self.model_extra or {}).keys() - USED
        other = {"metadata"} if (self.metadata or {}).keys() - {SEND} else set()
        return sorted({*(f"{role} messages" for role in roles), *sent, *other})


# --------------------------------------------------------------------------------------------------------------- models


@router.get("/models")
def models(_visitor: Reader) -> dict[str, Any]:
    """The models that can be chosen."""
    return {"object": "list", "data": [_model(name) for name in MODELS]}


@router.get("/models/{name}")
def one_model(_visitor: Reader, name: str) -> dict[str, Any]:
    """One of them."""
    if name not in MODELS:
        raise Refused(NO_MODEL)
    return _model(name)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "citewell", "description": MODELS[name]}


# ---------------------------------------------------------------------------------------------------------- completions


@router.post("/chat/completions", dependencies=[Depends(our_request)])
async def complete(request: Request, site: Here, visitor: Member, asked: CompletionRequest) -> Response:
    """Answer the last message with cited, checked sentences, whole or as a stream."""
    _refuse_unanswerable(asked)
    links = Links(site.base(request.url), await run_in_threadpool(site.samples, visitor))
    events, is_forgotten = await _begun(site, visitor, asked)
    writing = Completion(asked, links, is_forgotten=is_forgotten)
    if asked.stream:
        return event_stream(_streamed(site, events, writing))
    done = await answered(site, events)
    return JSONResponse(writing.whole(done))


def _refuse_unanswerable(asked: CompletionRequest) -> None:
    """Refuse what no answer of ours could honour."""
    if asked.model not in MODELS:
        raise Refused(NO_MODEL)
    refusals = (
        (asked.n not in (None, 1), ONE_AT_A_TIME),
        ((asked.metadata or {}).get(SEND, "false") not in ("true", "false"), WRONG_SEND),
        (bool(asked.tools or asked.functions), NO_TOOLS),
        ((asked.response_format or {}).get("type", "text") != "text", NO_FORMAT),
    )
    for is_refused, why in refusals:
        if is_refused:
            raise InputError(why)


async def _begun(site: ServerState, visitor: Visitor, asked: CompletionRequest) -> tuple[Iterator[Event], bool]:
    """An answer that will be written as it is read, and whether what was said before is not known here."""
    question, before = asked.question, asked.earlier_questions
    if asked.model == GUIDELINES:
        known = await run_in_threadpool(_conversation, site.chat_service(), whole_asker(visitor), before)
        events = await chatting(site, visitor, question, session_id=known, guideline=None)
        return events, bool(before) and known is None
    site.take_ask(visitor)
    known = await run_in_threadpool(_conversation, site.ask_service(), visitor.asker(), before)
    events = await begun(site, Asking(question, visitor.asker(), known, hand_on=asked.is_sent_on))
    return events, bool(before) and known is None


def _conversation(service: AskService, asker: User, questions: Sequence[str]) -> str | None:
    """The asker's own conversation in which exactly these questions were asked, the newest of several."""
    if not questions:
        return None
    page = service.conversations.page(asker, limit=CONVERSATIONS_LOOKED_AT)
    for conversation in page.items:
        turns = service.conversations.turns(conversation.id, asker)
        if [turn.message.text for turn in turns if turn.message.role == "user"] == list(questions):
            return conversation.id
    return None


class Completion:
    """An answer as a completion: its text with sources below, and its citations as annotations of the text."""

    def __init__(self, asked: CompletionRequest, links: Links, *, is_forgotten: bool) -> None:
        self._asked, self._links = asked, links
        self._forgotten = FORGOTTEN if is_forgotten else ""
        self._created, self._name = int(time.time()), f"chatcmpl-{uuid4().hex}"
        """The time and the ID of this completion."""

    def whole(self, done: AnswerDone) -> dict[str, Any]:
        """The completion of an answer."""
        done = self._numbered(done)
        text = "\n\n".join(filter(None, (self._help(done.answer), *self.parts(done))))
        annotations = self.annotations(text, done.answer)
        message = {"role": "assistant", "content": text, "refusal": None, "annotations": annotations}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head("chat.completion"), "choices": [choice], "citewell": self.about(done)}

    def chunk(self, delta: dict[str, Any], *, finish: str | None = None, **more: Any) -> dict[str, Any]:
        """A piece of a completion as it is streamed."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._head("chat.completion.chunk"), "choices": [choice], **more}

    def chunks(self, done: AnswerDone, shown: str) -> Iterator[dict[str, Any]]:
        """The rest of an answer after what was shown of it: paragraphs, then annotations."""
        text, done = shown, self._numbered(done)
        for part in self.parts(done):
            piece = f"\n\n{part}" if text else part
            text += piece
            yield self.chunk({"content": piece})
        yield self.chunk({"annotations": self.annotations(text, done.answer)})
        yield self.chunk({}, finish="stop", citewell=self.about(done))

    def parts(self, done: AnswerDone) -> Iterator[str]:
        """The paragraphs after the way to help."""
        page = self._links.base and f"{self._links.base}/conversations/{done.conversation_id}#last"
        to_send = TO_SEND.format(link=page) if page and is_sendable(done) else ""
        answer = done.answer
        after = after_the_sentences(answer, self._links)
        yield from filter(None, (self._forgotten, without_help(answer), to_send, *after))

    def _numbered(self, done: AnswerDone) -> AnswerDone:
        """The answer with the numbers of its sources as marks, where it names recommendations instead."""
        if self._asked.model != GUIDELINES:
            return done
        answer, at = done.answer, 0
        for claim in answer.claims:
            cited = [citation for citation in answer.citations if citation.n in claim.citations]
            named = "".join(f" {mark(citation)}" for citation in cited)
            place = answer.text.find(named, answer.text.find(claim.text, at)) if claim.is_shown and named else -1
            if place >= 0:
                numbers = "".join(f" [{citation.n}]" for citation in cited)
                answer = replace(answer, text=f"{answer.text[:place]}{numbers}{answer.text[place + len(named) :]}")
                at = place + len(numbers)
        return replace(done, answer=answer)

    def annotations(self, text: str, answer: Answer) -> list[dict[str, Any]]:
        """Each mark in the text with the address, the document and the quoted words that it stands for."""
        citations = {citation.n: citation for citation in answer.citations}
        body = text.partition("\nSources:\n")[0]
        marks = [(mark, citations[int(mark[1])]) for mark in _MARK.finditer(body) if int(mark[1]) in citations]
        return [
            {
                "type": "url_citation",
                "url_citation": {
                    "start_index": mark.start(),
                    "end_index": mark.end(),
                    "title": self._links.marked(citation.document, citation.document_id),
                    "url": self._links.best(citation.document_id, citation.start, citation.end),
                    "quote": citation.quote,
                },
            }
            for mark, citation in marks
        ]

    def about(self, done: AnswerDone) -> dict[str, Any]:
        """What a completion has no place for: what became of the question, verdicts, and what was not used."""
        answer = done.answer
        return {
            "action": action_name(answer.action),
            "reason": getattr(answer.action, "reason", None),
            "answer_id": answer.id,
            "conversation_id": done.conversation_id,
            "inbox_id": done.routed_id,
            "emergency": None if answer.emergency is None else {"kinds": list(answer.emergency.kinds)},
            "sentences": [claim_json(claim) for claim in answer.claims if claim.is_shown],
            "citations": [with_links(citation_json(citation), self._links) for citation in answer.citations],
            "unused": self._asked.unused,
        }

    @staticmethod
    def _help(answer: Answer) -> str:
        return "" if answer.emergency is None else answer.emergency.text

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self._name, "object": kind, "created": self._created, "model": self._asked.model}


async def _streamed(site: ServerState, events: Iterator[Event], writing: Completion) -> AsyncIterator[bytes]:
    """The way to help at once, the answer when it is whole: a sentence that was sent could not be taken back."""
    site.metrics.move("streams", 1)
    shown = ""
    try:
        ended = await site.answer_turns.begin()
        async with aclosing(as_it_comes(events, threads=site.writers, watch=counted(site), ended=ended)) as coming:
            yield _framed(writing.chunk({"role": "assistant", "content": ""}))
            async for event in coming:
                match event:
                    case None:
                        yield BEAT
                    case Notice(text=text, is_emergency=True):
                        shown = text
                        yield _framed(writing.chunk({"content": text}))
                    case AnswerFailed():
                        yield _framed(error_json(HTTPStatus.SERVICE_UNAVAILABLE, event.kind, event.message))
                    case AnswerDone():
                        for chunk in writing.chunks(event, shown):
                            yield _framed(chunk)
                    case AnswerStarted() | _:
                        continue
        yield b"data: [DONE]\n\n"
    finally:
        site.metrics.move("streams", -1)


def _framed(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
