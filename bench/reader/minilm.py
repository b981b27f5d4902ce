"""The small model: all-MiniLM-L6-v2 as an embedder, and with a head that reads a claim and its evidence together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench.reader.adapted import Adapted
from bench.reader.batches import padded, processor
from bench.reader.needs import Tokenizer, torch, transformers
from numpy.typing import NDArray

BEGIN, END, PAD = 101, 102, 0
EMBED_PIECES = 254
DIMENSIONS = 384
NOT_LEARNED = ("word_embeddings", "position", ".base.weight")

Vectors = NDArray[np.float32]


class Reader(torch.nn.Module):
    """MiniLM, and a head on its first place and the mean of all: support, contradict, neither; or one score."""

    def __init__(self, work: Path, scores: int = 3) -> None:
        super().__init__()
        shape = transformers.BertConfig(
            vocab_size=30522,
            hidden_size=DIMENSIONS,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=1536,
            max_position_embeddings=512,
            attn_implementation="sdpa",
        )
        self.bert = transformers.BertModel(shape, add_pooling_layer=False)
        self.head = torch.nn.Linear(2 * DIMENSIONS, scores)
        with np.load(work / "minilm.npz") as kept:
            weights = {name: torch.from_numpy(kept[name]).float() for name in kept.files}
        found = self.bert.load_state_dict(weights, strict=False)
        missing = [name for name in found.missing_keys if "position_ids" not in name]
        if missing:
            raise SystemExit(f"minilm.npz lacks {', '.join(missing)}: run bench.reader.data again")

    def forward(self, pieces: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        hidden = self.bert(input_ids=pieces, attention_mask=mask, token_type_ids=types).last_hidden_state
        share = mask[:, :, None].to(hidden.dtype)
        mean = (hidden * share).sum(1) / share.sum(1)
        return self.head(torch.cat([hidden[:, 0], mean], 1)).float()


def untrained(work: Path, scores: int = 3) -> Reader:
    """MiniLM with adapters; only they, biases, norms, token types and the head learn."""
    model = Reader(work, scores)
    for name, values in model.named_parameters():
        values.requires_grad_(values.ndim == 1 or "head" in name or "token_type" in name)
    for layer in model.bert.encoder.layer:
        attention = layer.attention
        for name in ("query", "key", "value"):
            setattr(attention.self, name, Adapted(getattr(attention.self, name)))
        for owner in (attention.output, layer.intermediate, layer.output):
            owner.dense = Adapted(owner.dense)
    return model.to(processor())


def adapter(model: Reader) -> dict[str, Any]:
    """What was learned, in half precision under the names of MiniLM; weight = base + 2 * b @ a."""
    return {
        name.removeprefix("bert.").replace(".base.bias", ".bias"): values.detach().cpu().to(torch.float16).numpy()
        for name, values in model.state_dict().items()
        if not any(part in name for part in NOT_LEARNED)
    }


class Pieces:
    """Texts as numbers of word pieces, without begin and end."""

    def __init__(self, work: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(work / "wordpiece.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of each text."""
        return [found.ids for found in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]


@torch.no_grad()
def embed(model: Reader, pieces: Pieces, texts: Sequence[str], *, size: int = 512) -> Vectors:
    """Unit vectors of texts, as the product makes them."""
    rows = [[BEGIN, *row[:EMBED_PIECES], END] for row in pieces.read(texts)]
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    vectors = np.zeros((len(rows), DIMENSIONS), np.float32)
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        filled, mask = padded([rows[number] for number in chosen], PAD)
        with torch.autocast(processor(), torch.bfloat16, enabled=processor() == "cuda"):
            hidden = model.bert(input_ids=filled, attention_mask=mask).last_hidden_state.float()
        share = mask[:, :, None].float()
        mean = (hidden * share).sum(1) / share.sum(1)
        vectors[chosen] = torch.nn.functional.normalize(mean).cpu().numpy()
    return vectors
