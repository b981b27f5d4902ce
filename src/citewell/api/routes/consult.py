"""/api/v1/consults: an interview, its findings, differentials, and a plan from guidelines that a clinician signs."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Literal

from fastapi import APIRouter, Depends, Request, Response

from citewell.api.bodies.consult import (
    ConfirmedRequest,
    ConsultResponse,
    ConsultsResponse,
    DifferentialsRequest,
    EditRequest,
    FindingRequest,
    LineRequest,
    MoveRequest,
    RecordRequest,
    RemovalRequest,
    SayRequest,
    SignRequest,
    StartRequest,
)
from citewell.api.consult import FILES, consult_service_of, holder, record_of, signed
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here
from citewell.api.visitor import Member
from citewell.assistants.consult.view import listed_json, turn_json
from citewell.consult_export import exported

router = APIRouter(prefix="/api/v1/consults")

OURS = [Depends(our_request)]
BODIES = {
    "content": {
        kind.partition(";")[0]: {"schema": {"type": "object" if "json" in kind else "string"}}
        for kind in FILES.values()
    }
}


@router.get("", response_model=ConsultsResponse)
def consults(site: Here, visitor: Member) -> dict[str, Any]:
    """Your own consultations, most recent first."""
    return {"consults": [listed_json(*listed) for listed in consult_service_of(site).all(holder(visitor))]}


@router.post("", status_code=HTTPStatus.CREATED, response_model=ConsultResponse, dependencies=OURS)
def start(site: Here, visitor: Member, sent: StartRequest) -> dict[str, Any]:
    """Start a consultation."""
    return turn_json(consult_service_of(site).start(holder(visitor), setting=sent.setting, country=sent.country))


@router.get("/{consult_id}", response_model=ConsultResponse)
def one_consult(site: Here, visitor: Member, consult_id: str) -> dict[str, Any]:
    """The current state of a consultation."""
    return turn_json(consult_service_of(site).look(consult_id, holder(visitor)))


@router.post("/{consult_id}/record", response_model=ConsultResponse, dependencies=OURS)
def read_record(site: Here, visitor: Member, request: Request, consult_id: str, sent: RecordRequest) -> dict[str, Any]:
    """Read the patient's record into the consultation, once they consent: a FHIR R4 bundle or an unlocked vault."""
    service, asker = consult_service_of(site), holder(visitor)
    service.look(consult_id, asker)
    record = record_of(site, visitor, request.app.state.safe, sent)
    return turn_json(service.read_record(consult_id, record, asker))


@router.post("/{consult_id}/messages", response_model=ConsultResponse, dependencies=OURS)
def say(site: Here, visitor: Member, consult_id: str, sent: SayRequest) -> dict[str, Any]:
    """Add a message: record its findings and ask the next question."""
    site.take_ask(visitor)
    return turn_json(consult_service_of(site).say(consult_id, sent.text, holder(visitor)))


@router.post("/{consult_id}/findings", response_model=ConsultResponse, dependencies=OURS)
def add_finding(site: Here, visitor: Member, consult_id: str, sent: FindingRequest) -> dict[str, Any]:
    """Add a finding from the clinician."""
    change = sent.model_dump(exclude_none=True)
    return turn_json(consult_service_of(site).note(consult_id, change, holder(visitor)))


@router.patch("/{consult_id}/findings/{finding_id}", response_model=ConsultResponse, dependencies=OURS)
def correct(site: Here, visitor: Member, consult_id: str, finding_id: str, sent: FindingRequest) -> dict[str, Any]:
    """Correct a finding; the old value stays in the history."""
    change = sent.model_dump(exclude_none=True)
    return turn_json(consult_service_of(site).correct(consult_id, finding_id, change, holder(visitor)))


@router.delete("/{consult_id}/findings/{finding_id}", response_model=ConsultResponse, dependencies=OURS)
def retract(site: Here, visitor: Member, consult_id: str, finding_id: str) -> dict[str, Any]:
    """Withdraw a finding; it stays in the history."""
    return turn_json(consult_service_of(site).retract(consult_id, finding_id, holder(visitor)))


@router.post("/{consult_id}/confirmed", response_model=ConsultResponse, dependencies=OURS)
def confirm(site: Here, visitor: Member, consult_id: str, sent: ConfirmedRequest | None = None) -> dict[str, Any]:
    """Confirm findings, all of them by default."""
    named = () if sent is None else sent.findings
    return turn_json(consult_service_of(site).confirm(consult_id, named, holder(visitor)))


@router.post("/{consult_id}/acknowledged", response_model=ConsultResponse, dependencies=OURS)
def acknowledge(site: Here, visitor: Member, consult_id: str) -> dict[str, Any]:
    """Acknowledge the red flags."""
    return turn_json(consult_service_of(site).acknowledge(consult_id, holder(visitor)))


@router.put("/{consult_id}/differentials", response_model=ConsultResponse, dependencies=OURS)
def differentials(site: Here, visitor: Member, consult_id: str, sent: DifferentialsRequest) -> dict[str, Any]:
    """Add, change or remove differentials; red flags and the minimum data set come first."""
    site.take_ask(visitor)
    turn = consult_service_of(site).differentials(
        consult_id,
        [(entered.condition, entered.confidence) for entered in sent.entered],
        holder(visitor),
        removed=sent.removed,
        despite=sent.despite,
        is_generated=sent.generate,
    )
    return turn_json(turn)


@router.post("/{consult_id}/assess", response_model=ConsultResponse, dependencies=OURS)
def assess(site: Here, visitor: Member, consult_id: str) -> dict[str, Any]:
    """Draft a plan from the guidelines, to check, edit and sign."""
    site.take_ask(visitor)
    return turn_json(consult_service_of(site).assess(consult_id, holder(visitor)))


@router.post("/{consult_id}/edits", response_model=ConsultResponse, dependencies=OURS)
def edit(site: Here, visitor: Member, consult_id: str, sent: EditRequest) -> dict[str, Any]:
    """Edit a line of the draft; the source wording stays beside it."""
    turn = consult_service_of(site).edit(consult_id, sent.statement, sent.text, holder(visitor), why=sent.why)
    return turn_json(turn)


@router.post("/{consult_id}/lines", response_model=ConsultResponse, dependencies=OURS)
def add_line(site: Here, visitor: Member, consult_id: str, sent: LineRequest) -> dict[str, Any]:
    """Add a line of your own to a diagnosis of the draft; any warnings are shown beside it."""
    service = consult_service_of(site)
    return turn_json(service.add(consult_id, sent.diagnosis, sent.text, holder(visitor), why=sent.why))


@router.post("/{consult_id}/removals", response_model=ConsultResponse, dependencies=OURS)
def remove_line(site: Here, visitor: Member, consult_id: str, sent: RemovalRequest) -> dict[str, Any]:
    """Remove a line from the draft, or restore it; it stays on record with the reason."""
    service, asker = consult_service_of(site), holder(visitor)
    if sent.restore:
        return turn_json(service.restore(consult_id, sent.statement, asker))
    return turn_json(service.remove(consult_id, sent.statement, asker, why=sent.why))


@router.post("/{consult_id}/moves", response_model=ConsultResponse, dependencies=OURS)
def move_line(site: Here, visitor: Member, consult_id: str, sent: MoveRequest) -> dict[str, Any]:
    """Move a line of the draft before another in the same diagnosis, or to the end."""
    service = consult_service_of(site)
    return turn_json(service.move(consult_id, sent.statement, holder(visitor), before=sent.before))


@router.post("/{consult_id}/sign", response_model=ConsultResponse, dependencies=OURS)
def sign(site: Here, visitor: Member, consult_id: str, sent: SignRequest) -> dict[str, Any]:
    """Sign the draft; it is recorded in the audit log and cannot be changed."""
    return turn_json(signed(site, visitor, consult_id, sent))


@router.get("/{consult_id}/export", response_class=Response, responses={HTTPStatus.OK.value: BODIES})
def export(site: Here, visitor: Member, consult_id: str, kind: Literal["json", "pdf", "txt"] = "json") -> Response:
    """Export the consultation as a FHIR R4 document, a PDF or plain text."""
    turn = consult_service_of(site).look(consult_id, holder(visitor))
    name = f"consult-{turn.consult.id[:8]}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(exported(turn, kind), media_type=FILES[kind], headers=headers)
