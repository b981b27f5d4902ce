"""What a record has that is nearest in meaning to a question: looked for before anybody is told “no”."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from citewell.assistants.records.fact_query import RECORD, GatheredFacts
from citewell.assistants.records.known_facts import KnownFacts
from citewell.assistants.records.named_facts import names_of
from citewell.assistants.records.plain_question import plain_question
from citewell.types.coded_names import name_of_test
from citewell.types.facts import Appointment, Fact, Professional, RecordOwner

Alike = Callable[[str, Sequence[str]], Sequence[float]]
"""For each of some names, how near it is in meaning to a question."""

NEAR, NEAR_BESIDE_NO = 0.35, 0.45
"""From here on a name may be what is meant, where nothing else tells, and beside a “no” (bench/notes/answering.md)."""
MARGIN = 0.08
"""How far behind the nearest another may be."""
MOST = 3
"""Names that are told."""
CLOSEST = f"{RECORD} has nothing by that name. The closest match, which may be something different:"
BESIDE = "The closest match, which may be something different:"


def with_alike(
    gathered: GatheredFacts | None, question: str, known: KnownFacts, alike: Alike | None
) -> GatheredFacts | None:
    """What was gathered, with what is nearest in meaning beside a “no”; as it is where nothing is near."""
    if alike is None or (gathered is not None and not gathered.is_absence):
        return gathered
    called: dict[str, list[Fact]] = {}
    for fact in known.facts:
        if not isinstance(fact, RecordOwner | Professional | Appointment):
            for name in names_of(fact):
                called.setdefault(name_of_test(name), []).append(fact)
    if not called:
        return gathered
    names = list(called)
    scores = dict(zip(names, alike(plain_question(question).text, names), strict=True))
    best = max(scores.values())
    least = max(NEAR if gathered is None else NEAR_BESIDE_NO, best - MARGIN)
    near = sorted((name for name in names if scores[name] >= least), key=lambda name: -scores[name])
    facts = tuple(known.newest_of(dict.fromkeys(fact for name in near[:MOST] for fact in called[name])))
    if not facts:
        return gathered
    if gathered is None:
        return GatheredFacts(CLOSEST, facts)
    return replace(gathered, lead=f"{gathered.lead} {BESIDE}", facts=facts)
