"""What a question asks for, by the trained head and by words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.clinical import questions
from citewell.clinical.questions import QuestionKind, question_cues, question_kind
from citewell.errors import ModelFilesMissing

NOTHING = np.zeros(384, np.float32)


@pytest.fixture
def unloaded() -> Iterator[None]:
    """The head is read anew, before and after."""
    questions._QuestionHead.load.cache_clear()
    yield
    questions._QuestionHead.load.cache_clear()


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How often should the dressing be changed?", QuestionKind.FREQUENCY),
        ("how many days of penicillin for a strep throat", QuestionKind.DURATION),
        ("What are the side effects of lisinopril?", QuestionKind.HARM),
        ("Why is the leg raised after surgery?", QuestionKind.REASON),
        ("What is the dose of cefalexin?", QuestionKind.DOSE),
        ("Who should be referred for a lump in the neck?", QuestionKind.CRITERIA),
        ("hello, thank you", QuestionKind.CHAT),
    ],
)
def test_plain_questions_are_of_their_kind(embedder: MiniLM, question: str, kind: QuestionKind) -> None:
    assert question_kind(question, embedder.embed([question])[0]).kind is kind


def test_shares_are_those_of_all_kinds() -> None:
    reading = question_kind("How long is it given?", NOTHING)
    assert set(reading.shares) == set(QuestionKind)
    assert sum(reading.shares.values()) == pytest.approx(1.0)
    assert reading.share == max(reading.shares.values())


def test_words_and_vector_both_count() -> None:
    asked = (("How long?", NOTHING), ("How much?", NOTHING), ("How long?", np.full(384, 0.05, np.float32)))
    readings = [question_kind(question, vector) for question, vector in asked]
    assert readings[0].shares != readings[1].shares
    assert readings[0].shares != readings[2].shares


def test_a_vector_of_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match="has 384 numbers; this one has 1024"):
        question_kind("How long?", np.zeros(1024, np.float32))


def test_damaged_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unloaded: None) -> None:
    damaged = tmp_path / "questions.npz"
    damaged.write_bytes(questions.WEIGHTS.read_bytes()[:-1] + b"x")
    monkeypatch.setattr(questions, "WEIGHTS", damaged)
    with pytest.raises(ModelFilesMissing, match="Reinstall Citewell"):
        question_kind("How long?", NOTHING)


@pytest.mark.parametrize(
    "text", ["", "?", "no " * 33_000, "? " * 50_000, " " * 100_000, "how " * 25_000, "(" * 100_000]
)
def test_any_text_is_read_in_linear_time(text: str) -> None:
    began = time.perf_counter()
    assert question_kind(text, NOTHING).kind in QuestionKind
    question_cues(text)
    assert time.perf_counter() - began < 5


def test_a_question_for_something_of_a_thing_does_not_ask_what_it_is() -> None:
    assert "what" in question_cues("What is gout?")
    assert question_cues("What is the treatment of gout?") >= {"which", "treatment"}
    assert "what" not in question_cues("What is the treatment of gout?")
