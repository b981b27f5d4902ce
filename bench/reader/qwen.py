"""The teacher's network: Qwen2.5-Coder-1.5B-Instruct from a GGUF file, and the adapters it learns with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from bench.reader.adapted import Adapted
from bench.reader.batches import processor
from bench.reader.needs import torch, transformers

LAYERS, TINY_LAYERS = 28, 2
HEADS, KEY_HEADS, HEAD_SIZE = 12, 2, 128
"""Heads that ask, heads that are looked at (each serves six that ask), and numbers in each."""
ROPE_BASE = 1e6
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
FEED_FORWARD = ("gate_proj", "up_proj", "down_proj")
NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
"""From the names in the file to those in transformers."""


def build(work: Path, *, tiny: bool) -> Any:
    """The network with the small vocabulary, its weights frozen; only two layers where it is a trial."""
    tokens = np.load(work / "ids.npy")
    layers = TINY_LAYERS if tiny else LAYERS
    with torch.device("meta"):
        model = transformers.Qwen2ForCausalLM(_shape(len(tokens), layers))
    model = model.to(torch.bfloat16).to_empty(device=processor())
    found = model.load_state_dict(dict(_weights(work / "teacher.gguf", tokens, layers)), strict=False)
    if found.unexpected_keys or found.missing_keys not in ([], ["lm_head.weight"]):
        raise SystemExit(f"teacher.gguf does not fit the network: {found}")
    model.tie_weights()
    model.lm_head.weight = model.model.embed_tokens.weight
    _turn(model)
    return model.requires_grad_(requires_grad=False)


def _shape(tokens: int, layers: int) -> Any:
    return transformers.Qwen2Config(
        vocab_size=tokens,
        hidden_size=HEADS * HEAD_SIZE,
        intermediate_size=8960,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_BASE},
        tie_word_embeddings=True,
        max_position_embeddings=4096,
        attn_implementation="sdpa",
    )


def _weights(path: Path, tokens: np.ndarray, layers: int) -> Iterator[tuple[str, torch.Tensor]]:
    """The weights that are used, unpacked from four and six bits.

    The file holds the embeddings twice; those of the last layer are finer and serve as both.
    """
    for tensor in gguf.GGUFReader(path).tensors:
        name = _name(tensor.name, layers)
        if name is not None:
            packed = tensor.data[tokens] if tensor.name == "output.weight" else tensor.data
            plain = gguf.quants.dequantize(packed, tensor.tensor_type)
            yield name, torch.from_numpy(np.array(plain)).to(processor()).to(torch.bfloat16)


def _name(name: str, layers: int) -> str | None:
    """The name in transformers; none for what is not used."""
    whole = {
        "token_embd.weight": None,
        "output.weight": "model.embed_tokens.weight",
        "output_norm.weight": "model.norm.weight",
    }
    if name in whole:
        return whole[name]
    _, layer, part, kind = name.split(".")
    return f"model.layers.{layer}.{NAMES[part]}.{kind}" if int(layer) < layers else None


def _turn(model: Any) -> None:
    """Set the angles of the rotary positions, which a network made without memory does not have."""
    places = torch.arange(0, HEAD_SIZE, 2, dtype=torch.float32, device=processor())
    turning = model.model.rotary_emb
    turning.inv_freq = 1.0 / (ROPE_BASE ** (places / HEAD_SIZE))
    if hasattr(turning, "original_inv_freq"):
        turning.original_inv_freq = turning.inv_freq


def _linear_layers(model: Any) -> Iterator[tuple[Any, str]]:
    """Where each linear layer hangs, and its name there."""
    for layer in model.model.layers:
        yield from ((layer.self_attn, name) for name in ATTENTION)
        yield from ((layer.mlp, name) for name in FEED_FORWARD)


def adapt(model: Any) -> list[torch.nn.Parameter]:
    """Put an adapter beside every linear layer; returns what learns."""
    for owner, name in _linear_layers(model):
        setattr(owner, name, Adapted(getattr(owner, name)))
    return [one for one in model.parameters() if one.requires_grad]


def fuse(model: Any) -> None:
    """Put what the adapters have learned into the layers themselves."""
    for owner, name in _linear_layers(model):
        setattr(owner, name, getattr(owner, name).fused())
