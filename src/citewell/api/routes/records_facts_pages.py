"""The pages of what a record knows: facts, results with their course, what happened when, what waits for a person."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from citewell.api.problems import Problem, problem_of
from citewell.api.routes.records_pages import FORM, Line, room_page, see
from citewell.api.vault_sessions import Opened, Owner, VaultSession
from citewell.api.visitor import Visitor
from citewell.assistants.records.known_facts import KnownFacts
from citewell.errors import InputError
from citewell.types.facts import LabResult, PartialDate, RecordOwner
from citewell.web.fact_form import correctable, corrected
from citewell.web.records import FactLine, UnreadPapers, fact_groups, summary_groups, timeline
from citewell.web.result_charts import courses

router = APIRouter(prefix="/records/{vault}")


@router.get("/facts")
def facts(visitor: Owner, room: Opened) -> Response:
    """Allergies, medicines, conditions, procedures and vaccinations, each with the way to its words."""
    return _facts(room, visitor)


@router.post("/facts/add", dependencies=FORM)
def add(
    *,
    visitor: Owner,
    room: Opened,
    kind: Line = "",
    name: Line = "",
    detail: Line = "",
    since: Line = "",
    severity: Annotated[str, Form(pattern="^[1-5]?$")] = "",
) -> Response:
    """Add a symptom, medicine or allergy reported by the person."""
    fields: dict[str, dict[str, Any]] = {
        "symptom": {
            "specific": name,
            "body_region": detail or None,
            "onset": since or None,
            "severity": int(severity or 0),
            "recorded": PartialDate.now().text,
        },
        "medication": {"generic_name": name, "dose": detail or None, "start": since or None},
        "allergy": {"allergen": name, "reaction": detail or None, "since": since or None},
    }
    try:
        if not name.strip():
            raise InputError("Enter a name.")
        room.record.add(kind, fields.get(kind, {}))
    except InputError as error:
        return _facts(room, visitor, problem=problem_of(error))
    return see(f"{room.base}/facts")


def _facts(room: VaultSession, visitor: Visitor, *, problem: Problem | None = None) -> Response:
    groups = fact_groups(room.record.facts.all(room.scope), _beside(room))
    return room_page("records_facts.html", room, visitor, tab="facts", groups=groups, problem=problem)


def _beside(room: VaultSession) -> UnreadPapers:
    papers = room.record.paper
    return UnreadPapers(papers.unread(), papers.said_of_allergies())


@router.get("/labs")
def labs(visitor: Owner, room: Opened, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """One card for each test: its course, its newest value, and all of them."""
    results = KnownFacts(tuple(room.record.facts.all(room.scope, kind=LabResult.kind))).of(LabResult)
    wanted = q.casefold().split()
    shown = [course for course in courses(results) if all(word in course.name.casefold() for word in wanted)]
    return room_page("records_labs.html", room, visitor, tab="labs", courses=shown, q=q, is_empty=not results)


@router.get("/timeline")
def when_what(visitor: Owner, room: Opened) -> Response:
    """What happened, the newest first."""
    years = timeline(room.record.facts.all(room.scope))
    return room_page("records_timeline.html", room, visitor, tab="timeline", years=years)


@router.get("/summary")
def summary(visitor: Owner, room: Opened) -> Response:
    """What to take along to an appointment, on paper."""
    facts = room.record.facts.all(room.scope)
    return room_page(
        "records_summary.html",
        room,
        visitor,
        tab="summary",
        people=[FactLine.of(fact) for fact in facts if isinstance(fact, RecordOwner)],
        groups=summary_groups(facts, _beside(room)),
        alerts=room.record.alerts(),
    )


# ---------------------------------------------------------------------------------------------- what waits for a person


@router.get("/review")
def review(visitor: Owner, room: Opened) -> Response:
    """What somebody should confirm, correct or reject."""
    return _review(room, visitor)


@router.post("/facts/{fact_id}/confirm", dependencies=FORM)
def confirm(_visitor: Owner, room: Opened, fact_id: str) -> Response:
    """It is right."""
    room.record.facts.confirm(fact_id, room.scope)
    return see(f"{room.base}/review")


@router.post("/facts/{fact_id}/reject", dependencies=FORM)
def reject(_visitor: Owner, room: Opened, fact_id: str) -> Response:
    """It is wrong: it is not used any more, and not read in again."""
    room.record.facts.reject(fact_id, room.scope)
    return see(f"{room.base}/review")


@router.post("/facts/{fact_id}/correct", dependencies=FORM)
async def correct(visitor: Owner, room: Opened, request: Request, fact_id: str) -> Response:
    """Something else is right."""
    typed = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}

    def work() -> Response:
        facts = room.record.facts
        try:
            facts.correct(fact_id, corrected(facts.one(fact_id, room.scope), typed), room.scope)
        except InputError as error:
            return _review(room, visitor, problem=problem_of(error))
        return see(f"{room.base}/review")

    return await run_in_threadpool(work)


def _review(room: VaultSession, visitor: Visitor, *, problem: Problem | None = None) -> Response:
    waiting = [(FactLine.of(fact), correctable(fact)) for fact in room.record.facts.unverified(room.scope)]
    return room_page("records_review.html", room, visitor, tab="review", waiting=waiting, problem=problem)


@router.get("/alerts")
def alerts(visitor: Owner, room: Opened) -> Response:
    """What somebody should look at, each with the facts that it rests on."""
    known = {fact.id: fact for fact in room.record.facts.all(room.scope)}
    titles = {entry.id: entry.title for entry in room.record.paper.entries}
    alerts = [
        (
            alert,
            [FactLine.of(known[fact]) for fact in alert.fact_ids if fact in known]
            + [FactLine.place(f"In “{titles[at.document_id]}”", at) for at in alert.quotes if at.document_id in titles],
        )
        for alert in room.record.alerts()
    ]
    unread = room.record.paper.unread()
    return room_page("records_alerts.html", room, visitor, tab="alerts", alerts=alerts, unread=unread)


@router.post("/alerts/{alert_id}/dismiss", dependencies=FORM)
def dismiss(_visitor: Owner, room: Opened, alert_id: str, why: Line = "") -> Response:
    """Dismiss an alert; it stays dismissed until its facts change."""
    room.record.dismiss(alert_id, why=why)
    return see(f"{room.base}/alerts")
