"""A conversation about a record: each question stands on its own unless it cannot; answers are worded from facts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from citewell.app import App
from citewell.types import Answer, Cite, Source, User, Verdict
from citewell.types.facts import (
    REPORTED,
    Allergy,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    LabResult,
    Medication,
    MedicationStatus,
    PartialDate,
    Procedure,
    ResultPart,
    Vaccination,
    fact_id,
)
from citewell.vaults.ask import make_record_service
from citewell.vaults.health_record import Record

Talk = Callable[..., Answer]


def pressure(upper: float, lower: float, day: str) -> LabResult:
    parts = (
        ResultPart("Systolic Blood Pressure", None, upper, None, "mm[Hg]"),
        ResultPart("Diastolic Blood Pressure", None, lower, None, "mm[Hg]"),
    )
    collected = PartialDate(day)
    return LabResult(
        id=fact_id("bp", day), origin=REPORTED, test_name="Blood Pressure", parts=parts, collected=collected
    )


def medicine(name: str, start: str, **fields: object) -> Medication:
    return Medication(id=fact_id(name, start), origin=REPORTED, generic_name=name, start=PartialDate(start), **fields)


STOPPED = MedicationStatus.STOPPED
FACTS: tuple[Fact, ...] = (
    medicine("Warfarin", "2001-05-01", dose="5 mg", prescriber="Dr Ada Chen"),
    medicine("Simvastatin", "2020-06-04", dose="10 mg"),
    medicine("Simvastatin", "2019-06-04", dose="10 mg", status=STOPPED),
    medicine("Naproxen", "2018-09-15", status=STOPPED, reason_stop="heartburn", reason_start="back pain"),
    medicine("Digoxin", "2015-01-01", is_verified=False),
    Allergy(id="a1", origin=REPORTED, allergen="Latex", reaction="hives"),
    Diagnosis(id="d1", origin=REPORTED, name="Atrial Fibrillation", status=DiagnosisStatus.ACTIVE),
    Diagnosis(
        id="d2", origin=REPORTED, name="Acute bronchitis", status=DiagnosisStatus.RESOLVED, dated=PartialDate("2012")
    ),
    pressure(122.56, 72.27, "2011-05-17"),
    pressure(130.47, 78.63, "2020-07-07"),
    Vaccination(id="v1", origin=REPORTED, name="Td (adult)", given=PartialDate("2016-06-14")),
    Vaccination(id="v2", origin=REPORTED, name="Influenza, seasonal", given=PartialDate("2019-07-02")),
    Vaccination(id="v3", origin=REPORTED, name="Influenza, seasonal", given=PartialDate("2020-07-07")),
    Procedure(id="p1", origin=REPORTED, name="Colonoscopy", performed=PartialDate("2018-03-10")),
    LabResult(
        id="t1", origin=REPORTED, test_name="Oral temperature", value=38.2, unit="Cel", collected=PartialDate("2020")
    ),
    LabResult(
        id="t2",
        origin=REPORTED,
        test_name="Pain severity [Score]",
        value=3,
        unit="{score}",
        collected=PartialDate("2020"),
    ),
)


@pytest.fixture
def talk(app: App) -> Talk:
    record = Record(app)
    record.facts.put(FACTS, scope=record.scope)
    service, asker = make_record_service(app, record.facts), User.owner(record.scope)

    def ask(*questions: str) -> Answer:
        """The answer to the last of these, asked one after the other."""
        place: str | None = None
        for question in questions:
            done = service.answer(question, asker=asker, conversation_id=place)
            place = done.conversation_id
        return done.answer

    return ask


ALONE = {
    "what conditions do i have?": "Atrial Fibrillation",
    "which tablets am i on": "Warfarin 5 mg",
    "and the medicines?": "Warfarin 5 mg",
    "jabs?": "Td (adult)",
    "what about my blood pressure": "130/79 mmHg",
    "any operations": "Colonoscopy",
}


@pytest.mark.parametrize("question", ALONE)
def test_a_question_that_stands_alone_does_not_stick_to_the_topic_before(talk: Talk, question: str) -> None:
    answer = talk("what am i allergic to", question)
    assert ALONE[question] in answer.text
    assert "Latex" not in answer.text
    assert "topic" not in answer.notes


def test_a_question_that_cannot_stand_alone_goes_on_and_says_from_what(talk: Talk) -> None:
    answer = talk("what am i allergic to", "am i on warfarin", "who prescribed it")
    assert answer.text.startswith("Read as a follow-up about “warfarin”:")
    assert "Dr Ada Chen" in answer.text
    assert answer.notes["topic"] == "warfarin"
    gone_up = talk("blood pressure?", "has it gone up").text
    assert "up from 123 to 130, lowest 123, highest 130" in gone_up
    assert "2020" in talk("flu jabs", "when was the last one").text
    assert "Warfarin" not in talk("am i on warfarin", "what did i stop taking", "any operations").text


def test_lists_are_grouped_and_each_thing_is_told_once(talk: Talk) -> None:
    text = talk("do i take anything for my cholesterol").text
    assert text.count("Simvastatin 10 mg: you take this now") == 1
    assert "Simvastatin 10 mg: ended" in text
    tablets = talk("which tablets am i on").text
    assert "Digoxin: not clear whether you take this now; first prescribed on 1 January 2015." in tablets
    assert "It also lists 1 past medicine." in tablets
    stopped = "stopped because of heartburn; was taken for back pain, prescribed on 15 September 2018."
    assert f"Naproxen: {stopped}" in talk("why did i stop naproxen").text
    assert "Acute bronchitis: resolved; recorded from 2012." in talk("acute bronchitis?").text
    assert "Influenza, seasonal: given 2 times (7 July 2020, 2 July 2019)." in talk("which jabs did i have").text


def test_units_are_written_as_people_write_them(talk: Talk) -> None:
    pressure = talk("what is my blood pressure").text
    assert "130/79 mmHg on 7 July 2020 (recorded as 130.47/78.63 mmHg)" in pressure
    assert "38.2 °C" in talk("what was my temprature").text
    assert "Pain severity: 3 in 2020" in talk("how bad was the pain").text


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("when was my last tetnus shot", "14 June 2016"),
        ("colon scope when?", "10 March 2018"),
        ("camera up the bum", "10 March 2018"),
        ("am i alergic to anything", "Latex"),
        ("whats she allergic to", "Latex"),
        ("am i on any painkillers", "a past medicine, not a current one"),
        ("blood thiner?", "Warfarin"),
    ],
)
def test_a_no_is_earned(talk: Talk, question: str, told: str) -> None:
    text = talk(question).text
    assert told in text
    assert "does not mention" not in text


def test_what_is_not_there_is_said_in_the_words_of_the_question(talk: Talk) -> None:
    assert talk("did i have the snip").text.startswith("Your record does not mention the snip")
    wine = talk("Can I take my medicines with alcohol?").text
    assert wine.startswith("Your record does not say what can be taken with your medicines.")
    assert "Latex" not in wine


def test_what_is_nearest_in_meaning_stands_beside_a_no(talk: Talk) -> None:
    text = talk("bowel check dates").text
    assert text.startswith("The closest match in your record, which may be something different:")
    assert "Colonoscopy: done on 10 March 2018." in text
    assert "The closest" not in talk("do i have lupus").text


def test_an_allergy_to_what_is_asked_about_is_always_told(app: App, talk: Talk) -> None:
    record = Record(app)
    record.facts.put([Allergy(id="a2", origin=REPORTED, allergen="Naproxen", reaction="rash")], scope=record.scope)
    text = talk("how long was i on naproxen").text
    assert "stopped" in text
    assert "Your record also lists an allergy to this: Naproxen (rash)." in text


def test_papers_are_searched_in_plain_words_before_a_no(app: App, talk: Talk) -> None:
    Record(app).import_source(Source(b"# Letter of 3 May 2012\n\nA vasectomy was done without trouble.\n", "letter.md"))
    assert "A vasectomy was done without trouble." in talk("did i have the snip").text


def test_a_line_is_worded_from_the_fact_and_cites_the_line_that_holds_its_name(app: App) -> None:
    bundle = b"""{"resourceType": "Bundle", "type": "collection", "entry": [{"resource": {"resourceType":
    "MedicationStatement", "id": "m", "status": "active", "subject": {"reference": "Patient/p"},
    "effectiveDateTime": "2020-03-12", "medicationCodeableConcept": {"text": "Apixaban 5 MG Oral Tablet"}}}]}"""
    record = Record(app)
    record.import_source(Source(bundle, "record.json"))
    service = make_record_service(app, record.facts)
    answer = service.answer("am i on a blood thinner", asker=User.owner(record.scope)).answer
    assert isinstance(answer.action, Cite)
    assert [claim.text for claim in answer.claims] == [
        "• Apixaban 5 mg, by mouth: you take this now, since 12 March 2020."
    ]
    assert {claim.check.verdict for claim in answer.claims} == {Verdict.SUPPORTED}
    assert "Apixaban 5 mg" in answer.citations[0].quote


SECTIONS = {
    "Functional Status": "Uses a cane for longer walks.",
    "Instructions": "Keep the left leg raised.",
    "Family History": "Father: stroke at 61.",
    "Social History": "Two glasses of wine a week.",
    "Advance Directives": "Not for resuscitation.",
}
CHART = f"""<?xml version="1.0"?>
<ClinicalDocument xmlns="urn:hl7-org:v3">
  <title>Health summary</title>
  <effectiveTime value="20240105"/>
  <recordTarget><patientRole><id root="1"/><patient><name><given>Ann</given><family>Grey</family></name>
    <birthTime value="19500101"/></patient></patientRole></recordTarget>
  <component><structuredBody>{
    "".join(
        f"<component><section><title>{title}</title><text><paragraph>{text}</paragraph></text></section></component>"
        for title, text in SECTIONS.items()
    )
}</structuredBody></component>
</ClinicalDocument>""".encode()


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("do i use a walking stick", "Uses a cane for longer walks."),
        ("what did they tell me to do", "Keep the left leg raised."),
        ("did anyone in my family have a stroke", "Father: stroke at 61."),
        ("how much do i drink", "Two glasses of wine a week."),
        ("is there a dnr", "Not for resuscitation."),
        ("whats the rule about my leg", "Keep the left leg raised."),
    ],
)
def test_what_stands_outside_the_facts_of_an_export_is_told(app: App, talk: Talk, question: str, said: str) -> None:
    Record(app).import_source(Source(CHART, "chart.xml"))
    answer = talk(question)
    assert said in answer.text
    assert "does not mention" not in answer.text
    assert [citation.quote for citation in answer.citations if said in citation.quote]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("everything wrong with me", "Atrial Fibrillation"),
        ("am i on wafarrin", "Warfarin"),
        ("highest my blood pressure ever was", "130/79"),
        ("what do i swallow of a morning", "Warfarin"),
    ],
)
def test_wordings_that_no_table_has_are_read_by_their_meaning(talk: Talk, question: str, told: str) -> None:
    assert told in talk(question).text


def test_what_the_record_has_no_section_for_is_said_and_not_taken_from_own_facts(talk: Talk) -> None:
    assert talk("what illnesses run in my family").text.startswith("Your record does not include anything about your")
    assert talk("whats my insurance").text.startswith("Your record does not include anything about your insurance.")


def test_a_season_is_a_time(talk: Talk) -> None:
    text = talk("what happened in the summer of 2020").text
    assert text.startswith("Your record has 3 entries from June 2020 to August 2020:")
    assert "Td (adult)" not in text


def test_a_kind_stands_beside_a_no_only_for_a_name_that_nobody_knows(talk: Talk) -> None:
    assert "Influenza, seasonal" in talk("have i had the grinzel jab").text
    assert "Atrial Fibrillation" not in talk("do i have psoriasis").text
