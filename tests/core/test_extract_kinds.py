"""What is no answer of the kind that is asked for: another grade or weight, a change note, a mere mention."""

from __future__ import annotations

import pytest

from citewell.answer.subjects import Section, graded_subjects, missed, subjects
from citewell.answer.wanted import wanted
from citewell.clinical import Lexicon
from tests.core.test_extract import answer, passage

PLANS = """Plan B: some dehydration

Give ORS 75 ml/kg by mouth over 4 hours.

Plan C: severe dehydration

Give ORS 5 ml/kg per hour once the child can drink.
"""
SIGNS = """Degree of dehydration

Sign: Eyes; Some dehydration: Sunken; Severe dehydration: Deeply sunken
Sign: Urine; Some dehydration: Reduced; Severe dehydration: None for 12 hours

Key points

• Severe dehydration: intravenous fluid, 100 ml/kg, with shock treated first.
"""
STOPPING = """Stopping before the procedure

Stop apixaban 48 hours before surgery.

Changes in this version

Version 3.2 lengthens the time that apixaban is stopped before surgery from 24 to 48 hours.
"""
TARGET = (
    "The test is called the international normalised ratio, or INR. Someone who takes none has an INR of about 1. "
    "For most people on warfarin the target is 2.5."
)


def test_a_section_on_another_grade_is_no_answer() -> None:
    found = answer("How much ORS for severe dehydration?", passage(PLANS))
    assert found == ["Give ORS 5 ml/kg per hour once the child can drink."]


def test_what_is_worked_out_for_another_weight_is_no_answer() -> None:
    text = "Give ORS 75 ml/kg in 4 hours. A child of 12 kg needs 900 ml of ORS. A child of 16 kg needs 1,200 ml of ORS."
    found = " ".join(answer("How much ORS for a child of 16 kg?", passage(text)))
    assert "1,200 ml" in found
    assert "900 ml" not in found


@pytest.mark.parametrize(
    "question",
    [
        "Define severe dehydration",
        "What counts as severe dehydration?",
        "What does severe dehydration mean?",
        "What is the meaning of severe dehydration?",
        "What is severe dehydration?",
    ],
)
def test_a_thing_is_told_by_its_signs_and_not_by_what_is_given_for_it(question: str) -> None:
    found = answer(question, passage(SIGNS))
    assert "Deeply sunken" in found[0]
    assert not any("intravenous" in text for text in found)


def test_a_change_note_is_no_answer_where_the_rule_is_there() -> None:
    found = answer("When should apixaban be stopped before surgery?", passage(STOPPING))
    assert found == ["Stop apixaban 48 hours before surgery."]
    changed = answer("What changed for apixaban before surgery?", passage(STOPPING))
    assert any(text.startswith("Version 3.2") for text in changed)


def test_a_target_is_named_by_a_sentence_that_gives_no_other_number() -> None:
    found = answer("what is the INR target", passage(TARGET))
    assert found == [
        "The test is called the international normalised ratio, or INR.",
        "For most people on warfarin the target is 2.5.",
    ]


@pytest.mark.parametrize(
    ("question", "said", "reason"),
    [
        ("How is mild asthma treated?", "Treat asthma with an inhaler.", "“mild asthma”"),
        ("How is mild asthma treated?", "Treat mild asthma with an inhaler.", None),
        ("How is asthma treated?", "Asthma is common in towns.", "how it is treated"),
        ("How is asthma diagnosed?", "Asthma raises the risk of pneumonia.", "how it is diagnosed"),
        ("How is asthma diagnosed?", "Measure peak flow in asthma.", None),
        ("What is asthma?", "• Asthma and eczema", "what it is"),
        ("What is asthma?", "Asthma is a disease of the airways.", None),
    ],
)
def test_an_answer_says_what_is_asked_of_a_thing(question: str, said: str, reason: str | None) -> None:
    lexicon = Lexicon.load()
    asked = (*subjects(question, lexicon=lexicon), *graded_subjects(question, lexicon=lexicon))
    miss = missed(asked, [Section(("A handbook on treatment", said))], [], question=question)
    assert (miss is None) == (reason is None)
    assert reason is None or (miss is not None and reason in miss.reason)


# ------------------------------------------------------------------------------------ times, cases, and all of a kind

RISKS = (
    "Minimal risk\n\nDo not stop tidaban for a tooth. Leave out tidaban on the morning of the procedure.\n\n"
    "Low risk\n\nA scan of the sea and a look at the tide are low risk.\n\n"
    "High risk\n\nAny dive of more than 45 minutes and a night at sea are high risk."
)


def test_when_something_is_stopped_is_told_by_what_says_so_with_a_time() -> None:
    text = (
        "Do not stop warfarin for a small operation. Check the INR within 24 hours before an operation on warfarin. "
        "For an operation, the last dose of warfarin is taken 6 days before."
    )
    found = answer("When should warfarin be stopped before an operation?", passage(text))
    assert found[0] == "For an operation, the last dose of warfarin is taken 6 days before."
    assert not any("INR" in one for one in found)


def test_which_have_a_property_is_answered_by_what_is_said_to_have_it() -> None:
    rows = "Stopping\n\nTidaban: 5 mg; Low risk: Stop 24 hours before; High risk: Stop 48 hours before a dive"
    found = answer("Which dives are high risk?", passage(rows, number=1), passage(RISKS, number=2))
    assert found == ["Any dive of more than 45 minutes and a night at sea are high risk."]
    assert wanted("What if she is at high risk?").said_of == frozenset()


RESULTS = (
    "What your INR means\n\nINR: 3.1 to 5.0; What happens: Your dose may go down\n"
    "INR: 5.1 to 8.0; What happens: You miss a dose\n"
    "INR: Above 8.0; What happens: Stop, even if you are not bleeding\n\n"
    "Do not dive if you are bleeding or have fewer than 50 shells."
)


@pytest.mark.parametrize(
    ("question", "happens"),
    [
        ("My INR is 6 and I am not bleeding. What should be done?", "You miss a dose"),
        ("What to do with an INR of 4.2?", "Your dose may go down"),
        ("INR 9.5, not bleeding: what now?", "Stop, even if you are not bleeding"),
    ],
)
def test_a_result_is_looked_up_in_the_row_of_its_range_and_in_no_other(question: str, happens: str) -> None:
    first, *rest = answer(question, passage(RESULTS))
    assert first.endswith(happens)
    assert not any(one.startswith("INR") for one in rest)


def test_a_limit_of_something_else_is_not_meant_by_a_result() -> None:
    asked = wanted("My INR is 6. What now?")
    assert asked.held("Fewer than 50 shells", is_looked_up=True) == frozenset()
    assert asked.held("INR: 5.1 to 8.0", is_looked_up=True) == {"6", "inr"}


def test_what_one_person_has_defines_nothing_and_what_affects_needs_no_such_word() -> None:
    told = "Her tide time is 2 seconds. Tide time is the time until the tide is back."
    assert answer("What is tide time?", passage(told))[0] == "Tide time is the time until the tide is back."
    assert "affect" not in wanted("What foods affect warfarin?").words
