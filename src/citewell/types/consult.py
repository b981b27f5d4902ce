"""The nouns of a consult: findings with their words, the patient, differentials, the states it goes through."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from citewell.types.codes import HPO, Code


class Category(StrEnum):
    """What kind of thing a finding is."""

    SYMPTOM = "symptom"
    LOCATION = "location"
    ONSET = "onset"
    DURATION = "duration"
    SEVERITY = "severity"
    CHARACTER = "character"
    AGGRAVATING = "aggravating"
    RELIEVING = "relieving"
    ASSOCIATED = "associated"
    MEDICAL_HISTORY = "medical_history"
    MEDICATION = "medication"
    ALLERGY = "allergy"
    VITAL = "vital"
    DEMOGRAPHIC = "demographic"


class Polarity(StrEnum):
    """How a mention holds: of the patient now, not at all, perhaps, earlier, of others, only thought of, or wanted."""

    PRESENT = "present"
    ABSENT = "absent"
    UNCLEAR = "unclear"
    PAST = "past"
    FAMILY = "family"
    OTHER = "other"
    HYPOTHETICAL = "hypothetical"
    INTENDED = "intended"


class FindingSource(StrEnum):
    """Who made a finding."""

    RULES = "rules"
    MODEL = "model"
    CLINICIAN = "clinician"
    RECORD = "record"


class ConsultState(StrEnum):
    """Where a consult stands."""

    INTERVIEWING = "interviewing"
    DIFFERENTIALS_READY = "differentials_ready"
    ASSESSING = "assessing"
    DRAFT = "draft"
    SIGNED = "signed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MessageWords:
    """The words of a message that a finding comes from: exactly `text`, from `start` to `end`."""

    message: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class UnusedWords:
    """Words of a message out of which nothing was taken, and why."""

    message: int
    start: int
    end: int
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found out, and from which words."""

    id: str
    category: Category
    name: str
    polarity: Polarity
    by: FindingSource
    words: MessageWords | None = None
    """None for what a clinician typed into the list, or a record held."""
    concept: str | None = None
    """The lexicon's id, by which two names of one thing are one."""
    value: float | None = None
    unit: str | None = None
    arithmetic: str | None = None
    """How the value follows from what was said, such as “44 lb × 0.453592 = 19.96 kg”."""
    onset: str | None = None
    duration_days: float | None = None
    about: str | None = None
    """The name of the finding that this one says more of."""
    is_confirmed: bool = False
    corrected: str | None = None
    """The word that a misspelt one was read as."""
    codes: tuple[Code, ...] = ()
    """The codes that the patient's record gives for it."""

    @property
    def all_codes(self) -> tuple[Code, ...]:
        """Those, and the term of the Human Phenotype Ontology that its name is known by."""
        is_term = self.concept is not None and self.concept.startswith("HP:")
        return (*self.codes, Code(HPO, self.concept)) if is_term and self.concept else self.codes

    @property
    def key(self) -> str:
        """What two findings about the same thing share."""
        kind = "" if self.category in COMPLAINTS else self.category.value
        thing = self.concept or self.name.casefold()
        return f"{kind}:{thing}:{self.about or ''}" if kind in QUALIFYING else f"{kind}:{thing}"


COMPLAINTS = frozenset({Category.SYMPTOM, Category.ASSOCIATED, Category.MEDICAL_HISTORY})
"""Categories between which a thing may move without becoming another."""
QUALIFYING = frozenset(
    category.value
    for category in (
        Category.LOCATION,
        Category.ONSET,
        Category.DURATION,
        Category.SEVERITY,
        Category.CHARACTER,
        Category.AGGRAVATING,
        Category.RELIEVING,
    )
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two findings that cannot both hold, and what to ask."""

    first: str
    second: str
    question: str


@dataclass(frozen=True, slots=True)
class Patient:
    """What decides which guideline applies; unknown is None."""

    age_years: float | None = None
    sex: str | None = None
    is_pregnant: bool | None = None
    pregnancy_weeks: float | None = None
    is_breastfeeding: bool | None = None
    weight_kg: float | None = None
    setting: str | None = None
    country: str | None = None
    conditions: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    """Conditions that the patient is said not to have."""
    egfr: tuple[float, float] | None = None
    """From one value to another, in ml/min/1.73 m²: a stage of kidney disease leaves it open between two."""
    creatinine_clearance: float | None = None
    organs: tuple[str, ...] = ()
    """Organs that were named, where sex does not tell: “cervix”, “no uterus”."""

    @property
    def age_told(self) -> str:
        """The age as a person says it.

        >>> Patient(age_years=0.25).age_told, Patient(age_years=4).age_told, Patient().age_told
        ('3 months', '4', 'of unknown age')
        """
        if self.age_years is None:
            return "of unknown age"
        if self.age_years < 2:
            return f"{round(self.age_years * 12)} months"
        return f"{self.age_years:g}" if self.age_years == int(self.age_years) else f"{self.age_years:.1f}"


@dataclass(frozen=True, slots=True)
class FindingBearing:
    """A finding for or against a diagnosis, and the guideline's words that say so, where they do."""

    finding: str
    name: str
    source: str | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Differential:
    """A condition that is thought of."""

    condition: str
    confidence: str
    by: FindingSource
    supports: tuple[FindingBearing, ...] = ()
    opposes: tuple[FindingBearing, ...] = ()
    ask: tuple[str, ...] = ()
    """Features of it that its guideline names and nobody has told of yet."""


CONFIDENCES = ("high", "moderate", "low")


@dataclass(frozen=True, slots=True)
class RedFlag:
    """Something that cannot wait: what it is, why, and on whose word."""

    id: str
    title: str
    act: str
    why: str
    source: str
    findings: tuple[str, ...]
    """The ids of the findings that raised it."""
    words: tuple[str, ...] = ()
    """The words of messages that raised it, where no finding did."""


@dataclass(frozen=True, slots=True)
class InterviewTurn:
    """One message of the interview."""

    position: int
    role: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Consent:
    """What the patient agreed that may be read, and who says so."""

    source: str
    shown: str
    by: str
    at: str


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs: a signed-in account under the name and number of its profile, and how it was just confirmed."""

    user_id: str
    name: str
    registration: str
    confirmed_by: str


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signed what: the account, when, and the SHA-256 of all that was signed."""

    user_id: str
    name: str
    registration: str
    confirmed_by: str
    at: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Consult:
    """A consult as it stands: the fold of its events."""

    id: str
    made_at: str
    changed_at: str
    state: ConsultState
    setting: str | None = None
    country: str | None = None
    messages: tuple[InterviewTurn, ...] = ()
    unused: tuple[UnusedWords, ...] = ()
    """What was said and could not be used."""
    findings: tuple[Finding, ...] = ()
    """Those that hold."""
    gone: tuple[tuple[Finding, str], ...] = ()
    """Those that were replaced or retracted, each with why."""
    contradictions: tuple[Contradiction, ...] = ()
    asked: str | None = None
    """The key of the question that waits for its answer."""
    skipped: tuple[str, ...] = ()
    """Questions that were asked and could not be answered."""
    differentials: tuple[Differential, ...] = ()
    acknowledged: tuple[str, ...] = ()
    """Red flags that the clinician has seen."""
    despite: str | None = None
    """Why the differentials were opened though something was missing."""
    consent: Consent | None = None
    plan: dict[str, object] | None = None
    edits: tuple[dict[str, Any], ...] = ()
    own: tuple[dict[str, Any], ...] = ()
    """Lines that the clinician added to the plan."""
    removed: tuple[tuple[str, str], ...] = ()
    """Lines that the clinician took out of it, by number, each with why."""
    moves: tuple[tuple[str, str], ...] = ()
    """Lines that the clinician put before another one, by number; before none is the end."""
    failure: str | None = None
    signed_by: str | None = None
    signed_at: str | None = None
    signature: Signature | None = None
    """None also of a consult from before signatures were of an account: `signed_by` is then as it was typed."""
    meant: str | None = None
    """Why it was signed though something speaks against the clinician's own words, or is not settled."""
    answer_id: str | None = None
    """Under which a signed plan stands in the audit log."""
    length: int = 0
    """How many events made it."""
    notes: tuple[str, ...] = field(default=())

    @property
    def doubted(self) -> frozenset[str]:
        """The ids of findings that contradict each other: until that is settled, none of them decides anything."""
        return frozenset(one for pair in self.contradictions for one in (pair.first, pair.second))

    @property
    def settled(self) -> tuple[Finding, ...]:
        """The findings that nothing contradicts."""
        return tuple(finding for finding in self.findings if finding.id not in self.doubted)

    @property
    def is_unexplained(self) -> bool:
        """Whether something is contradicted, and nobody has said why it cannot wait until it is settled."""
        return bool(self.contradictions) and not self.despite

    def edit_of(self, statement: str) -> dict[str, Any] | None:
        """The last edit of a statement, by its number such as 1.2: its words are the clinician's, not the source's."""
        return next((edit for edit in reversed(self.edits) if edit["statement"] == statement), None)

    @property
    def signed_as(self) -> str | None:
        """Who signed, with the registration number where the signature has one."""
        return f"{self.signature.name} ({self.signature.registration})" if self.signature else self.signed_by

    @property
    def signed_though(self) -> str | None:
        """That it was signed all the same, against what, and why; None where nothing stood in the way."""
        if not self.meant:
            return None
        against = ["a warning about the clinician's own wording"] if self.grave() else []
        against += ["an unresolved contradiction"] if self.is_unexplained else []
        against += [] if against else ["an empty plan"]
        return f"Signed despite {' and '.join(against)}. Reason given: {self.meant}"

    def grave(self) -> list[tuple[str, str]]:
        """Each statement that the clinician wrote against what is known of the patient, with what speaks against it."""
        own = {f"{line['diagnosis']}.{line['id']}": line for line in self.own}
        last = {**own, **{str(edit["statement"]): edit for edit in self.edits}}
        gone = dict(self.removed)
        return [
            (label, str(told["text"]))
            for label, edit in last.items()
            if label not in gone
            for told in edit["conflicts"]
            if told["is_grave"]
        ]
