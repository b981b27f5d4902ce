"""The samples are fictional and say so, can be made again byte for byte, and answer the example questions."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import docx
import pypdfium2
import pytest
from lxml import etree, html

import citewell
from citewell.samples import CHAPTER, EXAMPLE_QUESTIONS, GUIDELINE, LEAFLET, POLICY, ExampleQuestion, sample_files

ROOT = Path(__file__).parents[2]
FICTION = "Fictional sample written for Citewell. Not for clinical use."


def page_texts() -> list[str]:
    document = pypdfium2.PdfDocument(sample(GUIDELINE))
    try:
        return [page.get_textpage().get_text_range() for page in document]
    finally:
        document.close()


def sample(name: str) -> Path:
    return next(path for path in sample_files() if path.name == name)


def flat(text: str) -> str:
    return " ".join(text.split())


def text_of(name: str, page: int | None) -> str:
    """The words of a sample, or of one of its pages."""
    if name == GUIDELINE:
        return flat(page_texts()[page - 1] if page else " ".join(page_texts()))
    if name == CHAPTER:
        return flat("".join(str(part) for part in etree.parse(sample(CHAPTER)).getroot().itertext()))
    if name == POLICY:
        document = docx.Document(str(sample(POLICY)))
        cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
        return flat("\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells]))
    return flat(str(html.fromstring(sample(LEAFLET).read_bytes()).text_content()))


@pytest.mark.slow
def test_the_samples_are_made_again_byte_for_byte(tmp_path: Path) -> None:
    pytest.importorskip("reportlab", reason="the samples extra is not installed")
    subprocess.run([sys.executable, ROOT / "scripts" / "make_samples.py", "--to", tmp_path], check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {name: len(data) for name, data in made.items()} == {
        path.name: path.stat().st_size for path in sample_files()
    }
    assert [path.name for path in sample_files() if made[path.name] != path.read_bytes()] == []


@pytest.mark.parametrize("name", [GUIDELINE, CHAPTER, POLICY, LEAFLET])
def test_each_sample_says_that_it_is_fictional(name: str) -> None:
    assert FICTION in text_of(name, None)


def test_every_page_of_the_guideline_says_so_and_carries_its_number() -> None:
    pages = page_texts()
    assert len(pages) == 14
    assert [FICTION in page and f"Page {number}" in page for number, page in enumerate(pages, 1)] == [True] * 14


def test_the_policy_says_so_in_its_footer() -> None:
    with zipfile.ZipFile(sample(POLICY)) as packed:
        assert FICTION in packed.read("word/footer1.xml").decode()


@pytest.mark.parametrize("question", EXAMPLE_QUESTIONS, ids=lambda question: question.text)
def test_the_answer_to_each_example_question_is_where_it_is_said_to_be(question: ExampleQuestion) -> None:
    text = text_of(question.file, question.page)
    assert question.words in text
    assert question.section in text_of(question.file, None)


def test_the_symptom_table_runs_over_two_pages_and_repeats_its_head() -> None:
    assert ["Possible condition" in page for page in page_texts()] == [False] * 8 + [True, True] + [False] * 4


def test_the_table_refers_to_recommendations_that_exist() -> None:
    text = text_of(GUIDELINE, None)
    referred = {
        number for group in re.findall(r"\[(1\.\d\.\d(?:, 1\.\d\.\d)*)\]", text) for number in group.split(", ")
    }
    assert len(referred) > 20
    assert referred <= set(re.findall(r"(?<![\d.\[])(1\.\d\.\d) [A-Z]", text))


def test_the_volumes_in_the_chapter_follow_from_the_weights() -> None:
    table = etree.parse(sample(CHAPTER)).xpath("//table-wrap[@id='t2']//tbody/tr")
    rows = [[float("".join(cell.itertext()).replace(",", "")) for cell in row] for row in table]
    assert [(total, each_stool) for _, total, _, each_stool in rows] == [(75 * row[0], 10 * row[0]) for row in rows]


@pytest.mark.slow
def test_the_passages_that_an_example_question_is_answered_from_hold_the_words_that_answer_it(tmp_path: Path) -> None:
    with citewell.open(tmp_path) as library:
        for path in sample_files():
            library.add(path)
        found = {question.text: library.search(question.text).hits[:5] for question in EXAMPLE_QUESTIONS}
    assert [
        question.text
        for question in EXAMPLE_QUESTIONS
        if not any(question.words in flat(hit.text) for hit in found[question.text])
    ] == []
