"""The vaults of this server: who may use them, which are open, and what a request needs of an open one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated
from weakref import WeakKeyDictionary

from fastapi import Depends, Path, Request

from citewell.adapters.vault.header import Header
from citewell.answer.desk import Desk
from citewell.answer.stream import Done
from citewell.api.asking import counted, in_turn
from citewell.api.site import Site, site_of
from citewell.api.visitor import Visitor, visitor_of
from citewell.bootstrap.record_desk import make_record_desk
from citewell.bootstrap.records import Record
from citewell.bootstrap.vault import NO_SUCH_VAULT, Profile, Vaults
from citewell.config import Settings
from citewell.errors import NotFound, VaultLocked
from citewell.types import Asker, Scope


class Safe:
    """All vaults of one server; those that were opened stay so until they are locked or idle for too long."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.vaults = Vaults(settings)
        self._desks: WeakKeyDictionary[Profile, Desk] = WeakKeyDictionary()
        self._making = threading.Lock()

    def close(self) -> None:
        """Lock everything; a server may be started again."""
        self.vaults.close()
        self.vaults = Vaults(self._settings)

    def header(self, vault_id: str) -> Header:
        """A vault by its whole id."""
        found = next((one for one in self.vaults.all() if one.id == vault_id), None)
        if found is None:
            raise NotFound(NO_SUCH_VAULT)
        return found

    def is_open(self, vault_id: str) -> bool:
        """Whether a vault is open; to ask does not keep it so."""
        try:
            self.vaults.profile(vault_id)
        except VaultLocked:
            return False
        return True

    def desk(self, profile: Profile, site: Site) -> Desk:
        """Where an open record is asked; it goes when the vault is locked."""
        with self._making:
            found = self._desks.get(profile)
            if found is None:
                equip(profile, site)
                found = self._desks[profile] = make_record_desk(profile.app, profile.record.facts)
            return found


def equip(profile: Profile, site: Site) -> None:
    """Give an open vault the parts that the server has loaded: one model reads and answers for all of its vaults."""
    app, whole = profile.app, site.loaded()
    app.embedder, app.lexicon = whole.embedder, whole.lexicon


@contextmanager
def in_use(profile: Profile) -> Iterator[None]:
    """Long work in a vault: when it is locked meanwhile, that is what is said, whatever broke because of it."""
    try:
        yield
    except Exception as error:
        if profile.is_locked:
            raise VaultLocked from error
        raise


@dataclass(frozen=True, slots=True)
class Room:
    """An open vault, as a request uses it."""

    site: Site
    safe: Safe
    profile: Profile

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
    def asker(self) -> Asker:
        return Asker.owner(self.scope)

    @property
    def desk(self) -> Desk:
        return self.safe.desk(self.profile, self.site)

    @property
    def base(self) -> str:
        """Where its pages are."""
        return f"/records/{self.id}"


def owner_only(request: Request) -> Visitor:
    """The owner of the library; for everybody else there are no vaults here."""
    visitor = visitor_of(request)
    if not visitor.is_owner:
        raise NotFound("This address leads nowhere.")
    return visitor


Owner = Annotated[Visitor, Depends(owner_only)]


def safe_of(request: Request, _owner: Owner) -> Safe:
    """The vaults of the server that a request is for."""
    safe: Safe = request.app.state.safe
    return safe


Vaulted = Annotated[Safe, Depends(safe_of)]
VaultId = Annotated[str, Path(alias="vault", max_length=64)]


def known_vault(safe: Vaulted, vault_id: VaultId) -> Header:
    """The vault that an address names, open or not."""
    return safe.header(vault_id)


def room_of(request: Request, safe: Vaulted, vault: Annotated[Header, Depends(known_vault)]) -> Room:
    """The open vault that an address names; one that is locked says so."""
    return Room(site_of(request), safe, safe.vaults.profile(vault.id))


Known = Annotated[Header, Depends(known_vault)]
Opened = Annotated[Room, Depends(room_of)]


async def asked(room: Room, visitor: Visitor, question: str, *, conversation_id: str | None) -> Done:
    """The answer to a question, on record inside the vault."""
    room.site.take_ask(visitor)

    def work() -> Done:
        with in_use(room.profile):
            return room.desk.answer(question, asker=room.asker, conversation_id=conversation_id)

    return await _counted(room.site, work)


async def _counted(site: Site, work: Callable[[], Done]) -> Done:
    try:
        done = await in_turn(site, work)
    except Exception as error:
        site.metrics.count("failures", kind=type(error).__name__)
        raise
    counted(site)(done)
    return done
