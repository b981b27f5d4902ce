"""What a record cannot answer itself is told with what it holds: side effects, reasons, interactions, what is due."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.app import build
from citewell.assistants.records.answer_open_questions import NO_CAUSE, NOT_CHECKED, NOT_DUE
from citewell.assistants.records.fact_query import GatheredFacts
from citewell.assistants.records.gather import gather
from citewell.assistants.records.intents import intents_of
from citewell.assistants.records.known_facts import KnownFacts
from citewell.assistants.records.named_facts import unused
from citewell.clinical import Lexicon
from citewell.config import Settings
from citewell.types import Source, User
from citewell.types.facts import (
    REPORTED,
    Allergy,
    Appointment,
    Fact,
    Flag,
    LabResult,
    Medication,
    MedicationStatus,
    PartialDate,
    Professional,
    Symptom,
    Vaccination,
    VisitStatus,
    fact_id,
)
from citewell.vaults.ask import make_record_service
from citewell.vaults.health_record import Record

NOW = datetime(2026, 11, 1, tzinfo=UTC)
STOPPED = MedicationStatus.STOPPED


def medicine(name: str, start: str, **fields: object) -> Medication:
    return Medication(id=fact_id(name, start), origin=REPORTED, generic_name=name, start=PartialDate(start), **fields)


def result(test: str, value: float, day: str, **fields: object) -> LabResult:
    return LabResult(
        id=fact_id(test, day), origin=REPORTED, test_name=test, value=value, collected=PartialDate(day), **fields
    )


def visit(day: str, status: VisitStatus) -> Appointment:
    return Appointment(
        id=day, origin=REPORTED, name="Check up", at=PartialDate(day), professional="Dr Ada Chen", status=status
    )


FACTS: tuple[Fact, ...] = (
    medicine("Warfarin", "2001-05-01"),
    medicine("Simvistatin", "2020-06-04", reason_start="Hyperlipidemia"),
    medicine("Simvistatin", "2011-06-07", status=STOPPED),
    medicine("Ramipril", "2024-01-01", status=STOPPED, reason_stop="dry cough"),
    Allergy(id="a1", origin=REPORTED, allergen="Sulfa drugs", reaction="rash"),
    Symptom(id="s1", origin=REPORTED, specific="swollen ankles", severity=2, recorded=PartialDate("2026-08-01")),
    result("Creatinine", 1.0, "2015-03-01"),
    result("Creatinine", 1.4, "2026-03-01", flag=Flag.HIGH),
    result("Sodium", 139, "2026-02-01", flag=Flag.NORMAL),
    Professional(id="p1", origin=REPORTED, name="Dr Ada Chen"),
    visit("2025-03-01", VisitStatus.DONE),
)


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon.load()


@pytest.fixture
def told(lexicon: Lexicon) -> Callable[..., GatheredFacts]:
    def ask(question: str, *more: Fact) -> GatheredFacts:
        wanted = intents_of(question, now=NOW)
        found = gather(question, wanted, KnownFacts((*FACTS, *more)), lexicon=lexicon, now=NOW)
        assert found is not None, question
        return found

    return ask


def names(found: GatheredFacts) -> list[str]:
    return [
        str(
            next(
                getattr(one, field)
                for field in ("generic_name", "specific", "allergen", "test_name", "name")
                if hasattr(one, field)
            )
        )
        for one in found.facts
    ]


@pytest.mark.parametrize(
    "question",
    [
        "Any side effects of my tablets?",
        "I keep feeling light headed when I stand up, is it one of my pills?",
        "Could this be from my medicines?",
        "Habe ich Nebenwirkungen?",
    ],
)
def test_side_effects_are_told_as_what_was_noted_and_never_as_a_cause(
    told: Callable[..., GatheredFacts], question: str
) -> None:
    found = told(question)
    assert found.lead.startswith("Your record does not list any side effects of your medicines.")
    assert names(found) == ["swollen ankles", "Ramipril", "Sulfa drugs"]
    assert found.after == NO_CAUSE


def test_side_effects_of_one_medicine_are_not_those_of_another(told: Callable[..., GatheredFacts]) -> None:
    assert names(told("Does warfarin have side effects?")) == ["Warfarin"]
    assert names(told("What side effects did ramipril have?")) == ["Ramipril"]
    found = told("What are the side effects of metformin?")
    assert found.facts == ()
    assert found.after == f"Your record does not mention metformin among your medicines. {NO_CAUSE}"


def test_a_reason_is_told_where_the_record_gives_one(told: Callable[..., GatheredFacts]) -> None:
    assert told("Why do I take warfarin?").lead == "Your record does not say why this is taken. It has this:"
    assert told("What is simvastatin for?").lead == "Your record gives a reason for this:"
    stopped = told("Why was ramipril stopped?")
    assert (stopped.lead, names(stopped)) == ("Your record gives a reason for this:", ["Ramipril"])


@pytest.mark.parametrize(
    "question",
    [
        "Do my medicines interact?",
        "Are any of my medicines clashing with each other?",
        "Can I have a glass of wine with my tablets?",
        "Gibt es Wechselwirkungen?",
    ],
)
def test_what_goes_together_is_left_to_the_pharmacist(told: Callable[..., GatheredFacts], question: str) -> None:
    found = told(question)
    assert names(found) == ["Simvistatin", "Warfarin"]
    assert NOT_CHECKED in found.after


def test_what_is_due_is_not_guessed(told: Callable[..., GatheredFacts]) -> None:
    found = told("Am I due any blood tests?")
    assert found.lead == (
        "Your record does not say which tests are due. With these medicines doctors usually check INR, and your "
        "facts include no recent result:"
    )
    assert (names(found), found.after) == (["Warfarin"], NOT_DUE)
    assert told("Which vaccines am I missing?").after == NOT_DUE


def test_the_next_visit_is_one_that_is_still_to_come(told: Callable[..., GatheredFacts]) -> None:
    over = visit("2026-01-05", VisitStatus.PLANNED)
    assert told("When is my next appointment?", over).lead == "Your record has no upcoming visit."
    found = told("When is my next appointment?", over, visit("2026-12-05", VisitStatus.PLANNED))
    assert [one.id for one in found.facts] == ["2026-12-05"]


def test_results_out_of_range_are_those_alone_and_of_the_time_that_is_asked_for(
    told: Callable[..., GatheredFacts],
) -> None:
    assert names(told("Which of my results are abnormal?")) == ["Creatinine"]
    assert told("Were any results abnormal this year?").lead.startswith("Your record has 2 tests from 2026. ")
    assert told("Were any of my results abnormal in 2015?").lead == (
        "Your record marks none of 1 test from 2015 as out of range."
    )
    assert told("Were any of my results abnormal last year?").lead == "Your record has no result from 2025."


def test_a_month_ends_where_the_next_begins() -> None:
    wanted = intents_of("What happened in February 2024?", now=NOW)
    assert (wanted.until, wanted.words) == (datetime(2024, 3, 1, tzinfo=UTC), "February 2024")
    assert intents_of("What happened in 2023?", now=NOW).until == datetime(2024, 1, 1, tzinfo=UTC)


def test_a_course_of_several_tests_shows_each(told: Callable[..., GatheredFacts]) -> None:
    more = [result("Glomerular filtration rate", value, f"{year}-01-01") for year, value in ((2015, 90), (2026, 40))]
    found = told("Is my kidney function getting worse?", *more)
    assert [(one.test_name, one.value) for one in found.facts if isinstance(one, LabResult)] == [
        ("Creatinine", 1.0),
        ("Creatinine", 1.4),
        ("Glomerular filtration rate", 90),
        ("Glomerular filtration rate", 40),
    ]
    then_and_now = told("What was my creatinine in 2015 compared with now?")
    assert [one.value for one in then_and_now.facts if isinstance(one, LabResult)] == [1.0, 1.4]


def test_one_wrong_letter_does_not_hide_a_medicine_and_its_first_entry_is_told(
    told: Callable[..., GatheredFacts],
) -> None:
    found = told("How long have I been on simvastatin?")
    assert found.lead == (
        "Your record lists this among your current medicines. The earliest entry for it is from 7 June 2011:"
    )
    assert found.after == "How long: Simvistatin began about 15 years ago.\n\nYour record spells this “simvistatin”."
    assert names(told("When did I start warfrin?")) == ["Warfarin"]
    assert told("Do I take valsartan?", medicine("Losartan", "2024-01-01")).lead == (
        "Your record does not mention valsartan."
    )


def test_an_allergy_of_the_same_group_is_told(told: Callable[..., GatheredFacts]) -> None:
    found = told("Can I take co-trimoxazole?")
    assert found.lead == (
        "Your record does not list co-trimoxazole by that name among your allergies. It lists this, and both are "
        "sulfonamide antibiotics:"
    )
    assert "is a question for your pharmacist or doctor" in found.after


@pytest.mark.parametrize(
    "question", ["Should I stop taking warfarin?", "Can I halve my warfarin?", "Can I take warfarin?"]
)
def test_whether_to_take_or_stop_something_is_left_to_those_who_know(
    told: Callable[..., GatheredFacts], question: str
) -> None:
    found = told(question)
    assert "Warfarin" in names(found)
    assert found.after.endswith("a record cannot answer it.")


def test_what_was_said_at_a_visit_is_not_made_up(told: Callable[..., GatheredFacts]) -> None:
    found = told("What did Dr Chen say?")
    assert found.lead == "Your record does not include what was said at a visit. It lists 1 visit:"


def test_a_time_that_is_not_on_record_does_not_hide_the_newest_result(told: Callable[..., GatheredFacts]) -> None:
    found = told("How has my sodium been in 2019?")
    assert found.lead == "Your record has no result for Sodium from 2019. The latest recorded:"
    assert names(found) == ["Sodium"]


def test_the_highest_and_the_lowest_are_looked_up(told: Callable[..., GatheredFacts]) -> None:
    assert told("What was the highest my creatinine has ever been?").facts == (FACTS[7],)
    assert told("What was my lowest creatinine?").lead == "The lowest of 2 results for Creatinine in your record:"


def test_a_month_without_a_year_is_the_last_one_that_has_begun() -> None:
    wanted = intents_of("Why was I in hospital in September?", now=NOW)
    assert (wanted.since, wanted.words) == (datetime(2026, 9, 1, tzinfo=UTC), "September 2026")
    assert intents_of("What changed since December?", now=NOW).since == datetime(2025, 12, 1, tzinfo=UTC)
    assert intents_of("May I take it?", now=NOW).since is None


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("What was my sodium five years ago?", "2021-01-01", "2022-01-01"),
        ("What was my sodium 2 months ago?", "2026-09-01", "2026-10-01"),
        ("What changed since last year?", "2025-01-01", None),
        ("What happened last month?", "2026-10-01", "2026-11-01"),
        ("What happened over the last year?", "2025-11-01", None),
    ],
)
def test_times_are_understood_as_people_say_them(question: str, since: str, until: str | None) -> None:
    wanted = intents_of(question, now=NOW)
    assert [day and day.date().isoformat() for day in (wanted.since, wanted.until)] == [since, until]


def test_lay_words_find_weights_clotting_doctors_and_medicines_for_something(
    told: Callable[..., GatheredFacts],
) -> None:
    weight = result("Body Weight", 90, "2020-01-01", unit="kg")
    assert names(told("How much do I weigh?", weight)) == ["Body Weight"]
    assert names(told("What was my weight five years ago?", weight)) == ["Body Weight"]
    assert names(told("Is my blood thin enough?", result("INR", 2.5, "2026-01-01"))) == ["INR"]
    assert names(told("Who is my GP?")) == ["Dr Ada Chen"]
    assert names(told("What do I take for my heart?")) == ["Warfarin", "Ramipril"]  # taken now, and stopped


@pytest.mark.parametrize(
    ("asked_for", "held"),
    [
        ("tetanus jab", "Td (adult) preservative free"),
        ("flu jab", "Influenza, seasonal, injectable"),
        ("Keuchhusten Impfung", "Tdap"),
        ("shingles vaccine", "zoster vaccine, live"),
        ("MMR", "measles, mumps and rubella virus vaccine"),
    ],
)
def test_vaccines_are_known_by_what_patients_call_them(
    told: Callable[..., GatheredFacts], asked_for: str, held: str, lexicon: Lexicon
) -> None:
    given = [
        Vaccination(id=name, origin=REPORTED, name=name, given=PartialDate("2020-01-01"))
        for name in (held, "Hep B, adult", "rotavirus, monovalent")
    ]
    question = f"When was my last {asked_for}, which vaccination?"
    assert names(told(question, *given)) == [held]
    assert "not mentioned in your record" not in {one["why"] for one in unused(question, given, [], lexicon=lexicon)}


LETTER = """Riverside Practice
12 October 2026

Dear Mr Grey,

Thank you for coming. Your ankles have been swelling since we started amlodipine. I have stopped it.
Your potassium was 6.6 mmol/L on 8 October 2026. The kidney clinic will see you in two weeks.
Allergies: codeine (vomiting).

Yours sincerely,

Dr Hannah Osei
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[Callable[[str], str]]:
    with build(Settings(home=tmp_path_factory.mktemp("open") / "home")) as app:
        app.__dict__["embedder"] = embedder
        record = Record(app)
        record.import_source(Source(LETTER.encode(), "letter.txt"))
        record.facts.put([*FACTS, result("Potassium", 4.4, "2020-01-01", unit="mmol/L")], scope=record.scope)
        service = make_record_service(app, record.facts)
        yield lambda question: service.answer(question, asker=User.owner(record.scope)).answer.text


def test_a_newer_paper_stands_before_an_older_fact(asked: Callable[[str], str]) -> None:
    text = asked("What is my potassium?")
    assert text.startswith("Your documents mention this too, and may be newer than your list of facts.")
    assert text.index("(12 October 2026): Your potassium was 6.6 mmol/L") < text.index("Potassium: 4.4 mmol/L")
    assert "no facts taken from" not in text  # it was just quoted


def test_a_letter_is_told_by_who_wrote_it_or_as_the_newest(asked: Callable[[str], str]) -> None:
    whole = asked("What did Dr Osei say?")
    assert whole.startswith("Your document of 12 October 2026 (“")
    assert "by Dr Hannah Osei) says:" in whole
    assert whole.count("•") == 6
    assert "• I have stopped it." in whole
    assert asked("What does my last letter say?").count("•") == 6
    assert asked("What did Dr Osei say about my kidneys?").count("•") == 1
    assert asked("What did the kidney doctor say?").count("•") == 6
    assert "Dr Hannah Osei" not in asked("What did Dr Chen say?")


def test_papers_are_searched_for_side_effects_visits_and_critical_values(asked: Callable[[str], str]) -> None:
    assert "swelling since we started amlodipine" in asked("Any side effects of my tablets?")
    assert "The kidney clinic will see you in two weeks." in asked("When is my next appointment?")
    open_ones = asked("What should I ask at my next appointment?")
    assert "values in documents that laboratories usually call a doctor about" in open_ones
    assert "potassium was 6.6 mmol/L" in open_ones


def test_allergies_of_papers_are_told_whatever_medicine_is_asked_for(asked: Callable[[str], str]) -> None:
    assert "Allergies: codeine (vomiting)." in asked("Can I take tramadol?")


def test_a_list_of_medicines_quotes_a_newer_paper_that_names_some(asked: Callable[[str], str]) -> None:
    text = asked("Which medicines do I take?")
    assert text.index("since we started amlodipine") < text.index("Warfarin")


def test_what_happened_in_a_month_is_told_from_a_paper_of_it(asked: Callable[[str], str]) -> None:
    text = asked("What happened in October 2026?")
    assert text.startswith("Your documents have this, which is not among your facts:")
    assert "I have stopped it." in text


def test_who_finds_nothing_is_told_which_papers_to_look_into(asked: Callable[[str], str]) -> None:
    assert asked("What infection did I have and what was it treated with?").endswith(
        "Your documents were searched word by word and may use different words. "
        "You could look into “Riverside Practice”."
    )


@pytest.mark.parametrize(
    "said", ["I have crushing pain in my chest", "Ich kriege keine Luft mehr", "Mon mari ne respire plus, que faire ?"]
)
def test_beside_an_emergency_nothing_is_said_that_was_not_asked_for(asked: Callable[[str], str], said: str) -> None:
    text = asked(said)
    assert "112" in text
    assert text.count("\n") == 0
    assert asked("I have crushing pain in my chest. What should I do?").count("\n") == 0
    besides = asked("I have crushing pain in my chest. What do my papers say of the ankles?")
    assert besides.startswith("This may be an emergency.")
    assert "ankles have been swelling" in besides
    both = asked("I have crushing pain in my chest, am I allergic to anything?")
    assert both.startswith("This may be an emergency.")
    assert "Sulfa drugs" in both
