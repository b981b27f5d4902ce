"""The pages of what a record knows: things, results with their course, what happened when, what waits for a person."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from citewell.api.problems import Problem, problem_of
from citewell.api.routes.records_pages import FORM, Line, room_page, see
from citewell.api.vault_sessions import Opened, Owner, VaultSession
from citewell.api.visitor import Visitor
from citewell.assistants.records.alerts import AlertKind
from citewell.errors import InputError, NotFound
from citewell.types.facts import Allergy, LabResult, PartialDate, RecordOwner
from citewell.web.fact_form import correctable, corrected
from citewell.web.records import FactLine, UnreadPapers, shown_codes
from citewell.web.records_things import THING_KINDS, ThingGroup, ThingKind, thing_groups
from citewell.web.records_today import sheet_groups
from citewell.web.records_visits import timeline
from citewell.web.result_charts import chart, sparkline
from citewell.web.result_series import GROUP_TITLES, Reading, ResultGroup, ResultSeries, series_of

router = APIRouter(prefix="/records/{vault}")

THINGS_ON_A_PAGE = 30
TESTS_ON_A_PAGE = 60
READINGS_ON_A_PAGE = 100
WAITING_ON_A_PAGE = 15
PageNumber = Annotated[int, Query(ge=1, le=10_000)]
Slug = Literal["medicines", "conditions", "allergies", "vaccines", "procedures", "symptoms"]
PAGES = {kind.slug: kind for kind in THING_KINDS}
ADDED_TO = {kind.adds: kind for kind in THING_KINDS if kind.adds}
ALERT_WORDS = {
    AlertKind.ALLERGY: "Allergy",
    AlertKind.CRITICAL_RESULT: "Test result",
    AlertKind.CONFLICTING_DOSE: "Two doses",
    AlertKind.DUPLICATE: "Same ingredient twice",
    AlertKind.GAP: "Usual test not found",
}
"""What an alert is about, in a patient's words."""


@router.get("/facts")
def facts(visitor: Owner, room: Opened) -> Response:
    """All that the record has, with the way to each page, and a form to add to it."""
    return _overview(room, visitor)


@router.get("/facts/{slug}")
def facts_of(visitor: Owner, room: Opened, slug: Slug, page: PageNumber = 1) -> Response:
    """The things of one kind, each once, under how they stand."""
    return _things(room, visitor, PAGES[slug], page=page)


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
        if kind not in ADDED_TO:
            return _overview(room, visitor, problem=problem_of(error))
        return _things(room, visitor, ADDED_TO[kind], problem=problem_of(error))
    return see(f"{room.base}/facts/{ADDED_TO[kind].slug}")


def _overview(room: VaultSession, visitor: Visitor, *, problem: Problem | None = None) -> Response:
    facts = room.record.facts.remembered(room.scope)
    counts = {
        kind.slug: sum(
            len(group.rows) for group in thing_groups([fact for fact in facts if isinstance(fact, kind.kind)])
        )
        for kind in THING_KINDS
    }
    return room_page(
        "records_facts.html",
        room,
        visitor,
        tab="facts",
        kinds=THING_KINDS,
        counts=counts,
        tests=len(series_of([fact for fact in facts if isinstance(fact, LabResult)])),
        documents=len(room.record.paper.entries),
        waiting=sum(1 for fact in facts if not fact.is_verified),
        alerts=len(room.record.alerts()),
        problem=problem,
    )


def _things(
    room: VaultSession, visitor: Visitor, kind: ThingKind, *, page: int = 1, problem: Problem | None = None
) -> Response:
    groups = thing_groups([fact for fact in room.record.facts.remembered(room.scope) if isinstance(fact, kind.kind)])
    count = sum(len(group.rows) for group in groups)
    return room_page(
        "records_things.html",
        room,
        visitor,
        tab=kind.slug,
        kind=kind,
        groups=_paged(groups, page),
        count=count,
        unread=room.record.paper.unread(),
        said=_beside(room).allergy_rows if kind.kind is Allergy else (),
        page=page,
        pages=_pages(count, THINGS_ON_A_PAGE),
        problem=problem,
    )


def _paged(groups: list[ThingGroup], page: int) -> list[ThingGroup]:
    """The part of the groups that one page shows."""
    first, found = (page - 1) * THINGS_ON_A_PAGE, []
    for group in groups:
        rows = group.rows[max(first, 0) : max(first + THINGS_ON_A_PAGE, 0)]
        first -= len(group.rows)
        if rows:
            found.append(ThingGroup(group.title, rows, len(group.rows)))
    return found


def _pages(count: int, on_a_page: int) -> int:
    """How many pages so many rows take, one at least."""
    return max(1, -(-count // on_a_page))


def _beside(room: VaultSession) -> UnreadPapers:
    papers = room.record.paper
    return UnreadPapers(papers.unread(), papers.said_of_allergies())


@router.get("/labs")
def labs(
    visitor: Owner,
    room: Opened,
    q: Annotated[str, Query(max_length=200)] = "",
    show: Literal["", "out", "laboratory", "vitals", "scores", "notes"] = "",
    page: PageNumber = 1,
) -> Response:
    """A row for each test with its newest value, those out of range first."""
    every, words = _series(room), q.casefold().split()
    found = [
        series
        for series in every
        if _is_shown(series, show) and all(word in f"{series.name} {series.full_name}".casefold() for word in words)
    ]
    found.sort(key=lambda series: (not series.reading.is_out, _ORDER[series.group]))
    first = (page - 1) * TESTS_ON_A_PAGE
    return room_page(
        "records_labs.html",
        room,
        visitor,
        tab="labs",
        rows=[(series, sparkline(series), _part(series)) for series in found[first : first + TESTS_ON_A_PAGE]],
        count=len(found),
        choices=[
            ("", "All", len(every)),
            *((name, words, sum(_is_shown(series, name) for series in every)) for name, words in _CHOICES.items()),
        ],
        q=q,
        show=show,
        page=page,
        pages=_pages(len(found), TESTS_ON_A_PAGE),
        is_empty=not every,
    )


_CHOICES = {
    "out": "Out of range",
    "laboratory": "Laboratory",
    "vitals": "Vital signs",
    "scores": "Scores",
    "notes": "Notes",
}
_ORDER = {group: place for place, group in enumerate(GROUP_TITLES)}


def _is_shown(series: ResultSeries, show: str) -> bool:
    return series.reading.is_out if show == "out" else show in ("", series.group)


def _part(series: ResultSeries) -> str:
    """Under which heading a test stands."""
    return _CHOICES["out"] if series.reading.is_out else GROUP_TITLES[series.group]


def _series(room: VaultSession) -> list[ResultSeries]:
    return series_of([fact for fact in room.record.facts.remembered(room.scope) if isinstance(fact, LabResult)])


@router.get("/labs/{test}")
def lab(visitor: Owner, room: Opened, test: str, page: PageNumber = 1) -> Response:
    """All results of one test: how it went in words, as a chart and as a table."""
    series = next((series for series in _series(room) if series.id == test), None)
    if series is None:
        raise NotFound("Your record has no such test. Choose one under Results.")
    first = (page - 1) * READINGS_ON_A_PAGE
    shown = series.results[first : first + READINGS_ON_A_PAGE]
    return room_page(
        "records_lab.html",
        room,
        visitor,
        tab="labs",
        series=series,
        codes=shown_codes(series.results[0]),
        is_note=series.group is ResultGroup.NOTES,
        chart=chart(series),
        has_range=any(Reading(result).band for result in shown),
        readings=[(Reading(result), FactLine.of(result)) for result in shown],
        page=page,
        pages=_pages(len(series.results), READINGS_ON_A_PAGE),
    )


@router.get("/timeline")
def when_what(
    visitor: Owner,
    room: Opened,
    year: Annotated[int | None, Query(ge=1, le=9999)] = None,
    before: Annotated[str, Query(max_length=10)] = "",
) -> Response:
    """Visits with what happened there, the newest first."""
    shown = timeline(room.record.facts.remembered(room.scope), year=year, before=before)
    return room_page("records_timeline.html", room, visitor, tab="timeline", timeline=shown, chosen=year, before=before)


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
        groups=sheet_groups(facts, _beside(room)),
        alerts=room.record.alerts(),
        printed=datetime.now(UTC),
    )


# ---------------------------------------------------------------------------------------------- what waits for a person


@router.get("/review")
def review(visitor: Owner, room: Opened, page: PageNumber = 1) -> Response:
    """What somebody should confirm, correct or reject."""
    return _review(room, visitor, page=page)


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


def _review(room: VaultSession, visitor: Visitor, *, page: int = 1, problem: Problem | None = None) -> Response:
    waiting = room.record.facts.unverified(room.scope)
    first = (page - 1) * WAITING_ON_A_PAGE
    shown = [(FactLine.of(fact), correctable(fact)) for fact in waiting[first : first + WAITING_ON_A_PAGE]]
    pages = _pages(len(waiting), WAITING_ON_A_PAGE)
    return room_page(
        "records_review.html",
        room,
        visitor,
        tab="review",
        waiting=shown,
        count=len(waiting),
        page=page,
        pages=pages,
        problem=problem,
    )


@router.get("/alerts")
def alerts(visitor: Owner, room: Opened) -> Response:
    """What somebody should look at, each with the facts that it rests on."""
    known = {fact.id: fact for fact in room.record.facts.remembered(room.scope)}
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
    return room_page(
        "records_alerts.html", room, visitor, tab="alerts", alerts=alerts, unread=unread, words=ALERT_WORDS
    )


@router.post("/alerts/{alert_id}/dismiss", dependencies=FORM)
def dismiss(_visitor: Owner, room: Opened, alert_id: str, why: Line = "") -> Response:
    """Dismiss an alert; it stays dismissed until its facts change."""
    room.record.dismiss(alert_id, why=why)
    return see(f"{room.base}/alerts")
