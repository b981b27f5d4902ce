"""A guess at a passphrase is slow on purpose."""

from __future__ import annotations

import time

import pytest

from citewell.adapters.vault.keys import HIGHEST_TIME_COST, LOWEST_TIME_COST, SLOW_MS, Derivation

MEASURED = Derivation.measured  # as it is before other tests are given cheap vaults


@pytest.mark.parametrize(
    ("one_guess_ms", "time_cost"),
    [(10 * SLOW_MS, LOWEST_TIME_COST), (SLOW_MS / 10, 10 * LOWEST_TIME_COST), (SLOW_MS / 1000, HIGHEST_TIME_COST)],
)
def test_the_faster_the_machine_the_costlier_a_new_vault(
    monkeypatch: pytest.MonkeyPatch, one_guess_ms: float, time_cost: int
) -> None:
    clock = iter((0.0, one_guess_ms / 1000))
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))
    assert MEASURED() == Derivation(time_cost, memory_kib=128 * 1024, lanes=1)
