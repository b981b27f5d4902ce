"""Asks a person's record: the assistant over its facts and documents, and the service that keeps what is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from citewell.adapters.llm.extractive import Extractive
from citewell.adapters.records.record_settings import SqlRecordSettings
from citewell.answer.retrieve import Search
from citewell.assistants.guidelines.search_index import Books
from citewell.assistants.records.ask import Records
from citewell.assistants.records.fact_places import FactDocuments
from citewell.assistants.records.nearest import Alike
from citewell.assistants.records.question_kinds import Nearness, examples, nearness
from citewell.ports import Vector, products
from citewell.ports.models import EXTRACTIVE
from citewell.types import User
from citewell.wiring import make_ask_service, search_at

if TYPE_CHECKING:
    from citewell.adapters.records.facts import SqlFacts
    from citewell.answer.service import AskService
    from citewell.app import App
    from citewell.history import Conversations
    from citewell.types import Emergency, Message, Scope

LONGEST_NAME = 250
"""Characters of a name, or of a row of an export, that tell what it is about."""
CONVERSATIONS, TURNS = 3, 4
"""How many earlier conversations are remembered, and how many messages of each."""


def make_records_assistant(
    app: App, facts: SqlFacts, *, places: FactDocuments | None = None, alike: Alike | None = None
) -> Records:
    """The assistant of an open record, as its owner has set it; what it has opened is kept for the next question."""
    chosen = SqlRecordSettings(app.library.engine, app.library.path).choices(app.scope_of_owner())
    return Records(
        search=Search(app.library, app.index, app.embedder, app.lexicon, app.calibration_of),
        writer=app.writer,
        quoter=Extractive(app.lexicon, reader=app.answer_reader),
        verify=app.verify_sentence,
        known=facts.remembered,
        places=places or FactDocuments(app.library),
        is_model=app.settings.model != EXTRACTIVE,
        alike=alike or _alike(app),
        embed=app.built_in.embed,
        near=_near(app),
        emergency=_emergency(app),
        language=chosen.language,
    )


def _alike(app: App) -> Alike:
    """How near names are to a question; the vectors of names stay in memory, as long as the record is open."""
    known: dict[str, Vector] = {}

    def alike(question: str, names: Sequence[str]) -> Sequence[float]:
        if new := [name for name in names if name not in known]:
            known.update(zip(new, app.built_in.embed([name[:LONGEST_NAME] for name in new]), strict=True))
        (asked,) = app.built_in.embed([question])
        return [float(score) for score in products(np.array([known[name] for name in names]), asked)]

    return alike


def _near(app: App) -> Nearness:
    """Nearness to the examples, whose vectors stay in the home's cache: they hold nobody's words."""
    books = Books(app.library, lambda: app.built_in, app.settings.home / "cache" / "records")
    return nearness(app.built_in.embed, books.vectors(examples()[1]))


def make_record_service(app: App, facts: SqlFacts) -> AskService:
    """Where a person asks their record; it stays inside the vault."""
    places, alike = FactDocuments(app.library), _alike(app)

    def assistant() -> Records:
        made = make_records_assistant(app, facts, places=places, alike=alike)
        return replace(made, recent=lambda scope: earlier(service.conversations, scope))

    def past_assistant(stamp: int, only: Collection[int] | None) -> Records:
        now = make_records_assistant(app, facts)
        return replace(now, search=search_at(now.search, app.library, stamp, only))

    service = make_ask_service(
        app.library, "records", app.audit_log, assistant, past_assistant, emergency=_emergency(app)
    )
    return service


def _emergency(app: App) -> Callable[[str], Emergency | None]:
    """Finds what cannot wait; the way to help is told in the language that the owner has chosen."""

    def find(text: str) -> Emergency | None:
        chosen = SqlRecordSettings(app.library.engine, app.library.path).choices(app.scope_of_owner())
        return app.emergency(text, chosen.language)

    return find


def earlier(conversations: Conversations, scope: Scope) -> list[Message]:
    """What was asked and answered in the last conversations, oldest first; a question that waits is left out."""
    asker = User.owner(scope)
    newest = reversed(conversations.all(asker)[:CONVERSATIONS])
    talks = [conversations.turns(conversation.id, asker, newest=TURNS) for conversation in newest]
    return [turn.message for turns in talks for turn in turns if turn.answer_id is not None]
