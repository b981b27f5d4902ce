"""A reader of two texts as an ONNX graph: ids and types of the texts in, the scores of its head out."""

from __future__ import annotations

from citewell.adapters.embedding.graph import FloatGraph, Graph
from citewell.adapters.embedding.quantisation_ranges import Ranges
from citewell.adapters.embedding.quantised import QuantisedGraph
from citewell.minilm.weights import DIMENSIONS, Tensors


def pair_graph(tensors: Tensors) -> bytes:
    """The graph in fp32, with standard operators alone."""
    return PairGraph(tensors).build()


def quantised_pair_graph(tensors: Tensors, ranges: Ranges, *, half: bool) -> bytes:
    """The graph with eight-bit linear layers; in `half`, attention and GELU are in fp16."""
    return QuantisedPairGraph(tensors, ranges, half=half).build()


class PairInputs(Graph):
    """What knows which of two texts a token is of, and scores both together."""

    def scored(self, hidden: str) -> bytes:
        """The scores of the head from the first token and the mean of all, and with them the whole graph."""
        texts = self.node("Reshape", [hidden, self.shaped(DIMENSIONS)])
        mean = self.node("ReduceMean", [texts, self.integers(1)], keepdims=0)
        first = self.node("Gather", [texts, self.integers(0)], axis=1)
        both = self.node("Concat", [self.node("Squeeze", [first, self.integers(1)]), mean], axis=-1)
        weight, bias = (self.floats(self._tensors[f"head.{part}"]) for part in ("weight", "bias"))
        self.node("Gemm", [both, weight, bias], output="scores", transB=1)
        return self.serialised(["ids", "types"], {"scores": len(self._tensors["head.bias"])})

    def places(self) -> str:
        """The position and type embeddings of every token, each text of a type of its own."""
        length = self.node("Shape", ["ids"], start=1, end=2)
        positions = self.floats(self._tensors["embeddings.position_embeddings.weight"])
        steps = self.node("Slice", [positions, self.integers(0), length])
        kinds = self.floats(self._tensors["embeddings.token_type_embeddings.weight"])
        return self.node("Add", [steps, self.node("Gather", [kinds, "types"])])


class PairGraph(PairInputs, FloatGraph):
    """The reader as it was trained."""

    def build(self) -> bytes:
        """The graph, serialised."""
        return self.scored(self.hidden())


class QuantisedPairGraph(PairInputs, QuantisedGraph):
    """The reader with linear layers on bytes."""

    def build(self) -> bytes:
        """The graph, serialised."""
        return self.scored(self.hidden())
