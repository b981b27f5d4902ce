"""What a model says of its own reply is read in any form; what is missing is out of bounds."""

from __future__ import annotations

import pytest

from citewell.assistants.records.boundary_check import Boundary, DeclaredReply, decide, judge, parse_boundary

BODY = "Your documents show a dose of 5 mg [S1]."


@pytest.mark.parametrize(
    "reply",
    [
        f"BOUNDARY_CHECK: understanding\n{BODY}",
        f"\n\n  BOUNDARY_CHECK: understanding\n\n{BODY}",
        f"boundary_check: Understanding\n{BODY}",
        f"**BOUNDARY_CHECK:** understanding\n{BODY}",
        f"**BOUNDARY_CHECK: understanding**\n\n{BODY}",
        f"`BOUNDARY_CHECK: understanding`\n{BODY}",
        f"[BOUNDARY_CHECK: understanding]\n{BODY}",
        f"# Boundary check: understanding\n{BODY}",
        f"BOUNDARY CHECK - understanding.\n{BODY}",
        f"BOUNDARY_CHECK: understanding | awareness\n{BODY}",
        f"BOUNDARY_CHECK: understanding, preparation\n{BODY}",
        f"BOUNDARY_CHECK: understanding {BODY}",
        f"BOUNDARY_CHECK: understanding\r\n{BODY}",
        f"<think>The patient asks…\nBOUNDARY_CHECK: awareness</think>\nBOUNDARY_CHECK: understanding\n{BODY}",
        f"```\nBOUNDARY_CHECK: understanding\n```\n{BODY}",
        f"BOUNDARY_CHECK: understanding\n{BODY}\nBOUNDARY_CHECK: awareness",
    ],
)
def test_a_declaration_is_read_however_it_is_written(reply: str) -> None:
    assert parse_boundary(reply) == DeclaredReply(Boundary.UNDERSTANDING, BODY, is_stated=True)


@pytest.mark.parametrize(
    ("value", "boundary"),
    [
        ("awareness", Boundary.AWARENESS),
        ("preparation", Boundary.PREPARATION),
        ("no_context", Boundary.NO_CONTEXT),
        ("out_of_bounds", Boundary.OUT_OF_BOUNDS),
        ("out of bounds", Boundary.OUT_OF_BOUNDS),
        ("understanding | out_of_bounds", Boundary.OUT_OF_BOUNDS),
        ("diagnosis", Boundary.OUT_OF_BOUNDS),
        ("understanding | diagnosis", Boundary.OUT_OF_BOUNDS),
    ],
)
def test_each_value_is_itself_and_an_unknown_one_is_out_of_bounds(value: str, boundary: Boundary) -> None:
    assert parse_boundary(f"BOUNDARY_CHECK: {value}\n{BODY}") == DeclaredReply(boundary, BODY, is_stated=True)


@pytest.mark.parametrize("reply", ["Some random response", "", "   ", "BOUNDARY", "BOUNDARY_CHECK:", "understanding"])
def test_a_missing_declaration_is_out_of_bounds(reply: str) -> None:
    declared = parse_boundary(reply)
    assert (declared.boundary, declared.is_stated) == (Boundary.OUT_OF_BOUNDS, False)


def test_the_line_never_reaches_the_patient() -> None:
    late = parse_boundary(f"Here is your answer.\nBOUNDARY_CHECK: understanding\n{BODY}")
    assert late == DeclaredReply(Boundary.OUT_OF_BOUNDS, f"Here is your answer.\n{BODY}", is_stated=False)


def test_words_that_look_like_it_stay() -> None:
    text = "The boundary check-up was in May."
    assert parse_boundary(text).text == text


@pytest.mark.parametrize(
    ("text", "boundary"),
    [
        ("As your doctor, I see a dose of 5 mg.", Boundary.OUT_OF_BOUNDS),
        ("My diagnosis: gout.", Boundary.OUT_OF_BOUNDS),
        ("En tant que médecin, je vois une dose.", Boundary.OUT_OF_BOUNDS),
        ("Ich verschreibe Ihnen etwas.", Boundary.OUT_OF_BOUNDS),
        ("I don't have any documents to reference yet.", Boundary.NO_CONTEXT),
        ("You could ask your doctor about the two results.", Boundary.PREPARATION),
        ("The dose changed in May [S1].", Boundary.AWARENESS),
        (BODY, Boundary.UNDERSTANDING),
    ],
)
def test_a_reply_is_judged_by_its_own_words(text: str, boundary: Boundary) -> None:
    assert judge(text) == boundary


def test_own_words_decide_over_what_was_declared() -> None:
    said = "As your doctor, I see a dose of 5 mg."
    assert decide(DeclaredReply(Boundary.UNDERSTANDING, said, is_stated=True)) == Boundary.OUT_OF_BOUNDS
    assert decide(DeclaredReply(Boundary.OUT_OF_BOUNDS, BODY, is_stated=True)) == Boundary.OUT_OF_BOUNDS
    assert decide(DeclaredReply(Boundary.PREPARATION, BODY, is_stated=True)) == Boundary.PREPARATION
    assert decide(parse_boundary(BODY)) == Boundary.UNDERSTANDING
