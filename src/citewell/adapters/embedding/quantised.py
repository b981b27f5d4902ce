"""The model with eight-bit linear layers: four times the arithmetic per instruction, vectors at cosine 0.999 to fp32.

Weights have one scale per output. What keeps the vectors true is how inputs are placed in eight bits:
- after a layer norm, each channel has its own measured centre and a scale that shares its width with the weights;
- after attention and after GELU, each token has its own scale;
- the few channels and neurons that are far larger than all others stay in fp32, where they cost next to nothing, and
  so do the values that the last layers attend to.
No scale depends on other texts, so a text has the same vector in any batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.embedding.graph import FLOAT, HALF, Graph
from citewell.adapters.embedding.quantisation_ranges import Range, Ranges
from citewell.minilm.forward import Array
from citewell.minilm.weights import DIMENSIONS, EPSILON, HEAD_SIZE, LAYERS, Tensors

_MIDDLE = 128
_STEPS = 127
"""Eight-bit values lie this far on either side of the middle."""

_LARGE_CHANNELS = 4
_LARGE_NEURONS = 8
_GELU_FLOOR = 0.1701
"""GELU never falls below minus this; added to it, its values fill unsigned bytes."""

_PRECISE_LAYERS = 3
"""Layers, the last ones, whose attended values are not rounded: these errors reach the vector most directly."""

_BALANCE = 0.85
"""The share of a channel's width that goes into its scale; the rest goes into the weights. Best of 0.5 to 1."""


def quantised_graph(tensors: Tensors, ranges: Ranges, *, half: bool) -> bytes:
    """The graph, serialised; in `half`, attention and GELU are in fp16, for CPUs that compute in it."""
    return QuantisedGraph(tensors, ranges, half=half).build()


@dataclass(frozen=True, slots=True)
class NormOutput:
    """A layer norm's output: as bytes, as the rest of the layer needs it, and how the bytes are to be read."""

    bytes: str
    residual: str
    residual_shift: Array
    """What is still to be added to the residual; whoever uses it folds this into a bias."""
    steps: Array
    centre: Array
    mean: Array
    large: NDArray[np.intp]
    """Channels that the bytes do not carry."""


class QuantisedGraph(Graph):
    """Linear layers on bytes, the rest in fp32 or fp16."""

    def __init__(self, tensors: Tensors, ranges: Ranges, *, half: bool) -> None:
        super().__init__(tensors)
        self._half = half
        self._ranges = ranges
        self._one = self.floats(1.0)
        self._middle = self.constant(np.array(_MIDDLE, np.uint8))

    def build(self) -> bytes:
        """The graph, serialised."""
        return self.finished(self.hidden(), with_lengths=True)

    def hidden(self) -> str:
        """What the last layer gives, one row per token."""
        hidden = self.embeddings()
        norm = "embeddings.LayerNorm"
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            hidden = self._attend(name, norm, hidden, precise=layer >= LAYERS - _PRECISE_LAYERS)
            hidden = self._think(name, hidden)
            norm = f"{name}.output.LayerNorm"
        return self.normalised(norm, hidden)

    def _attend(self, name: str, norm: str, hidden: str, *, precise: bool) -> str:
        """Norm, attention and its output, added to what came in; `precise` leaves the attended values unrounded."""
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        weights = [self._tensors[f"{part}.weight"] for part in parts]
        biases = [self._tensors[f"{part}.bias"] for part in parts]
        normed = self._norm(norm, hidden, self._ranges[parts[0]], np.concatenate(weights), large=0)
        scale = np.float32(HEAD_SIZE**-0.5)
        query = self._from_norm(normed, weights[0] * scale, biases[0] * scale)
        key = self._from_norm(normed, weights[1], biases[1])
        output = f"{name}.attention.output.dense"
        weight, bias = self._tensors[f"{output}.weight"], self._tensors[f"{output}.bias"] + normed.residual_shift
        if precise:
            element, kind = (HALF, np.float16) if self._half else (FLOAT, np.float32)
            exact = self.node("Cast", [normed.residual], to=element) if self._half else normed.residual
            value = self.node("MatMul", [exact, self.constant(weights[2].T.astype(kind))])
            # What is the same for every token comes through attention unchanged.
            constant = weights[2] @ normed.residual_shift + biases[2]
            bias = bias + weight @ constant
            mean = self._ranges[output].mean - constant
        else:
            value = self._from_norm(normed, weights[2], biases[2])
            mean = self._ranges[output].mean
        mixed = self.attention(query, key, value, half=self._half)
        widest = self.node("ReduceMax", [self.node("Abs", [mixed]), self.integers(1)], keepdims=0)
        steps = self.node("Mul", [widest, self.floats(1 / _STEPS)])
        product, bias = self._by_token(mixed, steps, weight, bias, mean, signed=True)
        return self._sum(product, self.floats(bias), normed.residual)

    def _think(self, name: str, hidden: str) -> str:
        """Norm and the two wide layers, added to what came in."""
        into, out = f"{name}.intermediate.dense", f"{name}.output.dense"
        into_weight, into_bias = self._tensors[f"{into}.weight"], self._tensors[f"{into}.bias"]
        out_weight, out_bias = self._tensors[f"{out}.weight"], self._tensors[f"{out}.bias"]
        range_ = self._ranges[out]
        reach = np.maximum(range_.high, -range_.low) * np.abs(out_weight).max(axis=0)
        order = np.argsort(reach)
        usual, large = np.sort(order[:-_LARGE_NEURONS]), np.sort(order[-_LARGE_NEURONS:])

        normed = self._norm(
            f"{name}.attention.output.LayerNorm", hidden, self._ranges[into], into_weight, large=_LARGE_CHANNELS
        )
        wide = self._gelu(self._from_norm(normed, into_weight[usual], into_bias[usual]))
        wide = self.node("Add", [wide, self.floats(_GELU_FLOOR)])
        widest = self.node("ReduceMax", [wide, self.integers(1)], keepdims=0)
        steps = self.node("Mul", [widest, self.floats(1 / 255)])
        bias = out_bias + normed.residual_shift - out_weight[:, usual].sum(axis=1) * np.float32(_GELU_FLOOR)
        mean = range_.mean[usual] + np.float32(_GELU_FLOOR)
        product, bias = self._by_token(wide, steps, out_weight[:, usual], bias, mean, signed=False)

        shift = into_bias[large] + into_weight[large] @ normed.residual_shift
        few = self.node("Gemm", [normed.residual, self.floats(into_weight[large].T), self.floats(shift)])
        few = self.node("Gelu", [few])
        few = self.node("Gemm", [few, self.floats(out_weight[:, large].T), self.floats(bias)])
        return self._sum(product, few, normed.residual)

    def _norm(self, name: str, value: str, range_: Range, weight: Array, *, large: int) -> NormOutput:
        scale, shift = self._tensors[f"{name}.weight"], self._tensors[f"{name}.bias"]
        half = np.float32(0.5)
        centre, reach = (range_.high + range_.low) * half, (range_.high - range_.low) * half
        order = np.argsort(reach)
        usual, outside = order[: DIMENSIONS - large], order[DIMENSIONS - large :]
        steps = reach**_BALANCE / np.abs(weight).max(axis=0) ** (1 - _BALANCE)
        steps *= (reach / steps)[usual].max() / _STEPS
        # Centring, then scaling by the root mean square, is three times as fast here as the one operator for both.
        mean = self.node("ReduceMean", [value, self.integers(1)], keepdims=1)
        scaled = self.node(
            "SimplifiedLayerNormalization",
            [self.node("Sub", [value, mean]), self.floats(scale / steps)],
            axis=-1,
            epsilon=EPSILON,
        )
        placed = self.node("Add", [scaled, self.floats((shift - centre) / steps)])
        return NormOutput(
            bytes=self.node("QuantizeLinear", [placed, self._one, self._middle]),
            residual=self.node("Mul", [scaled, self.floats(steps)]),
            residual_shift=shift,
            steps=steps,
            centre=centre,
            mean=range_.mean,
            large=np.sort(outside),
        )

    def _from_norm(self, normed: NormOutput, weight: Array, bias: Array) -> str:
        """A linear layer on a layer norm's bytes; channels that these do not carry are added in fp32."""
        carried = weight.copy()
        carried[:, normed.large] = 0
        quantised, scales = _quantised(carried * normed.steps)
        # What rounding the weights does to the mean input is known, so it is taken back in the bias.
        lost = (carried - quantised.T * scales[:, None] / normed.steps) @ (normed.mean - normed.centre)
        bias = bias + carried @ normed.centre + lost
        inputs = [normed.bytes, self.constant(quantised), self._one, self.floats(scales), self._middle]
        if not normed.large.size:
            return self.node("MatMulIntegerToFloat", [*inputs, "", self.floats(bias)], contrib=True)
        product = self.node("MatMulIntegerToFloat", inputs, contrib=True)
        channels = self.node("Gather", [normed.residual, self.constant(normed.large)], axis=1)
        missing = weight[:, normed.large]
        bias = bias + missing @ normed.residual_shift[normed.large]
        few = self.node("Gemm", [channels, self.floats(missing.T), self.floats(bias)])
        return self.node("Add", [product, few])

    def _by_token(
        self, value: str, steps: str, weight: Array, bias: Array, mean: Array, *, signed: bool
    ) -> tuple[str, Array]:
        """A linear layer on bytes scaled token by token, without its bias, and that bias."""
        quantised, scales = _quantised(weight)
        zero = self._middle if signed else self.constant(np.array(0, np.uint8))
        zeros = self.node("Expand", [zero, self.node("Shape", [steps])])
        placed = self.node("QuantizeLinear", [value, steps, zeros], axis=0)
        inputs = [placed, self.constant(quantised), self._one, self.floats(scales), zero]
        product = self.node("MatMulIntegerToFloat", inputs, contrib=True)
        scaled = self.node("Mul", [product, self.node("Unsqueeze", [steps, self.integers(1)])])
        lost: Array = (weight - quantised.T * scales[:, None]) @ mean
        return scaled, bias + lost

    def _gelu(self, value: str) -> str:
        if not self._half:
            return self.node("Gelu", [value], approximate="tanh")
        halved = self.node("Gelu", [self.node("Cast", [value], to=HALF)], approximate="tanh")
        return self.node("Cast", [halved], to=FLOAT)

    def _sum(self, product: str, bias: str, residual: str) -> str:
        return self.node("Add", [self.node("Add", [product, bias]), residual])


def _quantised(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """Bytes, one column per output, and the scale of each column."""
    scales = np.maximum(np.abs(weight).max(axis=1), np.float32(1e-12)) / _STEPS
    return np.rint(weight / scales[:, None]).astype(np.int8).T, scales
