"""The facts, alerts, papers, conversations and imports of the record in a vault."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from citewell.allowed_models import elsewhere
from citewell.api.bodies.answers import Words
from citewell.api.bodies.base import Id, RequestBody, ResponseBody
from citewell.api.bodies.documents import RefusedFileResponse
from citewell.assistants.records.alerts import Alert
from citewell.clinical.languages import Language
from citewell.ports.records import FactCounts, FileReport, PaperKind
from citewell.vaults.health_record import Imported
from citewell.vaults.idle_lock import MAX_LOCK_MINUTES
from citewell.vaults.vaults import OpenVault

Kind = Literal[
    "person",
    "professional",
    "medication",
    "allergy",
    "diagnosis",
    "result",
    "procedure",
    "vaccination",
    "symptom",
    "appointment",
    "referral",
]
Fields = Annotated[dict[str, Any], Field(max_length=40)]


class RecordAskRequest(RequestBody):
    """A question to a record; in a new conversation unless one is named."""

    question: Words
    conversation_id: Id | None = None


class DismissRequest(RequestBody):
    """Why an alert is put away."""

    why: Annotated[str, Field(max_length=200)] = ""


class NewFactRequest(RequestBody):
    """What the person says themselves, by the fields of docs/records.md."""

    kind: Literal["symptom", "medication", "allergy"]
    fields: Fields


class CorrectionRequest(RequestBody):
    """What is right instead, by the name of each field; null clears one."""

    fields: Fields


class FeedbackRequest(RequestBody):
    """Whether an answer helped; null takes it back."""

    is_helpful: StrictBool | None


class RecordSettingsRequest(RequestBody):
    """What is set for a record; null is as the server is set."""

    lock_minutes: Annotated[int, Field(ge=1, le=MAX_LOCK_MINUTES)] | None = None
    language: Language | None = None
    """The language of our own words; null is that of each question."""
    model: Annotated[str, Field(max_length=200)] | None = None


class RecordSettingsResponse(ResponseBody):
    """What is set for a record, and what it comes to."""

    lock_minutes: int | None
    language: Language | None
    model: str | None
    models: list[str]
    """The models that may be chosen."""
    in_use: str
    """The model that words answers now; `extractive` is none."""
    sent_to: str
    """Who outside this machine gets words of the record; empty where nobody does."""

    @classmethod
    def of(cls, profile: OpenVault) -> RecordSettingsResponse:
        """What the owner of an open record has set."""
        used = profile.app.settings
        chosen = asdict(profile.choices)
        return cls(**chosen, models=list(profile.models), in_use=used.model, sent_to=elsewhere(used))


class PaperKindRequest(RequestBody):
    """What kind of paper a document is."""

    kind: PaperKind


class PaperResponse(ResponseBody):
    """A document of a record as a paper."""

    document_id: str
    title: str
    kind: PaperKind
    professional: str | None
    ocr_confidence: float | None
    """How sure OCR was, in [0, 1]; null where nothing had to be read from a picture."""
    is_verified: bool


class PapersResponse(ResponseBody):
    """Papers, newest first."""

    papers: list[PaperResponse]


class RemovedResponse(ResponseBody):
    """Whether a paper was there and is gone; what the person confirmed stays, as their own word."""

    removed: bool
    document_id: str
    facts_removed: int
    facts_kept: list[str]
    """The ids of the facts that stayed."""


class FeedbackResponse(ResponseBody):
    """Whether an answer helped, as it is kept."""

    answer_id: str
    is_helpful: bool | None


class RecordTurnResponse(ResponseBody):
    """One message of a conversation with a record."""

    role: Literal["user", "assistant"]
    text: str
    answer_id: str | None
    made_at: datetime
    is_helpful: bool | None


class RecordTurnsResponse(ResponseBody):
    """A conversation with a record, oldest turn first."""

    id: str
    turns: list[RecordTurnResponse]


class OriginResponse(BaseModel):
    """Where a fact comes from: the span of a document, or the person."""

    via: str
    document_id: str | None = None
    start: int | None = None
    end: int | None = None


class FactResponse(BaseModel):
    """A fact; the fields of its kind stand beside these."""

    model_config = ConfigDict(extra="allow")

    kind: Kind
    id: str
    origin: OriginResponse
    is_verified: bool


class FactsResponse(ResponseBody):
    """Facts, newest first."""

    facts: list[FactResponse]


class OneFactResponse(ResponseBody):
    """One fact, as it is now."""

    fact: FactResponse


class AlertsResponse(ResponseBody):
    """Alerts, the gravest first."""

    alerts: list[Alert]


class OneAlertResponse(ResponseBody):
    """An alert that was put away."""

    alert: Alert


class ProposedResponse(ResponseBody):
    """What a model proposed from a paper; nothing of it is confirmed."""

    proposed: list[FactResponse]
    dropped: int
    """Lines of the model that the paper's own words do not hold."""
    facts: FactCounts


class ImportedResponse(ResponseBody):
    """A file that was taken in; a whole record that is restored has no document of its own."""

    name: str
    document_id: str | None
    title: str | None
    was_there: bool
    facts: FactCounts
    left_out: int
    notes: list[str]
    files: tuple[FileReport, ...] = ()
    """Of an export of many files: what became of each."""


def imported_json(imported: Imported, **file: str) -> dict[str, Any]:
    """What became of a file, beside how it is called."""
    entry = imported.added.entry if imported.added else None
    return {
        **file,
        "document_id": entry.id if entry else None,
        "title": entry.title if entry else None,
        "was_there": imported.added.was_there if imported.added else False,
        "facts": imported.change,
        "left_out": imported.left_out,
        "notes": entry.notes if entry else imported.notes,
        "files": imported.files,
    }


class ImportProgressResponse(ResponseBody):
    """How far an import is; all of it empty where none is under way."""

    stage: str | None = None
    done: int = 0
    total: int = 0
    time_left_s: float | None = None
    words: str = ""


class ImportResponse(ResponseBody):
    """What became of the files of an import."""

    imported: list[ImportedResponse]
    refused: list[RefusedFileResponse]
