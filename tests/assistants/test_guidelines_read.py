"""A guideline is read whole: every rule once, with its page, every row of the index, every definition."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pypdfium2 as pdfium
import pytest

from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.problems import check_whole
from citewell.assistants.guidelines.read_guideline import read
from citewell.errors import InputError
from citewell.types import Document
from tests.assistants.written import document
from tests.once import parsed

pytestmark = pytest.mark.slow

REVIEWED = "4d057a7e346ce3672265d7193c7bafa30a2262f73c128fd21840caa18ce90297"
"""Of number, page, date and words of all rules, which another library reads the same."""
SCRIPT = Path(__file__).parents[2] / "scripts" / "check_ng12.py"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_ng12", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_ng12"] = module
    spec.loader.exec_module(module)
    return module


def test_ng12_is_read_as_its_own_bookmarks_number_it(ng12: Guideline, ng12_file: Path) -> None:
    source = pdfium.PdfDocument(ng12_file)
    titles = [(entry.get_title(), entry.get_dest()) for entry in source.get_toc()]
    numbered = {title: dest.get_index() + 1 for title, dest in titles if dest and re.fullmatch(r"\d+\.\d+\.\d+", title)}
    source.close()
    assert {rule.id: rule.page for rule in ng12.rules} == numbered
    assert len(ng12.rules) == len(numbered)


@pytest.mark.slow
def test_another_library_reads_the_same_rules_pages_rows_and_references(ng12: Guideline, ng12_file: Path) -> None:
    differences = _script().compared(ng12, ng12_file)
    assert (differences.rules, differences.rows) == ((), ())
    assert (len(ng12.rules), len(ng12.symptoms)) == (110, 215)


@pytest.mark.slow
def test_pages_without_bookmarks_are_read_the_same(ng12: Guideline, ng12_file: Path, tmp_path: Path) -> None:
    source, copy = pdfium.PdfDocument(ng12_file), pdfium.PdfDocument.new()
    first = min(rule.page for rule in ng12.rules) - 1
    kept = [0, 1, *range(first, max(one.page for one in ng12.definitions))]
    copy.import_pages(source, pages=kept)
    copy.save(tmp_path / "copy.pdf")
    copy.close()
    source.close()
    found = read(parsed(tmp_path / "copy.pdf"))
    moved = first - 2
    assert [(rule.id, rule.page, rule.text) for rule in found.rules] == [
        (rule.id, rule.page - moved, rule.text) for rule in ng12.rules
    ]
    assert [rule.criteria for rule in found.rules] == [rule.criteria for rule in ng12.rules]
    assert [row.references for row in found.symptoms] == [row.references for row in ng12.symptoms]


def test_a_rule_is_exactly_the_words_of_the_document(ng12: Guideline, ng12_document: Document) -> None:
    for rule in ng12.rules:
        assert ng12_document.text[rule.start : rule.end] == rule.text
        assert not re.search(r"\[(?:19|20)\d\d", rule.text)
        assert rule.date is not None
        assert {box.page for box in rule.boxes} == set(range(rule.page, rule.page_end + 1))


def test_no_word_of_ng12s_rules_changed_since_they_were_reviewed(ng12: Guideline) -> None:
    words = "\n".join(f"{rule.id} {rule.page} {rule.date} {' '.join(rule.text.split())}" for rule in ng12.rules)
    assert hashlib.sha256(words.encode()).hexdigest() == REVIEWED


def test_every_reference_of_the_index_names_a_rule(ng12: Guideline) -> None:
    assert all(row.references for row in ng12.symptoms)
    assert {one for row in ng12.symptoms for one in row.references} <= set(ng12.by_id)
    assert len({row.system for row in ng12.symptoms}) == 13
    assert [problem for problem in ng12.problems if problem.kind != "needs_reading"] == []


def test_system_and_group_are_the_headings_below_those_that_all_rows_share() -> None:
    row = "Symptom: {}; Possible cancer: Spot; Recommendation: Refer [1.1.1]"
    found = read(
        document(
            ("heading", "# 1.1 Spots"),
            ("paragraph", "1.1.1 Refer people if they have a cough. [2020]"),
            ("heading", "# Recommendations"),
            ("heading", "## By symptom"),
            ("heading", "### Bleeding"),
            ("heading", "#### Nose"),
            ("table_row", row.format("Nosebleed")),
            ("heading", "### Pain"),
            ("table_row", row.format("Back pain")),
        )
    )
    assert [(one.system, one.group, one.symptom, one.references) for one in found.symptoms] == [
        ("Bleeding", "Nose", "Nosebleed", ("1.1.1",)),
        ("Pain", "Pain", "Back pain", ("1.1.1",)),
    ]


def test_terms_are_read_as_definitions(ng12: Guideline, ng136: Guideline) -> None:
    terms = {one.term for one in ng12.definitions}
    assert {"Very urgent", "Suspected cancer pathway referral", "Unexplained", "Persistent", "Young people"} <= terms
    assert all(one.text and one.page for one in ng12.definitions)
    assert len(ng136.definitions) == 9


def test_a_guideline_says_what_it_is(ng12: Guideline, ng136: Guideline) -> None:
    assert (ng12.name, ng12.edition) == ("NG12", "1 May 2025")
    assert (ng136.name, ng136.edition) == ("NG136", "21 November 2023")
    assert len(ng136.rules) == 78


def test_a_guideline_of_another_kind_has_rules_without_criteria(ng136: Guideline) -> None:
    assert ng136.symptoms == ()
    assert sum(rule.criteria is None for rule in ng136.rules) > 60
    assert all(rule.site is None for rule in ng136.rules)
    by_id = ng136.by_id
    assert by_id["1.4.6"].action.strength == "do not"
    assert by_id["1.4.21"].date == "2019, amended 2022"  # printed like a heading


def test_a_number_in_prose_opens_no_rule() -> None:
    found = read(
        document(
            ("heading", "# 1.1 Spots"),
            ("paragraph", "1.1.1 to 1.1.4 are adapted from elsewhere."),
            ("paragraph", "1.1.1 Refer people if they have a cough. [2020]"),
            ("paragraph", "9.9.9 Refer nobody: the number does not belong to the section."),
            ("paragraph", "1.1.2 Refer people if they have a fever. [2020]"),
            ("paragraph", "1.1.1 Repeated elsewhere. [2020]"),
        )
    )
    assert [rule.id for rule in found.rules] == ["1.1.1", "1.1.2"]


def test_a_rule_goes_on_to_its_date_and_no_further() -> None:
    found = read(
        document(
            ("heading", "# 1.1 Spots"),
            ("paragraph", "1.1.1 Refer people if they have:"),
            ("list_item", "• a cough or"),
            ("list_item", "• a fever."),
            ("paragraph", "They need not wait."),
            ("paragraph", "[2015, amended 2020]"),
            ("paragraph", "For why, see elsewhere."),
        )
    )
    (rule,) = found.rules
    assert rule.text.endswith("They need not wait.")
    assert rule.date == "2015, amended 2020"


def test_a_number_may_stand_alone_above_its_words_and_a_date_may_say_new() -> None:
    found = read(
        document(
            ("heading", "# 1.1 Spots"),
            ("paragraph", "1.1.1"),
            ("paragraph", "Refer people if they have:"),
            ("list_item", "• a cough. [new 2015]"),
            ("paragraph", "1.1.2 Refer people if they have a fever. [2015]"),
        )
    )
    assert [(rule.id, rule.text, rule.date) for rule in found.rules] == [
        ("1.1.1", "Refer people if they have:\n• a cough.", "new 2015"),
        ("1.1.2", "Refer people if they have a fever.", "2015"),
    ]


def test_gaps_and_references_to_nothing_are_reported() -> None:
    found = read(
        document(
            ("heading", "# Contents"),
            ("list_item", "1.1 Spots 1"),
            ("list_item", "1.2 Stripes 1"),
            ("heading", "# 1.1 Spots"),
            ("paragraph", "1.1.1 Refer people if they have a cough. [2020]"),
            ("paragraph", "1.1.3 Refer people as in recommendation 1.7.1 if they have a fever. [2020]"),
            ("paragraph", "1.1.4 Refer people if the moon is blue. [2020]"),
            ("table_row", "Symptom: Spots; Possible cancer: Spot; Recommendation: Refer 1.8.8]"),
        )
    )
    assert [(problem.kind, problem.rule) for problem in found.problems] == [
        ("gap", "1.1.3"),
        ("gap", None),
        ("reference", "1.1.3"),
        ("reference", "1.8.8"),
        ("needs_reading", "1.1.4"),
    ]


def test_a_document_without_numbered_rules_and_sections_is_refused() -> None:
    with pytest.raises(InputError, match="No numbered recommendations"):
        read(document(("heading", "# Warfarin"), ("paragraph", "Take it at night.")))


def test_a_guideline_without_numbered_rules_is_read_by_its_sections() -> None:
    parts = [("heading", "# Gout"), ("heading", "## Features"), ("paragraph", "A hot, swollen toe.")]
    found = read(document(*parts, ("heading", "## Treatment"), ("paragraph", "Naproxen 500 mg twice daily.")))
    assert (found.rules, found.headings) == ((), ("Features", "Treatment"))
    assert [(problem.kind, problem.rule) for problem in found.problems] == [("unnumbered", None)]


def test_half_a_guideline_says_what_is_missing(ng12_document: Document) -> None:
    half = ng12_document.layout.pages[24].end
    blocks = tuple(block for block in ng12_document.blocks if block.end <= half)
    found = read(
        Document(ng12_document.title, ng12_document.media_type, ng12_document.text, blocks, ng12_document.layout)
    )
    kinds = {problem.kind for problem in found.problems}
    assert {"gap", "reference"} <= kinds
    assert any("section 1.16" in problem.message for problem in found.problems)


def test_a_guideline_that_lacks_pages_of_its_contents_is_refused(ng12_document: Document, ng136: Guideline) -> None:
    last = ng12_document.layout.pages[24]
    cut = replace(
        ng12_document,
        blocks=tuple(block for block in ng12_document.blocks if block.end <= last.end),
        layout=replace(ng12_document.layout, pages=ng12_document.layout.pages[:25]),
    )
    found = read(cut)
    assert found.problems[0].message == "The table of contents goes up to page 93, but the file ends at page 25."
    with pytest.raises(InputError, match=r"ends at page 25\. Nothing was added"):
        check_whole(found)
    for whole in (read(ng12_document), ng136):
        check_whole(whole)


def test_rules_that_were_read_from_pictures_are_refused_and_a_picture_beside_them_is_not() -> None:
    one = document(("heading", "# 1.1 Spots"), ("paragraph", "1.1.1 Refer people with spots. [2020]"))
    seen = read(
        replace(one, notes=("Pages 1–2, 7 were read by OCR (93% confidence). Check numbers against the page.",))
    )
    with pytest.raises(InputError, match="read by OCR"):
        check_whole(seen)
    check_whole(read(replace(one, notes=("Page 9 was read by OCR (93% confidence). Check numbers against the page.",))))


def test_numbered_entries_of_a_table_of_functions_are_no_recommendations(
    shared_data: Path, parsed_guideline: Callable[[str], Document]
) -> None:
    with pytest.raises(InputError, match="No numbered recommendations"):
        read(document(("heading", "# Functions"), ("paragraph", "1.4.1 Access by a person to their own record")))
    for name in ("who-blood-pressure-pregnancy.pdf", "fda-metformin.pdf"):
        if (shared_data / "guidelines" / name).is_file():
            assert read(parsed_guideline(name)).rules == ()
