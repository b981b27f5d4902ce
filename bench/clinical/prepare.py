"""Writes what training needs of the product into a work folder: weights, tokens, and names to vary the texts with."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np

from citewell import vocabulary
from citewell.clinical.lexicon import NOTHING, Lexicon, named_concept
from citewell.clinical.tables import rows
from citewell.minilm.weights import model_file, read_tensors

WORDINGS = Path(__file__).parent / "material" / "wordings"
MEANT = ("symptom", "condition", "lifestyle")
"""The kinds of things whose meaning the reader learns."""


def prepare(work: Path) -> None:
    """Leaves minilm.npz, wordpiece.json, names.json and concepts.json."""
    work.mkdir(parents=True, exist_ok=True)
    tensors = read_tensors(model_file("model.safetensors"))
    np.savez_compressed(work / "minilm.npz", **{name: value.astype(np.float16) for name, value in tensors.items()})
    shutil.copy(model_file("tokenizer.json"), work / "wordpiece.json")
    symptoms = [line.split("\t")[1] for line in vocabulary.packed_lines("hpo.tsv.gz") if line]
    symptoms += [row[1] for row in rows("names.tsv")]
    short = sorted({name.lower() for name in symptoms if len(name.split()) <= 3 and len(name) < 32})
    illnesses = sorted({row[0] for row in vocabulary.rows("illnesses.tsv") if len(row[0]) > 2})
    drugs = sorted({row[1] for row in rows("medicines.tsv") if row[0] == "drug"})
    names = {"symptom": short, "condition": illnesses, "medicine": drugs, "allergen": drugs}
    (work / "names.json").write_text(json.dumps(names))
    concepts = [one for one in Lexicon.load().concepts.values() if one.kind in MEANT and one.name != NOTHING]
    known = {one.name: {"kind": one.kind, "names": [name.text for name in one.names]} for one in concepts}
    worded = {line.split("\t")[0] for path in WORDINGS.glob("*.tsv") for line in path.read_text("utf-8").splitlines()}
    for name in sorted(worded - set(known) - {"none", ""}):
        known[name] = {"kind": "symptom", "names": [one.text for one in named_concept(name).names]}
    (work / "concepts.json").write_text(json.dumps(known))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    prepare(parser.parse_args().work)
