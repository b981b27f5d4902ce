"""A consult as its views show it: one JSON object, and plain text that reads like a note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from citewell.assistants.consult.notebook import InterviewStep
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.summary import summary, who
from citewell.types.consult import Consult, ConsultState

DRAFT = "DRAFT for a clinician to check and sign. Not advice for the patient."


def turn_json(turn: InterviewStep) -> dict[str, Any]:
    """The consult, what to ask next, and what cannot wait."""
    question = turn.question
    return {
        **consult_json(turn.consult),
        "question": None if question is None else asdict(question),
        "red_flags": [{**asdict(flag), "is_acknowledged": flag.id in turn.consult.acknowledged} for flag in turn.flags],
        "emergency": None if turn.emergency is None else asdict(turn.emergency),
        "troubles": list(turn.troubles),
    }


def consult_json(consult: Consult) -> dict[str, Any]:
    """The consult itself."""
    return {
        "id": consult.id,
        "state": consult.state.value,
        "made_at": consult.made_at,
        "changed_at": consult.changed_at,
        "patient": asdict(patient_of(consult)),
        "summary": summary(consult),
        "consent": None if consult.consent is None else asdict(consult.consent),
        "messages": [asdict(message) for message in consult.messages],
        "unused": [asdict(unused_words) for unused_words in consult.unused],
        "findings": [asdict(finding) for finding in consult.findings],
        "gone": [{"finding": asdict(finding), "why": why} for finding, why in consult.gone],
        "contradictions": [asdict(contradiction) for contradiction in consult.contradictions],
        "differentials": [asdict(differential) for differential in consult.differentials],
        "despite": consult.despite,
        "plan": consult.plan,
        "edits": [dict(edit) for edit in consult.edits],
        "failure": consult.failure,
        "notes": list(consult.notes),
        "meant": consult.meant,
        "signed_by": consult.signed_by,
        "signed_at": consult.signed_at,
        "answer_id": consult.answer_id,
    }


def listed_json(consult: Consult) -> dict[str, Any]:
    """One line of the list of consults."""
    told = {"id": consult.id, "state": consult.state.value, "changed_at": consult.changed_at}
    return {**told, "patient": who(patient_of(consult)).rstrip(","), "summary": summary(consult)}


def note_text(consult: Consult) -> str:
    """The whole consult as plain text: assessment, differentials, plan with sources, signature."""
    return "\n".join(_lines(consult)) + "\n"


def _lines(consult: Consult) -> Iterator[str]:
    is_signed = consult.state is ConsultState.SIGNED
    yield f"CONSULT {consult.id[:8]}"
    yield f"Signed by {consult.signed_by}, {consult.signed_at}" if is_signed else DRAFT
    if consult.signed_though:
        yield consult.signed_though
    if consult.consent is not None:
        yield f"Consent: {consult.consent.shown}"
    yield ""
    yield "ASSESSMENT"
    yield summary(consult)
    for contradiction in consult.contradictions:
        yield f"Unresolved: {contradiction.question}"
    yield from (f"Not used: “{one.text}” ({one.why})" for one in consult.unused)
    yield from (f"Note: {note}" for note in consult.notes)
    yield from _differential_lines(consult)
    plan: Mapping[str, Any] | None = consult.plan
    if plan is None:
        yield f"\nNo plan: {consult.failure}" if consult.failure else "\nNo plan yet."
        return
    yield from _plan_lines(consult, plan)


def _differential_lines(consult: Consult) -> Iterator[str]:
    if consult.differentials:
        yield "\nDIFFERENTIALS"
    for number, differential in enumerate(consult.differentials, 1):
        yield f"{number}. {differential.condition} ({differential.confidence})"
        for sign, speaking in (("+", differential.supports), ("−", differential.opposes)):
            yield from (
                f"   {sign} {bearing.name}" + (f" — {bearing.source}" if bearing.source else "") for bearing in speaking
            )


def _plan_lines(consult: Consult, plan: Mapping[str, Any]) -> Iterator[str]:
    yield "\nPLAN"
    yield from (f"!! {flag}" for flag in plan["red_flags"])
    yield from (f"Note: {note}" for note in plan["notes"])
    for number, diagnosis in enumerate(plan["diagnoses"], 1):
        yield f"\n{number}. {diagnosis['condition']} ({diagnosis['confidence']})"
        if not diagnosis["is_found"]:
            yield f"   {diagnosis['said']}"
        for one in diagnosis["offered"]:
            yield from _statement_lines(consult, number, one, held_back=False)
        for one in diagnosis["held_back"]:
            yield from _statement_lines(consult, number, one, held_back=True)
        if diagnosis.get("shared"):
            yield f"   See also above: {', '.join(diagnosis['shared'])}"
        for one in diagnosis["disagreements"]:
            yield from _disagreement_lines(diagnosis, number, one)
        for one in diagnosis["left_out"]:
            words = f": “{one['words']}”" if one.get("words") else ""
            yield f"   left out: {' › '.join((one['document'], *one['section'][-1:]))}{words}: {one['reason']}"
    if plan["leads"]:
        yield "\nALSO SUGGESTED BY THE FINDINGS ALONE"
        for one in plan["leads"]:
            named = f" ({', '.join(one['names'])})" if one.get("names") else ""
            yield f"   {' › '.join((one['document'], *one['section']))}{named}: “{one['quote']}”"


def _statement_lines(consult: Consult, number: int, entry: Mapping[str, Any], *, held_back: bool) -> Iterator[str]:
    label = f"{number}.{entry['id']}"
    if (edit := consult.edit_of(label)) is not None:
        yield f"   {label} {edit['text']}"
        yield "       clinician's own wording, not the source's" + (f": {edit['why']}" if edit["why"] else "")
        yield from (f"       ! {told['text']} ({told['source']})" for told in edit["conflicts"])
        yield f"       replacing: {entry['text']} [{source_line(entry['place'])}]"
        return
    yield f"   {label} {'NOT FOR THIS PATIENT: ' if held_back else ''}{entry['text']}"
    graded = ", ".join(
        part
        for part in (
            f"{entry['strength']} recommendation" if entry["strength"] else "",
            f"{entry['certainty']} certainty" if entry["certainty"] else "",
        )
        if part
    )
    yield f"       [{source_line(entry['place'])}]" + (f" ({graded})" if graded else "")
    yield from (f"       dose: {dose['arithmetic']}" for dose in entry["doses"])
    yield from (f"       ! {told['text']} ({told['source']})" for told in entry["conflicts"])
    yield from (f"       ? {told}" for told in entry["reservations"])


def source_line(place: Mapping[str, Any]) -> str:
    """A source as a person can look it up: title, section, page, year, publisher, country."""
    year = (place["published"] or "")[:4]
    page = f"p. {place['page']}" if place["page"] else ""
    parts = (place["document"], *place["section"][-1:], page, year, place["publisher"], place["country"])
    return ", ".join(part for part in parts if part)


def _disagreement_lines(diagnosis: Mapping[str, Any], number: int, entry: Mapping[str, Any]) -> Iterator[str]:
    yield f"   Sources differ on {entry['about']}: {entry['why']}"
    known = {told["id"]: told for told in (*diagnosis["offered"], *diagnosis["held_back"])}
    for told in entry["statements"]:
        place = known[told]["place"]
        dated = place["published"] or "no date"
        yield f"       {number}.{told} ({dated}, {place['country'] or 'country not stated'}): {known[told]['text']}"
