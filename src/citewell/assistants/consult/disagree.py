"""Finds sources that do not say the same of a medicine: side by side, with date and country, and never decided here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from citewell.assistants.consult.conflicts import given
from citewell.assistants.consult.doses import AMOUNTS
from citewell.clinical.medicines import medicines
from citewell.clinical.quantities import quantities
from citewell.types.consult_plan import Disagreement, PlanStatement


def disagreements(statements: Sequence[PlanStatement]) -> tuple[Disagreement, ...]:
    """Each pair of statements from two documents that differ over a medicine."""
    return tuple(
        disagreement
        for first, second in combinations(statements, 2)
        if first.place.document_id != second.place.document_id
        for disagreement in _between(first, second)
    )


def _between(first: PlanStatement, second: PlanStatement) -> Iterator[Disagreement]:
    told = [
        {medicine.name for medicine in medicines(statement.text) if not medicine.is_class}
        for statement in (first, second)
    ]
    gives = [{medicine.name for medicine in given(statement.text)} for statement in (first, second)]
    for name in sorted(told[0] & told[1]):
        pair = (first.id, second.id)
        if (name in gives[0]) != (name in gives[1]):
            yield Disagreement(name, "one source advises it, the other advises against it", pair)
        elif name in gives[0]:
            amounts = [_amounts(statement.text, name) for statement in (first, second)]
            if all(amounts) and amounts[0] != amounts[1]:
                yield Disagreement(name, "the sources name different doses", pair)


def _amounts(text: str, name: str) -> frozenset[tuple[str, tuple[float, ...]]]:
    """The amounts that stand behind a medicine's name, up to the next medicine."""
    named = medicines(text)
    at = next(position for position, medicine in enumerate(named) if medicine.name == name)
    end = named[at + 1].start if at + 1 < len(named) else len(text)
    return frozenset(
        (quantity.dimension, tuple(round(value, 9) for value in quantity.values))
        for quantity in quantities(text)
        if named[at].start <= quantity.start < end and quantity.dimension.partition("/")[0] in AMOUNTS
    )
