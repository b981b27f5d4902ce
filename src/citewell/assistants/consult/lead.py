"""Tells which sections the findings alone point at, whatever the differentials are: a diagnosis that was missed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from citewell.assistants.consult.applies import fit
from citewell.assistants.consult.naming import key_of, named_in
from citewell.assistants.consult.quote import sentences_of
from citewell.assistants.consult.telling import MIN_WORDS
from citewell.types import Hit
from citewell.types.consult import Category, Consult, Patient, Polarity
from citewell.types.consult_plan import SectionLead

MAX_LEADS = 3
MIN_NAMED = 2
"""Findings that a section must name, where the patient has as many: one alone, such as fever, points everywhere."""
COMPLAINTS = (Category.SYMPTOM, Category.ASSOCIATED)


def lead(hits: Sequence[Hit], consult: Consult, patient: Patient, *, taken: Collection[str]) -> tuple[SectionLead, ...]:
    """The sections that name most of what the patient complains of, with the sentence that does; none that is shown.

    What is a differential already points at nothing new.
    """
    conditions = {differential.condition.casefold() for differential in consult.differentials}
    present = {
        key_of(finding): finding.name
        for finding in consult.settled
        if finding.category in COMPLAINTS
        and finding.polarity is Polarity.PRESENT
        and finding.name.casefold() not in conditions
    }
    leads: dict[tuple[str, tuple[str, ...]], SectionLead] = {}
    for hit in hits:
        if hit.source_id in taken:
            continue
        section_lead = _pointing(hit, present, patient)
        place = (hit.document, hit.section)
        if section_lead is not None and (place not in leads or len(section_lead.names) > len(leads[place].names)):
            leads[place] = section_lead
    least = max(min(MIN_NAMED, len(present)), 1)
    return tuple(sorted((one for one in leads.values() if len(one.names) >= least), key=lambda one: -len(one.names)))[
        :MAX_LEADS
    ]


def _pointing(hit: Hit, present: dict[str, str], patient: Patient) -> SectionLead | None:
    """The passage as a lead: all that it names, and the sentence for this patient that names most."""
    names: dict[str, None] = {}
    best, quote = 0, ""
    for sentence in sentences_of(hit):
        own = dict.fromkeys(present[key] for key in named_in(sentence) if key in present)
        if own and not _is_signpost(sentence) and fit(hit.section, sentence, patient).applies:
            names |= own
            if len(own) > best:
                best, quote = len(own), sentence
    return SectionLead(hit.document, hit.section, round(hit.relevance, 3), quote, tuple(names)) if names else None


def _is_signpost(sentence: str) -> bool:
    """Whether words are a heading, or lead to another section."""
    return len(sentence.split()) < MIN_WORDS or sentence.casefold().startswith("see ")
