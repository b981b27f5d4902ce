"""A consult as its views show it: one JSON object, and plain text that reads like a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from citewell.assistants.consult.notebook import InterviewStep
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.summary import summary, who
from citewell.ports.consult import ConsultEntry
from citewell.types.consult import Consult, ConsultState
from citewell.types.consult_plan_edits import LineWarnings, PenLine, by_part, lines_now, removed_lines, warnings_by_line

RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
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
        "own": [dict(line) for line in consult.own],
        "removed": [list(pair) for pair in consult.removed],
        "moves": [list(pair) for pair in consult.moves],
        "failure": consult.failure,
        "notes": list(consult.notes),
        "meant": consult.meant,
        "signed_by": consult.signed_by,
        "signed_at": consult.signed_at,
        "signature": None if consult.signature is None else asdict(consult.signature),
        "answer_id": consult.answer_id,
    }


UNREADABLE = "This consultation cannot be shown. Nothing was lost: the others are not affected. Ask an administrator."


def listed_json(entry: ConsultEntry, consult: Consult | None) -> dict[str, Any]:
    """One line of the list of consults; one that cannot be shown says so."""
    told = {"id": entry.id, "state": entry.state, "changed_at": entry.changed_at.isoformat(timespec="seconds")}
    if consult is not None:
        with suppress(Exception):  # whatever is wrong with one, the others are listed
            known = {**told, "changed_at": consult.changed_at}
            return {**known, "patient": who(patient_of(consult)).rstrip(","), "summary": summary(consult)}
    return {**told, "patient": "", "summary": UNREADABLE}


def note_text(consult: Consult) -> str:
    """The whole consult as plain text: assessment, differentials, plan with sources, signature."""
    return "\n".join(_lines(consult)) + "\n"


def _lines(consult: Consult) -> Iterator[str]:
    """One page that a colleague reads: who, what was found, what is thought, what to do; sources behind it."""
    is_signed = consult.state is ConsultState.SIGNED
    yield f"CONSULT {consult.id[:8]}, {consult.changed_at[:10]}"
    yield f"Signed by {consult.signed_as}, {consult.signed_at}" if is_signed else DRAFT
    if consult.signature is not None:
        yield f"SHA-256 of what was signed: {consult.signature.sha256}"
    if consult.signed_though:
        yield consult.signed_though
    if consult.consent is not None:
        yield f"Consent: {consult.consent.shown}"
    yield ""
    yield "HISTORY AND FINDINGS"
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
        yield "\nIMPRESSION"
    for number, differential in enumerate(consult.differentials, 1):
        yield f"{number}. {differential.condition} ({differential.confidence})"
        for word, no, speaking in (("For", "", differential.supports), ("Against", "no ", differential.opposes)):
            if speaking:
                sources = "; ".join(dict.fromkeys(bearing.source for bearing in speaking if bearing.source))
                names = ", ".join(f"{no}{bearing.name.lower()}" for bearing in speaking)
                yield f"   {word}: {names}" + (f" ({sources})" if sources else "")


def _plan_lines(consult: Consult, plan: Mapping[str, Any]) -> Iterator[str]:
    yield "\nPLAN"
    yield from (f"!! {flag}" for flag in plan["red_flags"])
    yield from (f"! {told['text']} ({told['source']})" for told in plan.get("warnings", ()))
    yield from (f"Note: {note}" for note in plan["notes"])
    sources: dict[str, int] = {}
    warnings = warnings_by_line(consult)
    for number, diagnosis in enumerate(plan["diagnoses"], 1):
        yield f"\n{number}. {diagnosis['condition']} ({diagnosis['confidence']})"
        if not diagnosis["is_found"]:
            yield f"   {diagnosis['said']}"
        for title, lines in by_part(lines_now(consult, number)):
            yield f"   {title}"
            for line in lines:
                yield from _statement_lines(consult, line, sources, warnings[line.label])
        for line, why in removed_lines(consult, number):
            yield f"   removed by the clinician: {line.entry['text']}" + (f" ({why})" if why else "")
        if diagnosis.get("shared"):
            yield f"   See also above: {', '.join(diagnosis['shared'])}"
        for one in diagnosis["disagreements"]:
            yield from _disagreement_lines(diagnosis, number, one)
    if plan["leads"]:
        yield "\nALSO SUGGESTED BY THE FINDINGS"
        for one in plan["leads"]:
            named = f" ({', '.join(one['names'])})" if one.get("names") else ""
            yield f"   {' › '.join((one['document'], *one['section']))}{named}: “{one['quote']}”"
    if sources:
        yield "\nSOURCES"
        yield from (f"   {raised(at)} {source}" for source, at in sources.items())
    yield from _left_out_lines(plan)


def _left_out_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """What was left out, counted by its reason; every line of it is in the consultation."""
    reasons = Counter(one["reason"] for diagnosis in plan["diagnoses"] for one in diagnosis["left_out"])
    if reasons:
        yield "\nLEFT OUT"
        yield "   " + "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())


def _warning_lines(warnings: LineWarnings) -> Iterator[str]:
    yield from (f"       ! {told['text']} ({told['source']})" for told in warnings.told)
    if warnings.as_for:
        yield f"       ! Warnings at {', '.join(warnings.as_for)} also apply here"


def _statement_lines(consult: Consult, line: PenLine, sources: dict[str, int], warnings: LineWarnings) -> Iterator[str]:
    label, entry = line.label, line.entry
    edit = consult.edit_of(label)
    if line.is_own:
        now = edit or entry
        yield f"   {label} {now['text']}"
        yield "       clinician's own line" + (f": {now['why']}" if now["why"] else "")
        yield from _warning_lines(warnings)
        return
    source = source_line(entry["place"])
    if edit is not None:
        yield f"   {label} {edit['text']}"
        yield "       clinician's own wording, not the source's" + (f": {edit['why']}" if edit["why"] else "")
        yield from _warning_lines(warnings)
        yield f"       replacing: {entry['text']} [{source}]"
        return
    held = f"{line.held_back.upper()}: " if line.is_held_back else ""
    graded = ", ".join(
        part
        for part in (
            f"{entry['strength']} recommendation" if entry["strength"] else "",
            f"{entry['certainty']} certainty" if entry["certainty"] else "",
        )
        if part
    )
    at = raised(sources.setdefault(source, len(sources) + 1))
    yield f"   {label} {held}{entry['text']} {at}" + (f" ({graded})" if graded else "")
    yield from (f"       dose: {dose['arithmetic']}" for dose in entry["doses"])
    yield from _warning_lines(warnings)
    yield from (f"       ? {told}" for told in entry["reservations"])


def raised(number: int) -> str:
    """A number as it stands behind what it is the source of.

    >>> raised(12)
    '¹²'
    """
    return str(number).translate(RAISED)


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
