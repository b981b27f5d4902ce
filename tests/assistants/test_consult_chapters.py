"""Plans from chapters: whole lines, the row of this patient, warnings; and the lines that the clinician changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.app import App
from citewell.assistants.consult.service import ConsultService
from citewell.consult_export import exported
from citewell.errors import InputError, NotFound
from citewell.types import Source, User
from tests.assistants.consult_library import ADA, with_guidelines

pytestmark = pytest.mark.slow

CHAPTER = """BRONCHITIS
Introduction
An inflammation of the large airways, written for tests.

CLINICAL FEATURES OF BRONCHITIS
• Cough
• Wheezing
• Fever

INVESTIGATIONS OF BRONCHITIS
• Chest radiograph
• Full blood count

TREATMENT OF BRONCHITIS
Treatment Goals
• Relieve symptoms
Drug Treatment
• Antibiotics
- Amoxicillin
- Adult: 500 mg orally 8 hourly for 5 days
- Child
- 6 - 12 years: 250 mg 8 hourly
- 1 - 5 years: 125 mg 8 hourly
• Bronchodilators
- Nebulised salbutamol: 50 micrograms/kg every 6 hours
• Theophylline
- 200 mg twice daily
Supportive Measures
• Warm fluids
• Rest
Notable Adverse Drug Reactions, Contraindications and Caution
• Theophylline
- Avoid in elderly or in patients with epilepsy
• Avoid ibuprofen in bronchitis

Prevention
• Stop smoking
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[App]:
    with with_guidelines(tmp_path_factory.mktemp("chapters"), embedder) as made:
        made.add_source(Source(CHAPTER.encode(), "bronchitis.txt"))
        yield made


@pytest.fixture
def service(app: App) -> ConsultService:
    return app.consult.service


@pytest.fixture
def asker(app: App) -> User:
    return User.owner(app.scope_of_owner())


def drafted(service: ConsultService, asker: User, story: str, *conditions: str) -> Any:
    consult_id = service.start(asker).consult.id
    service.say(consult_id, story, asker)
    service.acknowledge(consult_id, asker)
    service.differentials(consult_id, [(one, "high") for one in conditions], asker, despite="a test")
    return service.assess(consult_id, asker).consult


def test_each_dose_stands_with_its_medicine_and_only_the_row_of_this_patient_is_taken(
    service: ConsultService, asker: User, app: App
) -> None:
    consult = drafted(service, asker, "Boy aged 4, 16 kg, cough for 3 days. No allergies. No medicines.", "Bronchitis")
    (diagnosis,) = consult.plan["diagnoses"]
    told = {one["text"]: one for one in diagnosis["offered"]}
    assert "Antibiotics: Amoxicillin: Child: 1 - 5 years: 125 mg 8 hourly" in told
    assert not any("500 mg" in text or "6 - 12 years" in text for text in told)
    salbutamol = next(one for text, one in told.items() if "salbutamol" in text)
    assert [dose["arithmetic"] for dose in salbutamol["doses"]] == ["50 micrograms/kg × 16 kg = 800 micrograms"]
    theophylline = next(one for text, one in told.items() if "Theophylline" in text)
    assert "200 mg" not in theophylline["text"]
    assert any("without an age or weight" in one for one in theophylline["reservations"])
    assert diagnosis["offered"][0]["role"] == "investigate"
    assert {one["place"]["document"] for one in diagnosis["offered"]} == {"BRONCHITIS"}
    left = {one["words"]: one["reason"] for one in diagnosis["left_out"]}
    assert left["Antibiotics: Amoxicillin: Adult: 500 mg orally 8 hourly for 5 days"] == "for adults; the patient is 4"
    for one in diagnosis["offered"]:
        place = one["place"]
        assert app.show(place["document_id"])[1].text[place["start"] : place["end"]] == place["quote"]


def test_what_the_guideline_warns_of_is_held_against_the_patient_and_their_medicines(
    service: ConsultService, asker: User
) -> None:
    story = "82-year-old woman, cough for 3 days, 60 kg. Takes ibuprofen. Allergic to penicillin."
    consult = drafted(service, asker, story, "Bronchitis")
    (diagnosis,) = consult.plan["diagnoses"]
    held = {one["text"]: [told["text"] for told in one["conflicts"]] for one in diagnosis["held_back"]}
    assert any("Amoxicillin" in text for text in held)
    theophylline = next(why for text, why in held.items() if "Theophylline" in text)
    assert any("Avoid in elderly" in one and "The patient is 82" in one for one in theophylline)
    warned = {told["kind"]: told for told in consult.plan["warnings"]}
    assert warned["current_medicine"]["medicine"] == "ibuprofen"
    text = exported(service.look(consult.id, asker), "txt").decode()
    assert "The patient takes ibuprofen. The guideline advises against it" in text


def test_a_medicine_taken_that_is_not_for_pregnancy_is_warned_of_whatever_the_plan_is(
    service: ConsultService, asker: User
) -> None:
    story = "30-year-old woman, 9 weeks pregnant, cough for 2 days. Takes ramipril. No known allergies."
    consult = drafted(service, asker, story, "Bronchitis")
    assert ("pregnancy", "ramipril", True) in {
        (told["kind"], told["medicine"], told["is_grave"]) for told in consult.plan["warnings"]
    }


def test_a_diagnosis_that_no_guideline_is_on_gets_nothing_and_says_what_was_looked_at(
    service: ConsultService, asker: User
) -> None:
    consult = drafted(service, asker, "40-year-old man, cough for 2 days. No medicines. No allergies.", "Gout")
    (diagnosis,) = consult.plan["diagnoses"]
    assert (diagnosis["is_found"], diagnosis["offered"], diagnosis["held_back"]) == (False, [], [])
    assert diagnosis["said"].startswith("No guideline found for Gout: none of the 3 documents")
    assert {one["document"] for one in diagnosis["left_out"]} >= {"BRONCHITIS"}
    with pytest.raises(InputError, match="The plan is empty"):
        service.sign(consult.id, ADA, asker)
    signed = service.sign(consult.id, ADA, asker, despite="discussed by phone").consult
    assert signed.signed_though == "Signed despite an empty plan. Reason given: discussed by phone"


def test_the_clinician_adds_takes_out_puts_back_and_moves_lines_and_every_view_has_them_so(
    service: ConsultService, asker: User
) -> None:
    story = "40-year-old man, cough for 2 days, 80 kg. No medicines. Allergic to codeine."
    consult = drafted(service, asker, story, "Bronchitis")
    first = service.add(consult.id, 1, "Ring on Friday.", asker, why="lives alone").consult
    assert first.own[0]["conflicts"] == []
    service.move(consult.id, "1.own1", asker, before="1.1")
    service.remove(consult.id, "1.1", asker, why="done last week")
    turn = service.look(consult.id, asker)
    text = exported(turn, "txt").decode()
    plan = text[text.index("PLAN") :]
    assert plan.index("Ring on Friday.") < plan.index("1.2 ")
    assert "clinician's own line: lives alone" in plan
    assert "removed by the clinician: Chest radiograph; Full blood count (done last week)" in plan
    assert "Removed by the clinician: Chest radiograph" in exported(turn, "json").decode()
    assert "1.1 Chest radiograph" not in plan
    back = service.restore(consult.id, "1.1", asker)
    assert "1.1 Chest radiograph" in exported(back, "txt").decode()
    grave = service.add(consult.id, 1, "Give codeine 30 mg.", asker).consult
    assert any("allergic to codeine" in told for _, told in grave.grave())
    with pytest.raises(InputError, match="allergic to codeine"):
        service.sign(consult.id, ADA, asker)
    service.remove(consult.id, "1.own2", asker)
    signed = service.sign(consult.id, ADA, asker).consult
    assert [line["text"] for line in signed.own] == ["Ring on Friday.", "Give codeine 30 mg."]
    with pytest.raises(InputError):
        service.add(consult.id, 1, "Too late.", asker)


def test_a_line_that_is_not_there_or_of_another_diagnosis_changes_nothing(service: ConsultService, asker: User) -> None:
    story = "40-year-old man, cough and fever for 2 days. No medicines. No allergies."
    consult = drafted(service, asker, story, "Bronchitis", "Malaria")
    for wrong in (
        lambda: service.add(consult.id, 3, "Rest.", asker),
        lambda: service.add(consult.id, 1, "  ", asker),
        lambda: service.move(consult.id, "1.1", asker, before="2.1"),
        lambda: service.remove(consult.id, "1.99", asker),
    ):
        with pytest.raises((InputError, NotFound)):
            wrong()
    assert service.look(consult.id, asker).consult == consult


@pytest.mark.parametrize(
    ("note", "who"),
    [
        ("Mr, 34 yrs, cough for 3 days.", (34, "male", None)),
        ("Bob, 56. Cough for 3 days.", (56, None, None)),
        ("Jayden 5 yrs 18kg. Cough for 3 days.", (5, None, None)),
        ("F/45, cough for 3 days", (45, "female", None)),
        ("29yo F, cough for 3 days", (29, "female", None)),
        ("27 y/o G2P1, 28 weeks. Cough for 3 days.", (27, "female", 28)),
        ("Smoker 20 yrs. Cough for 3 weeks.", (None, None, None)),
        ("Child: Aarav, 8 yr M, 24 kg. Fever 4 days up to 103F.", (8, "male", None)),
        ("Mrs Rao 46 yrs/F, cough.", (46, "female", None)),
        ("Fever up to 103F for 4 days.", (None, None, None)),
    ],
)
def test_who_a_note_is_about_is_read_from_how_it_opens(
    service: ConsultService, asker: User, note: str, who: tuple[int | None, str | None, int | None]
) -> None:
    from citewell.assistants.consult.view import turn_json

    consult_id = service.start(asker).consult.id
    patient = turn_json(service.say(consult_id, note, asker))["patient"]
    assert (patient["age_years"], patient["sex"], patient["pregnancy_weeks"]) == who


@pytest.mark.parametrize(
    ("note", "allergen", "taken"),
    [
        ("ALLERGY: Flagyl - lips swelled last year. Takes ramipril.", "metronidazole", "ramipril"),
        ("Mr K, 70 kg. ALLERGY: Disprin in 2016 -> lip swelling. Takes ramipril.", "aspirin", "ramipril"),
    ],
)
def test_an_allergy_under_its_heading_is_one_whenever_it_showed_itself(
    service: ConsultService, asker: User, note: str, allergen: str, taken: str
) -> None:
    consult_id = service.start(asker).consult.id
    said = service.say(consult_id, note, asker).consult
    assert {(one.category.value, one.name, one.polarity.value) for one in said.findings} >= {
        ("allergy", allergen, "present"),
        ("medication", taken, "present"),
    }


@pytest.mark.parametrize(
    ("note", "status"),
    [
        ("Malaria RDT neg.", "absent"),
        ("HIV test negative today.", "absent"),
        ("Malaria film +ve.", "present"),
        ("Dengue NS1: positive.", "present"),
    ],
)
def test_a_test_named_after_an_illness_tells_it_by_its_result(
    service: ConsultService, asker: User, note: str, status: str
) -> None:
    consult_id = service.start(asker).consult.id
    said = service.say(consult_id, f"30 M, fever. {note}", asker).consult
    assert status in {one.polarity.value for one in said.findings if one.name.split()[0].casefold() in note.casefold()}


@pytest.mark.parametrize("diagnosis", ["Wear and tear of the airways", "Ingrown toenail"])
def test_the_closest_title_is_named_where_no_guideline_is_found(
    service: ConsultService, asker: User, diagnosis: str
) -> None:
    plan = drafted(service, asker, "40-year-old man, cough. No medicines. No allergies.", diagnosis).plan
    assert not plan["diagnoses"][0]["offered"]
    assert "The closest title is “" in plan["diagnoses"][0]["said"]


def test_findings_speak_for_each_diagnosis_by_its_own_features_and_what_would_tell_them_apart_is_asked(
    service: ConsultService, asker: User
) -> None:
    consult_id = service.start(asker).consult.id
    story = "40-year-old man, cough for 2 days, no fever. No medicines. No allergies. BP 120/80."
    service.say(consult_id, story, asker)
    entered = [("Bronchitis", "high"), ("Malaria", "low")]
    told = service.differentials(consult_id, entered, asker, despite="a test").consult.differentials
    bronchitis, malaria = told
    assert [one.name for one in bronchitis.supports] == ["Cough"]
    assert "Fever" in [one.name for one in malaria.opposes]
    assert "wheezing" in bronchitis.ask
    asked = []
    turn = service.look(consult_id, asker)
    while turn.question is not None and turn.question.key != "features":
        asked.append(turn.question.key)
        turn = service.say(consult_id, "I don't know", asker)
    assert turn.question is not None
    assert turn.question.text.startswith("To tell whether it is bronchitis")
    assert "wheezing" in turn.question.text
    after = service.say(consult_id, "no", asker)
    assert "wheeze" in {one.name.casefold() for one in after.consult.findings if one.polarity.value == "absent"}
    assert after.question is None or after.question.key != "features"


def test_a_medicine_that_somebody_gave_the_patient_is_one_that_they_take(service: ConsultService, asker: User) -> None:
    consult_id = service.start(asker).consult.id
    said = service.say(consult_id, "Girl 5 yrs, 17 kg, fever for 2 days. Mum gave her aspirin.", asker).consult
    assert ("medication", "aspirin", "present") in {
        (one.category.value, one.name, one.polarity.value) for one in said.findings
    }


STATED = """# WHO guideline on marsh fever

## Recommendations for patients with non-severe disease

WHO suggests measured oral fluids in patients with non-severe marsh fever. [Conditional recommendation, low certainty]

WHO recommends paracetamol for fever in patients with non-severe marsh fever. [Strong recommendation, low certainty]

WHO recommends against the use of NSAIDs in patients with marsh fever. [Strong recommendation, low certainty]

### Paracetamol

#### Dosing

Adults: 500 mg paracetamol every 6 hours.

Children: 15 mg/kg paracetamol every 6 hours.

## Recommendations for patients with severe disease

WHO recommends crystalloid fluid in patients with severe marsh fever. [Strong recommendation, low certainty]

## Follow-up

Patients should return right away if they bleed or cannot drink.
"""


def test_stated_recommendations_are_taken_whole_with_doses_and_danger_signs_and_not_those_for_severe_disease(
    service: ConsultService, asker: User, app: App
) -> None:
    added = app.add_source(Source(STATED.encode(), "marsh-fever.md"))
    try:
        story = "30-year-old man, fever for 2 days, 70 kg. Takes aspirin. No allergies."
        consult = drafted(service, asker, story, "Marsh fever")
    finally:
        app.delete(added.entry.id)
    (diagnosis,) = consult.plan["diagnoses"]
    told = {one["text"].partition(" [")[0]: one["role"] for one in diagnosis["offered"]}
    assert told["WHO suggests measured oral fluids in patients with non-severe marsh fever."] == "treat"
    assert told["WHO recommends against the use of NSAIDs in patients with marsh fever."] == "avoid"
    assert told["Patients should return right away if they bleed or cannot drink."] == "safety"
    assert any("500 mg paracetamol" in text for text in told)
    assert not any("15 mg/kg" in text or "crystalloid" in text for text in told)
    assert {one["medicine"] for one in consult.plan["warnings"]} == {"aspirin"}


ORIGIN = """# Raised pressure in adults

## Recommendations

### Step 1 treatment

1.1.1 Offer an ACE inhibitor to adults with hypertension starting step 1 treatment who:

- have type 2 diabetes or

- are aged under 55 but not of Black African or African–Caribbean family origin.

1.1.2 Offer a calcium-channel blocker to adults with hypertension starting step 1 treatment who:

- are aged 55 or over or

- are of Black African or African–Caribbean family origin.

### Step 2 treatment

1.1.3 Offer an ACE inhibitor with a calcium-channel blocker to adults with hypertension after step 1 treatment.
"""


@pytest.mark.parametrize(
    "case",
    [
        ("48-year-old man of Nigerian origin. No medicines. No diabetes.", "1.1.2", "1.1.1"),
        ("48-year-old white British man. No medicines. No diabetes.", "1.1.1", "1.1.2"),
        ("70-year-old man. Takes amlodipine. No diabetes.", "1.1.3", "1.1.2"),
    ],
)
def test_family_origin_and_the_medicines_taken_say_which_recommendation_is_for_this_patient(
    service: ConsultService, asker: User, app: App, case: tuple[str, str, str]
) -> None:
    who, offered, left = case
    added = app.add_source(Source(ORIGIN.replace("Raised pressure", "Hypertension").encode(), "pressure.md"))
    try:
        consult = drafted(service, asker, f"{who} Headache for 2 weeks. No allergies. BP 170/102.", "Hypertension")
    finally:
        app.delete(added.entry.id)
    (diagnosis,) = consult.plan["diagnoses"]
    numbers = {one["text"].partition(" ")[0] for one in diagnosis["offered"]}
    assert offered in numbers
    assert left not in numbers
    assert any(one["words"].startswith(left) for one in diagnosis["left_out"])


@pytest.mark.parametrize(
    ("story", "supports", "opposes"),
    [
        ("34F. Productive cough for 3 days. T 38.6, pulse 84.", ["Productive cough", "fever (temperature 38.6)"], []),
        ("34F. No cough. Temperature 36.8.", [], ["Cough", "fever (temperature 36.8)"]),
        ("34F. No dry cough. Pulse 84.", [], []),
    ],
)
def test_a_sign_or_a_kind_of_a_feature_speaks_for_it(
    service: ConsultService, asker: User, story: str, supports: list[str], opposes: list[str]
) -> None:
    consult_id = service.start(asker).consult.id
    service.say(consult_id, story, asker)
    service.acknowledge(consult_id, asker)
    (told,) = service.differentials(consult_id, [("Bronchitis", "high")], asker, despite="a test").consult.differentials
    assert [one.name for one in told.supports] == supports
    assert [one.name for one in told.opposes] == opposes
    assert ("fever" in told.ask) == ("T" not in story)
