"""A model's reply reaches a patient by sentences, each after the filter; what leaves its bounds is written again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.assistants.records.boundary_check import Boundary
from citewell.assistants.records.release import ReleaseCounts, release
from citewell.assistants.records.safety_filter import SafeText, check_sentence, counted, template
from citewell.assistants.records.source_sentences import Sources
from citewell.assistants.records.tables import rows
from citewell.errors import LLMTimeoutError

HERE = Path(__file__).parent
RECORD = Sources.of(["The dose of warfarin is 5 mg.", "Diagnosis: type 2 diabetes."])
HEAD = "BOUNDARY_CHECK: understanding\n"
DOSE = "Your documents show a dose of 5 mg [S1]."
ASK = "You could ask your doctor about it [S1]."


def written(*replies: str, step: int = 7) -> tuple[list[str], ReleaseCounts]:
    """What is released of these replies, each in small pieces, the last of them as often as it is asked for."""
    waiting, tally = list(replies), ReleaseCounts()

    def write() -> Iterator[str]:
        reply = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        yield from (reply[at : at + step] for at in range(0, len(reply), step))

    return list(release(write, RECORD, tally, language="en")), tally


@pytest.mark.parametrize("step", [1, 7, 1_000])
def test_sentences_come_one_by_one_without_the_line_that_was_meant_for_the_program(step: int) -> None:
    assert written(f"{HEAD}{DOSE} {ASK}", step=step) == ([DOSE, ASK], ReleaseCounts(replies=1, released=2))
    assert written(f"**BOUNDARY_CHECK: awareness**\n\n{DOSE}\nBOUNDARY_CHECK: awareness", step=step)[0] == [DOSE]


def test_the_first_sentence_is_out_before_the_last_is_written() -> None:
    seen: list[str] = []

    def write() -> Iterator[str]:
        for piece in (HEAD, DOSE, " ", "You could ", "your doctor [S1]."):
            seen.append(piece)
            yield piece

    first = next(release(write, RECORD, ReleaseCounts(), language="en"))
    assert (first, len(seen) < 5) == (DOSE, True)


def slow(*replies: str) -> tuple[list[str], ReleaseCounts]:
    """What is released of these replies, the last of which takes too long."""
    waiting, tally = list(replies), ReleaseCounts()

    def write() -> Iterator[str]:
        yield waiting.pop(0)
        if not waiting:
            raise LLMTimeoutError("It took too long. Ask again.")

    return list(release(write, RECORD, tally, language="en")), tally


def test_calm_words_are_told_where_no_time_is_left_to_write_again() -> None:
    out = f"BOUNDARY_CHECK: diagnosis\n{DOSE}"
    for last in ("", HEAD):
        assert slow(out, last) == ([], ReleaseCounts(replies=2, calm=template("boundary", "en")))
    for replies in ([HEAD], [out, f"{HEAD}{DOSE} {ASK} And"]):
        with pytest.raises(LLMTimeoutError):
            slow(*replies)


def test_a_reply_out_of_bounds_is_written_again_silently_at_most_twice() -> None:
    out = f"BOUNDARY_CHECK: diagnosis\n{DOSE}"
    assert written(out, out, f"{HEAD}{DOSE}") == ([DOSE], ReleaseCounts(replies=3, released=1))
    assert written(out) == ([], ReleaseCounts(replies=3, calm=template("boundary", "en")))
    as_doctor = f"{HEAD}As your doctor, I see a dose of 5 mg [S1]."
    assert written(as_doctor, f"{HEAD}{DOSE}")[0] == [DOSE]
    assert written("", f"{HEAD}{DOSE}")[0] == [DOSE]


@pytest.mark.parametrize("boundary", list(Boundary))
def test_only_a_reply_within_bounds_is_shown(boundary: Boundary) -> None:
    released, tally = written(f"BOUNDARY_CHECK: {boundary}\n{DOSE}")
    is_out = boundary is Boundary.OUT_OF_BOUNDS
    assert (released, tally.calm) == (([], template("boundary", "en")) if is_out else ([DOSE], ""))


def test_what_may_not_be_said_ends_a_reply_and_calm_words_for_its_kind_take_its_place() -> None:
    released, tally = written(f"{HEAD}{DOSE} You have lupus. {ASK}")
    assert (released, tally.calm, tally.outcome) == ([DOSE], template("diagnostic", "en"), "blocked")
    assert counted(tally.findings) == {"diagnostic": 1}
    released, tally = written(f"{HEAD}You have lupus. {DOSE}", f"{HEAD}{DOSE}")
    assert (released, tally.replies, tally.outcome) == ([DOSE], 2, "passed")


def test_a_sentence_in_other_words_keeps_its_marks() -> None:
    released, tally = written(f"{HEAD}You should stop taking aspirin [S1].")
    assert released == ["You might want to discuss with your doctor whether to stop taking aspirin. [S1]"]
    assert (tally.outcome, tally.rephrased) == ("rephrased", 1)


def _sentences() -> list[str]:
    lines = (HERE / "records_sentences.tsv").read_text("utf-8").splitlines()
    return [line.split("\t")[-1] for line in lines if line and not line.startswith("#")]


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from(_sentences()), st.text(max_size=60)), max_size=5).map(" ".join))
def test_what_comes_out_is_clean_or_calm(reply: str) -> None:
    released, tally = written(HEAD + reply, step=50)
    assert [one for one in released if not isinstance(check_sentence(one, RECORD), SafeText)] == []
    assert tally.calm in {"", *(text for _, _, text in rows("templates.tsv"))}
