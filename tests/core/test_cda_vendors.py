"""What systems write differently: states, absences, references and plans in C-CDA, by small documents of our own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from citewell.adapters.records.cda_import import read_cda
from citewell.adapters.records.imported_facts import ImportedFacts
from citewell.app import App
from citewell.assistants.records.fact_sentences import fact_lines
from citewell.errors import InputError
from citewell.types import ParseLimits, Source
from citewell.types.facts import (
    Allergy,
    Appointment,
    Diagnosis,
    Fact,
    LabResult,
    Medication,
    Procedure,
    RecordOwner,
    Severity,
    Vaccination,
    VisitStatus,
    fact_id,
)
from citewell.vaults.health_record import Record

ROOT = "2.16.840.1.113883.10.20.22.4."
PERSON = """<recordTarget><patientRole><patient><name><given>{}</given><family>{}</family></name>{}</patient>
</patientRole></recordTarget>"""
NOT_TOLD = '<statusCode code="completed"/>'


def document(*sections: str) -> Source:
    text = f"""<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc"
     xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><title>Summary</title><effectiveTime value="20150601"/>
    <component><structuredBody>{"".join(sections)}</structuredBody></component></ClinicalDocument>"""
    return Source(text.encode(), "summary.xml")


def section(code: str, text: str, *entries: str, title: str = "Section", more: str = "") -> str:
    made = "".join(f"<entry>{entry}</entry>" for entry in entries)
    return f"""<component><section {more}><code code="{code}"/><title>{title}</title><text>{text}</text>{made}
    </section></component>"""


def table(heads: str, *rows: str) -> str:
    """A table of rows whose cells stand between bars; a row begins with its id, if it has one."""
    made = []
    for row in rows:
        name, _, cells = row.rpartition("#")
        cell = "".join(f"<td>{one.strip()}</td>" for one in cells.split("|"))
        made.append(f'<tr ID="{name}">{cell}</tr>' if name else f"<tr>{cell}</tr>")
    head = "".join(f"<th>{one.strip()}</th>" for one in heads.split("|"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(made)}</tbody></table>"


def template(number: str, date: str = "") -> str:
    return f'<templateId root="{ROOT}{number}"{date}/>'


ROW = "Lisinopril 20 mg | 2015 | "


def status(value: str, number: str = "6") -> str:
    return f"""<entryRelationship typeCode="REFR"><observation classCode="OBS" moodCode="EVN">{template(number)}
    <code code="33999-4"/><statusCode code="completed"/>{value}</observation></entryRelationship>"""


UNKNOWN_END = '<low value="2012"/><high nullFlavor="UNK"/>'
ENDED = '<low value="2012"/><high value="20130101"/>'
IN_WORDS = '<value nullFlavor="OTH"><originalText>Inactive</originalText></value>'
ACTIVE = '<value code="55561003" displayName="Active"/>'
RESOLVED = '<value code="413322009" displayName="Resolved"/>'


def problem(
    name: str,
    *inner: str,
    concern: str = '<statusCode code="active"/>',
    time: str = '<low value="20120301"/>',
    reference: str = "",
    negation: str = "",
) -> str:
    text = f'<text><reference value="{reference}"/></text>' if reference else ""
    return f"""<act>{template("3")}{concern}<entryRelationship><observation {negation}>{template("4")}
    <id root="1.2" extension="{name}{reference}"/>{text}<statusCode code="completed"/>
    <effectiveTime>{time}</effectiveTime><value code="1" displayName="{name}"/>{"".join(inner)}
    </observation></entryRelationship></act>"""


def allergy(entity: str, *inner: str, negation: str = "", value: str = '<value code="416098002"/>') -> str:
    return f"""<act>{template("30")}<statusCode code="completed"/><entryRelationship><observation {negation}>
    {template("7")}<id root="1.3" extension="{len(entity)}"/>{value}
    <participant><participantRole><playingEntity>{entity}</playingEntity></participantRole></participant>
    {"".join(inner)}</observation></entryRelationship></act>"""


def medicine(
    code: str,
    *inner: str,
    state: str = NOT_TOLD,
    time: str = '<low value="20150101"/>',
    mood: str = "EVN",
    date: str = "",
    text: str = "",
) -> str:
    return f"""<substanceAdministration moodCode="{mood}">{template("16", date)}<id root="1.4" extension="{len(code)}"/>
    {text}{state}<effectiveTime xsi:type="IVL_TS">{time}</effectiveTime><consumable><manufacturedProduct>
    <manufacturedMaterial>{code}</manufacturedMaterial></manufacturedProduct></consumable>{"".join(inner)}
    </substanceAdministration>"""


def read(*sections: str) -> ImportedFacts:
    return read_cda(document(*sections), ParseLimits())


def words(found: ImportedFacts, fact: Fact) -> str | None:
    span = found.spans.get(fact.id)
    return None if span is None else found.document.text[slice(*span)]


def only(found: ImportedFacts) -> Fact:
    (fact,) = found.facts
    return fact


def a_problem(entry: str, row: str = "Asthma | 2012 |") -> tuple[str, bool]:
    fact = only(read(section("11450-4", table("Problem | Since | Status", row), entry)))
    assert isinstance(fact, Diagnosis)
    return fact.status.value, fact.is_verified


@pytest.mark.parametrize(
    ("entry", "row", "expected"),
    [
        # The status observation decides, whatever the act around it says.
        (problem("Asthma", status(ACTIVE), concern=NOT_TOLD), "Asthma | 2012 | Active", ("active", True)),
        (problem("Asthma", status(ACTIVE), time=UNKNOWN_END), "Asthma||", ("active", True)),
        (problem("Asthma", status(RESOLVED)), "Asthma | 2012 | Resolved", ("resolved", True)),
        # It disagrees with the row, or with an end that is told: a person looks.
        (problem("Asthma", status(ACTIVE)), "Asthma | 2012 | Resolved", ("active", False)),
        (problem("Asthma", status(ACTIVE), time=ENDED), "Asthma | 2012 | Active", ("active", False)),
        # A status without a code says it in words.
        (problem("Asthma", status(IN_WORDS)), "Asthma||", ("resolved", True)),
        # The status of something else in the row says nothing of it.
        (problem("Asthma"), "Asthma | Fill status: completed |", ("active", True)),
        # Nothing but the row tells it.
        (problem("Asthma", concern=NOT_TOLD), "Asthma | 2012 | Active", ("active", True)),
        (problem("Asthma"), "Asthma | 2012 | Resolved", ("resolved", False)),
        # Times and the concern alone.
        (problem("Asthma", time=ENDED), "Asthma||", ("resolved", True)),
        (problem("Asthma", time='<low value="2012"/><high value="20300101"/>'), "Asthma||", ("active", True)),
        (problem("Asthma", time='<low value="2012"/><high nullFlavor="NI"/>'), "Asthma||", ("active", True)),
        (problem("Asthma", concern=NOT_TOLD, time=UNKNOWN_END), "Asthma||", ("resolved", True)),
        (problem("Asthma", concern=NOT_TOLD), "Asthma||", ("active", False)),
    ],
)  # fmt: skip
def test_the_state_of_a_problem(entry: str, row: str, expected: tuple[str, bool]) -> None:
    assert a_problem(entry, row) == expected


DRUG = '<code code="314077" displayName="Lisinopril 20 MG Oral Tablet"/>'
STOPPED = '<value code="73425007" displayName="No longer active"/>'


@pytest.mark.parametrize(
    ("entry", "row", "expected"),
    [
        (medicine(DRUG, status(ACTIVE, "999")), ROW, ("active", True)),
        (medicine(DRUG, status(STOPPED, "999")), ROW, ("stopped", True)),
        (medicine(DRUG, state='<statusCode code="active"/>'), ROW, ("active", True)),
        (medicine(DRUG, state='<statusCode code="active"/>'), ROW + "Discontinued", ("active", False)),
        (medicine(DRUG, state='<statusCode code="suspended"/>'), ROW, ("paused", True)),
        (medicine(DRUG, state='<statusCode code="aborted"/>'), ROW, ("stopped", True)),
        (medicine(DRUG, mood="INT", time=UNKNOWN_END), ROW + "Active", ("active", True)),
        (medicine(DRUG), ROW, ("active", False)),
        (medicine(DRUG, date=' extension="2014-06-09"'), ROW, ("stopped", False)),
        (medicine(DRUG, time='<low value="2014"/><high value="20150401"/>'), ROW, ("stopped", True)),
        (medicine(DRUG, time='<low value="2014"/><high value="20160401"/>'), ROW, ("active", True)),
        # The row says another dose.
        (medicine(DRUG, status(ACTIVE, "999")), "Lisinopril 10 mg | 2015 | Active", ("active", False)),
    ],
)  # fmt: skip
def test_the_state_of_a_medicine(entry: str, row: str, expected: tuple[str, bool]) -> None:
    fact = only(read(section("10160-0", table("Medication | Start | Status", row), entry)))
    assert isinstance(fact, Medication)
    assert (fact.status.value, fact.is_verified) == expected


def test_medicines_of_a_plan_and_denied_ones_are_none() -> None:
    planned = medicine(DRUG).replace(template("16"), template("42")).replace("EVN", "RQO")
    denied = medicine(DRUG).replace("<substanceAdministration ", '<substanceAdministration negationInd="true" ')
    rows = table("Medication | Start", "Lisinopril 20 mg | 2015")
    assert read(section("18776-5", rows, planned), section("10160-0", rows, denied)).facts == ()


def test_a_medicine_that_was_given_in_the_visit_is_over() -> None:
    fact = only(read(section("29549-3", table("Medication | Day", "Lisinopril 20 mg | 2015"), medicine(DRUG))))
    assert isinstance(fact, Medication)
    assert fact.status.value == "stopped"


@pytest.mark.parametrize(
    ("entity", "more", "expected"),
    [
        ('<code nullFlavor="NI"/><name>No Known Drug Allergies</name>', {}, "No known drug allergies"),
        ('<code code="716186003" displayName="No known allergy"/>', {}, "No known allergies"),
        ('<code code="409137002" displayName="NKDA"/>', {}, "No known drug allergies"),
        ('<code code="105590001"/>', {"negation": 'negationInd="true"'}, "No known allergies"),
        ('<code nullFlavor="NA"/>', {"negation": 'negationInd="true"'}, "No known drug allergies"),
    ],
)
def test_no_known_allergies_are_no_allergy(entity: str, more: dict[str, str], expected: str) -> None:
    fact = only(read(section("48765-2", "<paragraph>No known drug allergies</paragraph>", allergy(entity, **more))))
    assert isinstance(fact, Allergy)
    assert (fact.allergen, fact.is_active) == (expected, False)


def test_no_information_is_no_fact() -> None:
    nothing = '<code nullFlavor="NI"><originalText><reference value="#none"/></originalText></code>'
    said = '<paragraph ID="none">{}</paragraph>'
    found = read(
        section("48765-2", said.format("No information about allergies"), allergy(nothing)),
        section("10160-0", said.format("No medication data is applicable"), medicine(nothing)),
        section("10160-0", "None recorded", medicine('<code code="0" displayName="Not documented"/>')),
        section("11450-4", "No known problems", problem("Problem", negation='negationInd="true"')),
        section("11450-4", "<paragraph>No active problems</paragraph>", problem("No active problems")),
        section("47519-4", "", more='nullFlavor="NI"'),
        section(
            "30954-2",
            "<paragraph>No information about results</paragraph>",
            f'<observation moodCode="EVN">{template("2")}<code code="1" displayName="Laboratory studies"/>'
            '<statusCode code="completed"/><value xsi:type="PQ" nullFlavor="NI"/></observation>',
        ),
        section(
            "46240-8",
            "<paragraph>No encounters</paragraph>",
            f'<encounter moodCode="EVN">{template("49")}<code nullFlavor="NI"/></encounter>',
        ),
    )
    assert [fact.kind for fact in found.facts] == []


def test_a_reference_leads_to_the_row_with_or_without_its_mark() -> None:
    rows = table("Problem | Since", "p1#Migraine | 2012", "p2#Migraine | 2014")
    for reference in ("#p2", "p2"):
        found = read(section("11450-4", rows, problem("Migraine", reference=reference)))
        assert words(found, only(found)) == "Problem: Migraine; Since: 2014"


def test_a_reference_to_another_row_gives_way_to_the_row_with_the_name() -> None:
    rows = table("Problem | Since", "p1#Migraine | 2012", "Essential hypertension | 2014")
    found = read(
        section("11450-4", rows, problem("Migraine", reference="#p1"), problem("Hypertension", reference="#p1"))
    )
    assert [words(found, fact) for fact in found.facts] == [
        "Problem: Migraine; Since: 2012",
        "Problem: Essential hypertension; Since: 2014",
    ]


def test_a_reference_into_another_section_names_nothing() -> None:
    words_of_it = '<originalText><reference value="#v"/></originalText>'
    code = f'<code code="1" displayName="Sumatriptan 25 MG Oral Tablet">{words_of_it}</code>'
    vitals = section("8716-3", '<list><item ID="v">Body mass index 25</item></list>')
    found = read(section("10160-0", "<paragraph>As listed</paragraph>", medicine(code)), vitals)
    fact = only(found)
    assert isinstance(fact, Medication)
    assert (fact.generic_name, fact.brand_name, words(found, fact)) == ("Sumatriptan", None, None)


def test_a_reference_to_a_whole_table_names_nothing_and_leads_to_no_line() -> None:
    rows = '<table ID="all"><tbody><tr><td>Codeine</td></tr><tr><td>Latex</td></tr></tbody></table>'
    entity = '<code nullFlavor="OTH"><originalText><reference value="#all"/></originalText></code>'
    assert read(section("48765-2", rows, allergy(entity, value='<value nullFlavor="UNK"/>'))).facts == ()


def test_ids_in_capitals_on_one_side_are_the_same() -> None:
    rows = table("Problem | Since", "PROB1#Low mood | 2012", "Gout | 2014")
    found = read(section("11450-4", rows, problem("Depressive disorder", reference="#prob1")))
    assert words(found, only(found)) == "Problem: Low mood; Since: 2012"


def test_form_and_amount_do_not_make_one_medicine_another() -> None:
    code = '<code code="1" displayName="acetaminophen-aspirin buffered 250 mg-250 mg oral tablet"/>'
    found = read(
        section("10160-0", "<list><item>Lipitor 10 mg oral tablet; Status: Stopped</item></list>", medicine(code))
    )
    assert words(found, only(found)) is None


def test_a_table_without_heads_may_say_the_status_in_a_cell_of_its_own() -> None:
    code = '<code code="1" displayName="Lisinopril 20 MG Oral Tablet"/>'
    rows = "<table><tbody><tr><td>Lisinopril 20 mg</td><td>daily</td><td>Active</td></tr></tbody></table>"
    fact = only(read(section("10160-0", rows, medicine(code, time=ENDED))))
    assert isinstance(fact, Medication)
    assert (fact.status.value, fact.is_verified) == ("active", False)


def test_a_section_without_a_code_is_known_by_its_template() -> None:
    specimen = f"""<procedure moodCode="EVN">{template("14")}<code code="1" displayName="Venipuncture"/></procedure>"""
    results = section("", "<paragraph>Venipuncture</paragraph>", specimen).replace(
        '<code code=""/>', '<templateId root="2.16.840.1.113883.10.20.22.2.3.1"/>'
    )
    assert read(results).facts == ()


@pytest.mark.parametrize("denied", ["true", "1"])
def test_a_denial_is_one_in_both_ways_in_which_xml_writes_it(denied: str) -> None:
    entity = '<code code="105590001" displayName="Substance"/>'
    negation = f'negationInd="{denied}"'
    fact = only(read(section("48765-2", "<paragraph>None</paragraph>", allergy(entity, negation=negation))))
    assert isinstance(fact, Allergy)
    assert (fact.allergen, fact.is_active) == ("No known allergies", False)


def test_what_no_line_names_cites_nothing_and_waits() -> None:
    found = read(section("11450-4", "<paragraph>See the list of the practice.</paragraph>", problem("Gout")))
    fact = only(found)
    assert (words(found, fact), fact.is_verified) == (None, False)
    assert found.read_from("a-document")[0].origin.start is None


def vital(name: str, value: str, unit: str, code: str = "1") -> str:
    return f"""<observation moodCode="EVN">{template("27")}<id root="1.5" extension="{name}"/>
    <code code="{code}" displayName="{name}"/><statusCode code="completed"/><effectiveTime value="20150504"/>
    <value value="{value}" unit="{unit}"/></observation>"""


def test_a_line_of_another_vital_sign_is_not_cited() -> None:
    found = read(section("8716-3", table("Sign | Value", "Respiratory rate | 18"), vital("Heart rate", "80", "/min"),
                         vital("Respiratory rate", "18", "/min")))  # fmt: skip
    assert {fact.test_name: words(found, fact) for fact in found.facts if isinstance(fact, LabResult)} == {
        "Heart rate": None,
        "Respiratory rate": "Sign: Respiratory rate; Value: 18",
    }


def test_one_row_may_hold_all_vital_signs_under_short_names() -> None:
    row = table("Day | BP | HR | WT", "05/04/2015 | 120/80 mmHg | 80 | 162 lbs")
    entries = [
        vital("Intravascular systolic", "120", "mm[Hg]", "8480-6"),
        vital("Body weight measured", "162", "[lb_av]", "29463-7"),
    ]
    found = read(section("8716-3", row, *(f"<organizer><component>{one}</component></organizer>" for one in entries)))
    assert {fact.test_name for fact in found.facts if isinstance(fact, LabResult)} == {"Systolic BP", "Weight (WT)"}
    assert {words(found, fact) for fact in found.facts} == {"Day: 05/04/2015; BP: 120/80 mmHg; HR: 80; WT: 162 lbs"}


def test_a_brand_on_the_line_is_the_medicine_of_the_code() -> None:
    code = '<code code="197361" displayName="Amlodipine 5 MG Oral Tablet"/>'
    rows = table("Medication | Start", "Zestril 20 mg | 2014", "Norvasc 5 mg | 2015")
    found = read(section("10160-0", rows, medicine(code)))
    fact = only(found)
    assert isinstance(fact, Medication)
    assert (fact.generic_name, fact.brand_name) == ("Amlodipine", "Norvasc")
    assert words(found, fact) == "Medication: Norvasc 5 mg; Start: 2015"


def test_an_entry_without_a_code_is_called_as_its_words() -> None:
    code = '<code nullFlavor="UNK"><originalText><reference value="#m1"/></originalText></code>'
    rows = '<list><item><content ID="m1">Fish oil capsules</content>, one a day</item></list>'
    found = read(section("10160-0", rows, medicine(code, status(ACTIVE, "999"))))
    fact = only(found)
    assert isinstance(fact, Medication)
    assert (fact.generic_name, fact.status.value, fact.is_verified) == ("Fish oil capsules", "active", False)
    assert words(found, fact) == "• Fish oil capsules, one a day"


def test_the_name_people_signed_stands_for_a_name_that_no_line_has() -> None:
    procedure = f"""<procedure moodCode="EVN">{template("14")}<code code="71020"
    displayName="RADEX CH 2 VIEWS FRNT"><originalText><reference value="#x"/></originalText></code>
    <effectiveTime value="20150102"/></procedure>"""
    rows = '<list><item ID="x">Chest X-ray (2015/01/02)</item></list>'
    found = read(section("47519-4", rows, procedure))
    fact = only(found)
    assert isinstance(fact, Procedure)
    assert (fact.name, words(found, fact)) == ("Chest X-ray", "• Chest X-ray (2015/01/02)")


def test_a_whole_line_is_no_name() -> None:
    shown = 'displayName="Unspecified asthma"'
    words_of_it = '<originalText><reference value="#p"/></originalText>'
    entry = problem("Unspecified asthma").replace(f"{shown}/>", f"{shown}>{words_of_it}</value>")
    rows = '<list><item ID="p">Asthma since the spring of 2012, seen by Dr Hill</item></list>'
    found = read(section("11450-4", rows, entry))
    fact = only(found)
    assert isinstance(fact, Diagnosis)
    assert (fact.name, words(found, fact)) == (
        "Unspecified asthma",
        "• Asthma since the spring of 2012, seen by Dr Hill",
    )


def test_values_that_are_no_numbers() -> None:
    values = {
        "Culture": '<value xsi:type="ST">No growth</value>',
        "Titre": '<value xsi:type="RTO"><numerator value="1"/><denominator value="128"/></value>',
        "GFR": '<value xsi:type="IVL_PQ"><low value="60" unit="mL/min"/></value>',
        "Blood group": '<value xsi:type="CD" code="1" displayName="O positive"/>',
    }
    entries = [
        f"""<observation moodCode="EVN">{template("2")}<code code="1" displayName="{name}"/>
        <statusCode code="completed"/><effectiveTime value="20150504"/>{value}</observation>"""
        for name, value in values.items()
    ]
    found = read(section("30954-2", table("Test", *values), *entries))
    assert {fact.test_name: fact.value_text for fact in found.facts if isinstance(fact, LabResult)} == {
        "Culture": "No growth",
        "Titre": "1:128",
        "GFR": "at least 60 mL/min",
        "Blood group": "O positive",
    }


def test_a_laboratory_value_that_the_line_does_not_say_waits() -> None:
    entry = f"""<observation moodCode="EVN">{template("2")}<code code="1" displayName="Potassium"/>
    <statusCode code="completed"/><value value="3.5" unit="mmol/L"/></observation>"""
    for row, is_sure in (("Potassium | 3.50 mmol/L", True), ("Potassium | 5.3 mmol/L", False)):
        assert only(read(section("30954-2", table("Test | Value", row), entry))).is_verified is is_sure


def test_what_stands_in_a_plan_is_planned_even_where_its_mood_says_otherwise() -> None:
    visit = f"""<encounter moodCode="EVN">{template("49")}<code code="1" displayName="Lung function"/></encounter>"""
    fact = only(read(section("18776-5", table("Plan | Day", "Lung function | soon"), visit)))
    assert isinstance(fact, Appointment)
    assert fact.status is VisitStatus.PLANNED


def test_diagnoses_of_an_operation_are_problems_and_those_of_a_relative_are_not() -> None:
    rows = table("Diagnosis", "Gallstones")
    before = problem("Gallstones").replace(template("3"), template("65"))
    assert [fact.kind for fact in read(section("10219-4", rows, before)).facts] == [Diagnosis.kind]
    observation = (
        f"""<observation moodCode="EVN">{template("4")}<value code="1" displayName="Gallstones"/></observation>"""
    )
    assert [fact.kind for fact in read(section("55109-3", rows, observation)).facts] == [Diagnosis.kind]
    assert read(section("10157-6", rows, f"<organizer><component>{observation}</component></organizer>")).facts == ()


def test_the_kind_of_an_allergy_stands_for_it_only_where_nothing_says_to_what() -> None:
    rows = "<paragraph>Food allergy</paragraph><paragraph>Peanut</paragraph>"
    for entity, name, is_sure in (
        ('<code code="1" displayName="Food allergy"/><name>Peanut</name>', "Peanut", True),
        ('<code code="1" displayName="Food allergy"/>', "Food allergy", False),
    ):
        fact = only(read(section("48765-2", rows, allergy(entity, status(ACTIVE, "28")))))
        assert isinstance(fact, Allergy)
        assert (fact.allergen, fact.is_active, fact.is_verified) == (name, True, is_sure)


def test_anaphylaxis_threatens_life() -> None:
    reaction = f"""<entryRelationship><observation>{template("9")}<value code="39579001" displayName="Anaphylaxis"/>
    </observation></entryRelationship>"""
    fact = only(read(section("48765-2", "<paragraph>Latex</paragraph>", allergy("<name>Latex</name>", reaction))))
    assert isinstance(fact, Allergy)
    assert (fact.reaction, fact.severity) == ("Anaphylaxis", Severity.LIFE_THREATENING)


def test_a_plan_is_planned_and_kept_only_where_the_words_tell_it() -> None:
    plan = f"""<observation moodCode="RQO">{template("44")}<code code="1" displayName="Colonoscopy"/>
    <effectiveTime value="20151001"/></observation>"""
    visit = f"""<encounter moodCode="INT">{template("40")}<code code="1" displayName="Follow-up visit"/></encounter>"""
    found = read(
        section("18776-5", table("Plan | Day", "Colonoscopy | October", "Follow-up visit | soon"), plan, visit)
    )
    assert {(fact.kind, getattr(fact, "status", None)) for fact in found.facts} == {
        (Procedure.kind, VisitStatus.PLANNED),
        (Appointment.kind, VisitStatus.PLANNED),
    }
    assert read(section("18776-5", "<paragraph>Rest</paragraph>", plan)).facts == ()


def test_vaccines_that_were_refused_or_are_planned_were_not_given() -> None:
    vaccine = f"""<substanceAdministration moodCode="EVN" negationInd="false">{template("52")}
    <statusCode code="completed"/><effectiveTime value="20141001"/><consumable><manufacturedProduct>
    <manufacturedMaterial><code code="140" displayName="Influenza vaccine"/></manufacturedMaterial>
    </manufacturedProduct></consumable></substanceAdministration>"""
    rows = table("Vaccine | Day", "Influenza vaccine | 2014")
    assert isinstance(only(read(section("11369-6", rows, vaccine))), Vaccination)
    for other in (
        vaccine.replace('negationInd="false"', 'negationInd="true"'),
        vaccine.replace('"EVN"', '"INT"'),
        vaccine.replace('"completed"', '"cancelled"'),
    ):
        assert read(section("11369-6", rows, other)).facts == ()


def test_the_reason_for_a_medicine_is_no_problem_of_its_own_and_that_of_a_visit_is_its_reason() -> None:
    reason = (
        problem("Migraine").replace("<act>", '<entryRelationship inversionInd="true"><act>') + "</entryRelationship>"
    )
    found = read(section("10160-0", table("Medication | For", "Lisinopril 20 mg | Migraine"), medicine(DRUG, reason)))
    assert [fact.kind for fact in found.facts] == [Medication.kind]
    visit = f"""<encounter moodCode="EVN">{template("49")}<code code="99213" displayName="Office visit"/>
    <effectiveTime value="20150504"/><entryRelationship><act>{template("80")}<entryRelationship><observation>
    {template("4")}<value code="1" displayName="Migraine"/></observation></entryRelationship></act></entryRelationship>
    </encounter>"""
    fact = only(read(section("46240-8", table("Visit | For", "Office visit | Migraine"), visit)))
    assert isinstance(fact, Appointment)
    assert fact.reason == "Migraine"


def test_a_visit_without_a_name_cites_only_the_line_of_its_day() -> None:
    visit = f"""<encounter moodCode="EVN">{template("49")}<code nullFlavor="UNK"/>
    <effectiveTime><low value="20150504"/></effectiveTime></encounter>"""
    found = read(section("46240-8", table("Visit | Place", "05/04/2015 | Ward 3", "05/05/2015 | Ward 4"), visit))
    assert words(found, only(found)) == "Visit: 05/04/2015; Place: Ward 3"
    found = read(section("46240-8", table("Visit | Place", "05/05/2015 | Ward 4"), visit))
    assert words(found, only(found)) is None


def test_several_authors_and_extensions_do_not_disturb() -> None:
    author = """<author><time value="20150101"/><assignedAuthor><assignedPerson><name><given>Ada</given>
    <family>{}</family></name></assignedPerson></assignedAuthor></author>"""
    extended = '<sdtc:dischargeDispositionCode code="1"/>' + author.format("Wong") + author.format("Hill")
    entry = medicine(DRUG, extended, state='<statusCode code="active"/>')
    found = read(section("10160-0", table("Medication | By", "Lisinopril 20 mg | Ada Wong"), entry))
    assert [getattr(fact, "prescriber", None) for fact in found.facts if fact.kind == "medication"] == ["Ada Wong"]


LANTUS = '<code code="285018" displayName="Insulin Glargine 100 UNT/ML Injectable Solution"/>'
PUFFER = '<code code="1" displayName="Albuterol 0.09 MG/ACTUAT Metered Dose Inhaler"/>'
BEDTIME = '<effectiveTime xsi:type="EIVL_TS" operator="A"><event code="HS"/></effectiveTime>'
UNITS = '<translation value="30.0"><originalText>units</originalText></translation>'


def period(written: str) -> str:
    return f'<effectiveTime xsi:type="PIVL_TS" institutionSpecified="true" operator="A">{written}</effectiveTime>'


@pytest.mark.parametrize(
    ("code", "inner", "expected"),
    [
        (LANTUS, '<doseQuantity value="30" unit="[iU]"/>' + BEDTIME, ("30 units", "at bedtime", None)),
        (LANTUS, f'<doseQuantity value="30.0" unit="1">{UNITS}</doseQuantity>', ("30 units", None, None)),
        (LANTUS, '<doseQuantity value="100" unit="[iU]/mL"/>', (None, None, None)),
        (LANTUS, "", (None, None, None)),
        (
            PUFFER,
            '<doseQuantity value="2"/><administrationUnitCode displayName="Puff"/>'
            + period('<period value="6" unit="h"/>'),
            ("2 puffs", "every 6 hours", None),
        ),
        (PUFFER, '<doseQuantity value="2"/>', (None, None, None)),
        (
            DRUG,
            '<doseQuantity value="2"/>' + period('<period value="24" unit="h"/>'),
            ("20 mg", "once a day", "2 tablets"),
        ),
        (DRUG, '<doseQuantity value="20"/>', ("20 mg", None, None)),
        (DRUG, '<doseQuantity><low value="1"/><high value="2"/></doseQuantity>', ("20 mg", None, None)),
        (
            DRUG,
            period('<period><low value="4" unit="h"/><high value="6" unit="h"/></period>'),
            ("20 mg", "every 4 to 6 hours", None),
        ),
    ],
)
def test_the_dose_is_what_is_taken_and_never_the_strength_of_a_fluid(
    code: str, inner: str, expected: tuple[str | None, ...]
) -> None:
    name = code.partition('displayName="')[2].partition('"')[0]
    fact = only(read(section("10160-0", table("Medication | Start", f"{name} | 2015"), medicine(code, inner))))
    assert isinstance(fact, Medication)
    assert (fact.dose, fact.frequency, fact.instructions) == expected


SIG = f"""<entryRelationship typeCode="COMP"><substanceAdministration classCode="SBADM" moodCode="INT">{template("147")}
<code code="76662-6"/><text>One with food each morning</text></substanceAdministration></entryRelationship>"""


@pytest.mark.parametrize(
    ("column", "entry", "expected"),
    [
        ("Directions", medicine(DRUG), "1 every evening"),
        ("Fill Instructions", medicine(DRUG), None),
        ("Sig", medicine(DRUG, SIG), "One with food each morning"),
        ("Sig", medicine(DRUG, text="<text>Lisinopril oral tablet</text>"), "1 every evening"),
        ("Sig", medicine(DRUG, text="<text>take one at bedtime</text>"), "take one at bedtime"),
    ],
)
def test_what_the_prescription_says_is_told(column: str, entry: str, expected: str | None) -> None:
    rows = table(f"Medication | {column}", "Lisinopril 20 mg | 1 every evening")
    fact = only(read(section("10160-0", rows, entry)))
    assert isinstance(fact, Medication)
    assert fact.instructions == expected


def test_the_answer_tells_how_insulin_is_taken(app: App) -> None:
    record = Record(app)
    entry = medicine(LANTUS, '<doseQuantity value="30" unit="[iU]"/>' + BEDTIME, state='<statusCode code="active"/>')
    rows = table("Medication | Directions", "Insulin Glargine 100 units/mL | inject 30 units at night")
    record.import_source(document(section("10160-0", rows, entry)))
    (fact,) = record.facts.all(record.scope, kind="medication")
    said = fact_lines([fact], now=datetime(2026, 1, 1, tzinfo=UTC))[0].text
    assert "Insulin Glargine 30 units, at bedtime" in said
    assert "Instructions: inject 30 units at night" in said
    assert "100" not in said


def of_person(given: str, family: str, born: str = "") -> Source:
    birth = f'<birthTime value="{born}"/>' if born else ""
    data = document(section("11450-4", "<paragraph>Asthma</paragraph>", problem("Asthma"))).data
    person = PERSON.format(given, family, birth).encode()
    return Source(data.replace(b"<component>", person + b"<component>", 1), f"{given}{born}.xml")


@pytest.mark.parametrize(
    ("file", "what"),
    [
        (of_person("Ada", "Wong", "19600102"), "date of birth"),
        (of_person("Ben", "Hill", "19600102"), "date of birth"),
        (of_person("Ben", "Hill"), "name"),
        (of_person("Ben", "Hill", "19600101"), "name"),
        (of_person("Eve", "Wong", "19600101"), "name"),  # a twin
        (of_person("Eve", "Wong", "1960"), "name"),
    ],
)
def test_a_file_of_another_person_changes_nothing(app: App, file: Source, what: str) -> None:
    record = Record(app)
    record.import_source(of_person("Ada", "Wong", "19600101"))
    before = record.facts.all(record.scope), [entry.id for entry in app.entries()]
    with pytest.raises(InputError, match=f"The {what} in this file does not match .* Nothing was changed"):
        record.import_source(file)
    assert (record.facts.all(record.scope), [entry.id for entry in app.entries()]) == before


@pytest.mark.parametrize(
    "person",
    [
        ("Ada", "Hill"),
        ("Ada", "Wong", "1960"),
        ("Adá</given><given>Mae", "Hill", "19600101"),  # she married
        ("A.", "WONG", "19600101"),
    ],
)
def test_another_file_of_the_same_person_is_taken_and_renames_nobody(app: App, person: tuple[str, ...]) -> None:
    record = Record(app)
    record.import_source(of_person("Ada", "Wong", "19600101"))
    record.import_source(of_person(*person))
    assert len(app.entries()) == 2
    assert [fact.name for fact in record.facts.all(record.scope) if isinstance(fact, RecordOwner)] == ["Ada Wong"]


def test_a_name_that_the_person_corrected_lets_a_file_under_it_in(app: App) -> None:
    record = Record(app)
    record.import_source(of_person("Ada", "Wong", "19600101"))
    file = of_person("Eve", "Wong", "19600101")
    with pytest.raises(InputError, match="correct the name in this record first"):
        record.import_source(file)
    record.facts.correct(fact_id("person"), {"name": "Ada Eve Wong"}, record.scope)
    record.import_source(file)
    assert len(app.entries()) == 2


def test_removing_a_document_renames_nobody(app: App) -> None:
    record = Record(app)
    record.import_source(of_person("Ada", "Wong", "19600101"))
    added = record.import_source(of_person("Ada", "Hill", "19600101")).added
    record.import_source(of_person("Ada", "Moss", "1960"))
    assert added is not None
    record.paper.remove(added.entry.id)
    assert [fact.name for fact in record.facts.all(record.scope) if isinstance(fact, RecordOwner)] == ["Ada Wong"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + data.replace(b"Summary", b"&e;"),
        lambda data: (
            b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 20) for n in range(9))
            + b"]>"
            + data.replace(b"Summary", b"&j;")
        ),
    ],
    ids=["truncated", "a file of the machine", "entities without end"],
)
def test_a_hostile_or_damaged_document_imports_nothing(app: App, damage: Callable[[bytes], bytes]) -> None:
    record, source = Record(app), of_person("Ada", "Wong", "19600101")
    with pytest.raises(InputError):
        record.import_source(Source(damage(source.data), "summary.xml"))
    assert (record.facts.all(record.scope), app.entries()) == ([], [])


def test_a_fact_without_a_line_is_in_the_vault_and_in_its_export(app: App) -> None:
    record = Record(app)
    record.import_source(document(section("11450-4", "<paragraph>See the list.</paragraph>", problem("Gout"))))
    (fact,) = record.facts.all(record.scope)
    assert (fact.origin.document_id, fact.origin.start, fact.is_verified) == (app.entries()[0].id, None, False)
    assert b"Gout" in record.export()
