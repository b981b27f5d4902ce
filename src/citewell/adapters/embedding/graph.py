"""The model as an ONNX graph, built from its tensors: token ids and mask in, unit vectors out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.weights import DIMENSIONS, EPSILON, HEAD_SIZE, HEADS, LAYERS, Tensors

GRAPH_VERSION = 1
"""Grows with every change of the graph, so that a cached one is built again."""

_OPSET = 20


def write_graph(tensors: Tensors, path: Path) -> None:
    """Write the graph to a file."""
    import onnx

    path.write_bytes(_Builder(tensors).model(onnx).SerializeToString())


class _Builder:
    """Collects nodes and constants."""

    def __init__(self, tensors: Tensors) -> None:
        self._tensors = tensors
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self, onnx: Any) -> Any:
        """The whole graph."""
        self._helper, self._numpy_helper = onnx.helper, onnx.numpy_helper
        hidden = self._embeddings()
        bias = self._mask_bias()
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, bias)
        self._pool(hidden)
        helper, kind = onnx.helper, onnx.TensorProto
        inputs = [helper.make_tensor_value_info(name, kind.INT64, ["batch", "length"]) for name in ("ids", "mask")]
        outputs = [helper.make_tensor_value_info("vectors", kind.FLOAT, ["batch", DIMENSIONS])]
        graph = helper.make_graph(self._nodes, "minilm", inputs, outputs, self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=10)

    def _embeddings(self) -> str:
        tensors = self._tensors
        words = self._constant("words", tensors["embeddings.word_embeddings.weight"])
        # Every text is of type 0: its embedding is added to the positions once and for all.
        kinds = tensors["embeddings.token_type_embeddings.weight"]
        positions = self._constant("positions", tensors["embeddings.position_embeddings.weight"] + kinds[0])
        length = self._node("Shape", ["ids"], start=1, end=2)
        steps = self._node("Slice", [positions, self._integers([0]), length])
        summed = self._node("Add", [self._node("Gather", [words, "ids"]), steps])
        return self._norm("embeddings.LayerNorm", summed)

    def _mask_bias(self) -> str:
        """0 where a token stands and a large negative number where padding does: [batch, 1, 1, length]."""
        mask = self._node("Cast", ["mask"], to=1)
        absent = self._node("Sub", [self._constant("one", np.float32(1)), mask])
        bias = self._node("Mul", [absent, self._constant("lowest", np.float32(-10_000))])
        return self._node("Unsqueeze", [bias, self._integers([1, 2])])

    def _layer(self, name: str, hidden: str, bias: str) -> str:
        attended = self._linear(f"{name}.attention.output.dense", self._attention(name, hidden, bias))
        hidden = self._norm(f"{name}.attention.output.LayerNorm", self._node("Add", [attended, hidden]))
        wide = self._node("Gelu", [self._linear(f"{name}.intermediate.dense", hidden)])
        narrow = self._linear(f"{name}.output.dense", wide)
        return self._norm(f"{name}.output.LayerNorm", self._node("Add", [narrow, hidden]))

    def _attention(self, name: str, hidden: str, bias: str) -> str:
        heads = self._integers([0, 0, HEADS, HEAD_SIZE])
        query, key, value = (
            self._node("Reshape", [self._linear(f"{name}.attention.self.{part}", hidden), heads])
            for part in ("query", "key", "value")
        )
        query = self._node("Transpose", [query], perm=[0, 2, 1, 3])
        key = self._node("Transpose", [key], perm=[0, 2, 3, 1])
        value = self._node("Transpose", [value], perm=[0, 2, 1, 3])
        scale = self._constant(f"{name}.scale", np.float32(HEAD_SIZE**-0.5))
        scores = self._node("Mul", [self._node("MatMul", [query, key]), scale])
        shares = self._node("Softmax", [self._node("Add", [scores, bias])], axis=-1)
        mixed = self._node("Transpose", [self._node("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        return self._node("Reshape", [mixed, self._integers([0, 0, DIMENSIONS])])

    def _pool(self, hidden: str) -> None:
        """The mean over a text's own tokens, scaled to length one."""
        mask = self._node("Unsqueeze", [self._node("Cast", ["mask"], to=1), self._integers([2])])
        kept = self._node("ReduceSum", [self._node("Mul", [hidden, mask]), self._integers([1])], keepdims=0)
        # Scaling to length one makes the division by the token count superfluous.
        length = self._node("ReduceL2", [kept, self._integers([1])], keepdims=1)
        self._nodes.append(self._helper.make_node("Div", [kept, length], ["vectors"]))

    def _linear(self, name: str, value: str) -> str:
        weight = self._constant(f"{name}.weight", np.ascontiguousarray(self._tensors[f"{name}.weight"].T))
        bias = self._constant(f"{name}.bias", self._tensors[f"{name}.bias"])
        return self._node("Add", [self._node("MatMul", [value, weight]), bias])

    def _norm(self, name: str, value: str) -> str:
        scale = self._constant(f"{name}.weight", self._tensors[f"{name}.weight"])
        shift = self._constant(f"{name}.bias", self._tensors[f"{name}.bias"])
        return self._node("LayerNormalization", [value, scale, shift], axis=-1, epsilon=EPSILON)

    def _node(self, operator: str, inputs: list[str], **attributes: object) -> str:
        output = f"{operator}_{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(operator, inputs, [output], **attributes))
        return output

    def _constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        self._constants.append(self._numpy_helper.from_array(np.asarray(value), name))
        return name

    def _integers(self, values: list[int]) -> str:
        return self._constant(f"integers_{len(self._constants)}", np.array(values, np.int64))
