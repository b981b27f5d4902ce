"""A linear layer that learns little: the adapter (LoRA) of teacher and student."""

from __future__ import annotations

import math

from bench.reader.needs import torch

RANK, SCALE = 32, 2.0


class Adapted(torch.nn.Module):
    """A linear layer, and a product of two small matrices beside it that learns: weight = base + 2 * b @ a."""

    def __init__(self, base: torch.nn.Linear) -> None:
        super().__init__()
        self.base = base
        where = base.weight.device
        self.a = torch.nn.Parameter(torch.randn(RANK, base.in_features, device=where) / math.sqrt(base.in_features))
        self.b = torch.nn.Parameter(torch.zeros(base.out_features, RANK, device=where))

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        if self.base.weight.dtype == torch.float32:  # fewer steps for the device, which is what a small model waits for
            weight = torch.addmm(self.base.weight, self.b, self.a, alpha=SCALE)
            return torch.nn.functional.linear(given, weight, self.base.bias)
        plain = self.base(given)
        narrow = torch.nn.functional.linear(given, self.a.to(given.dtype))
        return plain + torch.nn.functional.linear(narrow, self.b.to(given.dtype)) * SCALE

    @torch.no_grad()
    def fused(self) -> torch.nn.Linear:
        """The plain layer with what was learned."""
        weight = self.base.weight
        weight.copy_((weight.float() + SCALE * (self.b @ self.a)).to(weight.dtype))
        return self.base
