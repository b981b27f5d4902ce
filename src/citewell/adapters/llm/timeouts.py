"""How long a language model may take."""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_BILLIONS = 3.0
"""Assumed where the name tells no size: small local models such as llama3.2, and the servers of vendors."""
BASE_S, PER_BILLION_S, MAX_S = 60.0, 30.0, 1_200.0
"""A model of 8 billion parameters on a CPU reads 4,000 tokens in about 80 s and writes 2,000 in about 4 minutes."""

_SIZE = re.compile(r"(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReplyTimeouts:
    """How long to wait for the first token, loading included, and for the whole reply, retries included."""

    first_token_s: float
    total_s: float


def patience_for(name: str, *, timeout_s: float | None = None) -> ReplyTimeouts:
    """Time that grows with the size in the model's name, unless it was set.

    >>> patience_for("llama3.2")
    ReplyTimeouts(first_token_s=75.0, total_s=150.0)
    >>> patience_for("qwen3:8b").total_s, patience_for("deepseek-r1:32b").total_s, patience_for("mixtral:8x7b").total_s
    (300.0, 1020.0, 1200.0)
    >>> patience_for("qwen3:8b", timeout_s=30)
    ReplyTimeouts(first_token_s=15.0, total_s=30)
    """
    match = _SIZE.search(name)
    billions = float(match[2]) * int(match[1] or 1) if match else DEFAULT_BILLIONS
    total_s = timeout_s if timeout_s is not None else min(MAX_S, BASE_S + PER_BILLION_S * billions)
    return ReplyTimeouts(first_token_s=total_s / 2, total_s=total_s)
