"""A copy of a matrix in 4 bits a number that bounds every product from above, at a sixth of the cost of the product."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.helper_threads import core_count
from citewell.ports import Vector, Vectors

BLOCK = 128
"""Numbers that share one scale: fewer would lose less, but take twice as long on a processor with AVX-512."""

MAX_ROWS = 6_000_000
"""A model that holds more than 2 GB cannot be written."""

_ROWS_AT_A_TIME = 512
"""What stays in the processor's cache while it is rounded."""

_SLACK = 1e-4
"""More than the additions in float32 can be off by."""

Bounds = NDArray[np.float32]


class ScoreBounds:
    """Bounds on the products of a matrix with a vector.

    Each row is rounded to 4 bits, and the length of what rounding took from it is kept: by Cauchy and Schwarz a
    product is off by that much at most. The rounded product is onnxruntime's MatMulNBits, written for language models.
    """

    def __init__(self, matrix: Vectors) -> None:
        self._rows, self._width = len(matrix), int(matrix.shape[1])
        codes, scales, losses, self._longest = _rounded(matrix)
        self._session = _session(codes, scales, losses)
        probe = np.ones(self._width, dtype=np.float32) / np.float32(np.sqrt(self._width))
        self.is_sound = bool((self.bounds(probe) >= matrix @ probe).all())
        """Whether the processor's kernel keeps the promise; one that does not is not to be used."""

    @property
    def bytes(self) -> int:
        """Memory held."""
        return self._rows * (self._width // 2 + 4 * self._width // BLOCK + 4)

    def bounds(self, vector: Vector) -> Bounds:
        """For each row, a number that its product with the vector, of length one or less, does not exceed."""
        # The kernel rounds the vector as well, to 8 bits a block; twice that error allows for other ways of rounding.
        off = 2 * self._longest * np.sqrt(self._width) * float(np.abs(vector).max()) / 254 + _SLACK
        found: Bounds = self._session.run(None, {"vector": vector[np.newaxis]})[0][0]
        found += np.float32(off)
        return found


class LazyScoreBounds:
    """A rough copy that is made when a matrix is searched for the second time: one search does not pay for it."""

    def __init__(self, matrix: Vectors) -> None:
        self._matrix = matrix
        self._searches = 0
        self._rough: ScoreBounds | None = None
        self._making = threading.Lock()

    @property
    def bytes(self) -> int:
        """Memory held."""
        return self._rough.bytes if self._rough else 0

    def get(self) -> ScoreBounds | None:
        """The rough copy, where there is one by now; who comes while it is made does without."""
        if self._searches < 2 and self._making.acquire(blocking=False):
            try:
                self._searches += 1
                if self._searches == 2:
                    self._rough = _made(self._matrix)
            finally:
                self._making.release()
        return self._rough


def _made(matrix: Vectors) -> ScoreBounds | None:
    """A rough copy, or None where this machine has no kernel for it: one pass then does the work of two."""
    try:
        rough = ScoreBounds(matrix)
    except Exception:  # onnxruntime's errors have no base of their own
        return None
    return rough if rough.is_sound else None


def _rounded(matrix: Vectors) -> tuple[NDArray[np.uint8], Vectors, Bounds, float]:
    """The rows in 4 bits, the scale of each block, the length that each row lost, and the greatest length of a row."""
    rows, width = matrix.shape
    codes = np.empty((rows, width // BLOCK, BLOCK // 2), dtype=np.uint8)
    scales = np.empty((rows, width // BLOCK), dtype=np.float32)
    losses = np.empty(rows, dtype=np.float32)
    longest = 0.0
    for start in range(0, rows, _ROWS_AT_A_TIME):
        part = slice(start, start + _ROWS_AT_A_TIME)
        blocks = matrix[part].reshape(-1, width // BLOCK, BLOCK)
        high, low = blocks.max(axis=2), blocks.min(axis=2)
        scale = np.where(high > -low, high, low) / np.float32(-8)
        scale[scale == 0] = 1
        whole = np.rint(blocks / scale[..., np.newaxis])
        np.minimum(whole, 7, out=whole)
        lost = whole * scale[..., np.newaxis] - blocks
        losses[part] = np.sqrt(np.einsum("ijk,ijk->i", lost, lost))
        longest = max(longest, float(np.einsum("ijk,ijk->i", blocks, blocks).max()) ** 0.5)
        digits = (whole + 8).astype(np.uint8)
        codes[part] = digits[..., 0::2] | digits[..., 1::2] << 4
        scales[part] = scale
    return codes, scales, losses, longest + float(losses.max())


def _session(codes: NDArray[np.uint8], scales: Vectors, losses: Bounds) -> Any:
    """An inference session of one operator: the product of the rounded rows with a vector, and what they lost added."""
    import onnx.helper as make
    import onnxruntime
    from onnx import TensorProto

    rows, blocks, _ = codes.shape
    product = make.make_node(
        "MatMulNBits",
        ["vector", "codes", "scales", "", "", "losses"],
        ["products"],
        domain="com.microsoft",
        K=blocks * BLOCK,
        N=rows,
        bits=4,
        block_size=BLOCK,
        accuracy_level=4,
    )
    graph = make.make_graph(
        [product],
        "rough",
        [make.make_tensor_value_info("vector", TensorProto.FLOAT, [1, blocks * BLOCK])],
        [make.make_tensor_value_info("products", TensorProto.FLOAT, [1, rows])],
        [
            make.make_tensor("codes", TensorProto.UINT8, codes.shape, codes.tobytes(), raw=True),
            make.make_tensor("scales", TensorProto.FLOAT, [scales.size], scales.tobytes(), raw=True),
            make.make_tensor("losses", TensorProto.FLOAT, [rows], losses.tobytes(), raw=True),
        ],
    )
    imports = [make.make_opsetid("", 17), make.make_opsetid("com.microsoft", 1)]
    model = make.make_model(graph, opset_imports=imports, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = core_count()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
