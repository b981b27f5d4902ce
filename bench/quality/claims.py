"""How the check judges claims about passages that it has not learned from: honest ones, altered ones, ones that add.

    python bench/quality/claims.py --claims FILE [--without FAMILY …] [--misses] [--json FILE]

FILE holds one {"claim", "evidence", "label", "kind"} a line, as `bench.reader.claims_data` writes them from the places
of `bench/reader/claims` and the documents of the data folder. Each claim is checked against its passage with similarity
and the pair reader, as in an answer. `--without` takes a family of exact checks away; `--each` each of them in turn.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from citewell.adapters.embedding.engine import PUBLISHED
from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.entailment.pair import PairReader
from citewell.answer.verify import compare, verify
from citewell.answer.verify import verify_sentence as verdict
from citewell.clinical import Lexicon
from citewell.types import EvidenceSpan, SentenceCheck, Verdict

FAMILIES = {
    "amounts": (compare, "amounts_missing"),
    "arms": (compare, "other_arm"),
    "medicines": (compare, "medicines_differ"),
    "grades": (compare, "grades_differ"),
    "denials": (compare, "denied"),
    "opposites": (compare, "opposites"),
    "edits": (compare, "edits"),
    "others": (compare, "of_others"),
    "additions": (verdict, "added"),
    "replaced": (verdict, "replaced"),
    "rearranged": (verdict, "rearranged"),
    "borrowed": (verdict, "borrowed"),
    "otherwise": (verdict, "otherwise"),
}
"""The exact checks: where each is called, and by what name."""


def _nothing(*_: object, **__: object) -> tuple[()]:
    """What a check finds that is not asked."""
    return ()


def _no_addition(*_: object, **__: object) -> None:
    """The same of the one that gives a reason."""


@dataclass(frozen=True, slots=True)
class Case:
    """A claim, its passage, and what a careful reader says of it."""

    claim: str
    passage: EvidenceSpan
    label: str
    kind: str


def cases_of(path: Path) -> list[Case]:
    """The claims of a file."""
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [
        Case(
            row["claim"], EvidenceSpan(str(number), 0, len(row["evidence"]), row["evidence"]), row["label"], row["kind"]
        )
        for number, row in enumerate(rows)
    ]


@contextmanager
def without(families: Sequence[str]) -> Iterator[None]:
    """The check without some families of exact checks."""
    changes = [
        patch.object(*FAMILIES[name], _no_addition if name in ("additions", "replaced") else _nothing)
        for name in families
    ]
    compare.compared.cache_clear()
    for change in changes:
        change.start()
    try:
        yield
    finally:
        for change in changes:
            change.stop()
        compare.compared.cache_clear()


class Judge:
    """The check with its models."""

    def __init__(self, cache: Path) -> None:
        self._embedder = MiniLM(cache, model=PUBLISHED)
        self.pair = PairReader(cache)
        self.lexicon = Lexicon.load()

    def similarity(self, sentence: str, parts: Sequence[EvidenceSpan]) -> Sequence[float]:
        """Cosines by the embedder of the check."""
        first, *rows = self._embedder.embed([sentence, *(part.text for part in parts)])
        return [float(row @ first) for row in rows]

    def __call__(self, case: Case) -> SentenceCheck:
        """The verdict on one claim."""
        return verify(case.claim, [case.passage], lexicon=self.lexicon, similarity=self.similarity, pair=self.pair)


def figures(cases: Sequence[Case], checks: Sequence[SentenceCheck]) -> dict[str, Any]:
    """Shares of each label that get each verdict, and the area of support."""
    told: dict[str, Any] = {}
    for label in ("SUPPORT", "CONTRADICT", "NONE"):
        verdicts = Counter(
            check.verdict.value for case, check in zip(cases, checks, strict=True) if case.label == label
        )
        told[label] = {verdict.value: verdicts[verdict.value] for verdict in Verdict} | {"all": sum(verdicts.values())}
    yes = [
        check.support * (not check.is_vetoed)
        for case, check in zip(cases, checks, strict=True)
        if case.label == "SUPPORT"
    ]
    no = [
        check.support * (not check.is_vetoed)
        for case, check in zip(cases, checks, strict=True)
        if case.label != "SUPPORT"
    ]
    told["area"] = round(sum((a > b) + 0.5 * (a == b) for a in yes for b in no) / max(1, len(yes) * len(no)), 4)
    return told


def line(name: str, told: dict[str, Any]) -> str:
    """One row of what is printed."""
    parts = [
        f"{label[:3].lower()} " + " ".join(f"{verdict[:4]} {count}" for verdict, count in told[label].items())
        for label in ("SUPPORT", "CONTRADICT", "NONE")
    ]
    return f"{name:12} {' | '.join(parts)} | area {told['area']}"


def main() -> None:
    """Judge the claims of a file, whole or without families."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims", type=Path, required=True)
    parser.add_argument("--without", nargs="*", default=[], choices=FAMILIES)
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cases = cases_of(options.claims)
    with tempfile.TemporaryDirectory() as cache:
        judge = Judge(Path(cache))
        with without(options.without):
            checks = [judge(case) for case in cases]
        told = figures(cases, checks)
        print(line("all", told), flush=True)
        if options.misses:
            for case, check in zip(cases, checks, strict=True):
                if (case.label == "SUPPORT") is not (check.verdict is Verdict.SUPPORTED):
                    print(f"{case.label} {case.kind}: {check.verdict.value} {check.support:.2f} {check.reasons}")
                    print(f"   {case.claim}\n   < {case.passage.text}")
        for family in FAMILIES if options.each else ():
            with without([*options.without, family]):
                print(line(f"- {family}", figures(cases, [judge(case) for case in cases])), flush=True)
    if options.json:
        options.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
