"""The vaults of this server: who may use them, which are open, and what a request needs of an open one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from starlette.concurrency import run_in_threadpool

from citewell.adapters.vault.header import Header
from citewell.answer.events import AnswerDone, Event
from citewell.answer.service import AskService
from citewell.api.asking import answered, in_turn
from citewell.api.problems import PROBLEM
from citewell.api.progress import Progress, Stopwatch
from citewell.api.server_state import ServerState, site_of
from citewell.api.visitor import Visitor, visitor_of
from citewell.assistants.records.propose import ProposedFacts
from citewell.errors import NotFound, VaultLocked
from citewell.ingest.parse_cut_embed import Step
from citewell.ports.records import FactCounts
from citewell.types import Scope, User
from citewell.vaults.health_record import Record
from citewell.vaults.vaults import NO_SUCH_VAULT, OpenVault, Vaults

IS_LOCKED: dict[int | str, dict[str, Any]] = {
    HTTPStatus.LOCKED.value: {
        "description": "Record locked",
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""What every address of a record may answer besides."""


class OpenVaults:
    """All vaults of one server; those that were opened stay so until they are locked or idle for too long."""

    def __init__(self, site: ServerState) -> None:
        self._site = site
        self.vaults = self._all()
        self._steps: dict[str, Step] = {}
        self._stopwatch = Stopwatch()
        site.has_records = lambda: bool(self.vaults.all())

    def close(self) -> None:
        """Lock everything; a server may be started again."""
        self.vaults.close()
        self.vaults = self._all()

    def _all(self) -> Vaults:
        """One model reads and answers for all vaults of a server."""
        return Vaults(self._site.app.settings, lender=self._site.loaded)

    def header(self, vault_id: str) -> Header:
        """A vault by its whole id."""
        header = next((vault for vault in self.vaults.all() if vault.id == vault_id), None)
        if header is None:
            raise NotFound(NO_SUCH_VAULT)
        return header

    def is_open(self, vault_id: str) -> bool:
        """Whether a vault is open; to ask does not keep it so."""
        try:
            self.vaults.profile(vault_id)
        except VaultLocked:
            return False
        return True

    @contextmanager
    def importing(self, vault_id: str) -> Iterator[Callable[[Step], None]]:
        """Told of every step of an import, so that a page can show how far it is."""
        try:
            yield partial(self._steps.__setitem__, vault_id)
        finally:
            self._steps.pop(vault_id, None)
            self._stopwatch.forget(vault_id)

    def progress(self, vault_id: str) -> Progress | None:
        """How far the import into a vault is; None where none is under way."""
        step = self._steps.get(vault_id)
        return None if step is None else self._stopwatch.look(vault_id, step)


@contextmanager
def in_use(profile: OpenVault) -> Iterator[None]:
    """Long work in a vault: when it is locked meanwhile, that is what is said, whatever broke because of it."""
    try:
        yield
    except Exception as error:
        if profile.is_locked:
            raise VaultLocked from error
        raise


@dataclass(frozen=True, slots=True)
class VaultSession:
    """An open vault, as a request uses it."""

    site: ServerState
    safe: OpenVaults
    profile: OpenVault

    @property
    def id(self) -> str:
        return self.profile.vault.id

    @property
    def record(self) -> Record:
        return self.profile.record

    @property
    def scope(self) -> Scope:
        return self.profile.record.scope

    @property
    def asker(self) -> User:
        return User.owner(self.scope)

    @property
    def ask_service(self) -> AskService:
        return self.profile.ask_service

    @property
    def base(self) -> str:
        """Where its pages are."""
        return f"/records/{self.id}"


def owner_only(request: Request) -> Visitor:
    """The owner of the library; for everybody else there are no vaults here."""
    visitor = visitor_of(request)
    if not visitor.is_owner:
        raise NotFound("Page not found. Check the address.")
    return visitor


Owner = Annotated[Visitor, Depends(owner_only)]


def vaults_of(request: Request) -> OpenVaults:
    """The vaults of the server that a request is for; who asks for one must be its owner."""
    safe: OpenVaults = request.app.state.safe
    return safe


def open_vaults_of(request: Request, _owner: Owner) -> OpenVaults:
    """The same, for the owner alone."""
    return vaults_of(request)


AllVaults = Annotated[OpenVaults, Depends(vaults_of)]
Vaulted = Annotated[OpenVaults, Depends(open_vaults_of)]
VaultId = Annotated[str, Path(alias="vault", max_length=64)]


def known_vault(safe: Vaulted, vault_id: VaultId) -> Header:
    """The vault that an address names, open or not."""
    return safe.header(vault_id)


def vault_session_of(request: Request, safe: Vaulted, vault: Annotated[Header, Depends(known_vault)]) -> VaultSession:
    """The open vault that an address names; one that is locked says so."""
    return VaultSession(site_of(request), safe, safe.vaults.profile(vault.id))


Known = Annotated[Header, Depends(known_vault)]
Opened = Annotated[VaultSession, Depends(vault_session_of)]


async def begun(room: VaultSession, visitor: Visitor, question: str, *, conversation_id: str | None) -> Iterator[Event]:
    """An answer that will be written as it is read; what is wrong with the question is raised now."""
    room.site.take_ask(visitor)

    def begin() -> Iterator[Event]:
        with in_use(room.profile):
            return room.ask_service.ask(question, asker=room.asker, conversation_id=conversation_id)

    events = await run_in_threadpool(begin)

    def written() -> Iterator[Event]:
        with in_use(room.profile):
            yield from events

    return written()


async def asked(room: VaultSession, visitor: Visitor, question: str, *, conversation_id: str | None) -> AnswerDone:
    """The answer to a question, on record inside the vault."""
    return await answered(room.site, await begun(room, visitor, question, conversation_id=conversation_id))


async def proposed(room: VaultSession, document_id: str) -> tuple[ProposedFacts, FactCounts]:
    """What the record's model proposes from a paper."""

    def work() -> tuple[ProposedFacts, FactCounts]:
        with in_use(room.profile):
            return room.record.propose(document_id)

    return await in_turn(room.site, work)
