"""/api/v1/assess, and /assess beside it: patients held against the guidelines of the library."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from citewell.api.bodies.base import Id
from citewell.api.bodies.guidelines import AssessmentResponse, PatientRequest, PatientsResponse
from citewell.api.guidelines import assessed, patient_on_file, patients_on_file
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here
from citewell.api.visitor import Member
from citewell.assistants.guidelines.read_patient import patient_from_object
from citewell.assistants.guidelines.service import Kept

ANSWER_ID = "X-Citewell-Answer-Id"
"""The header with the id under which an assessment is on record: its body is the same each time, so it is not there."""


class PatientErrors(APIRoute):
    """Says in a sentence what is wrong with a patient, where a body does not fit its schema."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                if isinstance(error.body, dict):
                    patient_from_object(error.body)
                raise

        return handled


router = APIRouter(prefix="/api/v1", route_class=PatientErrors)

Only = Annotated[
    tuple[Id, ...], Query(alias="guideline", max_length=64, description="Guideline documents to use; all by default.")
]

Worded = Annotated[
    bool, Query(description="Let the configured model write up the reasons, with each sentence checked.")
]


@router.get("/assess/patients", response_model=PatientsResponse)
def patients(site: Here, visitor: Member) -> dict[str, Any]:
    """The saved patients."""
    on_file = patients_on_file(site, visitor)
    return {"patients": list(on_file.patients.values()), "unreadable": list(on_file.unreadable)}


@router.post("/assess/{patient_id}", response_model=AssessmentResponse, dependencies=[Depends(our_request)])
async def assess_on_file(
    *,
    site: Here,
    visitor: Member,
    response: Response,
    patient_id: Annotated[str, Path(max_length=200)],
    guideline: Only = (),
    worded: Worded = False,
) -> dict[str, Any]:
    """Compare a saved patient with the guidelines; the result is logged."""
    patient = await run_in_threadpool(patient_on_file, site, visitor, patient_id)
    return _with_answer_id(response, await assessed(site, visitor, patient, guideline, is_worded=worded))


@router.post("/assess", response_model=AssessmentResponse, dependencies=[Depends(our_request)])
async def assess_sent(
    *,
    site: Here,
    visitor: Member,
    response: Response,
    patient: PatientRequest,
    guideline: Only = (),
    worded: Worded = False,
) -> dict[str, Any]:
    """The same for a patient in the body: the fields in docs/guidelines.md, or a FHIR R4 bundle."""
    given = await run_in_threadpool(patient_from_object, patient.model_dump(exclude_unset=True))
    return _with_answer_id(response, await assessed(site, visitor, given, guideline, is_worded=worded))


def _with_answer_id(response: Response, kept: Kept) -> dict[str, Any]:
    response.headers[ANSWER_ID] = kept.id
    return kept.shown()
