"""What others keep in the same library cannot be told from the work that a search or a look takes.

Times differ between two runs of the same thing, so the work itself is counted: statements, rows read, steps inside
SQLite, and rows of vectors that are scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from starlette.testclient import TestClient

from citewell.adapters.index import compact_scope as compact
from citewell.adapters.index import dense, exact
from citewell.adapters.index.tenant_indexes import TenantIndex
from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.store.tenant_shelf import TenantShelf
from citewell.api.app import create_app
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import NotFound
from citewell.ingest.library_changes import add
from citewell.ingest.parse_cut_embed import FileReader
from citewell.minilm.tokenizer import WordPiece
from citewell.ports import RankedCandidate
from citewell.types import EVERY, Filing, LibraryEntry, MatchReason, ParseLimits, Scope, Source, User
from tests.faults.churn import Hashes
from tests.on_postgres import IS_ON_POSTGRES
from tests.work import Work, watched

pytestmark = pytest.mark.skipif(IS_ON_POSTGRES, reason="counts the steps of SQLite")

OWN, FEW, MANY = 6, 4, 60
SPARE_STEPS = 3
"""For each statement: the first row of another tenant is met and left where else the table ends, and sorting goes by
ids that are random. Going through a row that is not shown takes more, and there are sixty of these."""
SCOPES = [
    Scope.owner("clinic"),
    Scope("clinic", frozenset(), None, None),
    Scope("clinic", frozenset({"ward"}), "birth", "ann"),
    Scope("clinic", frozenset({"unknown"}), EVERY, None),
    Scope("nobody", frozenset({EVERY}), EVERY, EVERY),
]


@dataclass
class Shelf:
    """A library, and its index as the product makes it."""

    library: SqlLibrary
    index: TenantIndex
    reader: FileReader

    def add(
        self, tenant: str, number: int, *, sentences: int = 1, tags: tuple[str, ...] = ("public", "ward")
    ) -> LibraryEntry:
        words = " ".join(f"Fever is treated in way {number} of {tenant} {one}." for one in range(sentences))
        source = Source(f"Fever {number}\n\n{words}".encode(), f"{tenant}-{number}.txt")
        filing = Filing(frozenset(tags), frozenset({"birth"} if number % 2 else ()), "ann" if number % 3 == 1 else None)
        return add(source, filing=filing, scope=Scope.owner(tenant), library=self.library, reader=self.reader).entry

    def search(self, scope: Scope) -> list[str]:
        """A search from the question's vector to the hits; the texts found."""
        vector = Hashes().embed(["fever"])[0]
        found = self.index.candidates(vector, {"fever": 1.0, "way": 0.5}, scope=scope, limit=1_000)
        ranked = [RankedCandidate(one, one.cosine, 0.5, MatchReason(None, None, (), None)) for one in found]
        self.library.sentences(found)
        return [hit.text for hit in self.library.hits(ranked, scope)]


def opened(path: Path, foreign: int) -> Shelf:
    """The same documents of the clinic, and so many of others before, between and after them."""
    library = SqlLibrary(path)
    reader = FileReader(all_parsers(), WordPiece.load(), Hashes(), ParseLimits())
    shelf = Shelf(library, TenantIndex(partial(TenantShelf, library)), reader)
    for number in range(OWN):
        for other in range(foreign * number // OWN, foreign * (number + 1) // OWN):
            shelf.add(("hospital", "another")[other % 2], other)
        shelf.add("clinic", number)
    return shelf


@pytest.fixture(scope="module")
def shelves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Shelf]]:
    folder = tmp_path_factory.mktemp("work")
    with ExitStack() as stack:
        made = {foreign: opened(folder / f"{foreign}.sqlite", foreign) for foreign in (0, FEW, MANY)}
        for shelf in made.values():
            stack.callback(shelf.library.close)
        yield made


class Scored:
    """How many rows of vectors were multiplied with a question's."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rows = 0
        for module, name in ((dense, "products"), (exact, "cosines_of"), (compact, "cosines_of")):
            patch.setattr(module, name, self._counting(getattr(module, name)))

    def _counting(self, product: Callable[..., Any]) -> Callable[..., Any]:
        def counted(rows: Any, vector: Any) -> Any:
            self.rows += len(rows)
            return product(rows, vector)

        return counted


def same_work(found: list[Work]) -> None:
    """Nothing differs between nobody else, a few others and many, but for what is spare."""
    alone, few, many = found
    assert alone.statements == few.statements == many.statements
    assert alone.rows == few.rows == many.rows
    steps = [one.steps for one in found]
    assert max(steps) - min(steps) <= SPARE_STEPS * len(alone.statements) < MANY


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: f"{scope.tenant}-{'-'.join(sorted(scope.tags))}")
def test_a_search_costs_the_same_whatever_others_keep(
    shelves: dict[int, Shelf], monkeypatch: pytest.MonkeyPatch, scope: Scope
) -> None:
    for shelf in shelves.values():
        shelf.index = TenantIndex(partial(TenantShelf, shelf.library))
    scored, texts = Scored(monkeypatch), []
    for _turn in ("first", "second", "laid out"):
        works, rows = [], []
        for shelf in shelves.values():
            before = scored.rows
            with watched(shelf.library.engine) as work:
                texts.append(shelf.search(scope))
            works.append(work)
            rows.append(scored.rows - before)
        same_work(works)
        assert rows[0] == rows[1] == rows[2]
        assert (rows[0] > 0) == bool(texts[0])
    assert all(one == texts[0] for one in texts)
    assert len({shelf.index.size() for shelf in shelves.values()}) == 1, "others are held in its memory"


def test_what_others_add_change_and_remove_costs_the_next_search_nothing(shelves: dict[int, Shelf]) -> None:
    shelf = shelves[FEW]
    scope = SCOPES[1]
    shelf.search(scope)
    shelf.search(scope)
    with watched(shelf.library.engine) as calm:
        shelf.search(scope)
    for change in ("added", "refiled", "erased"):
        if change == "added":
            entry = shelf.add("hospital", 1_000, sentences=40)
        elif change == "refiled":
            shelf.library.refile(entry.id, filing=Filing(frozenset({"lab"})), scope=Scope.owner("hospital"))
        else:
            shelf.library.erase(entry.id, Scope.owner("hospital"))
        with watched(shelf.library.engine) as work:
            shelf.search(scope)
        assert (work.statements, work.rows, work.steps) == (calm.statements, calm.rows, calm.steps), change


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: f"{scope.tenant}-{'-'.join(sorted(scope.tags))}")
def test_a_list_costs_the_same_whatever_others_keep(shelves: dict[int, Shelf], scope: Scope) -> None:
    works = []
    for shelf in shelves.values():
        with watched(shelf.library.engine) as work:
            shelf.library.entries(scope)
        works.append(work)
    same_work(works)


def test_an_id_of_another_tenant_costs_what_an_id_that_never_was_costs(shelves: dict[int, Shelf]) -> None:
    """However much stands behind it, and in how many ways it is filed."""
    shelf, scope = shelves[MANY], Scope.owner("clinic")
    small = shelf.add("hospital", 2_000, tags=("public",))
    large = shelf.add("hospital", 2_001, sentences=200, tags=("public", *(f"tag-{number}" for number in range(20))))
    looks: dict[str, Callable[[str, Scope], object]] = {
        "entry": shelf.library.entry,
        "opened": shelf.library.opened,
        "original": shelf.library.original,
        "erase": shelf.library.erase,
        "refile": lambda one, of: shelf.library.refile(one, filing=Filing(frozenset({"lab"})), scope=of),
        "is_erased": shelf.library.is_erased,
    }
    for name, look in looks.items():
        works = []
        for document_id in (str(uuid4()), small.id, large.id):
            with watched(shelf.library.engine) as work, suppress(NotFound):
                assert look(document_id, scope) is False, name
            works.append(work)
        same_work(works)


def test_over_http_an_id_of_another_tenant_is_an_id_that_never_was(tmp_path: Path) -> None:
    """The same status and words, after the same statements and rows, for everything that has an id."""
    with ExitStack() as stack:
        theirs = stack.enter_context(build(Settings(home=tmp_path, tenant="hospital")))
        ours = stack.enter_context(build(Settings(home=tmp_path, tenant="clinic")))
        for app in (theirs, ours):
            app.add_source(Source(b"# Fever\n\nGive paracetamol 1 g for fever in adults.", "fever.md"))
        ids = kept(theirs)
        site = create_app(ours, token="a-token-for-tests")  # not started: its worker would be counted too
        client = TestClient(site, base_url="http://127.0.0.1", headers={"Authorization": "Bearer a-token-for-tests"})
        for path, named in ids.items():
            works, told = [], []
            for one in (str(uuid4()), str(uuid4()), named):  # the first warms what is made once
                with watched(ours.library.engine) as work:
                    answer = client.get(path.format(id=one))
                works.append(work)
                told.append((answer.status_code, answer.text.replace(one, "ID")))
            assert told[1] == told[2], path
            assert told[2][0] == 404, path
            assert (works[1].statements, works[1].rows) == (works[2].statements, works[2].rows), path
            assert abs(works[2].steps - works[1].steps) <= SPARE_STEPS * len(works[1].statements), path


def kept(app: App) -> dict[str, str]:
    """Paths of the API, each with the id of something that this tenant keeps."""
    owner: User = app.owner()
    answered = app.ask_service.answer("How much paracetamol for fever in adults?", asker=owner)
    routed = app.ask_service.answer("Who tunes the carburettor of a zebra?", asker=owner)
    assert routed.routed_id is not None
    (document,) = app.entries()
    return {
        "/api/v1/documents/{id}": document.id,
        "/api/v1/documents/{id}/file": document.id,
        "/api/v1/conversations/{id}": str(answered.conversation_id),
        "/api/v1/audit/{id}": answered.answer.id,
        "/api/v1/inbox/{id}": routed.routed_id,
    }
