"""Puts the desk of a person's record together: the assistant over its facts and documents, and what is kept of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.adapters.index.exact import ExactIndex
from citewell.answer.retrieve import Search
from citewell.assistants.guidelines.shelve import Books
from citewell.assistants.records.ask import Records
from citewell.assistants.records.examples import Nearness, examples, nearness
from citewell.assistants.records.place import Places
from citewell.bootstrap.desk import desk_of

if TYPE_CHECKING:
    from citewell.answer.desk import Desk
    from citewell.bootstrap.app import App
    from citewell.ports.records import Facts


def make_records(app: App, facts: Facts) -> Records:
    """The assistant of an open record."""
    return Records(
        search=Search(app.library, app.index, app.embedder, app.lexicon),
        writer=app.writer,
        verify=app.verify_sentence,
        known=facts.remembered,
        places=Places(app.library),
        is_model=app.settings.model != "extractive",
        near=_near(app),
    )


def _near(app: App) -> Nearness:
    """Nearness to the examples, whose vectors stay in the home's cache: they hold nobody's words."""
    kept = Books(app.library, lambda: app.embedder, app.settings.home / "cache" / "records")
    return nearness(app.embedder.embed, kept.vectors(examples()[1]))


def make_record_desk(app: App, facts: Facts) -> Desk:
    """Where a person asks their record; it stays inside the vault."""

    def assistant() -> Records:
        return make_records(app, facts)

    def past_assistant(stamp: int, only: Collection[int] | None) -> Records:
        now = assistant()
        return replace(now, search=replace(now.search, index=ExactIndex(app.library.at(stamp, only=only))))

    return desk_of(app.library, "records", assistant, past_assistant)
