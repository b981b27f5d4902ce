"""What every index owes: the right candidates, both scores, nothing from outside the scope, and what is current now."""

from __future__ import annotations

import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.adapters.index import compact_scope as compact
from citewell.adapters.index import dense, exact
from citewell.adapters.index import segment as rough
from citewell.adapters.index.bm25 import TUNING
from citewell.adapters.index.exact import ExactIndex, Size
from citewell.adapters.index.tenant_indexes import TenantIndex
from citewell.adapters.store.postgres import open_postgres
from citewell.errors import EmbedderMismatch, LibraryError
from citewell.ingest.postings import pack
from citewell.ports import Candidate, Index, IndexedVersion, Shelf, Vector, Vectors
from citewell.types import EVERY, Scope
from tests.contracts.mirror import mirrored

Open = Callable[[Shelf], Index]

ADAPTERS: dict[str, Open] = {"exact": ExactIndex, "tenants": lambda shelf: TenantIndex(lambda _tenant: shelf)}
"""Every adapter runs the whole suite; an adapter opens on a shelf."""

HERE = Scope.owner("here")
DIMENSIONS = 8


@dataclass(frozen=True)
class Document:
    """A document version on the test's shelf: one list of terms and one vector per chunk."""

    passages: Sequence[Sequence[str]]
    vectors: Vectors
    tenant: str = "here"
    tags: frozenset[str] = frozenset({"public"})


class MemoryShelf:
    """A shelf that keeps documents in a dictionary."""

    def __init__(self, *documents: Document) -> None:
        self.documents: dict[int, Document] = {}
        self.changes = 0
        self.loaded: list[int] = []
        self.lock = threading.RLock()
        for document in documents:
            self.add(document)

    def add(self, document: Document, *, replaces: int | None = None) -> int:
        with self.lock:
            self.changes += 1
            if replaces is not None:
                del self.documents[replaces]
            self.documents[self.changes] = document
            return self.changes

    def delete(self, generation: int) -> None:
        with self.lock:
            self.changes += 1
            del self.documents[generation]

    def retag(self, generation: int, tag: str) -> None:
        with self.lock:
            self.changes += 1
            self.documents[generation] = replace(self.documents[generation], tags=frozenset({tag}))

    def stamp(self) -> int:
        return self.changes

    def current(self) -> list[int]:
        with self.lock:
            return list(self.documents)

    def visible(self, scope: Scope) -> list[int]:
        with self.lock:
            return [
                generation
                for generation, document in self.documents.items()
                if document.tenant == scope.tenant
                and (EVERY in scope.tags or (scope.tags | {"public"}) & document.tags)
            ]

    def load(self, generations: Sequence[int]) -> Iterator[IndexedVersion]:
        for generation in reversed(generations):
            with self.lock:
                document = self.documents.get(generation)
            if document is not None:
                self.loaded.append(generation)
                yield IndexedVersion(generation, document.vectors, pack(document.passages))


@pytest.fixture(params=[*ADAPTERS, "pgvector"])
def open_index(request: pytest.FixtureRequest) -> Iterator[Open]:
    if request.param != "pgvector":
        yield ADAPTERS[request.param]
        return
    engine = open_postgres(request.getfixturevalue("postgres_url"))
    yield mirrored(engine)
    engine.dispose()


def unit(*numbers: float) -> Vector:
    """A unit vector that begins with these numbers."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.float32(np.linalg.norm(vector))


def document(*passages: str, tenant: str = "here", tags: frozenset[str] = frozenset({"public"})) -> Document:
    """A document of these passages, whose vectors are made from their words alone."""
    return Document([passage.split() for passage in passages], np.stack([embed(p) for p in passages]), tenant, tags)


def embed(passage: str) -> Vector:
    """The same unit vector for the same words."""
    words = np.random.default_rng([ord(letter) for letter in passage] or [0])
    return unit(*words.standard_normal(DIMENSIONS))


def weights(question: str) -> dict[str, float]:
    return dict.fromkeys(question.split(), 1.0)


def expected(
    shelf: MemoryShelf, vector: Vector, terms: Mapping[str, float], *, scope: Scope, limit: int
) -> list[Candidate]:
    """What a plain reading of the definition gives."""
    chunks = [
        (generation, place, list(passage), shelf.documents[generation].vectors[place].astype(np.float64))
        for generation in sorted(shelf.visible(scope))
        for place, passage in enumerate(shelf.documents[generation].passages)
    ]
    mean = sum(len(passage) for _, _, passage, _ in chunks) / max(len(chunks), 1)
    present = {term: sum(term in passage for _, _, passage, _ in chunks) for term in terms}
    rarity = {
        term: weight * math.log(1 + (len(chunks) - present[term] + 0.5) / (present[term] + 0.5))
        for term, weight in terms.items()
    }
    lexical, coverage = {}, {}
    for generation, place, passage, _ in chunks:
        score = 0.0
        for term in terms:
            frequency = Counter(passage)[term]
            damping = TUNING.k1 * (1 - TUNING.b + TUNING.b * len(passage) / max(mean, 1.0))
            score += rarity[term] * (TUNING.k1 + 1) * frequency / (frequency + damping)
        lexical[generation, place] = score
        held = sum(rarity[term] for term in terms if term in passage)
        coverage[generation, place] = held / sum(rarity.values()) if terms else 0.0
    cosine = {(generation, place): float(row @ vector) for generation, place, _, row in chunks}
    dense_order = sorted(cosine, key=lambda key: (-cosine[key], key))[:limit]
    lexical_order = sorted((key for key in lexical if lexical[key] > 0), key=lambda key: (-lexical[key], key))[:limit]
    return [
        Candidate(
            *key,
            cosine[key],
            lexical[key],
            dense_order.index(key) + 1 if key in dense_order else None,
            lexical_order.index(key) + 1 if key in lexical_order else None,
            coverage[key],
        )
        for key in dict.fromkeys(dense_order + lexical_order)
    ]


def assert_same(found: Sequence[Candidate], wanted: Sequence[Candidate]) -> None:
    """The same passages and ranks in the same order, and scores that differ by rounding at most."""
    assert [(one.generation, one.chunk_index, one.dense_rank, one.lexical_rank) for one in found] == [
        (one.generation, one.chunk_index, one.dense_rank, one.lexical_rank) for one in wanted
    ]
    assert [one.cosine for one in found] == pytest.approx([one.cosine for one in wanted], abs=1e-6)
    assert [one.lexical_score for one in found] == pytest.approx([one.lexical_score for one in wanted])
    assert [one.coverage for one in found] == pytest.approx([one.coverage for one in wanted])


WORDS = ["dose", "renal", "fever", "adult", "child", "stroke", "sepsis", "statin"]
passages = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
questions = st.dictionaries(st.sampled_from([*WORDS, "unheard"]), st.sampled_from([0.5, 1.0, 2.0]), max_size=4)
EXAMPLES = int(os.environ.get("CITEWELL_EXAMPLES", "30"))
"""`make soak` draws a hundred."""
per_adapter = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=EXAMPLES
)


class TestCandidates:
    @per_adapter
    @given(shelf=st.integers(0, 2**32), question=questions, limit=st.integers(1, 12))
    def test_are_the_union_of_both_lists_with_both_scores(
        self, open_index: Open, shelf: int, question: dict[str, float], limit: int
    ) -> None:
        random = np.random.default_rng(shelf)
        library = MemoryShelf()
        for _ in range(random.integers(1, 8)):
            count = random.integers(1, 5)
            texts = [" ".join(random.choice(WORDS, random.integers(0, 9))) for _ in range(count)]
            vectors = np.stack([unit(*random.standard_normal(DIMENSIONS)) for _ in range(count)])
            library.add(Document([text.split() for text in texts], vectors))
        vector = unit(*random.standard_normal(DIMENSIONS))
        index = open_index(library)
        found = index.candidates(vector, question, scope=HERE, limit=limit)
        asked = [(vector, question), (-vector, {"dose": 1.0}), (vector, {})]
        each = [index.candidates(*one, scope=HERE, limit=limit) for one in asked]
        assert index.candidates_of_each(asked, scope=HERE, limit=limit) == each
        wanted = expected(library, vector, question, scope=HERE, limit=limit)
        assert {(one.generation, one.chunk_index) for one in found if one.dense_rank} == {
            (one.generation, one.chunk_index) for one in wanted if one.dense_rank
        }
        if len({round(one.lexical_score, 4) for one in wanted}) == len(wanted):
            assert_same(found, wanted)

    def test_in_words(self, open_index: Open) -> None:
        shelf = MemoryShelf(
            Document([["fever"], ["dose", "dose", "renal"]], np.stack([unit(1), unit(0, 1)])),
            Document([["sepsis"]], np.stack([unit(0.6, 0.8)])),
        )
        found = open_index(shelf).candidates(unit(1), {"dose": 1.0}, scope=HERE, limit=1)
        wanted = expected(shelf, unit(1), {"dose": 1.0}, scope=HERE, limit=1)
        assert [(one.generation, one.chunk_index) for one in found] == [(1, 0), (1, 1)]
        assert_same(found, wanted)

    def test_a_heavier_term_wins(self, open_index: Open) -> None:
        shelf = MemoryShelf(document("dose adult"), document("renal adult"))
        index = open_index(shelf)
        for heavy, light, winner in (("dose", "renal", 1), ("renal", "dose", 2)):
            found = index.candidates(unit(1), {heavy: 2.0, light: 1.0}, scope=HERE, limit=2)
            assert [one.generation for one in found if one.lexical_rank == 1] == [winner]

    def test_a_term_without_weight_counts_for_nothing(self, open_index: Open) -> None:
        index = open_index(MemoryShelf(document("dose adult"), document("renal child")))
        with_zero = index.candidates(unit(1), {"dose": 1.0, "renal": 0.0}, scope=HERE, limit=2)
        assert with_zero == index.candidates(unit(1), {"dose": 1.0}, scope=HERE, limit=2)

    def test_equal_scores_stand_in_the_order_of_the_library(self, open_index: Open) -> None:
        shelf = MemoryShelf(*(document("dose adult", "dose adult") for _ in range(20)))
        found = open_index(shelf).candidates(embed("dose adult"), weights("dose"), scope=HERE, limit=5)
        assert [(one.generation, one.chunk_index, one.dense_rank, one.lexical_rank) for one in found] == [
            (1, 0, 1, 1),
            (1, 1, 2, 2),
            (2, 0, 3, 3),
            (2, 1, 4, 4),
            (3, 0, 5, 5),
        ]

    def test_more_wanted_than_there_are(self, open_index: Open) -> None:
        shelf = MemoryShelf(document("dose", "fever"), document("renal"))
        found = open_index(shelf).candidates(embed("dose"), weights("dose"), scope=HERE, limit=1000)
        assert_same(found, expected(shelf, embed("dose"), weights("dose"), scope=HERE, limit=1000))
        assert len(found) == 3

    def test_a_question_without_any_known_term_is_answered_by_nearness_alone(self, open_index: Open) -> None:
        index = open_index(MemoryShelf(document("dose adult"), document("renal child")))
        for terms in ({}, {"unheard": 1.0}):
            found = index.candidates(embed("renal child"), terms, scope=HERE, limit=2)
            assert [(one.generation, one.lexical_score, one.lexical_rank) for one in found] == [
                (2, 0.0, None),
                (1, 0.0, None),
            ]

    def test_nothing_wanted(self, open_index: Open) -> None:
        assert open_index(MemoryShelf(document("dose"))).candidates(unit(1), weights("dose"), scope=HERE, limit=0) == []

    def test_rows_and_questions_that_are_not_numbers_keep_a_total_order(self, open_index: Open) -> None:
        broken = np.stack([unit(1), np.full(DIMENSIONS, np.nan, dtype=np.float32), -unit(1)])
        index = open_index(MemoryShelf(Document([["dose"], ["dose"], ["dose"]], broken)))
        found = index.candidates(unit(1), {}, scope=HERE, limit=3)
        assert [(one.chunk_index, one.cosine) for one in found] == [(0, 1.0), (1, 0.0), (2, -1.0)]
        lost = index.candidates(np.full(DIMENSIONS, np.nan, dtype=np.float32), {}, scope=HERE, limit=3)
        assert [(one.chunk_index, one.cosine) for one in lost] == [(0, 0.0), (1, 0.0), (2, 0.0)]

    def test_vectors_of_another_embedder_are_refused_with_the_command_that_helps(self, open_index: Open) -> None:
        index = open_index(MemoryShelf(document("dose")))
        with pytest.raises(EmbedderMismatch, match="citewell evidence reingest"):
            index.candidates(np.ones(3, dtype=np.float32), {}, scope=HERE, limit=1)

    def test_a_library_of_two_embedders_is_refused_with_the_command_that_helps(self, open_index: Open) -> None:
        shelf = MemoryShelf(document("dose"), Document([["dose"]], np.ones((1, 3), dtype=np.float32)))
        with pytest.raises(EmbedderMismatch, match="citewell evidence reingest"):
            open_index(shelf).candidates(unit(1), {}, scope=HERE, limit=1)


class TestCommonTerms:
    @pytest.fixture
    def shelf(self) -> MemoryShelf:
        texts = ["patient statin" if place % 100 == 0 else "patient fever" for place in range(1100)]
        return MemoryShelf(document(*texts))

    def test_are_left_out_when_a_rarer_term_remains(self, open_index: Open, shelf: MemoryShelf) -> None:
        index = open_index(shelf)
        both = index.candidates(unit(1), weights("patient statin"), scope=HERE, limit=2000)
        rarer = index.candidates(unit(1), weights("statin"), scope=HERE, limit=2000)
        assert [one._replace(coverage=0.0) for one in both] == [one._replace(coverage=0.0) for one in rarer]
        assert sum(one.lexical_rank is not None for one in both) == 11

    def test_count_as_covered_all_the_same(self, open_index: Open, shelf: MemoryShelf) -> None:
        found = open_index(shelf).candidates(unit(1), weights("patient statin"), scope=HERE, limit=2000)
        assert {one.coverage == pytest.approx(1.0) for one in found if one.lexical_rank} == {True}
        assert all(0 < one.coverage < 0.1 for one in found if not one.lexical_rank)

    def test_are_kept_when_there_is_nothing_rarer(self, open_index: Open, shelf: MemoryShelf) -> None:
        found = open_index(shelf).candidates(unit(1), weights("patient unheard"), scope=HERE, limit=2000)
        assert sum(one.lexical_rank is not None for one in found) == 1100

    def test_are_kept_in_a_small_library(self, open_index: Open) -> None:
        index = open_index(MemoryShelf(document(*["patient fever"] * 90, *["patient statin"] * 10)))
        found = index.candidates(unit(1), weights("patient statin"), scope=HERE, limit=100)
        assert sum(one.lexical_rank is not None for one in found) == 100


class TestScope:
    def test_an_empty_library_and_a_scope_that_sees_nothing_find_nothing(self, open_index: Open) -> None:
        for shelf in (MemoryShelf(), MemoryShelf(document("dose", tenant="elsewhere"))):
            assert open_index(shelf).candidates(unit(1), weights("dose"), scope=HERE, limit=5) == []

    def test_a_document_without_chunks_is_no_trouble(self, open_index: Open) -> None:
        shelf = MemoryShelf(Document([], np.zeros((0, DIMENSIONS), dtype=np.float32)), document("dose"))
        index = open_index(shelf)
        for _ in range(4):
            assert [one.generation for one in index.candidates(unit(1), {}, scope=HERE, limit=5)] == [2]
        assert sorted(shelf.loaded) in ([1, 2], [1, 1, 2, 2]), "once, and once more where vectors were left for later"

    def test_a_scope_sees_its_tags_and_what_is_public(self, open_index: Open) -> None:
        ward = frozenset({"ward"})
        shelf = MemoryShelf(document("dose"), document("dose", tags=ward), document("dose", tags=frozenset({"icu"})))
        index = open_index(shelf)
        for scope, seen in ((HERE, [1, 2, 3]), (Scope("here", ward, None, None), [1, 2])):
            found = index.candidates(unit(1), weights("dose"), scope=scope, limit=9)
            assert_same(found, expected(shelf, unit(1), weights("dose"), scope=scope, limit=9))
            assert sorted(one.generation for one in found) == seen

    @per_adapter
    @given(data=st.data(), limit=st.integers(1, 6), question=questions)
    def test_what_is_outside_changes_no_candidate_and_no_score(
        self, open_index: Open, data: st.DataObject, limit: int, question: dict[str, float]
    ) -> None:
        texts = data.draw(st.lists(st.lists(passages, min_size=1, max_size=4), max_size=6))
        mine = [document(*text) for text in texts]
        outside = [
            document(*text, tenant="elsewhere")
            for text in data.draw(st.lists(st.lists(passages, min_size=1, max_size=4), max_size=6))
        ]
        vector = embed(data.draw(passages))
        alone = MemoryShelf(*mine)
        order = data.draw(st.permutations([*range(len(mine)), *([-1] * len(outside))]))
        mixed, places = MemoryShelf(), {}
        spare = iter(outside)
        first = data.draw(st.integers(0, len(order)))
        index = open_index(mixed)
        for step, place in enumerate(order):
            if step == first:
                index.candidates(vector, question, scope=HERE, limit=limit)
            if place < 0:
                mixed.add(next(spare))
        for place, own in enumerate(mine):
            places[mixed.add(own)] = place + 1
            if data.draw(st.booleans()):
                index.candidates(vector, question, scope=HERE, limit=limit)
        wanted = open_index(alone).candidates(vector, question, scope=HERE, limit=limit)
        found = index.candidates(vector, question, scope=HERE, limit=limit)
        assert [one._replace(generation=places[one.generation]) for one in found] == wanted


class TestManyRows:
    """Large libraries may be searched in two passes; what is found must not differ."""

    COUNT, WIDTH = 21_000, 128

    @pytest.fixture(params=["clustered", "isotropic", "all alike", "spiky"])
    def shelf(self, request: pytest.FixtureRequest) -> MemoryShelf:
        random = np.random.default_rng(3)
        noise = random.standard_normal((self.COUNT, self.WIDTH))
        rows = {
            "clustered": noise + 3 * np.repeat(random.standard_normal((30, self.WIDTH)), 700, axis=0),
            "isotropic": noise,
            "all alike": np.ones((self.COUNT, self.WIDTH)),
            "spiky": np.where(noise > 2.5, 100.0, 0.01 * noise),
        }[request.param]
        vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return MemoryShelf(
            *(
                Document([["dose"]] * 1000, vectors[first : first + 1000])
                for first in range(0, self.COUNT - 1000, 1000)
            ),
            Document([["renal"]] * 1000, vectors[-1000:], tags=frozenset({"ward"})),
        )

    def test_are_all_looked_at(self, open_index: Open, shelf: MemoryShelf) -> None:
        random = np.random.default_rng(4)
        index = open_index(shelf)
        for scope in (HERE, Scope("here", frozenset(), None, None)):
            seen = [shelf.documents[generation].vectors for generation in shelf.visible(scope)]
            for _ in range(4):
                vector = random.standard_normal(self.WIDTH).astype(np.float32)
                vector /= np.float32(np.linalg.norm(vector))
                cosines = [cosine for vectors in seen for cosine in (vectors.astype(np.float64) @ vector).tolist()]
                found = index.candidates(vector, {}, scope=scope, limit=50)
                nearest = sorted(cosines, reverse=True)[:50]
                # as near as single precision is
                assert [one.cosine for one in found] == pytest.approx(nearest, abs=5e-7)
                again = index.candidates(vector, {}, scope=scope, limit=50)
                assert found == again


class TestRefresh:
    @per_adapter
    @given(steps=st.lists(st.tuples(st.sampled_from(["add", "replace", "delete"]), st.integers(0, 99)), max_size=25))
    def test_every_search_sees_what_is_current(self, open_index: Open, steps: list[tuple[str, int]]) -> None:
        shelf = MemoryShelf()
        index = open_index(shelf)
        for step, (change, number) in enumerate(steps):
            text = f"dose number{number} step{step}"
            known = sorted(shelf.documents)
            if change == "add" or not known:
                shelf.add(document(text, f"renal {text}"))
            elif change == "replace":
                shelf.add(document(text), replaces=known[number % len(known)])
            else:
                shelf.delete(known[number % len(known)])
            found = index.candidates(embed(text), weights(text), scope=HERE, limit=100)
            wanted = expected(shelf, embed(text), weights(text), scope=HERE, limit=100)
            assert {one.generation for one in found} == set(shelf.documents)
            assert [one.lexical_score for one in sorted_by_place(found)] == pytest.approx(
                [one.lexical_score for one in sorted_by_place(wanted)], rel=1e-5
            )

    def test_a_document_that_comes_back_is_found_once(self, open_index: Open) -> None:
        shelf = MemoryShelf(document("dose"), document("renal"))
        index = open_index(shelf)
        before = index.candidates(unit(1), weights("dose"), scope=HERE, limit=9)
        hidden = shelf.documents.pop(1)
        shelf.changes += 1
        assert [one.generation for one in index.candidates(unit(1), {}, scope=HERE, limit=9)] == [2]
        shelf.documents[1] = hidden
        shelf.changes += 1
        assert index.candidates(unit(1), weights("dose"), scope=HERE, limit=9) == before

    def test_only_new_documents_are_loaded(self, open_index: Open) -> None:
        shelf = MemoryShelf(*(document(f"dose {number}") for number in range(30)))
        index = open_index(shelf)
        index.candidates(unit(1), {}, scope=HERE, limit=1)
        for _ in range(12):
            new = shelf.add(document("fever"))
            shelf.loaded.clear()
            index.candidates(unit(1), {}, scope=HERE, limit=1)
            assert shelf.loaded == [new]

    def test_a_failed_refresh_is_told_and_the_next_search_reads_again(self, open_index: Open) -> None:
        class Failing(MemoryShelf):
            is_broken = False

            def load(self, generations: Sequence[int]) -> Iterator[IndexedVersion]:
                if self.is_broken:
                    raise LibraryError("The disk went away.")
                return super().load(generations)

        shelf = Failing(document("dose"))
        index = open_index(shelf)
        index.candidates(unit(1), {}, scope=HERE, limit=9)
        shelf.is_broken = True
        shelf.add(document("renal"))
        for _ in range(2):
            with pytest.raises(LibraryError, match="disk went away"):
                index.candidates(unit(1), {}, scope=HERE, limit=9)
        shelf.is_broken = False
        assert len(index.candidates(unit(1), {}, scope=HERE, limit=9)) == 2

    def test_vectors_that_are_missing_are_told(self, open_index: Open) -> None:
        class Losing(MemoryShelf):
            def load(self, generations: Sequence[int]) -> Iterator[IndexedVersion]:
                return super().load(generations[1:])

        with pytest.raises(LibraryError, match="citewell verify"):
            open_index(Losing(document("dose"), document("renal"))).candidates(unit(1), {}, scope=HERE, limit=9)

    def test_vectors_and_words_that_do_not_agree_are_told(self, open_index: Open) -> None:
        shelf = MemoryShelf(Document([["dose"]], np.stack([unit(1), unit(0, 1)])))
        with pytest.raises(LibraryError, match="citewell verify"):
            open_index(shelf).candidates(unit(1), {}, scope=HERE, limit=9)

    def test_readers_see_the_old_version_or_the_new_one_while_documents_are_replaced(self, open_index: Open) -> None:
        shelf = MemoryShelf(*(document(f"dose {number}", "renal") for number in range(10)))
        index = open_index(shelf)
        stop = threading.Event()

        def write() -> None:
            for number in range(60):
                shelf.add(document(f"dose {number}", "renal"), replaces=min(shelf.documents))
            stop.set()

        def search() -> list[int]:
            counts = []
            while not stop.is_set() or not counts:
                found = index.candidates(embed("renal"), weights("dose renal"), scope=HERE, limit=100)
                assert all(one.lexical_score > 0 for one in found)
                counts.append(len(found))
            return counts

        with ThreadPoolExecutor(4) as pool:
            searches = [pool.submit(search) for _ in range(3)]
            pool.submit(write).result()
            assert {count for task in searches for count in task.result()} == {20}
        found = index.candidates(embed("renal"), weights("dose"), scope=HERE, limit=100)
        assert {one.generation for one in found} == set(shelf.documents)


def sorted_by_place(candidates: Sequence[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda one: (one.generation, one.chunk_index))


class TestExactIndex:
    """What only the embedded index promises."""

    def test_says_how_much_it_holds(self) -> None:
        shelf = MemoryShelf(document("dose", "renal"), document("fever"))
        index = ExactIndex(shelf)
        assert index.size() == Size(0, 0, 0)
        index.candidates(unit(1), {}, scope=HERE, limit=1)
        held = index.size()
        assert (held.segments, held.rows) == (1, 3)
        assert held.bytes > 3 * DIMENSIONS * 4

    def test_small_additions_become_segments_and_are_merged_when_there_are_many(self) -> None:
        shelf = MemoryShelf(document(*(f"dose {number}" for number in range(1000))))
        index = ExactIndex(shelf)
        counts = []
        for number in range(20):
            index.candidates(unit(1), {}, scope=HERE, limit=1)
            counts.append(index.size().segments)
            shelf.add(document(f"renal {number}"))
        assert counts == [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4]

    def test_rows_of_documents_that_went_are_let_go(self) -> None:
        shelf = MemoryShelf(*(document("dose", "renal") for _ in range(10)))
        index = ExactIndex(shelf)
        rows = []
        for generation in range(1, 11):
            index.candidates(unit(1), {}, scope=HERE, limit=1)
            rows.append(index.size().rows)
            shelf.delete(generation)
        index.candidates(unit(1), {}, scope=HERE, limit=1)
        assert [*rows, index.size().rows] == [20, 20, 20, 14, 14, 10, 10, 6, 4, 2, 0]

    @settings(deadline=None)
    @given(data=st.data(), limit=st.integers(1, 12), question=questions)
    def test_a_small_view_that_is_seen_again_gives_the_same_to_the_bit(
        self, data: st.DataObject, limit: int, question: dict[str, float]
    ) -> None:
        ward = Scope("here", frozenset({"ward"}), None, None)
        shelf = MemoryShelf()
        index = ExactIndex(shelf)
        for _ in range(data.draw(st.integers(1, 4))):
            for text in data.draw(st.lists(st.lists(passages, min_size=1, max_size=4), min_size=1, max_size=5)):
                shelf.add(document(*text, tags=frozenset({data.draw(st.sampled_from(["ward", "icu"]))})))
            index.candidates(unit(1), {}, scope=HERE, limit=1)  # so that what comes next is a segment of its own
        vector = embed(data.draw(passages))
        for scope in (HERE, ward):
            visible = shelf.visible(scope)
            before = index.size().bytes
            wanted = ExactIndex(shelf).candidates(vector, question, scope=scope, limit=limit)
            assert [index.candidates(vector, question, scope=scope, limit=limit) for _ in range(3)] == [wanted] * 3
            assert (index.size().bytes > before) == bool(visible)

    def test_a_small_view_of_a_large_library_gives_the_same_to_the_bit(self) -> None:
        random = np.random.default_rng(6)
        rows = random.standard_normal((9_000, 384), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        words = np.array([f"w{number}" for number in range(200)])
        few = frozenset({"ward"})
        shelf = MemoryShelf(
            *(
                Document(
                    [random.choice(words, random.integers(0, 40)).tolist() for _ in range(30)],
                    rows[first : first + 30],
                    tags=few if first % 450 == 0 else frozenset({"icu"}),
                )
                for first in range(0, 9_000, 30)
            )
        )
        index = ExactIndex(shelf)
        scope = Scope("here", few, None, None)
        for question in range(20):
            terms = dict(zip(random.choice(words, 6), (1, 1, 1, 0.5, 0.2, 0.1), strict=True))
            found = index.candidates(rows[question], terms, scope=scope, limit=100)
            assert found == ExactIndex(shelf).candidates(rows[question], terms, scope=scope, limit=100)
            assert len(found) > 100

    def test_views_are_let_go_when_they_hold_too_much_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        shelf = MemoryShelf(*(document(*["dose renal"] * 50, tags=frozenset({f"ward{n}"})) for n in range(20)))
        index = ExactIndex(shelf)
        scopes = [Scope("here", frozenset({f"ward{number}"}), None, None) for number in range(20)]
        index.candidates(unit(1), {}, scope=HERE, limit=1)
        bare = index.size().bytes
        monkeypatch.setattr(exact, "MAX_VIEW_BYTES", 20_000)
        for scope in scopes:
            wanted = index.candidates(unit(1), weights("dose"), scope=scope, limit=9)
            assert [index.candidates(unit(1), weights("dose"), scope=scope, limit=9) for _ in range(2)] == [wanted] * 2
            assert bare < index.size().bytes <= bare + 20_000

    @pytest.mark.parametrize("broken", ["raises", "lies"])
    def test_a_processor_that_cannot_do_the_first_pass_finds_the_same(
        self, broken: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Session:
            def run(self, _names: None, _inputs: object) -> list[Vectors]:
                return [np.full((1, 20_000), -1.0, dtype=np.float32)]

        def session(*_arrays: object) -> Session:
            if broken == "raises":
                raise RuntimeError("no such kernel")
            return Session()

        rows = np.random.default_rng(5).standard_normal((20_000, 128), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        shelf = MemoryShelf(Document([[]] * 20_000, rows))
        wanted = ExactIndex(shelf).candidates(rows[7], {}, scope=HERE, limit=5)
        monkeypatch.setattr(rough, "_session", session)
        index = ExactIndex(shelf)
        assert [index.candidates(rows[7], {}, scope=HERE, limit=5) for _ in range(3)] == [wanted] * 3

    @settings(deadline=None, max_examples=25)
    @given(data=st.data())
    def test_views_that_are_kept_say_what_an_index_without_any_says_whatever_is_written_between(
        self, data: st.DataObject
    ) -> None:
        shelf = MemoryShelf(document("dose renal", "fever"))
        index = ExactIndex(shelf)
        scopes = [HERE, Scope.owner("there"), *(Scope("here", frozenset({tag}), None, None) for tag in ("ward", "icu"))]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compact, "FEW_PAIRS", data.draw(st.sampled_from([0, 1 << 16])))  # laid out beside, or at once
            patch.setattr(exact, "MAX_VIEW_BYTES", data.draw(st.sampled_from([3_000, 1 << 20])))
            for _ in range(data.draw(st.integers(1, 25))):
                known = sorted(shelf.documents)
                match data.draw(st.sampled_from(["search", "search", "search", "add", "retag", "delete"])):
                    case "add":
                        tags = frozenset({data.draw(st.sampled_from(["ward", "icu", "public"]))})
                        shelf.add(
                            document(
                                *data.draw(st.lists(passages, min_size=1, max_size=4)),
                                tenant=data.draw(st.sampled_from(["here", "there"])),
                                tags=tags,
                            )
                        )
                    case "retag" if known:
                        shelf.retag(data.draw(st.sampled_from(known)), data.draw(st.sampled_from(["ward", "icu"])))
                    case "delete" if known:
                        shelf.delete(data.draw(st.sampled_from(known)))
                    case _:
                        scope, question = data.draw(st.sampled_from(scopes)), data.draw(questions)
                        vector, limit = embed(data.draw(passages)), data.draw(st.integers(1, 9))
                        wanted = ExactIndex(shelf).candidates(vector, question, scope=scope, limit=limit)
                        assert index.candidates(vector, question, scope=scope, limit=limit) == wanted
                        held = index.size().bytes - sum(one.bytes for one in index._snapshot.segments)
                        assert held <= exact.MAX_VIEW_BYTES

    def test_a_view_is_laid_out_beside_the_searches_that_go_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        began, go = threading.Event(), threading.Event()

        def slow(*given: Any, **named: Any) -> compact.CompactIndex:
            began.set()
            assert go.wait(60)
            return compact.compact(*given, **named)

        monkeypatch.setattr(compact, "FEW_PAIRS", 0)
        monkeypatch.setattr(exact, "compact", slow)
        monkeypatch.setattr(exact, "core_count", lambda: 2)
        shelf = MemoryShelf(document("dose renal", "fever"), document("dose"))
        index = ExactIndex(shelf)
        found = [index.candidates(unit(1), weights("dose"), scope=HERE, limit=9) for _ in range(4)]
        assert began.wait(60)
        assert not isinstance(index._view(HERE), compact.CompactIndex)
        shelf.add(document("dose child"))  # what is being laid out is of yesterday
        newer = index.candidates(unit(1), weights("dose"), scope=HERE, limit=9)
        go.set()
        while not isinstance(index._view(HERE), compact.CompactIndex):
            threading.Event().wait(0.001)
        assert found == [found[0]] * 4
        assert len(newer) == len(found[0]) + 1
        assert index.candidates(unit(1), weights("dose"), scope=HERE, limit=9) == newer

    def test_two_cores_find_what_one_finds_to_the_bit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        random = np.random.default_rng(8)
        rows = random.standard_normal((21_000, 128), dtype=np.float32)
        rows[10_000:] = rows[:11_000]  # so that many score the same
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        words = np.array([f"w{number}" for number in range(50)])
        texts = [random.choice(words, 5).tolist() for _ in range(1_000)]
        tags = [frozenset({"ward"}) if number % 3 else frozenset({"icu"}) for number in range(21)]
        shelf = MemoryShelf(
            *(Document(texts, rows[1_000 * number :][:1_000], tags=tag) for number, tag in enumerate(tags))
        )
        found = []
        for cores in (1, 2, 5):
            monkeypatch.setattr(exact, "core_count", lambda cores=cores: cores)
            monkeypatch.setattr(dense, "ROWS_TO_SHARE", 1)
            index = ExactIndex(shelf)
            found.append(
                [
                    index.candidates(vector, weights("w1 w2 w3"), scope=scope, limit=limit)
                    for vector in (rows[3], rows[500], rows[20_999], 0.7 * rows[7] + 0.7 * rows[11])
                    for scope in (HERE, Scope("here", frozenset({"ward"}), None, None))
                    for limit in (5, 100)
                ]
            )
        assert found[0] == found[1] == found[2]
        assert all(found[0])
