"""Step 3: for each fold a teacher, which learns the other folds, writes claims for free abstracts and labels them.

    python -m bench.reader.write_claims --work FOLDER [--fold NUMBER ...] [--tiny]

Writes claims0.json.gz to claims2.json.gz into the work folder, one for each fold. The label of a claim is what the
teacher says when it reads it anew, not what it was asked to write. How it judges the claims of its fold, which it has
not seen, is printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from bench.reader.drawing import write
from bench.reader.figures import LABELS, Scores, tell
from bench.reader.material import FOLDS, Claim, Material, load
from bench.reader.needs import torch
from bench.reader.shared import judge_shared
from bench.reader.teacher import Teacher, judge, open_teacher, tune

FILE = "claims{fold}.json.gz"
TITLE = "title"
SUPPORTED, CONTRADICTED, UNSETTLED = LABELS["SUPPORT"], LABELS["CONTRADICT"], LABELS["NONE"]
KINDS = ("supported", "contradicted", "unsettled")
ASKED = (SUPPORTED,) * 6 + (CONTRADICTED,) * 6 + (UNSETTLED,) * 3
"""What is written for each abstract."""
TINY_ASKED = (SUPPORTED, CONTRADICTED, UNSETTLED)
CLAIM_LETTERS = range(12, 401)
ELSEWHERE_SHARE, TITLE_ELSEWHERE_SHARE = 0.35, 0.4
"""How often a supported claim, or a title, is also labelled beside a near abstract."""
TITLE_FOLD = 0
"""Titles beside their own abstracts are labelled by one teacher alone."""
SEED = 70
COMPARED = 64
"""On so many claims the judging together is held against the plain one."""


@dataclass(frozen=True, slots=True)
class Written:
    """A claim beside an abstract: where it comes from, and the teacher's logarithms once it has labelled it."""

    claim: str
    abstract: str
    source: str
    log_chances: tuple[float, ...] = ()


def claims_for(
    teacher: Teacher, material: Material, labels: Sequence[int], *, with_titles: bool, chance: random.Random
) -> list[Written]:
    """New claims for each free abstract and its title; some also beside a near abstract."""
    abstracts = list(material.free)
    chance.shuffle(abstracts)
    found = []
    for abstract, said in zip(abstracts, write(teacher, abstracts, labels), strict=True):
        known: set[str] = set()
        for label, claim in zip(labels, said, strict=True):
            if len(claim) not in CLAIM_LETTERS or claim.lower() in known:
                continue
            known.add(claim.lower())
            found.append(Written(claim, abstract, KINDS[label]))
            if label == SUPPORTED and chance.random() < ELSEWHERE_SHARE:
                found.append(Written(claim, material.another(abstract, chance), "supported elsewhere"))
        title = material.abstracts[abstract][0]
        if with_titles:
            found.append(Written(title, abstract, TITLE))
        if chance.random() < TITLE_ELSEWHERE_SHARE:
            found.append(Written(title, material.another(abstract, chance), "title elsewhere"))
    return found


def labelled(teacher: Teacher, claims: Sequence[Written]) -> list[Written]:
    """The claims with what the teacher says of them."""
    found = judge_shared(teacher, [(one.claim, one.abstract) for one in claims])
    return [
        Written(one.claim, one.abstract, one.source, tuple(round(value, 2) for value in row))
        for one, row in zip(claims, found.tolist(), strict=True)
    ]


def save(path: Path, claims: Sequence[Written]) -> None:
    """Write all claims, and print how many come from where."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump([asdict(one) for one in claims], file)
    print(f"{len(claims)} pairs: {dict(Counter(one.source for one in claims))}", flush=True)


def read(path: Path) -> list[Written]:
    """The claims of an earlier run."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [Written(**{**row, "log_chances": tuple(row["log_chances"])}) for row in json.load(file)]


def compare(teacher: Teacher, claims: Sequence[Claim]) -> None:
    """Print how far the judging together is from the plain one."""
    pairs = [(claim.text, claim.abstracts[0]) for claim in claims if len(claim.abstracts) == 1][:COMPARED]
    plain = judge(teacher, [(claim, [abstract]) for claim, abstract in pairs])
    apart = np.abs(np.exp(plain) - np.exp(judge_shared(teacher, pairs)))
    print(f"judged together, chances differ by {apart.mean():.4f}, at most {apart.max():.4f}", flush=True)


def teach_and_write(work: Path, material: Material, fold: int, *, tiny: bool) -> tuple[Scores, list[str]]:
    """All that the teacher of a fold does; what it says of the fold's claims, and their labels."""
    torch.manual_seed(SEED + fold)
    teacher = open_teacher(work, material, tiny=tiny)
    tune(teacher, material, [claim for claim in material.claims if claim.fold != fold], seed=fold)
    held = [claim for claim in material.claims if claim.fold == fold]
    found, labels = judge(teacher, [(claim.text, claim.abstracts) for claim in held]), [claim.label for claim in held]
    tell(f"teacher of fold {fold}, unseen", found, labels)
    compare(teacher, held)
    asked = TINY_ASKED if tiny else ASKED
    chance = random.Random(SEED + fold)
    claims = claims_for(teacher, material, asked, with_titles=fold == TITLE_FOLD, chance=chance)
    save(work / FILE.format(fold=fold), labelled(teacher, claims))
    return found, labels


def main() -> None:
    """The teachers of all folds, or of those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--fold", type=int, nargs="+", choices=range(FOLDS), default=list(range(FOLDS)))
    parser.add_argument(
        "--tiny", action="store_true", help="a trial on a CPU: two layers, two steps, four tokens a claim"
    )
    options = parser.parse_args()
    material = load(options.work, tiny=options.tiny)
    told = [teach_and_write(options.work, material, fold, tiny=options.tiny) for fold in options.fold]
    tell(
        "teachers, unseen", np.concatenate([found for found, _ in told]), [one for _, labels in told for one in labels]
    )


if __name__ == "__main__":
    main()
