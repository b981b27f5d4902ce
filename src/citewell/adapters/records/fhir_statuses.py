"""What the codes of FHIR R4 mean here: closed tables, so that an unknown code is an error."""

from __future__ import annotations

from collections.abc import Mapping

from citewell.types.facts import DiagnosisStatus, Flag, MedicationStatus, Severity, VisitStatus

UNSURE = frozenset({"unknown", "unconfirmed", "provisional", "differential", "preliminary", "registered"})
"""A fact with such a status waits for the person to confirm it."""

MEDICATION_STATES: Mapping[str, Mapping[str, MedicationStatus | None]] = {
    "MedicationRequest": {
        "active": MedicationStatus.ACTIVE,
        "unknown": MedicationStatus.ACTIVE,
        "on-hold": MedicationStatus.PAUSED,
        "completed": MedicationStatus.STOPPED,
        "stopped": MedicationStatus.STOPPED,
        "cancelled": None,
        "draft": None,
    },
    "MedicationStatement": {
        "active": MedicationStatus.ACTIVE,
        "unknown": MedicationStatus.ACTIVE,
        "on-hold": MedicationStatus.PAUSED,
        "completed": MedicationStatus.STOPPED,
        "stopped": MedicationStatus.STOPPED,
        "intended": None,
        "not-taken": None,
    },
}
"""None: it was never taken. Where nobody knows, it is better to ask about it than to leave it out."""

CONDITION_STATES = {
    "active": DiagnosisStatus.ACTIVE,
    "recurrence": DiagnosisStatus.ACTIVE,
    "relapse": DiagnosisStatus.ACTIVE,
    "remission": DiagnosisStatus.MONITORING,
    "inactive": DiagnosisStatus.RESOLVED,
    "resolved": DiagnosisStatus.RESOLVED,
}
ALLERGY_STATES = {"active": True, "inactive": False, "resolved": False}
SEVERITIES = {"mild": Severity.MILD, "moderate": Severity.MODERATE, "severe": Severity.SEVERE}
SEXES = {one: one for one in ("male", "female", "other", "unknown")}

INTERPRETATIONS = {
    "N": Flag.NORMAL,
    "L": Flag.LOW,
    "H": Flag.HIGH,
    "LL": Flag.CRITICAL_LOW,
    "HH": Flag.CRITICAL_HIGH,
}
"""Of HL7's many interpretations those that say where a value stands."""


def flag_of(told: str | None, value: float | None, low: float | None, high: float | None) -> Flag | None:
    """What the laboratory said, else what its range says.

    >>> flag_of("HH", 9.1, 2, 3), flag_of("A", 123, 150, 350), flag_of(None, 5, None, None)
    (<Flag.CRITICAL_HIGH: 'critical_high'>, <Flag.LOW: 'low'>, None)
    """
    if told in INTERPRETATIONS:
        return INTERPRETATIONS[told]
    if value is None or (low is None and high is None):
        return None
    if low is not None and value < low:
        return Flag.LOW
    return Flag.HIGH if high is not None and value > high else Flag.NORMAL


VISIT_STATES: Mapping[str, Mapping[str, VisitStatus]] = {
    "Procedure": {
        "preparation": VisitStatus.PLANNED,
        "in-progress": VisitStatus.DONE,
        "on-hold": VisitStatus.PLANNED,
        "completed": VisitStatus.DONE,
        "unknown": VisitStatus.DONE,
        "not-done": VisitStatus.CANCELLED,
        "stopped": VisitStatus.CANCELLED,
    },
    "Encounter": {
        "planned": VisitStatus.PLANNED,
        "arrived": VisitStatus.DONE,
        "triaged": VisitStatus.DONE,
        "in-progress": VisitStatus.DONE,
        "onleave": VisitStatus.DONE,
        "finished": VisitStatus.DONE,
        "unknown": VisitStatus.DONE,
        "cancelled": VisitStatus.CANCELLED,
    },
    "Appointment": {
        "proposed": VisitStatus.PLANNED,
        "pending": VisitStatus.PLANNED,
        "booked": VisitStatus.PLANNED,
        "arrived": VisitStatus.DONE,
        "checked-in": VisitStatus.DONE,
        "fulfilled": VisitStatus.DONE,
        "waitlist": VisitStatus.PLANNED,
        "cancelled": VisitStatus.CANCELLED,
        "noshow": VisitStatus.CANCELLED,
    },
    "ServiceRequest": {
        "draft": VisitStatus.PLANNED,
        "active": VisitStatus.PLANNED,
        "on-hold": VisitStatus.PLANNED,
        "completed": VisitStatus.DONE,
        "unknown": VisitStatus.PLANNED,
        "revoked": VisitStatus.CANCELLED,
    },
}
