"""The guidelines chat: its sessions, the guidelines that it searches, and those that it searched then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

from citewell.answer.events import AnswerDone, Event
from citewell.answer.gate import Verify
from citewell.answer.retrieve import Search
from citewell.answer.select import AnswerScorer
from citewell.answer.service import AskService, Assistant, AssistantAt, ServiceLibrary
from citewell.answer.verify.support_model import calibrated
from citewell.assistants.guidelines import TAG
from citewell.assistants.guidelines.chat import Chat
from citewell.assistants.guidelines.chat_queries import rewriting
from citewell.assistants.guidelines.classify import Nearness, examples, nearness
from citewell.assistants.guidelines.extractive_answer import Quoter
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.patient import PatientInput
from citewell.assistants.guidelines.retrieve import GuidelineSearch, RetrievedEntry, query_for, retrieve_for
from citewell.assistants.guidelines.search_index import Books, SearchableGuideline
from citewell.assistants.guidelines.service import GuidelineService, order
from citewell.config import Settings
from citewell.errors import InputError, NotFound
from citewell.ports import Embedder, Library, Writer
from citewell.ports.models import EXTRACTIVE
from citewell.types import Emergency, Scope, User
from citewell.work import uncounted

NAME = "guidelines"
MAX_SEARCHES = 8
"""Choices of guidelines whose indexes are kept in memory."""
NO_SUCH_GUIDELINE = "Guideline not found. `citewell guidelines list` shows the names and IDs."


class ChatLibrary(ServiceLibrary, Library, Protocol):
    """The library with its past."""


@dataclass(frozen=True)
class GuidelineChat:
    """Holds the chat; models are loaded when something is first asked."""

    settings: Settings
    library: ChatLibrary
    guidelines: GuidelineService
    embedder: Callable[[], Embedder]
    """The built-in model, whoever embeds the library: the limits of the chat were fitted to it."""
    search_at: Callable[[int, Collection[int]], Search]
    """The search over some generations of documents, as they were at a stamp."""
    answer_reader: Callable[[], AnswerScorer | None]
    writer: Callable[[], Writer]
    verify: Verify
    emergency: Callable[[str], Emergency | None]
    make_ask_service: Callable[[Callable[[], Assistant], AssistantAt], AskService]
    """Makes what keeps the sessions."""

    def ask(
        self, message: str, *, asker: User, session_id: str | None = None, only: Sequence[str] = ()
    ) -> Iterator[Event]:
        """Ask in a session, a new one unless one is named; a guideline that is not here is told before it is kept."""
        self.shelf(asker.scope, only)
        return self.ask_service(only).ask(message, asker=asker, conversation_id=session_id)

    def answer(
        self, message: str, *, asker: User, session_id: str | None = None, only: Sequence[str] = ()
    ) -> AnswerDone:
        """The same, all at once."""
        *_, last = self.ask(message, asker=asker, session_id=session_id, only=only)
        assert isinstance(last, AnswerDone)
        return last

    def ask_service(self, only: Sequence[str] = ()) -> AskService:
        """The service for all guidelines, or for those that are named by name or document."""
        chosen = tuple(only)
        return replace(
            self._ask_service,
            assistant=lambda: self._chat(chosen),
            past_assistant=lambda stamp, generations: self._past(stamp, generations, chosen),
        )

    @cached_property
    def _ask_service(self) -> AskService:
        def past(stamp: int, generations: Collection[int] | None) -> Chat:
            return self._past(stamp, generations, ())

        return self.make_ask_service(lambda: self._chat(()), past)

    @cached_property
    def books(self) -> Books:
        """The guidelines that have been set up for searching."""
        return Books(self.library, self.embedder, self.settings.home / "cache" / "guidelines")

    @cached_property
    def _searches(self) -> dict[tuple[int, frozenset[int]], Search]:
        return {}

    @cached_property
    def _near(self) -> Nearness:
        return nearness(self.embedder().embed, self.books.vectors(examples()[1]))

    def shelf(self, scope: Scope, only: Sequence[str] = ()) -> list[SearchableGuideline]:
        """The current guidelines of a scope, or those that are named."""
        with uncounted():  # what is read here is kept for all who ask
            guidelines = _named(self.guidelines.all(scope), only) if only else self.guidelines.chosen(scope)
            return [self.books.book(guideline, scope) for guideline in guidelines]

    def related(self, patient: PatientInput, scope: Scope, only: Sequence[str] = ()) -> list[RetrievedEntry]:
        """The rules nearest to a patient, whether met or not, with what the record adds to their order."""
        query = query_for(patient)
        return retrieve_for(patient, self.embedder().embed([query])[0], self.shelf(scope, only)) if query else []

    def _chat(self, only: tuple[str, ...]) -> Chat:
        is_quoting = self.settings.model == EXTRACTIVE
        writer = Quoter() if is_quoting else self.writer()
        return Chat(
            shelf=self.shelf,
            search=self._search_in,
            near=lambda: self._near,
            emergency=self.emergency,
            country=self.settings.country,
            writer=writer,
            verify=self.verify,
            calibrate=lambda claims, _context: calibrated([claim.check for claim in claims]),
            rewriting=None if is_quoting else partial(rewriting, writer),
            only=only,
        )

    def _search_in(
        self, books: Sequence[SearchableGuideline], scope: Scope, *, stamp: int | None = None
    ) -> GuidelineSearch:
        """The search over these guidelines alone, as they are or were at a stamp; the last few are kept."""
        stamp, wanted = stamp or self.library.stamp(), {book.document_id for book in books}
        versions = self.library.at(stamp).versions(scope)
        generations = frozenset(generation for generation, document_id in versions if document_id in wanted)
        key = (stamp, generations)
        if key not in self._searches:
            while len(self._searches) >= MAX_SEARCHES:
                self._searches.pop(next(iter(self._searches)))
            self._searches[key] = self.search_at(stamp, generations)
        return GuidelineSearch(self._searches[key], scope, self.answer_reader())

    def _past(self, stamp: int, generations: Collection[int] | None, only: tuple[str, ...]) -> Chat:
        """The chat over the editions that were current at a stamp."""

        def shelf(scope: Scope, only: Sequence[str]) -> list[SearchableGuideline]:
            past: list[Guideline] = []
            for _, document_id in self.library.at(stamp, only=generations).versions(scope):
                with suppress(InputError):
                    if TAG in self.library.entry(document_id, scope).tags:
                        past.append(self.guidelines.guideline(document_id, scope))
            if not past:
                raise NotFound(
                    "The guideline used then is no longer in the library. The record still shows what was said."
                )
            chosen = sorted(_named(past, only) if only else past, key=order)
            return [self.books.book(guideline, scope) for guideline in chosen]

        return replace(self._chat(only), shelf=shelf, search=partial(self._search_in, stamp=stamp))


def _named(guidelines: Sequence[Guideline], only: Sequence[str]) -> list[Guideline]:
    """The guidelines of these names or documents."""
    chosen: list[Guideline] = []
    for name in only:
        matching = [guideline for guideline in guidelines if _is(guideline, name)]
        if not matching:
            raise NotFound(NO_SUCH_GUIDELINE)
        chosen += [guideline for guideline in matching if guideline not in chosen]
    return chosen


def _is(guideline: Guideline, name: str) -> bool:
    same_name = guideline.name.casefold() == name.strip().casefold()
    return same_name or (guideline.entry is not None and guideline.entry.id == name.strip().lower())
