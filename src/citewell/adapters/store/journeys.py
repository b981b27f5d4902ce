"""Care journeys in SQL: named, renamed, removed and assigned, each in one transaction; no vector is ever touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, select, update

from citewell.adapters.store import row_mapping as rows
from citewell.adapters.store.access import searchable, visible
from citewell.adapters.store.conversations import NO_SUCH_CONVERSATION
from citewell.adapters.store.document_history import note
from citewell.adapters.store.document_lists import BATCH, chosen
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import conversations, document_journeys, documents, journeys
from citewell.adapters.store.shelf import SqlShelf
from citewell.errors import AlreadyThere, ChangedMeanwhile, DoesNotFit, NotFound
from citewell.types import EVERY, Filing, LibraryEntry, LifecycleState, Scope, User
from citewell.types.journeys import Journey, VersionStanding, checked_description, checked_name, checked_slug, slug_of

NO_SUCH_JOURNEY = (
    "Journey not found (`citewell journeys list`). Without a journey, answers use the documents for everyone."
)
TAKEN = "A journey with this slug already exists. Choose another slug, or edit that journey."
WAS_TAKEN = "An earlier journey had this slug, and logged answers still refer to it. Choose another slug."
CHANGED = (
    "Someone else has changed this journey since you opened it. Nothing was changed. Reload it and make your change "
    "again."
)
IN_USE = (
    "{count} documents are only in this journey. Nothing was removed. Choose where to move them: another journey, "
    "or everyone (--universal)."
)
STANDING = (
    LifecycleState.PENDING,
    LifecycleState.QUEUED,
    LifecycleState.PROCESSING,
    LifecycleState.COMPLETED,
    LifecycleState.FAILED,
)


Refile = Callable[[frozenset[str]], frozenset[str]]


@dataclass(frozen=True, slots=True)
class JourneyChange:
    """What is to change of a journey; None leaves it as it is."""

    name: str | None = None
    slug: str | None = None
    description: str | None = None


class SqlJourneys(SqlShelf):
    """The journeys of all tenants; a scope names one, and counts only what it may see."""

    # ------------------------------------------------------------------------------------------------------ reading

    def all(self, scope: Scope) -> list[Journey]:
        """The journeys of a tenant by name; one that documents carry though nobody named it is there by its slug."""
        with reading(self.engine, self.path) as connection:
            named = connection.execute(select(journeys).where(journeys.c.tenant == scope.tenant)).all()
            counts = _counts(connection, scope)
        found = [_journey(row, counts.pop(row.slug, 0)) for row in named]
        found += [Journey(slug, slug, "", count, 0, None, None) for slug, count in counts.items()]
        return sorted(found, key=lambda journey: (journey.name.casefold(), journey.slug))

    def one(self, slug: str, scope: Scope) -> Journey:
        """A journey by its slug, or by one that it had before."""
        wanted = slug.strip().lower()
        known = self.all(scope)
        journey = next((other for other in known if other.slug == wanted), None)
        if journey is None:
            former = self._renamed(scope.tenant).get(wanted)
            journey = next((journey for journey in known if journey.slug == former), None)
        if journey is None:
            raise NotFound(NO_SUCH_JOURNEY)
        return journey

    def held_in(self, conversation_id: str, asker: User, *, assistant: str) -> str | None:
        """The journey that a conversation of the asker's is held in; None: that for everyone."""
        mine = and_(conversations.c.tenant == asker.tenant, conversations.c.user_id == asker.user_id)
        here = and_(mine, conversations.c.assistant == assistant, conversations.c.id == conversation_id)
        with reading(self.engine, self.path) as connection:
            row = connection.execute(select(conversations.c.journey).where(here)).first()
        if row is None:
            raise NotFound(NO_SUCH_CONVERSATION)
        return None if row.journey is None else str(row.journey)

    def placed(self, document_ids: Iterable[str], scope: Scope) -> dict[str, VersionStanding]:
        """What has become of document versions, in two queries; those that are no more are left out."""
        ids = sorted(set(document_ids))
        columns = select(documents.c.id, documents.c.state, documents.c.is_current)
        mine = and_(documents.c.id.in_(ids), documents.c.tenant == scope.tenant)
        with reading(self.engine, self.path) as connection:
            seen = set(connection.execute(select(documents.c.id).where(mine, visible(scope))).scalars())
            found = connection.execute(columns.where(mine)).all()
        return {row.id: VersionStanding(LifecycleState(row.state), row.is_current, row.id in seen) for row in found}

    def current_slug(self, slug: str | None, scope: Scope) -> str | None:
        if slug is None or slug == EVERY:
            return slug
        return self._renamed(scope.tenant).get(slug, slug)

    def _renamed(self, tenant: str) -> dict[str, str]:
        query = select(journeys.c.slug, journeys.c.former).where(journeys.c.tenant == tenant)
        with reading(self.engine, self.path) as connection:
            return {old: row.slug for row in connection.execute(query) for old in row.former}

    # ----------------------------------------------------------------------------------------------------- changing

    def add(self, name: str, *, slug: str | None = None, description: str = "", scope: Scope, by: str) -> Journey:
        """A new journey; without a slug it gets the one that its name suggests."""
        title = checked_name(name)
        chosen = checked_slug(slug or slug_of(title))
        new = Journey(chosen, title, checked_description(description), 0, 1, None, by)
        with writing(self.engine, self.path) as connection:
            self._refuse_taken(connection, chosen, scope)
            _insert(connection, new, scope.tenant, by)
        return self.one(chosen, scope)

    def edit(self, slug: str, change: JourneyChange, *, revision: int | None, scope: Scope, by: str) -> Journey:
        """Change a journey; where a revision is given, only if it is still that one."""
        known = self.one(slug, scope)
        new_slug = known.slug if change.slug is None else checked_slug(change.slug)
        values: dict[str, Any] = {
            "name": known.name if change.name is None else checked_name(change.name),
            "description": known.description if change.description is None else checked_description(change.description),
            "changed_at": rows.now(),
            "changed_by": by,
        }
        with writing(self.engine, self.path) as connection:
            row = self._held(connection, known, revision, scope, by)
            if new_slug != known.slug:
                self._refuse_taken(connection, new_slug, scope, but=known.slug)
                former = [one for one in (*row.former, known.slug) if one != new_slug]
                values |= {"slug": new_slug, "former": former}
                self._move(connection, known.slug, new_slug, scope)
            here = and_(journeys.c.tenant == scope.tenant, journeys.c.slug == known.slug)
            connection.execute(update(journeys).where(here).values(revision=row.revision + 1, **values))
        return self.one(new_slug, scope)

    def remove(self, slug: str, *, to: str | None = None, universal: bool = False, scope: Scope, by: str) -> int:
        """Remove a journey; how many documents changed.

        What is filed under it alone would be seen by everyone then, so the caller says that, or another journey.
        """
        known = self.one(slug, scope)
        target = None if to is None else self.one(to, scope).slug
        if target == known.slug:
            raise DoesNotFit("The documents cannot be moved to the journey that is being removed. Choose another.")
        with writing(self.engine, self.path) as connection:
            alone = _alone(connection, known.slug, scope)
            if alone and target is None and not universal:
                raise DoesNotFit(IN_USE.format(count=len(alone)))
            mine = _of_tenant(known.slug, scope)
            filed = list(connection.execute(select(document_journeys.c.document_id).where(mine)).scalars())
            if target is not None and alone:
                moved = [{"document_id": one, "journey": target} for one in alone]
                connection.execute(insert(document_journeys), moved)
            connection.execute(delete(document_journeys).where(mine))
            here = and_(journeys.c.tenant == scope.tenant, journeys.c.slug == known.slug)
            connection.execute(delete(journeys).where(here))
            _note(connection, filed, by)
            self._touch(connection, scope.tenant)
        return len(filed)

    def assign(self, slug: str, document_ids: Iterable[str], *, scope: Scope, by: str) -> list[LibraryEntry]:
        """File documents under a journey too; newer versions that are still being read go along."""
        wanted = self.one(slug, scope).slug
        return self._refiled(document_ids, scope, by, lambda held: held | {wanted})

    def unassign(self, slug: str, document_ids: Iterable[str], *, scope: Scope, by: str) -> list[LibraryEntry]:
        """Take documents out of a journey; one that is in no other is for everyone then."""
        wanted = self.one(slug, scope).slug
        return self._refiled(document_ids, scope, by, lambda held: held - {wanted})

    def known(self, slugs: Iterable[str], scope: Scope) -> frozenset[str]:
        """These journeys as they are called now; NotFound where one is not there."""
        return frozenset(self.one(slug, scope).slug for slug in slugs)

    # ------------------------------------------------------------------------------------------------------- inside

    def going_along(self, document_ids: Iterable[str], scope: Scope) -> list[LibraryEntry]:
        """All versions that are filed anew with these, whoever may see them: the caller says whether that may be."""
        with reading(self.engine, self.path) as connection:
            return _going_along(connection, chosen(connection, list(dict.fromkeys(document_ids)), scope), scope)

    def _refiled(self, document_ids: Iterable[str], scope: Scope, by: str, change: Refile) -> list[LibraryEntry]:
        with writing(self.engine, self.path) as connection:
            named = chosen(connection, list(dict.fromkeys(document_ids)), scope)
            along = _going_along(connection, named, scope)
            for entry in along:
                filing = Filing(journeys=change(frozenset(entry.journeys)))
                rows.replace_filing(connection, entry.id, filing)
            _note(connection, [entry.id for entry in along], by)
            self._touch(connection, scope.tenant)
            return chosen(connection, [entry.id for entry in named], scope)

    @staticmethod
    def _held(connection: Connection, known: Journey, revision: int | None, scope: Scope, by: str) -> Row[Any]:
        """The row of a journey as it was read, made where documents carry a slug that nobody named."""
        here = select(journeys).where(journeys.c.tenant == scope.tenant, journeys.c.slug == known.slug)
        row = connection.execute(here).first()
        current = 0 if row is None else row.revision
        if current != (known.revision if revision is None else revision):
            raise ChangedMeanwhile(CHANGED)
        if row is None:
            _insert(connection, known, scope.tenant, by)
            row = connection.execute(here).one()
        return row

    @staticmethod
    def _refuse_taken(connection: Connection, slug: str, scope: Scope, but: str | None = None) -> None:
        """Refuse a slug that is in use, or was of another journey."""
        for row in connection.execute(select(journeys).where(journeys.c.tenant == scope.tenant)):
            if row.slug == slug:
                raise AlreadyThere(TAKEN)
            if slug in row.former and row.slug != but:
                raise AlreadyThere(WAS_TAKEN)

    def _move(self, connection: Connection, old: str, new: str, scope: Scope) -> None:
        """Documents and conversations follow a journey to its new slug."""
        if connection.execute(select(1).where(_of_tenant(new, scope)).limit(1)).first() is not None:
            raise AlreadyThere(TAKEN)
        connection.execute(update(document_journeys).where(_of_tenant(old, scope)).values(journey=new))
        held = and_(conversations.c.tenant == scope.tenant, conversations.c.journey == old)
        connection.execute(update(conversations).where(held).values(journey=new))
        self._touch(connection, scope.tenant)


def _going_along(connection: Connection, named: Sequence[LibraryEntry], scope: Scope) -> list[LibraryEntry]:
    """These documents with the versions of them that answer or may come to."""
    standing = and_(documents.c.lineage.in_({entry.lineage for entry in named}), documents.c.tenant == scope.tenant)
    states = documents.c.state.in_([state.value for state in STANDING])
    query = select(documents.c.id).where(standing, states)
    ids = {*connection.execute(query).scalars(), *(entry.id for entry in named)}
    return chosen(connection, sorted(ids), replace(scope, tags=frozenset({EVERY})))


def _note(connection: Connection, document_ids: Sequence[str], by: str) -> None:
    """Write down for each document that it was filed anew."""
    for batch in (document_ids[at : at + BATCH] for at in range(0, len(document_ids), BATCH)):
        mine = documents.c.id.in_(batch)
        for row in connection.execute(select(documents).where(mine)).all():
            note(connection, row, "refiled", by=by, state=LifecycleState(row.state))
        connection.execute(update(documents).where(mine).values(revision=documents.c.revision + 1))


def _insert(connection: Connection, new: Journey, tenant: str, by: str) -> None:
    row = {"tenant": tenant, "slug": new.slug, "name": new.name, "description": new.description, "former": []}
    at = rows.now()
    connection.execute(insert(journeys).values(**row, revision=1, made_at=at, changed_at=at, changed_by=by))


def _journey(row: Row[Any], count: int) -> Journey:
    changed_at = row.changed_at.replace(tzinfo=UTC)
    return Journey(row.slug, row.name, row.description, count, row.revision, changed_at, row.changed_by)


def _counts(connection: Connection, scope: Scope) -> dict[str, int]:
    """How many documents a search in scope may find under each slug that documents in scope carry."""
    carried = (
        select(document_journeys.c.journey, func.count().label("number"))
        .join(documents, documents.c.id == document_journeys.c.document_id)
        .where(visible(replace(scope, journey=EVERY)))
        .group_by(document_journeys.c.journey)
    )
    counts: dict[str, int] = {row.journey: 0 for row in connection.execute(carried)}
    return counts | {row.journey: row.number for row in connection.execute(carried.where(searchable()))}


def _of_tenant(slug: str, scope: Scope) -> Any:
    """The condition on `document_journeys` for a slug within a tenant."""
    mine = select(documents.c.id).where(documents.c.tenant == scope.tenant)
    return and_(document_journeys.c.journey == slug, document_journeys.c.document_id.in_(mine))


def _alone(connection: Connection, slug: str, scope: Scope) -> list[str]:
    """The documents that are in this journey and in no other."""
    other = document_journeys.alias()
    elsewhere = select(1).where(other.c.document_id == documents.c.id, other.c.journey != slug)
    query = (
        select(documents.c.id)
        .join(document_journeys, document_journeys.c.document_id == documents.c.id)
        .where(documents.c.tenant == scope.tenant, document_journeys.c.journey == slug, ~elsewhere.exists())
    )
    return list(connection.execute(query).scalars())
