"""True sentences of real documents, altered by script: how many alterations the check flags, and how many originals.

    python bench/quality/alterations.py --data FOLDER [--sentences 300] [--json FILE] [--misses]

FOLDER holds guidelines/*.pdf and jats/*.nxml. Each sentence is checked against the passage it comes from. The alterations are made with
patterns of their own, not with the check's parsers; only the drug swap reads the table of names.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.embedding.tokenizer import WordPiece
from citewell.adapters.parsers import all_parsers
from citewell.answer.verify import verify
from citewell.answer.verify_look import Similarity, parts_of
from citewell.clinical import Lexicon
from citewell.ingest.chunk import chunk, default_chunking
from citewell.ingest.parse import parse
from citewell.types import Limits, Source, Span, Verdict
from citewell.vocabulary import rows

GUIDELINES = ("nice-ng12-2025-05.pdf", "nice-ng136-hypertension.pdf", "fda-metformin.pdf", "fda-warfarin.pdf")
PARAPHRASES = Path(__file__).parents[2] / "tests" / "data" / "paraphrases.tsv"
SEED = 7


@dataclass(frozen=True, slots=True)
class Case:
    """A true sentence, the passage it stands in, and what was made of it."""

    kind: str
    sentence: str
    altered: str
    passage: Span


# ------------------------------------------------------------------------------------------------ the true sentences


def passages(folder: Path) -> Iterator[tuple[Span, str]]:
    """Every whole sentence of prose with the passage it stands in."""
    files = [folder / "guidelines" / name for name in GUIDELINES] + sorted((folder / "jats").glob("*.nxml"))[:20]
    parsers, words = all_parsers(), WordPiece.load()
    for path in files:
        document = parse(Source(path.read_bytes(), path.name), parsers=parsers, limits=Limits())
        prose = [(block.start, block.end) for block in document.blocks if block.kind in ("paragraph", "list_item", "box")]
        for one in chunk(document, chunking=default_chunking(document.media_type), tokenizer=words):
            passage = Span(f"{path.name}:{one.index}", one.start, one.end, one.text)
            for start, end in one.sentences:
                inside = one.start <= start and end <= one.end and any(a <= start and end <= b for a, b in prose)
                if inside and is_plain(document.text[start:end]):
                    yield passage, document.text[start:end]


def is_plain(sentence: str) -> bool:
    """Whether it reads as one sentence of prose."""
    count = len(sentence.split())
    letters = sum(character.isalpha() or character.isspace() for character in sentence)
    return 6 <= count <= 60 and sentence[0].isupper() and letters > 0.7 * len(sentence) and "\n" not in sentence


# ---------------------------------------------------------------------------------------------------- the alterations

NUMBER = re.compile(r"(?<![\w.,/[(–-])(?<!Table )(?<!Figure )(?<!section )(?<!type )\d{1,3}(?:\.\d+)?(?![\w./,\])–-]|\.\d)(?!\s*(?:to|and)\s+\d)")
UNITS = {"mg": "g", "g": "mg", "micrograms": "milligrams", "ml": "litres", "mL": "L", "weeks": "days", "days": "weeks", "hours": "minutes"}
UNITS |= {"minutes": "hours", "months": "weeks", "years": "months", "mmol": "µmol", "mm": "cm", "cm": "mm", "kg": "g", "%": " mg"}
UNIT = re.compile(rf"(?<=\d)\s?({'|'.join(map(re.escape, UNITS))})(?![\w/])")
LIMITS = {"or more": "or less", "or less": "or more", "at least": "at most", "at most": "at least", "more than": "less than"}
LIMITS |= {"less than": "more than", "and over": "and under", "or over": "or under", "≥": "≤", "≤": "≥", ">": "<", "<": ">"}
LIMITS |= {"above": "below", "below": "above", "or above": "or below", "or higher": "or lower", "under": "over", "or below": "or above"}
LIMITS |= {"or older": "or younger", "greater than": "less than", "over": "under"}
LIMIT = re.compile(
    rf"(?:\b(at least|at most|more than|less than|greater than|above|below|under|over)\s+(?=\d)|(≥|≤|>|<)(?=\s?\d)"
    rf"|(?<=\d)(?:\s?[\w/%°²]+){{0,3}}?\s(or more|or less|and over|or over|or above|or below|or higher|or older)\b)"
)
MODAL = re.compile(r"\b(should|must|can|may|will|is|are|was|were|did|does|could|has been|have been)\b(?! not| no\b|n't)(?= \w)")
COMMAND = re.compile(r"^(Offer|Refer|Consider|Give|Use|Start|Advise|Measure|Explain|Discuss|Ensure|Monitor|Take|Do)\b(?! not)")
NOT = re.compile(r"\bdo not (\w)|\b(?:should|must|can|may|is|are|was|were|did|does|could|has|have|had|will|would)( not)\b|(?<!or )\b(without)\b", re.I)


def tenfold(sentence: str, _: random.Random) -> str | None:
    """5 → 50."""
    found = [match for match in NUMBER.finditer(sentence) if not re.fullmatch(r"0+(\.0+)?", match.group())]
    if not found:
        return None
    match = found[0]
    value = float(match.group()) * 10
    return sentence[: match.start()] + f"{value:g}" + sentence[match.end() :]


def other_unit(sentence: str, _: random.Random) -> str | None:
    """Mg → g."""
    match = UNIT.search(sentence)
    return sentence[: match.start(1)] + UNITS[match.group(1)] + sentence[match.end(1) :] if match else None


def other_limit(sentence: str, _: random.Random) -> str | None:
    """≥ → ≤."""
    match = LIMIT.search(sentence)
    if match is None:
        return None
    group = next(number for number in (1, 2, 3) if match.group(number))
    return sentence[: match.start(group)] + LIMITS[match.group(group)] + sentence[match.end(group) :]


def not_added(sentence: str, _: random.Random) -> str | None:
    """Should → should not."""
    command = COMMAND.match(sentence)
    if command:
        return f"Do not {sentence[0].lower()}{sentence[1:]}"
    match = MODAL.search(sentence)
    return f"{sentence[: match.end()]} not{sentence[match.end() :]}" if match else None


def not_removed(sentence: str, _: random.Random) -> str | None:
    """Should not → should."""
    match = NOT.search(sentence)
    if match is None or "not only" in sentence:
        return None
    if match.group(1):
        start = match.start()
        return sentence[:start] + (match.group(1).upper() if start == 0 else match.group(1)) + sentence[match.end() :]
    if match.group(2):
        return sentence[: match.start(2)] + sentence[match.end(2) :]
    return sentence[: match.start(3)] + "with" + sentence[match.end(3) :]


def drug_names() -> list[str]:
    """The generic names of one word."""
    return [row[1] for row in rows("drugs.tsv") if row[0] == "drug" and row[1].isalpha() and len(row[1]) > 6]


DRUGS = drug_names()
DRUG = re.compile(rf"\b({'|'.join(DRUGS)})\b", re.I)


def other_drug(sentence: str, chance: random.Random) -> str | None:
    """Warfarin → another drug."""
    match = DRUG.search(sentence)
    if match is None:
        return None
    other = chance.choice([name for name in DRUGS if name not in sentence.lower()])
    return re.sub(rf"\b{match.group()}\b", other.capitalize() if match.group()[0].isupper() else other, sentence)


KINDS: dict[str, Callable[[str, random.Random], str | None]] = {
    "number": tenfold,
    "unit": other_unit,
    "limit": other_limit,
    "not added": not_added,
    "not removed": not_removed,
    "drug": other_drug,
}


def cases(folder: Path, count: int) -> list[Case]:
    """As many sentences, each altered in one way, the ways in turn."""
    chance = random.Random(SEED)
    pool = list({sentence: (passage, sentence) for passage, sentence in passages(folder)}.values())
    chance.shuffle(pool)
    by_kind: dict[str, list[Case]] = {kind: [] for kind in KINDS}
    for passage, sentence in pool:
        able = [(kind, altered) for kind, alter in KINDS.items() if (altered := alter(sentence, chance)) not in (None, sentence)]
        if able:
            kind, altered = min(able, key=lambda pair: len(by_kind[pair[0]]))
            by_kind[kind].append(Case(kind, sentence, str(altered), passage))
    found: list[Case] = []
    while len(found) < count and any(by_kind.values()):
        for waiting in by_kind.values():
            if waiting and len(found) < count:
                found.append(waiting.pop(0))
    return found


# -------------------------------------------------------------------------------------------------------- the measure


def cosines(texts: set[str], cache: Path) -> Similarity:
    """Cosines from vectors made once for all texts."""
    ordered = sorted(texts)
    vectors = dict(zip(ordered, MiniLM(cache).embed(ordered), strict=True))

    def similarity(sentence: str, parts: object) -> list[float]:
        return (np.stack([vectors[part.text] for part in parts]) @ vectors[sentence]).tolist()

    return similarity


def paraphrases() -> list[tuple[str, str]]:
    """The hundred pairs: source, paraphrase."""
    lines = PARAPHRASES.read_text("utf-8").splitlines()
    return [(pair[0], pair[1]) for line in lines if not line.startswith("#") for pair in [line.split("\t")]]


def measure(folder: Path, count: int, *, with_similarity: bool, show_misses: bool) -> dict[str, object]:
    """Share flagged of alterations, originals and paraphrases."""
    chosen, pairs = cases(folder, count), paraphrases()
    spans = [Span(f"p{number}", 0, len(source), source) for number, (source, _) in enumerate(pairs)]
    similarity = None
    if with_similarity:
        texts = {part.text for part in parts_of([case.passage for case in chosen] + spans)}
        texts |= {text for case in chosen for text in (case.sentence, case.altered)} | {text for _, text in pairs}
        with tempfile.TemporaryDirectory() as cache:
            similarity = cosines(texts, Path(cache))
    check = partial(verify, lexicon=Lexicon.load(), similarity=similarity)
    missed = [case for case in chosen if check(case.altered, [case.passage]).verdict is Verdict.SUPPORTED]
    originals = [(case, check(case.sentence, [case.passage])) for case in chosen]
    wrongly = [(case, found) for case, found in originals if found.verdict is not Verdict.SUPPORTED]
    refused = [(pair, found) for pair, span in zip(pairs, spans, strict=True) if (found := check(pair[1], [span])).verdict is not Verdict.SUPPORTED]
    if show_misses:
        for case in missed:
            print("MISSED", case.kind, "|", case.sentence, "|", case.altered, file=sys.stderr)
        for case, found in wrongly:
            print("FALSE", case.sentence, found.verdict, found.support, found.reasons, file=sys.stderr)
        for pair, found in refused:
            print("PARAPHRASE", *pair, found.verdict, found.support, found.reasons, sep="\n   ", file=sys.stderr)
    kinds = {kind: sum(case.kind == kind for case in chosen) for kind in KINDS}
    return {
        "sentences": len(chosen),
        "with_similarity": with_similarity,
        "altered_flagged": 1 - len(missed) / len(chosen),
        "altered_flagged_by_kind": {
            kind: f"{total - sum(case.kind == kind for case in missed)}/{total}" for kind, total in kinds.items()
        },
        "unaltered_flagged": len(wrongly) / len(chosen),
        "paraphrases_flagged": len(refused) / len(pairs),
    }


def main() -> None:
    """Measure, print one table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--without-similarity", action="store_true")
    parser.add_argument("--misses", action="store_true", help="show each miss; not for output that is kept")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = measure(
        options.data, options.sentences, with_similarity=not options.without_similarity, show_misses=options.misses
    )
    for key, value in result.items():
        print(f"{key:28} {value}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
