"""Finds what cannot wait among the findings and in the words of a consult: it interrupts, and says what and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from citewell.assistants.consult.mentions import concept_of
from citewell.assistants.consult.patient import patient_of, possible
from citewell.clinical import broader
from citewell.clinical.emergencies import advice_of, find_emergencies
from citewell.clinical.tables import rows
from citewell.types import Emergency
from citewell.types.consult import Category, Consult, Finding, Patient, Polarity, RedFlag

_COMPARED = re.compile(r"(?P<name>[a-z ]+?)(?P<sign><=|>=|<|>)(?P<value>[\d.]+)")

NOT_SETTLED = "It is not yet clear whether this applies to the patient."


@dataclass(frozen=True, slots=True)
class RedFlagRule:
    """One row of the table: every group needs one of its terms."""

    id: str
    kind: str
    title: str
    groups: tuple[tuple[str, ...], ...]
    act: str
    why: str
    source: str


@lru_cache(maxsize=1)
def rules() -> tuple[RedFlagRule, ...]:
    """The table."""
    return tuple(
        RedFlagRule(flag, kind, title, tuple(tuple(group.split("|")) for group in terms.split(";")), act, why, source)
        for flag, kind, title, terms, act, why, source in rows("red_flags.tsv")
    )


def red_flags(findings: Sequence[Finding], patient: Patient) -> tuple[RedFlag, ...]:
    """Every rule whose groups are all met by what is present now."""
    present = [finding for finding in findings if finding.polarity is Polarity.PRESENT]
    found = []
    for rule in rules():
        met = [next(_meeting(group, present, patient), None) for group in rule.groups]
        if all(one is not None for one in met):
            ids = tuple(dict.fromkeys(one for one in met if one))
            found.append(RedFlag(rule.id, rule.title, rule.act, rule.why, rule.source, ids))
    return tuple(found)


def flags_of(consult: Consult, *, detect: Callable[[str], Emergency | None] = find_emergencies) -> tuple[RedFlag, ...]:
    """The red flags of a consult; where an answer on who the patient is contradicts another, those of either.

    What the messages themselves tell of comes after them, as far as no finding has raised it.
    """
    found = {red_flag.id: red_flag for red_flag in red_flags(consult.findings, patient_of(consult))}
    for patient in possible(consult):
        for flag in red_flags(consult.findings, patient):
            found.setdefault(flag.id, replace(flag, why=f"{flag.why} {NOT_SETTLED}"))
    raised = {rule.kind for rule in rules() if rule.id in found}
    told: dict[str, tuple[str, ...]] = {}
    for emergency in emergencies_in(consult, detect):
        for kind in emergency.kinds:
            told[kind] = (*told.get(kind, ()), *emergency.words)
    spoken = [advised(kind, words) for kind, words in told.items() if kind not in raised]
    return (*found.values(), *spoken)


def emergencies_in(consult: Consult, detect: Callable[[str], Emergency | None]) -> Iterator[Emergency]:
    """What each message tells of, but for messages whose findings were all taken back."""
    held = {finding.words.message for finding in consult.findings if finding.words}
    gone = {finding.words.message for finding, _ in consult.gone if finding.words} - held
    for message in consult.messages:
        if message.role == "user" and message.position not in gone and (emergency := detect(message.text)) is not None:
            yield emergency


def advised(kind: str, words: Sequence[str]) -> RedFlag:
    """A red flag that words alone raise."""
    title, act, why, source = advice_of(kind)
    return RedFlag(kind, title, act, why, source, (), tuple(dict.fromkeys(words)))


def _meeting(group: Sequence[str], present: Sequence[Finding], patient: Patient) -> Iterator[str]:
    """The ids of findings that meet a group; an empty one where the patient as such does."""
    for term in group:
        compared = _COMPARED.fullmatch(term)
        if compared and compared["name"] == "age":
            if patient.age_years is not None and _holds(patient.age_years, compared):
                yield ""
        elif compared:
            yield from (
                finding.id
                for finding in reversed(present)
                if finding.name == compared["name"] and finding.value is not None and _holds(finding.value, compared)
            )
        elif term == "pregnant":
            if patient.is_pregnant:
                yield ""
        elif term == "sudden":
            yield from (
                finding.id
                for finding in present
                if finding.category is Category.ONSET and "sudden" in finding.name.casefold()
            )
        else:
            wanted = concept_of(term)[:2]
            yield from (finding.id for finding in present if _is(finding, term, wanted))


def _is(finding: Finding, term: str, wanted: tuple[str, str | None]) -> bool:
    same_concept = (
        wanted[1] is not None
        and finding.concept is not None
        and wanted[1] in {finding.concept, *broader([finding.concept])}
    )
    return same_concept or finding.name.casefold() in (term.casefold(), wanted[0].casefold())


def _holds(value: float, compared: re.Match[str]) -> bool:
    limit = float(compared["value"])
    return {"<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit}[compared["sign"]]


def features_for(complaints: Sequence[str], known: Sequence[Finding], *, limit: int = 6) -> list[str]:
    """What to ask after, given the complaints: terms of the rules that they are part of, not known yet."""
    spoken = {finding.key for finding in known} | {f":{finding.concept}" for finding in known}
    names = {name.casefold() for name in complaints}
    found: dict[str, None] = {}
    for rule in rules():
        own = [group for group in rule.groups if any(term.casefold() in names for term in group)]
        for group in rule.groups:
            if own and group not in own:
                for term in group:
                    name, concept, _ = concept_of(term)
                    is_plain = not _COMPARED.fullmatch(term) and term not in ("pregnant", "sudden")
                    if is_plain and f":{concept or name.casefold()}" not in spoken:
                        found.setdefault(name.lower())
    return list(found)[:limit]
