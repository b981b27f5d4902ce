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
    diagnosis_plans = []
    for number, plan in enumerate(plans, 1):
        disputed = {statement for pair in plan.disagreements for statement in pair.statements}
        every = (*plan.offered, *plan.held_back)
        shared = {
            plan_statement.id: known[_key(plan_statement)]
            for plan_statement in every
            if _key(plan_statement) in known and plan_statement.id not in disputed
        }
        offered = tuple(statement for statement in plan.offered if statement.id not in shared)
        held_back = tuple(statement for statement in plan.held_back if statement.id not in shared)
        for one in (*offered, *held_back):
            known.setdefault(_key(one), f"{number}.{one.id}")
        diagnosis_plans.append(replace(plan, offered=offered, held_back=held_back, shared=tuple(shared.values())))
    return diagnosis_plans


def _key(statement: PlanStatement) -> tuple[str, str]:
    return statement.place.document_id, " ".join(statement.text.casefold().split())
