"""Assesses a signed consult again on the versions of then, and tells the difference sentence by sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from typing import Any

from citewell.answer.replay import EMBEDDED_ANEW, RecordedQuestion, Replay, compare, erased_since
from citewell.answer.service import ServiceLibrary
from citewell.assistants.consult.assess import assess
from citewell.assistants.consult.contradictions import contradictions
from citewell.assistants.consult.events_json import differential_of, finding_of
from citewell.assistants.consult.plan_evidence import AssessmentParts
from citewell.assistants.consult.signed_record import KEY, claims_of
from citewell.history import AuditRecord
from citewell.types import User
from citewell.types.consult import Consult, ConsultState


def again(
    record: AuditRecord,
    asker: User,
    *,
    parts: Callable[[int, Collection[int] | None], AssessmentParts],
    library: ServiceLibrary,
    setup: Mapping[str, Any],
) -> Replay:
    """The same findings and differentials on the same versions, beside what was signed; edits stay with the record."""
    words = record.words
    then = words[KEY]
    findings = tuple(finding_of(one) for one in then["findings"])
    consult = Consult(
        then["id"],
        "",
        "",
        ConsultState.ASSESSING,
        then["setting"],
        then["country"],
        findings=findings,
        contradictions=contradictions(findings),
        differentials=tuple(differential_of(one) for one in then["differentials"]),
        despite=then["despite"],
    )
    asked = RecordedQuestion.of(record, asker)
    still = library.at(asked.stamp).versions(asked.scope)
    plan = assess(consult, scope=asked.scope, parts=parts(asked.stamp, asked.only(still)))
    now = asdict(plan)
    erased = erased_since(words["evidence"], library, asked.scope.tenant)
    notes = [EMBEDDED_ANEW] if asked.is_embedded_anew(still) else []
    notes += [
        f"Version {erased_source.version} of “{erased_source.document}” has since been erased."
        for erased_source in erased
    ]
    if words["setup"] != {key: value for key, value in setup.items() if key != "library"}:
        notes.append("Citewell or the model has different settings from then.")
    return Replay(
        record=record,
        now=now,
        text_then=then["plan"]["summary"],
        text_now=plan.summary,
        action_then="signed",
        action_now="signed",
        changes=tuple(compare(words["claims"], claims_of(now))),
        erased=erased,
        notes=tuple(notes),
    )
