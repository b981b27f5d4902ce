"""Consults over HTTP: what is sent at each step, and the consult as it stands."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from citewell.api.bodies.base import SEEN, Id, RequestBody, ResponseBody
from citewell.assistants.consult.interview import InterviewQuestion
from citewell.types import Emergency
from citewell.types.consult import Category, ConsultState, Contradiction, Finding, InterviewTurn, Signature, UnusedWords

Words = Annotated[str, Field(min_length=1, max_length=20_000, pattern=SEEN)]
Short = Annotated[str, Field(min_length=1, max_length=200, pattern=SEEN)]
PolarityName = Literal["present", "absent", "family", "past", "hypothetical"]
ConfidenceName = Literal["high", "moderate", "low"]


class StartRequest(RequestBody):
    """Where a consult is held."""

    setting: Short | None = None
    country: Short | None = None


class RecordRequest(RequestBody):
    """A record that the patient agrees to be read: a bundle, or a vault."""

    bundle: dict[str, Any] | None = None
    """The patient's record as a FHIR R4 bundle."""
    vault: Id | None = None
    """An open vault of the owner of this library."""
    consent: StrictBool = False
    """The patient agrees that the record is read; without it none is."""


class SayRequest(RequestBody):
    """A message of the patient or the clinician."""

    text: Words


class ConfirmedRequest(RequestBody):
    """Which findings are right."""

    findings: Annotated[tuple[Short, ...], Field(max_length=1_000)] = ()
    """Their ids; all of them where none is named."""


class FindingRequest(RequestBody):
    """A finding as the clinician has it; what is not sent stays as it was."""

    name: Short | None = None
    category: Category | None = None
    polarity: PolarityName | None = None
    value: float | None = None
    unit: Short | None = None
    onset: Short | None = None
    duration_days: Annotated[float, Field(ge=0)] | None = None


class EnteredRequest(RequestBody):
    """A condition that is thought of, and how sure."""

    condition: Annotated[str, Field(min_length=1, max_length=120, pattern=SEEN)]
    confidence: ConfidenceName = "moderate"


class DifferentialsRequest(RequestBody):
    """Conditions to enter, change or remove."""

    entered: Annotated[tuple[EnteredRequest, ...], Field(max_length=10)] = ()
    removed: Annotated[tuple[Short, ...], Field(max_length=10)] = ()
    despite: Short | None = None
    """Why it cannot wait for what is missing."""
    generate: StrictBool = False


class EditRequest(RequestBody):
    """What a statement of the draft shall say."""

    statement: Annotated[str, Field(max_length=16)]
    text: Words
    why: Annotated[str, Field(max_length=1_000)] = ""


class LineRequest(RequestBody):
    """A line that the clinician adds to a diagnosis of the draft."""

    diagnosis: Annotated[int, Field(ge=1, le=100)]
    text: Words
    why: Annotated[str, Field(max_length=1_000)] = ""


class RemovalRequest(RequestBody):
    """A line that is taken out of the draft, or put back."""

    statement: Annotated[str, Field(max_length=16)]
    why: Annotated[str, Field(max_length=1_000)] = ""
    restore: bool = False


class MoveRequest(RequestBody):
    """A line that is put before another one of its diagnosis, or at the end."""

    statement: Annotated[str, Field(max_length=16)]
    before: Annotated[str, Field(max_length=16)] = ""


class SignRequest(RequestBody):
    """A fresh confirmation of the signed-in account, and why, where something grave speaks against its own words."""

    password: Annotated[str, Field(max_length=1_000)] = ""
    """The account's password; of the owner, the token in the printed link."""
    code: Annotated[str, Field(max_length=64)] = ""
    """The code of the account's authenticator, where it has one."""
    despite: Annotated[str, Field(max_length=1_000)] = ""
    name: Short | None = None
    """From earlier versions: refused unless it is the name in the account's profile."""


class GoneResponse(ResponseBody):
    """A finding that was replaced or taken back, and why."""

    finding: Finding
    why: str


class FlagResponse(ResponseBody):
    """What cannot wait."""

    id: str
    title: str
    act: str
    why: str
    source: str
    findings: list[str]
    words: list[str]
    """The words of messages that raised it, where no finding did."""
    is_acknowledged: bool


class ListedConsultResponse(ResponseBody):
    """A consult as it is listed."""

    id: str
    state: ConsultState
    changed_at: str
    patient: str
    summary: str


class ConsultsResponse(ResponseBody):
    """The visitor's consults, the last changed first."""

    consults: list[ListedConsultResponse]


class ConsultResponse(ResponseBody):
    """A consult as it stands, what to ask next, and what cannot wait."""

    id: str
    state: ConsultState
    made_at: str
    changed_at: str
    patient: dict[str, Any]
    summary: str
    consent: dict[str, Any] | None
    messages: list[InterviewTurn]
    unused: list[UnusedWords]
    findings: list[Finding]
    gone: list[GoneResponse]
    contradictions: list[Contradiction]
    differentials: list[dict[str, Any]]
    despite: str | None
    plan: dict[str, Any] | None
    edits: list[dict[str, Any]]
    own: list[dict[str, Any]]
    """Lines that the clinician added."""
    removed: list[tuple[str, str]]
    """Lines that the clinician took out, each with why."""
    moves: list[tuple[str, str]]
    """Lines that the clinician put before another one."""
    failure: str | None
    notes: list[str]
    meant: str | None
    signed_by: str | None
    signed_at: str | None
    signature: Signature | None
    """The account that signed, with the SHA-256 of what was signed; null of a consult from before there was one."""
    answer_id: str | None
    question: InterviewQuestion | None
    red_flags: list[FlagResponse]
    emergency: Emergency | None
    """What the last message that tells of one cannot wait with, and the way to help."""
    troubles: list[str]
