"""PostgreSQL beside the embedded index, on the same rows and in the same run: `python bench/speed/postgres.py`.

`search` compares the index over a file with the index over PostgreSQL, its vectors in memory and in pgvector, with and
without a tag that one document in a hundred carries. `tenants` measures one tenant's search while others are added.
A server is started from the test package unless `--url` names an empty database.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from sqlalchemy import insert

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

from tests.postgres import running_server  # noqa: E402

from citewell.adapters.index.exact import ExactIndex  # noqa: E402
from citewell.adapters.index.postgres import PostgresIndex  # noqa: E402
from citewell.adapters.store import vectors  # noqa: E402
from citewell.adapters.store.library import SqlLibrary  # noqa: E402
from citewell.adapters.store.postgres import open_postgres  # noqa: E402
from citewell.adapters.store.row_mapping import now  # noqa: E402
from citewell.adapters.store.schema import document_tags, documents, generations, stamps  # noqa: E402
from citewell.adapters.store.schema import library as facts  # noqa: E402
from citewell.adapters.store.tenant_shelf import TenantShelf  # noqa: E402
from citewell.ingest.postings import pack  # noqa: E402
from citewell.ports import Index, IndexedVersion  # noqa: E402
from citewell.types import Scope  # noqa: E402
from speed.search import LIMIT, RECALL_AT, SyntheticShelf, _directions, _words  # noqa: E402

ALL = Scope.owner("t0")
FEW = Scope("t0", frozenset({"few"}), None, None)
IN_MEMORY, IN_DATABASE = 1 << 40, 0
KINDS = ("embedded", "postgres", "pgvector")
STEP = 400
DOCUMENTS = 100
"""Of each tenant."""
SPACE = 1_000
"""Between the numbers of one tenant's generations and the next one's."""
NUMBER = f"generation + {SPACE} * n"


def fill(library: SqlLibrary, rows: Iterable[tuple[str, str, IndexedVersion]]) -> None:
    """Write (tenant, tag, vectors and words) as documents; what search does not read is left empty."""
    engine, tenants = library.engine, set()
    blank = dict.fromkeys(("name", "title", "media_type", "content_hash", "chunk_strategy", "chunk_unit"), "")
    blank |= dict.fromkeys(("size_bytes", "page_count", "chunk_size", "chunk_overlap"), 0)  # type: ignore[arg-type]
    for batch in _steps(rows):
        with engine.connect().execution_options(writing=True) as connection, connection.begin():
            found = [
                {"id": str(one.generation), "lineage": str(one.generation), "tenant": tenant, "version": 1, **blank}
                | {"is_current": True, "state": "completed", "generation": one.generation, "added_at": now()}
                | {"identifiers": [], "notes": []}
                for tenant, _, one in batch
            ]
            connection.execute(insert(documents), found)
            tags = [{"document_id": str(one.generation), "tag": tag} for _, tag, one in batch]
            connection.execute(insert(document_tags), tags)
            read = [
                {"id": one.generation, "document_id": str(one.generation), "embedder": "", "made_at": now()}
                | {"text": "", "structure": b"", "layout": b"", "chunk_count": len(one.vectors), "sentence_count": 0}
                | {"postings": one.postings, "vectors": np.ascontiguousarray(one.vectors, "<f4").tobytes()}
                for _, _, one in batch
            ]
            connection.execute(insert(generations), read)
            if connection.dialect.name == "postgresql":
                for _, _, one in batch:
                    vectors.keep(connection, one.generation, one.vectors)
            new = {tenant for tenant, _, _ in batch} - tenants
            tenants |= new
            if new:
                connection.execute(insert(stamps), [{"tenant": tenant, "stamp": 1} for tenant in sorted(new)])
    with engine.connect().execution_options(writing=True) as connection, connection.begin():
        if library.stamp() == 0:
            connection.execute(insert(facts).values(key="stamp", value="1"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")


def _steps(rows: Iterable[tuple[str, str, IndexedVersion]]) -> Iterator[list[tuple[str, str, IndexedVersion]]]:
    batch = []
    for row in rows:
        batch.append(row)
        if len(batch) == STEP:
            yield batch
            batch = []
    if batch:
        yield batch


# ------------------------------------------------------------------------------------------------------------- search


def _server_cpu_ms(folder: Path | None) -> float:
    """Processor time that a server which we started has taken so far; its clock ticks a hundred times a second."""
    if folder is None:
        return 0.0
    parent = (folder / "data" / "postmaster.pid").read_text().splitlines()[0]
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            pid, rest = stat.parent.name, stat.read_text().rpartition(")")[2].split()
            if pid == parent:
                ticks += sum(map(int, rest[11:15]))  # its own, and of those that have ended
            elif rest[1] == parent:
                ticks += sum(map(int, rest[11:13]))
    return 1000 * ticks / os.sysconf("SC_CLK_TCK")


def measure_search(url: str, *, chunks: int, rounds: int, server_folder: Path | None) -> dict[str, float]:
    """The three indexes asked in turn, and how many of the truly nearest each found."""
    with tempfile.TemporaryDirectory() as folder:
        shelf = SyntheticShelf(chunks, Path(folder))
        few = set(shelf.few)
        rows = [("t0", "few" if one.generation in few else "many", one) for one in _shifted(shelf)]
        file, server = SqlLibrary(Path(folder) / "library.sqlite"), SqlLibrary(Path(folder), engine=open_postgres(url))
        for library in (file, server):
            fill(library, rows)
        of = partial(TenantShelf, server)
        indexes: dict[str, Index] = {
            "embedded": ExactIndex(file),
            "postgres": PostgresIndex(of, memory_bytes=IN_MEMORY),
            "pgvector": PostgresIndex(of, memory_bytes=IN_DATABASE),
        }
        row = _compared(indexes, shelf, few, rounds) | _processor(indexes, shelf, rounds, server_folder)
        for library in (file, server):
            library.close()
    return {"chunks": float(chunks)} | row


def _shifted(shelf: SyntheticShelf) -> Iterator[IndexedVersion]:
    """Numbers of generations begin at one."""
    for one in shelf.load(shelf.current()):
        yield IndexedVersion(one.generation + 1, one.vectors, one.postings)


def _compared(indexes: dict[str, Index], shelf: SyntheticShelf, few: set[int], rounds: int) -> dict[str, float]:
    generator = np.random.default_rng(7)
    questions = [shelf.question(generator) for _ in range(rounds + 2)]
    starts = np.array(shelf.starts)
    seen = np.concatenate([np.arange(*starts[[one - 1, one]]) for one in sorted(few)])
    times: dict[str, list[float]] = {}
    recalls: dict[str, list[float]] = {}
    same = []
    for number, (vector, terms) in enumerate(questions):
        for name, scope, rows in (("all", ALL, np.arange(len(shelf.vectors))), ("few", FEW, seen)):
            best = set(rows[np.argsort(-(shelf.vectors[rows] @ vector), kind="stable")[:RECALL_AT]].tolist())
            found = {}
            for kind, index in indexes.items():
                began = time.perf_counter()
                found[kind] = index.candidates(vector, terms, scope=scope, limit=LIMIT)
                took_ms = 1000 * (time.perf_counter() - began)
                ours = {starts[one.generation - 1] + one.chunk_index for one in found[kind][:RECALL_AT]}
                if number >= 2:  # the first two load what the others find loaded
                    times.setdefault(f"{kind}_{name}", []).append(took_ms)
                    recalls.setdefault(f"{kind}_{name}", []).append(len(best & ours) / RECALL_AT)
            same.append(found["embedded"] == found["postgres"] == found["pgvector"])
    row = {f"{name}_p50_ms": float(np.median(took)) for name, took in times.items()}
    for name in ("all", "few"):
        for kind in ("postgres", "pgvector"):
            row[f"{kind}_{name}_ratio"] = row[f"{kind}_{name}_p50_ms"] / row[f"embedded_{name}_p50_ms"]
    row |= {f"{name}_recall": float(np.mean(found)) for name, found in recalls.items()}
    return row | {"same_candidates": float(np.mean(same))}


def _processor(indexes: dict[str, Index], shelf: SyntheticShelf, rounds: int, folder: Path | None) -> dict[str, float]:
    """Processor time of one search, of this process and the server's together: what a busy machine does not change."""
    questions = [shelf.question(np.random.default_rng(8)) for _ in range(rounds)]
    row = {}
    for name, scope in (("all", ALL), ("few", FEW)):
        for kind, index in indexes.items():
            mine, theirs = time.process_time(), _server_cpu_ms(folder)
            for vector, terms in questions:
                index.candidates(vector, terms, scope=scope, limit=LIMIT)
            taken = 1000 * (time.process_time() - mine) + _server_cpu_ms(folder) - theirs
            row[f"{kind}_{name}_cpu_ms"] = taken / rounds
        for kind in ("postgres", "pgvector"):
            row[f"{kind}_{name}_cpu_ratio"] = row[f"{kind}_{name}_cpu_ms"] / row[f"embedded_{name}_cpu_ms"]
    return row


# ------------------------------------------------------------------------------------------------------------ tenants


def measure_tenants(
    url: str, *, sizes: Sequence[int], rounds: int, server_folder: Path | None
) -> list[dict[str, float]]:
    """One tenant's search with more and more others beside it, a hundred documents each."""
    generator = np.random.default_rng(3)
    packed = [pack(_words(generator)[:2]) for _ in range(DOCUMENTS)]
    stored = [IndexedVersion(one + 1, _directions(2, generator), packed[one]) for one in range(DOCUMENTS)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        library, before = SqlLibrary(Path(folder), engine=open_postgres(url)), 1
        fill(library, [("t0", "public", one) for one in stored])
        for size in sizes:
            _multiply(library, before, size)
            before = size
            of = partial(TenantShelf, library)
            row: dict[str, float] = {"tenants": float(size), "documents": float(DOCUMENTS * size)}
            for kind, memory in (("postgres", IN_MEMORY), ("pgvector", IN_DATABASE)):
                row |= _one_tenant(partial(PostgresIndex, of, memory_bytes=memory), kind, size, rounds, server_folder)
            rows.append(row)
            print(json.dumps(row), flush=True)
        library.close()
    return rows


def _multiply(library: SqlLibrary, first: int, last: int) -> None:
    """Give the documents of the first tenant to others, inside the database."""
    told = {
        documents: {"id": "n || '-' || id", "lineage": "n || '-' || id", "tenant": "'t' || n", "generation": NUMBER},
        generations: {"id": NUMBER.replace("generation", "id"), "document_id": "n || '-' || document_id"},
        document_tags: {"document_id": "n || '-' || document_id"},
        vectors.chunk_vectors: {"generation": NUMBER},
        stamps: {"tenant": "'t' || n"},
    }
    own = {documents: "tenant = 't0'", stamps: "tenant = 't0'", document_tags: "document_id NOT LIKE '%%-%%'"}
    with library.engine.connect().execution_options(writing=True) as connection, connection.begin():
        for table, changed in told.items():
            names = [column.name for column in table.columns]
            values = ", ".join(changed.get(name, f'"{name}"') for name in names)
            low = f"{'id' if table is generations else 'generation'} < {SPACE}"
            connection.exec_driver_sql(
                f"INSERT INTO {table.name} ({', '.join(f'{chr(34)}{name}{chr(34)}' for name in names)}) "
                f"SELECT {values} FROM {table.name}, generate_series({first}, {last - 1}) n WHERE {own.get(table, low)}"
            )
    with library.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


def _one_tenant(
    open_index: Callable[[], Index], kind: str, size: int, rounds: int, folder: Path | None
) -> dict[str, float]:
    """Cold: the first search of a tenant in a new process; warm: the same tenant again, others asked between."""
    generator, others = np.random.default_rng(9), random.Random(9)
    cold, warm, index = [], [], open_index()
    terms = {"w1": 1.0, "w7": 1.0, "w40": 1.0, "w300": 1.0}
    index.candidates(_directions(1, generator)[0], terms, scope=ALL, limit=LIMIT)
    for _ in range(rounds):
        vector = _directions(1, generator)[0]
        other = Scope.owner(f"t{others.randrange(size)}")
        for asked, scope, times in ((open_index(), other, cold), (index, other, []), (index, ALL, warm)):
            began = time.perf_counter()
            asked.candidates(vector, terms, scope=scope, limit=LIMIT)
            times.append(1000 * (time.perf_counter() - began))
    found = {}
    for name, times in (("cold", cold), ("warm", warm)):
        found |= {f"{kind}_{name}_p50_ms": float(np.median(times)), f"{kind}_{name}_p95_ms": _p95(times)}
    mine, theirs = time.process_time(), _server_cpu_ms(folder)
    for _ in range(4 * rounds):
        index.candidates(_directions(1, generator)[0], terms, scope=ALL, limit=LIMIT)
    taken = 1000 * (time.process_time() - mine) + _server_cpu_ms(folder) - theirs
    return found | {f"{kind}_warm_cpu_ms": taken / (4 * rounds)}


def _p95(times: Sequence[float]) -> float:
    return float(np.percentile(times, 95))


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="an empty database to use instead of a server from the test package")
    parser.add_argument("--only", choices=["search", "tenants"], help="one of the two")
    parser.add_argument("--chunks", type=int, default=83_247)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--tenants", default="10,100,1000", help="how many, by commas")
    parser.add_argument("--json", type=Path, help="write the numbers to files in this folder")
    options = parser.parse_args()

    def tell(name: str, result: object) -> None:
        print(json.dumps(result, indent=2), flush=True)
        if options.json:
            (options.json / f"postgres-{name}.json").write_text(json.dumps(result, indent=2) + "\n")

    with contextlib.ExitStack() as stack:
        server = None if options.url else stack.enter_context(running_server(shared_buffers="1GB"))
        folder = None if server is None else server.folder

        def database() -> str:
            return options.url if server is None else server.new(like="template1")

        if options.only in (None, "search"):
            found = measure_search(database(), chunks=options.chunks, rounds=options.rounds, server_folder=folder)
            tell("search", by_kind(found))
        if options.only in (None, "tenants"):
            sizes = [int(size) for size in options.tenants.split(",")]
            tell(
                "tenants",
                {"rows": measure_tenants(database(), sizes=sizes, rounds=options.rounds, server_folder=folder)},
            )


def by_kind(row: dict[str, float]) -> dict[str, dict[str, float]]:
    """A column for each index.

    >>> by_kind({"chunks": 5.0, "embedded_all_ms": 1.0, "postgres_all_ms": 2.0})
    {'embedded': {'all_ms': 1.0, 'chunks': 5.0}, 'postgres': {'all_ms': 2.0, 'chunks': 5.0}}
    """
    shared = {name: value for name, value in row.items() if not name.startswith(KINDS)}
    columns: dict[str, dict[str, float]] = {}
    for name, value in row.items():
        if name.startswith(KINDS):
            kind, _, rest = name.partition("_")
            columns.setdefault(kind, {})[rest] = value
    return {kind: column | shared for kind, column in columns.items()}


if __name__ == "__main__":
    main()
