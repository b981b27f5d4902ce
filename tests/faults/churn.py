"""Adds, replaces and deletes documents until it is killed; says on standard output what it begins and what is done."""

from __future__ import annotations

import hashlib
import random
import sys
from pathlib import Path

import numpy as np

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.adapters.store.library import SqlLibrary
from citewell.ingest.library_changes import add
from citewell.ingest.parse_cut_embed import FileReader
from citewell.minilm.tokenizer import WordPiece
from citewell.types import Chunking, Filing, ParseLimits, Scope, Source

SCOPE = Scope.owner("clinic")
NAMES = ("alpha", "beta", "gamma")
CHUNKING = Chunking("characters", 100, 0, "characters")


class Hashes:
    """Vectors made of hashes: the fault is in writing, so the meaning does not matter."""

    fingerprint = "hashes:8"
    dimensions = 8

    def embed(self, texts, *, progress=None):  # type: ignore[no-untyped-def]
        rows = [np.frombuffer(hashlib.blake2b(text.encode(), digest_size=8).digest(), np.uint8) + 1.0 for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), 8)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def body(name: str, edition: int) -> Source:
    """A text of several hundred passages that says which edition it is."""
    sentences = " ".join(
        f"Sentence {number} of {name} in edition {edition} is here to be kept." for number in range(500)
    )
    return Source(f"{name}\n\n{sentences}".encode(), f"{name}.txt")


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def churn(home: Path, seed: int) -> None:
    """Change things for ever."""
    chance = random.Random(seed)
    library = SqlLibrary(home / "library.sqlite")
    reader = FileReader(all_parsers(), WordPiece.load(), Hashes(), ParseLimits())
    edition = 1 + max((int(entry.title.split()[-1]) for entry in library.entries(SCOPE)), default=0)
    say("ready")
    while True:
        name = chance.choice(NAMES)
        current = next((e for e in library.entries(SCOPE) if e.is_current and e.name == f"{name}.txt"), None)
        if current is not None and chance.random() < 0.3:
            say("begin", "delete", name, 0)
            library.erase(current.id, SCOPE)
            say("done", "delete", name, 0)
            continue
        replaces = current.id if current is not None else None
        filing = Filing(title=f"{name} {edition}", replaces=replaces, chunking=CHUNKING)
        say("begin", "add", name, edition)
        add(body(name, edition), filing=filing, scope=SCOPE, library=library, reader=reader)
        say("done", "add", name, edition)
        edition += 1


if __name__ == "__main__":
    churn(Path(sys.argv[1]), int(sys.argv[2]))
