"""A record never says “no” before its papers were searched, and never shows what was not asked for as the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.records.fhir_import import read_fhir
from citewell.app import build
from citewell.assistants.records.alerts import AlertKind, find_alerts
from citewell.assistants.records.answer_caveats import how_old
from citewell.assistants.records.gather import gather
from citewell.assistants.records.intents import intents_of
from citewell.assistants.records.known_facts import KnownFacts
from citewell.clinical import Lexicon
from citewell.config import Settings
from citewell.errors import UnsupportedFile
from citewell.types import Answer, Source, User
from citewell.types.coded_names import plain_name
from citewell.types.facts import (
    REPORTED,
    Appointment,
    Diagnosis,
    DiagnosisStatus,
    Fact,
    LabResult,
    Medication,
    PartialDate,
    RecordOwner,
    ResultCategory,
    VisitStatus,
)
from citewell.types.facts_line import line_of
from citewell.vaults.ask import make_record_service
from citewell.vaults.health_record import Record
from citewell.web.records_today import sheet_groups
from citewell.web.result_charts import chart_words
from citewell.web.result_series import series_of
from tests.core.test_fhir_records import ALL, PATIENT, bundle

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Ask = Callable[[str], Answer]

LETTER = """# Letter to your practice

Seen in clinic on 4 May 2023. Allergies: penicillin (rash). INR 2.6 on 1 May 2023, taken at the practice.

The left knee is swollen after a fall. She was told to rest it for a week.
"""
LAB = """Laboratory report of 2 June 2024

K 5.9 H 3.5 - 5.1
Na 139 135 - 145
"""
FACTS: tuple[Fact, ...] = (
    Medication(
        id="m1", origin=REPORTED, generic_name="Warfarin", dose="5 mg", start=PartialDate("2019"), reason_start="AF"
    ),
    Medication(id="m2", origin=REPORTED, generic_name="Albuterol", start=PartialDate("2018"), reason_start="Asthma"),
    Diagnosis(id="d1", origin=REPORTED, name="Prediabetes", status=DiagnosisStatus.ACTIVE, dated=PartialDate("2017")),
    Diagnosis(id="d2", origin=REPORTED, name="Angina", status=DiagnosisStatus.ACTIVE, dated=PartialDate("2016")),
    LabResult(
        id="r1", origin=REPORTED, test_name="Potassium", value=4.8, unit="mmol/L", collected=PartialDate("2020-02-03")
    ),
    Appointment(id="v1", origin=REPORTED, name="Check", at=PartialDate("2021-03-03"), status=VisitStatus.DONE),
)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[Record]:
    with build(Settings(home=tmp_path_factory.mktemp("papers") / "home")) as app:
        app.__dict__["embedder"] = embedder
        made = Record(app)
        made.facts.put(FACTS, scope=made.scope)
        made.import_source(Source(LETTER.encode(), "letter.md"))
        made.import_source(Source(LAB.encode(), "lab.txt"))
        yield made


@pytest.fixture(scope="module")
def ask(record: Record) -> Ask:
    service = make_record_service(record._app, record.facts)
    return lambda question: service.answer(question, asker=User.owner(record.scope)).answer


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("What is my INR?", "INR 2.6 on 1 May 2023"),
        ("Am I allergic to penicillin?", "Allergies: penicillin (rash)."),
        ("Do I have any allergies?", "Allergies: penicillin (rash)."),
        ("What is my sodium level?", "Na 139 135 - 145"),
        ("What does the letter say about my knee?", "The left knee is swollen after a fall."),
        ("What happened at my visit on 4 May 2023?", "Seen in clinic on 4 May 2023."),
    ],
)
def test_what_only_a_paper_says_is_quoted_instead_of_denied(ask: Ask, question: str, quoted: str) -> None:
    answer = ask(question)
    assert quoted in answer.text
    assert "does not mention" not in answer.text
    assert [one.quote for one in answer.citations if quoted in " ".join(one.quote.split())]


def test_a_newer_value_on_a_paper_stands_beside_the_fact(ask: Ask) -> None:
    text = ask("What was my last potassium?").text
    assert "Potassium: 4.8 mmol/L" in text
    assert "K 5.9 H 3.5 - 5.1" in text


def test_a_list_says_which_papers_hold_no_facts_and_a_no_that_they_were_searched(ask: Ask) -> None:
    listed = ask("Which medicines do I take?").text
    assert "2 documents have no facts taken from them (“" in listed
    assert "“Letter to your practice”" in listed
    assert "Your 2 documents were searched too." in ask("What is my ferritin?").text


@pytest.mark.parametrize(
    ("question", "said", "never"),
    [
        ("Who prescribed my blood pressure tablets?", "does not mention blood pressure tablets", "Warfarin"),
        ("Do I have asthma?", "does not mention asthma among your conditions", "Angina"),
        ("do I have bleeding?", "does not mention bleeding", "Prediabetes"),
        ("What do I take for gout?", "does not mention gout", "Warfarin"),
        ("Which operations did I have on my hip?", "does not mention hip", "Check"),
        ("Did Dr Okafor find anything when I saw her?", "does not mention okafor among your visits", "Check"),
        ("My mum has chest pain and cannot breathe", "This may be an emergency", "Potassium"),
    ],
)
def test_what_was_not_asked_for_is_no_answer(ask: Ask, question: str, said: str, never: str) -> None:
    answer = ask(question)
    assert said in answer.text
    assert never not in answer.text
    assert answer.confidence.calibrated < 0.8


def test_what_shares_a_word_is_told_as_such(ask: Ask) -> None:
    mother = ask("does my mother have diabetes?").text
    assert "does not mention diabetes among your conditions" in mother
    assert "Prediabetes" in mother
    assert "Albuterol" in ask("Do I have asthma?").text
    assert ask("does my mother have diabetes?").confidence.calibrated < 0.8


def test_a_day_is_looked_up_by_its_date_and_not_by_what_came_after(ask: Ask) -> None:
    text = ask("What happened at my visit on 3 March 2021?").text
    assert "Your record has 1 entry from 3 March 2021:" in text
    assert "Potassium" not in text


def test_whether_something_may_be_taken_is_left_to_a_pharmacist(ask: Ask) -> None:
    text = ask("Can I take ibuprofen?").text
    assert "does not mention ibuprofen" in text
    assert "pharmacist" in text


def test_a_gap_names_the_paper_in_which_the_test_stands(record: Record) -> None:
    (gap,) = [one for one in record.alerts() if one.kind is AlertKind.GAP]
    assert "It appears in “Letter to your practice”, which has no facts taken from it: look there first." in gap.text


def count_of(day: str, value: float, name: str) -> LabResult:
    """A count of white cells under one code, however it is written."""
    made = LabResult(id=day, origin=REPORTED, test_name=name, value=value, unit="10*3/uL", collected=PartialDate(day))
    return replace(made, code="6690-2")


def test_a_character_that_nobody_sees_makes_no_second_test() -> None:
    old = count_of("1996-02-01", 0.83, "Leukocytes [#/\u200bvolume] in Blood")
    new = count_of("1996-12-09", 10.45, "Leukocytes [#/volume] in Blood")
    assert find_alerts([old, new]) == []
    assert len(series_of([old, new])) == 1
    uncoded = [replace(one, code=None) for one in (new, old)]
    assert KnownFacts(tuple(uncoded)).latest(uncoded) == uncoded[:1]
    assert plain_name("Leukocytes [#/\u200bvolume]") == "Leukocytes [#/volume]"


def test_a_result_without_a_range_is_not_called_in_range() -> None:
    known = KnownFacts((count_of("2024-01-02", 1.2, "Leukocytes"), count_of("2023-01-02", 5.0, "Leukocytes")))
    asked = gather("What should I ask?", intents_of("What should I ask?", now=NOW), known, lexicon=Lexicon.load())
    assert asked is not None
    assert "1 result beyond usual limits" in asked.lead
    assert asked.after == (
        "One of your tests has no laboratory range, so the record does not say whether the value is in range."
    )
    sheet = {group.id: group for group in sheet_groups(known.facts)}
    assert [row.text for row in sheet["results"].lines] == ["Leukocytes: 1.2 ×10³/µL; on 2 January 2024"]
    plain = {group.id: group for group in sheet_groups(known.facts[1:])}
    assert "no laboratory range" in plain["results"].none


@pytest.mark.parametrize("name", ["IMG_0042.HEIC", "film.mp4", "voice.m4a"])
def test_a_film_or_a_photo_of_another_kind_is_no_text(record: Record, name: str) -> None:
    before = len(record.papers())
    for data in (b"x", bytes(range(256)) * 9):
        with pytest.raises(UnsupportedFile, match="as JPEG, PNG or PDF"):
            record.import_source(Source(data, name))
    assert len(record.papers()) == before


def test_what_is_now_in_an_old_record_says_of_when_it_is() -> None:
    told = bundle({**PATIENT, "deceasedDateTime": "2024-06-03"}, *ALL[1:])
    known = KnownFacts(tuple(read_fhir(told).facts))
    assert how_old(known, now=NOW) == (
        "The person in this record died on 3 June 2024. “Now” in this answer means that date."
    )
    (person,) = known.of(RecordOwner)
    assert "died 3 June 2024" in line_of(person)
    alive = KnownFacts(tuple(read_fhir(bundle(*ALL)).facts))
    assert (
        how_old(alive, now=NOW)
        == "The latest entry in your record is from 1 May 2024. “Now” in this answer means that date."
    )
    assert how_old(alive, now=datetime(2024, 6, 1, tzinfo=UTC)) == ""


def test_a_chart_is_told_with_units_as_people_write_them() -> None:
    ranged = replace(count_of("1996-02-01", 4.2, "Leukocytes"), range_low=4.0, range_high=11.0)
    (series,) = series_of([ranged])
    assert chart_words(series) == "Leukocytes: latest 4.2 ×10³/µL on 1 February 1996, in range. Range 4 to 11."


def test_results_are_sorted_as_patients_do_and_go_by_their_short_names() -> None:
    def seen(name: str, category: ResultCategory, **value: object) -> LabResult:
        return LabResult(id=name, origin=REPORTED, test_name=name, category=category, **value)

    found = series_of(
        [
            seen("Cause of Death [US Standard Certificate of Death]", ResultCategory.EXAM, value_text="Fall"),
            seen("Tobacco smoking status", ResultCategory.SURVEY, value_text="Never smoker"),
            seen("Sodium [Moles/volume] in Serum", ResultCategory.LABORATORY, value=139.0),
            seen("Body temperature", ResultCategory.VITAL_SIGNS, value=36.6, unit="Cel"),
            seen("Pain severity", ResultCategory.VITAL_SIGNS, value=2.0, unit="{score}"),
        ]
    )
    assert {one.name: (str(one.group), one.reading.value) for one in found} == {
        "Body temperature": ("vitals", "36.6 °C"),
        "Cause of Death": ("notes", "Fall"),
        "Pain severity": ("scores", "2"),
        "Sodium": ("laboratory", "139"),
        "Tobacco smoking status": ("scores", "Never smoker"),
    }
