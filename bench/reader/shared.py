"""Claims that share one abstract are read together: the abstract is read once, and each of them looks back at it.

The plain way reads the abstract again for every claim, which is most of the work: an abstract has some 300 tokens, a
question 35. Both ways give the same numbers but for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from bench.reader.batches import padded, processor
from bench.reader.figures import Scores
from bench.reader.needs import torch
from bench.reader.qwen import HEAD_SIZE, HEADS, KEY_HEADS
from bench.reader.teacher import Teacher

NEVER = -1e9
"""Added to what must not be looked at."""

Cache = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values of each layer."""


class Shared:
    """Some abstracts that have been read, each with as many rows of tokens after it, which go on step by step.

    Letters of a shape: b abstracts, k rows after each, t new tokens of a row, s tokens of a row so far, l tokens of an
    abstract, g heads that are looked at, h heads that ask each of those, d numbers in a head.
    """

    def __init__(self, teacher: Teacher, abstracts: Sequence[str]) -> None:
        self._model = teacher.model.model
        rows = [teacher.prompts.body([abstract]) for abstract in abstracts]
        filled, mask = padded(rows, teacher.words.pad)
        places = torch.arange(filled.shape[1], device=processor()).expand_as(filled)
        read = self._model(input_ids=filled, attention_mask=mask, position_ids=places, use_cache=True)
        self._abstract: Cache = [(layer.keys, layer.values) for layer in read.past_key_values.layers]
        self._lengths = mask.sum(1)
        self._abstract_bias = torch.where(mask.bool(), 0.0, NEVER)[:, None, None, None, None]
        self._own: Cache = []
        self._is_token: torch.Tensor | None = None

    def step(self, tokens: torch.Tensor, is_token: torch.Tensor) -> torch.Tensor:
        """Read new tokens of all rows (b k t; rows are filled up on the left); what the last place of each says."""
        new = tokens.shape[2]
        known = is_token if self._is_token is None else torch.cat([self._is_token, is_token], 2)
        places = self._lengths[:, None, None] + known.long().cumsum(2)[:, :, -new:] - 1
        turn = _turn(places, self._model.rotary_emb.inv_freq)
        own_bias = _own_bias(known, new)
        hidden = self._model.embed_tokens(tokens)
        own: Cache = []
        for number, layer in enumerate(self._model.layers):
            seen, cache = self._attend(number, layer, hidden, turn, own_bias)
            hidden = hidden + seen
            hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
            own.append(cache)
        self._own, self._is_token = own, known
        return self._model.norm(hidden[:, :, -1])

    def _attend(
        self, number: int, layer: Any, hidden: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor], bias: torch.Tensor
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """What a layer sees in the abstract and in the row itself; the row's keys and values with the new ones."""
        attention, normed = layer.self_attn, layer.input_layernorm(hidden)
        shape = hidden.shape[:3]
        asks = _turned(attention.q_proj(normed).view(*shape, HEADS, HEAD_SIZE), turn)
        asks = asks.view(*shape, KEY_HEADS, HEADS // KEY_HEADS, HEAD_SIZE)
        keys = _turned(attention.k_proj(normed).view(*shape, KEY_HEADS, HEAD_SIZE), turn)
        values = attention.v_proj(normed).view(*shape, KEY_HEADS, HEAD_SIZE)
        if self._own:
            old_keys, old_values = self._own[number]
            keys, values = torch.cat([old_keys, keys], 2), torch.cat([old_values, values], 2)
        abstract_keys, abstract_values = self._abstract[number]
        to_abstract = torch.einsum("bktghd,bgld->bktghl", asks, abstract_keys).float() / math.sqrt(HEAD_SIZE)
        to_own = torch.einsum("bktghd,bksgd->bktghs", asks, keys).float() / math.sqrt(HEAD_SIZE)
        both = torch.cat([to_abstract + self._abstract_bias, to_own + bias], -1)
        share = torch.softmax(both, -1).to(hidden.dtype)
        length = abstract_keys.shape[2]
        seen = torch.einsum("bktghl,bgld->bktghd", share[..., :length], abstract_values)
        seen = seen + torch.einsum("bktghs,bksgd->bktghd", share[..., length:], values)
        return attention.o_proj(seen.reshape(*shape, HEADS * HEAD_SIZE)), (keys, values)


def _turn(places: torch.Tensor, speeds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the rotary positions, the same for all heads."""
    angles = places[..., None, None].float() * speeds.float()
    return torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)


def _turned(heads: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    cosines, sines = (one.to(heads.dtype) for one in turn)
    first, second = heads.chunk(2, -1)
    return heads * cosines + torch.cat([-second, first], -1) * sines


def _own_bias(is_token: torch.Tensor, new: int) -> torch.Tensor:
    """A new token looks at the tokens of its row up to itself (b k t 1 1 s)."""
    count = is_token.shape[2]
    before = torch.ones(new, count, dtype=torch.bool, device=is_token.device).tril(count - new)
    return torch.where(before & is_token[:, :, None], 0.0, NEVER)[:, :, :, None, None]


def blocks(rows: Sequence[Sequence[Sequence[int]]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows after each abstract as one block, filled up on the left; and which of its places hold a token."""
    most = max(len(group) for group in rows)
    width = max(len(row) for group in rows for row in group)
    tokens = np.full((len(rows), most, width), pad, np.int64)
    is_token = np.zeros(tokens.shape, bool)
    for number, group in enumerate(rows):
        for place, row in enumerate(group):
            tokens[number, place, width - len(row) :] = row
            is_token[number, place, width - len(row) :] = True
    return torch.from_numpy(tokens).to(processor()), torch.from_numpy(is_token).to(processor())


@torch.no_grad()
def judge_shared(teacher: Teacher, pairs: Sequence[tuple[str, str]], *, most: int = 16, size: int = 48) -> Scores:
    """The logarithms of support, contradict and neither for each claim and its abstract."""
    prompts = teacher.prompts
    questions = prompts.questions([claim for claim, _ in pairs])
    groups = _groups([abstract for _, abstract in pairs], most)
    groups.sort(key=lambda group: (len(prompts.body([group[0]])), len(group[1])))
    found = np.zeros((len(pairs), 3), np.float32)
    for start in range(0, len(groups), size):
        chosen = groups[start : start + size]
        shared = Shared(teacher, [abstract for abstract, _ in chosen])
        asked = [[questions[number] for number in numbers] for _, numbers in chosen]
        last = shared.step(*blocks(asked, teacher.words.pad))
        said = teacher.model.lm_head(last).float()[..., prompts.answers]
        chances = torch.log_softmax(said, -1).cpu().numpy()
        for row, (_, numbers) in zip(chances, chosen, strict=True):
            found[numbers] = row[: len(numbers)]
    return found


def _groups(abstracts: Sequence[str], most: int) -> list[tuple[str, list[int]]]:
    """The numbers of the pairs of each abstract, so many at once.

    >>> _groups(["a", "b", "a", "a"], 2)
    [('a', [0, 2]), ('a', [3]), ('b', [1])]
    """
    by_abstract: dict[str, list[int]] = {}
    for number, abstract in enumerate(abstracts):
        by_abstract.setdefault(abstract, []).append(number)
    return [
        (abstract, numbers[start : start + most])
        for abstract, numbers in by_abstract.items()
        for start in range(0, len(numbers), most)
    ]
