"""Writes a plan without a model: the sentences of guidelines that tell what to do, word for word, where they apply."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.assistants.consult.applies import Fit, fit
from citewell.assistants.consult.doses import has_dose
from citewell.assistants.consult.gather import Passage
from citewell.assistants.consult.telling import is_telling, is_warning
from citewell.types import Context, Evidence
from citewell.types.consult import Patient
from citewell.words import terms

MAX_QUOTED = 10


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence to quote, and whether it is for this patient."""

    evidence: Evidence
    text: str
    fit: Fit


def context_of(passages: Sequence[Passage]) -> Context:
    """The passages as numbered evidence, whole."""
    evidence = tuple(Evidence(number, one.hit, one.hit.start, one.hit.end) for number, one in enumerate(passages, 1))
    return Context(evidence)


def quotes(passages: Sequence[Passage], context: Context, patient: Patient, condition: str) -> list[Quote]:
    """The sentences that tell what to do and apply, best passage first, each once."""
    asked = frozenset(terms(condition))
    found: dict[str, Quote] = {}
    for passage, evidence in zip(passages, context.evidence, strict=True):
        for text in _sentences(evidence):
            key = " ".join(text.casefold().split())
            if key in found or not is_telling(text):
                continue
            found[key] = Quote(evidence, text, fit(passage.hit.section, text, patient))
    fitting = [one for one in found.values() if one.fit.applies]
    fitting.sort(key=lambda one: -_weight(one, asked))
    kept = fitting[:MAX_QUOTED]
    return sorted(kept, key=lambda one: (one.evidence.number, one.evidence.text.find(one.text)))


def shut_out(passages: Sequence[Passage], context: Context, patient: Patient) -> list[Quote]:
    """The sentences that tell what to do and are not for this patient, with the reason."""
    found = []
    for passage, evidence in zip(passages, context.evidence, strict=True):
        for text in _sentences(evidence):
            told = fit(passage.hit.section, text, patient)
            if is_telling(text) and not told.applies:
                found.append(Quote(evidence, text, told))
    return found


def _weight(one: Quote, asked: frozenset[str]) -> float:
    """What comes first where there is not room for all: doses, what is for this patient, what names the condition."""
    names = len(asked & frozenset(terms(one.text))) / max(len(asked), 1)
    return (
        2.0 * (has_dose(one.text) or is_warning(one.text))
        + 1.0 * one.fit.is_specific
        + names
        - 0.3 * one.evidence.number
        + 0.5 * _is_plain(one.text)
    )


def _is_plain(text: str) -> bool:
    return re.match(r"\W*(?:give|offer|do not|treat|refer|avoid|start|use)\b", text, re.IGNORECASE) is not None


def _sentences(evidence: Evidence) -> Iterator[str]:
    hit = evidence.hit
    spans = hit.why.near or ((hit.start, hit.end, 0.0),)
    for start, end, _ in spans:
        low, high = max(start, evidence.start), min(end, evidence.end)
        if low == start and high == end:
            yield hit.text[low - hit.start : high - hit.start].strip()
