"""Clinical facts in SQL: looked up by name, code, status and time; what a person said about them stays."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, delete, func, insert, or_, select, update

from citewell.adapters.records.fact_columns import columns_of, folded
from citewell.adapters.records.person_names import NO_NAME
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.row_mapping import now
from citewell.adapters.store.schema import dismissed, facts
from citewell.errors import InputError, NotFound, ScopeRefused
from citewell.ports.records import FactCounts
from citewell.types import EVERY, Scope
from citewell.types.facts import (
    REPORTED,
    Fact,
    Flag,
    LabResult,
    Professional,
    RecordOwner,
    fact_id,
)
from citewell.types.facts_json import fact_json, read_fact

UNVERIFIED, AS_READ, CONFIRMED, REJECTED = "unverified", "as_read", "confirmed", "rejected"
"""What waits for a person, what its source is sure of, and what a person has decided."""
AsPlain = dict[str, Any]


def content(body: AsPlain) -> AsPlain:
    """A fact without where it was read, whether somebody looked at it, and its codes, which earlier versions left."""
    return {name: value for name, value in body.items() if name not in ("origin", "is_verified", "codes")}


def is_known(fact: Fact, row: Row[Any]) -> bool:
    """Whether a fact says what is kept, or what was read before a person corrected it."""
    return content(fact_json(fact)) in (content(row.read_as), content(row.body))


def stays(row: Row[Any] | None, fact: Fact) -> bool:
    """Whether other words about a fact change nothing of it: a person decided, or they are less sure than it is."""
    if row is None or row.state == REJECTED or is_known(fact, row):
        return False
    return row.state == CONFIRMED or row.document_id is None or (row.state == AS_READ and not fact.is_verified)


def apart(fact: Fact) -> Fact:
    """Other words about a fact that stays, as a fact of their own that waits for a person."""
    said = json.dumps(content(fact_json(fact)), sort_keys=True)
    return replace(fact, id=fact_id("other words", said), is_verified=False)


def row_of(fact: Fact, tenant: str, sure: str) -> AsPlain:
    """What is kept of a fact; `sure` says whose word a verified one is."""
    body = fact_json(fact)
    return {
        "id": fact.id,
        "tenant": tenant,
        "kind": fact.kind,
        "state": sure if fact.is_verified else UNVERIFIED,
        "document_id": fact.origin.document_id,
        "body": body,
        "read_as": body,
        "changed_at": now(),
        **columns_of(fact),
    }


NO_SUCH_FACT = "Fact not found in this record. `citewell records facts` shows the IDs."
NAMES = ("generic_name", "test_name", "allergen", "name", "specific")
ONE_OF_EACH = (RecordOwner, Professional)
"""Of these there is one by an id: other words about somebody do not make somebody else."""
Known = TypeVar("Known", bound=Fact)


class SqlFacts:
    """The facts of the record in one library."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path
        self._known: tuple[object, Sequence[Fact]] | None = None

    # ---------------------------------------------------------------------------------------------------- keeping

    def put(self, given: Sequence[Fact], *, scope: Scope) -> FactCounts:
        """Keep facts by their ids, all or none; what a person told, confirmed, corrected or rejected stays so."""
        with writing(self._engine, self._path) as connection:
            return self.put_within(connection, given, scope)

    def put_within(
        self, connection: Connection, given: Sequence[Fact], scope: Scope, *, is_restored: bool = False
    ) -> FactCounts:
        """The same inside a transaction that keeps more than facts; of a record that is restored, a person decided."""
        tenant, sure = tenant_of(scope), CONFIRMED if is_restored else AS_READ
        known = {row.id: row for row in connection.execute(select(facts).where(facts.c.tenant == tenant))}
        new, changed = [], 0
        for told in (_of_the_same(fact, known.get(fact.id)) for fact in given):
            has_to_wait = stays(known.get(told.id), told)
            if has_to_wait and isinstance(told, ONE_OF_EACH):
                continue
            fact = apart(told) if has_to_wait else told
            row = known.get(fact.id)
            if row is None:
                new.append(row_of(fact, tenant, sure))
            elif not is_known(fact, row):
                changed += 1
                values = {"read_as": fact_json(fact)} if row.state == REJECTED else row_of(fact, tenant, sure)
                mine = and_(facts.c.tenant == tenant, facts.c.id == fact.id)
                connection.execute(update(facts).where(mine).values(**values))
        if new:
            connection.execute(insert(facts), new)
        return FactCounts(len(new), changed, len(given) - len(new) - changed)

    def unknown(self, given: Sequence[Fact], scope: Scope) -> list[Fact]:
        """Those that are not here, or that say something else than what is."""
        with reading(self._engine, self._path) as connection:
            query = select(facts).where(facts.c.tenant == tenant_of(scope))
            known = {row.id: row for row in connection.execute(query)}
        return [fact for fact in given if fact.id not in known or not is_known(fact, known[fact.id])]

    def confirm(self, fact_id: str, scope: Scope) -> Fact:
        """Say that a fact is right."""
        return self._decide(replace(self.one(fact_id, scope), is_verified=True), CONFIRMED, scope)

    def correct(self, fact_id: str, entry: AsPlain, scope: Scope) -> Fact:
        """Say what is right instead: fields of the fact, by name; its id and its origin stay."""
        before = fact_json(self.one(fact_id, scope))
        if any(name in entry and entry[name] != before.get(name) for name in NAMES):
            before.pop("codes", None)  # they are of what it was called before
        if wrong := {"id", "kind", "origin", "is_verified", "codes"} & set(entry):
            raise InputError(f"These cannot be corrected: {', '.join(sorted(wrong))}.")
        return self._decide(read_fact({**before, **entry, "is_verified": True}), CONFIRMED, scope)

    def reject(self, fact_id: str, scope: Scope) -> Fact:
        """Say that a fact is wrong: it is not used any more, nor read in again."""
        return self._decide(self.one(fact_id, scope), REJECTED, scope)

    def _decide(self, fact: Fact, state: str, scope: Scope) -> Fact:
        values = {"body": fact_json(fact), "state": state, "changed_at": now(), **columns_of(fact)}
        mine = and_(facts.c.tenant == tenant_of(scope), facts.c.id == fact.id)
        with writing(self._engine, self._path) as connection:
            connection.execute(update(facts).where(mine).values(**values))
        return fact

    # ---------------------------------------------------------------------------------------------------- looking up

    def all(self, scope: Scope, *, kind: str | None = None) -> list[Fact]:
        """Every fact, or those of one kind, newest first."""
        return self._found(scope, *([] if kind is None else [facts.c.kind == kind]))

    def revision(self, scope: Scope) -> tuple[int, datetime | None]:
        """Changes whenever a fact does: how many there are, and when one was last changed."""
        query = select(func.count(), func.max(facts.c.changed_at)).where(facts.c.tenant == tenant_of(scope))
        with reading(self._engine, self._path) as connection:
            count, changed_at = connection.execute(query).one()
        return count, changed_at

    def remembered(self, scope: Scope) -> Sequence[Fact]:
        """Every fact, read once while none changes: a question needs all of them, and reading thousands takes long."""
        revision = (scope, self.revision(scope))
        if self._known is None or self._known[0] != revision:
            self._known = (revision, tuple(self.all(scope)))
        return self._known[1]

    def one(self, fact_id: str, scope: Scope) -> Fact:
        """One fact by its id."""
        found = self._found(scope, facts.c.id == fact_id)
        if not found:
            raise NotFound(NO_SUCH_FACT)
        return found[0]

    def find(self, prefix: str, scope: Scope) -> str:
        """The full id that starts with these characters."""
        query = select(facts.c.id).where(facts.c.tenant == tenant_of(scope), facts.c.state != REJECTED)
        query = query.where(facts.c.id.startswith(prefix.lower(), autoescape=True)).limit(2)
        with reading(self._engine, self._path) as connection:
            found = connection.execute(query).scalars().all()
        if len(found) > 1:
            raise InputError("Several facts have IDs that start with these characters. Give more characters.")
        if not found or not prefix:
            raise NotFound(NO_SUCH_FACT)
        return str(found[0])

    def latest_results(self, scope: Scope) -> list[LabResult]:
        """The newest result of every test, however old it is; one code is one test."""
        same_test = func.row_number().over(
            partition_by=func.coalesce(facts.c.code, facts.c.name),
            order_by=(facts.c.at.desc().nulls_last(), facts.c.id),
        )
        ranked = select(facts.c.id, same_test.label("place")).where(_kept(scope), *_kind(LabResult)).subquery()
        return _of(LabResult, self._found(scope, facts.c.id.in_(select(ranked.c.id).where(ranked.c.place == 1))))

    def trend(self, test: str, scope: Scope) -> list[LabResult]:
        """All results of a test by its name or code, oldest first; of a panel, the part that is meant."""
        wanted = folded(test)
        if not wanted:
            return []
        exact = or_(facts.c.name.contains(f"|{wanted}|", autoescape=True), facts.c.code == test)
        found = self._found(scope, *_kind(LabResult), exact) or self._found(scope, *_kind(LabResult), _named(wanted))
        return [_meant(lab_result, wanted) for lab_result in reversed(_of(LabResult, found))]

    def critical_results(self, scope: Scope) -> list[LabResult]:
        """Results that were flagged critical, newest first."""
        critical = facts.c.status.in_([Flag.CRITICAL_LOW.value, Flag.CRITICAL_HIGH.value])
        return _of(LabResult, self._found(scope, *_kind(LabResult), critical))

    def unverified(self, scope: Scope) -> list[Fact]:
        """What waits for a person to confirm, correct or reject it."""
        return self._found(scope, facts.c.state == UNVERIFIED)

    def read_from(self, document_ids: Sequence[str], scope: Scope) -> tuple[list[Fact], list[Fact]]:
        """The facts that were read from these documents: those that a person confirmed, and the others."""
        here, sure = facts.c.document_id.in_(document_ids), facts.c.state == CONFIRMED
        return self._found(scope, here, sure), self._found(scope, here, ~sure)

    def _found(self, scope: Scope, *wanted: ColumnElement[bool]) -> list[Fact]:
        query = select(facts.c.body).where(_kept(scope), *wanted)
        with reading(self._engine, self._path) as connection:
            bodies = connection.execute(query.order_by(facts.c.at.desc().nulls_last(), facts.c.id)).scalars()
            return [read_fact(body) for body in bodies]

    # ---------------------------------------------------------------------------------------------------- alerts

    def dismiss(self, alert_id: str, *, why: str, by: str, scope: Scope) -> None:
        """Put an alert away for good."""
        mine = {"tenant": tenant_of(scope), "alert_id": alert_id}
        with writing(self._engine, self._path) as connection:
            same = and_(dismissed.c.tenant == mine["tenant"], dismissed.c.alert_id == alert_id)
            connection.execute(delete(dismissed).where(same))
            connection.execute(insert(dismissed).values(**mine, at=now(), why=why, by=by))

    def dismissed(self, scope: Scope) -> frozenset[str]:
        """The ids of alerts that were put away."""
        with reading(self._engine, self._path) as connection:
            query = select(dismissed.c.alert_id).where(dismissed.c.tenant == tenant_of(scope))
            return frozenset(connection.execute(query).scalars())


def tenant_of(scope: Scope) -> str:
    """Whose record it is; facts are a person's own, so that only the owner of the whole record may see them."""
    if not scope.tenant or scope.tenant == EVERY:
        raise ScopeRefused("A tenant is required: name the vault whose record this is.")
    if EVERY not in scope.tags:
        raise NotFound(NO_SUCH_FACT)
    return scope.tenant


def _of_the_same(fact: Fact, row: Row[Any] | None) -> Fact:
    """Whom a record is about keeps the name that it has, and what a later file does not tell, or less exactly."""
    if row is None or not isinstance(fact, RecordOwner):
        return fact
    before = read_fact(row.body)
    assert isinstance(before, RecordOwner)
    name = fact.name if before.name == NO_NAME else before.name
    born = max((date for date in (fact.born, before.born) if date), key=lambda date: len(date.text), default=None)
    details = tuple(dict.fromkeys((*fact.details, *before.details)))
    died, sex = fact.died or before.died, fact.sex or before.sex
    return replace(fact, name=name, born=born, died=died, sex=sex, details=details)


def _kept(scope: Scope) -> ColumnElement[bool]:
    return and_(facts.c.tenant == tenant_of(scope), facts.c.state != REJECTED)


def _kind(kind: type[Fact]) -> list[ColumnElement[bool]]:
    return [facts.c.kind == kind.kind]


def _of(kind: type[Known], found: Iterable[Fact]) -> list[Known]:
    return [fact for fact in found if isinstance(fact, kind)]


def _named(wanted: str) -> ColumnElement[bool]:
    """Whole words of a name: “iron” is not in “environment”."""
    patterns = [f"{before}{wanted}{after}" for before in "| " for after in "| "]
    return or_(*(facts.c.name.contains(pattern, autoescape=True) for pattern in patterns))


def _meant(result: LabResult, wanted: str) -> LabResult:
    """The part of a panel that a name means, as a result of its own."""
    parts = [part for part in result.parts if wanted in folded(part.test_name)]
    if len(parts) != 1 or wanted in folded(result.test_name):
        return result
    part = parts[0]
    return replace(
        result,
        test_name=part.test_name,
        code=part.code,
        value=part.value,
        value_text=part.value_text,
        unit=part.unit,
        range_low=None,
        range_high=None,
        flag=None,
        parts=(),
    )


def let_go(engine: Engine, path: Path, document_ids: Collection[str], scope: Scope) -> tuple[list[Fact], list[Fact]]:
    """Which facts stay, as the person's own word, and which go with these papers; what was rejected stays rejected."""
    mine = and_(facts.c.tenant == tenant_of(scope), facts.c.document_id.in_(document_ids))
    kept, gone = [], []
    with writing(engine, path) as connection:
        for row in connection.execute(select(facts).where(mine)).all():
            if row.state not in (CONFIRMED, REJECTED):
                gone.append(read_fact(row.body))
                continue
            body = fact_json(replace(read_fact(row.body), origin=REPORTED))
            this = and_(facts.c.tenant == row.tenant, facts.c.id == row.id)
            connection.execute(update(facts).where(this).values(body=body, document_id=None, changed_at=now()))
            kept += [read_fact(body)] if row.state == CONFIRMED else []
    return kept, gone
