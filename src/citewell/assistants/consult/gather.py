"""Finds the passages for each diagnosis: by name alone and with the findings, fused by rank, those that apply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from citewell.answer.rank import CONTROLS, Controls
from citewell.answer.retrieve import Search, retrieve_all
from citewell.assistants.consult.applies import Fit, fit
from citewell.assistants.consult.tables import rows
from citewell.assistants.consult.telling import is_telling
from citewell.types import Hit, Scope
from citewell.types.consult import Category, Finding, Patient, Polarity
from citewell.types.consult_plan import LeftOut

FETCHED = 50
"""Passages that each query brings, so that the order is made among many."""
SHOWN = 5
MIN_RELEVANCE = 0.50
"""On the calibrated scale and before anything is added: nothing lifts a passage over it."""
RANK_CONSTANT = 60
"""Of reciprocal rank fusion."""
SPECIFIC = 1.6
"""What a passage counts that is for a group this patient belongs to: the pregnancy section before the general one."""
MAX_FINDINGS = 8
WIDE = Controls(min_cosine=CONTROLS.min_cosine, per_document=FETCHED, candidates_per_hit=1, min_candidates=FETCHED)


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that applies to this patient, with its place in the fused order."""

    hit: Hit
    fit: Fit
    score: float
    relevance: float


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was found for one diagnosis."""

    condition: str
    passages: tuple[Passage, ...]
    left_out: tuple[LeftOut, ...]


def gather(
    conditions: Sequence[str], findings: Sequence[Finding], patient: Patient, *, scope: Scope, search: Search
) -> tuple[list[Gathered], tuple[Hit, ...]]:
    """The passages of every diagnosis, and those that the findings alone point at; all embedded in one batch."""
    told = describe(findings, patient)
    queries = [
        query for condition in conditions for query in (condition, f"{condition}. {told}" if told else condition)
    ]
    asked = [*queries, told] if told else queries
    if not asked:
        return [], ()
    found = [
        [hit for hit in one.hits if may_advise(hit.section)]
        for one in retrieve_all(asked, scope=scope, search=search, limit=FETCHED, controls=WIDE)
    ]
    gathered = [_fused(condition, found[2 * at], found[2 * at + 1], patient) for at, condition in enumerate(conditions)]
    alone = found[-1] if told else []
    return gathered, tuple(hit for hit in alone if fit(_headings(hit), "", patient).applies)


def describe(findings: Sequence[Finding], patient: Patient) -> str:
    """The patient and what is present, as a query: what is denied, past or a relative's does not search.

    >>> from citewell.types.consult import By
    >>> fever = Finding("f1", Category.SYMPTOM, "Fever", Polarity.PRESENT, By.RULES)
    >>> describe([fever], Patient(age_years=28, sex="female", is_pregnant=True))
    'pregnant woman aged 28 with fever'
    """
    kinds = (Category.SYMPTOM, Category.ASSOCIATED, Category.MEDICAL_HISTORY)
    present = [one for one in findings if one.category in kinds and one.polarity is Polarity.PRESENT]
    names = list(dict.fromkeys(one.name.lower() for one in present))[:MAX_FINDINGS]
    who = _who(patient)
    return " with ".join(part for part in (who, ", ".join(names)) if part)


def _who(patient: Patient) -> str:
    age = patient.age_years
    is_child = age is not None and age < 16
    grown = {"female": "woman", "male": "man", None: "adult" if age is not None else ""}[patient.sex]
    young = "infant" if age is not None and age < 1 else "child"
    who = young if is_child else grown
    who = f"pregnant {who or 'woman'}" if patient.is_pregnant else who
    return f"{who} aged {patient.age_told}" if age is not None else who


def may_advise(section: Sequence[str]) -> bool:
    """Whether a section may tell what to do for a patient: not references, thanks, the imprint, how it was made.

    >>> may_advise(("3 Recommendations", "Pain")), may_advise(("7 References",)), may_advise(("© WHO 2025",))
    (True, False, False)
    """
    return not any(_no_advice().fullmatch(_NUMBER.sub("", title).strip(" .:")) for title in section)


_NUMBER = re.compile(r"^\s*\d+(?:\.\d+)*\.?\s+")


@cache
def _no_advice() -> re.Pattern[str]:
    return re.compile("|".join(row[0] for row in rows("no_advice.tsv")), re.IGNORECASE)


def _headings(hit: Hit) -> tuple[str, ...]:
    return (hit.document, *hit.section) if hit.document not in hit.section[:1] else hit.section


def _first(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """The first that tell what to do, then others, as many as are shown."""
    telling = list(islice((one for one in passages if _tells(one.hit)), SHOWN))
    others = [one for one in passages[:SHOWN] if one not in telling]
    return (*telling, *others)[:SHOWN]


def _tells(hit: Hit) -> bool:
    """Whether a passage tells what to do at all; a title page takes no place from one that does."""
    spans = hit.why.near or ((hit.start, hit.end, 0.0),)
    return any(is_telling(hit.text[max(start - hit.start, 0) : end - hit.start]) for start, end, _ in spans)


def _fused(condition: str, named: Sequence[Hit], broad: Sequence[Hit], patient: Patient) -> Gathered:
    """One order of two; relevance is that of the condition alone, where it found the passage."""
    ranks: dict[tuple[str, int], float] = {}
    hits: dict[tuple[str, int], Hit] = {}
    for found in (broad, named):
        for rank, hit in enumerate(found, 1):
            key = (hit.document_id, hit.chunk_index)
            ranks[key] = ranks.get(key, 0.0) + 1 / (RANK_CONSTANT + rank)
            hits[key] = hit
    passages, left_out = [], []
    for key, hit in hits.items():
        told = fit(_headings(hit), "", patient)
        if hit.relevance < MIN_RELEVANCE:
            continue
        if not told.applies:
            left_out.append((ranks[key], LeftOut(hit.document, hit.section, "; ".join(told.reasons))))
            continue
        score = ranks[key] * (SPECIFIC if told.is_specific else 1.0)
        passages.append(Passage(hit, told, score, hit.relevance))
    passages.sort(key=lambda one: (-one.score, one.hit.document_id, one.hit.chunk_index))
    left_out.sort(key=lambda pair: -pair[0])
    return Gathered(condition, _first(passages), tuple(one for _, one in left_out[:SHOWN]))
