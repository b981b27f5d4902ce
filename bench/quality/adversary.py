"""The check on sentences as a language model might write them: `bench/quality/adversary.py [--set NAME] [--json FILE]`.

Both sets are judged unless one is named.

Reads `tests/data/adversary.tsv`: false sentences, close and free paraphrases about invented passages. Every sentence is
held against its whole passage, with similarity and the pair reader as in an answer, or without both.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.entailment.pair import PairReader
from citewell.answer.verify import verify
from citewell.answer.verify_look import Similarity
from citewell.clinical import Lexicon
from citewell.types import Span, Verdict

ROWS = Path(__file__).parents[2] / "tests" / "data" / "adversary.tsv"
KINDS = ("false", "close", "free")
SETS = ("first", "fresh")


def cases(of_set: str) -> list[tuple[str, str, Span]]:
    """Kind, sentence and passage of every row of a set."""
    lines = ROWS.read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    texts = {name: text for kind, _, name, text in rows if kind == "passage"}
    return [
        (kind, text, Span(name, 0, len(texts[name]), texts[name]))
        for kind, its_set, name, text in rows
        if kind in KINDS and its_set == of_set
    ]


def cosines(cache: Path) -> Similarity:
    """Cosines by the embedder of the product."""
    embedder = MiniLM(cache)

    def similarity(sentence: str, parts: Sequence[Span]) -> Sequence[float]:
        first, *rows = embedder.embed([sentence, *(part.text for part in parts)])
        return [float(row @ first) for row in rows]

    return similarity


def measure(of_sets: Sequence[str], cache: Path, *, with_models: bool, show_misses: bool) -> dict[str, dict[str, int]]:
    """How many of each kind of each set get each verdict."""
    similarity = cosines(cache) if with_models else None
    reader = PairReader(cache) if with_models else None
    lexicon = Lexicon.load()
    counts: dict[str, Counter[str]] = {}
    for of_set, (kind, sentence, span) in ((one, case) for one in of_sets for case in cases(one)):
        found = verify(sentence, [span], lexicon=lexicon, similarity=similarity, pair=reader)
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
