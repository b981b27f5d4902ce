"""The model as an ONNX graph: ids of texts of one length in, unit vectors out; no padding, so no mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from citewell.minilm.weights import DIMENSIONS, EPSILON, HEAD_SIZE, HEADS, LAYERS, Tensors

FLOAT, INT64, HALF = 1, 7, 10
"""Element types, as ONNX numbers them."""

_OPSET = 21
_CONTRIB = "com.microsoft"


def float_graph(tensors: Tensors) -> bytes:
    """The model in fp32, with standard operators alone."""
    return FloatGraph(tensors).build()


class Graph:
    """Collects nodes and constants; hidden states have one row per token of the whole batch."""

    def __init__(self, tensors: Tensors) -> None:
        from onnx import helper, numpy_helper

        self._helper, self._numpy_helper = helper, numpy_helper
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._tensors = tensors

    def node(self, operator: str, inputs: list[str], *, output: str = "", contrib: bool = False, **given: Any) -> str:
        """Add an operator; returns the name of what it gives."""
        output = output or f"{operator}_{len(self._nodes)}"
        domain = _CONTRIB if contrib else ""
        self._nodes.append(self._helper.make_node(operator, inputs, [output], domain=domain, **given))
        return output

    def constant(self, value: NDArray[Any]) -> str:
        """Add a constant of any type."""
        name = f"constant_{len(self._constants)}"
        self._constants.append(self._numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name))
        return name

    def floats(self, value: ArrayLike) -> str:
        """Add a constant of fp32 numbers."""
        return self.constant(np.asarray(value, np.float32))

    def integers(self, *values: int) -> str:
        """Add a constant list of integers, such as a shape."""
        return self.constant(np.array(values, np.int64))

    def embeddings(self) -> str:
        """The sum of word, position and type embeddings."""
        words = self._tensors["embeddings.word_embeddings.weight"]
        # Half precision halves the file and moves a vector by less than 1e-6.
        looked_up = self.node("Gather", [self.constant(words.astype(np.float16)), "ids"])
        summed = self.node("Add", [self.node("Cast", [looked_up], to=FLOAT), self.places()])
        return self.node("Reshape", [summed, self.integers(-1, DIMENSIONS)])

    def places(self) -> str:
        """The position and type embeddings of every token; every text is of type 0."""
        positions = self._tensors["embeddings.position_embeddings.weight"]
        positions = positions + self._tensors["embeddings.token_type_embeddings.weight"][0]
        length = self.node("Shape", ["ids"], start=1, end=2)
        return self.node("Slice", [self.floats(positions), self.integers(0), length])

    def attention(self, query: str, key: str, value: str, *, half: bool = False) -> str:
        """Softmax attention over each text; the query is already scaled. In `half`, the products are in fp16."""
        if half:
            query, key, value = (self.node("Cast", [part], to=HALF) for part in (query, key, value))
        heads = self.shaped(HEADS, HEAD_SIZE)
        query, value = (
            self.node("Transpose", [self.node("Reshape", [part, heads])], perm=[0, 2, 1, 3]) for part in (query, value)
        )
        key = self.node("Transpose", [self.node("Reshape", [key, heads])], perm=[0, 2, 3, 1])
        scores = self.node("MatMul", [query, key])
        if half:
            shares = self.node("Softmax", [self.node("Cast", [scores], to=FLOAT)], axis=-1)
            mixed = self.node("MatMul", [self.node("Cast", [shares], to=HALF), value])
            mixed = self.node("Cast", [mixed], to=FLOAT)
        else:
            mixed = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), value])
        mixed = self.node("Transpose", [mixed], perm=[0, 2, 1, 3])
        return self.node("Reshape", [mixed, self.integers(-1, DIMENSIONS)])

    def normalised(self, name: str, value: str) -> str:
        """Layer normalisation."""
        scale, shift = (self.floats(self._tensors[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.node("LayerNormalization", [value, scale, shift], axis=-1, epsilon=EPSILON)

    def finished(self, hidden: str, *, with_lengths: bool = False) -> bytes:
        """The mean over each text's tokens, scaled to length one, and with it the whole graph.

        `with_lengths` gives the length that the mean had as well.
        """
        texts = self.node("Reshape", [hidden, self.shaped(DIMENSIONS)])
        mean = self.node("ReduceMean", [texts, self.integers(1)], keepdims=0)
        length = self.node("ReduceL2", [mean, self.integers(1)], keepdims=1, output="lengths")
        self.node("Div", [mean, length], output="vectors")
        return self.serialised(["ids"], {"vectors": DIMENSIONS, **({"lengths": 1} if with_lengths else {})})

    def serialised(self, inputs: list[str], outputs: dict[str, int]) -> bytes:
        """The whole graph: it takes integers for every token, and gives so many numbers for every text."""
        helper = self._helper
        taken = [helper.make_tensor_value_info(name, INT64, ["texts", "length"]) for name in inputs]
        given = [helper.make_tensor_value_info(name, FLOAT, ["texts", size]) for name, size in outputs.items()]
        graph = helper.make_graph(self._nodes, "minilm", taken, given, self._constants)
        domains = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        whole: bytes = helper.make_model(graph, opset_imports=domains, ir_version=10).SerializeToString()
        return whole

    def shaped(self, *inner: int) -> str:
        """The shape (texts, length, *inner)."""
        return self.node("Concat", [self.node("Shape", ["ids"]), self.integers(*inner)], axis=0)


class FloatGraph(Graph):
    """The model as it was trained."""

    def build(self) -> bytes:
        """The graph, serialised."""
        return self.finished(self.hidden())

    def hidden(self) -> str:
        """What the last layer gives, one row per token."""
        hidden = self.normalised("embeddings.LayerNorm", self.embeddings())
        for layer in range(LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden)
        return hidden

    def _layer(self, name: str, hidden: str) -> str:
        scale = HEAD_SIZE**-0.5
        query = self._linear(f"{name}.attention.self.query", hidden, scale=scale)
        key = self._linear(f"{name}.attention.self.key", hidden)
        value = self._linear(f"{name}.attention.self.value", hidden)
        attended = self._linear(f"{name}.attention.output.dense", self.attention(query, key, value))
        hidden = self.normalised(f"{name}.attention.output.LayerNorm", self.node("Add", [attended, hidden]))
        wide = self.node("Gelu", [self._linear(f"{name}.intermediate.dense", hidden)])
        narrow = self._linear(f"{name}.output.dense", wide)
        return self.normalised(f"{name}.output.LayerNorm", self.node("Add", [narrow, hidden]))

    def _linear(self, name: str, value: str, *, scale: float = 1.0) -> str:
        weight = self.floats(self._tensors[f"{name}.weight"].T * scale)
        bias = self.floats(self._tensors[f"{name}.bias"] * scale)
        return self.node("Add", [self.node("MatMul", [value, weight]), bias])
