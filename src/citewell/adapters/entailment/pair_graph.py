"""The pair reader as an ONNX graph: ids and types of two texts in, three scores out."""

from __future__ import annotations

from citewell.adapters.embedding.graph import FloatGraph
from citewell.adapters.embedding.weights import DIMENSIONS, Tensors

SCORES = 3


def pair_graph(tensors: Tensors) -> bytes:
    """The graph in fp32, with standard operators alone."""
    return PairGraph(tensors).build()


class PairGraph(FloatGraph):
    """The embedding model that knows which of two texts a token is of, and scores both together."""

    def build(self) -> bytes:
        """The graph, serialised."""
        texts = self.node("Reshape", [self.hidden(), self.shaped(DIMENSIONS)])
        mean = self.node("ReduceMean", [texts, self.integers(1)], keepdims=0)
        first = self.node("Gather", [texts, self.integers(0)], axis=1)
        both = self.node("Concat", [self.node("Squeeze", [first, self.integers(1)]), mean], axis=-1)
        weight, bias = (self.floats(self._tensors[f"head.{part}"]) for part in ("weight", "bias"))
        self.node("Gemm", [both, weight, bias], output="scores", transB=1)
        return self.serialised(["ids", "types"], {"scores": SCORES})

    def places(self) -> str:
        """The position and type embeddings of every token, each text of a type of its own."""
        length = self.node("Shape", ["ids"], start=1, end=2)
        positions = self.floats(self._tensors["embeddings.position_embeddings.weight"])
        steps = self.node("Slice", [positions, self.integers(0), length])
        kinds = self.floats(self._tensors["embeddings.token_type_embeddings.weight"])
        return self.node("Add", [steps, self.node("Gather", [kinds, "types"])])
