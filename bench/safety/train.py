"""Trains what the filter on what goes out has learned, from the sentences in this folder.

    python bench/safety/train.py [--write]

Each line of the files stands for many sentences, drawn at random; the sentences that shaped the tables of phrases are
learned too. Says what is caught of lines that were kept out of the training (five parts of them, each in turn), and
how often a harmless sentence is not let through. `--write` trains on all and puts the weights in the package.
"""

from __future__ import annotations

import argparse
import random
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citewell.assistants.records.learned_phrases import CATEGORIES, FEATURES, WEIGHTS, features
from citewell.assistants.records.unsafe_phrases import is_attributed

HERE = Path(__file__).parent
LANGUAGES = ("en", "de", "fr")
HARMLESS = "harmless"
CATEGORY = {
    "diagnosing": "diagnostic",
    "prognosis": "diagnostic",
    "false_reassurance": "diagnostic",
    "causation": "diagnostic",
    "prescribing": "prescriptive",
    "stop_medication": "prescriptive",
    "dose_advice": "prescriptive",
    "treatment_advice": "prescriptive",
    "overruling_doctor": "prescriptive",
    "posing_as_doctor": "prescriptive",
    "urgent_attention": "alarming",
    "alarming": "alarming",
    "diagnostic": "diagnostic",
    "prescriptive": "prescriptive",
    "unattributed": "diagnostic",
}
SHAPED = Path(__file__).parents[2] / "tests" / "assistants"
SHAPED_TABLES = ("records_sentences_last.tsv", "records_sentences_traps.tsv", "records_sentences_alarms.tsv")
"""Sentences by which the tables were made, and which must stay right."""
DRAWN = 8
"""Sentences for each line."""
PARTS = 5
THRESHOLD = 0.5
_CHOICE = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"@[a-z]+")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sentence, what it does, and the line that it was drawn from."""

    text: str
    kind: str
    language: str
    line: str


def drawn(chosen: random.Random) -> list[Drawn]:
    """Sentences of all lines."""
    sentences = []
    for language in LANGUAGES:
        names: dict[str, list[str]] = {}
        kind = ""
        for number, line in enumerate((HERE / f"{language}.txt").read_text("utf-8").splitlines()):
            if line.startswith("@"):
                name, _, words = line.partition(" ")
                names[name] = words.split("|")
            elif line.startswith("#"):
                kind = line.removeprefix("#").strip()
            elif line.strip() and not line.startswith("%"):
                texts = {_spelt(line, names, chosen) for _ in range(DRAWN)}
                sentences += [Drawn(text, kind, language, f"{language} {number}") for text in sorted(texts)]
    for name in SHAPED_TABLES:
        rows = [
            line.split("\t") for line in (SHAPED / name).read_text("utf-8").splitlines() if line[:1] not in ("", "#")
        ]
        for wanted, why, text in rows:
            sentences.append(Drawn(text, HARMLESS if wanted == "pass" else why, "en", text))
    return sentences


def _spelt(line: str, names: dict[str, list[str]], chosen: random.Random) -> str:
    for _ in range(4):  # a choice may hold names, and a name another choice
        line = _CHOICE.sub(lambda match: _one_of(match.group(1), names, chosen), line)
        line = _NAME.sub(lambda match: chosen.choice(names.get(match.group(), [match.group()])), line)
    plain = re.sub(r"\s+([.,?])", r"\1", " ".join(line.split())).replace("..", ".")
    return plain[:1].upper() + plain[1:]


def _one_of(words: str, names: dict[str, list[str]], chosen: random.Random) -> str:
    return chosen.choice(names[words] if words in names else words.split("|"))


def vectors(sentences: list[Drawn]) -> np.ndarray:
    """The features of sentences, each row of length 1."""
    rows = np.zeros((len(sentences), FEATURES), np.float32)
    for row, sentence in zip(rows, sentences, strict=True):
        told = sorted(features(sentence.text))
        row[told] = 1 / np.sqrt(len(told))
    return rows


def fitted(rows: np.ndarray, wanted: np.ndarray, epochs: int = 30) -> tuple[np.ndarray, float]:
    """Logistic regression by AdaGrad, both sides weighing the same."""
    share = wanted.mean()
    weights, bias = np.zeros(FEATURES, np.float32), 0.0
    squares, bias_squares = np.full(FEATURES, 1e-8, np.float32), 1e-8
    balance = np.where(wanted, 1.0, share / (1 - share)).astype(np.float32)
    order = np.random.default_rng(0)
    for _ in range(epochs):
        for batch in np.array_split(order.permutation(len(rows)), max(1, len(rows) // 128)):
            told = 1 / (1 + np.exp(-(rows[batch] @ weights + bias)))
            error = (told - wanted[batch]) * balance[batch]
            slope = rows[batch].T @ error / len(batch) + 1e-5 * weights
            squares += slope**2
            weights -= slope / np.sqrt(squares)
            bias_squares += float(error.mean()) ** 2
            bias -= float(error.mean()) / bias_squares**0.5
    return weights, bias


def main() -> None:
    """Say what carries over to other lines, then train on all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    sentences = drawn(random.Random(7))
    rows = vectors(sentences)
    unsafe = np.array([sentence.kind != HARMLESS for sentence in sentences])
    if not given.write:
        exempt = np.array([is_attributed(one.text) or one.text.endswith("?") for one in sentences])
        part = np.array([zlib.crc32(sentence.line.encode()) % PARTS for sentence in sentences])
        scores = np.zeros(len(sentences))
        for left_out in range(PARTS):
            weights, bias = fitted(rows[part != left_out], unsafe[part != left_out])
            scores[part == left_out] = rows[part == left_out] @ weights + bias
        print(f"{len(sentences)} sentences, {int((~unsafe).sum())} of them harmless")
        for language in LANGUAGES:
            here = np.array([sentence.language == language for sentence in sentences])
            is_caught = (scores > THRESHOLD) & ~exempt
            print(
                f"{language}: caught {is_caught[here & unsafe].mean():.1%} of lines left out, "
                f"alarmed at {is_caught[here & ~unsafe].mean():.1%} of harmless ones"
            )
    if given.write:
        kinds = np.array([CATEGORY.get(sentence.kind, "") for sentence in sentences])
        trained = [fitted(rows, unsafe)]
        trained += [fitted(rows[unsafe], kinds[unsafe] == category) for category in CATEGORIES]
        weights = np.stack([held for held, _ in trained])
        scale = np.abs(weights).max(axis=1) / 127
        np.savez_compressed(
            WEIGHTS,
            weights=np.round(weights / scale[:, None]).astype(np.int8),
            scale=scale.astype(np.float32),
            bias=np.array([bias for _, bias in trained], np.float32),
            threshold=THRESHOLD,
        )
        print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size} bytes")


if __name__ == "__main__":
    main()
