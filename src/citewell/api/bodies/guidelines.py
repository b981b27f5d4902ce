"""Guidelines, their rules, and patients held against them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from citewell.api.bodies.base import RequestBody, ResponseBody
from citewell.assistants.guidelines.criteria import CriterionState
from citewell.assistants.guidelines.model_summary import Wording
from citewell.assistants.guidelines.patient import OLDEST
from citewell.assistants.guidelines.saved_assessments import ChangedAssessment
from citewell.assistants.guidelines.search_entries import Kind
from citewell.assistants.guidelines.taken_into_account import Unused, UsedWords
from citewell.types import Emergency

Words = Annotated[str, Field(max_length=2_000)]
Some = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"[!-~]")]
Days = Annotated[float | None, Field(ge=0, le=365 * OLDEST)]
Amount = Annotated[float | None, Field(ge=-1e9, le=1e12)]


class SymptomRequest(RequestBody):
    """A symptom with how long it has been there: its words as text, or as name."""

    text: Some | None = None
    name: Some | None = None
    duration_days: Days = None


class TestRequest(RequestBody):
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


class PatientRequest(RequestBody):
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
    symptoms: Annotated[list[Words | SymptomRequest] | None, Field(max_length=100)] = None
    findings: Annotated[list[Words | SymptomRequest] | None, Field(max_length=100)] = None
    tests: Annotated[list[TestRequest] | None, Field(max_length=500)] = None
    exposures: Annotated[list[Words] | None, Field(max_length=100)] = None
    organs: Annotated[list[Words] | None, Field(max_length=100)] = None


class PatientRowResponse(ResponseBody):
    """A patient on file, as listed."""

    id: str
    name: str | None
    age: int | None
    sex: str | None


class PatientsResponse(ResponseBody):
    """Patients on file, and the files there that could not be read."""

    patients: list[PatientRowResponse]
    unreadable: list[str]


class EditionResponse(ResponseBody):
    """Which edition of which guideline."""

    document_id: str | None
    name: str
    title: str
    edition: str | None


class ConditionResponse(ResponseBody):
    """One condition of a rule, and the fact that decided."""

    text: str
    state: CriterionState
    fact: str | None


class MatchedResponse(ResponseBody):
    """A rule that the patient meets."""

    guideline: str
    rule: str
    page: int
    site: str | None
    risk_level: str
    action: str
    state: CriterionState
    quote: str
    conditions: list[ConditionResponse]


class NearResponse(ResponseBody):
    """A rule that the patient nearly meets."""

    guideline: str
    rule: str
    page: int
    site: str | None
    state: CriterionState
    quote: str
    would_match_if: str
    missing: list[ConditionResponse]
    conditions: list[ConditionResponse]


class UnknownResponse(ResponseBody):
    """What to confirm, or to ask next, and for which rules."""

    kind: Literal["confirm", "ask"]
    ask: str
    condition: str
    rules: list[str]


class ScoreItemResponse(ResponseBody):
    """One item of a score."""

    text: str
    points: int
    state: CriterionState
    fact: str | None


class ScoreResponse(ResponseBody):
    """A score worked out as far as the record goes; `highest` is what it could be at most."""

    guideline: str
    name: str
    page: int
    rules: list[str]
    total: int
    highest: int
    most: int
    meaning: str | None
    items: list[ScoreItemResponse]
    ask: list[str]


class RuleCitationResponse(ResponseBody):
    """Where a matched rule stands."""

    guideline: str
    section: str
    page: int
    document_id: str | None
    start: int
    end: int
    label: str
    excerpt: str


class AssessmentResponse(ResponseBody):
    """What guidelines say of a patient; the same patient and editions give the same bytes."""

    patient: dict[str, Any]
    guidelines: list[EditionResponse]
    risk_level: str
    sites: list[str]
    action: str | None
    matched: list[MatchedResponse]
    near_misses: list[NearResponse]
    unknowns: list[UnknownResponse]
    scores: list[ScoreResponse] = Field(default_factory=list)
    """Scores of which the record gives some items, where there are any."""
    taken_into_account: list[UsedWords]
    unused: list[Unused]
    citations: list[RuleCitationResponse]
    reasoning: str
    wording: Wording | None
    notes: list[str]
    corrected: dict[str, str]
    """Misspelt words, each with the word that it was read as."""
    emergency: Emergency | None
    """What the symptoms tell of that cannot wait, and the way to help."""


class GuidelineRowResponse(EditionResponse):
    """A guideline as listed."""

    version: int
    rules: int
    sections: int
    """Headed sections of a guideline that numbers no recommendations, which assesses nobody; else none."""
    rules_with_criteria: int
    symptoms: int
    definitions: int
    tables: int
    unread: int
    """Characters among the recommendations that belong to nothing that was read."""
    problems: int


class GuidelinesResponse(ResponseBody):
    """The current guidelines."""

    guidelines: list[GuidelineRowResponse]


class RuleResponse(ResponseBody):
    """One rule, verbatim; `criteria` is null where there is no criteria language."""

    id: str
    section: str
    site: str | None
    page: int
    page_end: int
    text: str
    table: str | None
    """All its tables, as one text."""
    tables: list[dict[str, Any]]
    date: str | None
    boxes: list[dict[str, Any]]
    action: str
    criteria: dict[str, Any] | None


class CoverageResponse(ResponseBody):
    """To what each character of the recommendations belongs, and which words belong to nothing."""

    recommendations: int
    numbered: int
    """Recommendation numbers at the beginning of a line."""
    characters: dict[str, int]
    unread: list[dict[str, Any]]
    left_out: list[dict[str, Any]]
    """Running heads and page numbers."""


class GuidelineResponse(ResponseBody):
    """A guideline as it was read."""

    title: str
    name: str
    edition: str | None
    rules: list[RuleResponse]
    symptoms: list[dict[str, Any]]
    definitions: list[dict[str, Any]]
    tables: list[dict[str, Any]]
    """Tables, boxes and checklists, each with the recommendations that it belongs to."""
    notes: list[dict[str, Any]]
    """Words between the recommendations: introductions, and what stands below one."""
    coverage: CoverageResponse
    problems: list[dict[str, Any]]


class DiffResponse(ResponseBody):
    """Two editions side by side."""

    old: EditionResponse
    new: EditionResponse
    added: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    changed: list[dict[str, Any]]
    moved: list[dict[str, str]]
    unchanged: int
    symptoms: dict[str, list[str]]
    symptoms_changed: list[dict[str, Any]]
    """The rows of the symptom index that were reworded, word by word; they are in `symptoms` too."""
    tables: dict[str, list[Any]]
    """Titles of tables added and removed; of those changed, their rows word by word."""
    definitions: dict[str, list[str]]
    assessments: list[ChangedAssessment]


class PieceResponse(ResponseBody):
    """One thing that can be found in a guideline."""

    kind: Kind
    id: str
    label: str
    page: int
    start: int
    end: int
    text: str
    rules: list[str] = Field(validation_alias="rule_ids")
    sites: list[str]
    actions: list[str]


class PiecesResponse(ResponseBody):
    """Pieces, in the order of the document."""

    pieces: list[PieceResponse]
