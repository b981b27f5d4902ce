"""The check on sentences as a language model might write them: `bench/quality/adversary.py [--set NAME] [--json FILE]`.

All sets are judged unless one is named.

Reads `tests/data/adversary.tsv`: false sentences, close and free paraphrases about invented passages. Every sentence is
held against its whole passage, with similarity and the pair reader as in an answer, or without both. The sets `dev` and
`kept` (`tests/data/sample_claims.tsv`) are held against the sample library, as `citewell check` does it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from citewell.adapters.embedding.engine import PUBLISHED
from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.entailment.pair import PairReader
from citewell.answer.verify import verify
from citewell.answer.verify.compare import Similarity
from citewell.app import build
from citewell.clinical import Lexicon
from citewell.config import Settings
from citewell.samples import sample_files
from citewell.types import EvidenceSpan, SentenceCheck, Verdict

DATA = Path(__file__).parents[2] / "tests" / "data"
ROWS = DATA / "adversary.tsv"
KINDS = ("false", "close", "free")
SETS = ("first", "fresh", "dev", "kept")
IN_LIBRARY = SETS[2:]
"""Those about the sample library: “kept” was not looked at when rules were made."""

WORST = (Verdict.SUPPORTED, Verdict.PARTLY, Verdict.NOT_FOUND, Verdict.CONTRADICTED)


def cases(of_set: str) -> list[tuple[str, str, EvidenceSpan]]:
    """Kind, sentence and passage of every row of a set."""
    lines = ROWS.read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    texts = {name: text for kind, _, name, text in rows if kind == "passage"}
    return [
        (kind, text, EvidenceSpan(name, 0, len(texts[name]), texts[name]))
        for kind, its_set, name, text in rows
        if kind in KINDS and its_set == of_set
    ]


def cosines(cache: Path) -> Similarity:
    """Cosines by the embedder of the check."""
    embedder = MiniLM(cache, model=PUBLISHED)

    def similarity(sentence: str, parts: Sequence[EvidenceSpan]) -> Sequence[float]:
        first, *rows = embedder.embed([sentence, *(part.text for part in parts)])
        return [float(row @ first) for row in rows]

    return similarity


def checked(of_sets: Sequence[str], cache: Path, *, with_models: bool) -> Iterator[tuple[str, str, str, SentenceCheck]]:
    """Set, kind and sentence of every row, with its verdict."""
    similarity = cosines(cache) if with_models else None
    reader = PairReader(cache) if with_models else None
    lexicon = Lexicon.load()
    for of_set in of_sets:
        if of_set in IN_LIBRARY:
            yield from in_library(of_set, cache, with_models=with_models)
            continue
        for kind, sentence, span in cases(of_set):
            yield of_set, kind, sentence, verify(sentence, [span], lexicon=lexicon, similarity=similarity, pair=reader)


def in_library(of_set: str, cache: Path, *, with_models: bool) -> Iterator[tuple[str, str, str, SentenceCheck]]:
    """The same of sentences about the sample library; a text of two sentences counts by its worst."""
    settings = Settings(home=cache / "library", pair_reader=with_models)
    rows = [line.split("\t") for line in (DATA / "sample_claims.tsv").read_text("utf-8").splitlines()]
    with build(settings) as app:
        if not app.entries(app.scope()):
            for sample in sample_files():
                app.add(sample)
        for kind, its_set, _, sentence in (row for row in rows if not row[0].startswith("#")):
            if its_set == of_set:
                found = [check for _, check in app.check(sentence)]
                yield of_set, kind, sentence, max(found, key=lambda check: WORST.index(check.verdict))


def measure(of_sets: Sequence[str], cache: Path, *, with_models: bool, show_misses: bool) -> dict[str, dict[str, int]]:
    """How many of each kind of each set get each verdict."""
    counts: dict[str, Counter[str]] = {}
    for of_set, kind, sentence, found in checked(of_sets, cache, with_models=with_models):
        counts.setdefault(f"{of_set} {kind}", Counter())[found.verdict.value] += 1
        if show_misses and (kind == "false") == (found.verdict is Verdict.SUPPORTED):
            words = found.span.text if found.span else ""
            print(f"{kind} {found.verdict.value} {found.support:.2f}", sentence, words, *found.reasons, sep="\n   ")
    return {name: {verdict.value: found[verdict.value] for verdict in Verdict} for name, found in counts.items()}


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=SETS, help="only this one")
    parser.add_argument("--without-models", action="store_true", help="by the words alone")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        sets = (options.set,) if options.set else SETS
        result = measure(sets, Path(cache), with_models=not options.without_models, show_misses=options.misses)
    for name, row in result.items():
        print(f"{name:12}", *(f"{verdict} {count}" for verdict, count in row.items()), sep="  ", file=sys.stdout)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
