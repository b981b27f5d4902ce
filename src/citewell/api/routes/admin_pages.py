"""Pages for those who keep the documents: the list, upload, actions on a selection, one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from citewell.adapters.store.document_lists import DocumentFilter, ListOrder, Order
from citewell.api.bodies.base import Revision
from citewell.api.bodies.documents import Action, DocumentOutcome
from citewell.api.document_changes import acted, chosen, chunking, edited, origin
from citewell.api.multipart import MAX_FILES
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import our_form, require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.uploads import ACCEPTED
from citewell.api.visitor import Editor, Visitor
from citewell.errors import CitewellError, InputError, NotFound
from citewell.types import LifecycleState

router = APIRouter(prefix="/admin")

Csrf = Annotated[str, Form()]
Short = Annotated[str, Query(max_length=200)]
Ids = Annotated[list[str] | None, Query(alias="id")]
ROWS = 50
PASSAGES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ActionWords:
    """What a page says of an action before it is done, and after."""

    title: str
    meaning: str
    button: str
    done: str


WORDS: Mapping[Action, ActionWords] = {
    "ingest": ActionWords(
        "Re-process",
        "Each document is queued. Documents in use keep their current results until processing is complete.",
        "Add to queue",
        "queued",
    ),
    "withdraw": ActionWords(
        "Withdraw",
        "They will no longer appear in searches and answers. Files, text and history are kept, and you can restore "
        "them.",
        "Withdraw documents",
        "withdrawn from search",
    ),
    "restore": ActionWords(
        "Restore", "They will be used in searches and answers again straight away.", "Restore documents", "restored"
    ),
    "erase": ActionWords(
        "Erase",
        "All versions will be permanently erased: the files, their text and their passages. Only a history entry "
        "remains.",
        "Erase permanently",
        "erased",
    ),
}


# --------------------------------------------------------------------------------------------------------- the list


@router.get("/documents")
def documents(
    *,
    request: Request,
    site: Here,
    visitor: Editor,
    words: Short = "",
    state: Short = "",
    journey: Short = "",
    tag: Short = "",
    active: Short = "",
    sort: Order = "added",
    down: bool = True,
    first: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    """The documents that are wanted, a page at a time."""
    if state and state not in list(LifecycleState):
        raise InputError("Unknown state. Choose one from the list.")
    is_active = {"true": True, "false": False}.get(active)
    wanted = DocumentFilter(words, LifecycleState(state) if state else None, journey or None, tag or None, is_active)
    asked = {name: value for name, value in request.query_params.items() if value and name != "first"}
    return _list(site, visitor, wanted, ListOrder(sort, down, first, ROWS), asked=asked)


def _list(
    site: ServerState,
    visitor: Visitor,
    wanted: DocumentFilter,
    sorting: ListOrder,
    *,
    asked: Mapping[str, str],
    outcomes: Sequence[DocumentOutcome] = (),
    done: str = "",
) -> Response:
    scope = visitor.whole
    journeys = site.app.journeys.all(scope)
    return site.page(
        "admin_documents.html",
        visitor,
        nav="admin",
        found=site.app.catalogue.listed(wanted, sorting, scope),
        wanted=wanted,
        sorting=sorting,
        asked=asked,
        journeys=journeys,
        names={known.slug: known.name for known in journeys},
        tags=site.app.catalogue.tags(scope),
        states=list(LifecycleState),
        outcomes=outcomes,
        done=done,
    )


@router.get("/documents/confirm")
def confirm(site: Here, visitor: Editor, action: Action, ids: Ids = None) -> Response:
    """Say what would happen to which documents, before it does."""
    entries = chosen(site, visitor, ids or [])
    return site.page("admin_confirm.html", visitor, nav="admin", entries=entries, action=action, words=WORDS[action])


@router.post("/documents/actions", dependencies=[Depends(our_form)])
def act(
    *,
    site: Here,
    visitor: Editor,
    action: Annotated[Action, Form()],
    ids: Annotated[list[str] | None, Form(alias="id")] = None,
) -> Response:
    """Do it, and say what became of each."""
    outcomes = acted(site, visitor, action, ids or [])
    return _list(site, visitor, DocumentFilter(), ListOrder(), asked={}, outcomes=outcomes, done=WORDS[action].done)


@router.get("/upload")
def upload(site: Here, visitor: Editor) -> Response:
    """Many files at once, with how far each has come."""
    scope = visitor.whole
    waiting = [
        entry
        for state in (LifecycleState.PROCESSING, LifecycleState.QUEUED)
        for entry in site.app.catalogue.listed(DocumentFilter(state=state), ListOrder(limit=ROWS), scope).entries
    ]
    return site.page(
        "admin_upload.html",
        visitor,
        nav="admin",
        rows=[(entry, site.progress(entry), None) for entry in waiting],
        journeys=site.app.journeys.all(scope),
        max_file_mb=site.app.settings.max_file_mb,
        max_characters=site.app.settings.max_characters,
        max_files=MAX_FILES,
        accepted=ACCEPTED,
    )


# ------------------------------------------------------------------------------------------------------ one document


@router.get("/documents/{document_id}")
def document(
    site: Here,
    visitor: Editor,
    document_id: str,
    first: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    saved: Annotated[int, Query(ge=0, le=1)] = 0,
) -> Response:
    """All that is known of a document, to be changed."""
    return _document(site, visitor, document_id, first=first, is_saved=bool(saved))


def _document(
    site: ServerState,
    visitor: Visitor,
    document_id: str,
    *,
    first: int = 0,
    is_saved: bool = False,
    problem: Problem | None = None,
    typed: str = "",
) -> Response:
    scope = visitor.whole
    entry = site.entry(document_id, scope)
    catalogue = site.app.catalogue
    response = site.page(
        "admin_document.html",
        visitor,
        nav="admin",
        entry=entry,
        origin=origin(site, document_id, visitor),
        progress=site.progress(entry),
        versions=catalogue.versions(entry.lineage, scope),
        history=site.app.library.history(document_id, scope),
        chunks=catalogue.chunks(document_id, scope, first=first, limit=PASSAGES_SHOWN) if entry.chunk_count else (),
        first=first,
        shown=PASSAGES_SHOWN,
        journeys=site.app.journeys.all(scope),
        accepted=ACCEPTED,
        is_saved=is_saved,
        problem=problem,
        typed=typed,
        outcomes=(),
        done="",
    )
    if problem is not None:
        response.status_code = problem.status
    return response


@router.post("/documents/{document_id}")
def edit(
    *,
    request: Request,
    site: Here,
    visitor: Editor,
    document_id: str,
    title: Annotated[str, Form(max_length=1_000)] = "",
    tags: Annotated[str, Form(max_length=2_000)] = "",
    journey: Annotated[list[str] | None, Form()] = None,
    strategy: Annotated[str, Form(max_length=16)] = "",
    size: Annotated[int, Form()] = 0,
    overlap: Annotated[int, Form()] = 0,
    revision: Annotated[Revision | None, Form()] = None,
    csrf: Csrf = "",
) -> Response:
    """Save what the form says, unless somebody else changed the document since it was shown."""
    require_our_form(request, csrf)
    try:
        before = site.entry(document_id, visitor.whole)
        fields: dict[str, Any] = {"title": title, "journeys": journey or []}
        given = frozenset(tags.replace(",", " ").split())
        fields["tags"] = given if given != frozenset(before.tags) else None
        cut = chunking(strategy, size, overlap) if strategy else None
        fields["chunking"] = cut if cut != before.chunking else None
        edited(site, visitor, document_id, fields, revision)
    except NotFound:
        raise
    except CitewellError as error:
        typed = f"{title}; tags {tags}; journeys {', '.join(journey or ['none'])}"
        return _document(site, visitor, document_id, problem=problem_of(error), typed=typed)
    return RedirectResponse(f"/admin/documents/{document_id}?saved=1", status_code=HTTPStatus.SEE_OTHER)
