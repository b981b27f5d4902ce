"""nDCG@10 of the product's search on a file, on PostgreSQL and on pgvector, on any folder in BEIR layout.

    python bench/quality/postgres.py --data FOLDER [--documents COUNT] [--json FILE] [--scratch FOLDER]

A server is started from the test package unless `--url` names an empty database.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

from tests.postgres import running_server  # noqa: E402

from citewell.adapters.embedding.minilm import MiniLM  # noqa: E402
from citewell.adapters.index.exact import ExactIndex  # noqa: E402
from citewell.adapters.index.postgres import PostgresIndex  # noqa: E402
from citewell.adapters.store.library import SqlLibrary  # noqa: E402
from citewell.adapters.store.postgres import open_postgres  # noqa: E402
from citewell.adapters.store.tenant_shelf import TenantShelf  # noqa: E402
from citewell.answer.retrieve import Search  # noqa: E402
from citewell.clinical import Lexicon  # noqa: E402
from citewell.ports import Index  # noqa: E402
from quality import retrieval  # noqa: E402

IN_MEMORY, IN_DATABASE = 1 << 40, 0


def measure(url: str, folder: Path, *, keep: int | None, scratch: Path) -> dict[str, dict[str, float]]:
    """nDCG@10 of the product's search on a file, on PostgreSQL and on pgvector, embedded once."""
    data = retrieval.read_data(folder)
    if keep is not None:  # every judged document, and others up to so many
        judged = {name for one in data.judgements.values() for name in one}
        rest = random.Random(1).sample(sorted(data.corpus.keys() - judged), max(keep - len(judged), 0))
        data = retrieval.Data(
            {one: data.corpus[one] for one in (*sorted(judged), *rest)}, data.questions, data.judgements
        )
    scratch.mkdir(parents=True, exist_ok=True)
    embedder = retrieval.Remembering(MiniLM(scratch), scratch)
    found = {}
    with tempfile.TemporaryDirectory() as home:
        for kind, memory in (("embedded", None), ("postgres", IN_MEMORY), ("pgvector", IN_DATABASE)):
            if kind != "pgvector":
                engine = None if kind == "embedded" else open_postgres(url)
                library = SqlLibrary(Path(home) / "library.sqlite", engine=engine)
                names = retrieval.fill(library, data.corpus, embedder)
                embedder.embed(list(data.questions.values()), progress=retrieval._tell)
            of = partial(TenantShelf, library)
            index: Index = ExactIndex(library) if memory is None else PostgresIndex(of, memory_bytes=memory)
            ranked = retrieval.Rankings(Search(library, index, embedder, Lexicon.load()), names).of(data.questions)
            found[kind] = {
                view: retrieval._mean(retrieval.gain(ranked[view][one], data.judgements[one]) for one in data.questions)
                for view in retrieval.VIEWS
            } | {"documents": float(len(data.corpus)), "questions": float(len(data.questions))}
            print(kind, found[kind], flush=True)
    return found


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder in BEIR layout")
    parser.add_argument("--documents", type=int, help="only so many documents, all judged ones among them")
    parser.add_argument("--url", help="an empty database to use instead of a server from the test package")
    parser.add_argument("--scratch", type=Path, default=retrieval.SCRATCH, help="where vectors are kept")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    options = parser.parse_args()
    keep, scratch = options.documents, options.scratch
    if options.url:
        found = measure(options.url, options.data, keep=keep, scratch=scratch)
    else:
        with running_server() as server:
            found = measure(server.new(like="template1"), options.data, keep=keep, scratch=scratch)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
