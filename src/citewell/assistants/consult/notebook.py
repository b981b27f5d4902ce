"""The notebook of consults: what happened in each, kept before it is shown, and how it stands after."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from citewell.assistants.consult.interview import InterviewQuestion, next_question
from citewell.assistants.consult.messages import ask_next
from citewell.assistants.consult.red_flags import emergencies_in, flags_of
from citewell.assistants.consult.replay_events import fold
from citewell.clinical import find_emergencies
from citewell.errors import InputError, NotFound
from citewell.ports.consult import ConsultEntry, ConsultEvent, Consults
from citewell.types import Emergency, User
from citewell.types.consult import Consult, ConsultState, RedFlag
from citewell.types.hashed_ids import logged

log = logging.getLogger(__name__)

STALE_DAYS = 3
"""After so many days vitals, pregnancy and medicines may have changed."""
STALE = (
    "This consultation was left open for {days} days. Measurements and durations may be out of date: confirm them, "
    "or ask and measure again."
)
NO_TEXT = "The text contains invalid characters, so nothing was changed. Enter it again."
"""Kept, they could never be shown or exported again."""
Clock = Callable[[], datetime]
Events = Sequence[tuple[str, Mapping[str, Any]]]
"""Kinds and bodies of what happens."""


@dataclass(frozen=True, slots=True)
class InterviewStep:
    """What came of a message: the consult as it stands, what to ask next, and what cannot wait."""

    consult: Consult
    question: InterviewQuestion | None
    flags: tuple[RedFlag, ...]
    emergency: Emergency | None = None
    """What the last message that tells of one cannot wait with."""
    troubles: tuple[str, ...] = ()


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Notebook:
    """Reads and writes what happens in consults; nobody sees another's."""

    consults: Consults
    clock: Clock = now
    detect: Callable[[str], Emergency | None] = find_emergencies

    def look(self, consult_id: str, asker: User) -> InterviewStep:
        """The consult as it stands."""
        return self.turn(self.reminded(fold(self.consults.events(consult_id, asker))))

    def history(self, consult_id: str, asker: User) -> list[ConsultEvent]:
        """All that happened in it, in order."""
        return self.consults.events(consult_id, asker)

    def all(self, asker: User) -> list[tuple[ConsultEntry, Consult | None]]:
        """The asker's consults, the last changed first; None for one that cannot be opened, which hides no other."""
        return [(entry, self._opened(entry.id, asker)) for entry in self.consults.all(asker)]

    def _opened(self, consult_id: str, asker: User) -> Consult | None:
        try:
            return fold(self.consults.events(consult_id, asker))
        except Exception as error:
            log.warning("consult %s cannot be opened: %s", logged(consult_id), type(error).__name__)
            return None

    def find(self, prefix: str, asker: User) -> str:
        """The full id that starts with these characters."""
        found = [
            consult_entry.id
            for consult_entry in self.consults.all(asker)
            if prefix and consult_entry.id.startswith(prefix.lower())
        ]
        if len(found) > 1:
            raise InputError("Several consultations have IDs that start with these characters. Give more characters.")
        if not found:
            raise NotFound("Consultation not found. `citewell consult list` shows the IDs.")
        return found[0]

    def opened(self, consult_id: str, asker: User) -> Consult:
        """A consult that can still be changed."""
        consult = fold(self.consults.events(consult_id, asker))
        if consult.state is ConsultState.SIGNED:
            raise InputError("This consultation is signed and cannot be changed. Start a new one to add to it.")
        return consult

    def turn(self, consult: Consult) -> InterviewStep:
        """A consult with what to ask next and what cannot wait."""
        flags = flags_of(consult, detect=self.detect)
        emergencies = list(emergencies_in(consult, self.detect))
        emergency = emergencies[-1] if emergencies else None
        is_open = consult.state is not ConsultState.SIGNED
        return InterviewStep(consult, next_question(consult) if is_open else None, flags, emergency)

    def begin(self, consult_id: str, events: Events, asker: User) -> InterviewStep:
        """Open a page with these events, and the first question."""
        made = self.happened(events, asker)
        question = ask_next(fold(made))
        made += self.happened([question] if question else [], asker)
        self.consults.begin(consult_id, made, state=fold(made).state.value, asker=asker)
        return self.look(consult_id, asker)

    def append(self, consult: Consult, events: Events, asker: User, *, is_asking: bool = False) -> Consult:
        """Keep events, and the question that follows from them; the consult as it stands after."""
        before = self.consults.events(consult.id, asker)[: consult.length]
        made = self.happened([*self.staleness(consult), *events], asker)
        if is_asking and (question := ask_next(fold([*before, *made]))) is not None:
            made += self.happened([question], asker)
        after = fold([*before, *made])
        self.consults.append(consult.id, made, after=consult.length, state=after.state.value, asker=asker)
        return after

    def happened(self, events: Events, asker: User) -> list[ConsultEvent]:
        """Events as they are kept: when, and by whom."""
        try:
            json.dumps([body for _, body in events], ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(NO_TEXT) from None
        at = self.clock().isoformat(timespec="seconds")
        return [ConsultEvent(kind, at, asker.user_id, body) for kind, body in events]

    def reminded(self, consult: Consult) -> Consult:
        """The consult as it is shown: where it was left open for days, it says so before anything is done in it."""
        if consult.state is ConsultState.SIGNED:
            return consult
        return replace(consult, notes=(*consult.notes, *(body["text"] for _, body in self.staleness(consult))))

    def staleness(self, consult: Consult) -> list[tuple[str, Mapping[str, Any]]]:
        """A word of warning, once, where a consult was left open for days."""
        left = self.clock() - datetime.fromisoformat(consult.changed_at)
        if left < timedelta(days=STALE_DAYS):
            return []
        return [("noted", {"text": STALE.format(days=left.days)})]
