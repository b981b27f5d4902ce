"""Rows of numbers as tensors, and how fast a model learns at each step."""

from __future__ import annotations

from collections.abc import Sequence

from bench.reader.needs import torch


def processor() -> str:
    """A GPU where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of one length, and which of their places hold something."""
    width = max(map(len, rows))
    filled = torch.full((len(rows), width), pad, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
    return filled.to(processor()), mask.to(processor())


def pace(step: int, steps: int, *, warm_steps: float, least: float) -> float:
    """The share of the full learning rate: it rises at first, then falls in a straight line.

    >>> [pace(step, 10, warm_steps=2, least=0.1) for step in (0, 1, 5, 10)]
    [0.5, 0.9, 0.5, 0.1]
    """
    return min(1, (step + 1) / max(1, warm_steps)) * max(least, 1 - step / steps)


def step_with(optimizer: torch.optim.Optimizer, loss: torch.Tensor, learning_rate: float) -> None:
    """Take one step down the loss, of bounded size."""
    learned = [one for group in optimizer.param_groups for one in group["params"]]
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    loss.backward()
    torch.nn.utils.clip_grad_norm_(learned, 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
