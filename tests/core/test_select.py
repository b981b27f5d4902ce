"""What answers a question is chosen by the trained reader and a few plain features: few statements, best first."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from citewell.adapters.entailment.pair import ANSWERS, AnswerReader, LazyPairReader
from citewell.adapters.llm.extractive import Extractive
from citewell.answer import select as selecting
from citewell.answer.expand import expand
from citewell.answer.select import NAMES, answer_chance, laid_out, rerank, select
from citewell.answer.statements import Statement, with_doses
from citewell.app import build
from citewell.clinical import Lexicon
from citewell.config import Settings
from citewell.errors import ModelFilesMissing
from citewell.types import Claim, Context, Evidence, EvidenceSpan, SentenceCheck, Verdict
from tests.core.test_statements import passage

Answer = Callable[..., list[str]]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> AnswerReader:
    return AnswerReader(tmp_path_factory.mktemp("reader"))


@pytest.fixture
def answer(reader: AnswerReader) -> Answer:
    def answered(question: str, *evidence: Evidence) -> list[str]:
        expansions = expand(question, lexicon=Lexicon.load(), to_answer=True)
        return [one.text for one in select(question, evidence, reader=reader, expansions=expansions)]

    return answered


MISSED = passage(
    "Take warfarin at the same time each day. If you miss a dose, take it as soon as you remember on the same day. "
    "Warfarin tablets are brown, blue or pink.",
    document="Taking warfarin",
)
EGGS = passage("Boil the eggs for four minutes. Serve them with toast.", number=2, document="Breakfast", relevance=0.05)


def test_the_statement_that_answers_comes_first(answer: Answer) -> None:
    assert answer("What should I do if I miss a dose of warfarin?", MISSED)[0].startswith("If you miss a dose")
    assert answer("What colour are warfarin tablets?", MISSED)[0] == "Warfarin tablets are brown, blue or pink."


def test_nothing_is_shown_where_nothing_answers(answer: Answer) -> None:
    assert answer("What should I do if I miss a dose of warfarin?", EGGS) == []
    assert answer("anything", passage("")) == []
    assert answer("What should I do if I miss a dose of warfarin?") == []


def test_a_sentence_that_leans_on_another_brings_it_along(answer: Answer) -> None:
    text = "The test is called INR. It shows how long your blood takes to clot."
    assert answer("What does the INR test show?", passage(text, document="Warfarin"))[:2] == [
        "The test is called INR.",
        "It shows how long your blood takes to clot.",
    ]


def test_nothing_stands_between_a_dose_and_the_medicine_it_is_of() -> None:
    ibuprofen = Statement(1, "sentence", ((0, 30),), ("Ibuprofen is given by weight.",), ())
    other = Statement(1, "sentence", ((90, 117),), ("Paracetamol is given first.",), ())
    dose = Statement(1, "sentence", ((31, 62),), ("A child of 12 kg needs 120 mg.",), (), previous=ibuprofen)
    again = Statement(1, "sentence", ((63, 80),), ("It is given once.",), (), previous=dose)
    assert laid_out([ibuprofen, other, dose]) == [ibuprofen, dose, other]
    assert laid_out([other, again, dose]) == [other, ibuprofen, dose, again]


def test_this_dose_is_not_taken_from_another_medicine() -> None:
    found = [
        Statement(1, "sentence", ((at, at + 1),), (text,), ("Fever",))
        for at, text in enumerate(
            (
                "Give amoxicillin 250 mg.",
                "Give paracetamol for fever.",
                "Repeat this dose of paracetamol after 6 hours.",
            )
        )
    ]
    assert [one.previous for one in with_doses(found)] == [None] * 3
    same = replace(found[2], lines=("Repeat this dose of amoxicillin after 6 hours.",))
    later = replace(found[1], lines=("It may be given with food.",), previous=same)
    renewed = list(with_doses([found[0], same, later]))
    assert renewed[1].previous == found[0]
    assert renewed[2].previous == renewed[1]


def test_a_dose_stands_behind_the_medicine_it_is_of_whichever_answers_better(answer: Answer) -> None:
    text = "Ondansetron helps a child who vomits. It is given once: 2 mg by mouth."
    shown = answer("How much ondansetron is given?", passage(text, document="Vomiting"))
    assert shown == ["Ondansetron helps a child who vomits.", "It is given once: 2 mg by mouth."]


def test_a_sentence_of_another_medicine_s_section_is_not_shown(answer: Answer) -> None:
    text = "Dabigatran is stopped early. Give the last dose 24 hours before the operation."
    theirs = passage(text, section=("Anticoagulants", "Dabigatran"))
    assert answer("When is the last dose of warfarin before an operation?", theirs) == []


def test_the_same_words_in_two_documents_are_shown_once(answer: Answer) -> None:
    text = "Stop antibiotics for pneumonia after five days."
    copies = [passage(text, number=1), passage(f"{text} [2024, amended 2025]", number=2)]
    assert len(answer("When are antibiotics for pneumonia stopped?", *copies)) == 1


def test_no_more_than_three_statements_are_shown(answer: Answer) -> None:
    doses = [f"Give warfarin {number} mg on day {number} of treatment." for number in range(1, 9)]
    assert 0 < len(answer("How much warfarin is given on each day?", passage(" ".join(doses)))) <= 3


def test_what_is_asked_of_one_medicine_is_not_answered_from_the_label_of_another(answer: Answer) -> None:
    mine = passage("Overdose of warfarin is treated with vitamin K.", section=("Warfarin tablets", "Overdose"))
    theirs = passage(
        "Overdose of metformin is treated by dialysis.", number=2, section=("Metformin tablets", "Overdose")
    )
    assert answer("How is a warfarin overdose treated?", mine, theirs) == [mine.text]


NOT_SHOWN = {
    "another member of the class": (
        "Can ibuprofen be given in dengue?",
        passage("Do not give NSAIDs such as naproxen in dengue."),
    ),
    "the class under another medicine": (
        "Can ibuprofen be given in dengue?",
        passage("Do not give NSAIDs in dengue.", document="Naproxen"),
    ),
    "another step": (
        "Which medicine is added at step 2?",
        passage("Add spironolactone.", section=("Hypertension", "Step 4 treatment")),
    ),
    "another weight": (
        "How much ORS for a child of 16 kg?",
        passage("Give ORS by mouth. A child of 12 kg needs 900 ml of ORS."),
    ),
    "another row of results": (
        "What is done at an INR of 6?",
        passage("INR: Above 8.0; What is done: Vitamin K is given\nINR: 2.0 to 3.0; What is done: Nothing"),
    ),
    "a term with the dose of another medicine": (
        "How much ORS does a child of 12 kg need?",
        passage("Ondansetron. Give one dose to a child who cannot keep ORS down: 2 mg for 8 to 15 kg."),
    ),
    "another kidney function": (
        "When is apixaban stopped before surgery, CrCl 25?",
        passage("Anticoagulant: Apixaban; Creatinine clearance: 30 mL/min or more; Stop: 48 hours before surgery"),
    ),
    "no weight that has a dose": (
        "Ondansetron dose for a child of 6 kg?",
        passage(
            "Give ondansetron if a child cannot drink: 2 mg for 8 to 15 kg, 4 mg for more than 15 and up to 30 kg."
        ),
    ),
    "no age that has a dose": (
        "How much amoxicillin for a 3-week-old?",
        passage(
            "Medicine: Amoxicillin; Dose: 1 month to 11 months, 125 mg three times a day 1 year to 4 years, 250 mg"
        ),
    ),
    "people without the allergy": (
        "Which antibiotic for pneumonia in someone allergic to penicillin?",
        passage("Give amoxicillin 500 mg for pneumonia.", section=("Pneumonia", "People without penicillin allergy")),
    ),
    "people who are not pregnant": (
        "Which antibiotic for a urine infection in a pregnant woman?",
        passage("Give trimethoprim for a urine infection.", section=("Urine infection", "Women who are not pregnant")),
    ),
    "what is to be done, for what is not": (
        "Which patients should not be given bridging heparin?",
        passage("Offer bridging heparin to patients with a mechanical mitral valve."),
    ),
    "adults": (
        "How much paracetamol for my 5 year old?",
        passage("Adults take paracetamol 1 g every 6 hours.", section=("Paracetamol", "Adults")),
    ),
}


@pytest.mark.parametrize(("question", "other"), NOT_SHOWN.values(), ids=NOT_SHOWN)
def test_what_is_said_of_something_else_is_not_shown(answer: Answer, question: str, other: Evidence) -> None:
    assert not [one for one in answer(question, other) if one != "Give ORS by mouth."]


FROM_SIXTEEN = "People aged 16 and over take 400 mg of ibuprofen three times a day for pain."


@pytest.mark.parametrize(
    ("question", "is_shown"),
    [
        ("What is the dose of ibuprofen for pain in a child?", False),
        ("How much ibuprofen for pain for my 5 year old?", False),
        ("How much ibuprofen for pain for my 16 year old?", True),
        ("What is the dose of ibuprofen for pain in an adult?", True),
    ],
)
def test_a_dose_from_an_age_on_is_quoted_for_whoever_has_that_age(
    answer: Answer, question: str, is_shown: bool
) -> None:
    assert answer(question, passage(FROM_SIXTEEN)) == ([FROM_SIXTEEN] if is_shown else [])


SHOWN = {
    "a limit that answers whether": (
        "Can a 4-month-old have ibuprofen?",
        "Give ibuprofen to children aged 6 months or more.",
    ),
    "one of several ages": (
        "Zinc dose for a baby of 4 months?",
        "Zinc: 10 mg under 6 months, 20 mg from 6 months on.",
    ),
    "a prohibition for these people": (
        "Can she take warfarin? She is pregnant.",
        "Warfarin is contraindicated in pregnant women.",
    ),
    "a prohibition, not asked for as yes or no": (
        "Warfarin for a pregnant woman?",
        "Warfarin is contraindicated in pregnant women.",
    ),
    "a bare value": ("INR 12", "INR: Above 8.0; What is done: Warfarin is stopped and vitamin K given"),
}


@pytest.mark.parametrize(("question", "said"), SHOWN.values(), ids=SHOWN)
def test_what_is_said_of_this_patient_is_shown(answer: Answer, question: str, said: str) -> None:
    assert answer(question, passage(said)) == [said]


def test_stitches_that_are_ten_days_old_are_no_child(answer: Answer) -> None:
    said = "In adults, stitches come out after 10 days."
    assert answer("My stitches are 10 days old, can they come out?", passage(said)) == [said]


def test_what_stands_under_the_step_that_is_asked_for_is_shown(answer: Answer) -> None:
    text = "Add a calcium-channel blocker such as amlodipine."
    added = passage(text, section=("Hypertension in adults", "Step 2 treatment"), document="Hypertension in adults")
    assert answer("Which medicine is added at step 2 of the treatment of hypertension?", added) == [text]


def test_what_is_said_of_a_class_is_said_of_its_members(answer: Answer) -> None:
    advice = "Do not give NSAIDs in dengue."
    assert answer("Can ibuprofen be given in dengue?", passage(advice)) == [advice]


def test_what_speaks_of_this_dose_comes_with_the_one_that_gives_it(answer: Answer) -> None:
    text = "Give ibuprofen 200 mg.\n\nIf the pain comes back, ibuprofen can be given in this dose every 6 hours."
    shown = answer("How often can ibuprofen be given in this dose if the pain comes back?", passage(text))
    assert shown[0] == "Give ibuprofen 200 mg."


def test_without_the_reader_words_and_cosines_choose() -> None:
    question = "What should I do if I miss a dose of warfarin?"
    shown = [one.text for one in select(question, [MISSED, EGGS], reader=None)]
    assert any(one.startswith("If you miss a dose") for one in shown)
    assert not any("eggs" in one for one in shown)


def test_passages_whose_statements_answer_come_first(reader: AnswerReader) -> None:
    hits = [EGGS.hit, MISSED.hit]
    found = rerank("What should I do if I miss a dose of warfarin?", hits, reader=reader, expansions=(), limit=1)
    assert found == (MISSED.hit,)


def test_an_answer_to_something_else_has_little_confidence(reader: AnswerReader) -> None:
    def confidence(question: str, quote: str) -> float:
        start = MISSED.text.index(quote)
        span = EvidenceSpan(MISSED.hit.source_id, start, start + len(quote), quote)
        claim = Claim(quote, SentenceCheck(Verdict.SUPPORTED, (), span, 1.0), (1,), is_shown=True)
        return answer_chance(question, [claim], Context((MISSED,)), reader=reader, expansions=())

    quote = "Warfarin tablets are brown, blue or pink."
    assert confidence("What colour are warfarin tablets?", quote) > 0.5
    assert confidence("What should I do if I miss a dose of warfarin?", quote) < 0.5
    assert answer_chance("Any?", [], Context((MISSED,)), reader=reader, expansions=()) == 0.0


def test_the_writer_marks_every_sentence_and_says_nothing_without_evidence(reader: AnswerReader) -> None:
    writer = Extractive(Lexicon.load(), reader=reader)
    question = "What should I do if I miss a dose of warfarin?"
    assert "".join(writer.write(question, Context((MISSED,)), rules="")).startswith("If you miss a dose, take it")
    assert list(writer.write(question, Context(()), rules="")) == []
    assert (writer.name, writer.reply, writer.count("Take 5 mg."), writer.rate("", Context(()), "")) == (
        "extractive",
        0,
        4,
        None,
    )


def test_the_table_of_weights_has_at_most_twelve_features_and_no_other() -> None:
    table = json.loads(Path(selecting.WEIGHTS).read_text("utf-8"))
    assert [set(weights["features"]) for weights in table.values()] == [set(NAMES)] * 2
    assert len(NAMES) <= 12


@pytest.mark.slow
def test_questions_are_answered_with_the_reader_and_it_is_on_record(samples_home: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(samples_home, tmp_path / "home"))
    with build(Settings(home=home, answer_reader=True)) as app:
        asker = app.owner()
        done = app.ask_service.answer("What should I do if I forget to take my warfarin?", asker=asker)
        assert "If you remember before midnight, take it." in done.answer.text
        assert 0 < done.answer.confidence.calibrated < 1
        setup = app.ask_service.audit.read(done.answer.id, asker).words["setup"]
        assert setup["answer_reader"].startswith("answer reader, sha256 ")
        assert app.ask_service.replay(done.answer.id, asker).is_same
        beside = app.ask_service.answer("Who won the football match on Saturday?", asker=asker).answer
        assert not [claim for claim in beside.claims if claim.is_shown]


def test_a_damaged_file_of_the_reader_is_told(tmp_path: Path) -> None:
    (tmp_path / "answers.npz").write_bytes(b"no adapter")
    broken = replace(ANSWERS, adapter=tmp_path / "answers.npz")
    with pytest.raises(ModelFilesMissing, match="missing or damaged"):
        broken.tensors()


@pytest.mark.slow
def test_without_its_ranges_the_reader_computes_in_full_precision(tmp_path: Path) -> None:
    opened = LazyPairReader(replace(ANSWERS, ranges=tmp_path / "none.npz"), tmp_path, "auto", 1)
    assert ANSWERS.is_true(opened.run())
