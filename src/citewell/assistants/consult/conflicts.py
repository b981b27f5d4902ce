"""Holds the medicines of a statement against the patient: allergies, pregnancy, age, illnesses, medicines taken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from citewell.answer.illnesses import named_illnesses, wider
from citewell.assistants.consult.mentions import concept_of
from citewell.assistants.consult.patient import may_be_pregnant, patient_of, possible
from citewell.assistants.consult.tables import rows
from citewell.clinical.medicines import Medicine, medicines, reacts
from citewell.types.consult import Category, Consult, Finding, Patient, Polarity
from citewell.types.consult_plan import Conflict

_WARNS_BEFORE = re.compile(
    r"\b(?:(?:do|should|must) not (?:be )?(?:give|use|offer|prescribe|take|start|combine|add)\w*|don't (?:give"
    r"|use)|avoid(?:ing)?"
    r"|never (?:give|use)|recommend(?:s|ed)? against|advise(?:s|d)? against|suggest(?:s|ed)? against|stop"
    r"|discontinue|withhold"
    r"|instead of|rather than|allergic to|allergy to|in place of)\b(?:(?!\b(?:give|(?<!the )use|offer|start"
    r"|treat)\b)[^.;:])*$",
    re.IGNORECASE,
)
_WARNS_BEHIND = re.compile(
    r"[^.;,]{0,60}\b(?:(?:is|are) (?:not (?:recommended|tolerated|available|suitable|effective|an option)"
    r"|contra-?indicated)"
    r"|(?:is |are )?unsuitable"
    r"|(?:should|must) (?:not be|be avoided|never)|(?:not|cannot) be (?:used|given|taken|tolerated))\b",
    re.IGNORECASE,
)
_OF_ALLERGY = re.compile(r"\s(?:allerg\w+|hypersensitiv\w+|intoleran\w+)\b", re.IGNORECASE)
"""Behind a medicine: “alternatives for penicillin allergy” gives no penicillin."""
NOT_SETTLED = " (contradictory information)"
RENAL = "has:kidney disease"
LOW_EGFR = 60.0
_WHEN = re.compile(r"(?P<what>pregnant|age)(?:(?P<sign><|>=)(?P<limit>[\d.]+))?")


@dataclass(frozen=True, slots=True)
class PatientMedicines:
    """What medicines are held against."""

    patient: Patient
    findings: tuple[Finding, ...]
    doubted: frozenset[str] = frozenset()
    """Findings that contradict each other: an allergy among them is told all the same, and that it is not settled."""
    possible: tuple[Patient, ...] = ()
    """The patient by each answer that another one contradicts."""

    @classmethod
    def of(cls, consult: Consult) -> PatientMedicines:
        """What a consult holds."""
        return cls(patient_of(consult), consult.findings, consult.doubted, possible(consult))

    @property
    def settled(self) -> tuple[Finding, ...]:
        """The findings that nothing contradicts."""
        return tuple(finding for finding in self.findings if finding.id not in self.doubted)

    @property
    def allergies(self) -> list[Finding]:
        """Allergies that were told or are on record."""
        return [finding for finding in self._present(Category.ALLERGY) if finding.name != "any"]

    @property
    def taken(self) -> list[Finding]:
        """Medicines that the patient takes."""
        return [finding for finding in self._present(Category.MEDICATION) if finding.name != "any"]

    def has(self, name: str) -> list[Finding]:
        """What says that the patient has an illness or a kind of it, now, earlier or perhaps."""
        wanted = concept_of(name)
        illnesses = named_illnesses(name)
        return [
            finding
            for finding in self.findings
            if finding.polarity in (Polarity.PRESENT, Polarity.PAST, Polarity.UNCLEAR)
            and (
                finding.name.casefold() == name.casefold()
                or (finding.concept is not None and finding.concept == wanted[1])
                or any(name in wider(own) for own in named_illnesses(finding.name) for name in illnesses)
            )
        ]

    def doubt(self, *findings: Finding) -> str:
        """What to add where all that something rests on is contradicted."""
        return NOT_SETTLED if all(finding.id in self.doubted for finding in findings) else ""

    def _present(self, category: Category) -> list[Finding]:
        return [
            finding
            for finding in self.findings
            if finding.category is category and finding.polarity is Polarity.PRESENT
        ]


def conflicts(statement: str, held: PatientMedicines) -> tuple[Conflict, ...]:
    """What speaks against each medicine that a statement tells to give; one that it warns of is none."""
    found: list[Conflict] = []
    for medicine in given(statement):
        found += [*_allergies(medicine, held), *listed_cautions(medicine, held), *_interactions(medicine, held)]
    found.sort(key=lambda conflict: not conflict.is_grave)
    once: dict[tuple[str, str, str], Conflict] = {}
    for told in found:
        once.setdefault((told.kind, told.medicine, told.text if told.kind == "interaction" else ""), told)
    return tuple(once.values())


def advised_against(statement: str, quoted: Iterable[tuple[str, str]]) -> Iterator[Conflict]:
    """Medicines of a statement that sentences of the plan advise against, each with its document; the first tells.

    >>> told = advised_against("Give ibuprofen 400 mg.", [("WHO recommends against NSAIDs in dengue.", "Dengue")])
    >>> [(one.medicine, one.source) for one in told]
    [('ibuprofen', 'Dengue')]
    """
    every = list(quoted)
    for medicine in given(statement):
        for text, document in every:
            warned = [other for other in medicines(text) if is_warned_of(text, other)]
            if any(
                other.name == medicine.name or (other.is_class and other.family == medicine.family) for other in warned
            ):
                told = f"The plan quotes advice against it: “{text}”"
                yield Conflict("guideline", medicine.name, told, document, is_grave=True)
                break


def given(statement: str) -> list[Medicine]:
    """The medicines that a statement does not plainly warn of: in doubt it gives them, and they are checked.

    >>> [one.name for one in given("If it is not available, give amoxicillin; do not give doxycycline.")]
    ['amoxicillin']
    >>> given("We recommend against the use of ibuprofen.")
    []
    """
    return [
        medicine
        for medicine in medicines(statement)
        if not is_warned_of(statement, medicine) and not _OF_ALLERGY.match(statement, medicine.end)
    ]


def is_warned_of(statement: str, medicine: Medicine) -> bool:
    """Whether a statement plainly advises against a medicine."""
    return bool(_WARNS_BEFORE.search(statement[: medicine.start]) or _WARNS_BEHIND.match(statement[medicine.end :]))


def _allergies(medicine: Medicine, held: PatientMedicines) -> Iterator[Conflict]:
    for allergy in held.allergies:
        shared = reacts(allergy.name, [medicine.name, medicine.family])
        if shared is not None:
            both = f" (both are {shared})" if shared else ""
            text = f"The patient is allergic to {allergy.name}{held.doubt(allergy)}{both}."
            yield Conflict("allergy", medicine.name, text, "record", is_grave=True)
        elif medicine.is_class and any(known.family == medicine.family for known in medicines(allergy.name)):
            doubt = held.doubt(allergy)
            text = f"The patient is allergic to {allergy.name}{doubt}, which is one of these ({medicine.name})."
            yield Conflict("allergy", medicine.name, text, "record", is_grave=False)


def listed_cautions(medicine: Medicine, held: PatientMedicines) -> Iterator[Conflict]:
    """What the table of cautions says of a medicine for this patient."""
    for names, when, grave, concern, source in rows("cautions.tsv"):
        if not _is_among(medicine, names):
            continue
        kind = "pregnancy" if when.startswith("pregnant") else when.partition(":")[0].partition("<")[0]
        kind = {"has": "renal" if when == RENAL else "illness"}.get(kind, kind)
        if told := _holds(when, held):
            yield Conflict(kind, medicine.name, f"{_opening(medicine.name)} {concern}; {told}.", source, grave == "yes")
        elif kind == "pregnancy" and may_be_pregnant(held.patient):
            text = f"{_opening(medicine.name)} {concern}; it is not known whether the patient is pregnant."
            yield Conflict(kind, medicine.name, text, source, is_grave=False)


def _interactions(medicine: Medicine, held: PatientMedicines) -> Iterator[Conflict]:
    for taken in held.taken:
        for other in medicines(taken.name):
            if other.name == medicine.name and not medicine.is_class:
                text = f"The patient already takes {taken.name}{held.doubt(taken)}."
                yield Conflict("duplicate", medicine.name, text, "record", is_grave=False)
            for first, second, grave, concern, source in rows("interactions.tsv"):
                forward = _is_among(medicine, first) and _is_among(other, second)
                if forward or (_is_among(other, first) and _is_among(medicine, second)):
                    told = f"{taken.name}, which the patient takes{held.doubt(taken)}"
                    text = f"{_opening(medicine.name)} and {told}: {concern}."
                    yield Conflict("interaction", medicine.name, text, source, grave == "yes")


def _opening(name: str) -> str:
    """A name as a sentence begins with it.

    >>> _opening("ibuprofen"), _opening("NSAID")
    ('Ibuprofen', 'NSAID')
    """
    return name[:1].upper() + name[1:]


@cache
def _listed(names: str) -> frozenset[str]:
    return frozenset(name.casefold() for name in names.split("|"))


def _is_among(medicine: Medicine, names: str) -> bool:
    return not _listed(names).isdisjoint((medicine.name.casefold(), medicine.family.casefold()))


def _holds(when: str, held: PatientMedicines) -> str | None:
    """Whether a condition of the table holds of the patient, in words; unknown does not, one of two answers does."""
    if when.startswith("has:"):
        name = when.removeprefix("has:")
        having = held.has(name)
        egfr = held.patient.egfr
        if not having and when == RENAL and egfr is not None and egfr[0] < LOW_EGFR:
            return f"the eGFR is {egfr[0]:g}"
        return f"the patient has {name.lower()}{held.doubt(*having)}" if having else None
    if (known := _met(when, held.patient)) is not None:
        return known
    doubtful = next((told for patient in held.possible if (told := _met(when, patient)) is not None), None)
    return None if doubtful is None else doubtful + NOT_SETTLED


def _met(when: str, patient: Patient) -> str | None:
    """Whether a condition on who the patient is holds, in words."""
    if when == "breastfeeding":
        return "the patient is breastfeeding" if patient.is_breastfeeding else None
    match = _WHEN.fullmatch(when)
    assert match is not None, f"cautions.tsv: {when}"
    limit = float(match["limit"]) if match["limit"] else None
    if match["what"] == "age":
        age = patient.age_years
        return f"the patient is {patient.age_told}" if age is not None and limit is not None and age < limit else None
    return _pregnant(patient, match["sign"], limit)


def _pregnant(patient: Patient, sign: str, limit: float | None) -> str | None:
    """Whether a pregnancy is within a limit of weeks; where the week is not known, it counts as within."""
    if not patient.is_pregnant:
        return None
    weeks = patient.pregnancy_weeks
    if limit is None:
        return "the patient is pregnant"
    if weeks is None:
        return "the patient is pregnant, the week is not known"
    is_met = weeks < limit if sign == "<" else weeks >= limit
    return f"the patient is {weeks:g} weeks pregnant" if is_met else None
