"""Writes what training needs of the product into a work folder: weights, tokens, and names to vary the texts with."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from citewell import vocabulary
from citewell.clinical.lexicon import NOTHING, Lexicon, named_concept
from citewell.clinical.tables import rows
from citewell.minilm.weights import model_file, read_tensors

WORDINGS = Path(__file__).parent / "material" / "wordings"
MEANT = ("symptom", "condition", "lifestyle")
"""The kinds of things whose meaning the reader learns."""


def prepare(work: Path, arctic: Path | None) -> None:
    """Leaves minilm.npz, wordpiece.json, names.json and concepts.json, and arctic.npz where its ONNX file is given."""
    work.mkdir(parents=True, exist_ok=True)
    tensors = read_tensors(model_file("model.safetensors"))
    np.savez_compressed(work / "minilm.npz", **{name: value.astype(np.float16) for name, value in tensors.items()})
    if arctic is not None:
        np.savez_compressed(work / "arctic.npz", **eight_bits(arctic))
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


def eight_bits(path: Path) -> dict[str, NDArray[Any]]:
    """The weights of a BERT in an ONNX file in eight bits: whole numbers, and `NAME.scale` to multiply them by."""
    graph = onnx.load(str(path)).graph
    found = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    tensors: dict[str, NDArray[Any]] = {name: one for name, one in found.items() if one.dtype == np.float32}
    tensors = {name: one for name, one in tensors.items() if name.endswith(("weight", "bias"))}
    places = {name.removesuffix("_quantized"): name for name in found if name.endswith("_quantized")}
    layers = {  # “/encoder/layer.0/output/dense/MatMul_quant” multiplies by the weight of that layer, turned
        node.input[1].removesuffix("_quantized"): node.name.strip("/").rpartition("/")[0].replace("/", ".") + ".weight"
        for node in graph.node
        if node.op_type == "MatMulInteger"
    }
    for stem, place in places.items():
        whole = found[place].astype(np.int16) - found[f"{stem}_zero_point"].astype(np.int16)
        if np.abs(whole).max() < 128:
            whole = whole.astype(np.int8)
        scale = found[f"{stem}_scale"].astype(np.float32)
        name = layers.get(stem, stem)
        tensors[name] = whole.T if stem in layers else whole
        tensors[f"{name}.scale"] = scale[:, None] if stem in layers and scale.ndim else scale
    return tensors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--arctic", type=Path, help="model.onnx of snowflake-arctic-embed-s in eight bits.")
    chosen = parser.parse_args()
    prepare(chosen.work, chosen.arctic)
