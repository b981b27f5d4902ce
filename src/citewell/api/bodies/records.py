"""The facts, alerts, papers, conversations and imports of the record in a vault."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from citewell.api.bodies.answers import Words
from citewell.api.bodies.documents import TurnedShape
from citewell.api.bodies.sent import Id, Sent
from citewell.bootstrap.profile import MAX_LOCK_MINUTES

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


class RecordQuestion(Sent):
    """A question to a record; in a new conversation unless one is named."""

    question: Words
    conversation_id: Id | None = None


class Dismissing(Sent):
    """Why an alert is put away."""

    why: Annotated[str, Field(max_length=200)] = ""


class OwnFact(Sent):
    """What the person says themselves, by the fields of docs/records.md."""

    kind: Literal["symptom", "medication", "allergy"]
    fields: Fields


class Correction(Sent):
    """What is right instead, by the name of each field; null clears one."""

    fields: Fields


class Helped(Sent):
    """Whether an answer helped; null takes it back."""

    is_helpful: StrictBool | None


class Choosing(Sent):
    """What is set for a record; null is as the server is set."""

    lock_minutes: Annotated[int, Field(ge=1, le=MAX_LOCK_MINUTES)] | None = None
    language: Literal["en", "fr", "de"] | None = None
    """The language of our own words; null is that of each question."""
    model: Annotated[str, Field(max_length=200)] | None = None


class ChoicesShape(BaseModel):
    """What is set for a record, and what it comes to."""

    lock_minutes: int | None
    language: Literal["en", "fr", "de"] | None
    model: str | None
    models: list[str]
    """The models that may be chosen."""
    in_use: str
    """The model that words answers now; `extractive` is none."""
    sent_to: str
    """Who outside this machine gets words of the record; empty where nobody does."""


PaperKindName = Literal[
    "prescription",
    "lab_result",
    "clinical_note",
    "discharge_summary",
    "radiology_report",
    "pharmacy_record",
    "other",
]


class Sorting(Sent):
    """What kind of paper a document is."""

    kind: PaperKindName


class PaperShape(BaseModel):
    """A document of a record as a paper."""

    document_id: str
    title: str
    kind: PaperKindName
    professional: str | None
    ocr_confidence: float | None
    """How sure OCR was, in [0, 1]; null where nothing had to be read from a picture."""
    is_verified: bool


class PapersShape(BaseModel):
    """Papers, newest first."""

    papers: list[PaperShape]


class RemovedShape(BaseModel):
    """Whether a paper was there and is gone; what the person confirmed stays, as their own word."""

    removed: bool
    document_id: str
    facts_removed: int
    facts_kept: list[str]
    """The ids of the facts that stayed."""


class FeedbackShape(BaseModel):
    """Whether an answer helped, as it is kept."""

    answer_id: str
    is_helpful: bool | None


class RecordTurnShape(BaseModel):
    """One message of a conversation with a record."""

    role: Literal["user", "assistant"]
    text: str
    answer_id: str | None
    made_at: datetime
    is_helpful: bool | None


class RecordTurnsShape(BaseModel):
    """A conversation with a record, oldest turn first."""

    id: str
    turns: list[RecordTurnShape]


class OriginShape(BaseModel):
    """Where a fact comes from: the span of a document, or the person."""

    via: str
    document_id: str | None = None
    start: int | None = None
    end: int | None = None


class FactShape(BaseModel):
    """A fact; the fields of its kind stand beside these."""

    model_config = ConfigDict(extra="allow")

    kind: Kind
    id: str
    origin: OriginShape
    is_verified: bool


class FactsShape(BaseModel):
    """Facts, newest first."""

    facts: list[FactShape]


class OneFactShape(BaseModel):
    """One fact, as it is now."""

    fact: FactShape


class QuotedShape(BaseModel):
    """Where words of a paper stand."""

    document_id: str
    start: int
    end: int


class AlertShape(BaseModel):
    """Something that somebody should look at, and the facts that it rests on."""

    id: str
    kind: str
    text: str
    fact_ids: list[str]
    quotes: list[QuotedShape]
    """Words of papers that it rests on, which are no facts."""


class AlertsShape(BaseModel):
    """Alerts, the gravest first."""

    alerts: list[AlertShape]


class OneAlertShape(BaseModel):
    """An alert that was put away."""

    alert: AlertShape


class ChangeShape(BaseModel):
    """How many facts were new, were read otherwise than before, or were there already."""

    added: int
    changed: int
    same: int


class ProposedShape(BaseModel):
    """What a model proposed from a paper; nothing of it is confirmed."""

    proposed: list[FactShape]
    dropped: int
    """Lines of the model that the paper's own words do not hold."""
    facts: ChangeShape


class ImportedShape(BaseModel):
    """A file that was taken in; a whole record that is restored has no document of its own."""

    name: str
    document_id: str | None
    title: str | None
    was_there: bool
    facts: ChangeShape
    left_out: int
    notes: list[str]


class ImportProgressShape(BaseModel):
    """How far an import is; all of it empty where none is under way."""

    stage: str | None
    done: int
    total: int
    time_left_s: float | None
    words: str


class ImportShape(BaseModel):
    """What became of the files of an import."""

    imported: list[ImportedShape]
    refused: list[TurnedShape]
