"""What the guidelines at hand speak of, as far as it tells messages apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from citewell.assistants.guidelines.chat_cues import has
from citewell.assistants.guidelines.concept_match import is_clinical, names, units
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.search_entries import facts

TOPICS = ("treatment", "prognosis", "staging")
"""What a guideline may or may not speak of; its title, headings and terms tell."""


@dataclass(frozen=True, slots=True)
class GuidelineTopics:
    """What the guidelines at hand speak of, as far as it tells messages apart."""

    topics: frozenset[str] = frozenset()
    terms: frozenset[str] = frozenset()
    """What they define, in lower case."""
    sites: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()
    """The concepts of all findings that their criteria speak of."""
    subjects: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """For each of the topics, all concepts and words of the guidelines that speak of it."""
    is_open: bool = False
    """One of them numbers no recommendations: what it speaks of is told by searching it."""

    @classmethod
    def of(cls, guidelines: Iterable[Guideline]) -> GuidelineTopics:
        """Told of titles, headings, terms and sites."""
        found = list(guidelines)
        terms = [definition.term for each in found for definition in each.definitions]
        titles = [title for each in found for title in _titles(each)]
        sites = {rule.site.casefold() for each in found for rule in each.rules if rule.site}
        phrases = {finding.phrase for each in found for rule in each.rules for finding in facts(rule).findings}
        findings = {name for phrase in phrases for unit in units(phrase) if is_clinical(unit) for name in unit}
        return cls(
            topics_covered([*titles, *terms]),
            frozenset(term.casefold() for term in terms),
            frozenset(sites),
            frozenset(findings),
            _subjects(found),
            any(each.sections for each in found),
        )


def _titles(guideline: Guideline) -> list[str]:
    return [guideline.title, *dict.fromkeys(rule.section for rule in guideline.rules), *guideline.headings]


def _subjects(guidelines: Iterable[Guideline]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for guideline in guidelines:
        terms = [each.term for each in guideline.definitions]
        titles = _titles(guideline)
        for topic in topics_covered([*titles, *terms]):
            told = names(unit for text in [*titles, *(rule.text for rule in guideline.rules)] for unit in units(text))
            found[topic] = found.get(topic, frozenset()) | told
    return found


NOTHING = GuidelineTopics()


def topics_covered(titles: Iterable[str]) -> frozenset[str]:
    """What guidelines speak of, by their titles, headings and terms.

    >>> sorted(topics_covered(["Treating and monitoring hypertension"]))
    ['treatment']
    """
    told = list(titles)
    return frozenset(topic for topic in TOPICS if any(has(f"covers {topic}", one) for one in told))
