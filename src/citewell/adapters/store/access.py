"""The one place where access is decided: which documents a scope may see."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, exists, or_, select, true

from citewell.adapters.store.schema import document_journeys, document_tags, documents
from citewell.errors import ScopeRefused
from citewell.types import EVERY, Scope, State

PUBLIC = "public"


def visible(scope: Scope) -> ColumnElement[bool]:
    """The condition on `documents` that holds for what the scope may see."""
    if not scope.tenant or scope.tenant == EVERY:
        raise ScopeRefused("A tenant is required: say whose library this is about.")
    return and_(documents.c.tenant == scope.tenant, _tags(scope), _journey(scope), _subject(scope))


def searchable() -> ColumnElement[bool]:
    """The condition on `documents` that holds for what may answer: current, whole versions."""
    return and_(
        documents.c.is_current,
        documents.c.state == State.COMPLETED.value,
        documents.c.generation.is_not(None),
    )


def _tags(scope: Scope) -> ColumnElement[bool]:
    if EVERY in scope.tags:
        return true()
    allowed = [PUBLIC, *sorted(scope.tags)]
    return exists(select(1).where(document_tags.c.document_id == documents.c.id, document_tags.c.tag.in_(allowed)))


def _journey(scope: Scope) -> ColumnElement[bool]:
    if scope.journey == EVERY:
        return true()
    of_document = select(1).where(document_journeys.c.document_id == documents.c.id)
    universal = ~exists(of_document)
    if scope.journey is None:
        return universal
    return or_(universal, exists(of_document.where(document_journeys.c.journey == scope.journey)))


def _subject(scope: Scope) -> ColumnElement[bool]:
    if scope.subject == EVERY:
        return true()
    general = documents.c.subject.is_(None)
    return general if scope.subject is None else or_(general, documents.c.subject == scope.subject)
