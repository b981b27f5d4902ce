"""Real guidelines and drug labels are read without a lost page, word or row; they are not part of the repository."""

from __future__ import annotations

import ctypes
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
import pytest

from citewell.types import Document

Parsed = Callable[[str], Document]
FOLDER = Path(__file__).parents[3] / "shared" / "data" / "guidelines"
NAMES = (
    "fda-metformin.pdf",
    "fda-warfarin.pdf",
    "nice-ng12-2025-05.pdf",
    "nice-ng136-hypertension.pdf",
    "who-arboviral.pdf",
    "who-blood-pressure-pregnancy.pdf",
    "who-sickle-cell-pregnancy.pdf",
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the guidelines in ../shared/data are not here"),
]


def page_words(name: str) -> list[Counter[str]]:
    """The words of each page as pdfium gives them, divided words left out."""
    document = pdfium.PdfDocument(FOLDER / name)
    counted = []
    for page in document:
        textpage = page.get_textpage()
        text = unicodedata.normalize("NFKC", textpage.get_text_range()).lower()
        text = re.sub(r"\w*[\x02\ufffe](?:\r\n)?\w*|\w+-\r\n\w+", " ", text)
        counted.append(Counter(re.findall(r"[^\W\d_]{3,}", text)))
        textpage.close()
        page.close()
    document.close()
    return counted


@pytest.mark.parametrize("name", NAMES)
def test_no_word_of_a_page_is_lost_but_what_repeats_on_others(name: str, parsed_guideline: Parsed) -> None:
    document = parsed_guideline(name)
    pages = page_words(name)
    assert len(document.layout.pages) == len(pages)
    total = lost = 0
    for page, words in zip(document.layout.pages, pages, strict=True):
        text = unicodedata.normalize("NFKC", document.text[page.start : page.end]).lower()
        squeezed = re.sub(r"[\W\d_]", "", text)
        kept = Counter(re.findall(r"[^\W\d_]{3,}", text))
        total += words.total()
        for word, count in (words - kept).items():
            # Running heads stand once on a page; a word that is lost beyond that, or found nowhere, is lost.
            lost += max(0, count - 3) if word in squeezed else min(count, 1) * (sum(word in page for page in pages) < 4)
    assert lost / total < 0.005


@pytest.mark.parametrize("name", NAMES)
def test_lines_pages_and_blocks_agree_with_the_text(name: str, parsed_guideline: Parsed) -> None:
    document = parsed_guideline(name)
    lines, pages, blocks = document.layout.lines, document.layout.pages, document.blocks
    assert all(first.end <= second.start for first, second in pairwise(lines))
    assert all(first.end == second.start for first, second in pairwise(pages))
    assert (pages[0].start, pages[-1].end) == (0, len(document.text))
    assert all(first.end < second.start for first, second in pairwise(blocks))
    assert all(document.layout.page_at(line.start) == line.page for line in lines)
    assert all(page.start <= line.start and line.end <= page.end for line in lines for page in [pages[line.page - 1]])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\xa0\xad\ufb00-\ufb06\ufffe]|  ", document.text)


@pytest.mark.parametrize("name", NAMES)
def test_letters_stand_where_pdfium_sees_them(name: str, parsed_guideline: Parsed) -> None:
    document = parsed_guideline(name)
    source = pdfium.PdfDocument(FOLDER / name)
    chosen = random.Random(1).sample(document.layout.lines, 150)
    right = wrong = 0
    for line in chosen:
        page = source[line.page - 1]
        textpage = page.get_textpage()
        height = page.get_height() - (line.top + line.bottom) / 2
        for offset in range(line.start, line.end):
            middle = (line.lefts[offset - line.start] + line.rights[offset - line.start]) / 2
            index = pdfium_c.FPDFText_GetCharIndexAtPos(textpage.raw, middle, height, 0.5, 3.0)
            if index >= 0 and document.text[offset].isalnum():
                seen = unicodedata.normalize(
                    "NFKC", chr(pdfium_c.FPDFText_GetUnicode(textpage.raw, ctypes.c_int(index)))
                )
                same = unicodedata.normalize("NFKC", document.text[offset]) in seen
                right, wrong = right + same, wrong + (not same)
        textpage.close()
        page.close()
    source.close()
    assert wrong / (right + wrong) < 0.01
    assert right > 3_000


def blocks_of(document: Document, kind: str) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks if block.kind == kind]


def test_every_recommendation_of_the_cancer_guideline_opens_its_own_block(parsed_guideline: Parsed) -> None:
    document = parsed_guideline("nice-ng12-2025-05.pdf")
    source = pdfium.PdfDocument(FOLDER / "nice-ng12-2025-05.pdf")
    numbers = [entry.get_title() for entry in source.get_toc() if re.fullmatch(r"\d+\.\d+\.\d+", entry.get_title())]
    source.close()
    assert len(numbers) > 100
    opened = [text.split(" ", 1)[0] for text in blocks_of(document, "paragraph")]
    assert sorted(set(numbers) - set(opened)) == []


def test_symptom_tables_of_the_cancer_guideline_keep_cause_and_advice_with_the_symptom(
    parsed_guideline: Parsed,
) -> None:
    rows = blocks_of(parsed_guideline("nice-ng12-2025-05.pdf"), "table_row")
    assert len(rows) > 150
    named = [row for row in rows if "Possible cancer: " in row and "Recommendation: " in row]
    assert len(named) > 0.9 * len(rows)
    assert sum(row.startswith("Symptom") for row in rows) > 0.7 * len(rows)


def test_the_guideline_says_what_it_is(parsed_guideline: Parsed) -> None:
    document = parsed_guideline("nice-ng12-2025-05.pdf")
    assert document.title == "Suspected cancer: recognition and referral"
    assert document.metadata.language == "en-gb"
    assert document.metadata.publisher == "National Institute for Health and Care Excellence (NICE)"
    assert [parsed_guideline(name).notes for name in NAMES] == [()] * len(NAMES)


def test_a_chapter_stands_beside_the_one_before_it_even_where_the_outline_nests_it(parsed_guideline: Parsed) -> None:
    document = parsed_guideline("who-sickle-cell-pregnancy.pdf")
    chapters = [
        block.section for block in document.blocks if block.kind == "heading" and block.section[-1].startswith("3 ")
    ]
    assert chapters == [("3 Recommendations and supporting evidence",)]
