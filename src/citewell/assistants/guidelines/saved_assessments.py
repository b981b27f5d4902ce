"""Assessments on record: what is written down, doing one again, and which ones another edition would change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from typing import Any, Literal

from citewell.answer.audit import digest, scope_json, text_hash
from citewell.answer.replay import UPGRADED, Replay, compare
from citewell.assistants.guidelines.assess import Assessment, EvaluatedRule, assess, assessment_json, cited
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.model_summary import Wording
from citewell.assistants.guidelines.patient import Complaint, PatientInput, TestResult, UnreadField
from citewell.history import AuditRecord, Words
from citewell.types import User

KEY = "assessment"
"""Under which a record holds it; records of questions have no such key."""

NOT_WORDED = "The model was not asked to write the summary again; the record holds the original."


def is_assessment(record: AuditRecord) -> bool:
    """Whether a record is of a patient who was held against guidelines."""
    return KEY in record.words


def asked(assessment: Assessment) -> str:
    """What was asked, in a line."""
    names = " and ".join(
        guideline.name + (f" ({guideline.edition})" if guideline.edition else "") for guideline in assessment.guidelines
    )
    return f"{assessment.patient.id} assessed against {names}"


def words(
    assessment: Assessment, wording: Wording | None, asker: User, *, stamp: int, embedder: str | None
) -> dict[str, Any]:
    """The words of an audit record; the patient is in them, so that the same can be asked again."""
    documents = [guideline.entry.id for guideline in assessment.guidelines if guideline.entry]
    library = {"stamp": stamp, "is_settled": True, "embedder": embedder, "documents": len(documents)}
    return {
        "ended": "answered",
        "question": asked(assessment),
        "history": [],
        "asker": {"user_id": asker.user_id, "role": asker.role.value},
        "scope": scope_json(asker.scope),
        "library": {**library, "generations": "", "digest": digest(documents)},
        "setup": {"citewell": version("citewell"), "assistant": "guidelines", "writer": {"name": "rules"}},
        "evidence": [_evidence(at, rule) for at, rule in enumerate(assessment.matched, 1)],
        "claims": _claims(assessment),
        "answer": None,
        KEY: assessment_json(assessment, None if wording is None else wording.shown()),
    }


def _evidence(number: int, evaluated_rule: EvaluatedRule) -> dict[str, Any]:
    rule, entry = evaluated_rule.rule, evaluated_rule.guideline.entry
    place = {"page": rule.page, "section": rule.section, "start": rule.start, "end": rule.end}
    source = {"source_id": entry.id if entry else "", "document_id": entry.id if entry else ""}
    document = {"document": evaluated_rule.guideline.title, "version": entry.version if entry else 0}
    return {"number": number, **source, **document, **place, "hash": text_hash(rule.text)}


def _claims(assessment: Assessment) -> list[dict[str, Any]]:
    """Each rule that matched, in its own words, with the conditions that decided."""
    return [
        {
            "text": f"{cited(rule)} {rule.rule.text}",
            "verdict": "supported",
            "reasons": [_told(judged.state.value, judged.text, judged.fact) for judged in rule.outcome.judged],
            "is_shown": True,
            "citations": [number],
            "span": {key: _evidence(number, rule)[key] for key in ("source_id", "start", "end")},
        }
        for number, rule in enumerate(assessment.matched, 1)
    ]


def _told(state: str, text: str, fact: str | None) -> str:
    return f"{state}: {text}" + (f" ({fact})" if fact else "")


# ----------------------------------------------------------------------------------------------------------- again


def patient_of(entry: Mapping[str, Any]) -> PatientInput:
    """The patient that was written down.

    >>> one = PatientInput("P1", age=50, complaints=(Complaint("cough", 21),), tests=(TestResult("PSA", 4.5),))
    >>> patient_of(one.shown()) == one
    True
    """
    return PatientInput(
        **{key: entry[key] for key in ("id", "name", "age", "sex", "smoking")},
        exposures=tuple(entry["exposures"]),
        complaints=tuple(Complaint(**one) for one in entry["complaints"]),
        tests=tuple(TestResult(**one) for one in entry["tests"]),
        organs=tuple(entry["organs"]),
        not_read=tuple(UnreadField(**one) for one in entry.get("not_read", ())),
        ages=None if (ages := entry.get("ages")) is None else (ages[0], ages[1]),
    )


def editions_of(record: AuditRecord) -> list[str]:
    """The documents that the patient was held against."""
    return [one["document_id"] for one in record.words[KEY]["guidelines"]]


def again(record: AuditRecord, guidelines: Sequence[Guideline]) -> Replay:
    """The same patient against the same editions, beside what came out then."""
    then: Words = record.words
    now = assess(patient_of(then[KEY]["patient"]), guidelines)
    shown = assessment_json(now)
    current = version("citewell")
    return Replay(
        record=record,
        now=shown,
        text_then=then[KEY]["reasoning"],
        text_now=shown["reasoning"],
        action_then=then[KEY]["risk_level"],
        action_now=now.risk_level,
        changes=tuple(compare(then["claims"], _claims(now))),
        erased=(),
        notes=tuple(_since(then, current)),
    )


def _since(then: Words, current: str) -> Iterator[str]:
    """What may differ and why, and what was not done again."""
    if (was := then["setup"]["citewell"]) != current:
        yield UPGRADED.format(was=was, now=current)
    if then[KEY].get("wording"):
        yield NOT_WORDED


@dataclass(frozen=True, slots=True)
class ChangedAssessment:
    """A patient for whom another edition says something else."""

    answer_id: str
    patient: str
    made_at: datetime
    risk_level: Mapping[Literal["then", "now"], str]
    lost: tuple[str, ...]
    gained: tuple[str, ...]


def changed_by(records: Iterable[AuditRecord], *, old: Guideline, new: Guideline) -> Iterator[ChangedAssessment]:
    """The stored assessments that would come out otherwise; of the same patient as it stood, the newest only."""
    seen: list[Mapping[str, Any]] = []
    for record in records:
        if not is_assessment(record) or old.entry is None or old.entry.id not in editions_of(record):
            continue
        told = record.words[KEY]["patient"]
        if told in seen:
            continue
        seen.append(told)
        before, after = (assess(patient_of(told), [edition]) for edition in (old, new))
        was, now = _gist(before), _gist(after)
        if (before.risk_level, was) != (after.risk_level, now):
            yield ChangedAssessment(
                record.entry.answer_id,
                told["id"],
                record.entry.made_at,
                {"then": before.risk_level, "now": after.risk_level},
                tuple(label for text, label in was.items() if text not in now),
                tuple(label for text, label in now.items() if text not in was),
            )


def _gist(assessment: Assessment) -> dict[str, str]:
    """What matched, by its words: a rule that only has another number is the same."""
    return {" ".join(rule.rule.text.split()): cited(rule) for rule in assessment.matched}
