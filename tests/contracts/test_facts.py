"""What every store of facts does, in a plain file and in an encrypted one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.records.facts import SqlFacts
from citewell.adapters.store.library import SqlLibrary
from citewell.adapters.vault.cipher import keyed
from citewell.adapters.vault.keys import VaultKey
from citewell.errors import InputError, NotFound, ScopeRefused
from citewell.ports.records import FactCounts
from citewell.types import Scope
from citewell.types.facts import (
    KINDS,
    REPORTED,
    Allergy,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    DoseChange,
    Fact,
    Flag,
    Ingredient,
    LabResult,
    Medication,
    MedicationStatus,
    PartialDate,
    Procedure,
    Professional,
    RecordOwner,
    Referral,
    ResultPart,
    Severity,
    Symptom,
    TaperStep,
    Vaccination,
    VisitStatus,
    fact_id,
)
from citewell.types.facts_json import fact_json, read_fact
from citewell.types.facts_line import line_of

MINE, OTHER = Scope.owner("me"), Scope.owner("somebody-else")


def made(kind: type[Fact], number: int = 1, **fields: object) -> Fact:
    return kind(id=fact_id(kind.kind, str(number)), origin=REPORTED, **fields)


WARFARIN = made(
    Medication,
    generic_name="Warfarin sodium",
    brand_name="Coumadin",
    dose="5 mg",
    start=PartialDate("2015-03"),
    dose_changes=(DoseChange("4 mg", PartialDate("2016"), "bruises"),),
    ingredients=(Ingredient("Warfarin", "5 mg"),),
)
PREDNISOLONE = made(
    Medication,
    2,
    generic_name="Prednisolone",
    status=MedicationStatus.STOPPED,
    start=PartialDate("2014-01-01"),
    taper=(TaperStep("30 mg", 5), TaperStep("20 mg", 5)),
)
PENICILLIN = made(Allergy, allergen="Penicillin", reaction="rash", severity=Severity.SEVERE)
LATEX = made(Allergy, 2, allergen="Latex", is_active=False)
INR = [
    made(
        LabResult,
        number,
        test_name="INR",
        code="34714-6",
        value=value,
        collected=PartialDate(f"202{number}-05-01"),
        flag=flag,
    )
    for number, value, flag in ((1, 2.4, Flag.NORMAL), (2, 9.1, Flag.CRITICAL_HIGH), (3, 2.6, None))
]
PRESSURE = made(
    LabResult,
    9,
    test_name="Blood Pressure",
    collected=PartialDate("2019-05-01T10:00:00+02:00"),
    parts=(
        ResultPart("Systolic Blood Pressure", "8480-6", 125.0, None, "mm[Hg]"),
        ResultPart("Diastolic Blood Pressure"),
    ),
)
HEADACHE = made(Symptom, specific="headache", severity=3, recorded=PartialDate("2024-02-01"), medication_id=WARFARIN.id)
OTHERS = [
    made(RecordOwner, name="Ann", born=PartialDate("1950-02-03"), sex="female"),
    made(Professional, name="Dr. Chen", specialty="cardiology"),
    made(Diagnosis, name="Atrial fibrillation", status=DiagnosisStatus.ACTIVE, dated=PartialDate("2015")),
    made(Procedure, name="Cardioversion", performed=PartialDate("2015-04-01")),
    made(Vaccination, name="Influenza", given=PartialDate("2023-10-01")),
    made(Appointment, name="Check up", at=PartialDate("2030-01-01"), status=VisitStatus.PLANNED),
    made(Referral, name="Eye clinic", status=VisitStatus.PLANNED, to="Dr. Iris"),
]
ALL = [WARFARIN, PREDNISOLONE, PENICILLIN, LATEX, *INR, PRESSURE, HEADACHE, *OTHERS]


@pytest.fixture(params=["plain", "encrypted"])
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlLibrary]:
    drivers = [keyed(VaultKey.new())] if request.param == "encrypted" else []
    opened = SqlLibrary(tmp_path / "library.sqlite", *drivers)
    yield opened
    opened.close()


@pytest.fixture
def facts(library: SqlLibrary) -> SqlFacts:
    store = SqlFacts(library.engine, library.path)
    assert store.put(ALL, scope=MINE) == FactCounts(added=len(ALL))
    return store


def names(found: list[Fact]) -> list[str]:
    return [fact.id for fact in found]


def test_every_kind_comes_back_as_it_was_put(facts: SqlFacts) -> None:
    assert {fact.kind for fact in ALL} == set(KINDS)
    found = {fact.id: fact for fact in facts.all(MINE)}
    assert {one: fact_json(fact) for one, fact in found.items()} == {fact.id: fact_json(fact) for fact in ALL}
    assert facts.all(MINE, kind="allergy") == sorted([PENICILLIN, LATEX], key=lambda fact: fact.id)


def test_putting_the_same_again_changes_nothing(facts: SqlFacts) -> None:
    assert facts.put(ALL, scope=MINE) == FactCounts(same=len(ALL))


def test_looking_up(facts: SqlFacts) -> None:
    assert names(facts.latest_results(MINE)) == [INR[2].id, PRESSURE.id]
    assert facts.trend("inr", MINE) == facts.trend("34714-6", MINE) == INR
    assert facts.critical_results(MINE) == [INR[1]]


def test_the_trend_of_a_part_is_that_part(facts: SqlFacts) -> None:
    (systolic,) = facts.trend("systolic blood pressure", MINE)
    assert (systolic.id, systolic.test_name, systolic.value, systolic.unit, systolic.parts) == (
        PRESSURE.id,
        "Systolic Blood Pressure",
        125.0,
        "mm[Hg]",
        (),
    )
    assert facts.trend("blood pressure", MINE) == [PRESSURE]


def test_nobody_else_sees_or_changes_them(facts: SqlFacts) -> None:
    assert (facts.all(OTHER), facts.latest_results(OTHER), facts.dismissed(OTHER)) == ([], [], frozenset())
    for act in (facts.one, facts.confirm, facts.reject, facts.find):
        with pytest.raises(NotFound):
            act(WARFARIN.id, OTHER)
    with pytest.raises(NotFound):
        facts.correct(WARFARIN.id, {"dose": "1 mg"}, OTHER)
    with pytest.raises(NotFound):
        facts.all(Scope("me", frozenset({"public"}), None, None))
    for tenant in ("", "*"):
        with pytest.raises(ScopeRefused):
            facts.all(Scope.owner(tenant))
    assert facts.put([WARFARIN], scope=OTHER) == FactCounts(added=1)  # the same id in another record is another fact
    facts.reject(WARFARIN.id, OTHER)
    assert facts.one(WARFARIN.id, MINE) == WARFARIN


def test_other_words_about_what_a_person_told_wait_beside_it(facts: SqlFacts) -> None:
    other = replace(WARFARIN, dose="6 mg")
    assert facts.unknown([WARFARIN, other], MINE) == [other]
    assert [facts.put([other], scope=MINE) for _ in range(2)] == [FactCounts(added=1), FactCounts(same=1)]
    assert facts.one(WARFARIN.id, MINE) == WARFARIN
    (waits,) = facts.unverified(MINE)
    assert waits == replace(other, id=waits.id, is_verified=False)
    facts.reject(waits.id, MINE)
    assert (facts.put([other], scope=MINE), facts.unverified(MINE)) == (FactCounts(same=1), [])
    assert facts.put([replace(OTHERS[0], name="Anne")], scope=MINE) == FactCounts(
        same=1
    )  # a record is about one person


def test_what_a_person_corrected_or_rejected_stays_so(facts: SqlFacts) -> None:
    assert facts.correct(WARFARIN.id, {"dose": "3 mg", "brand_name": None}, MINE) == replace(
        WARFARIN, dose="3 mg", brand_name=None
    )
    facts.reject(LATEX.id, MINE)
    facts.put(ALL, scope=MINE)
    facts.put([replace(WARFARIN, dose="6 mg"), replace(LATEX, is_active=True)], scope=MINE)
    kept = facts.one(WARFARIN.id, MINE)
    assert isinstance(kept, Medication)
    assert (kept.dose, kept.brand_name) == ("3 mg", None)
    with pytest.raises(NotFound):
        facts.one(LATEX.id, MINE)
    assert LATEX.id not in names(facts.all(MINE))


def test_the_review_list_empties_as_a_person_decides(facts: SqlFacts) -> None:
    guessed = [replace(INR[0], id=fact_id("guess", str(number)), is_verified=False) for number in range(3)]
    facts.put(guessed, scope=MINE)
    assert sorted(names(facts.unverified(MINE))) == sorted(names(guessed))
    assert facts.confirm(guessed[0].id, MINE).is_verified
    assert facts.correct(guessed[1].id, {"value": 2.5}, MINE).is_verified
    facts.reject(guessed[2].id, MINE)
    assert facts.unverified(MINE) == []
    facts.put(guessed, scope=MINE)  # read in again, they are not asked about again
    assert facts.unverified(MINE) == []


@pytest.mark.parametrize(
    "told",
    [
        {"status": "maybe"},
        {"dose": 5},
        {"start": "last spring"},
        {"colour": "white"},
        {"generic_name": None},
        {"id": "x"},
        {"origin": {"via": "patient_reported"}},
        {"ingredients": "aspirin"},
        {"over_the_counter": 1},
    ],
)
def test_a_correction_that_does_not_fit_is_refused(facts: SqlFacts, told: dict[str, object]) -> None:
    with pytest.raises(InputError):
        facts.correct(WARFARIN.id, told, MINE)
    assert facts.one(WARFARIN.id, MINE) == WARFARIN


def test_ids_are_found_by_their_beginning(facts: SqlFacts) -> None:
    assert facts.find(WARFARIN.id[:8], MINE) == WARFARIN.id
    for prefix in ("", "zzz"):
        with pytest.raises((NotFound, InputError)):
            facts.find(prefix, MINE)


def test_a_dismissed_alert_stays_dismissed(facts: SqlFacts) -> None:
    for why in ("known", "known, said twice"):
        facts.dismiss("an-alert", why=why, by="owner", scope=MINE)
    assert facts.dismissed(MINE) == {"an-alert"}


@pytest.mark.parametrize("fact", ALL, ids=lambda fact: fact.kind)
def test_every_fact_has_a_line_that_names_it(fact: Fact) -> None:
    name = next(
        getattr(fact, field)
        for field in ("name", "generic_name", "test_name", "allergen", "specific")
        if hasattr(fact, field)
    )
    assert line_of(fact).startswith(name)
    assert "None" not in line_of(fact)


@given(
    st.sampled_from(ALL),
    st.sampled_from(["kind", "id", "origin", "status", "severity", "extra"]),
    st.text() | st.integers() | st.none(),
)
def test_json_is_read_back_whole_or_refused(fact: Fact, field: str, value: object) -> None:
    assert read_fact(fact_json(fact)) == fact
    try:
        read = read_fact({**fact_json(fact), field: value})
    except InputError:
        return
    assert fact_json(read) == {
        name: held for name, held in {**fact_json(fact), field: value}.items() if held is not None
    }


@pytest.mark.parametrize("text", ["", "yesterday", "2015-13", "2015-02-30", "2015-03-12T04:46:42", "15"])
def test_a_date_is_exact_about_what_it_knows_or_refused(text: str) -> None:
    with pytest.raises(InputError):
        PartialDate(text)


def test_how_bad_a_symptom_is_goes_from_one_to_five() -> None:
    for severity in (0, 6):
        with pytest.raises(InputError):
            made(Symptom, specific="pain", severity=severity, recorded=PartialDate("2024"))
