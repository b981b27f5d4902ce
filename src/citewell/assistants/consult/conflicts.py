"""Holds the medicines of a statement against the patient: allergies, pregnancy, age, illnesses, medicines taken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from citewell.answer.illnesses import named_illnesses, wider
from citewell.assistants.consult.guideline_choice import illnesses_of
from citewell.assistants.consult.mentions import concept_of
from citewell.assistants.consult.patient import may_be_pregnant, patient_of, possible
from citewell.assistants.consult.tables import rows
from citewell.clinical.medicines import Medicine, medicines, members, reacts
from citewell.clinical.populations import ADULT_YEARS, PLANS_PREGNANCY
from citewell.sentences import sentences
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
ASIDE = re.compile(
    r"(?:Follow the MHRA|See (?:also )?(?:NICE|the|recommendation)"
    r"|For (?:specific |more |further )?(?:recommendations|information|advice|guidance)\b|In \w+ 20\d\d, this was)[^.]*"
)
"""A sentence of a recommendation that leads elsewhere: it says neither whom it is for, nor what to give."""
CALLED = " The plan calls it "
SAME_OF = "The same applies to {names}."
NOT_CLEAR = " (the note is not clear)"
NOT_SETTLED = " (contradictory information)"
KIDNEY_DISEASE = "kidney disease"
RENAL = f"has:{KIDNEY_DISEASE}"
LOW_EGFR, FAILING_EGFR, HIGH_POTASSIUM = 60.0, 14.0, 5.5
MICROMOLES = 88.4
"""Micromoles in a litre that are one milligram of creatinine in a decilitre."""
_WHEN = re.compile(r"(?P<what>pregnant|age|eGFR|potassium|pulse|systolic)(?:(?P<sign><|>=)(?P<limit>[\d.]+))?")
_MEASURES = {"potassium": "potassium", "pulse": "pulse", "systolic": "systolic blood pressure"}
_OF_ADULTS = ("pulse", "systolic")
"""Measurements of which a child's usual ones are others."""
_EARLIER = (Polarity.PAST, Polarity.UNCLEAR)
_KINDS = {"has": "illness", "eGFR": "renal", "potassium": "renal", "pulse": "illness", "systolic": "illness"}
"""What kind of warning a condition of the table makes; of any other the condition's own word."""
_SIGNS = (("pulse", 50.0, "bradycardia"), ("systolic", 90.0, "hypotension"))


@dataclass(frozen=True, slots=True)
class PatientMedicines:
    """What medicines are held against."""

    patient: Patient
    findings: tuple[Finding, ...]
    doubted: frozenset[str] = frozenset()
    """Findings that contradict each other: an allergy among them is told all the same, and that it is not settled."""
    diagnoses: tuple[str, ...] = ()
    earlier: tuple[tuple[str, str], ...] = ()
    """Medicines that were taken before, each with the sentence that says so."""
    printed: tuple[Conflict, ...] = ()
    """What is printed with medicines, in the library, and speaks against one of them."""
    possible: tuple[Patient, ...] = ()
    """The patient by each answer that another one contradicts."""

    @classmethod
    def of(cls, consult: Consult) -> PatientMedicines:
        """What a consult holds."""
        return cls(
            patient_of(consult),
            consult.findings,
            consult.doubted,
            tuple(other.condition for other in consult.differentials),
            tuple(_earlier_in(consult)),
            possible=possible(consult),
        )

    @property
    def settled(self) -> tuple[Finding, ...]:
        """The findings that nothing contradicts."""
        return tuple(finding for finding in self.findings if finding.id not in self.doubted)

    @property
    def allergies(self) -> list[Finding]:
        """Allergies that were told or are on record, and those of which the note is not clear."""
        return [*self._named(Category.ALLERGY)]

    @property
    def taken(self) -> list[Finding]:
        """Medicines that the patient takes, and those of which the note is not clear."""
        return [*self._named(Category.MEDICATION)]

    @property
    def plans_pregnancy(self) -> bool:
        """Whether the patient was said to plan a pregnancy."""
        return any(finding.name == PLANS_PREGNANCY for finding in self._present(Category.DEMOGRAPHIC))

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

    def measured(self, name: str) -> list[Finding]:
        """The last value of a measurement; where two contradict each other, both."""
        found = [one for one in self._present(Category.VITAL) if one.name == name and one.value is not None]
        return (
            [one for one in found if one.id in self.doubted] if found and found[-1].id in self.doubted else found[-1:]
        )

    def is_below(self, name: str, limit: float) -> Finding | None:
        """The measurement that is below a limit, if one is."""
        return next((one for one in self.measured(name) if one.value is not None and one.value < limit), None)

    @property
    def is_child(self) -> bool:
        """Whether the patient is too young for an adult's limits."""
        return self.patient.age_years is not None and self.patient.age_years < ADULT_YEARS

    @property
    def signs(self) -> list[tuple[str, str]]:
        """What measurements mean in words that guidelines warn with, and what was measured."""
        told = []
        for what, limit, sign in _SIGNS:
            low = None if self.is_child else self.is_below(_MEASURES[what], limit)
            told += [(sign, f"the {low.name} is {low.value:g}{self.doubt(low)}")] if low else []
        high = next((one for one in self.measured("potassium") if (one.value or 0) >= HIGH_POTASSIUM), None)
        told += [("hyperkalaemia", f"the potassium is {high.value:g}{self.doubt(high)}")] if high else []
        is_low = self.kidneys is not None and self.kidneys[0][0] < LOW_EGFR
        return [*told, *([(KIDNEY_DISEASE, self.kidneys[1])] if is_low and self.kidneys else [])]

    @property
    def kidneys(self) -> tuple[tuple[float, float], str] | None:
        """From which eGFR to which the patient has, and how that is known: told, by a stage, or worked out."""
        patient, clearance = self.patient, self.patient.creatinine_clearance
        if any(one.polarity is Polarity.PRESENT for one in self.findings if "dialysis" in one.name):
            return (0.0, FAILING_EGFR), "the patient is on dialysis"
        doubted = [one for one in self.measured("eGFR") if one.id in self.doubted]
        if doubted:
            low = min(one.value or 0.0 for one in doubted)
            return (low, low), f"the eGFR is {low:g}{NOT_SETTLED}"
        if patient.egfr is not None:
            low, high = patient.egfr
            return patient.egfr, f"the eGFR is {low:g}" if low == high else f"the eGFR is {low:g} to {high:g} (stage)"
        if clearance is not None:
            return (clearance, clearance), f"the creatinine clearance is {clearance:g}"
        age, creatinine = patient.age_years, next((one.value for one in self.measured("creatinine")), None)
        if creatinine is None or age is None or self.is_child or patient.sex is None or patient.is_pregnant:
            return None
        worked = egfr_of(creatinine, age, is_female=patient.sex == "female")
        return (worked, worked), f"the eGFR is about {worked:g}, calculated from a creatinine of {creatinine:g} µmol/L"

    def doubt(self, *findings: Finding) -> str:
        """What to add where all that something rests on is contradicted, or not clear."""
        if all(finding.id in self.doubted for finding in findings):
            return NOT_SETTLED
        return NOT_CLEAR if all(finding.polarity is Polarity.UNCLEAR for finding in findings) else ""

    def _named(self, category: Category) -> Iterator[Finding]:
        for finding in self.findings:
            is_held = finding.polarity in (Polarity.PRESENT, Polarity.UNCLEAR)
            if finding.category is category and is_held and finding.name != "any":
                yield finding

    def _present(self, category: Category) -> list[Finding]:
        return [
            finding
            for finding in self.findings
            if finding.category is category and finding.polarity is Polarity.PRESENT
        ]


def _earlier_in(consult: Consult) -> Iterator[tuple[str, str]]:
    """Each medicine that was taken before and is not now, with the sentence of the note that names it."""
    notes = {message.position: message.text for message in consult.messages}
    for finding in consult.findings:
        words = finding.words
        if finding.category is not Category.MEDICATION or finding.polarity not in _EARLIER or words is None:
            continue
        note = notes.get(words.message, "")
        spans = sentences(note)
        said = next((note[start:end] for start, end in spans if start <= words.start < end), finding.name)
        yield finding.name, said.strip()


def egfr_of(creatinine: float, age: float, *, is_female: bool) -> float:
    """The eGFR of an adult by the CKD-EPI equation of 2009, without a factor for origin (NICE NG203).

    >>> egfr_of(88.4, 50, is_female=False), egfr_of(310, 70, is_female=True)
    (87.0, 13.0)
    """
    usual, power = (0.7, -0.329) if is_female else (0.9, -0.411)
    share = creatinine / MICROMOLES / usual
    value = 141 * min(share, 1) ** power * max(share, 1) ** -1.209 * 0.993**age
    return float(round(value * (1.018 if is_female else 1)))


def conflicts(statement: str, held: PatientMedicines) -> tuple[Conflict, ...]:
    """What speaks against each medicine that a statement tells to give; one that it warns of is none."""
    found: list[Conflict] = []
    for medicine in given(statement):
        found += [*_allergies(medicine, held), *listed_cautions(medicine, held), *_interactions(medicine, held)]
        found += [told for told in held.printed if told.medicine == medicine.name]
        found += _earlier(medicine, held)
        written = statement[medicine.start : medicine.end]
        if not written.casefold().startswith(medicine.name.casefold()):
            known = {told.text for told in found if told.medicine == medicine.name and CALLED not in told.text}
            found = [
                replace(told, text=f"{told.text}{CALLED}{written}.") if told.text in known else told for told in found
            ]
    found.sort(key=lambda conflict: not conflict.is_grave)
    once: dict[tuple[str, str, str], Conflict] = {}
    for told in found:
        once.setdefault(
            (told.kind, told.medicine, told.text if told.kind == "interaction" or told in held.printed else ""), told
        )
    return _together(once.values())


def _together(found: Iterable[Conflict]) -> tuple[Conflict, ...]:
    """What is told of several medicines of one class, told once, with the names of the others."""
    first: dict[tuple[object, ...], Conflict] = {}
    others: dict[tuple[object, ...], list[str]] = {}
    for told in found:
        words = told.text.partition(CALLED)[0]
        own = words[len(told.medicine) :] if words.casefold().startswith(told.medicine.casefold()) else words
        families = tuple(medicine.family for medicine in medicines(told.medicine))
        key = (told.kind, told.source, told.is_grave, own.rstrip("."), families or told.medicine)
        if first.setdefault(key, told) is not told:
            others.setdefault(key, []).append(told.medicine)
    named = {key: [name for name in dict.fromkeys(others.get(key, ())) if name != first[key].medicine] for key in first}
    return tuple(
        replace(told, text=f"{told.text} {SAME_OF.format(names=' and '.join(named[key]))}") if named[key] else told
        for key, told in first.items()
    )


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
    told = ASIDE.sub(lambda aside: " " * len(aside.group()), statement)
    return [
        medicine
        for medicine in medicines(told)
        if not is_warned_of(told, medicine) and not _OF_ALLERGY.match(told, medicine.end)
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
        elif medicine.is_class and any(
            known.family in (medicine.family, *members(medicine.family)) for known in medicines(allergy.name)
        ):
            doubt = held.doubt(allergy)
            text = f"The patient is allergic to {allergy.name}{doubt}, which belongs to this class ({medicine.name})."
            yield Conflict("allergy", medicine.name, text, "record", is_grave=False)


def listed_cautions(medicine: Medicine, held: PatientMedicines) -> Iterator[Conflict]:
    """What the table of cautions says of a medicine for this patient."""
    for names, when, grave, concern, source in rows("cautions.tsv"):
        if not _is_among(medicine, names):
            continue
        kind = "pregnancy" if when.startswith("pregnant") else re.split("[:<>]", when)[0]
        kind = "renal" if when == RENAL else _KINDS.get(kind, kind)
        if told := _holds(when, held):
            yield Conflict(kind, medicine.name, f"{_opening(medicine.name)} {concern}; {told}.", source, grave == "yes")
        elif kind == "pregnancy" and held.plans_pregnancy:
            text = f"{_opening(medicine.name)} {concern}; the patient is planning a pregnancy."
            yield Conflict(kind, medicine.name, text, source, is_grave=False)
        elif kind == "pregnancy" and may_be_pregnant(held.patient):
            text = f"{_opening(medicine.name)} {concern}; it is not known whether the patient is pregnant."
            yield Conflict(kind, medicine.name, text, source, is_grave=False)


def _earlier(medicine: Medicine, held: PatientMedicines) -> Iterator[Conflict]:
    """That a medicine was taken before: it may have been stopped for a reason, or may not be given again."""
    for name, said in held.earlier:
        if any(
            one.name == medicine.name or (medicine.is_class and one.family == medicine.family)
            for one in medicines(name)
        ):
            text = f"The patient has had {name} before. Check when, and why it was stopped. The note says: “{said}”"
            yield Conflict("earlier", medicine.name, text, "record", is_grave=False)


def _interactions(medicine: Medicine, held: PatientMedicines) -> Iterator[Conflict]:
    for taken in held.taken:
        for other in medicines(taken.name):
            if other.name == medicine.name and not medicine.is_class:
                text = f"The patient already takes {taken.name}{held.doubt(taken)}."
                yield Conflict("duplicate", medicine.name, text, "record", is_grave=False)
            for concern, source, is_grave in interactions(medicine, other):
                told = f"{taken.name}, which the patient takes{held.doubt(taken)}"
                text = f"{_opening(medicine.name)} and {told}: {concern}."
                yield Conflict("interaction", medicine.name, text, source, is_grave)


def interactions(one: Medicine, other: Medicine) -> Iterator[tuple[str, str, bool]]:
    """What the table says that two medicines do to each other: the concern, its source, and whether it is grave."""
    for first, second, grave, concern, source in rows("interactions.tsv"):
        if (_is_among(one, first) and _is_among(other, second)) or (_is_among(other, first) and _is_among(one, second)):
            yield concern, source, grave == "yes"


def within_plan(statements: Iterable[str]) -> Conflict | None:
    """The medicines of a plan that harm each other, in one warning: they may be meant as alternatives.

    >>> told = within_plan(["Captopril 6.25 mg daily", "Spironolactone 25 mg daily", "Lisinopril 2.5 mg daily"])
    >>> told.text if told else None
    'Do not combine without checking: captopril or lisinopril with spironolactone (can raise potassium dangerously).'
    """
    named = {medicine.name: medicine for statement in statements for medicine in given(statement)}
    told, sources = [], dict[str, None]()
    for first, second, grave, concern, source in rows("interactions.tsv"):
        own = [name for name, medicine in named.items() if _is_among(medicine, first)]
        others = [name for name, medicine in named.items() if _is_among(medicine, second) and name not in own]
        if grave == "yes" and own and others:
            told.append(f"{' or '.join(own)} with {' or '.join(others)} ({concern})")
            sources |= dict.fromkeys(source.split("; "))
    text = f"Do not combine without checking: {'; '.join(told)}."
    return Conflict("interaction", "", text, "; ".join(sources), is_grave=False) if told else None


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
        if not having and when == RENAL and held.kidneys is not None and held.kidneys[0][0] < LOW_EGFR:
            return held.kidneys[1]
        if having:
            return f"the patient has {name.lower()}{held.doubt(*having)}"
        return next((f"the diagnosis is {one}" for one in held.diagnoses if _is_kind_of(one, name)), None)
    if when.startswith("allergy:"):
        allergen = when.removeprefix("allergy:")
        to = [
            one
            for one in held.allergies
            if any(allergen in (known.name, known.family) for known in medicines(one.name))
        ]
        return f"the patient is allergic to {to[0].name}{held.doubt(*to)}" if to else None
    if (known := _met(when, held)) is not None:
        return known
    others = (replace(held, patient=patient) for patient in held.possible)
    doubtful = next((told for other in others if (told := _met(when, other)) is not None), None)
    return None if doubtful is None else doubtful + NOT_SETTLED


def _is_kind_of(diagnosis: str, illness: str) -> bool:
    """Whether a diagnosis is an illness, or a kind of it."""
    return any(name in wider(own) for own in illnesses_of(diagnosis) for name in named_illnesses(illness))


def _met(when: str, held: PatientMedicines) -> str | None:
    """Whether a condition on who the patient is, or on what was measured, holds, in words."""
    patient = held.patient
    if when == "breastfeeding":
        return "the patient is breastfeeding" if patient.is_breastfeeding else None
    match = _WHEN.fullmatch(when)
    assert match is not None, f"cautions.tsv: {when}"
    limit = float(match["limit"]) if match["limit"] else None
    if match["what"] == "age":
        age = patient.age_years
        return f"the patient is {patient.age_told}" if age is not None and limit is not None and age < limit else None
    if match["what"] == "pregnant":
        return _pregnant(patient, match["sign"], limit)
    assert limit is not None, f"cautions.tsv: {when}"
    return _measured(match["what"], limit, held, is_below=match["sign"] == "<")


def _measured(what: str, limit: float, held: PatientMedicines, *, is_below: bool) -> str | None:
    """Whether a measurement is below a limit, or is it or above, in words."""
    if what == "eGFR":
        return held.kidneys[1] if held.kidneys is not None and held.kidneys[0][1] < limit else None
    if held.is_child and what in _OF_ADULTS:
        return None
    for one in held.measured(_MEASURES[what]):
        if one.value is not None and (one.value < limit) is is_below:
            return f"the {one.name} is {one.value:g}{held.doubt(one)}"
    return None


def _pregnant(patient: Patient, sign: str, limit: float | None) -> str | None:
    """Whether a pregnancy is within a limit of weeks; where the week is not known, it counts as within."""
    if not patient.is_pregnant:
        return None
    weeks = patient.pregnancy_weeks
    if limit is None:
        return "the patient is pregnant"
    if weeks is None:
        return "the patient is pregnant (weeks not known)"
    is_met = weeks < limit if sign == "<" else weeks >= limit
    return f"the patient is {weeks:g} weeks pregnant" if is_met else None
