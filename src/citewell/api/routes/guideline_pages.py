"""The pages of guidelines: hold a patient against them, look at a result, browse rules, compare editions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.api.guidelines import (
    applied_guidelines,
    assessed,
    patient_on_file,
    patients_on_file,
    recent_assessments,
    whole_asker,
)
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.visitor import Governor, Member, Reader, Visitor
from citewell.assistants.guidelines import TAG
from citewell.assistants.guidelines.browse import BrowseFilter, browse, choices
from citewell.assistants.guidelines.criteria import render
from citewell.assistants.guidelines.diff import diff_json
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.guideline_json import counts_json
from citewell.assistants.guidelines.saved_assessments import KEY, editions_of, is_assessment
from citewell.errors import CitewellError, InputError, NotFound
from citewell.types import EVERY, LibraryEntry, LifecycleState
from citewell.web.guidelines import CONDITIONS, LEVELS, SMOKING, TypedPatient, rule_links
from citewell.web.source_highlights import PDF, SourceTarget

router = APIRouter(prefix="/guidelines")

Csrf = Annotated[str, Form()]
Line = Annotated[str, Form(max_length=200)]
Lines = Annotated[str, Form(max_length=20_000)]
Only = Annotated[list[str] | None, Form()]
Word = Annotated[str, Query(max_length=200)]

EXAMPLE = TypedPatient(
    patient_id="Example", age="58", sex="female", smoking="Ex-smoker", days="30", symptoms="coughing up blood\nfatigue"
)
PIECES_SHOWN = 200


# --------------------------------------------------------------------------------------------------------- assessing


@router.get("")
def assess_page(
    *, site: Here, visitor: Member, example: bool = False, again: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """A form for a patient, and the patients on file; `again` is an assessment whose patient is to be changed."""
    if again:
        record = site.ask_service().audit.read(again, visitor.asker())
        if is_assessment(record):
            typed = TypedPatient.from_patient(record.words[KEY]["patient"])
            return _form(site, visitor, typed, asks=record.words[KEY]["unknowns"])
    return _form(site, visitor, EXAMPLE if example else TypedPatient())


@router.post("/assess")
async def assess(
    *,
    request: Request,
    site: Here,
    visitor: Member,
    on_file: Line = "",
    patient_id: Line = "",
    age: Line = "",
    sex: Line = "",
    smoking: Line = "",
    days: Line = "",
    symptoms: Lines = "",
    tests: Lines = "",
    exposures: Lines = "",
    organs: Lines = "",
    pasted: Annotated[str, Form(max_length=400_000)] = "",
    guideline: Only = None,
    worded: Annotated[bool, Form()] = False,
    csrf: Csrf = "",
) -> Response:
    """Hold the patient against the guidelines; the result has a page of its own."""
    require_our_form(request, csrf)
    typed = TypedPatient(patient_id, age, sex, smoking, days, symptoms, tests, exposures, organs, pasted)
    try:
        patient = await run_in_threadpool(
            lambda: patient_on_file(site, visitor, on_file) if on_file else typed.patient()
        )
        if not (patient.complaints or patient.tests or patient.exposures):
            raise InputError("Enter at least one symptom, test result or exposure.")
        kept = await assessed(site, visitor, patient, guideline or (), is_worded=worded)
    except CitewellError as error:
        problem = problem_of(error)
        return await run_in_threadpool(lambda: _form(site, visitor, typed, problem=problem, chosen=on_file))
    return RedirectResponse(f"/guidelines/assessments/{kept.id}", status_code=HTTPStatus.SEE_OTHER)


@router.get("/assessments/{answer_id}")
def assessment(site: Here, visitor: Member, answer_id: str) -> Response:
    """One assessment as it was recorded, each rule with its conditions and the way to its words."""
    record = site.ask_service().audit.read(answer_id, visitor.asker())
    if not is_assessment(record):
        raise NotFound("Assessment not found. It may be an answer to a question: look in Audit.")
    editions = []
    for document_id in editions_of(record):
        try:
            editions.append(site.app.guidelines.guideline(document_id, replace(visitor.whole, journey=EVERY)))
        except NotFound:  # erased since, or no longer this person's to see: the record still tells what it said
            continue
    assessment = record.words[KEY]
    return site.page(
        "assessment.html",
        visitor,
        nav="guidelines",
        tab="assess",
        record=record,
        found=assessment,
        facts=TypedPatient.from_patient(assessment["patient"]).facts,
        links=rule_links(assessment, editions),
        conditions=CONDITIONS,
        colour=LEVELS.get(assessment["risk_level"], "wait"),
        superseded=[
            guideline
            for guideline in editions
            if guideline.entry and not _is_current(site, visitor, guideline.entry.id)
        ],
    )


def _form(
    site: ServerState,
    visitor: Visitor,
    typed: TypedPatient,
    *,
    problem: Problem | None = None,
    chosen: str = "",
    asks: Sequence[Mapping[str, Any]] = (),
) -> Response:
    on_file, known = patients_on_file(site, visitor), site.app.guidelines.all(visitor.whole)
    return site.page(
        "assess.html",
        visitor,
        nav="guidelines",
        tab="assess",
        typed=typed,
        problem=problem,
        chosen=chosen,
        asks=asks,
        patients=sorted(on_file.patients.values(), key=lambda patient: patient.id),
        unreadable=on_file.unreadable,
        smoking=SMOKING,
        guidelines=known,
        ticked=applied_guidelines(site, visitor),
        model=site.app.settings.model if site.app.guidelines.has_model else None,
        recent=recent_assessments(site, visitor),
    )


# ---------------------------------------------------------------------------------------------------------- browsing


@router.get("/rules")
def rules(
    *,
    site: Here,
    visitor: Reader,
    document: Word = "",
    kind: Word = "rule",
    page: Word = "",
    where: Annotated[str, Query(alias="site", max_length=200)] = "",
    action: Word = "",
    system: Word = "",
    q: Word = "",
    read: Word = "",
) -> Response:
    """The pieces of one guideline: its rules, the texts they are matched by, rows of the index, definitions."""
    known = site.app.guidelines.all(visitor.whole)
    chosen = next(
        (guideline for guideline in known if guideline.entry and guideline.entry.id == document),
        known[0] if known else None,
    )
    wanted = BrowseFilter(kind, int(page) if page.isdecimal() else None, where, action, system, q)
    search_entries = []
    if chosen is not None and chosen.entry is not None:
        search_entries = browse(chosen, site.opened(chosen.entry.id, visitor.whole).document.text, wanted)
    entries = site.app.entries(visitor.whole)
    return site.page(
        "rules.html",
        visitor,
        nav="guidelines",
        tab="rules",
        known=known,
        chosen=chosen,
        counts=counts_json(chosen) if chosen else {},
        choices=choices(chosen) if chosen else None,
        wanted=asdict(wanted),
        found=[(entry, SourceTarget(None, entry.start, entry.end).query) for entry in search_entries[:PIECES_SHOWN]],
        total=len(search_entries),
        was_read=read,
        editions=_editions(entries, chosen),
        others=[entry for entry in entries if _may_become(entry)],
    )


@router.get("/rules/{document_id}/{rule_id}")
def rule(site: Here, visitor: Reader, document_id: str, rule_id: str) -> Response:
    """One rule, verbatim, with its criteria read back as a sentence."""
    guideline = site.app.guidelines.guideline(document_id, visitor.whole)
    rule = guideline.by_id.get(rule_id)
    if rule is None:
        raise NotFound("This guideline has no recommendation with that number.")
    return site.page(
        "rule.html",
        visitor,
        nav="guidelines",
        tab="rules",
        guideline=guideline,
        rule=rule,
        criteria=None if rule.criteria is None else render(rule.criteria),
        query=SourceTarget(None, rule.start, rule.end).query,
    )


@router.post("/refresh")
def refresh(request: Request, site: Here, visitor: Governor, document: Line = "", csrf: Csrf = "") -> Response:
    """Read a document as a guideline, now or anew."""
    require_our_form(request, csrf)
    guideline = site.app.guidelines.refresh(document, visitor.whole)
    document_id = guideline.entry.id if guideline.entry else ""
    return RedirectResponse(f"/guidelines/rules?document={document_id}&read=yes", status_code=HTTPStatus.SEE_OTHER)


@router.get("/diff")
def diff(site: Here, visitor: Member, old: Word, new: Word) -> Response:
    """Two editions side by side, word by word."""
    editions = [site.app.guidelines.guideline(edition, visitor.whole) for edition in (old, new)]
    difference, changed = site.app.guidelines.diff(editions[0], editions[1], asker=whole_asker(visitor))
    return site.page(
        "diff.html",
        visitor,
        nav="guidelines",
        tab="rules",
        found=diff_json(difference),
        changed=changed,
    )


def _editions(entries: list[LibraryEntry], chosen: Guideline | None) -> list[LibraryEntry]:
    """The older editions of a guideline, the newest first."""
    if chosen is None or chosen.entry is None:
        return []
    return [
        entry for entry in entries if entry.lineage == chosen.entry.lineage and entry.state is LifecycleState.SUPERSEDED
    ]


def _may_become(entry: LibraryEntry) -> bool:
    """Whether a document could be read as a guideline and is not yet."""
    is_pdf = entry.media_type == PDF and entry.subject is None
    return is_pdf and entry.is_current and entry.state is LifecycleState.COMPLETED and TAG not in entry.tags


def _is_current(site: ServerState, visitor: Visitor, document_id: str) -> bool:
    return site.app.library.entry(document_id, visitor.whole).is_current
