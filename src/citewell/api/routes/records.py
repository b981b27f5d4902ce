"""/api/v1/records/{vault}: the record in an open vault, asked, looked through, filled and reviewed."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from citewell.answer.answer_json import done_json
from citewell.api.bodies.answers import AnswerResponse
from citewell.api.bodies.documents import DocumentsResponse, entry_json
from citewell.api.bodies.records import (
    AlertsResponse,
    CorrectionRequest,
    DismissRequest,
    FactsResponse,
    ImportProgressResponse,
    ImportResponse,
    Kind,
    NewFactRequest,
    OneAlertResponse,
    OneFactResponse,
    ProposedResponse,
    RecordAskRequest,
    imported_json,
)
from citewell.api.record_import import import_files
from citewell.api.request_checks import our_request
from citewell.api.vault_sessions import (
    IS_LOCKED,
    Known,
    Opened,
    Owner,
    Vaulted,
    VaultId,
    asked,
    proposed,
    vault_session_of,
)
from citewell.types.facts import Fact, PartialDate, Symptom
from citewell.types.facts_json import fact_json

router = APIRouter(prefix="/api/v1/records/{vault}", responses=IS_LOCKED)

OURS = [Depends(our_request)]
BUNDLE = "application/fhir+json"
FILES = {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}
UPLOAD = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {"type": "object", "required": ["files"], "properties": {"files": FILES}},
        },
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}
"""Several files as a form, or one file as the body; both are read by our own parser, and kept in memory."""


@router.post("/ask", response_model=AnswerResponse, dependencies=OURS)
async def ask(visitor: Owner, room: Opened, sent: RecordAskRequest) -> dict[str, Any]:
    """Answer from the record's own facts and words; emergency advice always comes first."""
    done = await asked(room, visitor, sent.question, conversation_id=sent.conversation_id)
    return done_json(done, with_withheld=True)


# -------------------------------------------------------------------------------------------------------------- facts


@router.get("/facts", response_model=FactsResponse, response_model_exclude_unset=True)
def facts(_visitor: Owner, room: Opened, kind: Kind | None = None) -> dict[str, Any]:
    """Every fact, or those of one kind, newest first."""
    return _facts_json(room.record.facts.all(room.scope, kind=kind))


@router.post(
    "/facts",
    status_code=HTTPStatus.CREATED,
    response_model=OneFactResponse,
    response_model_exclude_unset=True,
    dependencies=OURS,
)
def add(_visitor: Owner, room: Opened, sent: NewFactRequest) -> dict[str, Any]:
    """Add a symptom, medicine or allergy reported by the person."""
    fields = dict(sent.fields)
    if sent.kind == Symptom.kind:
        fields.setdefault("recorded", PartialDate.now().text)
    return {"fact": fact_json(room.record.add(sent.kind, fields))}


@router.patch("/facts/{fact_id}", response_model=OneFactResponse, response_model_exclude_unset=True, dependencies=OURS)
def correct(_visitor: Owner, room: Opened, fact_id: str, sent: CorrectionRequest) -> dict[str, Any]:
    """Correct a fact; it then counts as confirmed."""
    return {"fact": fact_json(room.record.facts.correct(fact_id, sent.fields, room.scope))}


@router.post(
    "/facts/{fact_id}/confirm", response_model=OneFactResponse, response_model_exclude_unset=True, dependencies=OURS
)
def confirm(_visitor: Owner, room: Opened, fact_id: str) -> dict[str, Any]:
    """Confirm a fact."""
    return {"fact": fact_json(room.record.facts.confirm(fact_id, room.scope))}


@router.post(
    "/facts/{fact_id}/reject", response_model=OneFactResponse, response_model_exclude_unset=True, dependencies=OURS
)
def reject(_visitor: Owner, room: Opened, fact_id: str) -> dict[str, Any]:
    """Mark a fact as wrong; it is no longer used and will not be imported again."""
    return {"fact": fact_json(room.record.facts.reject(fact_id, room.scope))}


@router.get("/review", response_model=FactsResponse, response_model_exclude_unset=True)
def review(_visitor: Owner, room: Opened) -> dict[str, Any]:
    """Facts to confirm, correct or reject."""
    return _facts_json(room.record.facts.unverified(room.scope))


@router.get("/labs", response_model=FactsResponse, response_model_exclude_unset=True)
def labs(
    _visitor: Owner,
    room: Opened,
    test: Annotated[str | None, Query(max_length=200, description="A test, by name or code.")] = None,
    critical: Annotated[bool, Query(description="Only results flagged as critical or beyond usual limits.")] = False,  # noqa: FBT002
) -> dict[str, Any]:
    """The latest result of every test, or all results of one test, oldest first."""
    known = room.record.facts
    if critical:
        return _facts_json(room.record.critical())
    return _facts_json(known.latest_results(room.scope) if test is None else known.trend(test, room.scope))


@router.get("/alerts", response_model=AlertsResponse)
def alerts(_visitor: Owner, room: Opened, dismissed: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002
    """Alerts, most serious first; dismissed ones too, if asked for."""
    return {"alerts": room.record.alerts(with_dismissed=dismissed)}


@router.post("/alerts/{alert_id}/dismiss", response_model=OneAlertResponse, dependencies=OURS)
def dismiss(_visitor: Owner, room: Opened, alert_id: str, sent: DismissRequest) -> dict[str, Any]:
    """Dismiss an alert; it stays dismissed until its facts change."""
    return {"alert": room.record.dismiss(alert_id, why=sent.why)}


def _facts_json(facts: Sequence[Fact]) -> dict[str, Any]:
    return {"facts": [fact_json(fact) for fact in facts]}


# ------------------------------------------------------------------------------------------------------------- papers


@router.get("/documents", response_model=DocumentsResponse)
def documents(_visitor: Owner, room: Opened) -> dict[str, Any]:
    """The documents in the record, newest first."""
    return {
        "documents": [entry_json(entry, None) for entry in room.profile.app.entries(room.scope) if entry.is_current]
    }


@router.post("/import", response_model=ImportResponse, openapi_extra={"requestBody": UPLOAD})
async def take_in(request: Request, _visitor: Owner, safe: Vaulted, vault_id: VaultId) -> dict[str, Any]:
    """Import files into the record, each separately; if none could be read, the error is that of the first."""
    outcomes = await import_files(request, lambda: vault_session_of(request, safe, safe.header(vault_id)))
    refused = [outcome for outcome in outcomes if outcome.error is not None]
    if refused and len(refused) == len(outcomes) and refused[0].error is not None:
        raise refused[0].error
    return {
        "imported": [
            imported_json(outcome.imported, name=outcome.name) for outcome in outcomes if outcome.imported is not None
        ],
        "refused": [
            {"name": outcome.name, "kind": type(outcome.error).__name__, "detail": str(outcome.error)}
            for outcome in refused
        ],
    }


@router.post("/documents/{document_id}/propose", response_model=ProposedResponse, dependencies=OURS)
async def propose(_visitor: Owner, room: Opened, document_id: str) -> dict[str, Any]:
    """Let the configured model find facts in a document; they are listed to confirm, with their source words."""
    proposal, change = await proposed(room, document_id)
    return {"proposed": [fact_json(fact) for fact in proposal.facts], "dropped": proposal.dropped, "facts": change}


@router.get("/import/progress", response_model=ImportProgressResponse)
def progress(_visitor: Owner, safe: Vaulted, vault: Known) -> object:
    """The progress of the current import; checking it does not keep a vault unlocked."""
    return safe.progress(vault.id) or ImportProgressResponse()


@router.get("/export", response_class=Response, responses={200: {"content": {BUNDLE: {}}}})
def export(
    _visitor: Owner, room: Opened, what: Annotated[Literal["fhir", "ips"], Query(alias="format")] = "fhir"
) -> Response:
    """Everything as one FHIR R4 bundle, or a short International Patient Summary (`ips`); neither is encrypted."""
    return Response(room.record.summary() if what == "ips" else room.record.export(), media_type=BUNDLE)
