"""Loads an adapter that was trained here: changes to the weights of MiniLM, heads, and the names of their rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from citewell.errors import ModelFilesMissing
from citewell.minilm.forward import adapted
from citewell.minilm.weights import LAYERS, Tensors, model_file, read_tensors

STRENGTH = 2.0
"""How strongly the low-rank changes count, as in training."""


@dataclass(frozen=True, eq=False, slots=True)
class Adapter:
    """The weights of MiniLM as they were trained on, and what the rows of the heads stand for."""

    tensors: Tensors
    layers: int
    labels: dict[str, tuple[str, ...]]

    @classmethod
    def load(cls, path: Path, sha256: str, labels: Sequence[str] = ()) -> Adapter:
        """Read an adapter whose file must be the one expected."""
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest != sha256:
            raise ModelFilesMissing(
                f"{path.name} is not the file expected: sha256 {digest[:8]}… instead of {sha256[:8]}…. "
                "Reinstall Citewell."
            )
        with np.load(path, allow_pickle=False) as file:
            named = {name: tuple(str(label) for label in file[name]) for name in labels}
            changes = {name: file[name].astype(np.float32) for name in file.files if name not in named}
        tensors = adapted(read_tensors(model_file("model.safetensors")), changes, strength=STRENGTH)
        layers = sum(f"encoder.layer.{layer}.attention.self.query.a" in changes for layer in range(LAYERS))
        return cls(tensors, layers, named)
