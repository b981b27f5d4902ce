"""Guidelines, their rules, and patients held against them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citewell.api.bodies.answers import EmergencyShape
from citewell.api.bodies.sent import Sent
from citewell.assistants.guidelines.patient import OLDEST

State = Literal["met", "assumed", "not met", "unknown"]


Words = Annotated[str, Field(max_length=2_000)]
Some = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"[!-~]")]
Days = Annotated[float | None, Field(ge=0, le=365 * OLDEST)]
Amount = Annotated[float | None, Field(ge=-1e9, le=1e12)]


class SymptomSent(Sent):
    """A symptom with how long it has been there: its words as text, or as name."""

    text: Some | None = None
    name: Some | None = None
    duration_days: Days = None


class TestSent(Sent):
    """A result: a number, words (as text, or as result), or both."""

    __test__ = False

    name: Some
    value: Amount = None
    unit: Words | None = None
    text: Words | None = None
    result: Words | None = None
    flag: Words | None = None
    """Low, normal or high, or a laboratory's letter for it: L, N, H."""
    low: Amount = None
    high: Amount = None


class PatientSent(Sent):
    """A patient, or a FHIR R4 bundle; whatever is left out is not known. Fields that neither has are refused."""

    model_config = ConfigDict(extra="allow", strict=True)

    patient_id: Words | None = None
    id: Words | None = None
    name: Words | None = None
    age: Annotated[float | None, Field(ge=0, le=OLDEST, multiple_of=1)] = None
    gender: Words | None = None
    sex: Words | None = None
    smoking_history: Words | None = None
    smoking: Words | None = None
    symptom_duration_days: Days = None
    symptoms: Annotated[list[Words | SymptomSent] | None, Field(max_length=100)] = None
    findings: Annotated[list[Words | SymptomSent] | None, Field(max_length=100)] = None
    tests: Annotated[list[TestSent] | None, Field(max_length=500)] = None
    exposures: Annotated[list[Words] | None, Field(max_length=100)] = None
    organs: Annotated[list[Words] | None, Field(max_length=100)] = None


class PatientRowShape(BaseModel):
    """A patient on file, as listed."""

    id: str
    name: str | None
    age: int | None
    sex: str | None


class PatientsShape(BaseModel):
    """Patients on file, and the files there that could not be read."""

    patients: list[PatientRowShape]
    unreadable: list[str]


class EditionShape(BaseModel):
    """Which edition of which guideline."""

    document_id: str | None
    name: str
    title: str
    edition: str | None


class ConditionShape(BaseModel):
    """One condition of a rule, and the fact that decided."""

    text: str
    state: State
    fact: str | None


class MatchedShape(BaseModel):
    """A rule that the patient meets."""

    guideline: str
    rule: str
    page: int
    site: str | None
    risk_level: str
    action: str
    state: State
    quote: str
    conditions: list[ConditionShape]


class NearShape(BaseModel):
    """A rule that the patient nearly meets."""

    guideline: str
    rule: str
    page: int
    site: str | None
    state: State
    quote: str
    would_match_if: str
    missing: list[ConditionShape]
    conditions: list[ConditionShape]


class UnknownShape(BaseModel):
    """What to confirm, or to ask next, and for which rules."""

    kind: Literal["confirm", "ask"]
    ask: str
    condition: str
    rules: list[str]


class TakenShape(BaseModel):
    """Words of the patient's record that spoke for or against a rule, and how they were read."""

    words: str
    field: str
    index: int | None
    read_as: Literal["present", "absent", "unclear", "given"]
    note: str | None


class UnusedShape(BaseModel):
    """Words that no rule could use, where they stand, and why."""

    words: str
    field: str
    index: int | None
    kind: Literal["not understood", "not used", "left out"]
    why: str


class RuleCitationShape(BaseModel):
    """Where a matched rule stands."""

    guideline: str
    section: str
    page: int
    document_id: str | None
    start: int
    end: int
    label: str
    excerpt: str


class WordingShape(BaseModel):
    """What a model made of the reasons: only sentences that the rules and the record carry."""

    model: str
    text: str
    withheld: int
    problem: str | None


class AssessmentShape(BaseModel):
    """What guidelines say of a patient; the same patient and editions give the same bytes."""

    patient: dict[str, Any]
    guidelines: list[EditionShape]
    risk_level: str
    sites: list[str]
    action: str | None
    matched: list[MatchedShape]
    near_misses: list[NearShape]
    unknowns: list[UnknownShape]
    taken_into_account: list[TakenShape]
    unused: list[UnusedShape]
    citations: list[RuleCitationShape]
    reasoning: str
    wording: WordingShape | None
    notes: list[str]
    corrected: dict[str, str] = {}
    """Misspelt words, each with the word that it was read as."""
    emergency: EmergencyShape | None = None
    """What the symptoms tell of that cannot wait, and the way to help; older results on record have none."""


class GuidelineRowShape(EditionShape):
    """A guideline as listed."""

    version: int
    rules: int
    rules_with_criteria: int
    symptoms: int
    definitions: int
    problems: int


class GuidelinesShape(BaseModel):
    """The current guidelines."""

    guidelines: list[GuidelineRowShape]


class RuleShape(BaseModel):
    """One rule, verbatim; `criteria` is null where there is no criteria language."""

    id: str
    section: str
    site: str | None
    page: int
    page_end: int
    text: str
    table: str | None
    date: str | None
    boxes: list[dict[str, Any]]
    action: str
    criteria: dict[str, Any] | None


class GuidelineShape(BaseModel):
    """A guideline as it was read."""

    title: str
    name: str
    edition: str | None
    rules: list[RuleShape]
    symptoms: list[dict[str, Any]]
    definitions: list[dict[str, Any]]
    problems: list[dict[str, Any]]


class ChangedAssessmentShape(BaseModel):
    """A stored assessment that the newer edition would change."""

    answer_id: str
    patient: str
    made_at: datetime
    risk_level: dict[str, str]
    lost: list[str]
    gained: list[str]


class DiffShape(BaseModel):
    """Two editions side by side."""

    old: EditionShape
    new: EditionShape
    added: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    changed: list[dict[str, Any]]
    moved: list[dict[str, str]]
    unchanged: int
    symptoms: dict[str, list[str]]
    definitions: dict[str, list[str]]
    assessments: list[ChangedAssessmentShape]


class PieceShape(BaseModel):
    """One thing that can be found in a guideline."""

    kind: Literal["rule", "search", "symptom", "definition"]
    id: str
    label: str
    page: int
    start: int
    end: int
    text: str
    rules: list[str]
    sites: list[str]
    actions: list[str]


class PiecesShape(BaseModel):
    """Pieces, in the order of the document."""

    pieces: list[PieceShape]
