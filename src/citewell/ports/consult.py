"""What a consult needs to be kept: its events, in order, for one clinician."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from citewell.history import KeptOutcome
from citewell.types import User


@dataclass(frozen=True, slots=True)
class ConsultEvent:
    """Something that happened in a consult."""

    kind: str
    at: str
    by: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConsultEntry:
    """A consult as it is listed."""

    id: str
    state: str
    length: int
    made_at: datetime
    changed_at: datetime


class Consults(Protocol):
    """Each belongs to one asker; another's id is as good as none; a signed one is never added to."""

    def begin(self, consult_id: str, events: Sequence[ConsultEvent], *, state: str, asker: User) -> None:
        """Keep the first events of a new consult."""
        ...

    def append(self, consult_id: str, events: Sequence[ConsultEvent], *, after: int, state: str, asker: User) -> None:
        """Keep further events, unless others came after those that were read."""
        ...

    def sign(
        self,
        consult_id: str,
        events: Sequence[ConsultEvent],
        *,
        after: int,
        state: str,
        ending: KeptOutcome,
        asker: User,
    ) -> None:
        """Keep the last events and their record in the audit log: both or neither."""
        ...

    def events(self, consult_id: str, asker: User) -> list[ConsultEvent]:
        """All that happened, in order."""
        ...

    def all(self, asker: User) -> list[ConsultEntry]:
        """The asker's consults, the last changed first."""
        ...
