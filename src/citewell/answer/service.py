"""Asks, keeps and replays questions: one flow from a question in a conversation to an answer that is on record."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from citewell.answer.audit import AuditPayload, Documents, SearchedSources, Versions, record, text_hash
from citewell.answer.cited_notices import Notices, as_known_now
from citewell.answer.events import (
    AnswerDone,
    AnswerStarted,
    Event,
    Notice,
    Replace,
    SearchedScope,
    SentenceChecked,
    StageStarted,
)
from citewell.answer.gate import passed_on, with_help, with_notices
from citewell.answer.replay import RecordedQuestion, Replay, replay
from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS
from citewell.answer.route_to_owner import REPORTED
from citewell.errors import CitewellError, InputError, LibraryError, NotFound, ScopeRefused, TooMuchWork
from citewell.history import (
    AuditLog,
    AuditRecord,
    ConversationMessage,
    ConversationPlace,
    Conversations,
    Inbox,
    KeptOutcome,
    Ledger,
    RoutedQuestion,
)
from citewell.types import (
    EVERY,
    NO_OPTIONS,
    Answer,
    AskOptions,
    Claim,
    Emergency,
    Message,
    Role,
    Route,
    Scope,
    User,
)
from citewell.work import uncounted

HISTORY_TURNS = 24
"""The newest turns that are looked at; how many of them the writer sees is a matter of tokens."""

REMEMBERED_SCOPES = 64
REPLIES_LOOKED_AT = 200

WORDY = r"[0-9A-Za-z\u00c0-\u167f\u1681-\u1fff\u2c00-\u2fef\u3040-\ud7ff\uf900-\ufaff]"
"""A letter of some script, or a digit: what has none is no question. A schema can say it too."""

NOT_WHOLE = "This is too short for a person to answer. Ask a whole question, then send it."
WORDLESS = "No searchable words in this question. Ask it in words."


class Assistant(Protocol):
    """Answers questions over a library."""

    def ask(self, question: str, *, scope: Scope, history: Sequence[Message]) -> Iterator[Event]:
        """Answer one question; the last event holds the answer."""
        ...

    def setup(self) -> Mapping[str, Any]:
        """What it is set to, so that an answer can be told from another's later."""
        ...


WithOptions = Callable[[Assistant], Assistant]
"""Gives an assistant the options of one question."""
ResolveOptions = Callable[[AskOptions], WithOptions]
"""Refuses options that are not allowed, at once; a server is asked only when the result is used."""


AssistantAt = Callable[[int, Collection[int] | None], Assistant]
"""The assistant over what was current at a stamp; of that only these generations, where some are named."""


def refuse_options(options: AskOptions) -> WithOptions:
    """Refuse all options, for assistants that take none."""
    if options != NO_OPTIONS:
        raise InputError("You cannot choose a model or a number of passages for this assistant. Leave them out.")
    return lambda assistant: assistant


class PastLibrary(Protocol):
    """What was current at an earlier moment."""

    def versions(self, scope: Scope) -> list[tuple[int, str]]:
        """Generation and document id of each version that the scope may see."""
        ...


class ServiceLibrary(Documents, Notices, Protocol):
    """What the service reads from the library."""

    def stamp(self) -> int: ...

    def embedder(self) -> str | None: ...

    def at(self, stamp: int, *, only: Collection[int] | None = None) -> PastLibrary: ...


@dataclass(frozen=True, slots=True)
class AskService:
    """Asks questions, keeps them with their answers, and passes on those that are not answered."""

    assistant: Callable[[], Assistant]
    """Loaded when something is first asked: looking at what is kept needs no model."""
    past_assistant: AssistantAt
    library: ServiceLibrary
    conversations: Conversations
    audit: AuditLog
    inbox: Inbox
    ledger: Ledger
    emergency: Callable[[str], Emergency | None] = lambda _question: None
    """Finds what cannot wait in a question, even in one that is too long to be answered."""
    choose: ResolveOptions = refuse_options
    _versions: dict[tuple[int, Scope], Versions] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------------------------- asking

    def ask(
        self,
        question: str,
        *,
        asker: User,
        conversation_id: str | None = None,
        options: AskOptions = NO_OPTIONS,
        hand_on: bool = True,
    ) -> Iterator[Event]:
        """Ask in a conversation, a new one unless one is named; the answer in the last event is on record.

        What the documents do not answer goes to a person at once, unless the person who asks is asked first; then
        `hand_on` passes it on.
        The question is kept before anything is answered, so that a failure loses nothing: asked again in the same
        conversation, it is answered there.
        """
        question = _checked_question(question, asker, self.emergency)
        with_options = self.choose(options)
        place = self.conversations.begin(question, asker, conversation_id=conversation_id)
        session = AskSession(self, question, asker, place, options, hand_on=hand_on)
        return self._answered(session, with_options)

    def answer(
        self, question: str, *, asker: User, conversation_id: str | None = None, options: AskOptions = NO_OPTIONS
    ) -> AnswerDone:
        """The same, all at once."""
        *_, last = self.ask(question, asker=asker, conversation_id=conversation_id, options=options)
        assert isinstance(last, AnswerDone)
        return last

    def _answered(self, session: AskSession, with_options: WithOptions) -> Iterator[Event]:
        asker = session.asker
        with uncounted():  # who is in danger is told so, however much the rest would take
            emergency = self.emergency(session.question)
        yield AnswerStarted(session.place.conversation_id)
        if emergency is not None:
            yield Notice(emergency.text, is_emergency=True)
        try:
            for event in session.begin(with_options).ask(session.question, scope=asker.scope, history=session.history):
                session.watch(event)
                yield (
                    event
                    if not isinstance(event, AnswerDone)
                    else session.end(
                        with_help(passed_on(event.answer, asked_by=asker.user_id, is_sent=session.hands_on), emergency)
                    )
                )
        except BaseException as error:  # a writer that failed, or a reader who left
            session.stop(error)
            if isinstance(error, TooMuchWork) and emergency is not None:
                raise TooMuchWork(f"{emergency.text} {error}") from error
            raise

    # ---------------------------------------------------------------------------------------------------- afterwards

    def hand_on(self, answer_id: str, asker: User) -> str:
        """Pass a question of the asker's that was not answered on to a person; its id in the inbox."""
        words = self.audit.read(answer_id, asker).words
        route = (words["answer"] or {}).get("route")
        if route is None:
            raise InputError("This question was answered. Only unanswered questions can be sent to a person.")
        if not is_whole_question(words["question"]):
            raise InputError(NOT_WHOLE)
        return self.inbox.file(answer_id, Route(**route), asker)

    def earlier_reply(self, question: str, asker: User) -> RoutedQuestion | None:
        """The newest reply to the same question that this person may see; case and punctuation do not count.

        A reply to another is seen where their question was about nobody and rests on nothing kept from this person.
        """
        items = [item for item in self.inbox.answered(asker, limit=REPLIES_LOOKED_AT) if item.reply]
        records = self.audit.records((item.answer_id for item in items), replace(asker, role=Role.ADMIN))
        wanted = same_words(question)
        for item in items:
            words = records[item.answer_id].words if item.answer_id in records else None
            if words is None or item.reason.startswith(REPORTED) or same_words(words["question"]) != wanted:
                continue
            if item.asked_by == asker.user_id or self.is_open_to(words, asker):
                return item
        return None

    def is_open_to(self, words: Mapping[str, Any], asker: User) -> bool:
        """Whether a question of another may be read: it is about nobody and rests on nothing kept from this person."""
        return words["scope"]["subject"] is None and not _passages(words["evidence"], asker, self.library)[1]

    def case(self, routed_id: str, asker: User) -> Case:
        """A question that was passed on, as far as this person may see it."""
        routed = self.inbox.one(routed_id, asker)
        record = self._record(routed.answer_id, asker)
        return case(routed, record, asker, may_answer=self.inbox.may_answer(routed, asker), library=self.library)

    def questions(self, items: Iterable[RoutedQuestion], asker: User) -> dict[str, str]:
        """What was asked, by answer, of items that the inbox has let this person see; none whose record is damaged."""
        records = self.audit.records((item.answer_id for item in items), replace(asker, role=Role.ADMIN))
        return {answer_id: record.words["question"] for answer_id, record in records.items()}

    def as_known_now(self, record: AuditRecord) -> AuditRecord:
        """An answer on record with what was published since about the documents that it cites."""
        return replace(record, words={**record.words, "answer": as_known_now(record.words.get("answer"), self.library)})

    def replay(self, answer_id: str, asker: User) -> Replay:
        """Ask again on the versions that answered then, and say what differs; nothing is recorded."""
        then = RecordedQuestion.of(self.audit.read(answer_id, asker), asker)
        still = self.library.at(then.stamp).versions(then.scope)
        with_options = self.choose(AskOptions.of(then.record.words.get("wishes")))
        assistant = with_options(self.past_assistant(then.stamp, then.only(still)))
        return replay(then, still, assistant=assistant, library=self.library, emergency=self.emergency)

    def versions_at(self, stamp: int, scope: Scope) -> Versions:
        """What a scope could see at a stamp; looked up once while the same people ask of the same library."""
        key = (stamp, scope)
        if (known := self._versions.get(key)) is not None:
            return known
        versions = Versions.of(self.library.at(stamp).versions(scope))
        for old in list(self._versions)[: 1 - REMEMBERED_SCOPES]:
            self._versions.pop(old, None)
        self._versions[key] = versions
        return versions

    def _record(self, answer_id: str, asker: User) -> AuditRecord:
        """A record that the inbox has let this person see."""
        return self.audit.read(answer_id, replace(asker, role=Role.ADMIN))


class AskSession:
    """One question while it is being answered: what was searched, and what has been shown so far."""

    def __init__(
        self,
        service: AskService,
        question: str,
        asker: User,
        place: ConversationPlace,
        options: AskOptions,
        *,
        hand_on: bool,
    ) -> None:
        self.hands_on = hand_on and is_whole_question(question)
        self._service, self.question, self.asker, self.place, self._options = service, question, asker, place, options
        self.history: tuple[Message, ...] = ()
        self._assistant: Assistant | None = None
        self._stamp = 0
        self._is_settled: bool | None = None
        self._shown: dict[int, Claim] = {}
        self._is_kept = False

    def begin(self, with_options: WithOptions) -> Assistant:
        """Look up what was said before, and who answers."""
        turns = self._service.conversations.turns(self.place.conversation_id, self.asker, newest=HISTORY_TURNS)
        self.history = paired(turns)
        self._stamp = self._service.library.stamp()
        self._assistant = with_options(self._service.assistant())
        return self._assistant

    def watch(self, event: Event) -> None:
        """Note what an event tells."""
        if self._is_settled is None and event != StageStarted("searching") and not isinstance(event, Notice):
            self._is_settled = self._service.library.stamp() == self._stamp
        if isinstance(event, SentenceChecked | Replace) and (event.claim.is_shown or event.index in self._shown):
            self._shown[event.index] = event.claim

    def end(self, answer: Answer) -> AnswerDone:
        """Keep the answer with all that it rests on; only then is it given."""
        answer = with_notices(answer, self._service.library)
        payload = self._audit_payload()
        words = record(payload, answer.claims, answer, ended="answered")
        route = answer.action if isinstance(answer.action, Route) and self.hands_on else None
        ending = KeptOutcome(answer.id, self.question, self.asker, self.place, words, answer.text, route)
        routed_id = self._service.ledger.keep(ending)
        self._is_kept = True
        searched = SearchedScope(self.asker.scope, payload.searched.versions.count)
        return AnswerDone(answer, self.place.conversation_id, routed_id, searched)

    def stop(self, error: BaseException) -> None:
        """Record what was shown of an answer that never came to its end; where nothing was, there is nothing to."""
        if self._is_kept or not self._shown:
            return
        ended = type(error).__name__ if isinstance(error, CitewellError) else "stopped"
        claims = [self._shown[index] for index in sorted(self._shown)]
        with suppress(LibraryError), uncounted():  # what went wrong first is what the person must hear of
            words = record(self._audit_payload(), claims, None, ended=ended)
            answer_id = str(uuid.uuid4())
            self._service.ledger.keep(
                KeptOutcome(answer_id, self.question, self.asker, self.place, words, text=None, route=None)
            )

    def _audit_payload(self) -> AuditPayload:
        library = self._service.library
        versions = self._service.versions_at(self._stamp, self.asker.scope)
        searched = SearchedSources(self._stamp, self._is_settled is not False, library.embedder(), versions)
        assert self._assistant is not None
        setup = self._assistant.setup()
        return AuditPayload(self.question, self.asker, self.history, searched, setup, self._options)


GREETINGS = frozenset(
    "hello hi hey hiya hallo good morning afternoon evening day thanks thank you cheers bye goodbye ok okay yes no "
    "test testing there all everyone please sorry how are".split()
)
"""Words that alone ask nothing; for a person to review."""


def same_words(question: str) -> list[str]:
    """The words of a question, without letter case and punctuation.

    >>> same_words("Who is on call today?") == same_words("who is on call  today")
    True
    """
    return re.findall(r"\w+", question.casefold())


def is_whole_question(question: str) -> bool:
    """Whether a person could answer it: at least two words, and more than a greeting.

    >>> is_whole_question("Hello, good morning!"), is_whole_question("asdfgh"), is_whole_question("zinc in pregnancy")
    (False, False, True)
    """
    words = same_words(question)
    return len(words) > 1 and not GREETINGS.issuperset(words)


def paired(turns: Sequence[ConversationMessage]) -> tuple[Message, ...]:
    """Each answer after its own question, in the order of the answers; what was never answered is left out."""
    questions = {turn.answer_id: turn.message for turn in turns if turn.message.role == "user"}
    answers = [turn for turn in turns if turn.message.role == "assistant" and turn.answer_id in questions]
    return tuple(message for turn in answers for message in (questions[turn.answer_id], turn.message))


def _checked_question(question: str, asker: User, emergency: Callable[[str], Emergency | None]) -> str:
    question = question.strip()
    if not asker.may_ask:
        raise ScopeRefused(
            "Your role allows only searching and reading. To ask questions, ask an administrator to make you a member."
        )
    if not question:
        raise InputError("Enter a question first.")
    if not re.search(WORDY, question):
        raise InputError(WORDLESS)
    if len(question) > MAX_QUESTION_CHARACTERS:
        message = f"The question is too long. The limit is {MAX_QUESTION_CHARACTERS:,} characters."
        urgent = emergency(question)
        raise InputError(message if urgent is None else f"{urgent.text} {message}")
    return question


# ---------------------------------------------------------------------------------------- questions that were passed on


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage that an answer would have rested on; without words once its document is gone."""

    source_id: str
    document_id: str
    document: str
    version: int
    page: int | None
    section: str | None
    start: int
    end: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Case(RoutedQuestion):
    """A question that was passed on, as far as one person may see it."""

    question: str
    may_answer: bool
    evidence: tuple[CitedPassage, ...]
    hidden_evidence: int
    """Passages of documents that this person may not see."""
    draft: tuple[Mapping[str, Any], ...]
    """The withheld sentences: who asked has seen them with the answer, and who answers needs them."""
    hidden_draft: int
    """Sentences that may rest on documents that this person may not see."""
    raw_text: str | None
    """The draft as it was written; None where it may rest on such documents, or none was kept."""


def case(routed: RoutedQuestion, record: AuditRecord, asker: User, *, may_answer: bool, library: Documents) -> Case:
    """What the person who asked, or who answers, sees of it."""
    words = record.words
    passages, hidden = _passages(words["evidence"], asker, library)
    claims = words["claims"]
    opens = may_open(asker, asked_by=routed.asked_by, owner_id=routed.owner_id)
    seen = {passage.source_id for passage in passages} if opens else set()
    is_whole = opens and not hidden
    draft = [claim for claim in claims if is_whole or (claim["span"] and _rests_on(claim) <= seen)]
    return Case(
        **asdict(routed),
        question=words["question"],
        may_answer=may_answer,
        evidence=tuple(passages),
        hidden_evidence=hidden,
        draft=tuple(draft),
        hidden_draft=len(claims) - len(draft),
        raw_text=(words["answer"] or {}).get("raw_text") if is_whole else None,
    )


def _rests_on(claim: Mapping[str, Any]) -> set[str]:
    """The passages whose words decided on a sentence."""
    return {place["source_id"] for place in (claim["span"], *claim.get("beside", ()))}


def _passages(evidence: Sequence[Mapping[str, Any]], asker: User, library: Documents) -> tuple[list[CitedPassage], int]:
    """The passages that this person may see, and how many others there are.

    What is gone is told to an administrator only: to anybody else it looks like what they may not see.
    """
    scope = Scope.owner(asker.tenant) if asker.is_admin else replace(asker.scope, journey=EVERY)
    passages = []
    for item in evidence:
        try:
            text: str | None = library.opened(item["document_id"], scope)[1].text[item["start"] : item["end"]]
        except NotFound:
            if not asker.is_admin:
                continue
            text = None
        if text is not None and text_hash(text) != item["hash"]:
            text = None
        place = {name: item[name] for name in ("source_id", "document_id", "document", "version", "page", "section")}
        passages.append(CitedPassage(**place, start=item["start"], end=item["end"], text=text))
    return passages, len(evidence) - len(passages)


def may_open(reader: User, *, asked_by: str, owner_id: str | None = None) -> bool:
    """Whether a person may open what was withheld from an answer; nobody of another tenant gets as far as this.

    >>> from citewell.types import Role, Scope
    >>> ann = User("ann", Role.MEMBER, Scope("clinic", frozenset(), None, None))
    >>> may_open(ann, asked_by="ann"), may_open(ann, asked_by="bob", owner_id="ann"), may_open(ann, asked_by="bob")
    (True, True, False)
    """
    return reader.is_admin or reader.user_id in (asked_by, owner_id)
