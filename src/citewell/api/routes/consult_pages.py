"""The Consult pages: begin one, the interview beside its findings, differentials, the plan with its sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request, Response, UploadFile
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.api.bodies.consult import SignRequest
from citewell.api.confirmation import signs_as
from citewell.api.consult import consult_service_of, findings_in, holder, open_vaults, signed
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.vault_sessions import OpenVaults
from citewell.api.visitor import Member, Visitor
from citewell.assistants.consult.notebook import InterviewStep
from citewell.assistants.consult.service import ConsultService
from citewell.assistants.consult.summary import summary
from citewell.assistants.consult.view import listed_json, note_text
from citewell.errors import CitewellError, InputError
from citewell.types import User
from citewell.types.consult import CONFIDENCES, Category, ConsultState, Finding
from citewell.types.consult_plan_edits import is_empty
from citewell.web.consult import HOLDS, STEP_WORDS, STEPS, condition_codes, grouped, plan_of

router = APIRouter(prefix="/consult")

OURS = [Depends(our_form)]
Line = Annotated[str, Form(max_length=200)]
Text = Annotated[str, Form(max_length=20_000)]
Step = Callable[[ConsultService, str, User], InterviewStep]


@router.get("")
def consults(request: Request, site: Here, visitor: Member) -> Response:
    """The visitor's consults, and a new one."""
    return _list(site, visitor, request.app.state.safe)


def _list(site: ServerState, visitor: Visitor, safe: OpenVaults, *, problem: Problem | None = None) -> Response:
    return site.page(
        "consults.html",
        visitor,
        nav="consult",
        consults=[listed_json(*listed) for listed in consult_service_of(site).all(holder(visitor))],
        steps=STEP_WORDS,
        consent=consult_service_of(site).consent("the record that you choose"),
        vaults=open_vaults(visitor, safe),
        problem=problem,
    )


@router.post("", dependencies=OURS)
async def start(
    *,
    request: Request,
    site: Here,
    visitor: Member,
    setting: Line = "",
    country: Line = "",
    record: UploadFile | None = None,
    vault: Line = "",
    consent: Annotated[bool, Form()] = False,
) -> Response:
    """Begin a consult, from the patient's record or their open vault where they agree."""
    data = await record.read() if record is not None and record.filename else b""
    name = (record.filename if record is not None else None) or "the record"
    asker, service, safe = holder(visitor), consult_service_of(site), request.app.state.safe

    def begin() -> InterviewStep:
        if data and vault:
            raise InputError("Choose either a file or a record, not both.")
        if (data or vault) and not consent:
            raise InputError("The patient must consent before their record is read. Tick the box once they have.")
        read: tuple[str, Sequence[Finding]] | None = None
        if data:
            read = f"the file {name}", site.app.consult.from_bytes(data, name=name)
        elif vault:
            read = "the patient's vault", findings_in(site, visitor, safe, vault)
        return service.start(asker, setting=setting or None, country=country or None, record=read)

    try:
        turn = await run_in_threadpool(begin)
    except CitewellError as error:
        return _list(site, visitor, safe, problem=problem_of(error))
    return _back(turn.consult.id)


@router.get("/{consult_id}")
def consult(site: Here, visitor: Member, consult_id: str) -> Response:
    """The current state of a consultation."""
    return _page(site, visitor, consult_service_of(site).look(consult_id, holder(visitor)))


def _page(
    site: ServerState,
    visitor: Visitor,
    turn: InterviewStep,
    *,
    problem: Problem | None = None,
    typed: str = "",
    place: str = "",
) -> Response:
    consult = turn.consult
    asked = turn.question is not None and consult.messages[-1:] and consult.messages[-1].text == turn.question.text
    return site.page(
        "consult.html",
        visitor,
        nav="consult",
        turn=turn,
        consult=consult,
        messages=consult.messages[:-1] if asked and consult.state is not ConsultState.SIGNED else consult.messages,
        state=consult.state.value,
        summary=summary(consult),
        groups=grouped(consult),
        diagnoses=plan_of(consult),
        is_empty=consult.plan is not None and is_empty(consult),
        note=note_text(consult) if consult.plan else "",
        condition_codes=condition_codes(consult),
        waiting=[flag for flag in turn.flags if flag.id not in consult.acknowledged],
        steps=[(name, STEP_WORDS[name]) for name in STEPS],
        step_words=STEP_WORDS,
        confidences=CONFIDENCES,
        categories=[category.value for category in Category],
        polarities=[(polarity.value, words) for polarity, (_, words) in HOLDS.items()],
        problem=problem,
        typed=typed,
        place=place,
        signs_as=signs_as(site, visitor),
        asks_code=site.app.second_factors.is_on(visitor.user_id),
    )


def _back(consult_id: str, place: str = "") -> Response:
    return RedirectResponse(f"/consult/{consult_id}{place}", status_code=HTTPStatus.SEE_OTHER)


@dataclass(frozen=True)
class OneConsult:
    """The consult that a form is about."""

    id: str
    site: ServerState
    visitor: Visitor

    def take(self, step: Step, *, typed: str = "", place: str = "") -> Response:
        """Take a step; what goes wrong is said on the page, with what was typed."""
        service, asker = consult_service_of(self.site), holder(self.visitor)
        try:
            step(service, self.id, asker)
        except CitewellError as error:
            turn = service.look(self.id, asker)
            page = _page(self.site, self.visitor, turn, problem=problem_of(error), typed=typed, place=place)
            page.status_code = problem_of(error).status
            return page
        return _back(self.id, place)


def _one(site: Here, visitor: Member, consult_id: str) -> OneConsult:
    return OneConsult(consult_id, site, visitor)


def _asking(one: Annotated[OneConsult, Depends(_one)]) -> OneConsult:
    """The same, where it counts as a question asked."""
    one.site.take_ask(one.visitor)
    return one


One = Annotated[OneConsult, Depends(_one)]
Asking = Annotated[OneConsult, Depends(_asking)]


@router.post("/{consult_id}/say", dependencies=OURS)
def say(one: Asking, text: Text = "") -> Response:
    """Take a message in."""
    return one.take(lambda service, id_, asker: service.say(id_, text, asker), typed=text, place="#say")


@router.post("/{consult_id}/findings", dependencies=OURS)
def add_finding(one: One, name: Line = "", category: Line = "symptom", polarity: Line = "present") -> Response:
    """Add a finding from the clinician."""
    change = {"name": name, "category": category, "polarity": polarity}
    return one.take(lambda service, id_, asker: service.note(id_, change, asker), place="#findings")


@router.post("/{consult_id}/findings/{finding_id}", dependencies=OURS)
def change_finding(one: One, finding_id: str, polarity: Line = "", name: Line = "", retract: Line = "") -> Response:
    """Correct a finding or take it back; what it was stays in the history."""
    change = {key: value for key, value in (("polarity", polarity), ("name", name)) if value}

    def step(service: ConsultService, id_: str, asker: User) -> InterviewStep:
        if retract:
            return service.retract(id_, finding_id, asker)
        return service.correct(id_, finding_id, change, asker)

    return one.take(step, place="#findings")


@router.post("/{consult_id}/confirmed", dependencies=OURS)
def confirm(one: One) -> Response:
    """Say that all findings are right."""
    return one.take(lambda service, id_, asker: service.confirm(id_, [], asker), place="#findings")


@router.post("/{consult_id}/acknowledged", dependencies=OURS)
def acknowledge(one: One) -> Response:
    """Acknowledge the red flags."""
    return one.take(lambda service, id_, asker: service.acknowledge(id_, asker))


@router.post("/{consult_id}/differentials", dependencies=OURS)
def differentials(
    *,
    one: Asking,
    condition: Line = "",
    confidence: Line = "moderate",
    remove: Line = "",
    despite: Line = "",
    generate: Line = "",
) -> Response:
    """Enter or remove a differential, or let the model propose some."""
    return one.take(
        lambda service, id_, asker: service.differentials(
            id_,
            [(condition, confidence)] if condition else [],
            asker,
            removed=[remove] if remove else [],
            despite=despite or None,
            is_generated=bool(generate),
        ),
        typed=condition,
        place="#differentials",
    )


@router.post("/{consult_id}/assess", dependencies=OURS)
def assess(one: Asking) -> Response:
    """Write the plan from the guidelines."""
    return one.take(lambda service, id_, asker: service.assess(id_, asker), place="#plan")


@router.post("/{consult_id}/edits", dependencies=OURS)
def edit(one: One, statement: Line = "", text: Text = "", why: Line = "") -> Response:
    """Edit a line of the draft; the source wording stays beside it."""
    return one.take(lambda service, id_, asker: service.edit(id_, statement, text, asker, why=why), place="#plan")


@router.post("/{consult_id}/lines", dependencies=OURS)
def add_line(one: One, diagnosis: Line = "", text: Text = "", why: Line = "") -> Response:
    """Add a line of the clinician's own to a diagnosis of the draft."""
    number = int(diagnosis) if diagnosis.isdecimal() else 0
    return one.take(lambda service, id_, asker: service.add(id_, number, text, asker, why=why), place="#plan")


@router.post("/{consult_id}/removals", dependencies=OURS)
def remove_line(one: One, statement: Line = "", why: Line = "", restore: Line = "") -> Response:
    """Take a line out of the draft, or put it back."""

    def step(service: ConsultService, id_: str, asker: User) -> InterviewStep:
        if restore:
            return service.restore(id_, statement, asker)
        return service.remove(id_, statement, asker, why=why)

    return one.take(step, place="#plan")


@router.post("/{consult_id}/moves", dependencies=OURS)
def move_line(one: One, statement: Line = "", before: Line = "") -> Response:
    """Move a line of the draft before another one."""
    return one.take(lambda service, id_, asker: service.move(id_, statement, asker, before=before), place="#plan")


@router.post("/{consult_id}/sign", dependencies=OURS)
def sign(
    one: One, password: Annotated[str, Form(max_length=1_000)] = "", code: Line = "", despite: Line = ""
) -> Response:
    """Sign the draft with a fresh confirmation; against what is known of the patient, only with the reason."""
    sent = SignRequest(password=password, code=code, despite=despite)
    return one.take(lambda _service, id_, _asker: signed(one.site, one.visitor, id_, sent), place="#sign")
