"""The guarded chat: sort a message, search, judge what was found, and answer with whole, cited rules or not at all."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from citewell.answer.audit import writer_record
from citewell.answer.events import AnswerDone, Event, Notice, StageStarted
from citewell.answer.gate import AnswerRequest, AnswerWording, Judge, Policy, Verify, finish, of_people, refuse
from citewell.answer.generate import Budget, assemble
from citewell.answer.screen import is_suspicious
from citewell.assistants.guidelines.chat_search import ChatSearch, hit, noted, with_tables
from citewell.assistants.guidelines.chat_unused import chat_unused
from citewell.assistants.guidelines.chat_words import ChatTexts
from citewell.assistants.guidelines.classify import ClassifiedMessage, Nearness, classify
from citewell.assistants.guidelines.examples import Embed
from citewell.assistants.guidelines.loaded import GuidelineTopics, topics_covered
from citewell.assistants.guidelines.quality import limit, quality
from citewell.assistants.guidelines.queries import Query, Rewrite, build_query, has_own_entity, named_plainly, rewritten
from citewell.assistants.guidelines.quote import Quoter, whole, worth_quoting
from citewell.assistants.guidelines.retrieve import RetrievedEntry, retrieve
from citewell.assistants.guidelines.shelve import SearchableGuideline
from citewell.assistants.guidelines.tables import fingerprint
from citewell.assistants.guidelines.topic import mark, topic, without_marks
from citewell.errors import ModelError
from citewell.ports import Writer
from citewell.prompts import Template
from citewell.types import Claim, Context, Emergency, Message, Refuse, Scope

log = logging.getLogger(__name__)

RULES = Template.read(Path(__file__).parent / "chat_rules.txt")
POLICY = Policy(threshold=0.0, min_relevance=0.0)
"""Whether there is enough to answer is the quality gate's matter, which knows cosines and words of rules."""
EVIDENCE_TOKENS = 3_000
HISTORY_TOKENS = 1_000
WHOLE = 100_000
"""Tokens that quoting may take: a rule is never cut."""

Shelf = Callable[[Scope, Sequence[str]], Sequence[SearchableGuideline]]
"""The guidelines of a scope, or those that are named; NotFound where there is none."""


@dataclass(frozen=True)
class Chat:
    """The assistant, with the parts it needs."""

    shelf: Shelf
    embed: Embed
    near: Callable[[], Nearness]
    emergency: Callable[[str], Emergency | None]
    """Finds what cannot wait; the desk tells it before anything else."""
    writer: Writer
    verify: Verify
    calibrate: Callable[[Sequence[Claim], Context], float]
    rewriting: Callable[[float], Rewrite] | None = None
    """A model's way to make a follow-up stand on its own, for an answer begun then; None where there is no model."""
    country: str = "GB"
    """Whose numbers are told to who should see a doctor."""
    only: tuple[str, ...] = ()
    """Guidelines that were named, by name or document; all that may be seen where none is."""

    def ask(self, question: str, *, scope: Scope, history: Sequence[Message] = ()) -> Iterator[Event]:
        """Answer one message; the last event holds the answer."""
        started = time.monotonic()
        books = tuple(self.shelf(scope, self.only))
        emergency = self.emergency(question)
        turn = ChatExchange(
            self, question, books, ChatTexts(books, self.country), started, is_emergency=emergency is not None
        )
        yield StageStarted("searching")
        loaded = GuidelineTopics.of(book.guideline for book in books)
        sorted_ = classify(
            question, loaded, near=self.near(), is_answered=bool(history), is_emergency=turn.is_emergency
        )
        if (told := self._canned(turn, sorted_)) is not None:
            yield AnswerDone(refuse(turn.asked(Context(()), noted(sorted_)), told, judge=turn.judge()))
            return
        searched = self._searched(turn, _speaking(books, sorted_), history)
        notes = {**noted(sorted_, searched), "unused": list(chat_unused(question, books))}
        if (told := _unanswered(turn, sorted_, searched)) is not None:
            yield AnswerDone(refuse(turn.asked(Context(()), notes), told, judge=turn.judge()))
            return
        frame = _frame(turn, sorted_, searched)
        yield from _told(frame)
        if not isinstance(self.writer, Quoter):
            if (yield from self._drafted(turn, searched, history, notes, frame)):
                return
            frame = replace(frame, before=_joined(frame.before, turn.words.text("no_model")))
            yield from _told(frame)
        yield from self._quoted(turn, searched, notes, frame)

    def setup(self) -> Mapping[str, Any]:
        """What it is set to, so that an answer can be told from another's later."""
        built = {"citewell": version("citewell"), "assistant": "guidelines", "prompts": {"rules": RULES.hash}}
        return {**built, "writer": writer_record(self.writer), "tables": fingerprint(), "guidelines": list(self.only)}

    def _drafted(
        self,
        turn: ChatExchange,
        searched: ChatSearch,
        history: Sequence[Message],
        notes: Mapping[str, Any],
        frame: AnswerWording,
    ) -> Generator[Event, None, bool]:
        """A model's answer, as far as it passes the gate; says whether any of it did."""
        yield StageStarted("reading", len(searched.found))
        budget = Budget(self.writer.window, self.writer.reply, EVIDENCE_TOKENS, HISTORY_TOKENS)
        context = _context(turn.question, searched.found, history, budget=budget, writer=self.writer)
        yield StageStarted("writing", len(context.evidence))
        asked = turn.asked(context, notes, frame)
        pieces = self.writer.write(turn.question, context, rules=RULES.text, begun_at=turn.started)
        try:
            for event in finish(pieces, asked, verify=of_people(self.verify), judge=turn.judge()):
                if isinstance(event, AnswerDone) and isinstance(event.answer.action, Refuse):
                    return False
                yield event
        except ModelError as error:
            log.warning("the model gave no answer: %s", type(error).__name__)
            return False
        return True

    def _quoted(
        self, turn: ChatExchange, searched: ChatSearch, notes: Mapping[str, Any], frame: AnswerWording
    ) -> Iterator[Event]:
        """The guideline's own words: what is worth quoting, each rule whole."""
        quoter = Quoter()
        retrieved_entries = worth_quoting(searched.query.text, searched.found)
        yield StageStarted("reading", len(retrieved_entries))
        context = _context(
            turn.question, retrieved_entries, (), budget=Budget(quoter.window, quoter.reply, WHOLE), writer=quoter
        )
        yield StageStarted("writing", len(context.evidence))
        asked = replace(turn.asked(context, notes, replace(frame, gap="\n\n")), model=quoter.name)
        pieces = quoter.write(turn.question, context, rules=RULES.text)
        yield from finish(pieces, asked, verify=self.verify, judge=turn.judge(), cut=whole)

    def _canned(self, turn: ChatExchange, sorted_: ClassifiedMessage) -> str | None:
        """What is said to messages for which nothing is looked up."""
        words = turn.words
        if is_suspicious(turn.question) and not sorted_.needs_safety:
            return words.text("instruction")
        match sorted_.input_class:
            case "smalltalk" | "meta":
                return words.text(sorted_.input_class)
            case "chitchat_redirect":
                return words.text("chitchat")
            case "needs_clarification":
                return words.text("clarify")
            case "medical_out_of_scope":
                return words.text("out_of_scope")
            case "safety_urgent" | "proceed":
                is_bare = sorted_.input_class == "safety_urgent" and not has_own_entity(turn.question)
                is_unsafe = is_bare or is_suspicious(turn.question)
                return _joined(turn.safety, words.text("safety_asks")) if is_unsafe else None

    def _searched(
        self, turn: ChatExchange, books: Sequence[SearchableGuideline], history: Sequence[Message]
    ) -> ChatSearch:
        """Search once, and once more with other words where nothing was found."""
        question, rewrite = turn.question, self.rewriting and self.rewriting(turn.started)
        query = build_query(question, topic(history, books), history, rewrite)
        first = self._found(query, books)
        if first.quality == "none" and (other := rewritten(query, question, history, rewrite)) is not None:
            again = self._found(other, books)
            return again if again.quality != "none" else first
        return first

    def _found(self, query: Query, books: Sequence[SearchableGuideline]) -> ChatSearch:
        text = named_plainly(query.text)
        retrieved_entries = retrieve(query.text, self.embed([text])[0], books)
        return ChatSearch(replace(query, text=text), retrieved_entries, quality(query.text, retrieved_entries))


@dataclass(frozen=True, slots=True)
class ChatExchange:
    """One message while it is being answered."""

    chat: Chat
    question: str
    books: tuple[SearchableGuideline, ...]
    words: ChatTexts
    started: float
    is_emergency: bool = False

    @property
    def safety(self) -> str:
        """The way to care; in an emergency the desk has told it."""
        return "" if self.is_emergency else self.words.text("safety")

    def asked(self, context: Context, notes: Mapping[str, Any], frame: AnswerWording | None = None) -> AnswerRequest:
        """What the gate must know; what stands round the answer is noted too, so that a page can show it apart."""
        around = {"before": frame.before, "after": frame.after} if frame else {}
        return AnswerRequest(
            id=str(uuid.uuid4()),
            question=self.question,
            context=context,
            model=self.chat.writer.name,
            prompt_hash=RULES.hash,
            policy=POLICY,
            rules=RULES.text,
            frame=frame or AnswerWording(),
            notes={**notes, **around},
        )

    def judge(self) -> Judge:
        """The end of an answer; what does not pass is refused, nobody is sent it."""
        return Judge(
            rate=lambda _answer: None,
            calibrate=self.chat.calibrate,
            route=lambda _reason: Refuse(self.words.text("refuse")),
            took_ms=lambda: (time.monotonic() - self.started) * 1000,
        )


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _context(
    question: str,
    retrieved_entries: Sequence[RetrievedEntry],
    history: Sequence[Message],
    *,
    budget: Budget,
    writer: Writer,
) -> Context:
    """The passages that a writer sees, and what of the talk fits beside them."""
    hits = [hit(table) for table in with_tables(retrieved_entries)]
    messages = [without_marks(message) for message in history]
    return assemble(question, hits, messages, system=RULES.text, budget=budget, count=writer.count)


def _frame(turn: ChatExchange, sorted_: ClassifiedMessage, searched: ChatSearch) -> AnswerWording:
    """What stands round the answer: safety first, then what it cannot say, then how far it goes."""
    is_weak = searched.quality == "weak"
    before = _joined(
        turn.safety if sorted_.needs_safety else "",
        turn.words.text("no_diagnosis") if sorted_.wants_diagnosis else "",
        turn.words.text("qualify_before") if is_weak else "",
    )
    after = turn.words.text("qualify_after") if is_weak else ""
    return AnswerWording(mark, before, after, reservation="limited evidence in the guideline" if is_weak else None)


def _told(frame: AnswerWording) -> Iterator[Event]:
    """What comes first, before any rule is quoted: the way to care does not wait for a search."""
    if frame.before:
        yield Notice(frame.before)


def _speaking(books: Sequence[SearchableGuideline], sorted_: ClassifiedMessage) -> Sequence[SearchableGuideline]:
    """The guidelines that speak of what is asked for; all of them where it is no matter that only some do."""
    fitting = [book for book in books if sorted_.topics <= topics_covered(_titles(book))]
    return fitting or books


def _titles(book: SearchableGuideline) -> list[str]:
    guideline = book.guideline
    return [
        guideline.title,
        *(rule.section for rule in guideline.rules),
        *(definition.term for definition in guideline.definitions),
    ]


def _unanswered(turn: ChatExchange, sorted_: ClassifiedMessage, searched: ChatSearch) -> str | None:
    """What is said where too little was found; None where there is enough."""
    held = max((retrieved_entry.share for retrieved_entry in searched.found), default=0.0)
    is_matched = searched.quality == "sufficient" or (searched.quality == "weak" and held >= limit("share"))
    if sorted_.input_class == "safety_urgent" and not is_matched:
        return _joined(turn.safety, turn.words.text("safety_asks"))
    if searched.quality != "none":
        return None
    told = turn.words.text("out_of_scope" if sorted_.topics else "refuse")
    return _joined(turn.safety, told) if sorted_.needs_safety else told
