"""The Check page: any text, each sentence with its verdict and the words that decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response, UploadFile
from starlette.concurrency import run_in_threadpool

from citewell.answer.answer_json import check_json
from citewell.api.check import Checking, checked
from citewell.api.problems import Problem, Refused, problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState, is_answering
from citewell.api.uploads import ACCEPTED
from citewell.api.visitor import Member, Visitor
from citewell.errors import CitewellError
from citewell.types import Source
from citewell.web.answers import checked_sentences, tally

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Given:
    """What stands in the form."""

    text: str = ""
    against: str = ""
    evidence: str = ""


@router.get("/check")
def check_page(site: Here, visitor: Member, against: str = "") -> Response:
    """A box for a text that some other tool wrote."""
    return _page(site, visitor, Given(against=against))


@router.post("/check")
async def check(
    *,
    request: Request,
    site: Here,
    visitor: Member,
    text: Annotated[str, Form()] = "",
    against: Annotated[str, Form()] = "",
    evidence: Annotated[str, Form()] = "",
    file: UploadFile | None = None,
    csrf: Annotated[str, Form()] = "",
) -> Response:
    """Every sentence of a text with its verdict, the reasons and the words."""
    require_our_form(request, csrf)
    given = Given(text, against, evidence)
    scope = visitor.whole if against else visitor.scope()
    try:
        if file is not None and file.filename:
            source = Source(await file.read(), file.filename)
            given = replace(given, text=await run_in_threadpool(site.app.text_of, source))
        asked = Checking(given.text, scope, against or None, evidence.strip() or None)
        results = await checked(site, visitor, asked)
    except (CitewellError, Refused) as error:
        return await run_in_threadpool(_page, site, visitor, given, problem=problem_of(error))
    shown = [check_json(sentence, result) for sentence, result in results]
    return await run_in_threadpool(_page, site, visitor, given, shown=shown)


def _page(
    site: ServerState,
    visitor: Visitor,
    given: Given,
    *,
    shown: list[dict[str, Any]] | None = None,
    problem: Problem | None = None,
) -> Response:
    everything = site.app.entries(visitor.whole)
    entries = [entry for entry in everything if is_answering(entry)]
    titles = {entry.id: entry.title for entry in everything}
    sentences = None if shown is None else checked_sentences(shown, titles)
    documents = sorted(((entry.id, entry.title) for entry in entries), key=lambda pair: pair[1].casefold())
    return site.page(
        "check.html",
        visitor,
        nav="ask",
        given=given,
        sentences=sentences,
        tally=tally(sentences or []),
        problem=problem,
        documents=documents,
        accepted=ACCEPTED,
        usual_ms=site.usual_sentence_ms,
    )
