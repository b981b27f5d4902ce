"""/api/v1/audit: every answer on record, the proof that none was changed, and asking again on the same versions."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from citewell.answer.history_json import record_json, replay_json
from citewell.answer.references import REFERENCE_FORMATS, ReferenceFormatName
from citewell.answer_export import MEDIA_TYPES, AnswerFormat, exported
from citewell.api.asking import in_turn
from citewell.api.bodies.base import MAX_NUMBER
from citewell.api.bodies.history import (
    ProofResponse,
    RecordResponse,
    RecordsResponse,
    ReplayResponse,
    SharedResponse,
    ShareResponse,
)
from citewell.api.guidelines import whole_asker
from citewell.api.request_checks import our_request
from citewell.api.routes.documents import disposition
from citewell.api.server_state import Here
from citewell.api.trail import also
from citewell.api.visitor import Governor, Member, Reader
from citewell.history import Proof, Share

router = APIRouter(prefix="/api/v1/audit")


@router.get("", response_model=RecordsResponse)
def records(
    site: Here,
    visitor: Member,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    before: Annotated[int | None, Query(ge=1, le=MAX_NUMBER, description="Only records with a lower number.")] = None,
) -> dict[str, Any]:
    """The newest records: all in the tenant for an administrator, otherwise your own."""
    return {"records": site.ask_service().audit.entries(visitor.asker(), limit=limit, before=before)}


@router.get("/proof", response_model=ProofResponse)
def proof(site: Here, visitor: Governor) -> Proof:
    """Verify the tenant's log from first to last record, and say whether any was altered or is missing."""
    return site.ask_service().audit.verify_chain(visitor.tenant)


@router.get("/{answer_id}", response_model=RecordResponse)
def one_record(site: Here, visitor: Member, answer_id: str) -> dict[str, Any]:
    """One record with its contents."""
    return record_json(site.ask_service().audit.read(answer_id, visitor.asker()))


@router.get(
    "/{answer_id}/references",
    response_class=Response,
    responses={HTTPStatus.OK: {"content": {known.media_type: {} for known in REFERENCE_FORMATS.values()}}},
)
def references(
    site: Here, visitor: Member, answer_id: str, format: ReferenceFormatName = ReferenceFormatName.RIS
) -> Response:
    """The documents that an answer cites, as a file for reference managers: RIS, BibTeX or CSL-JSON."""
    chosen = REFERENCE_FORMATS[format]
    cited = site.app.references(answer_id, asker=whole_asker(visitor))
    headers = {"Content-Disposition": disposition(f"references.{chosen.extension}")}
    return Response(chosen.write(cited), media_type=chosen.media_type, headers=headers)


@router.get(
    "/{answer_id}/export",
    response_class=Response,
    responses={HTTPStatus.OK: {"content": {kind: {} for kind in MEDIA_TYPES.values()}}},
)
def export(site: Here, visitor: Member, answer_id: str, format: AnswerFormat = AnswerFormat.MARKDOWN) -> Response:
    """An answer with its references as a file to take along: Markdown, Word or PDF."""
    service = site.ask_service()
    record = service.as_known_now(service.audit.read(answer_id, visitor.asker()))
    headers = {"Content-Disposition": disposition(f"answer.{format.value}")}
    return Response(exported(record, format), media_type=MEDIA_TYPES[format], headers=headers)


@router.get("/shared/{share_id}", response_model=SharedResponse)
def shared(site: Here, visitor: Reader, share_id: str) -> dict[str, Any]:
    """An answer that somebody shared; not found for whoever may not see all that it rests on."""
    share, record = site.app.shared(share_id, asker=visitor.asker())
    also("answer.open", share.answer_id)
    return {**asdict(share), "question": record.words["question"], "answer": record.words["answer"]}


@router.post("/{answer_id}/share", response_model=ShareResponse, dependencies=[Depends(our_request)])
def share(site: Here, visitor: Member, answer_id: str) -> Share:
    """A link to an answer, for everyone in the tenant with access to all that it rests on."""
    made = site.app.share(answer_id, asker=visitor.asker())
    also("answer.share", answer_id)
    return made


@router.delete("/{answer_id}/share", status_code=HTTPStatus.NO_CONTENT, dependencies=[Depends(our_request)])
def unshare(site: Here, visitor: Member, answer_id: str) -> None:
    """End the link to an answer."""
    site.app.unshare(answer_id, asker=visitor.asker())
    also("answer.unshare", answer_id)


@router.post("/{answer_id}/replay", response_model=ReplayResponse, dependencies=[Depends(our_request)])
async def replay(site: Here, visitor: Member, answer_id: str) -> dict[str, Any]:
    """Ask again on the same versions, and show the differences; nothing is logged."""
    site.take_ask(visitor)
    asker = visitor.asker()
    again = await in_turn(site, lambda: site.loaded().replay(answer_id, asker=asker))
    return replay_json(again)
