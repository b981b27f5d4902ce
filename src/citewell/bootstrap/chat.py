"""Puts the guidelines chat together: searchable guidelines, its writer, and a desk that keeps its sessions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from citewell.answer.events import AnswerDone, Event
from citewell.answer.verify.support_model import calibrated
from citewell.assistants.guidelines import TAG
from citewell.assistants.guidelines.chat import Chat
from citewell.assistants.guidelines.chat_queries import rewriting
from citewell.assistants.guidelines.class_examples import examples, nearness
from citewell.assistants.guidelines.extractive_answer import Quoter
from citewell.assistants.guidelines.retrieve import RetrievedEntry, query_for, retrieve_for
from citewell.assistants.guidelines.search_index import Books, SearchableGuideline
from citewell.bootstrap.desk import desk_of
from citewell.errors import InputError, NotFound

if TYPE_CHECKING:
    from citewell.answer.service import AskService
    from citewell.assistants.guidelines.classify import Nearness
    from citewell.assistants.guidelines.guideline import Guideline
    from citewell.assistants.guidelines.patient import PatientInput
    from citewell.bootstrap.app import App
    from citewell.types import Scope, User

NAME = "guidelines"
NO_SUCH_GUIDELINE = "Guideline not found. `citewell guidelines list` shows the names and ids."


@dataclass(frozen=True)
class GuidelineChat:
    """Where the chat is held; parts are loaded when something is first asked.

    Guidelines are searched with the built-in model, whoever embeds the library: the chat's limits were fitted to it.
    """

    app: App

    def ask(
        self, message: str, *, asker: User, session_id: str | None = None, only: Sequence[str] = ()
    ) -> Iterator[Event]:
        """Ask in a session, a new one unless one is named; a guideline that is not here is told before it is kept."""
        self.shelf(asker.scope, only)
        return self.desk(only).ask(message, asker=asker, conversation_id=session_id)

    def answer(
        self, message: str, *, asker: User, session_id: str | None = None, only: Sequence[str] = ()
    ) -> AnswerDone:
        """The same, all at once."""
        *_, last = self.ask(message, asker=asker, session_id=session_id, only=only)
        assert isinstance(last, AnswerDone)
        return last

    def desk(self, only: Sequence[str] = ()) -> AskService:
        """The desk for all guidelines, or for those that are named by name or document."""
        chosen = tuple(only)
        return replace(
            self._desk,
            assistant=lambda: self._chat(chosen),
            past_assistant=lambda stamp, generations: self._past(stamp, generations, chosen),
        )

    @cached_property
    def _desk(self) -> AskService:
        def past(stamp: int, generations: Collection[int] | None) -> Chat:
            return self._past(stamp, generations, ())

        days = self.app.settings.chat_days
        emergency = self.app.emergency
        return desk_of(self.app.library, NAME, lambda: self._chat(()), past, emergency, keep_days=days)

    @cached_property
    def books(self) -> Books:
        """The guidelines that have been set up for searching."""
        folder = self.app.settings.home / "cache" / "guidelines"
        return Books(self.app.library, lambda: self.app.built_in, folder)

    @cached_property
    def _near(self) -> Nearness:
        return nearness(self.app.built_in.embed, self.books.vectors(examples()[1]))

    def shelf(self, scope: Scope, only: Sequence[str] = ()) -> list[SearchableGuideline]:
        """The current guidelines of a scope, or those that are named."""
        if not only:
            return [self.books.book(one, scope) for one in self.app.guidelines.chosen(scope)]
        return [self.books.book(one, scope) for one in _named(self.app.guidelines.all(scope), only)]

    def related(self, patient: PatientInput, scope: Scope, only: Sequence[str] = ()) -> list[RetrievedEntry]:
        """The rules nearest to a patient, whether met or not, with what the record adds to their order."""
        query = query_for(patient)
        return retrieve_for(patient, self.app.built_in.embed([query])[0], self.shelf(scope, only)) if query else []

    def _chat(self, only: tuple[str, ...]) -> Chat:
        is_quoting = self.app.settings.model == "extractive"
        writer = Quoter() if is_quoting else self.app.writer
        return Chat(
            shelf=self.shelf,
            embed=self.app.built_in.embed,
            near=lambda: self._near,
            emergency=self.app.emergency,
            country=self.app.settings.country,
            writer=writer,
            verify=self.app.verify_sentence,
            calibrate=lambda claims, _context: calibrated([claim.check for claim in claims]),
            rewriting=None if is_quoting else partial(rewriting, writer),
            only=only,
        )

    def _past(self, stamp: int, generations: Collection[int] | None, only: tuple[str, ...]) -> Chat:
        """The chat over the editions that were current at a stamp."""
        library, guidelines = self.app.library, self.app.guidelines

        def shelf(scope: Scope, only: Sequence[str]) -> list[SearchableGuideline]:
            ids = [document_id for _, document_id in library.at(stamp, only=generations).versions(scope)]
            found = []
            for one in ids:
                with suppress(InputError):
                    if TAG in library.entry(one, scope).tags:
                        found.append(guidelines.guideline(one, scope))
            if not found:
                raise NotFound(
                    "The guideline used then is no longer in the library. The record still shows what was said."
                )
            chosen = _named(found, only) if only else found
            return [self.books.book(one, scope) for one in sorted(chosen, key=lambda one: (one.name, one.title))]

        return replace(self._chat(only), shelf=shelf)


def _named(found: Sequence[Guideline], only: Sequence[str]) -> list[Guideline]:
    """The guidelines of these names or documents."""
    chosen = []
    for wanted in only:
        fitting = [one for one in found if _is(one, wanted)]
        if not fitting:
            raise NotFound(NO_SUCH_GUIDELINE)
        chosen += [one for one in fitting if one not in chosen]
    return chosen


def _is(guideline: Guideline, wanted: str) -> bool:
    same_name = guideline.name.casefold() == wanted.strip().casefold()
    return same_name or (guideline.entry is not None and guideline.entry.id == wanted.strip().lower())
