"""Step 1, in the project's own environment: SciFact's claims and abstracts, and the weights of MiniLM, for training.

    python -m bench.reader.data --data FOLDER --work FOLDER

Abstracts are cut into sentences by the product. An abstract that a validation claim cites, or that the questions of the
retrieval bench ask for, is barred: no claim is written from it. It is kept only where a train claim needs it.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from citewell.answer.verify.source_sentences import parts_of
from citewell.minilm.weights import model_file, read_tensors
from citewell.types import EvidenceSpan

LEFT_OUT = ("pooler", "position_ids")
"""Parts of the published model that neither the embedder nor the reader uses."""


def corpus_of(folder: Path) -> dict[str, dict[str, str]]:
    """The abstracts by their ids."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        return {row["_id"]: row for row in map(json.loads, lines)}


def claims_of(path: Path, corpus: dict[str, dict[str, str]]) -> list[dict[str, Any]]:
    """The claims of a file, one for each abstract with evidence, or one for all cited without."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    with path.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            cited = re.findall(r"\d+", row["cited_doc_ids"])
            ids = [row["evidence_doc_id"]] if row["evidence_doc_id"] else cited
            found[row["id"], row["evidence_doc_id"]] = {
                "claim": row["claim"],
                "docs": [one for one in ids if one in corpus],
                "label": row["evidence_label"] or "NONE",
                "cited": cited,
            }
    return list(found.values())


def barred_of(folder: Path, validation: list[dict[str, Any]]) -> set[str]:
    """The abstracts that are kept for judging."""
    lines = (folder / "qrels.test.tsv").read_text("utf-8").splitlines()[1:]
    asked = {line.split("\t")[1] for line in lines}
    return asked | {one for claim in validation for one in claim["docs"] + claim["cited"]}


def sentences(identifier: str, row: dict[str, str]) -> list[str]:
    """Title and sentences of an abstract, cut as the claim check cuts them."""
    text = f"{row['title']}\n\n{row['text']}"
    return [part.text for part in parts_of([EvidenceSpan(identifier, 0, len(text), text)])]


def write_claims_and_abstracts(folder: Path, work: Path) -> None:
    """All that training may read of SciFact, in one file."""
    corpus = corpus_of(folder)
    train = claims_of(folder / "claims_train.csv", corpus)
    barred = barred_of(folder, claims_of(folder / "claims_validation.csv", corpus))
    needed = {one for claim in train for one in claim["docs"]}
    docs = {one: sentences(one, row) for one, row in corpus.items() if one not in barred or one in needed}
    (work / "data.json").write_text(json.dumps({"docs": docs, "train": train, "barred": sorted(barred)}), "utf-8")
    free = sum(one not in barred for one in docs)
    print(f"{len(train)} train claims, {len(docs)} abstracts, {free} of them free to write claims from")


def write_minilm(work: Path) -> None:
    """The weights in half precision under their plain names, and the tokenizer."""
    tensors = read_tensors(model_file("model.safetensors"))
    kept = {name: value for name, value in tensors.items() if not any(part in name for part in LEFT_OUT)}
    halves: dict[str, Any] = {name.replace("bert.", ""): value.astype(np.float16) for name, value in kept.items()}
    np.savez(work / "minilm.npz", **halves)
    shutil.copyfile(model_file("tokenizer.json"), work / "wordpiece.json")


def main() -> None:
    """Write data.json, minilm.npz and wordpiece.json into the work folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of SciFact")
    parser.add_argument("--work", type=Path, required=True, help="where the steps leave their files")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    write_claims_and_abstracts(options.data, options.work)
    write_minilm(options.work)


if __name__ == "__main__":
    main()
