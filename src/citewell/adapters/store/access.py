"""The one place where access is decided: which documents a scope may see."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Text, and_, exists, or_, select, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from citewell.adapters.store.schema import document_journeys, document_tags, documents
from citewell.errors import ScopeRefused
from citewell.types import EVERY, LifecycleState, Scope

PUBLIC = "public"


def visible(scope: Scope) -> ColumnElement[bool]:
    """The condition on `documents` that holds for what the scope may see."""
    if not scope.tenant or scope.tenant == EVERY:
        raise ScopeRefused("A tenant is required: name the organisation whose library this is.")
    return and_(documents.c.tenant == scope.tenant, _tags(scope), _journey(scope), _subject(scope), _document(scope))


class _Unindexed(FunctionElement[str]):
    """A column that SQLite looks up in no index.

    It keeps no statistics and would go through the completed documents of every tenant, although the index of one
    tenant's is there: a search would then tell by its time how much others have.
    """

    inherit_cache = True
    type = Text()


@compiles(_Unindexed)
def _as_it_is(element: _Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return str(compiler.process(element.clauses, **options))


@compiles(_Unindexed, "sqlite")
def _in_no_index(element: _Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{compiler.process(element.clauses, **options)}"


def searchable() -> ColumnElement[bool]:
    """The condition on `documents` that holds for what may answer: current, whole versions."""
    return and_(
        documents.c.is_current,
        _Unindexed(documents.c.state) == LifecycleState.COMPLETED.value,
        documents.c.generation.is_not(None),
    )


def _document(scope: Scope) -> ColumnElement[bool]:
    return true() if scope.document is None else documents.c.lineage == scope.document


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
