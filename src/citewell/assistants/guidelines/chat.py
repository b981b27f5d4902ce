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
from citewell.assistants.guidelines.chat_queries import (
    Query,
    Rewrite,
    build_query,
    rewritten,
)
from citewell.assistants.guidelines.chat_texts_filled import ChatTexts
from citewell.assistants.guidelines.chat_topic import mark, topic, without_marks
from citewell.assistants.guidelines.classify import ClassifiedMessage, Nearness, classify
from citewell.assistants.guidelines.concept_match import is_clinical, placed
from citewell.assistants.guidelines.extractive_answer import Quoter, whole, worth_quoting
from citewell.assistants.guidelines.guideline_topics import GuidelineTopics
from citewell.assistants.guidelines.retrieve import (
    GuidelineSearch,
    Quality,
    RetrievedEntry,
    quality,
    retrieve,
    unknown_numbers,
)
from citewell.assistants.guidelines.search_entries import SearchEntry
from citewell.assistants.guidelines.search_index import SearchableGuideline
from citewell.assistants.guidelines.shared_terms import question_words
from citewell.assistants.guidelines.tables import fingerprint
from citewell.clinical import broader
from citewell.clinical.phrases import content_words, measured
from citewell.clinical.quantities import results
from citewell.errors import ModelError
from citewell.orders import is_suspicious
from citewell.ports import Writer
from citewell.prompts import Template
from citewell.sentences import paragraphs
from citewell.types import Claim, Context, Emergency, Hit, MatchReason, Message, Refuse, Scope

ASIDE = {"chitchat_redirect": "chitchat", "needs_clarification": "clarify", "medical_out_of_scope": "out_of_scope"}
"""The texts for messages that seem to be no question for the guidelines at hand."""
VALUE = "the chat does not use values; assess the patient instead"
NOT_UNDERSTOOD = "not understood"


def chat_unused(message: str, books: Sequence[SearchableGuideline]) -> Iterator[dict[str, str]]:
    """The words of a message that no piece of the guidelines has, where all of it is in pieces, and its values."""
    names = " or ".join(dict.fromkeys(book.guideline.name for book in books))
    is_open = any(book.guideline.sections for book in books)
    for places, unit in placed(message) if not is_open else ():
        words = message[places[0][0] : max(end for _, end in places)]
        if unit <= question_words() or any(book.shared.counts[one] for book in books for one in unit | broader(unit)):
            continue
        if is_clinical(unit):
            yield {"words": words, "why": f"not mentioned in {names}"}
        elif content_words(words, without=("function", "talk")) and not any(char.isdigit() for char in words):
            yield {"words": words, "why": NOT_UNDERSTOOD}
    for number in unknown_numbers(message, books):
        yield {"words": number, "why": f"no recommendation of {names} has this number"}
    for value in dict.fromkeys([*measured(message), *_beside_tests(message)]):
        yield {"words": value, "why": VALUE}


def _beside_tests(message: str) -> Iterator[str]:
    """The value of a test that has no unit: “PSA of 12”."""
    for result in results(message):
        if result.written and not measured(result.text):
            yield f"{result.written[0]:g}"


@dataclass(frozen=True, slots=True)
class ChatSearch:
    """What was looked for, what came of it, and whether that is enough."""

    query: Query
    found: Sequence[RetrievedEntry]
    quality: Quality


def hit(retrieved_entry: RetrievedEntry) -> Hit:
    """A piece as evidence, at its place in the library; its label is the innermost section, and so is kept with it."""
    piece, book = retrieved_entry.piece, retrieved_entry.book
    around = (piece.rules[0].section,) if piece.kind == "rule" else ()
    return Hit(
        document_id=book.document_id,
        document=book.guideline.title,
        version=book.version,
        chunk_index=book.chunk_at(piece.start),
        start=piece.start,
        end=piece.end,
        text=piece.text,
        page=piece.page or None,
        section=(*around, piece.label),
        tags=(),
        raw_cosine=retrieved_entry.score,
        rank_score=retrieved_entry.rank,
        relevance=min(1.0, max(0.0, retrieved_entry.score)),
        why=MatchReason(None, None, (), None),
    )


def with_tables(retrieved_entries: Sequence[RetrievedEntry]) -> list[RetrievedEntry]:
    """What was found, each rule followed by the table that stands below it and that it refers to."""
    return [each for retrieved_entry in retrieved_entries for each in (retrieved_entry, *_table_of(retrieved_entry))]


def _table_of(retrieved_entry: RetrievedEntry) -> Iterator[RetrievedEntry]:
    piece = retrieved_entry.piece
    table = piece.rules[0].table if piece.kind == "rule" else None
    if table is not None:
        below = (f"{piece.label}, table", table.page, table.start, table.end)
        yield replace(retrieved_entry, piece=SearchEntry(piece.kind, piece.id, table.text, *below, piece.rules))


def noted(sorted_: ClassifiedMessage, searched: ChatSearch | None = None) -> dict[str, Any]:
    """How an answer came about, as the API and the record tell it."""
    if searched is None:
        outside = "out_of_scope" if sorted_.input_class == "medical_out_of_scope" else None
        return {
            "input_class": sorted_.input_class,
            "query_strategy": None,
            "search_query": None,
            "guardrail_result": outside,
            "top_score": None,
            "chunks": [],
        }
    is_outside = searched.quality == "none" and bool(sorted_.topics)
    return {
        "input_class": sorted_.input_class,
        "query_strategy": searched.query.strategy,
        "search_query": searched.query.text,
        "guardrail_result": "out_of_scope" if is_outside else searched.quality,
        "top_score": round(max((retrieved_entry.score for retrieved_entry in searched.found), default=0.0), 4),
        "chunks": [_chunk(retrieved_entry) for retrieved_entry in searched.found],
    }


def _chunk(retrieved_entry: RetrievedEntry) -> dict[str, Any]:
    return {
        "guideline": retrieved_entry.book.guideline.name,
        "kind": retrieved_entry.piece.kind,
        "id": retrieved_entry.piece.id,
        "label": retrieved_entry.piece.label,
        "page": retrieved_entry.piece.page,
        "score": round(retrieved_entry.score, 4),
        "boost": round(retrieved_entry.boost, 4),
    }


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
    search: Callable[[Sequence[SearchableGuideline], Scope], GuidelineSearch]
    """Looks things up in some guidelines."""
    near: Callable[[], Nearness]
    emergency: Callable[[str], Emergency | None]
    """Finds what cannot wait; the service tells it before anything else."""
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
        searched = self._searched(turn, scope, history)
        if (told := self._aside(turn, sorted_, searched)) is not None:
            yield AnswerDone(refuse(turn.asked(Context(()), noted(sorted_)), told, judge=turn.judge()))
            return
        notes = {**noted(sorted_, searched), "unused": list(chat_unused(question, books))}
        if (told := _unanswered(turn, sorted_, searched)) is not None:
            yield AnswerDone(refuse(turn.asked(Context(()), notes), told, judge=turn.judge()))
            return
        frame = _frame(turn, sorted_, searched)
        yield from _told(frame)
        if not isinstance(self.writer, Quoter):
            if (yield from self._drafted(turn, searched, history, notes, frame)):
                return
            frame = replace(frame, before=paragraphs(frame.before, turn.words.text("no_model")))
            yield from _told(frame)
        yield from self._quoted(turn, searched, notes, frame)

    def setup(self) -> Mapping[str, Any]:
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
        retrieved_entries = worth_quoting(searched.found)
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
            case "safety_urgent" | "proceed":
                return paragraphs(turn.safety, words.text("safety_asks")) if is_suspicious(turn.question) else None
            case _:
                return None

    def _aside(self, turn: ChatExchange, sorted_: ClassifiedMessage, searched: ChatSearch) -> str | None:
        """What is said to what seems to be no question for these guidelines, unless they answer it."""
        is_answered = searched.quality != "none" and not (sorted_.is_foreign or sorted_.is_open)
        if sorted_.input_class not in ASIDE or is_answered:
            return None
        return turn.words.text(ASIDE[sorted_.input_class])

    def _searched(self, turn: ChatExchange, scope: Scope, history: Sequence[Message]) -> ChatSearch:
        """Search once, and once more with other words where nothing was found."""
        question, books, rewrite = turn.question, turn.books, self.rewriting and self.rewriting(turn.started)
        query = build_query(question, topic(history, books), history, rewrite)
        first = self._found(query, books, scope)
        if first.quality == "none" and (other := rewritten(query, question, history, rewrite)) is not None:
            again = self._found(other, books, scope)
            return again if again.quality != "none" else first
        return first

    def _found(self, query: Query, books: Sequence[SearchableGuideline], scope: Scope) -> ChatSearch:
        entries = retrieve(query.text, books, self.search(books, scope))
        return ChatSearch(query, entries, quality(entries))


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
        """The way to care; in an emergency the service has told it."""
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
    before = paragraphs(
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


def _unanswered(turn: ChatExchange, sorted_: ClassifiedMessage, searched: ChatSearch) -> str | None:
    """What is said where too little was found; None where there is enough."""
    if sorted_.input_class == "safety_urgent" and searched.quality == "none":
        return paragraphs(turn.safety, turn.words.text("safety_asks"))
    if searched.quality != "none":
        return None
    told = turn.words.text("out_of_scope" if sorted_.topics else "refuse")
    return paragraphs(turn.safety, told) if sorted_.needs_safety else told
