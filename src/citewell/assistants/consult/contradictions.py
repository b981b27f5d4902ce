"""Findings that cannot both hold: shown as such, and asked about, never settled by guessing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from citewell.assistants.consult.patient import egfr_by_stage
from citewell.assistants.consult.tables import rows
from citewell.clinical.medicines import medicines, reacts
from citewell.types.consult import Category, Contradiction, Finding, Polarity

FAILING = 29.0
"""Nobody is on dialysis with a higher eGFR than this."""
SAME_YEARS = 1.0
SAME_SHARE = 0.05
"""Two weights this near each other are one."""
SETTLED = frozenset({"temperature", "pulse", "respiratory rate", "oxygen saturation", "glucose"})
"""Measurements that change in an hour: the last one holds, and none contradicts another."""
_HELD = (Polarity.PRESENT, Polarity.ABSENT)
_LISTED = (Category.ALLERGY, Category.MEDICATION)
_MEASURED = (Category.VITAL, Category.DEMOGRAPHIC)


def contradictions(findings: Sequence[Finding]) -> tuple[Contradiction, ...]:
    """Every pair that cannot both hold, with the question that settles it.

    >>> from citewell.types.consult import FindingSource
    >>> one = Finding("f1", Category.SYMPTOM, "Fever", Polarity.PRESENT, FindingSource.RULES)
    >>> other = Finding("f2", Category.SYMPTOM, "Fever", Polarity.ABSENT, FindingSource.RULES)
    >>> contradictions([one, other])[0].question
    'Both “Fever” and “no Fever” were recorded. Which is right?'
    """
    return (
        *_opposites(findings),
        *_numbers(findings),
        *_impossible(findings),
        *_unlikely(findings),
        *_taken_allergens(findings),
        *_kidneys(findings),
    )


def _opposites(findings: Sequence[Finding]) -> Iterator[Contradiction]:
    for same in _alike(finding for finding in findings if finding.polarity in _HELD):
        for first, second in _pairs(same, lambda finding, other: finding.polarity is not other.polarity):
            name = first.name if first.name != "any" else _any(first)
            denied = f"{'not' if first.category is Category.DEMOGRAPHIC else 'no'} {name}"
            yield Contradiction(first.id, second.id, f"Both “{name}” and “{denied}” were recorded. Which is right?")
    for none in findings:
        if none.name == "any" and none.polarity is Polarity.ABSENT and none.category in _LISTED:
            of_allergy = none.category is Category.ALLERGY
            denied, told = ("no known allergies", "an allergy") if of_allergy else ("no medicines", "a medicine")
            for some in findings:
                if some.category is none.category and some.name != "any" and some.polarity is Polarity.PRESENT:
                    question = f"Both “{denied}” and {told} ({some.name}) were recorded. Which is right?"
                    yield Contradiction(none.id, some.id, question)


def _alike(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """Findings about the same thing, together."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.key, []).append(finding)
    return groups.values()


def _pairs(same: list[Finding], contradict: Callable[[Finding, Finding], bool]) -> Iterator[tuple[Finding, Finding]]:
    """Each with the first one that it contradicts, once: nobody is asked about every pair of a hundred values."""
    told = set()
    for at, finding in enumerate(same):
        other = next((place for place, two in enumerate(same) if contradict(finding, two)), None)
        if other is not None:
            told.add((min(at, other), max(at, other)))
    return ((same[first], same[second]) for first, second in sorted(told))


def _any(finding: Finding) -> str:
    return "allergies" if finding.category is Category.ALLERGY else "medicines"


def _numbers(findings: Sequence[Finding]) -> Iterator[Contradiction]:
    measured = (finding for finding in findings if finding.category in _MEASURED and finding.name not in SETTLED)
    for same in _alike(measured):
        if same[0].name == "sex":
            for first, second in _pairs(same, lambda finding, other: finding.unit != other.unit):
                question = f"Both “{first.unit}” and “{second.unit}” were recorded. Which is right?"
                yield Contradiction(first.id, second.id, question)
            continue
        for first, second in _pairs([finding for finding in same if finding.value is not None], _differ):
            told = f"{first.name} {first.value:g} and {second.value:g} {second.unit or ''}".strip()
            yield Contradiction(first.id, second.id, f"Two values were recorded: {told}. Which is right?")


def _differ(first: Finding, second: Finding) -> bool:
    one, other = first.value or 0.0, second.value or 0.0
    if first.name in ("age", "pregnant"):
        return abs(one - other) > SAME_YEARS
    return abs(one - other) > SAME_SHARE * max(one, other)


def _impossible(findings: Sequence[Finding]) -> Iterator[Contradiction]:
    """A pregnancy beside a record that says male."""
    male = next((finding for finding in findings if finding.name == "sex" and finding.unit == "male"), None)
    pregnant = next(
        (finding for finding in findings if finding.name == "pregnant" and finding.polarity is Polarity.PRESENT), None
    )
    if male is not None and pregnant is not None:
        where = "The record says male" if male.by.value == "record" else "The sex was recorded as male"
        question = f"{where}, but a pregnancy was recorded. Correct the one that is wrong. Until then neither is used."
        yield Contradiction(male.id, pregnant.id, question)


def _taken_allergens(findings: Sequence[Finding]) -> Iterator[Contradiction]:
    """A medicine that is taken and that the patient is said to be allergic to."""
    held = [one for one in findings if one.polarity is Polarity.PRESENT and one.name != "any"]
    for allergy in (one for one in held if one.category is Category.ALLERGY):
        for taken in (one for one in held if one.category is Category.MEDICATION):
            if reacts(allergy.name, [other.name for other in medicines(taken.name)]) == "":
                question = (
                    f"The patient takes {taken.name}, but an allergy to {allergy.name} was recorded. Which is right? "
                    "Until one is corrected, both are used."
                )
                yield Contradiction(allergy.id, taken.id, question)


def _kidneys(findings: Sequence[Finding]) -> Iterator[Contradiction]:
    """An eGFR that is not the one of the stage of kidney disease, or of dialysis."""
    told = [one for one in findings if one.name == "eGFR" and one.value is not None]
    for egfr in told[-1:]:
        for one in findings:
            is_failing = "dialysis" in one.name and one.polarity is Polarity.PRESENT
            limits = (0.0, FAILING) if is_failing else egfr_by_stage(one)
            if limits is not None and egfr.value is not None and not limits[0] - 1 < egfr.value < limits[1] + 1:
                stage = one.words.text if one.words else one.name
                question = f"Both “{stage}” and an eGFR of {egfr.value:g} were recorded. Which is right?"
                yield Contradiction(one.id, egfr.id, question)


def _unlikely(findings: Sequence[Finding]) -> Iterator[Contradiction]:
    """A weight that nobody of this age has, as far as a table knows; where it is confirmed, it holds."""
    age = next((finding for finding in reversed(findings) if finding.name == "age" and finding.value is not None), None)
    weight = next(
        (finding for finding in reversed(findings) if finding.name == "weight" and finding.value is not None), None
    )
    if age is None or weight is None or weight.is_confirmed:
        return
    assert age.value is not None
    assert weight.value is not None
    for low, high, least, most in (tuple(map(float, row)) for row in rows("weights.tsv")):
        if low <= age.value < high and not least <= weight.value <= most:
            told = "low" if weight.value < least else "high"
            question = (
                f"A weight of {weight.value:g} kg is unusually {told} for an age of {age.value:.3g} years. Confirm the "
                "weight, or correct whichever is wrong. Until then no dose is calculated from the weight."
            )
            yield Contradiction(weight.id, weight.id, question)
