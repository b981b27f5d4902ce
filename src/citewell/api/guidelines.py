"""What the API and the pages of guidelines share: whom a patient on file is shown to, and assessing on record."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool

from citewell.api.asking import in_turn
from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import PatientInput
from citewell.assistants.guidelines.patients_on_file import Roster
from citewell.assistants.guidelines.saved_assessments import is_assessment
from citewell.assistants.guidelines.service import Kept
from citewell.errors import NotFound
from citewell.history import AuditRecord
from citewell.types import User

RECENT = 10
RECORDS_LOOKED_AT = 100
"""Among how many of the newest records the last assessments are looked for: each has to be opened."""


def patients_on_file(site: ServerState, visitor: Visitor) -> Roster:
    """The patients in the folder beside the library: an administrator's of its own tenant, as all papers of people are.

    Others assess the patients whom they send.
    """
    if visitor.tenant != site.tenant or not visitor.may("govern"):
        return Roster({}, {})
    return site.app.guidelines.patients()


def patient_on_file(site: ServerState, visitor: Visitor, patient_id: str) -> PatientInput:
    """The patient of exactly this id."""
    patient = patients_on_file(site, visitor).patients.get(patient_id)
    if patient is None:
        raise NotFound("Patient not found. Check the ID, or send the patient's details in the request body.")
    return patient


async def assessed(
    site: ServerState, visitor: Visitor, patient: PatientInput, only: Sequence[str], *, is_worded: bool = False
) -> Kept:
    """Hold a patient against the guidelines that the visitor may see, all or these; the result is on record.

    A model takes its time to word the reasons, and does it where answers are written.
    """
    site.take_ask(visitor)
    asker = whole_asker(visitor)

    def assess() -> Kept:
        return site.app.guidelines.assess_kept(patient, asker=asker, only=only, is_worded=is_worded)

    return await (in_turn(site, assess) if is_worded else run_in_threadpool(assess))


def applied_guidelines(site: ServerState, visitor: Visitor) -> tuple[Guideline, ...]:
    """The guidelines for patients unless others are chosen: samples only where there is nothing else."""
    known, samples = site.app.guidelines.all(visitor.whole), site.samples(visitor)
    own = [guideline for guideline in known if guideline.entry and guideline.entry.id not in samples]
    return tuple(own) or known


def applied_ids(site: ServerState, visitor: Visitor) -> tuple[str, ...]:
    """The documents of these."""
    return tuple(guideline.entry.id for guideline in applied_guidelines(site, visitor) if guideline.entry)


def whole_asker(visitor: Visitor) -> User:
    """The visitor, asking of all that they may see: a guideline counts whatever journey it is filed under."""
    return User(visitor.user_id, visitor.role, visitor.whole)


def recent_assessments(site: ServerState, visitor: Visitor) -> list[AuditRecord]:
    """The visitor's own last assessments, the newest first."""
    audit, asker = site.ask_service().audit, visitor.asker()
    records: list[AuditRecord] = []
    for entry in audit.entries(asker, limit=RECORDS_LOOKED_AT):
        if entry.user_id == visitor.user_id and is_assessment(record := audit.read(entry.answer_id, asker)):
            records.append(record)
            if len(records) == RECENT:
                break
    return records
