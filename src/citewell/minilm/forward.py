"""A run of the model in numpy: several texts at once, packed without padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from citewell.minilm.weights import DIMENSIONS, EPSILON, HEAD_SIZE, HEADS, LAYERS, Tensors
from citewell.work import spending

Array = NDArray[np.float32]
FEW_ROWS = 100
"""Up to so many tokens BLAS is a third faster with the weights on the left."""
Watch = Callable[[str, Array], None]
"""Is shown the input of each linear layer, by the layer's name."""


def hidden_states(
    tensors: Tensors,
    tokens: Sequence[Sequence[int]],
    *,
    types: Sequence[Sequence[int]] | None = None,
    layers: int = LAYERS,
    watch: Watch | None = None,
) -> list[Array]:
    """What the last layer gives for each text, one row per token.

    On one thread: texts are short, and threads that wait for each other took ten times as long on two busy cores.
    """
    _use_one_thread()
    return _hidden_states(tensors, tokens, types or [[0] * len(ids) for ids in tokens], layers, watch)


@cache
def _use_one_thread() -> None:
    """For the whole process and for good: to change it while another thread computes is not safe."""
    ThreadpoolController().limit(limits=1, user_api="blas")


def _hidden_states(
    tensors: Tensors,
    tokens: Sequence[Sequence[int]],
    types: Sequence[Sequence[int]],
    layers: int,
    watch: Watch | None,
) -> list[Array]:

    def linear(name: str, value: Array) -> Array:
        if watch is not None:
            watch(name, value)
        result: Array
        if len(value) < FEW_ROWS:
            result = np.ascontiguousarray((tensors[f"{name}.weight"] @ value.T).T)
        else:
            result = value @ tensors[f"{name}.weight"].T
        result += tensors[f"{name}.bias"]
        return result

    def norm(name: str, value: Array) -> Array:
        value -= value.mean(axis=1, keepdims=True)
        squares = np.einsum("ij,ij->i", value, value)[:, None] / value.shape[1]
        value /= np.sqrt(squares + EPSILON)
        value *= tensors[f"{name}.weight"]
        value += tensors[f"{name}.bias"]
        return value

    words, positions, kinds = (
        tensors[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")
    )
    placed = [
        words[np.array(ids)] + positions[: len(ids)] + kinds[np.array(of)]
        for ids, of in zip(tokens, types, strict=True)
    ]
    hidden = norm("embeddings.LayerNorm", np.concatenate(placed))
    ends = np.cumsum([len(ids) for ids in tokens])[:-1]
    for layer in spending(range(layers)):
        name = f"encoder.layer.{layer}"
        parts = [np.split(linear(f"{name}.attention.self.{part}", hidden), ends) for part in ("query", "key", "value")]
        mixed = np.concatenate([_attended(query, key, value) for query, key, value in zip(*parts, strict=True)])
        hidden = norm(f"{name}.attention.output.LayerNorm", linear(f"{name}.attention.output.dense", mixed) + hidden)
        wide = _gelu(linear(f"{name}.intermediate.dense", hidden))
        hidden = norm(f"{name}.output.LayerNorm", linear(f"{name}.output.dense", wide) + hidden)
    return np.split(hidden, ends)


def adapted(tensors: Tensors, changes: Tensors, *, strength: float) -> Tensors:
    """The weights with the low-rank changes of an adapter; its other tensors replace or join those of the model."""
    found = dict(tensors)
    for name, change in changes.items():
        layer, _, part = name.rpartition(".")
        if part == "b":
            change_of_weight: Array = change @ changes[f"{layer}.a"] * np.float32(strength)
            found[f"{layer}.weight"] = tensors[f"{layer}.weight"] + change_of_weight
        elif part != "a":
            found[name] = change
    return found


def _attended(query: Array, key: Array, value: Array) -> Array:
    query, key, value = (part.reshape(-1, HEADS, HEAD_SIZE).swapaxes(0, 1) for part in (query, key, value))
    scores = query @ key.swapaxes(1, 2) * np.float32(HEAD_SIZE**-0.5)
    shares = np.exp(scores - scores.max(axis=2, keepdims=True))
    mixed: Array = (shares / shares.sum(axis=2, keepdims=True)) @ value
    return mixed.swapaxes(0, 1).reshape(-1, DIMENSIONS)


def _gelu(value: Array) -> Array:
    """The tanh form, which differs from the exact one by less than 0.001."""
    inner = value * value
    inner *= np.float32(0.044715 * 0.7978845608)
    inner += np.float32(0.7978845608)
    inner *= value
    np.tanh(inner, out=inner)
    inner += 1
    inner *= value
    inner *= np.float32(0.5)
    return inner
