"""Gathers from the facts what answers a question: what it wants and names, told by the first wish that fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from citewell.assistants.records.answer_medicines import allergies, medicines, prescriber
from citewell.assistants.records.answer_open_questions import due, effects, reason, together, upcoming
from citewell.assistants.records.answer_results import diagnoses, listing, results, trend
from citewell.assistants.records.answer_timeline import changes, person, places, prepare, visits
from citewell.assistants.records.fact_lengths import lengths
from citewell.assistants.records.fact_query import RECORD, FactQuery, GatheredFacts, listed, not_mentioned, told
from citewell.assistants.records.facts_for_question import Part, Strategy
from citewell.assistants.records.intents import Intent, Intents
from citewell.assistants.records.known_facts import LONG_AGO, KnownFacts, T, when
from citewell.assistants.records.named_facts import Names
from citewell.clinical import Lexicon
from citewell.sentences import paragraphs
from citewell.types import Hit
from citewell.types.facts import (
    NO_KNOWN,
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    LabResult,
    Medication,
    Procedure,
    Professional,
    Referral,
    Symptom,
    Vaccination,
)

MOST_FACTS: Mapping[Part, int] = {"medications": 20, "diagnoses": 20, "labs": 10, "symptoms": 5}
"""Of each kind no more than so many; what the question names is not among them."""


def known_allergies(known: KnownFacts) -> list[Allergy]:
    """Every allergy that holds, and where the record says in so many words that there are none."""
    return [allergy for allergy in known.of(Allergy) if allergy.is_active or allergy.code in NO_KNOWN]


def fetch(known: KnownFacts, plan: Strategy, *, now: datetime) -> Iterator[Fact]:
    """The facts that a strategy wants: medicines that are taken, active conditions, newest results, symptoms."""
    for part, find in _FINDERS.items():
        if part in plan.parts:
            yield from find(known, plan, now)[: MOST_FACTS[part]]


def _results(known: KnownFacts, plan: Strategy, now: datetime) -> list[Fact]:
    """The newest of each test: of late first, and among those what is out of range."""
    newest = known.latest(known.of(LabResult))
    return [*sorted(newest, key=lambda lab_result: not _is_of_late(lab_result, now, plan.lab_window_days))]


def _symptoms(known: KnownFacts, plan: Strategy, now: datetime) -> list[Fact]:
    symptoms = known.of(Symptom)
    return [*sorted(symptoms, key=lambda symptom: not _is_of_late(symptom, now, plan.symptom_window_days))]


def _diagnoses(known: KnownFacts, _plan: Strategy, _now: datetime) -> list[Fact]:
    """Active ones first; one that is over is a part of the story too."""
    return [*sorted(known.of(Diagnosis), key=lambda diagnosis: diagnosis.status is not DiagnosisStatus.ACTIVE)]


_FINDERS: Mapping[Part, Callable[[KnownFacts, Strategy, datetime], list[Fact]]] = {
    "medications": lambda known, _plan, _now: [*known.taken],
    "diagnoses": _diagnoses,
    "labs": _results,
    "symptoms": _symptoms,
}
"""In the order in which they are shown."""


def _is_of_late(fact: T, now: datetime, days: int) -> bool:
    return (when(fact) or LONG_AGO) >= now - timedelta(days=days)


PAPERS_FIRST = (
    "Your documents mention this too, and may be newer than your list of facts. The documents come first, then the "
    "list:"
)


def newer(
    gathered: GatheredFacts, hits: Sequence[Hit], said: Sequence[Hit], dated: Sequence[datetime | None]
) -> tuple[str, list[Hit]]:
    """The words that lead, and facts and papers in the order in which they are told.

    A “no” is followed by what papers say. A paper whose day is not known may be newer than any fact.
    """
    if gathered.if_mentioned:
        return (gathered.if_mentioned if said else gathered.lead), [*said, *hits]
    if not said or not gathered.facts:
        return gathered.lead, [*hits, *said]
    newest = max(when(fact) or LONG_AGO for fact in gathered.facts)
    if any(day is None or day > newest for day in dated):
        return gathered.with_papers or PAPERS_FIRST, [*said, *hits]
    return gathered.lead, [*hits, *said]


def of_named(asked: FactQuery) -> GatheredFacts | None:
    """What the record says of something that is named, where nothing tells what about it is wanted."""
    is_illness = bool(asked.plain) and any(isinstance(fact, Diagnosis) for fact in asked.named)
    order = (diagnoses, medicines, results) if is_illness else (medicines, results, diagnoses)
    for tell in order:
        if (gathered_facts := tell(asked)) is not None and gathered_facts.facts and not gathered_facts.if_mentioned:
            kinds = (LabResult, Professional, Allergy)
            is_test = tell is results
            more = [one for one in asked.inside(asked.named) if not is_test and not isinstance(one, kinds)]
            more += asked.known.latest(asked.named_of(LabResult)) if is_illness else []  # “bad cholesterol”
            return replace(gathered_facts, facts=tuple(dict.fromkeys([*gathered_facts.facts, *more])))
    if any(isinstance(fact, LabResult) for fact in asked.named) and (gathered_facts := results(asked)) is not None:
        return gathered_facts  # not of the time that is asked for, but there
    others = [fact for fact in asked.inside(asked.named) if not isinstance(fact, Professional)]
    if others:
        return told(f"{RECORD} says of this:", others)
    if any(isinstance(fact, Professional) for fact in asked.named):
        return visits(asked)
    return None


TELLERS: tuple[tuple[Intent, Callable[[FactQuery], GatheredFacts | None]], ...] = (
    (Intent.PREPARE, prepare),
    (Intent.CHANGES, changes),
    (Intent.PRESCRIBER, prescriber),
    (Intent.EFFECTS, effects),
    (Intent.TOGETHER, together),
    (Intent.REASON, reason),
    (Intent.DUE, due),
    (Intent.NEXT, upcoming),
    (Intent.ALLERGIES, allergies),
    (Intent.TREND, trend),
    (Intent.RESULTS, results),
    (Intent.VACCINATIONS, listing(Vaccination, "vaccination", "vaccinations")),
    (Intent.MEDICINES, medicines),
    (Intent.DIAGNOSES, diagnoses),
    (Intent.PROCEDURES, listing(Procedure, "procedure", "procedures")),
    (Intent.REFERRALS, listing(Referral, "referral", "referrals")),
    (Intent.SYMPTOMS, listing(Symptom, "symptom", "symptoms")),
    (Intent.DOCTORS, listing(Professional, "doctor or nurse", "doctors and nurses")),
    (Intent.VISITS, visits),
    (Intent.PERSON, person),
)
"""The first wish that the facts can tell something to decides; “who prescribed” comes before “which medicines”."""


ASK_FIRST = (
    "Whether to take, change or stop something is a question for your pharmacist or doctor: a record cannot answer it."
)
ASKING = frozenset(Intent) - {Intent.LATEST, Intent.WHERE, Intent.LONG}
"""Wishes that show that the question is about the record."""


def gather(
    question: str, wanted: Intents, known: KnownFacts, *, lexicon: Lexicon, now: datetime | None = None
) -> GatheredFacts | None:
    """What the facts say to a question; None where it is a matter for the documents."""
    names = Names.of(question, lexicon)
    named = names.among(known.facts)
    wanted = _fitting(wanted, named, is_coded=any(map(names.has_code_of, named)))
    asked = FactQuery(
        wanted,
        known,
        named,
        unknown=tuple(names.unknown(known.facts)),
        about=() if named else names.about(named),
        said=names.said,
        plain=tuple(words for words, _ in names.lay),
        now=now or datetime.now(UTC),
        text=names.text,
    )
    if (gathered_facts := _told(asked, names)) is None:
        return None
    gathered_facts = _with_the_day(asked, gathered_facts)
    written = names.otherwise(fact for fact in gathered_facts.facts if fact in named)
    spelled = f"Your record spells this {listed([f'“{word}”' for word in written])}." if written else ""
    if not written and names.corrected:
        spelled = f"Showing results for {listed(list(names.corrected.values()))}."
    spelled = " ".join(filter(None, [spelled, *names.brands(gathered_facts.facts)]))
    allergic = [
        one.allergen + (f" ({one.reaction})" if one.reaction else "")
        for one in named
        if isinstance(one, Allergy) and one.is_active and one not in gathered_facts.facts
    ]
    if allergic and names.said:
        spelled = paragraphs(f"Your record also lists an allergy to this: {listed(allergic)}.", spelled)
    long = lengths(gathered_facts.facts, asked.now) if Intent.LONG in wanted else ""
    first = ASK_FIRST if Intent.MAY in wanted else ""
    return replace(gathered_facts, after=paragraphs(long, spelled, gathered_facts.after, first))


_FOUND = re.compile(
    r"\b(?:f(?:i|ou)nd|finding|show\w*|reveal\w*|discover\w*|(?:take|took|taken) out|remov\w+|during"
    r"|did (?:they|we|i) do|(?:was|were|have|had) done|happen\w*)\b"
)
"""Asks what an operation or a visit came to."""


def _with_the_day(asked: FactQuery, gathered: GatheredFacts) -> GatheredFacts:
    """With what is of the day of an operation or of one visit, where it is asked what came of it."""
    done: list[Fact] = [one for one in gathered.facts if isinstance(one, Procedure)]
    if len(gathered.facts) == 1:
        done += [one for one in gathered.facts if isinstance(one, Appointment)]
    if not done or gathered.if_mentioned or not _FOUND.search(asked.text):
        return gathered
    days = {day.date() for one in done if (day := when(one)) is not None}
    every: list[Fact] = [*asked.known.of(Diagnosis), *asked.known.of(Procedure), *asked.known.of(Vaccination)]
    that_day = [one for one in every if (day := when(one)) is not None and day.date() in days]
    return replace(gathered, facts=tuple(dict.fromkeys([*gathered.facts, *that_day])))


_KINDS: Mapping[Intent, type[Fact]] = {
    Intent.MEDICINES: Medication,
    Intent.DIAGNOSES: Diagnosis,
    Intent.RESULTS: LabResult,
    Intent.TREND: LabResult,
    Intent.PROCEDURES: Procedure,
    Intent.VACCINATIONS: Vaccination,
    Intent.ALLERGIES: Allergy,
    Intent.SYMPTOMS: Symptom,
}
"""Of which kind the facts are that a wish is about."""


def _fitting(wanted: Intents, named: Sequence[Fact], *, is_coded: bool) -> Intents:
    """Without wishes that no cue tells, where what is named is of another kind; a code alone tells none."""
    kinds = tuple(_KINDS[wish] for wish in wanted.likely if wish in _KINDS)
    if not is_coded and (not named or not kinds or all(isinstance(fact, kinds) for fact in named)):
        return wanted
    return replace(wanted, all=wanted.all - wanted.likely, likely=frozenset())


def _told(asked: FactQuery, names: Names) -> GatheredFacts | None:
    """What is told by the first wish that the facts can tell something to, else of what is named, or of a time."""
    if Intent.WHERE in asked.wanted and (at := places(asked)) is not None:
        return at
    for wish, tell in TELLERS:
        if wish in asked.wanted and (gathered_facts := tell(asked)) is not None:
            if wish in asked.wanted.likely and gathered_facts.if_mentioned:
                continue  # a “no” is not guessed
            return gathered_facts
    if asked.named:
        return of_named(asked)
    if asked.unknown and (asked.wanted.all & ASKING or names.is_own):
        missing = not_mentioned(asked)
        return missing and replace(missing, is_guess=bool(names.lay) and not asked.wanted.all & ASKING)
    return changes(asked) if asked.wanted.words and not asked.unknown else None
