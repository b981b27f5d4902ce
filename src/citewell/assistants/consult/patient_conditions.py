"""Tells where words are for people with a disease that this patient is not known to have, or without one they have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby

from citewell.assistants.consult.guideline_choice import illnesses_of
from citewell.clinical import concept_ids, mentions
from citewell.clinical.populations import Population, conditions_in, people_with
from citewell.sentences import terms
from citewell.types.consult import COMPLAINTS, Category, Finding, Polarity

_ELSE = re.compile(r"\bor\b(?!\s+(?:over|older|above|more|under|younger|below|less))", re.IGNORECASE)
_TYPE = re.compile(r"\btype\s+(\d|i{1,3})\b|\b(?:hepatitis|influenza)\s+([a-e])\b", re.IGNORECASE)
_ROW_FOR = re.compile(r"\bpossible (?:cancer|condition|disease|diagnosis|cause): (?P<what>[^;]+);", re.IGNORECASE)
"""A row of a table that says which diagnosis it is for."""
_COMMON = (
    "disease diseases disorder disorders syndrome acute chronic type mellitus severe stage infection infections "
    "condition illness cell cancer carcinoma tumour primary secondary failure pregnancy pregnant woman women man men "
    "child children adult fever pain bleeding haemorrhage haemorrhagic "
    "adults people guideline management treatment"
)
"""Words that two diseases, or a disease and a title, may share without being about one."""

OVERWEIGHT, OBESE = 25.0, 30.0


@cache
def _common() -> frozenset[str]:
    return frozenset(terms(_COMMON))


@dataclass(frozen=True, slots=True)
class KnownConditions:
    """What a patient is treated for, and what they are known to have or have had."""

    names: tuple[str, ...]
    takes_nothing: bool = False
    """It was said that no medicines are taken."""

    def speaks_of_it(self, title: str) -> bool:
        """Whether a title has a word of the diagnosis that tells diseases apart."""
        return bool((set(terms(title)) & set(terms(self.names[0]))) - _common())

    def has(self, disease: str) -> bool:
        """Whether a named disease is among them: the same concept, or a word that tells diseases apart.

        >>> known = KnownConditions(("Malaria", "Fever"))
        >>> [known.has(one.name) for one in conditions_in("Guideline on yellow fever and malaria")]
        [False, True]
        """
        return any(_is_same(disease, name) for name in self.names)


def known_of(condition: str, findings: Sequence[Finding]) -> KnownConditions:
    """The diagnosis that is thought of, and every complaint or illness that is present or past."""
    held = (Polarity.PRESENT, Polarity.PAST)
    names = [finding.name for finding in findings if finding.category in COMPLAINTS and finding.polarity in held]
    taken = {finding.polarity for finding in findings if finding.category is Category.MEDICATION}
    takes_nothing = Polarity.ABSENT in taken and Polarity.PRESENT not in taken
    mass = next((finding.value for finding in reversed(findings) if finding.name == "BMI" and finding.value), 0.0)
    names += ["Obesity"] if mass >= OBESE else ["Overweight"] if mass >= OVERWEIGHT else []
    return KnownConditions((condition, *dict.fromkeys((*illnesses_of(condition), *names))), takes_nothing)


@lru_cache(maxsize=20_000)
def other_disease(text: str, known: KnownConditions) -> str | None:
    """Why words that name people with a disease are not for this patient; None where they may be.

    >>> known = known_of("Malaria", ())
    >>> other_disease("Treatment of malaria in pregnant women with sickle-cell disease", known)
    'for people with sickle cell disease; the patient is not known to have it'
    >>> other_disease("Treat people with severe malaria or diabetes at once.", known) is None
    True
    >>> other_disease("Feature: Weight loss; Possible cancer: Colorectal; Do: Test", known)
    'for colorectal, not Malaria'
    """
    if (row := _ROW_FOR.search(text)) and not _is_for(row["what"], known):
        return f"for {row['what'].strip().lower()}, not {known.names[0]}"
    lead, colon, _ = text.partition(":")
    every = list(people_with(text))
    before = [population for population in every if colon and population.end <= len(lead)]
    return _against(text, before, known) or _against(text, every[len(before) :], known)


def _is_for(what: str, known: KnownConditions) -> bool:
    """Whether what a row of a table is for is the diagnosis, or shares a word with it that tells diseases apart."""
    return bool((set(terms(what)) & set(terms(known.names[0]))) - _common()) or "several" in what.casefold()


def _against(text: str, every: Sequence[Population], known: KnownConditions) -> str | None:
    """The first reason against; of alternatives, and where “or” stands between, one that holds is enough."""
    alternatives = [list(same) for _, same in groupby(every, key=lambda population: population.kind)]
    reasons = [_reason(same, known) for same in alternatives]
    against = [reason for reason in reasons if reason]
    if not against:
        return None
    is_any = _ELSE.search(text[alternatives[0][-1].end : alternatives[-1][0].start])
    return None if is_any and len(against) < len(reasons) else against[0]


def _reason(same: Sequence[Population], known: KnownConditions) -> str | None:
    judged = [population.is_without != known.has(population.condition or "") for population in same]
    is_known = "the patient has it" if same[0].is_without else "the patient is not known to have it"
    return None if any(judged) else f"for {same[0].name}; {is_known}"


def is_own(text: str, known: KnownConditions) -> bool:
    """Whether words are for people with an illness that this patient has beside the diagnosis."""
    own = KnownConditions(known.names[1:])
    return any(own.has(population.condition or "") for population in people_with(text) if not population.is_without)


@lru_cache(maxsize=20_000)
def on_another(document: str, section: tuple[str, ...], known: KnownConditions) -> str | None:
    """Why a section of a guideline on several diseases is not for this one: its title names another of them.

    >>> known = known_of("Malaria", ())
    >>> on_another("Malaria and tuberculosis", ("Treatment of tuberculosis",), known)
    'on tuberculosis, not Malaria'
    >>> on_another("Malaria", ("Treatment of tuberculosis",), known) is None
    True
    """
    every = [mention.name for mention in conditions_in(document)]
    others = [disease for disease in every if not known.has(disease)]
    if not others or len(others) == len(every):
        return None
    for title in section:
        named = [mention.name for mention in conditions_in(title)] if title != document else []
        if named and not any(map(known.has, named)) and (other := next((one for one in named if one in others), None)):
            return f"on {other.lower()}, not {known.names[0]}"
    return None


@lru_cache(maxsize=20_000)
def _is_same(disease: str, name: str) -> bool:
    """Whether two names are of one disease: one concept, or a word that tells diseases apart."""
    told = mentions(name)
    written = " ".join((name, *(mention.name for mention in told)))
    theirs, mine = _types(disease), _types(written)
    if theirs and mine and theirs.isdisjoint(mine):
        return False
    if any(not mention.ids.isdisjoint(concept_ids(disease)) for mention in told):
        return True
    words = set(terms(disease))
    shared = words & set(terms(written))
    return bool(shared - _common()) or (bool(shared) and words <= _common())


def _types(name: str) -> frozenset[str]:
    """Which kinds of a disease a name tells apart: type 1 diabetes is not type 2, hepatitis B is not C.

    >>> sorted(_types("Type II diabetes mellitus")), _types("Diabetes mellitus")
    (['2'], frozenset())
    """
    written = (match[1] or match[2] for match in _TYPE.finditer(name))
    return frozenset({"i": "1", "ii": "2", "iii": "3"}.get(one.lower(), one.lower()) for one in written)
