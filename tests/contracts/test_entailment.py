"""A local entailment model: a real ONNX graph, made here, that reads two texts and is asked last of every sentence."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from citewell.adapters.entailment.onnx import OnnxEntailment
from citewell.app import build
from citewell.config import Settings
from citewell.errors import ModelFilesMissing
from citewell.types import EvidenceSpan, Verdict

WORDS = ("[UNK]", "[CLS]", "[SEP]", "yes", "no", "iron")
LABELS = {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}
FAITHFUL = "Ferrous sulfate tablets are taken each morning by adults with anaemia."
SOURCE = "Adults with anaemia take ferrous sulfate tablets in the morning. {}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cross-encoder of one layer: “yes” in what it reads speaks for entailment, “no” for contradiction."""
    made = tmp_path / "tiny-nli"
    made.mkdir()
    scores = np.zeros((len(WORDS), 3), np.float32)
    scores[WORDS.index("yes"), 2] = scores[WORDS.index("no"), 0] = 9
    scores[WORDS.index("[CLS]"), 1] = 1
    nodes = [
        helper.make_node("Gather", ["scores", "input_ids"], ["each"]),
        helper.make_node("ReduceSum", ["each", "axes"], ["logits"], keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, None]) for name in ("input_ids",)]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 3])]
    held = [numpy_helper.from_array(scores, "scores"), numpy_helper.from_array(np.array([1]), "axes")]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, held)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), made / "model.onnx")
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(made / "tokenizer.json"))
    (made / "config.json").write_text(json.dumps({"id2label": LABELS, "max_position_embeddings": 32}))
    return made


def test_it_says_how_likely_each_reading_is_in_the_order_of_its_own_labels(folder: Path) -> None:
    model = OnnxEntailment(folder)
    for words, likeliest in (("yes", 0), ("iron", 1), ("no", 2)):
        scores = model.score(f"iron {words}", "iron")
        assert (sum(scores), int(np.argmax(scores))) == (pytest.approx(1), likeliest)
    assert model.name == f"tiny-nli, sha256 {hashlib.sha256((folder / 'model.onnx').read_bytes()).hexdigest()}"


def test_a_long_source_is_cut_and_the_sentence_never(folder: Path) -> None:
    assert OnnxEntailment(folder).score("iron " * 500, "no")[2] > 0.9


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_folder_that_holds_no_model_is_refused_with_what_to_do(folder: Path, name: str) -> None:
    (folder / name).write_text("{}")
    with pytest.raises(ModelFilesMissing, match=r"could not be read.*CITEWELL_ENTAILMENT"):
        OnnxEntailment(folder)
    (folder / name).unlink()
    with pytest.raises(ModelFilesMissing, match=f"{name} is missing"):
        OnnxEntailment(folder)


def test_the_settings_name_it_and_every_check_asks_it(folder: Path, tmp_path: Path) -> None:
    def verdict(told: str, entailment: Path | None) -> Verdict:
        with build(Settings(home=tmp_path / "home", entailment=entailment)) as app:
            text = SOURCE.format(told)
            return app.verify_sentence(FAITHFUL + " " + told, [EvidenceSpan("a:0", 0, len(text), text)]).verdict

    assert verdict("iron", None) is Verdict.SUPPORTED
    assert verdict("no", folder) is Verdict.CONTRADICTED
    with build(Settings(home=tmp_path / "home", entailment=folder)) as app:
        assert app.knowledge.setup()["entailment"].startswith("tiny-nli, sha256 ")
