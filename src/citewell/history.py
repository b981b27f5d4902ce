"""What is kept of a question: conversations, the audit log, the inbox; nouns beside the ports that keep them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeVar

from citewell.types import Message, Route, User

Words = Mapping[str, Any]
"""A record as `answer.audit` writes it."""

T = TypeVar("T")

PAGE_LENGTH = 50
"""How much of a list is read at once, unless a number is given."""


@dataclass(frozen=True, slots=True)
class HistoryPage(Generic[T]):
    """A part of a list, and where it goes on; None at its end."""

    items: tuple[T, ...]
    next: str | None


# ---------------------------------------------------------------------------------------------------- conversations


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as it is listed, named after its first question."""

    id: str
    title: str
    made_at: datetime
    changed_at: datetime
    journey: str | None = None
    """The care journey that it began in."""


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """One message; question and answer carry the same answer id, a question without one waits for its answer."""

    position: int
    message: Message
    answer_id: str | None
    made_at: datetime


@dataclass(frozen=True, slots=True)
class ConversationPlace:
    """Where a question stands in a conversation."""

    conversation_id: str
    position: int


class Conversations(Protocol):
    """Each belongs to one asker; another's id is as good as none."""

    def begin(self, question: str, asker: User, *, conversation_id: str | None) -> ConversationPlace:
        """Keep a question, in a new conversation unless one is named; one that still waits is not kept twice."""
        ...

    def all(self, asker: User) -> list[Conversation]:
        """The asker's conversations, the last changed first."""
        ...

    def page(
        self, asker: User, *, limit: int = PAGE_LENGTH, after: str | None = None, starting: str = ""
    ) -> HistoryPage[Conversation]:
        """The same a part at a time; those whose id starts so, where characters are given."""
        ...

    def turns(self, conversation_id: str, asker: User, *, newest: int | None = None) -> list[ConversationMessage]:
        """The turns, oldest first; only so many of the newest where a number is given."""
        ...

    def erase(self, conversation_id: str, asker: User) -> None:
        """Remove a conversation; the audit log keeps its answers."""
        ...


# ------------------------------------------------------------------------------------------------------ the audit log


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One record of the audit log, without the words that are sealed."""

    number: int
    """Counted from 1 in each tenant."""
    answer_id: str
    user_id: str
    made_at: datetime
    question_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One record with its words."""

    entry: AuditEntry
    words: Words


@dataclass(frozen=True, slots=True)
class AuditHead:
    """Where the log ended at some moment: how many records, and the hash of the last one.

    >>> AuditHead.read("2:" + "ab" * 32).count
    2
    """

    count: int
    hash: str

    def __str__(self) -> str:
        return f"{self.count}:{self.hash}"

    @classmethod
    def read(cls, text: str) -> AuditHead:
        """A head as it was printed; a ValueError for anything else."""
        count, _, digest = text.strip().partition(":")
        if len(bytes.fromhex(digest)) != 32 or not count.isdecimal():
            raise ValueError(text)
        return cls(int(count), digest.lower())


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether the log is whole, as far as a chain can prove it."""

    records: int
    head: AuditHead
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True)
class TrailEvent:
    """Something that somebody opened, searched, exported or administered, or was refused: ids only, never words."""

    tenant: str
    user_id: str
    """Empty where nobody was signed in."""
    way: str
    """How they came: session, key, link, cli, or none."""
    action: str
    """What they did, such as `document.open`."""
    object_id: str
    outcome: str
    """done, or refused."""
    at: datetime


@dataclass(frozen=True, slots=True)
class TrailRecord:
    """An event as the trail holds it."""

    number: int
    """Counted from 1 in each tenant."""
    event: TrailEvent
    hash: str

    def as_json(self) -> dict[str, Any]:
        """The record as it is exported."""
        event = self.event
        return {
            "log": "trail",
            "number": self.number,
            "at": event.at.isoformat(),
            "tenant": event.tenant,
            "user_id": event.user_id,
            "way": event.way,
            "action": event.action,
            "object_id": event.object_id,
            "outcome": event.outcome,
            "hash": self.hash,
        }


@dataclass(frozen=True, slots=True)
class TrailFilter:
    """Which records of the trail are sought; None of a kind means all."""

    user_id: str | None = None
    action: str | None = None
    """The action, or what it begins with: `document` for all that was done with documents."""
    object_id: str | None = None
    outcome: str | None = None
    before: int | None = None
    since: datetime | None = None
    limit: int = 100


class AuditLog(Protocol):
    """Records that can be read and proved, not changed; an administrator reads all of the tenant, others their own."""

    def entries(
        self, asker: User, *, limit: int = 100, starting: str = "", before: int | None = None
    ) -> list[AuditEntry]:
        """The newest records, or those before a number; those whose answer's id starts so, if it is given."""
        ...

    def read(self, answer_id: str, asker: User) -> AuditRecord:
        """One record with its words."""
        ...

    def records(self, answer_ids: Iterable[str], asker: User) -> dict[str, AuditRecord]:
        """Many records with their words, by answer id; those that are not there or cannot be opened are left out."""
        ...

    def verify_chain(self, tenant: str, *, known: Iterable[AuditHead] = ()) -> Proof:
        """Walk a tenant's log from the first record to the last; `known` is a head that was noted elsewhere."""
        ...


# --------------------------------------------------------------------------------------------------------- the inbox

RoutedState = Literal["open", "answered", "closed"]


@dataclass(frozen=True, slots=True)
class RoutedQuestion:
    """A question that waits for a person, or the reply it got."""

    id: str
    answer_id: str
    asked_by: str
    tag: str
    owner_id: str | None
    reason: str
    fallback: bool
    state: RoutedState
    reply: str | None
    replied_by: str | None
    made_at: datetime
    replied_at: datetime | None


@dataclass(frozen=True, slots=True)
class ListedQuestion(RoutedQuestion):
    """The same as it is listed, with its words; None where its record cannot be opened."""

    question: str | None


class Inbox(Protocol):
    """Who asked sees their own; who owns sees what is theirs; an administrator sees all of the tenant."""

    def waiting(
        self, asker: User, *, limit: int = PAGE_LENGTH, after: str | None = None, starting: str = ""
    ) -> HistoryPage[RoutedQuestion]:
        """What this person may answer, open ones first, then the newest; those whose id starts so, if it is given."""
        ...

    def open_count(self, asker: User) -> int:
        """How many open questions wait for this person."""
        ...

    def asked(self, asker: User, *, limit: int = PAGE_LENGTH, after: str | None = None) -> HistoryPage[RoutedQuestion]:
        """What this person asked and was passed on, the newest first."""
        ...

    def file(self, answer_id: str, route: Route, asker: User) -> str:
        """Pass a question on that this person asked; its id in the inbox, the same one the second time."""
        ...

    def filed(self, answer_ids: Iterable[str], asker: User) -> frozenset[str]:
        """Which of these answers' questions this person has passed on."""
        ...

    def replies(self, answer_ids: Iterable[str], asker: User) -> dict[str, str]:
        """The replies to what this person asked, by answer id."""
        ...

    def answered(self, asker: User, *, limit: int = PAGE_LENGTH) -> list[RoutedQuestion]:
        """The newest with a reply: this person's own, those of topics that they hold, and those of no topic."""
        ...

    def one(self, routed_id: str, asker: User) -> RoutedQuestion:
        """One of them, for who asked, who owns or an administrator."""
        ...

    def may_answer(self, routed: RoutedQuestion, asker: User) -> bool:
        """Whether this person is the one who answers it, or an administrator."""
        ...

    def reply(self, routed_id: str, text: str, asker: User) -> RoutedQuestion:
        """Answer a question; the person who asked sees the reply."""
        ...

    def close(self, routed_id: str, asker: User) -> RoutedQuestion:
        """Put a question away, answered or not."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """A link to an answer, for everyone in the tenant with access to all that it rests on."""

    id: str
    answer_id: str
    made_by: str
    made_at: datetime


# ------------------------------------------------------------------------------------------------------- the ending


@dataclass(frozen=True, slots=True)
class KeptOutcome:
    """What became of a question, to be kept as one."""

    answer_id: str
    question: str
    asker: User
    place: ConversationPlace | None
    """None: it was asked in no conversation."""
    words: Words
    text: str | None
    """The answer's turn; None where none came of it, though sentences were shown."""
    route: Route | None
    """Whom it is passed on to, if it is."""


class Ledger(Protocol):
    """Keeps endings: the record, both turns and the inbox, all of it or nothing."""

    def keep(self, ending: KeptOutcome) -> str | None:
        """Keep it for good; the id in the inbox when the question was passed on."""
        ...

    def erase(self, document_ids: Collection[str], tenant: str) -> None:
        """Take the words of erased documents out of all that is kept; the log still proves whole."""
        ...

    def erase_person(self, person: str, tenant: str) -> int:
        """Take what was asked about a person out of all that is kept; how many conversations went with it."""
        ...
