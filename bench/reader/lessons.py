"""Step 4: what the students learn from: claims that a teacher labelled, plain sentences, and the train claims.

    python -m bench.reader.lessons --work FOLDER [--more FILE] [--tiny]

Writes lessons.npz into the work folder. `--more` names labelled claims of an earlier round, in the form of
claims0.json.gz; only the student that is shipped learns them.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench.reader.figures import LABELS, Scores
from bench.reader.material import FOLDS, Claim, Material, load, number_of
from bench.reader.pairs import Pairs, pairs_of
from bench.reader.write_claims import FILE, TITLE, Written, read
from numpy.typing import NDArray

LESSONS = "lessons.npz"
SENTENCE, MORE, TRAIN_CLAIM = -1, FOLDS, FOLDS + 1
"""Where a lesson comes from, where it is not the number of its teacher's fold."""
SAME, OTHER = (0.98, 0.01, 0.01), (0.03, 0.02, 0.95)
"""What is to be said of a sentence beside itself, and beside another one of its abstract."""
SENTENCE_LETTERS = range(31, 400)
LEAST_SENTENCES = 3
SENTENCE_ROUNDS = 2
HELD_PART = 40
"""Of so many abstracts one is kept from the students of the folds, to see whether they agree with their teacher."""
TINY_PAIRS = 100


@dataclass(frozen=True, slots=True)
class Lessons:
    """All lessons, the train claims last and in their order."""

    pairs: Pairs
    chances: Scores
    """What is to be said of each."""
    origin: NDArray[np.int8]
    is_cited: NDArray[np.bool_]
    """Whether claims of each fold cite its abstract."""
    is_held: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A lesson whose texts have not yet been cut into pieces."""

    claim: str
    evidence: str
    chances: Sequence[float]
    abstract: str
    """The first abstract that it is held against."""
    origin: int


def lessons_of(work: Path, material: Material, more: Path | None, *, tiny: bool) -> Lessons:
    """All that there is to learn."""
    files = [(work / FILE.format(fold=fold), fold) for fold in range(FOLDS)] + ([(more, MORE)] if more else [])
    drafts: list[_Draft] = []
    for path, origin in files:
        written = [one for one in read(path) if one.abstract in material.abstracts]
        drafts += _labelled(material, written[:TINY_PAIRS] if tiny else written, origin)
    chance = random.Random(5)
    for _ in range(SENTENCE_ROUNDS):
        drafts += _sentences(material, chance)
    drafts += _train_claims(material)
    cited = [
        {one for claim in material.claims if claim.fold == fold for one in claim.abstracts} for fold in range(FOLDS)
    ]
    return Lessons(
        pairs_of(material.pieces, [one.claim for one in drafts], [one.evidence for one in drafts]),
        np.array([one.chances for one in drafts], np.float32),
        np.array([one.origin for one in drafts], np.int8),
        np.array([[one.abstract in abstracts for abstracts in cited] for one in drafts]),
        np.array([number_of(f"h{one.abstract}", HELD_PART) == 0 for one in drafts]),
    )


def _labelled(material: Material, written: Sequence[Written], origin: int) -> Iterator[_Draft]:
    """Claims beside their evidence, with what the teacher said of each."""
    chances = np.exp(np.array([one.log_chances for one in written], np.float32))
    chances /= chances.sum(1, keepdims=True)
    vectors = material.embed([one.claim for one in written])
    for one, vector, row in zip(written, vectors, chances.tolist(), strict=True):
        evidence = material.evidence(vector, [one.abstract], is_title=one.source == TITLE)
        yield _Draft(one.claim, evidence, row, one.abstract, origin)


def _sentences(material: Material, chance: random.Random) -> Iterator[_Draft]:
    """Sentences beside themselves, alone or with another, and beside another one of their abstract."""
    for abstract in material.free:
        sentences = [text for text in material.abstracts[abstract] if len(text) in SENTENCE_LETTERS]
        if len(sentences) < LEAST_SENTENCES:
            continue
        one, other = chance.sample(sentences, 2)
        if chance.random() < 0.5:
            both = " ".join(text for text in sentences if text in (one, other))
            yield _Draft(one, one if chance.random() < 0.5 else both, SAME, abstract, SENTENCE)
        if chance.random() < 0.5:
            yield _Draft(one, other, OTHER, abstract, SENTENCE)


def _train_claims(material: Material) -> Iterator[_Draft]:
    """The train claims with their own labels."""
    vectors = material.embed([claim.text for claim in material.claims])
    for claim, vector in zip(material.claims, vectors, strict=True):
        evidence = material.evidence(vector, claim.abstracts)
        yield _Draft(claim.text, evidence, _certain(claim), claim.abstracts[0], TRAIN_CLAIM)


def _certain(claim: Claim) -> list[float]:
    return [float(place == LABELS[claim.label]) for place in range(len(LABELS))]


def save(path: Path, lessons: Lessons) -> None:
    """Write all lessons into one file."""
    pairs = lessons.pairs
    np.savez(
        path,
        pieces=pairs.pieces,
        first=pairs.first,
        lengths=pairs.lengths,
        chances=lessons.chances,
        origin=lessons.origin,
        is_cited=lessons.is_cited,
        is_held=lessons.is_held,
    )


def read_lessons(path: Path) -> Lessons:
    """The lessons that this step has written."""
    with np.load(path) as kept:
        pairs = Pairs(kept["pieces"], kept["first"], kept["lengths"])
        return Lessons(pairs, kept["chances"], kept["origin"], kept["is_cited"], kept["is_held"])


def main() -> None:
    """Write lessons.npz into the work folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--more", type=Path, help="labelled claims of an earlier round")
    parser.add_argument("--tiny", action="store_true", help="a trial on a CPU: few claims and abstracts")
    options = parser.parse_args()
    lessons = lessons_of(options.work, load(options.work, tiny=options.tiny), options.more, tiny=options.tiny)
    save(options.work / LESSONS, lessons)
    print(f"{len(lessons.origin)} lessons, {lessons.is_held.sum()} of abstracts that students of folds do not see")


if __name__ == "__main__":
    main()
