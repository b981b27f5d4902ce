"""How each mention of a text holds, whatever the order in which it stands."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from citewell.clinical.assertion import ADAPTER, ClinicalReader, read_context, read_contexts
from citewell.errors import ModelFilesMissing
from citewell.types.consult import Polarity

SENTENCES = Path(__file__).parents[1] / "data" / "context_sentences.tsv"
SAME = {"family": {"family", "other"}, "hypothetical": {"hypothetical", "unclear", "intended"}}
"""The sentences were written when there were five statuses."""


def status(text: str, words: str) -> str:
    start = text.casefold().index(words.casefold())
    return read_context(text).assertion(start, start + len(words)).status.value


@pytest.mark.slow
def test_sentences_that_were_not_trained_on_are_read_as_a_clinician_reads_them() -> None:
    lines = [line.split("\t") for line in SENTENCES.read_text("utf-8").splitlines() if line and line[0] != "#"]
    marks = [(text, *pair.rpartition("=")[::2]) for text, pairs in lines for pair in pairs.split("|")]
    wrong = [(text, words, told) for text, words, told in marks if status(text, words) not in SAME.get(told, {told})]
    assert len(marks) > 500
    assert len(wrong) <= 0.05 * len(marks), wrong


@pytest.mark.parametrize(
    ("texts", "present", "absent"),
    [
        (
            ("No fever, haemoptysis for 2 days", "haemoptysis for 2 days, no fever", "Haemoptysis. No fever."),
            {"haemoptysis"},
            {"fever"},
        ),
        (
            (
                "No history of weight loss, dysphagia or jaundice",
                "dysphagia, weight loss and jaundice all denied",
                "Denies jaundice, weight loss, dysphagia",
            ),
            set(),
            {"weight loss", "dysphagia", "jaundice"},
        ),
        (
            ("Rectal bleeding, no weight loss", "no weight loss but rectal bleeding"),
            {"rectal bleeding"},
            {"weight loss"},
        ),
    ],
)  # fmt: skip
def test_the_order_of_a_list_does_not_matter(texts: tuple[str, ...], present: set[str], absent: set[str]) -> None:
    for text in texts:
        assert {name: status(text, name) for name in present | absent} == {
            **dict.fromkeys(present, "present"),
            **dict.fromkeys(absent, "absent"),
        }, text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cough not settling", "cough"),
        ("visible haematuria not resolving after antibiotics", "haematuria"),
        ("no other symptoms apart from haemoptysis", "haemoptysis"),
        ("headache not relieved by paracetamol", "headache"),
        ("dyspepsia not responding to omeprazole", "dyspepsia"),
    ],
)
def test_what_is_there_is_present_although_a_not_stands_there(text: str, words: str) -> None:
    assert status(text, words) == "present"


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Non smoker", "smoker", "absent"),
        ("3/7 hx of dysuria", "dysuria", "present"),
        ("FH: bowel cancer (father)", "bowel cancer", "family"),
        ("Risk factors: chronic smoker, FH of IHD, hypertension", "IHD", "family"),
        ("Risk factors: chronic smoker, FH of IHD, hypertension", "smoker", "present"),
        ("Risk factors: chronic smoker, FH of IHD, hypertension", "hypertension", "present"),
        ("trying to lose weight", "lose weight", "intended"),
        ("?BCC on nose", "BCC", "unclear"),
        ("appendicectomy in 1998", "appendicectomy", "past"),
        ("wife also has diarrhoea", "diarrhoea", "other"),
        ("to return if chest pain develops", "chest pain", "hypothetical"),
    ],
)
def test_shorthand_and_whom_it_is_about(text: str, words: str, expected: str) -> None:
    assert status(text, words) == expected


def test_texts_read_together_are_read_as_they_are_alone() -> None:
    texts = ["no cough today, fever since Monday", "lump in the left breast", "", "mother had a stroke"]
    reader = ClinicalReader.load()
    together = [context.statuses for context in reader._read(texts)]
    alone = [reader._read([text])[0].statuses for text in texts]
    for first, second in zip(together, alone, strict=True):
        assert first == pytest.approx(second, abs=1e-3)


@pytest.mark.parametrize(
    "text", ["no " * 33_333, "(" * 5_000 + "cough" + ")" * 5_000, "нет кашля 咳嗽 " * 500, "?" * 20_000, "\ud800 cough"]
)
@pytest.mark.slow
def test_long_and_strange_texts_are_read_in_linear_time(text: str) -> None:
    started = time.process_time()
    context = read_context(text[:6_000])
    assert len(context.starts) > 0
    assert time.process_time() - started < 60


def test_a_reader_that_is_not_the_one_expected_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "reader.npz"
    other.write_bytes(ADAPTER.read_bytes()[:-1])
    monkeypatch.setattr("citewell.clinical.assertion.ADAPTER", other)
    with pytest.raises(ModelFilesMissing, match=r"reader\.npz is not the file expected"):
        ClinicalReader.load.__wrapped__(ClinicalReader)


def test_every_word_of_a_text_has_a_place() -> None:
    (context,) = read_contexts(["Cough, no fever.\nPMH: asthma"])
    assert {context.text[span.start : span.end] for span in context.spans} == {"Cough", "fever", "asthma"}
    assert context.assertion(0, 0).status is Polarity.PRESENT
