"""My records: choose or make a vault, open and lock it, and ask it; every page works without a script."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Form, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.adapters.vault.header import Header
from citewell.adapters.vault.vault import MAX_LABEL_CHARACTERS, MIN_PASSPHRASE_CHARACTERS
from citewell.allowed_models import elsewhere
from citewell.api import problem_responses
from citewell.api.history import TALKS_SHOWN
from citewell.api.problems import Problem, problem_of
from citewell.api.request_checks import our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.vault_copies import restored
from citewell.api.vault_sessions import Known, Opened, OpenVaults, Owner, Vaulted, VaultSession, asked
from citewell.api.visitor import Visitor
from citewell.errors import CitewellError, InputError, NotFound, VaultLocked
from citewell.web.records import RecordTurn, UnreadPapers, record_turn
from citewell.web.records_today import today

router = APIRouter(prefix="/records")

FORM = [Depends(our_form)]
Secret = Annotated[str, Form(max_length=1_000)]
Line = Annotated[str, Form(max_length=200)]

DIFFERENT = "The two passphrases do not match. Enter the same one twice."
EXAMPLES = (
    "Which medicines do I take, and since when?",
    "Am I allergic to anything?",
    "What changed since my last visit?",
    "What should I ask at my next appointment?",
)


def install(site: FastAPI) -> None:
    """Lead from a page of a locked vault to where it is opened."""

    async def lead(request: Request, error: Exception) -> Response:
        path = request.url.path
        if not path.startswith("/records/") or path.endswith("/panel"):
            return problem_responses.answer(path, problem_of(error))
        return see(f"/records/{request.path_params['vault']}/unlock")

    site.add_exception_handler(VaultLocked, lead)


def see(address: str) -> Response:
    """Lead to another page."""
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


def room_page(template: str, room: VaultSession, visitor: Visitor, *, tab: str, **values: Any) -> Response:
    """A page of an open vault."""
    return room.site.page(
        template,
        visitor,
        nav="records",
        tab=tab,
        vault=room.profile.vault,
        base=room.base,
        elsewhere=elsewhere(room.profile.app.settings),
        **values,
    )


# ----------------------------------------------------------------------------------------------- choosing and opening


@router.get("")
def picker(site: Here, visitor: Owner, safe: Vaulted) -> Response:
    """The vaults here, and a form for a new one."""
    return _picker(site, visitor, safe)


@router.post("/create", dependencies=FORM)
def create(
    *,
    site: Here,
    visitor: Owner,
    safe: Vaulted,
    label: Line = "",
    passphrase: Secret = "",
    again: Secret = "",
) -> Response:
    """Make a vault and show its recovery words, this once."""
    try:
        if passphrase != again:
            raise InputError(DIFFERENT)
        made, phrase = safe.vaults.create(label, passphrase)
        safe.vaults.open(made.id, passphrase)
    except CitewellError as error:
        return _picker(site, visitor, safe, label=label, problem=problem_of(error))
    return site.page("records_recovery_words.html", visitor, nav="records", vault=made, words=phrase.split())


@router.post("/restore")
async def restore(request: Request, site: Here, visitor: Owner, safe: Vaulted) -> Response:
    """Take a locked copy in again, and lead to where it is opened."""
    try:
        made = await restored(request, safe)
    except CitewellError as error:
        return await run_in_threadpool(_picker, site, visitor, safe, problem=problem_of(error))
    return see(f"/records/{made.id}/unlock")


@router.get("/{vault}/unlock")
def unlock_page(site: Here, visitor: Owner, vault: Known) -> Response:
    """The form that opens a vault."""
    return _door(site, visitor, vault)


@router.post("/{vault}/unlock", dependencies=FORM)
def unlock(
    *,
    site: Here,
    visitor: Owner,
    safe: Vaulted,
    vault: Known,
    passphrase: Secret = "",
) -> Response:
    """Open a vault; a wrong passphrase says that it is wrong, and after some tries how long to wait."""
    try:
        safe.vaults.open(vault.id, passphrase)
    except CitewellError as error:
        return _door(site, visitor, vault, problem=problem_of(error))
    return see(f"/records/{vault.id}")


@router.post("/{vault}/recover", dependencies=FORM)
def recover(
    *,
    site: Here,
    visitor: Owner,
    safe: Vaulted,
    vault: Known,
    words: Secret = "",
    new: Secret = "",
    again: Secret = "",
) -> Response:
    """Set a new passphrase by the recovery words, and open the vault."""
    try:
        if new != again:
            raise InputError(DIFFERENT)
        safe.vaults.recover(vault.id, words, new)
        safe.vaults.open(vault.id, new)
    except CitewellError as error:
        return _door(site, visitor, vault, problem=problem_of(error))
    return see(f"/records/{vault.id}")


@router.post("/{vault}/lock", dependencies=FORM)
def lock(_visitor: Owner, safe: Vaulted, vault: Known) -> Response:
    """Lock a vault now."""
    safe.vaults.lock(vault.id)
    return see("/records")


def _door(site: ServerState, visitor: Visitor, vault: Header, *, problem: Problem | None = None) -> Response:
    return site.page(
        "records_unlock.html",
        visitor,
        nav="records",
        vault=vault,
        problem=problem,
        min_passphrase=MIN_PASSPHRASE_CHARACTERS,
    )


def _picker(
    site: ServerState, visitor: Visitor, safe: OpenVaults, *, label: str = "", problem: Problem | None = None
) -> Response:
    return site.page(
        "records_picker.html",
        visitor,
        nav="records",
        vaults=[(vault, safe.is_open(vault.id)) for vault in safe.vaults.all()],
        unreadable=safe.vaults.unreadable(),
        label=label,
        problem=problem,
        max_label=MAX_LABEL_CHARACTERS,
        min_passphrase=MIN_PASSPHRASE_CHARACTERS,
    )


# ------------------------------------------------------------------------------------------------- today, and asking


@router.get("/{vault}")
def start(visitor: Owner, room: Opened, q: str = "") -> Response:
    """What matters now: alerts, medicines, results out of range, what is planned and what waits; and a box to ask."""
    papers = room.record.paper
    facts = room.record.facts.remembered(room.scope)
    beside = UnreadPapers(papers.unread(), papers.said_of_allergies())
    return room_page(
        "records_today.html",
        room,
        visitor,
        tab="today",
        question=q,
        conversation_id=None,
        today=today(facts, room.record.alerts(), beside, now=datetime.now(UTC)),
        is_empty=not facts and not papers.entries,
        examples=EXAMPLES,
    )


@router.get("/{vault}/ask")
def chat(visitor: Owner, room: Opened, q: str = "") -> Response:
    """A new conversation."""
    return _chat(room, visitor, question=q)


@router.get("/{vault}/conversations/{conversation_id}")
def conversation(visitor: Owner, room: Opened, conversation_id: str) -> Response:
    """A conversation, to be read and continued."""
    return _chat(room, visitor, conversation_id=conversation_id, shown=_turns(room, conversation_id))


@router.post("/{vault}/ask", dependencies=FORM)
async def ask(
    *,
    visitor: Owner,
    room: Opened,
    question: Annotated[str, Form()] = "",
    conversation_id: Line = "",
) -> Response:
    """Answer a question, and lead to the conversation in which it stands."""
    try:
        done = await asked(room, visitor, question, conversation_id=conversation_id or None)
    except (NotFound, VaultLocked):
        raise
    except CitewellError as error:
        return await run_in_threadpool(_failed, room, visitor, question, conversation_id, problem_of(error))
    return see(f"{room.base}/conversations/{done.conversation_id}#last")


@router.post("/{vault}/conversations/{conversation_id}/delete", dependencies=FORM)
def delete(_visitor: Owner, room: Opened, conversation_id: str) -> Response:
    """Erase a conversation."""
    room.ask_service.conversations.erase(conversation_id, room.asker)
    return see(f"{room.base}/ask")


@router.get("/{vault}/answers/{answer_id}")
def turn(visitor: Owner, room: Opened, answer_id: str, conversation_id: str = "") -> Response:
    """One question and its answer, as the conversation shows it."""
    words = room.ask_service.audit.read(answer_id, room.asker).words
    shown = record_turn(words["question"], words["answer"], is_helpful=room.record.feedback.get(answer_id))
    return room.site.page(
        "records_turn.html",
        visitor,
        nav="records",
        turn=shown,
        base=room.base,
        conversation_id=conversation_id,
        is_last=True,
    )


@router.post("/{vault}/answers/{answer_id}/feedback", dependencies=FORM)
def feedback(
    _visitor: Owner,
    room: Opened,
    answer_id: str,
    is_helpful: Annotated[Literal["yes", "no"], Form()],
    conversation_id: Line = "",
) -> Response:
    """Keep whether an answer helped."""
    room.record.give_feedback(answer_id, is_helpful=is_helpful == "yes")
    return see(f"{room.base}/conversations/{conversation_id}#last" if conversation_id else room.base)


def _failed(room: VaultSession, visitor: Visitor, question: str, conversation_id: str, problem: Problem) -> Response:
    """The page with the question still in its box."""
    shown = _turns(room, conversation_id) if conversation_id else []
    return _chat(
        room, visitor, question=question, conversation_id=conversation_id or None, shown=shown, problem=problem
    )


def _chat(
    room: VaultSession,
    visitor: Visitor,
    *,
    question: str = "",
    conversation_id: str | None = None,
    shown: list[RecordTurn] | None = None,
    problem: Problem | None = None,
) -> Response:
    return room_page(
        "records_chat.html",
        room,
        visitor,
        tab="ask",
        question=question,
        conversation_id=conversation_id,
        turns=shown or [],
        problem=problem,
        talks=room.ask_service.conversations.all(room.asker)[:TALKS_SHOWN],
        is_empty=not room.profile.app.entries(room.scope) and not room.record.facts.remembered(room.scope),
        examples=EXAMPLES,
    )


def _turns(room: VaultSession, conversation_id: str) -> list[RecordTurn]:
    """What was asked in a conversation, each question with what it got."""
    service, helped, exchanges = room.ask_service, room.record.feedback, []
    for message in service.conversations.turns(conversation_id, room.asker):
        if message.message.role == "user":
            record = None if message.answer_id is None else service.audit.read(message.answer_id, room.asker)
            answer = None if record is None else record.words["answer"]
            exchanges.append(record_turn(message.message.text, answer, is_helpful=helped.get(message.answer_id or "")))
    return exchanges
