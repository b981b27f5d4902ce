"""Tells whom a passage or a sentence is for, and whether this patient is one of them, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from citewell.assistants.consult.having import Known, is_own, other_disease
from citewell.assistants.consult.stages import LATER_LINE
from citewell.assistants.consult.tables import rows
from citewell.clinical.quantities import age_limits
from citewell.types.consult import Patient

_WEIGHT_RANGE = re.compile(
    r"(?P<low>\d+(?:\.\d+)?)\s*(?:kg)?\s*(?:-|–|to)\s*(?:<\s*)?(?P<high>\d+(?:\.\d+)?)\s*kg(?!\s*/)", re.IGNORECASE
)
_WEIGHT_BELOW = re.compile(r"(?:under|below|less than|<)\s*(?P<high>\d+(?:\.\d+)?)\s*kg(?!\s*/)", re.IGNORECASE)
_WEIGHT_ABOVE = re.compile(
    r"(?:over|above|at least|≥|>=|>|more than)\s*(?P<low>\d+(?:\.\d+)?)\s*kg(?!\s*/)"
    r"|(?P<low2>\d+(?:\.\d+)?)\s*kg\s*(?:and|or)\s*(?:over|more|above)",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"(?:except|unless|excluding|other than|but not|not (?:for|in|be used in|be given in|recommended (?:for"
    r"|in)|suitable for)|avoid(?:ed)? in"
    r"|contra-?indicated in|non-?)\s*(?:[\w,]+\s+){0,4}$",
    re.IGNORECASE,
)
_FOR = re.compile(
    r"(?:^|[:;]|\b(?:in|for|to|among|treat|all|during|when|if|with|both|and|or|non|not|give|offer|except"
    r"|unless|of|who are))\W*(?:[\w-]+\W+){0,3}$",
    re.IGNORECASE,
)
"""What stands before people whom a sentence is for; “a risk to the baby” is not one."""
_PROHIBITS = re.compile(r"^\W*(?:do not|don't|avoid|never|contra-?indicat)", re.IGNORECASE)
_BULLET = re.compile(r"\s[•●▪]\s")
_OR_END = re.compile(r"\bor\s*$", re.IGNORECASE)
_TREATED = re.compile(
    r"\b(?:adults|people|patients|women|men|those|anyone)\b[^.;:]{0,40}"
    r"\balready (?:having|taking|on|receiving|treated)\b",
    re.IGNORECASE,
)
_GENERAL = re.compile(r"\b(?:in|of|for) (?:the )?general (?:\w+ )?population\b|\bpeople in general\b", re.IGNORECASE)
"""“In the general pregnant population”: named to compare with, not because this patient is one of them."""


@dataclass(frozen=True, slots=True)
class Group:
    """People of an age, a sex, pregnant or not; what is None does not matter."""

    name: str
    age_from: float | None = None
    age_below: float | None = None
    sex: str | None = None
    is_pregnant: bool | None = None
    is_breastfeeding: bool | None = None
    setting: str | None = None
    kg_from: float | None = None
    kg_below: float | None = None

    @property
    def is_special(self) -> bool:
        """Whether belonging to it says more of a patient than being an adult does."""
        return self.name not in ("adults", "women", "men", "non-pregnant people") and not self.name.startswith("women ")


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether words are for this patient, and why not, or why it cannot be told."""

    applies: bool
    reasons: tuple[str, ...] = ()
    is_specific: bool = False
    """They are for a group that this patient is known to belong to."""
    is_general: bool = False
    """They are about people in general, named to compare with."""


@cache
def _table() -> tuple[tuple[Group, re.Pattern[str]], ...]:
    found = []
    for row in rows("populations.tsv"):
        name, words, low, high, sex, pregnant, feeding, setting = (*row, *[""] * 8)[:8]
        group = Group(
            name,
            float(low) if low else None,
            float(high) if high else None,
            sex or None,
            {"yes": True, "no": False}.get(pregnant),
            {"yes": True, "no": False}.get(feeding),
            setting or None,
        )
        found.append((group, re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)))
    return tuple(found)


def fit(section: Sequence[str], sentence: str, patient: Patient, known: Known | None = None) -> Fit:
    """Whether a sentence under these headings is for the patient: each heading that names people, and the words.

    Where it is known what the patient has, words for people with another disease are not for them.

    >>> told = fit(("Malaria", "Treatment in adults"), "Give 4 tablets.", Patient(age_years=4))
    >>> told.applies, told.reasons
    (False, ('for adults; the patient is 4',))
    >>> either = "Check standing pressure in people with: • type 2 diabetes or • symptoms or • aged 80 and over."
    >>> fit((), either, Patient(age_years=63)).applies
    True
    """
    others = [*_for_others(section, sentence, known)] if known is not None else []
    if others:
        return Fit(applies=False, reasons=tuple(dict.fromkeys(others)))
    headings = [_judged(part, patient, is_heading=True) for part in section if part]
    judged = [*headings, _any_of(sentence, patient)] if sentence else headings
    reasons = tuple(dict.fromkeys(reason for one in judged for reason in one.reasons))
    is_general = any(map(_GENERAL.search, section))
    is_specific = any(one.is_specific for one in judged) and not is_general
    is_specific = is_specific or (known is not None and bool(sentence) and is_own(sentence, known))
    return Fit(all(one.applies for one in judged), reasons, is_specific, is_general)


def _for_others(section: Sequence[str], sentence: str, known: Known) -> Iterator[str]:
    """Why words are for people with another disease, or for those who are treated; of items with “or” one is enough."""
    yield from (why for part in section if part and (why := other_disease(part, known)))
    lead, items = _items(sentence)
    whole = [f"{lead} {one}" for one in items] or [sentence]
    reasons = [other_disease(one, known) for one in whole if one]
    if reasons and all(reasons):
        yield from (why for why in reasons[:1] if why)
    if known.takes_nothing and _TREATED.search(sentence):
        yield LATER_LINE


def _items(sentence: str) -> tuple[str, list[str]]:
    """The beginning of a list and its items, where “or” stands between them; else no items."""
    lead, *items = _BULLET.split(sentence)
    is_any = len(items) >= 2 and lead.rstrip().endswith(":") and all(_OR_END.search(one) for one in items[:-1])
    return lead, items if is_any else []


def _any_of(sentence: str, patient: Patient) -> Fit:
    """A sentence; of a list whose items stand with “or” between them, its beginning and the item that fits best."""
    lead, items = _items(sentence)
    if not items:
        return _judged(sentence, patient, is_heading=False)
    first = _judged(lead, patient, is_heading=False)
    every = [_judged(one, patient, is_heading=False) for one in items]
    best = next((one for one in every if one.applies and not one.reasons), None)
    best = best or next((one for one in every if one.applies), every[0])
    return Fit(
        first.applies and best.applies,
        (*first.reasons, *best.reasons),
        is_specific=first.is_specific or (best.applies and best.is_specific),
    )


@lru_cache(maxsize=20_000)
def _judged(text: str, patient: Patient, *, is_heading: bool) -> Fit:
    """One heading or sentence: the patient is in one of its groups, ages and weights, and is no exception."""
    reasons: list[str] = []
    is_specific = False
    several: dict[str, list[Group]] = {}
    for group in _groups(text, is_heading=is_heading):
        several.setdefault(_kind(group), []).append(group)
    for groups in several.values():
        verdicts = [(group, *_belongs(group, patient)) for group in groups]
        sure = [group for group, answer, _ in verdicts if answer is True]
        unsure = [f"for {group.name}; {why}" for group, answer, why in verdicts if answer is None]
        if sure:
            is_specific = is_specific or any(group.is_special for group in sure)
        elif unsure:
            reasons += unsure
        else:
            return Fit(applies=False, reasons=tuple(f"for {group.name}; {why}" for group, _, why in verdicts[:1]))
    return Fit(applies=True, reasons=tuple(reasons), is_specific=is_specific)


def _kind(group: Group) -> str:
    """Groups of one kind are alternatives; each exception stands for itself."""
    if group.kg_from is not None or group.kg_below is not None:
        return "weight"
    if group.name.startswith("ages "):
        return "age"
    return group.name if group.name.startswith("people who are not") else "people"


def _groups(text: str, *, is_heading: bool) -> Iterator[Group]:
    for group, pattern in _table():
        match = pattern.search(text)
        if match is None or not (is_heading or _FOR.search(text[: match.start()])):
            continue
        is_exception = _EXCEPT.search(text[: match.start()]) is not None and not _PROHIBITS.match(text)
        if group.name == "pregnant women" and is_exception:
            yield Group("people who are not pregnant", is_pregnant=False)
        elif group.name == "breastfeeding women" and is_exception:
            yield Group("people who are not breastfeeding", is_breastfeeding=False)
        elif not is_exception:
            yield group
    yield from (Group(f"ages {one.text}", one.low, one.high) for one in age_limits(text))
    yield from _weights(text)


def _weights(text: str) -> Iterator[Group]:
    taken: list[tuple[int, int]] = []
    for pattern in (_WEIGHT_RANGE, _WEIGHT_BELOW, _WEIGHT_ABOVE):
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            taken.append(match.span())
            found = match.groupdict()
            low, high = found.get("low") or found.get("low2"), found.get("high")
            first, last = (float(low) if low else None), (float(high) if high else None)
            yield Group(f"{match.group().strip()}", kg_from=first, kg_below=last)


def _belongs(group: Group, patient: Patient) -> tuple[bool | None, str]:
    """Whether the patient is one of a group; None where it is not known, with what is missing."""
    unknown = ""
    for wanted, known, told in (
        (group.sex, patient.sex, f"the patient is {patient.sex}"),
        (
            group.is_pregnant,
            patient.is_pregnant,
            "the patient is " + ("" if patient.is_pregnant else "not ") + "pregnant",
        ),
        (
            group.is_breastfeeding,
            patient.is_breastfeeding,
            "the patient is " + ("" if patient.is_breastfeeding else "not ") + "breastfeeding",
        ),
        (group.setting, patient.setting, f"this is {patient.setting}"),
    ):
        if wanted is not None and known is not None and wanted != known:
            return False, told
        if wanted is not None and known is None:
            unknown = unknown or "not known of the patient"
    for low, high, value, told in (
        (group.age_from, group.age_below, patient.age_years, f"the patient is {patient.age_told}"),
        (group.kg_from, group.kg_below, patient.weight_kg, f"the patient weighs {patient.weight_kg or 0:g} kg"),
    ):
        if low is None and high is None:
            continue
        if value is None:
            unknown = unknown or (
                "the age is not known"
                if group.kg_from is None and group.kg_below is None
                else "the weight is not known"
            )
        elif (low is not None and value < low) or (high is not None and value >= high):
            return False, told
    return (None, unknown) if unknown else (True, "")
