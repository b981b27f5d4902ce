"""Answers and events as JSON, the same for the command line, the API and the audit log."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal, assert_never

from citewell.answer.cite import Marks, marked_text
from citewell.answer.events import (
    AnswerDone,
    AnswerFailed,
    AnswerStarted,
    Event,
    Notice,
    Replace,
    SearchedScope,
    SentenceChecked,
    StageStarted,
)
from citewell.clinical.spelling_correction import corrections
from citewell.types import (
    Action,
    Answer,
    Citation,
    Cite,
    Claim,
    Confidence,
    Evidence,
    Qualified,
    Refuse,
    Route,
    SentenceCheck,
)

ActionName = Literal["CITE", "QUALIFY", "ROUTE", "REFUSE"]

WINDOW_CHARACTERS = 200
"""How much of a passage is given on each side of the words that are cited."""


def answer_json(
    answer: Answer, *, with_withheld: bool, marks: Marks = Marks.NUMBER, with_windows: bool = True
) -> dict[str, Any]:
    """An answer; the sentences that were withheld only for those who may see a draft."""
    shown: dict[str, Any] = {
        "id": answer.id,
        "query": answer.query or None,
        "action": action_name(answer.action),
        "reason": _reason(answer.action),
        "text": marked_text(answer.text, answer.citations, marks),
        "grounded": answer.is_grounded,
        "sentences": [claim_json(claim) for claim in answer.claims if claim.is_shown],
        "citations": [citation_json(citation, with_window=with_windows) for citation in answer.citations],
        "evidence": [evidence_json(evidence) for evidence in answer.evidence],
        "confidence": _confidence(answer.confidence),
        "route": asdict(answer.action) if isinstance(answer.action, Route) else None,
        "model": answer.model,
        "left_out": answer.left_out,
        "shortened": answer.shortened,
        "dropped_citations": answer.dropped_citations,
        "context_tokens": answer.context_tokens,
        "withheld_count": sum(not claim.is_shown for claim in answer.claims),
        "took_ms": round(answer.took_ms, 1),
        "corrected": corrections(answer.question),
        "emergency": None if answer.emergency is None else asdict(answer.emergency),
    }
    shown["notices"] = [notice.as_json() for notice in answer.notices]
    if answer.notes:
        shown["notes"] = dict(answer.notes)
    if answer.suspicious:
        shown["suspicious"] = list(answer.suspicious)
    if "unused" in answer.notes:
        shown["unused"] = list(answer.notes["unused"])
    if with_withheld:
        shown["withheld"] = [claim_json(claim) for claim in answer.claims if not claim.is_shown]
        shown["raw_text"] = answer.raw_text
    return shown


def _confidence(confidence: Confidence) -> dict[str, Any]:
    shown = asdict(confidence)
    return {**shown, **{name: round(shown[name], 4) for name in ("retrieval", "coverage", "calibrated")}}


def without_help(answer: Answer) -> str:
    """What was said beside the way to help, where that has been shown before."""
    return answer.text.removeprefix(answer.emergency.text if answer.emergency else "").strip()


def done_json(done: AnswerDone, *, with_withheld: bool, marks: Marks = Marks.NUMBER) -> dict[str, Any]:
    """An answer, with where it is kept and where it was looked for."""
    kept = {"conversation_id": done.conversation_id, "inbox_id": done.routed_id, "scope": looked_json(done.looked)}
    return {**answer_json(done.answer, with_withheld=with_withheld, marks=marks), **kept}


def looked_json(looked: SearchedScope | None) -> dict[str, Any] | None:
    """Where an answer was looked for; `*` among the tags or as journey is all of them."""
    if looked is None:
        return None
    scope = looked.scope
    return {
        "tags": sorted(scope.tags),
        "journey": scope.journey,
        "subject": scope.subject,
        "document": scope.document,
        "documents": looked.documents,
    }


def action_name(action: Action) -> ActionName:
    """The name of what became of a question.

    >>> action_name(Refuse("no"))
    'REFUSE'
    """
    match action:
        case Cite():
            return "CITE"
        case Qualified():
            return "QUALIFY"
        case Route():
            return "ROUTE"
        case Refuse():
            return "REFUSE"
        case _:
            assert_never(action)


def _reason(action: Action) -> str | None:
    return None if isinstance(action, Cite) else action.reason


def left_out_words(left_out: int, shortened: int, shown: int) -> str | None:
    """What of the passages found the writer was not shown, in one sentence; None where it saw them all.

    >>> left_out_words(2, 1, 5)
    'Not shown to the model: 2 of 7 passages; 1 shortened.'
    >>> left_out_words(0, 1, 3)
    'Not shown to the model: the end of 1 of 3 passages.'
    """
    if not left_out:
        return f"Not shown to the model: the end of {shortened} of {shown} passages." if shortened else None
    also = f"; {shortened} shortened" if shortened else ""
    return f"Not shown to the model: {left_out} of {left_out + shown} passages{also}."


def claim_json(claim: Claim) -> dict[str, Any]:
    """A checked sentence."""
    return {
        "text": claim.text,
        "verdict": claim.check.verdict.value,
        "reasons": list(claim.check.reasons),
        "citations": list(claim.citations),
    }


def check_json(text: str, check: SentenceCheck) -> dict[str, Any]:
    """A sentence of any text, checked."""
    evidence = [
        {"source_id": span.source_id, "start": span.start, "end": span.end, "quote": span.text} for span in check.spans
    ]
    return {"text": text, "verdict": check.verdict.value, "reasons": list(check.reasons), "evidence": evidence}


def citation_json(citation: Citation, *, with_window: bool = False) -> dict[str, Any]:
    """A citation with its exact place; with a window, also the words round it."""
    place = {
        "n": citation.n,
        "source_id": citation.source_id,
        "chunk_id": citation.chunk_id,
        "document_id": citation.document_id,
        "document": citation.document,
        "version": citation.version,
        "date": citation.published.isoformat() if citation.published else None,
        "page": citation.page,
        "section": " > ".join(citation.section) or None,
        "start": citation.start,
        "end": citation.end,
        "quote": citation.quote,
        "relevance": round(citation.relevance, 4),
    }
    return {**place, "window": window_json(citation)} if with_window else place


def window_json(citation: Citation) -> dict[str, str]:
    """The words of the passage before and after those that are cited, cut between words."""
    before, after = citation.before, citation.after
    if len(before) > WINDOW_CHARACTERS:
        before = before[-WINDOW_CHARACTERS - 1 :].partition(" ")[2] or before[-WINDOW_CHARACTERS:]
    if len(after) > WINDOW_CHARACTERS:
        after = after[: WINDOW_CHARACTERS + 1].rpartition(" ")[0] or after[:WINDOW_CHARACTERS]
    return {"before": before, "after": after}


def evidence_json(evidence: Evidence) -> dict[str, Any]:
    """A passage that the writer was shown, with its place; its words are one click away."""
    hit = evidence.hit
    return {
        "source_id": hit.source_id,
        "chunk_id": hit.chunk_id,
        "document_id": hit.document_id,
        "document": hit.document,
        "version": hit.version,
        "page": hit.page,
        "section": " > ".join(hit.section) or None,
        "start": evidence.start,
        "end": evidence.end,
        "relevance": round(hit.relevance, 4),
        "is_calibrated": hit.is_calibrated,
        "is_suspicious": evidence.is_suspicious,
    }


def event_json(  # noqa: PLR0911 - one for each event
    event: Event, *, with_withheld: bool, marks: Marks = Marks.NUMBER
) -> tuple[str, dict[str, Any]]:
    """The name and the data of an event, as the stream sends it."""
    match event:
        case AnswerStarted():
            return "started", asdict(event)
        case StageStarted():
            return "working", asdict(event)
        case Notice():
            return "told", asdict(event)
        case SentenceChecked():
            return "sentence", _sentence(event.index, event.claim, event.citations, with_withheld=with_withheld)
        case Replace():
            return "replace", _sentence(event.index, event.claim, event.citations, with_withheld=with_withheld)
        case AnswerDone():
            return "done", done_json(event, with_withheld=with_withheld, marks=marks)
        case AnswerFailed():
            return "failed", asdict(event)
        case _:
            assert_never(event)


def _sentence(index: int, claim: Claim, citations: tuple[Citation, ...], *, with_withheld: bool) -> dict[str, Any]:
    shown = claim_json(claim) if claim.is_shown or with_withheld else {"verdict": claim.check.verdict.value}
    return {
        "index": index,
        "shown": claim.is_shown,
        **shown,
        "sources": [citation_json(citation, with_window=True) for citation in citations],
    }
