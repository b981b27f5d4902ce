"""Step 4: the teacher learns all train claims, writes claims for free abstracts, and labels them.

    python -m bench.reader.write_claims --work FOLDER [--tiny]

Writes claims.json.gz into the work folder, after each round. The label of a claim is what the teacher says when it
reads it anew, not what it was asked to write.
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
from typing import Any

from bench.reader.batches import padded
from bench.reader.figures import LABELS
from bench.reader.material import Material, load
from bench.reader.needs import torch, transformers
from bench.reader.qwen import fuse
from bench.reader.teacher import Teacher, judge, judge_claims, open_teacher, tune

FILE = "claims.json.gz"
TITLE = "title"
SUPPORTED, CONTRADICTED, UNSETTLED = LABELS["SUPPORT"], LABELS["CONTRADICT"], LABELS["NONE"]
ROUNDS = ((SUPPORTED, CONTRADICTED), (SUPPORTED, CONTRADICTED), (UNSETTLED, SUPPORTED))
"""What is written for each abstract, round by round."""
KINDS = ("supported", "contradicted", "unsettled")
CLAIM_LETTERS = range(12, 401)
ELSEWHERE_SHARE, TITLE_ELSEWHERE_SHARE = 0.35, 0.5
"""How often a supported claim, or a title, is also labelled beside a near abstract."""
NEW_TOKENS, TINY_NEW_TOKENS = 44, 4


@dataclass(frozen=True, slots=True)
class Written:
    """A claim beside an abstract: where it comes from, and the teacher's logarithms once it has labelled it."""

    claim: str
    abstract: str
    source: str
    log_chances: tuple[float, ...] = ()


@torch.no_grad()
def write(teacher: Teacher, jobs: Sequence[tuple[str, int]], *, size: int = 512) -> list[str]:
    """A claim of the kind that is asked for from each abstract."""
    words, prompts = teacher.words, teacher.prompts
    order = sorted(range(len(jobs)), key=lambda number: len(prompts.body([jobs[number][0]])))
    said = [""] * len(jobs)
    settings = _settings(teacher)
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        filled, mask = padded([prompts.write(*jobs[number]) for number in chosen], words.pad, left=True)
        tokens = teacher.model.generate(input_ids=filled, attention_mask=mask, generation_config=settings)
        rows = [_until_end(row, (words.end, words.pad)) for row in tokens[:, filled.shape[1] :].tolist()]
        for number, text in zip(chosen, words.say(rows), strict=True):
            said[number] = text.split("\n")[0].strip()
    return said


def _settings(teacher: Teacher) -> Any:
    words = teacher.words
    return transformers.GenerationConfig(
        do_sample=True,
        temperature=0.9,
        top_p=0.95,
        top_k=0,
        max_new_tokens=TINY_NEW_TOKENS if teacher.tiny else NEW_TOKENS,
        eos_token_id=[words.end, words.read(["\n"])[0][0]],
        pad_token_id=words.pad,
    )


def _until_end(row: list[int], ends: Sequence[int]) -> list[int]:
    """The tokens before the first that ends a text.

    >>> _until_end([5, 6, 0, 7], (0, 1))
    [5, 6]
    """
    return row[: next((place for place, token in enumerate(row) if token in ends), len(row))]


def claims_of_round(
    teacher: Teacher, material: Material, abstracts: Sequence[str], labels: Sequence[int], chance: random.Random
) -> list[Written]:
    """New claims for each abstract; some of those supported also beside a near one."""
    jobs = [(abstract, label) for abstract in abstracts for label in labels]
    found = []
    for (abstract, label), claim in zip(jobs, write(teacher, jobs), strict=True):
        if len(claim) not in CLAIM_LETTERS:
            continue
        found.append(Written(claim, abstract, KINDS[label]))
        if label == SUPPORTED and chance.random() < ELSEWHERE_SHARE:
            found.append(Written(claim, material.another(abstract, chance), "supported elsewhere"))
    return found


def titles(material: Material, abstracts: Sequence[str], chance: random.Random) -> list[Written]:
    """The titles of abstracts as claims, half of them also beside a near one."""
    found = []
    for abstract in abstracts:
        title = material.abstracts[abstract][0]
        found.append(Written(title, abstract, TITLE))
        if chance.random() < TITLE_ELSEWHERE_SHARE:
            found.append(Written(title, material.another(abstract, chance), "title elsewhere"))
    return found


def labelled(teacher: Teacher, claims: Sequence[Written]) -> list[Written]:
    """The claims with what the teacher says of them."""
    found = judge(teacher, [(one.claim, [one.abstract]) for one in claims])
    return [
        Written(one.claim, one.abstract, one.source, tuple(round(value, 3) for value in row))
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


def main() -> None:
    """Train the teacher on all train claims; write and label claims round by round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--tiny", action="store_true", help="a trial on a CPU: one round, four tokens a claim")
    options = parser.parse_args()
    material = load(options.work, tiny=options.tiny)
    teacher = open_teacher(options.work, material, tiny=options.tiny)
    tune(teacher, material, material.claims, writes=True)
    fuse(teacher.model)
    judge_claims("teacher, on what it has learned", teacher, material.claims)
    chance = random.Random(7)
    abstracts = list(material.free)
    chance.shuffle(abstracts)
    every: list[Written] = []
    for number, labels in enumerate(ROUNDS[:1] if options.tiny else ROUNDS):
        new = claims_of_round(teacher, material, abstracts, labels, chance)
        if number == 0:
            new += titles(material, abstracts, chance)
        every += labelled(teacher, new)
        save(options.work / FILE, every)


if __name__ == "__main__":
    main()
