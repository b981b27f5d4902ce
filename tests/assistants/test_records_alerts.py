"""What somebody should look at is found in the facts, told calmly, and stays away once it was put away."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from citewell.app import App
from citewell.assistants.records.alerts import Alert, AlertKind, find_alerts
from citewell.errors import InputError, NotFound
from citewell.types.facts import (
    REPORTED,
    Allergy,
    FactOrigin,
    Flag,
    Ingredient,
    LabResult,
    Medication,
    MedicationStatus,
    Origin,
    PartialDate,
    RecordOwner,
    Severity,
    fact_id,
)
from citewell.vaults.health_record import Record

ASK = "Ask your doctor or pharmacist about it."


def medicine(name: str, dose: str | None = None, *, number: int = 1, **fields: object) -> Medication:
    status = fields.pop("status", MedicationStatus.ACTIVE)
    return Medication(
        id=fact_id("m", name, str(number)), origin=REPORTED, generic_name=name, dose=dose, status=status, **fields
    )


def allergy(name: str, **fields: object) -> Allergy:
    return Allergy(id=fact_id("a", name), origin=REPORTED, allergen=name, **fields)


def kinds(*facts: Allergy | Medication | LabResult) -> list[AlertKind]:
    return [alert.kind for alert in find_alerts(facts)]


@pytest.mark.parametrize(
    ("allergen", "given"),
    [
        ("Penicillin", "Amoxicillin"),
        ("penicillin V potassium", "co-amoxiclav"),
        ("Amoxicillin", "Amoxicillin 500"),
        ("Codeine", "Acetaminophen / HYDROcodone Bitartrate"),
        ("Aspirin", "Ibuprofen"),
        ("NSAIDs", "naproxen"),
        ("sulfa drugs", "Sulfamethoxazole / Trimethoprim"),
        ("Paracetamol", "Acetaminophen"),
        ("Latex", "latex"),
    ],
)
def test_an_allergy_against_a_medicine_is_found(allergen: str, given: str) -> None:
    assert kinds(allergy(allergen), medicine(given)) == [AlertKind.ALLERGY]


@pytest.mark.parametrize(
    ("allergen", "given"),
    [("Penicillin", "Erythromycin"), ("Aspirin", "Clopidogrel"), ("Peanut", "Atenolol"), ("Egg", "Eggplant cream")],
)
def test_other_medicines_are_left_in_peace(allergen: str, given: str) -> None:
    assert kinds(allergy(allergen), medicine(given)) == []


def test_only_what_holds_now_is_told() -> None:
    penicillin = allergy("Penicillin")
    assert kinds(penicillin, medicine("Amoxicillin", status=MedicationStatus.STOPPED)) == []
    assert kinds(penicillin, medicine("Amoxicillin", status=MedicationStatus.PAUSED)) == [AlertKind.ALLERGY]
    assert kinds(allergy("Penicillin", is_active=False), medicine("Amoxicillin")) == []


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (medicine("Warfarin", "5 mg"), medicine("Coumadin", "4 mg"), AlertKind.CONFLICTING_DOSE),
        (medicine("Metformin", "0.5 g"), medicine("Metformin hydrochloride", "500 mg"), AlertKind.DUPLICATE),
        (medicine("Warfarin", "5 mg"), medicine("Warfarin", None, number=2), AlertKind.DUPLICATE),
        (
            medicine(
                "Acetaminophen / HYDROcodone", ingredients=(Ingredient("Acetaminophen"), Ingredient("HYDROcodone"))
            ),
            medicine("Paracetamol", "1 g"),
            AlertKind.DUPLICATE,
        ),
    ],
)
def test_doses_that_differ_and_doubles_are_found(one: Medication, other: Medication, kind: AlertKind) -> None:
    assert kinds(one, other) == kinds(other, one) == [kind]


def test_two_different_medicines_are_no_double() -> None:
    assert kinds(medicine("Warfarin", "5 mg"), medicine("Atenolol", "25 mg"), medicine("Unknownium", "1 mg")) == []


def test_alerts_speak_calmly_of_the_record_and_name_their_facts() -> None:
    penicillin = allergy("Penicillin", reaction="rash", severity=Severity.SEVERE)
    amoxicillin, warfarin, coumadin = (
        medicine("Amoxicillin"),
        medicine("Warfarin", "5 mg"),
        medicine("Coumadin", "4 mg"),
    )
    inr = LabResult(
        id="inr",
        origin=REPORTED,
        test_name="INR",
        value=9.1,
        flag=Flag.CRITICAL_HIGH,
        collected=PartialDate("2024-05-01"),
    )
    found = find_alerts([coumadin, warfarin, inr, amoxicillin, penicillin])
    doses = " and ".join(one.dose or "" for one in sorted([warfarin, coumadin], key=lambda one: one.id))
    first = min([warfarin, coumadin], key=lambda one: one.id).generic_name
    assert [alert.text for alert in found] == [
        f"Your record lists a severe allergy to Penicillin (rash), and Amoxicillin among your medicines. "
        f"Both are penicillins. {ASK}",
        f"Your record marks INR of 1 May 2024 as critically high: 9.1. {ASK}",
        f"Your record has two current doses of {first}: {doses}. {ASK}",
    ]
    assert [set(alert.fact_ids) for alert in found] == [
        {penicillin.id, amoxicillin.id},
        {"inr"},
        {warfarin.id, coumadin.id},
    ]


@pytest.fixture
def record(app: App) -> Record:
    return Record(app)


def test_a_dismissed_alert_stays_away_until_the_doses_change(record: Record) -> None:
    record.add("medication", {"generic_name": "Warfarin", "dose": "5 mg"})
    other = record.add("medication", {"generic_name": "Coumadin", "dose": "4 mg"})
    (alert,) = record.alerts()
    assert isinstance(alert, Alert)
    assert record.dismiss(alert.id[:12], why="the second is the old one") == alert
    assert (record.alerts(), record.alerts(with_dismissed=True)) == ([], [alert])
    record.facts.correct(other.id, {"dose": "3 mg"}, record.scope)
    (new,) = record.alerts()
    assert new.id != alert.id
    record.facts.correct(other.id, {"status": "stopped"}, record.scope)
    assert record.alerts() == []


@pytest.mark.parametrize("alert_id", ["", "00000000", "not an id"])
def test_an_alert_that_is_not_there_cannot_be_dismissed(record: Record, alert_id: str) -> None:
    with pytest.raises(NotFound):
        record.dismiss(alert_id, why="")


def test_what_a_person_adds_is_theirs_and_checked(record: Record) -> None:
    fact = record.add("symptom", {"specific": "headache", "severity": 3, "recorded": "2024-02-01", "onset": None})
    assert (fact.origin.via, fact.is_verified) == (FactOrigin.PATIENT, True)
    assert record.facts.all(record.scope, kind="symptom") == [fact]
    for kind, fields in (
        ("symptom", {"specific": "headache", "severity": 9, "recorded": "2024-02-01"}),
        ("symptom", {"specific": "headache"}),
        ("allergy", {"allergen": "Latex", "severity": "awful"}),
        ("result", {"test_name": "INR"}),
    ):
        with pytest.raises(InputError):
            record.add(kind, fields)
    assert record.facts.all(record.scope) == [fact]


def test_a_newest_result_that_no_laboratory_marked_is_held_against_our_own_limits() -> None:
    def potassium(value: float, day: str, **fields: object) -> LabResult:
        made = {"unit": "mmol/L", "test_name": "Potassium", **fields}
        return LabResult(id=fact_id("k", day), origin=REPORTED, value=value, collected=PartialDate(day), **made)

    high = potassium(6.9, "2024-05-03")
    (found,) = find_alerts([potassium(4.1, "2023-01-01"), high])
    assert (found.kind, found.fact_ids) == (AlertKind.CRITICAL_RESULT, (high.id,))
    assert found.text == (
        f"Laboratories usually call the doctor about a value such as Potassium of 3 May 2024: 6.9 mmol/L. {ASK}"
    )
    child = RecordOwner(id="p", origin=REPORTED, name="Ann", born=PartialDate("2020-01-01"))
    assert find_alerts([high, child]) == []
    assert find_alerts([high, potassium(4.1, "2024-05-04")]) == []  # the newest counts
    assert find_alerts([potassium(6.9, "2024-05-03", flag=Flag.NORMAL)]) == []  # the laboratory knows better
    (marked,) = find_alerts([potassium(6.9, "2024-05-03", flag=Flag.HIGH)])  # “high” does not say how high
    assert marked.kind is AlertKind.CRITICAL_RESULT
    assert find_alerts([potassium(6.9, "2024-05-03", unit="g")]) == []
    assert find_alerts([potassium(90.0, "2024-05-03", test_name="Potassium in urine")]) == []


@pytest.mark.parametrize(
    ("test", "unit", "calm", "critical"),
    [
        ("Sodium [Moles/volume] in Serum or Plasma", "mmol/L", 138, 118),
        ("Glucose", "mmol/L", 5.4, 1.9),
        ("Glucose [Mass/volume] in Blood", "mg/dL", 99, 512),
        ("Hämoglobin", "g/dl", 13.1, 6.2),
        ("Hemoglobin [Mass/volume] in Blood", "g/L", 131, 62),
        ("INR", "", 2.4, 7.1),
        ("Platelets [#/volume] in Blood by Automated count", "10*3/uL", 210, 12),
        ("Thrombozyten", "10^9/l", 210, 12),
        ("White blood cell count", "x10^9/L", 7, 0.9),
        ("Neutrophils", "10⁹/L", 3, 0.2),
        ("Creatinine", "μmol/L", 88, 812),
        ("Glomerular filtration rate/1.73 sq M.predicted", "mL/min/{1.73_m2}", 16, 9),
        ("eGFR (CKD-EPI)", "mL/min", 90, 14),
        ("Calcium", "mmol/L", 2.3, 3.6),
        ("Troponin T", "ng/L", 9, 480),
        ("Troponin I", "ng/mL", 0.01, 3.1),
        ("Urea", "mmol/L", 6, 44),
        ("Urea nitrogen", "mg/dL", 16, 120),
        ("Magnesium", "mmol/L", 0.8, 0.3),
        ("Phosphate", "mmol/L", 1.1, 0.2),
        ("Lactate", "mmol/L", 1.2, 7),
        ("Alanine aminotransferase", "U/L", 34, 2400),
        ("Lithium", "mmol/L", 0.8, 2.3),
        ("C-reactive protein", "mg/L", 4, 388),
    ],
)
def test_common_tests_have_a_limit_of_their_own(test: str, unit: str, calm: float, critical: float) -> None:
    def found(value: float) -> list[AlertKind]:
        return kinds(LabResult(id="r", origin=REPORTED, test_name=test, unit=unit, value=value))

    assert (found(calm), found(critical)) == ([], [AlertKind.CRITICAL_RESULT])


@pytest.mark.parametrize(
    ("test", "unit", "value"),
    [
        ("Hemoglobin A1c/Hemoglobin.total in Blood", "%", 6.1),
        ("Creatinine [Mass/volume] in Urine", "mg/dL", 90),
        ("Creatinine clearance", "mL/min", 80),
        ("Lactate dehydrogenase", "U/L", 200),
        ("Platelet mean volume [Entitic volume]", "fL", 11),
        ("Neutrophils/100 leukocytes in Blood", "%", 0.3),
    ],
)
def test_a_test_of_nearly_the_same_name_is_left_in_peace(test: str, unit: str, value: float) -> None:
    assert kinds(LabResult(id="r", origin=REPORTED, test_name=test, unit=unit, value=value)) == []


def test_a_result_that_nobody_has_confirmed_is_told_as_such() -> None:
    read = Origin(FactOrigin.DOCUMENT, "paper", 0, 20)
    proposed = LabResult(id="k", origin=read, test_name="Potassium", unit="mmol/L", value=6.9, is_verified=False)
    (found,) = find_alerts([proposed])
    assert found.text == (
        "Laboratories usually call the doctor about a value such as Potassium: 6.9 mmol/L. This was read from a "
        f"document and is not confirmed yet. Compare it with the document. {ASK}"
    )


def _paper(app: App, record: Record, text: str, name: str = "letter.txt") -> None:
    path = app.settings.home / name
    path.write_text(text, "utf-8")
    record.import_file(path)


def test_a_critical_value_that_stands_in_a_paper_alone_is_told_calmly_with_its_place(app: App, record: Record) -> None:
    letter = (
        "Riverside Practice, 12 October 2024\n\nYour potassium was 6.6 mmol/L on 8 October 2024. Sodium 139 mmol/L."
    )
    _paper(app, record, letter)
    (found,) = record.alerts()
    assert found.text == (
        f"Your document “{record.papers()[0][0].title}” says “potassium was 6.6 mmol/L” (8 October 2024). Laboratories "
        "usually call the doctor about such a value. It was read from the document automatically and is not confirmed. "
        "Compare it with the document. " + ASK
    )
    (at,) = found.quotes
    shown = record._app.show(at.document_id)[1].text[at.start : at.end]
    assert (found.fact_ids, shown.rstrip(".")) == ((), "potassium was 6.6 mmol/L")
    record.dismiss(found.id, why="repeated, was 4.4")
    assert record.alerts() == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Call us if your potassium is above 6.5 mmol/L.",
        "If the INR is 6 or more, call us.",
        "Target INR 2-3.",
        "Potassium (3.5-5.1 mmol/L) 4.4 mmol/L",
        "Your mother had a potassium of 7.1 mmol/L.",
        "Potassium, sodium 138 mmol/L",
        "Urine sodium 20 mmol/L",
        "Haemoglobin 118 g/L (130-170)",
        "HbA1c 48 mmol/mol",
        "Glucose 5,2 mmol/l",
        "Platelets 210 x10^9/L, bed 12",
    ],
)
def test_what_only_looks_like_a_critical_value_in_a_paper_is_none(app: App, record: Record, sentence: str) -> None:
    _paper(app, record, f"{sentence}\n")
    assert record.alerts() == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Kalium 6,9 mmol/l",
        "Potassium    6.9 H   mmol/L   3.5 - 5.1",
        "K+ 6.9 mmol/L",
        "Platelets: 11 x 10^9/L",
        "Hb 58 g/L",
        "Your eGFR has fallen to 11 mL/min/1.73 m2.",
        "INR 8.2",
        "Troponin T 310 ng/L",
    ],
)
def test_a_critical_value_is_read_as_papers_write_it(app: App, record: Record, sentence: str) -> None:
    _paper(app, record, f"{sentence}\n")
    assert [one.kind for one in record.alerts()] == [AlertKind.CRITICAL_RESULT]


def test_a_newer_result_speaks_for_an_older_paper(app: App, record: Record) -> None:
    _paper(app, record, "12 October 2024\n\nPotassium 6.6 mmol/L.")
    origin = REPORTED
    later = LabResult(
        id="k", origin=origin, test_name="Potassium", unit="mmol/L", value=4.4, collected=PartialDate("2024-10-14")
    )
    record.facts.put([later], scope=record.scope)
    assert record.alerts() == []


def test_a_test_that_is_missing_beside_a_medicine_is_told_as_a_gap() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    warfarin = medicine("Warfarin", "5 mg", start=PartialDate("2020-01-01"))
    (found,) = find_alerts([warfarin], now=now)
    assert (found.kind, found.fact_ids) == (AlertKind.GAP, (warfarin.id,))
    assert "and it has no INR." in found.text
    old = LabResult(id="i1", origin=REPORTED, test_name="INR", value=2.5, collected=PartialDate("2025-03-01"))
    (later,) = find_alerts([warfarin, old], now=now)
    assert "its latest INR is from 1 March 2025." in later.text
    assert later.id != found.id  # another state of things: a dismissed one comes back
    new = LabResult(id="i2", origin=REPORTED, test_name="INR", value=2.5, collected=PartialDate("2025-12-01"))
    assert find_alerts([warfarin, old, new], now=now) == []
    assert find_alerts([medicine("Warfarin", "5 mg", start=PartialDate("2025-12-20"))], now=now) == []
    assert find_alerts([medicine("Warfarin", "5 mg", status=MedicationStatus.STOPPED)], now=now) == []
