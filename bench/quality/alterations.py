"""True sentences of real documents, altered by script: how many alterations the check flags, and how many originals.

    python bench/quality/alterations.py --data FOLDER [--sentences 300] [--json FILE] [--misses]

FOLDER holds guidelines/*.pdf and jats/*.nxml. Each sentence is checked against the passage it comes from. The
alterations are made with patterns of their own, not with the check's parsers; only the drug swap reads the table of
names. The hundred paraphrases are checked as they are, and altered in every way that fits. Beside these, which have
targets, a noun of each of a sixth as many sentences is put in the place of another, whatever the two are.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citewell.adapters.embedding.engine import PUBLISHED
from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.entailment.pair import PairReader
from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.answer.verify import verify
from citewell.answer.verify.compare import Similarity
from citewell.answer.verify.source_sentences import parts_of
from citewell.clinical import Lexicon
from citewell.clinical.tables import rows
from citewell.ingest.chunk import chunk, default_chunking
from citewell.ingest.parse import parse
from citewell.minilm.tokenizer import WordPiece
from citewell.types import EvidenceSpan, ParseLimits, Source, Verdict

GUIDELINES = ("nice-ng12-2025-05.pdf", "nice-ng136-hypertension.pdf", "fda-metformin.pdf", "fda-warfarin.pdf")
PARAPHRASES = Path(__file__).parents[2] / "tests" / "data" / "paraphrases.tsv"
SEED = 7


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence, what was done to it, and the passage to hold it against."""

    kind: str
    sentence: str
    passage: EvidenceSpan


# ------------------------------------------------------------------------------------------------ the true sentences


def passages(folder: Path) -> Iterator[tuple[EvidenceSpan, str]]:
    """Every whole sentence of prose with the passage it stands in."""
    files = [folder / "guidelines" / name for name in GUIDELINES] + sorted((folder / "jats").glob("*.nxml"))[:20]
    parsers, words = all_parsers(), WordPiece.load()
    for path in files:
        document = parse(Source(path.read_bytes(), path.name), parsers=parsers, limits=ParseLimits())
        prose = [
            (block.start, block.end) for block in document.blocks if block.kind in ("paragraph", "list_item", "box")
        ]
        for one in chunk(document, chunking=default_chunking(document.media_type), tokenizer=words):
            passage = EvidenceSpan(f"{path.name}:{one.index}", one.start, one.end, one.text)
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

NUMBER = re.compile(
    r"(?<![\w.,/[(–-])(?<!Table )(?<!Figure )(?<!section )(?<!type )\d{1,3}(?:\.\d+)?(?![\w./,\])–-]|\.\d)"
    r"(?!\s*(?:to|and)\s+\d)"
)
UNITS = dict(
    pair.split("→")
    for pair in """mg→g g→mg micrograms→milligrams ml→litres mL→L weeks→days days→weeks hours→minutes minutes→hours
    months→weeks years→months mmol→µmol mm→cm cm→mm kg→g %→mg""".split()
)
UNIT = re.compile(rf"(?<=\d)\s?({'|'.join(UNITS)})(?![\w/])")
LIMITS = dict(
    pair.split("→")
    for pair in (
        "or more→or less;or less→or more;at least→at most;at most→at least;more than→less than;less than→more than;"
        "and over→and under;or over→or under;≥→≤;≤→≥;>→<;<→>;above→below;below→above;or above→or below;"
        "or below→or above;or higher→or lower;or older→or younger;greater than→less than;under→over;over→under"
    ).split(";")
)
LIMIT = re.compile(
    r"(?:\b(at least|at most|more than|less than|greater than|above|below|under|over)\s+(?=\d)|(≥|≤|>|<)(?=\s?\d)"
    r"|(?<=\d)(?:\s?[\w/%°²]+){0,3}?\s(or more|or less|and over|or over|or above|or below|or higher|or older)\b)"
)
MODAL = re.compile(
    r"\b(should|must|can|may|will|is|are|was|were|did|does|could|has been|have been)\b(?! not| no\b|n't)(?= \w)"
)
COMMAND = re.compile(
    r"^(Offer|Refer|Consider|Give|Use|Start|Advise|Measure|Explain|Discuss|Ensure|Monitor|Take|Do)\b(?! not)"
)
NOT = re.compile(
    r"\bdo not (\w)|\b(?:should|must|can|may|is|are|was|were|did|does|could|has|have|had|will|would)( not)\b"
    r"|(?<!or )\b(without)\b",
    re.IGNORECASE,
)


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
    return [row[1] for row in rows("medicines.tsv") if row[0] == "drug" and row[1].isalpha() and len(row[1]) > 6]


DRUGS = drug_names()
DRUG = re.compile(rf"\b({'|'.join(DRUGS)})\b", re.I)


def other_drug(sentence: str, chance: random.Random) -> str | None:
    """Warfarin → another drug."""
    match = DRUG.search(sentence)
    if match is None:
        return None
    other = chance.choice([name for name in DRUGS if name not in sentence.lower()])
    return re.sub(rf"\b{match.group()}\b", other.capitalize() if match.group()[0].isupper() else other, sentence)


NOUN = re.compile(
    r"\b(?:the|an?|of|with|for|in|from)\s+([a-z]{4,})\b(?<!ed)(?<!ly)(?<!ing)"
    r"(?=[.,;)]|\s+(?:is|are|was|were|should|of|in|for|with|to)\b)"
)
"""A word between a small one before it and the end of its phrase."""


def other_nouns(pool: Sequence[tuple[EvidenceSpan, str]], count: int) -> list[Case]:
    """As many sentences, in each a noun in the place of another, which stands nowhere in its passage."""
    chance = random.Random(SEED)
    nouns = sorted({match.group(1) for _, sentence in pool for match in NOUN.finditer(sentence)})
    found: list[Case] = []
    for passage, sentence in pool:
        match = NOUN.search(sentence)
        if match is not None and len(found) < count:
            other = chance.choice([noun for noun in nouns if noun[:4] not in passage.text.lower()])
            found.append(Case("noun", sentence[: match.start(1)] + other + sentence[match.end(1) :], passage))
    return found


KINDS: dict[str, Callable[[str, random.Random], str | None]] = {
    "number": tenfold,
    "unit": other_unit,
    "limit": other_limit,
    "not added": not_added,
    "not removed": not_removed,
    "drug": other_drug,
}


def pool_of(folder: Path) -> list[tuple[EvidenceSpan, str]]:
    """Every true sentence once, in an order of chance that stays the same."""
    pool = list({sentence: (passage, sentence) for passage, sentence in passages(folder)}.values())
    random.Random(SEED).shuffle(pool)
    return pool


def altered(pool: Sequence[tuple[EvidenceSpan, str]], count: int) -> list[tuple[Case, Case]]:
    """As many sentences, each as it stands and altered in one way, the ways in turn."""
    chance = random.Random(SEED)
    chance.shuffle(list(pool))  # so that the same drugs are drawn as when the order was made here
    by_kind: dict[str, list[tuple[Case, Case]]] = {kind: [] for kind in KINDS}
    for passage, sentence in pool:
        able = list(alterations(sentence, chance))
        if able:
            kind, said = min(able, key=lambda pair: len(by_kind[pair[0]]))
            by_kind[kind].append((Case("unaltered", sentence, passage), Case(kind, said, passage)))
    found: list[tuple[Case, Case]] = []
    while len(found) < count and any(by_kind.values()):
        for waiting in by_kind.values():
            if waiting and len(found) < count:
                found.append(waiting.pop(0))
    return found


def alterations(sentence: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Every alteration that fits a sentence, with its kind."""
    for kind, alter in KINDS.items():
        said = alter(sentence, chance)
        if said is not None and said != sentence:
            yield kind, said


def paraphrased() -> Iterator[Case]:
    """The hundred paraphrases, as they are and altered."""
    lines = PARAPHRASES.read_text("utf-8").splitlines()
    for number, line in enumerate(line for line in lines if not line.startswith("#")):
        source, said = line.split("\t")
        passage = EvidenceSpan(f"p{number}", 0, len(source), source)
        yield Case("paraphrase", said, passage)
        for _, spoilt in alterations(said, random.Random(SEED)):
            yield Case("altered paraphrase", spoilt, passage)


# -------------------------------------------------------------------------------------------------------- the measure


def cosines(every: Sequence[Case]) -> Similarity:
    """Cosines from vectors made once for all texts."""
    texts = sorted({case.sentence for case in every} | {part.text for part in parts_of(case.passage for case in every)})
    with tempfile.TemporaryDirectory() as cache:
        vectors = dict(zip(texts, MiniLM(Path(cache), model=PUBLISHED).embed(texts), strict=True))

    def similarity(sentence: str, parts: Sequence[EvidenceSpan]) -> Sequence[float]:
        rows = np.stack([vectors[part.text] for part in parts])
        return [float(cosine) for cosine in rows @ vectors[sentence]]

    return similarity


def measure(folder: Path, count: int, cache: Path, *, with_similarity: bool, show_misses: bool) -> dict[str, object]:
    """Share flagged of alterations, originals and paraphrases; with similarity, the pair reader is asked too."""
    pool = pool_of(folder)
    every = [case for pair in altered(pool, count) for case in pair] + list(paraphrased())
    every += other_nouns(pool, count // len(KINDS))
    similarity = cosines(every) if with_similarity else None
    reader = PairReader(cache) if with_similarity else None
    lexicon = Lexicon.load()
    total, flagged = Counter[str](), Counter[str]()
    for case in every:
        found = verify(case.sentence, [case.passage], lexicon=lexicon, similarity=similarity, pair=reader)
        is_flagged = found.verdict is not Verdict.SUPPORTED
        total[case.kind] += 1
        flagged[case.kind] += is_flagged
        if show_misses and is_flagged == (case.kind in ("unaltered", "paraphrase")):
            words = found.span.text if found.span else ""
            print(case.kind, case.sentence, words, *found.reasons, sep="\n   ", file=sys.stderr)
    return {
        "sentences": total["unaltered"],
        "with_similarity": with_similarity,
        "altered_flagged": sum(flagged[kind] for kind in KINDS) / sum(total[kind] for kind in KINDS),
        "altered_flagged_by_kind": {kind: f"{flagged[kind]}/{total[kind]}" for kind in KINDS},
        "unaltered_flagged": flagged["unaltered"] / total["unaltered"],
        "paraphrases_flagged": flagged["paraphrase"] / total["paraphrase"],
        "nouns_flagged": f"{flagged['noun']}/{total['noun']}",
        "altered_paraphrases": total["altered paraphrase"],
        "altered_paraphrases_flagged": flagged["altered paraphrase"] / total["altered paraphrase"],
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
    with tempfile.TemporaryDirectory() as cache:
        result = measure(
            options.data,
            options.sentences,
            Path(cache),
            with_similarity=not options.without_similarity,
            show_misses=options.misses,
        )
    for key, value in result.items():
        print(f"{key:28} {value}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
