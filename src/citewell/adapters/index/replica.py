"""A copy of the library's vectors and words in a Qdrant server, and how it is kept like the library.

Nothing is sent as an event that could be lost. The copy keeps a ledger of what it holds, one line per document version
with a mark of its filing; what differs from the library is what is still to be sent. It can be begun anew at any time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from typing import Any, Protocol, TypeVar

from citewell.adapters.index.replica_points import MEANING, WORDS, FiledVersion, ReplicaLag, ReplicaVersion, points_of
from citewell.errors import CitewellError, MissingExtra, ReplicaUnavailable
from citewell.ports import Shelf

ALIAS = "citewell"
LEDGER = "citewell_ledger"
BATCH = 256
STAMP_ID = 0

T = TypeVar("T")


class ShelfWithFilings(Shelf, Protocol):
    """A shelf that also tells how its documents are filed."""

    def filings(self) -> dict[int, FiledVersion]:
        """Of every current generation."""
        ...

    def embedder(self) -> str | None:
        """The fingerprint of the vectors in use."""
        ...


class Replica:
    """The copy: written by one feeder at a time, read by any number of processes."""

    def __init__(self, client: Any, *, is_local: bool = False) -> None:
        self.client = client
        self.is_local = is_local
        self._feeding = threading.Lock()

    # ---------------------------------------------------------------------------------------------------- feeding

    def feed(self, shelf: ShelfWithFilings, *, watch: Callable[[int, int], None] | None = None) -> int:
        """Make the copy like the library; how many document versions were sent, filed anew or taken away."""
        with self._feeding, _told():
            stamp = shelf.stamp()
            filings = shelf.filings()
            if self._collection() is None or self._fact("embedder") != shelf.embedder():
                return self._rebuilt(shelf, stamp, filings, watch)
            held = self.ledger()
            gone = [one for one in held if one not in filings]
            new = [filing for filing in filings if filing not in held]
            refiled = [one for one, filed in filings.items() if one in held and held[one].mark != filed.mark]
            self._drop(gone)
            for generation in refiled:
                self._refile(generation, filings[generation], held[generation])
            self._send((ALIAS, LEDGER), shelf, new, filings, watch)
            self._set_facts(LEDGER, stamp=stamp, embedder=shelf.embedder())
            return len(gone) + len(refiled) + len(new)

    def rebuild(self, shelf: ShelfWithFilings, *, watch: Callable[[int, int], None] | None = None) -> int:
        """Fill a new collection while the old one answers, then let the name lead to the new one."""
        with self._feeding, _told():
            return self._rebuilt(shelf, shelf.stamp(), shelf.filings(), watch)

    def lag(self, shelf: ShelfWithFilings) -> ReplicaLag:
        """What `feed` would have to do now."""
        with _told():
            if self._collection() is None:
                return ReplicaLag(len(shelf.filings()), 0, is_current=False)
            filings, held = shelf.filings(), self.ledger()
            missing = sum(one not in held or held[one].mark != filed.mark for one, filed in filings.items())
            return ReplicaLag(
                missing, sum(version not in filings for version in held), is_current=self.stamp() == shelf.stamp()
            )

    # ---------------------------------------------------------------------------------------------------- reading

    def stamp(self) -> int | None:
        """The stamp of the library that the copy is like; None before it was fed."""
        stamp = self._fact("stamp")
        return None if stamp is None else int(stamp)

    def ledger(self) -> dict[int, ReplicaVersion]:
        """What the copy holds, by generation."""
        found: dict[int, ReplicaVersion] = {}
        offset = None
        while True:
            points, offset = self.client.scroll(LEDGER, limit=1_000, offset=offset, with_payload=True)
            for point in points:
                if int(point.id) != STAMP_ID:
                    told = point.payload
                    found[int(point.id)] = ReplicaVersion(str(told["mark"]), int(told["chunks"]), int(told["length"]))
            if offset is None:
                return found

    # ---------------------------------------------------------------------------------------------------- inside

    def _rebuilt(
        self,
        shelf: ShelfWithFilings,
        stamp: int,
        filings: dict[int, FiledVersion],
        watch: Callable[[int, int], None] | None,
    ) -> int:
        from qdrant_client import models

        old = self._collection()
        name = f"{ALIAS}_{int(time.time() * 1000)}"
        ledger = f"{name}_ledger"
        dimensions = next((stored.vectors.shape[1] for stored in shelf.load(list(filings)[:1])), 384)
        self.client.create_collection(
            name,
            vectors_config={MEANING: models.VectorParams(size=dimensions, distance=models.Distance.DOT)},
            sparse_vectors_config={WORDS: models.SparseVectorParams()},
        )
        nothing = models.VectorParams(size=1, distance=models.Distance.DOT)
        self.client.create_collection(ledger, vectors_config={"none": nothing})
        if not self.is_local:  # the local mode has no indexes on payloads and warns of each
            self._make_indexes(name)
        self._send((name, ledger), shelf, list(filings), filings, watch)
        self._set_facts(ledger, stamp=stamp, embedder=shelf.embedder())
        flips: list[Any] = [
            models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=made, alias_name=alias))
            for made, alias in ((name, ALIAS), (ledger, LEDGER))
        ]
        if old is not None:
            flips[:0] = [
                models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))
                for alias in (ALIAS, LEDGER)
            ]
        self.client.update_collection_aliases(change_aliases_operations=flips)
        for unused in [collection.name for collection in self.client.get_collections().collections]:
            if unused.startswith(f"{ALIAS}_") and unused not in (name, ledger):
                self.client.delete_collection(unused)
        return len(filings)

    def _make_indexes(self, collection: str) -> None:
        from qdrant_client import models

        tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        self.client.create_payload_index(collection, "tenant", field_schema=tenant)
        for kind, fields in (
            ("keyword", ("tags", "journeys", "subject")),
            ("bool", ("is_universal", "is_general")),
            ("integer", ("terms", "generation")),
        ):
            for field in fields:
                self.client.create_payload_index(collection, field, field_schema=kind)

    def _collection(self) -> str | None:
        """The collection that the name leads to."""
        aliases = self.client.get_aliases().aliases
        return next((alias.collection_name for alias in aliases if alias.alias_name == ALIAS), None)

    def _send(
        self,
        into: tuple[str, str],
        shelf: ShelfWithFilings,
        wanted: Sequence[int],
        filings: dict[int, FiledVersion],
        watch: Callable[[int, int], None] | None,
    ) -> None:
        done = 0
        for few in _batches(sorted(wanted), 16):
            seen = set()
            for stored in shelf.load(few):
                length = 0
                for points in _batches(points_of(stored, filings[stored.generation]), BATCH):
                    self.client.upsert(into[0], points=[point for point, _ in points], wait=True)
                    length += sum(words for _, words in points)
                held = ReplicaVersion(filings[stored.generation].mark, len(stored.vectors), length)
                self._note(into[1], stored.generation, held)
                seen.add(stored.generation)
            for generation in set(few) - seen:  # a document without passages
                self._note(into[1], generation, ReplicaVersion(filings[generation].mark, 0, 0))
            done += len(few)
            if watch is not None:
                watch(done, len(wanted))

    def _note(self, ledger: str, generation: int, held: ReplicaVersion) -> None:
        from qdrant_client import models

        self.client.upsert(
            ledger, points=[models.PointStruct(id=generation, vector={}, payload=asdict(held))], wait=True
        )

    def _refile(self, generation: int, filed: FiledVersion, held: ReplicaVersion) -> None:
        self.client.set_payload(ALIAS, payload=filed.payload, points=_of([generation]), wait=True)
        self._note(LEDGER, generation, replace(held, mark=filed.mark))

    def _drop(self, gone: list[int]) -> None:
        from qdrant_client import models

        for few in _batches(gone, 500):
            self.client.delete(ALIAS, points_selector=models.FilterSelector(filter=_of(few)), wait=True)
            self.client.delete(LEDGER, points_selector=models.PointIdsList(points=list(few)), wait=True)

    def _fact(self, name: str) -> Any:
        if self._collection() is None:
            return None
        found = self.client.retrieve(LEDGER, ids=[STAMP_ID], with_payload=True)
        return found[0].payload.get(name) if found else None

    def _set_facts(self, ledger: str, **facts: Any) -> None:
        from qdrant_client import models

        self.client.upsert(ledger, points=[models.PointStruct(id=STAMP_ID, vector={}, payload=facts)], wait=True)


def connect(address: str, *, key: str | None = None) -> Replica:
    """The copy at an address, or in a folder of this machine (`local:/folder`), which serves trials and tests."""
    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise MissingExtra("A search copy in Qdrant needs an extra: pip install 'citewell[qdrant]'.") from error
    with _told():
        if address.startswith("local:"):
            place = address.removeprefix("local:")
            client = QdrantClient(":memory:") if place == ":memory:" else QdrantClient(path=place)
            return Replica(client, is_local=True)
        return Replica(QdrantClient(url=address, api_key=key, timeout=10, check_compatibility=False))


def _of(generations: Iterable[int]) -> Any:
    from qdrant_client import models

    wanted = models.FieldCondition(key="generation", match=models.MatchAny(any=list(generations)))
    return models.Filter(must=[wanted])


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while few := list(islice(rest, size)):
        yield few


@contextmanager
def _told() -> Iterator[None]:
    """Whatever goes wrong there is said in one sentence; the library's own index answers meanwhile."""
    try:
        yield
    except CitewellError:
        raise
    except Exception as error:
        raise ReplicaUnavailable(
            f"The Qdrant server is not responding ({type(error).__name__}). Searches use the library's own index. "
            "Check CITEWELL_QDRANT_URL, then run `citewell replica feed`."
        ) from error
