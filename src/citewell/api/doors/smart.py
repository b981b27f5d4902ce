"""SMART on FHIR: a clinician opens a patient of a record system here, to assess or to start a consultation with."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.adapters.records.fhir_import import HEADINGS, read_fhir
from citewell.adapters.smart.http import calling
from citewell.adapters.smart.launch import PendingLaunch, arrive, begin, known_server
from citewell.adapters.smart.patient_read import PartRead, read_patient
from citewell.api.consult import consult_service_of, holder
from citewell.api.doors.short_lived import ShortLived
from citewell.api.fair_turns import ASKING, end_own_turn
from citewell.api.guard import MEBIBYTE, SMART_CALLBACK, SMART_LAUNCH
from citewell.api.guidelines import assessed
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.trail import REFUSED, also
from citewell.api.visitor import Member, Visitor
from citewell.assistants.guidelines.patient import Complaint, PatientInput
from citewell.assistants.guidelines.patient_fhir import patient_from_bundle
from citewell.clinical.quantities import age_told
from citewell.config import SmartServer
from citewell.errors import CitewellError, InputError, NotFound
from citewell.types.facts import RecordOwner
from citewell.types.facts_line import line_of
from citewell.web.pages import page

router = APIRouter(prefix="/smart")

OURS = [Depends(our_form)]
MINUTES = 15
"""How long a patient stays open, and how long a launch may take."""
LINES_SHOWN = 200

EXPIRED = (
    "This launch has expired, was used before, or began in another session. Nothing was read. Open the patient again "
    "in your record system."
)
NOT_GRANTED = "The record system did not grant access. Nothing was read. Open the patient again to retry."
CLOSED = "This patient is no longer open here. Nothing of them was kept. Open the patient again in your record system."
NOT_WHOLE = (
    "A consultation needs the whole record, and these could not be read: {missing}. Nothing was started. Start one "
    "without the record, or ask for access."
)
NO_CONSENT = "The patient must consent before their record is read. Tick the box once they have."


@dataclass(frozen=True, slots=True)
class OpenPatient:
    """A patient that was read from a record system and is in memory only."""

    server: str
    label: str
    data: bytes
    """The bundle, as the readers of consultations take it."""
    parts: tuple[PartRead, ...]
    missing: tuple[str, ...]
    """What a consultation needs and could not be read."""
    patient: PatientInput
    person: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    notes: tuple[str, ...]

    @property
    def age(self) -> str | None:
        """The age as exactly as the record gives it."""
        return age_told(self.patient.known_ages)

    @property
    def address(self) -> str:
        """Who it is, for the trail."""
        return f"{self.server}/Patient/{self.patient.id}"[-128:]

    @property
    def source(self) -> str:
        """What a consultation says of where its record is from."""
        return f"the record in {self.label}"


class SmartPatients:
    """The launches that have begun and the patients that are open, in memory."""

    def __init__(self) -> None:
        self.pending: ShortLived[tuple[PendingLaunch, SmartServer]] = ShortLived(60 * MINUTES)
        self.open: ShortLived[OpenPatient] = ShortLived(60 * MINUTES)

    def close(self) -> None:
        """Forget all of them."""
        self.pending.clear()
        self.open.clear()


def _patients(request: Request) -> SmartPatients:
    patients: SmartPatients = request.app.state.smart
    return patients


Patients = Annotated[SmartPatients, Depends(_patients)]
Code = Annotated[str, Query(max_length=4_000)]
Short = Annotated[str, Query(max_length=500)]


# ------------------------------------------------------------------------------------------------------------ launches


@router.get("")
def systems(request: Request, site: Here, visitor: Member) -> Response:
    """The record systems that are set up, and what to register there."""
    servers = site.app.settings.smart_servers
    base = _base(request, site)
    return site.page(
        "smart.html",
        visitor,
        nav="guidelines",
        tab="smart",
        systems=[(label_of(address, server), urlencode({"iss": address})) for address, server in servers.items()],
        launch=f"{base}{SMART_LAUNCH}",
        back=f"{base}{SMART_CALLBACK}",
        setting="CITEWELL_SMART_SERVERS",
    )


@router.get("/launch")
def launch(site: Here, iss: Short = "", launch: Annotated[str, Query(max_length=1_500)] = "") -> Response:
    """Take in what a record system sends, or a link of ours; whoever is not signed in signs in first."""
    response = _onward("/smart/begin")
    # Lax and not in the address: signing in, here or at a provider, comes back without a query.
    response.set_cookie(
        _cookie(site),
        site.keys.sealed(json.dumps({"iss": iss, "launch": launch}), lasts_s=60 * MINUTES),
        max_age=60 * MINUTES,
        httponly=True,
        samesite="lax",
        path="/smart",
        secure=site.app.settings.is_https,
    )
    return response


@router.get("/begin")
def begin_launch(request: Request, site: Here, visitor: Member, patients: Patients) -> Response:
    """Send the browser to the record system, to say that Citewell may read this patient."""
    opened = site.keys.opened(request.cookies.get(_cookie(site)))
    if opened is None:
        raise InputError(EXPIRED)
    asked = json.loads(opened)
    address, server = known_server(site.app.settings.smart_servers, asked["iss"])
    back = f"{_base(request, site)}{SMART_CALLBACK}"
    end_own_turn()
    with calling(address, site.app.settings.smart_timeout_s) as client:
        pending = begin(client, address, server, back=back, launch=asked["launch"] or None)
    patients.pending.put((pending, server), visitor, name=pending.state)
    response = RedirectResponse(pending.address, status_code=HTTPStatus.SEE_OTHER)
    response.delete_cookie(_cookie(site), path="/smart", httponly=True, samesite="lax")
    return response


@router.get("/callback")
def callback(code: Code = "", state: Short = "", iss: Short = "", error: Short = "") -> Response:
    """Come back from the record system; a page leads on, since browsers withhold strict cookies here."""
    given = {"code": code, "state": state, "iss": iss, "error": error}
    return _onward(f"/smart/done?{urlencode({name: value for name, value in given.items() if value})}")


@router.get("/done")
def done(
    *,
    site: Here,
    visitor: Member,
    patients: Patients,
    code: Code = "",
    state: Short = "",
    iss: Short = "",
    error: Short = "",
) -> Response:
    """Read the patient, and show what was read."""
    held = patients.pending.take(state, visitor)
    if held is None:
        raise InputError(EXPIRED)
    pending, server = held
    try:
        opened = _opened(site, pending, server, code="" if error else code, issuer=iss or None)
    except CitewellError:
        site.note(visitor, "patient.open", pending.server, outcome=REFUSED)
        raise
    site.note(visitor, "patient.open", opened.address)
    name = patients.open.put(opened, visitor)
    return RedirectResponse(f"/smart/patients/{name}", status_code=HTTPStatus.SEE_OTHER)


def _opened(
    site: ServerState, pending: PendingLaunch, server: SmartServer, *, code: str, issuer: str | None
) -> OpenPatient:
    """The patient as the existing readers understand them; the token is gone when this returns."""
    if not code:
        raise InputError(NOT_GRANTED)
    end_own_turn()
    with calling(pending.server, site.app.settings.smart_timeout_s) as client:
        grant = arrive(client, pending, server, code=code, issuer=issuer)
        read = read_patient(client, pending.server, grant)
    data = json.dumps(read.bundle).encode()
    if (asking := ASKING.get()) is not None:
        asking.allowance.limit_s += site.work.record_s_per_mib * len(data) / MEBIBYTE
    imported = read_fhir(data)
    groups = {kind: [line_of(fact) for fact in imported.facts if fact.kind == kind] for kind in HEADINGS}
    return OpenPatient(
        server=pending.server,
        label=label_of(pending.server, server),
        data=data,
        parts=read.parts,
        missing=read.missing,
        patient=patient_from_bundle(read.bundle, on=date.today()),  # noqa: DTZ011 - a birthday
        person=next((fact.name for fact in imported.facts if isinstance(fact, RecordOwner)), ""),
        groups=tuple((HEADINGS[kind], tuple(lines)) for kind, lines in groups.items() if lines),
        notes=tuple(imported.document.notes),
    )


# ----------------------------------------------------------------------------------------------------- an open patient


@router.get("/patients/{name}")
def patient(site: Here, visitor: Member, patients: Patients, name: str) -> Response:
    """What was read of a patient, what could not be used, and what can be done with it."""
    also("patient.open", _look(patients, visitor, name).address)
    return _page(site, visitor, patients, name)


@router.post("/patients/{name}/assess", dependencies=OURS)
async def assess(
    site: Here,
    visitor: Member,
    patients: Patients,
    name: str,
    symptoms: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """Compare the patient with the guidelines, with what they complain of today."""
    opened = _look(patients, visitor, name)
    today = tuple(Complaint(line.strip()) for line in symptoms.splitlines() if line.strip())
    try:
        patient = replace(opened.patient, complaints=(*today, *opened.patient.complaints))
        kept = await assessed(site, visitor, patient, ())
    except CitewellError as error:
        problem = problem_of(error)
        return await run_in_threadpool(lambda: _page(site, visitor, patients, name, problem=problem, typed=symptoms))
    also("guideline.assess", kept.id)
    return RedirectResponse(f"/guidelines/assessments/{kept.id}", status_code=HTTPStatus.SEE_OTHER)


@router.post("/patients/{name}/consult", dependencies=OURS)
def consult(
    *, site: Here, visitor: Member, patients: Patients, name: str, consent: Annotated[bool, Form()] = False
) -> Response:
    """Start a consultation from the record, once the patient agrees."""
    opened = _look(patients, visitor, name)
    try:
        if not consent:
            raise InputError(NO_CONSENT)
        if opened.missing:
            raise InputError(NOT_WHOLE.format(missing=", ".join(opened.missing)))
        findings = site.app.consult.from_bytes(opened.data, name="This record")
        turn = consult_service_of(site).start(holder(visitor), record=(opened.source, findings))
    except CitewellError as error:
        return _page(site, visitor, patients, name, problem=problem_of(error))
    also("consult.add", turn.consult.id)
    return RedirectResponse(f"/consult/{turn.consult.id}", status_code=HTTPStatus.SEE_OTHER)


@router.post("/patients/{name}/close", dependencies=OURS)
def close(visitor: Member, patients: Patients, name: str) -> Response:
    """Forget a patient now."""
    opened = patients.open.take(name, visitor)
    also("patient.close", "" if opened is None else opened.address)
    return RedirectResponse("/smart", status_code=HTTPStatus.SEE_OTHER)


def _look(patients: SmartPatients, visitor: Visitor, name: str) -> OpenPatient:
    opened = patients.open.look(name, visitor)
    if opened is None:
        raise NotFound(CLOSED)
    return opened


def _page(
    site: ServerState,
    visitor: Visitor,
    patients: SmartPatients,
    name: str,
    *,
    problem: Problem | None = None,
    typed: str = "",
) -> Response:
    opened = _look(patients, visitor, name)
    response = site.page(
        "smart_patient.html",
        visitor,
        nav="guidelines",
        tab="smart",
        name=name,
        opened=opened,
        groups=[(heading, lines[:LINES_SHOWN], len(lines)) for heading, lines in opened.groups],
        consent=consult_service_of(site).consent(opened.source),
        has_guidelines=bool(site.app.guidelines.all(visitor.whole)),
        minutes=MINUTES,
        problem=problem,
        typed=typed,
    )
    if problem is not None:
        response.status_code = problem.status
    return response


# --------------------------------------------------------------------------------------------------------------- names


def label_of(address: str, server: SmartServer) -> str:
    """What a record system is called on a page."""
    return server.label or urlsplit(address).netloc


def _base(request: Request, site: ServerState) -> str:
    """The address under which browsers reach this server, as record systems have it on their list."""
    return (site.app.settings.oidc_back or site.base(request.url)).rstrip("/")


def _cookie(site: ServerState) -> str:
    return f"{site.keys.cookie}_smart"


def _onward(leads_to: str) -> Response:
    return page("smart_onward.html", leads_to=leads_to)
