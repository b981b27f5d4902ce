"""Random scopes over a real library: nothing outside a scope is found, counted, named or routed to."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from citewell.adapters.index.tenant_indexes import TenantIndex
from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.tenant_shelf import TenantShelf
from citewell.adapters.store.users import SqlPeople
from citewell.answer.route_to_owner import UNROUTED, route
from citewell.errors import NotFound, ScopeRefused
from citewell.ingest.library_changes import add
from citewell.ingest.parse_cut_embed import FileReader
from citewell.minilm.tokenizer import WordPiece
from citewell.ports import RankedCandidate
from citewell.types import EVERY, Filing, Hit, LibraryEntry, MatchReason, ParseLimits, Role, Scope, Source
from tests.faults.churn import Hashes

SCOPES = int(os.environ.get("CITEWELL_SCOPES", "1000"))
"""`make soak` takes ten thousand."""
TENANTS = ("clinic", "hospital", "Clinic")
TAGS = ("public", "ward", "pay", "hr", "lab", "system")
JOURNEYS = ("birth", "birth-2", "hip")
SUBJECTS = ("ann", "bob")
DOCUMENTS = 36
ADMIN = "admin@example.org"


class Shelf:
    """A library of random documents, each knowing who may see it, and an owner for every tag of every tenant."""

    def __init__(self, library: SqlLibrary) -> None:
        self.library = library
        self.index = index_of(library)
        self.vector = Hashes().embed(["fever"])[0]
        self.entries = self._filled(random.Random(1))
        self.people = SqlPeople(library.engine, library.path)
        self.owners = {(tenant, tag): self._owned(tenant, tag) for tenant in TENANTS for tag in TAGS}

    def _owned(self, tenant: str, tag: str) -> str:
        owner = self.people.add(tenant=tenant, email=f"{tag}@x.example", name="", role=Role.MEMBER, tags=[])
        self.people.set_owner(tag, tenant=tenant, owner_id=owner.id)
        return owner.id

    def _filled(self, chance: random.Random) -> list[LibraryEntry]:
        reader = FileReader(all_parsers(), WordPiece.load(), Hashes(), ParseLimits())
        for number in range(DOCUMENTS):
            filing = Filing(
                tags=frozenset(chance.sample(TAGS, chance.randint(1, 3))),
                journeys=frozenset(chance.sample(JOURNEYS, chance.choice((0, 0, 1, 2)))),
                subject=chance.choice((None, None, *SUBJECTS)),
            )
            scope = Scope.owner(chance.choice(TENANTS))
            source = Source(f"Fever {number}\n\nFever is treated in way number {number}.".encode(), f"{number}.txt")
            add(source, filing=filing, scope=scope, library=self.library, reader=reader)
        return [entry for tenant in TENANTS for entry in self.library.entries(Scope.owner(tenant))]

    def seen(self, scope: Scope) -> dict[str, LibraryEntry]:
        """Who may see what, said a second time in plain Python."""
        return {entry.id: entry for entry in self.entries if _may_see(scope, entry)}


def index_of(library: SqlLibrary) -> TenantIndex:
    """The index as the product makes it over a file."""
    return TenantIndex(partial(TenantShelf, library))


def _may_see(scope: Scope, entry: LibraryEntry) -> bool:
    return (
        entry.tenant == scope.tenant
        and (EVERY in scope.tags or bool({"public", *scope.tags} & set(entry.tags)))
        and (scope.journey == EVERY or not entry.journeys or scope.journey in entry.journeys)
        and (scope.subject == EVERY or entry.subject is None or scope.subject == entry.subject)
    )


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    folder: Path = tmp_path_factory.mktemp("scopes")
    library = SqlLibrary(folder / "library.sqlite")
    yield Shelf(library)
    library.close()


def random_scope(chance: random.Random) -> Scope:
    """Any scope, also with names that no document has."""
    tags = chance.sample((*TAGS, EVERY, "unknown", "Ward", "war"), chance.choice((0, 1, 1, 2, 3)))
    return Scope(
        chance.choice((*TENANTS, "nobody", "clinic ")),
        frozenset(tags),
        chance.choice((None, EVERY, "unknown", "", *JOURNEYS)),
        chance.choice((None, EVERY, "unknown", "", *SUBJECTS)),
    )


@pytest.mark.slow
def test_random_scopes_see_what_is_theirs_and_nothing_else(shelf: Shelf) -> None:
    chance = random.Random(2)
    sizes = set()
    for _ in range(SCOPES):
        scope = random_scope(chance)
        seen = shelf.seen(scope)
        sizes.add(len(seen))
        found = shelf.index.candidates(shelf.vector, {"fever": 1.0, "way": 0.5}, scope=scope, limit=1_000)
        ranked = [RankedCandidate(one, one.cosine, 0.5, MatchReason(None, None, (), None)) for one in found]
        hits = shelf.library.hits(ranked, scope)
        assert {hit.document_id for hit in hits} == set(seen)
        assert len(found) == len(hits) == sum(entry.chunk_count for entry in seen.values())
        assert {(hit.document, hit.tags) for hit in hits} == {(entry.title, entry.tags) for entry in seen.values()}
        _check_route(shelf, scope, hits)
    assert len(sizes) > 10, "the scopes were all alike"


def _check_route(shelf: Shelf, scope: Scope, hits: list[Hit]) -> None:
    """A question goes to an owner of the same tenant, for a tag that the asker holds and a passage carries."""
    found = route("Low confidence", hits, scope=scope, owners=shelf.people, admin_email=ADMIN)
    held = {tag for hit in hits for tag in hit.tags if EVERY in scope.tags or tag in scope.tags} - UNROUTED
    if not held:
        assert (found.tag, found.owner_id, found.owner_email) == ("system", None, ADMIN)
        return
    assert found.tag in held
    assert found.owner_id == shelf.owners[scope.tenant, found.tag]


@pytest.mark.slow
def test_lists_and_single_documents_keep_to_the_scope(shelf: Shelf) -> None:
    chance = random.Random(3)
    for _ in range(500):
        scope = random_scope(chance)
        seen = shelf.seen(scope)
        assert {entry.id: entry for entry in shelf.library.entries(scope)} == seen
        entry = chance.choice(shelf.entries)
        if entry.id in seen:
            assert shelf.library.opened(entry.id, scope)[0] == entry
            continue
        for look in (shelf.library.entry, shelf.library.opened, shelf.library.original):
            with pytest.raises(NotFound, match=r"^Document not found"):
                look(entry.id, scope)


@pytest.mark.slow
def test_a_score_does_not_depend_on_what_is_outside_the_scope(shelf: Shelf, tmp_path: Path) -> None:
    """The same question to a library that never held anything else gives the same numbers."""
    chance = random.Random(4)
    reader = FileReader(all_parsers(), WordPiece.load(), Hashes(), ParseLimits())
    for round_ in range(12):
        scope = random_scope(chance)
        alone = SqlLibrary(tmp_path / f"{round_}.sqlite")
        for entry in sorted(shelf.seen(scope).values(), key=lambda entry: entry.added_at):
            source = shelf.library.original(entry.id, Scope.owner(entry.tenant))
            filing = Filing(frozenset(entry.tags), frozenset(entry.journeys), entry.subject)
            add(source, filing=filing, scope=Scope.owner(entry.tenant), library=alone, reader=reader)

        def scores(index: TenantIndex, scope: Scope = scope) -> list[tuple[float, float, float]]:
            found = index.candidates(shelf.vector, {"fever": 1.0, "way": 0.5}, scope=scope, limit=1_000)
            return sorted((one.cosine, one.lexical_score, one.coverage) for one in found)

        assert scores(index_of(alone)) == scores(shelf.index)
        alone.close()


@pytest.mark.parametrize("tenant", ["", EVERY])
def test_a_scope_without_a_tenant_is_refused(shelf: Shelf, tenant: str) -> None:
    with pytest.raises(ScopeRefused):
        shelf.index.candidates(shelf.vector, {"fever": 1.0}, scope=Scope(tenant, frozenset(), None, None), limit=5)
