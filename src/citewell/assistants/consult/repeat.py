"""Says what holds for several diagnoses once, and refers to it from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from citewell.types.consult_plan import DiagnosisPlan, PlanStatement


def said_once(plans: Sequence[DiagnosisPlan]) -> list[DiagnosisPlan]:
    """The same plans; a statement that stands under an earlier diagnosis is named there and not said again.

    One that sources differ over is said again, so that both stand side by side.
    """
    known: dict[tuple[str, str], str] = {}
    told = []
    for number, plan in enumerate(plans, 1):
        disputed = {one for pair in plan.disagreements for one in pair.statements}
        every = (*plan.offered, *plan.held_back)
        shared = {one.id: known[_key(one)] for one in every if _key(one) in known and one.id not in disputed}
        offered = tuple(one for one in plan.offered if one.id not in shared)
        held_back = tuple(one for one in plan.held_back if one.id not in shared)
        for one in (*offered, *held_back):
            known.setdefault(_key(one), f"{number}.{one.id}")
        told.append(replace(plan, offered=offered, held_back=held_back, shared=tuple(shared.values())))
    return told


def _key(one: PlanStatement) -> tuple[str, str]:
    return one.place.document_id, " ".join(one.text.casefold().split())
