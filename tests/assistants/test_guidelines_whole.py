"""A recommendation is read to its last word and with its tables; what belongs to nothing is said, with its page."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pdfplumber
import pytest
from typer.testing import CliRunner

from citewell.adapters.embedding.minilm import MiniLM
from citewell.answer.events import AnswerDone
from citewell.app import App, build
from citewell.assistants.guidelines.assess import assess, assessment_json
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.read_guideline import read
from citewell.assistants.guidelines.read_patient import patient_from
from citewell.assistants.guidelines.search_entries import pieces
from citewell.cli.commands import app as cli
from citewell.config import Settings
from citewell.types import Document
from tests.assistants.printed_indented import SCORED, Line, print_indented
from tests.assistants.written import document
from tests.once import parsed

pytestmark = pytest.mark.slow

LINES: tuple[Line, ...] = (
    ("section", "1.1 Assessment"),
    ("margin", "These recommendations are for people with purple fever."),
    ("rule", "1.1.1 Work out the purple score (see box 1) for everyone with purple fever before a place of care is "
     "chosen with them. [May 2023]"),
    ("panel title", "Box 1 Purple score"),
    ("panel", "Give 1 point for each of these:"),
    ("item", "a rash"),
    ("item", "a temperature over 39°C."),
    ("rule", "1.1.2 Offer an oral painkiller to people with purple fever and take account of:"),
    ("item", "their kidneys"),
    ("item", "their other medicines."),
    ("more", "Offer a stomach medicine for as long as they take it."),
    ("panel", "For a short explanation of why the committee made these recommendations, see the rationale."),
    ("rule", "1.1.3 Refer people to hospital if a purple rash spreads although they have been treated (see "
     "recommendations 1.1.1 and 1.1.2 for how to go about it)."),
    ("words", "[2019, amended April 2022]"),
    ("panel", "In May 2024, this was an off-label use."),
    ("section", "1.2 Medicines"),
    ("rule", "1.2.1 When a medicine for purple fever is prescribed, see the following tables:"),
    ("item", "table 1 for adults [2019]"),
    ("item", "table 2 for babies and children. [2025]"),
    ("rule", "1.2.2 Weighted checklists help. Use the purple rash checklist in people with a rash. [2019]"),
    ("panel title", "Purple rash checklist"),
    ("panel", "It spreads: 2 points. It itches: 1 point."),
    ("rule", "1.2.3 eGFR is measured before a second course, and after it. [2019]"),
    ("rule", "1.2.5 See table 7 for what to do after that. [2019]"),
    ("caption", "Table 1 Antibiotics for treating purple fever in adults"),
    ("row", "Severity|Medicine and dose"),
    ("row", "Mild|amoxicillin 500 mg three times a day"),
    ("row", "Severe|amoxicillin 1 g three times a day"),
    ("caption", "Table 2 Antibiotics for treating purple fever in babies and children"),
    ("row", "Severity|Medicine and dose"),
    ("row", "Mild|Under 1 year, amoxicillin 50 mg twice a day"),
    ("page", ""),
    ("row", "Severity|Medicine and dose"),
    ("row", "Severe|1 to 4 years, amoxicillin 100 mg twice a day"),
    ("panel title", "Notes for tables 1 and 2"),
    ("panel", "Ask a pharmacist about pregnancy."),
)  # fmt: skip


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return print_indented(tmp_path_factory.mktemp("whole") / "purple.pdf", LINES)


@pytest.fixture(scope="module")
def purple(printed: Path) -> Guideline:
    return read(parsed(printed))


def test_every_rule_is_found_whole_with_its_dates(purple: Guideline) -> None:
    assert [rule.id for rule in purple.rules] == ["1.1.1", "1.1.2", "1.1.3", "1.2.1", "1.2.2", "1.2.3", "1.2.5"]
    words = {rule.id: " ".join(rule.text.split()) for rule in purple.rules}
    assert words["1.1.1"].endswith("is chosen with them.")
    assert words["1.1.2"].endswith("Offer a stomach medicine for as long as they take it.")
    assert words["1.1.3"].endswith("(see recommendations 1.1.1 and 1.1.2 for how to go about it).")
    assert words["1.2.1"].endswith("• table 2 for babies and children.")
    dates = {rule.id: rule.date for rule in purple.rules}
    assert (dates["1.1.1"], dates["1.1.3"], dates["1.2.1"]) == ("May 2023", "2019, amended April 2022", "2019; 2025")


def test_a_table_belongs_to_the_rules_that_name_it_wherever_it_stands(purple: Guideline) -> None:
    tables = {rule.id: [table.name for table in rule.tables] for rule in purple.rules}
    assert tables == {
        "1.1.1": ["box 1"],
        "1.1.2": [],
        "1.1.3": [],
        "1.2.1": ["table 1", "table 2"],
        "1.2.2": ["purple rash checklist"],
        "1.2.3": [],
        "1.2.5": [],
    }
    adults, children = purple.by_id["1.2.1"].tables
    assert "1 g three times a day" in adults.text
    assert "babies" not in adults.text
    assert "Under 1 year" in children.text
    assert "1 to 4 years, amoxicillin 100 mg" in children.text, "also the part on the next page"
    assert all("Ask a pharmacist" in table.whole for table in (adults, children))
    assert "a temperature over 39°C." in purple.by_id["1.1.1"].tables[0].text


def test_what_stands_between_is_a_note_and_nothing_is_unread(purple: Guideline) -> None:
    notes = {note.text: note.rule for note in purple.notes}
    assert notes["These recommendations are for people with purple fever."] is None
    assert notes["In May 2024, this was an off-label use."] == "1.1.3"
    assert purple.coverage.unread == ()
    assert purple.coverage.numbered == 7
    assert "Purple fever: treatment" in purple.coverage.left_out


def test_what_is_missing_is_said(purple: Guideline) -> None:
    messages = [problem.message for problem in purple.problems if problem.kind in ("gap", "table", "incomplete")]
    assert messages == [
        "The numbering jumps to 1.2.5; 1.2.4 is missing.",
        "Recommendation 1.2.5 refers to table 7, which was not found in this file.",
        "Recommendation 1.1.2 has no date tag. Check that it is complete.",
    ]


def test_words_that_belong_to_nothing_are_shown_with_their_page(tmp_path: Path, printed: Path) -> None:
    found = read(
        document(
            ("heading", "# Recommendations"),
            ("heading", "## 1.1 Spots"),
            ("paragraph", "1.1.1 Refer people with spots. [2020]"),
            ("paragraph", "They need a letter too."),
            ("paragraph", "1.1.2 Offer rest to people with spots and [2020]"),
        )
    )
    assert [(text.page, text.rule, text.text) for text in found.coverage.unread] == [
        (1, "1.1.1", "They need a letter too.")
    ]
    told = [problem.message for problem in found.problems]
    unread = "“They need a letter too.” was not read as part of a recommendation, table or note."
    assert f"Page 1, after recommendation 1.1.1: {unread}" in told
    assert any(message.startswith("Recommendation 1.1.2 ends in the middle of a sentence") for message in told)
    shown = _check(tmp_path, printed)
    assert shown["coverage"]["recommendations"] == shown["coverage"]["numbered"] == 7
    assert shown["coverage"]["unread"] == []
    assert [(table["name"], table["rules"]) for table in shown["tables"]] == [
        ("box 1", ["1.1.1"]),
        ("purple rash checklist", ["1.2.2"]),
        ("table 1", ["1.2.1"]),
        ("table 2", ["1.2.1"]),
    ]
    said = CliRunner().invoke(cli, ["--home", str(tmp_path), "guidelines", "check", str(printed)]).output
    assert "7 of 7 recommendation numbers read" in said
    assert "not read: 0" in said


def _check(home: Path, file: Path) -> dict[str, Any]:
    told = CliRunner().invoke(cli, ["--home", str(home), "guidelines", "check", str(file), "--json"])
    found: dict[str, Any] = json.loads(told.output)
    return found


@pytest.mark.parametrize(
    ("name", "rules"),
    [("ng12-2025-05", 110), ("ng136-hypertension", 78), ("ng226-osteoarthritis", 35), ("ng238-cardiovascular", 102),
     ("ng250-pneumonia", 57)],
)  # fmt: skip
def test_real_guidelines_are_read_without_a_rest(
    shared_data: Path, parsed_guideline: Callable[[str], Document], name: str, rules: int
) -> None:
    path = shared_data / "guidelines" / f"nice-{name}.pdf"
    if not path.is_file():
        pytest.skip("the guideline is not here (../shared/data/guidelines)")
    found = read(parsed_guideline(path.name))
    assert len(found.rules) == found.coverage.numbered == rules
    assert found.coverage.unread == found.coverage.stray == ()
    assert not [problem for problem in found.problems if problem.kind in ("table", "unread")]
    assert not [problem for problem in found.problems if "middle of a sentence" in problem.message]


@pytest.mark.parametrize(
    "name", ["ng136-hypertension", "ng226-osteoarthritis", "ng238-cardiovascular", "ng250-pneumonia"]
)
def test_no_letter_that_another_library_sees_on_a_page_is_lost(
    shared_data: Path, parsed_guideline: Callable[[str], Document], name: str
) -> None:
    path = shared_data / "guidelines" / f"nice-{name}.pdf"
    if not path.is_file():
        pytest.skip("the guideline is not here (../shared/data/guidelines)")
    document_ = parsed_guideline(path.name)
    layout = document_.layout
    with pdfplumber.open(path) as pdf:
        for page in pdf.pages:
            letters = "".join(char["text"] for char in page.chars)
            seen = Counter(letter for letter in letters if letter.isascii() and letter.isalnum())
            placed = [document_.text[line.start : line.end] for line in layout.lines if line.page == page.page_number]
            left_out = [text for number, text in layout.left_out if number == page.page_number]
            read_ = unicodedata.normalize("NFKC", "".join([*placed, *left_out]))  # a raised 2 is written “²”
            assert not seen - Counter(read_), page.page_number


@pytest.mark.parametrize(
    "date",
    ["2019", "2019, amended 2023", "May 2023", "April 2022, updated January 2024", "NICE 2017, BTS/SIGN 2019",
     "updated 6 April 2022", "2004, amended 2011 and 2015", "2012, updated 2018; amended 2021"],
)  # fmt: skip
def test_a_date_is_read_in_every_form(date: str) -> None:
    found = read(
        document(
            ("heading", "# 1.1 Spots"),
            ("paragraph", f"1.1.1 Refer people with spots. [{date}]"),
            ("paragraph", "1.1.2 Offer rest [particularly in bed]. [2020]"),
        )
    )
    assert [(rule.text, rule.date) for rule in found.rules] == [
        ("Refer people with spots.", date),
        ("Offer rest [particularly in bed].", "2020"),
    ]


def test_the_rows_of_tables_for_several_people_are_found_by_themselves_under_their_caption(
    purple: Guideline, printed: Path
) -> None:
    found = [piece for piece in pieces(purple, parsed(printed).text) if piece.kind == "table"]
    assert any("1 to 4 years, amoxicillin" in piece.text for piece in found)
    assert {piece.label for piece in found} == {
        "NG999 §1.2.1, Table 1 Antibiotics for treating purple fever in adults",
        "NG999 §1.2.1, Table 2 Antibiotics for treating purple fever in babies and children",
    }


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, shared_data: Path, embedder: MiniLM) -> Iterator[App]:
    path = shared_data / "guidelines" / "nice-ng250-pneumonia.pdf"
    if not path.is_file():
        pytest.skip("the guideline is not here (../shared/data/guidelines)")
    with closing(build(Settings.model_validate({"home": tmp_path_factory.mktemp("library")}))) as app:
        app.__dict__["embedder"] = embedder
        app.guidelines.add(path)
        yield app


@pytest.mark.parametrize(
    ("question", "said", "table"),
    [
        ("What dose of amoxicillin for a 4-year-old with non-severe community-acquired pneumonia?",
         "1 year to 4 years, 250 mg", "Table 2"),
        ("What is the dose of amoxicillin for an adult with low-severity pneumonia?",
         "Amoxicillin: 500 mg three times a day", "Table 1"),
    ],
    ids=["child", "adult"],
)  # fmt: skip
def test_a_dose_is_answered_from_the_table_for_these_people(library: App, question: str, said: str, table: str) -> None:
    *_, done = library.chat.ask_service(()).assistant().ask(question, scope=library.scope_of_owner(), history=())
    assert isinstance(done, AnswerDone)
    assert said in done.answer.text
    cited = [citation.section[-1] for citation in done.answer.citations]
    assert cited
    assert all(f"§1.6.2, {table} " in label for label in cited), cited
    assert not any(note["words"] == "amoxicillin" for note in done.answer.notes["unused"])


def test_a_guideline_added_as_any_document_is_recognised_and_offered(
    tmp_path: Path, printed: Path, model_cache: Path
) -> None:
    home = ["--home", str(tmp_path / "home")]
    told = CliRunner().invoke(cli, [*home, "add", str(printed)]).output
    assert "This looks like a guideline: NG999. Apply it to patients: citewell guidelines add " in told
    paper = tmp_path / "paper.md"
    paper.write_text("# A trial\n\n1.1.1 The trial had two arms.\n\n1.1.2 It ran for a year.\n\n1.1.3 Nobody fell.\n")
    added = json.loads(CliRunner().invoke(cli, [*home, "add", str(paper), "--json"]).output)["added"]
    assert [one["guideline"] for one in added] == [None]
    applied = json.loads(CliRunner().invoke(cli, [*home, "guidelines", "add", str(printed), "--json"]).output)
    assert (applied["name"], applied["rules"], applied["was_there"]) == ("NG999", 7, True)
    again = json.loads(CliRunner().invoke(cli, [*home, "add", str(printed), "--json"]).output)["added"]
    assert [one["guideline"] for one in again] == [None], "it is applied already"


def _scored(guideline: Guideline, **fields: Any) -> list[dict[str, Any]]:
    scores: list[dict[str, Any]] = assessment_json(assess(patient_from(fields), [guideline])).get("scores", [])
    return scores


def test_a_score_in_a_box_is_worked_out_item_by_item_and_what_is_missing_is_asked(tmp_path: Path) -> None:
    guideline = read(parsed(print_indented(tmp_path / "score.pdf", SCORED)))
    rate = {"name": "respiratory rate", "value": 32, "unit": "breaths/min"}
    pressure = {"name": "blood pressure", "text": "120/80"}
    (full,) = _scored(guideline, age=70, symptoms=["no confusion"], tests=[rate, pressure])
    assert (full["name"], full["rules"]) == ("Box 1 Purple score", ["1.1.1"])
    assert (full["total"], full["highest"], full["meaning"], full["ask"]) == (2, 2, "medium", [])
    assert [item["state"] for item in full["items"]] == ["not met", "met", "not met", "met"]
    (part,) = _scored(guideline, age=70, symptoms=["confusion"])
    assert (part["total"], part["highest"], part["meaning"]) == (2, 4, None)
    assert [text.partition(" (")[0] for text in part["ask"]] == ["raised respiratory rate", "low blood pressure"]
    assert _scored(guideline, age=70, symptoms=["cough"]) == [], "nothing of it but the age is on record"


def test_the_weighted_checklist_of_ng12_is_worked_out(ng12: Guideline) -> None:
    (score,) = _scored(ng12, age=50, symptoms=["pigmented mole getting bigger, with two shades of brown"])
    assert (score["name"], score["total"], score["most"]) == ("Weighted 7-point checklist", 4, 10)
    assert [item["text"] for item in score["items"] if item["state"] == "assumed"] == [
        "change in size",
        "irregular colour",
    ]
    assert "oozing" in score["ask"]
    assert _scored(ng12, age=50, symptoms=["breast lump getting bigger"]) == []


def test_a_table_goes_on_over_the_page_and_one_that_nothing_names_is_said(tmp_path: Path) -> None:
    lines: list[Line] = [
        ("section", "1.1 Doses"),
        (
            "rule",
            "1.1.1 Give the dose in the table below to people with green fever, and check it the next day. [2020]",
        ),
        ("row", "Age|Dose"),
        ("row", "Adults|5 mg a day"),
        ("row", "Children|1 mg a day"),
        ("rule", "1.1.2 For babies and children with green fever, follow table 3 on the dose. [2021]"),
        ("rule", "1.1.3 Follow figure 1 in everyone, and table 1 in NICE's guideline on sepsis. [2021]"),
        ("caption", "Table 3 Dose in babies and children"),
        ("margin", "Doses are by mouth."),
        ("row", "Age|Dose"),
        ("row", "Under 1 year|1 mg"),
        ("page", ""),
        ("caption", "Table 3 Dose in babies and children (continued)"),
        ("row", "Age|Dose"),
        ("row", "1 to 5 years|2 mg"),
        ("row", "6 to 11 years|3 mg"),
        ("margin", "Abbreviations: mg, milligrams."),
        ("margin", "Figure 1 Pathway"),
        ("rule", "1.1.4 Offer a choice of medicines to people who would rather not have injections. [2021]"),
        ("caption", "Table 4 Costs"),
        ("row", "Medicine|Cost"),
        ("row", "Greenicillin|1 pound"),
        ("row", "Bluecillin|2 pounds"),
        ("rule", "1.1.5 Stop when the fever has gone. [2021]"),
    ]
    found = read(parsed(print_indented(tmp_path / "green.pdf", lines)))
    tables = {rule.id: [table.text for table in rule.tables] for rule in found.rules}
    assert [len(tables[f"1.1.{number}"]) for number in (1, 2, 3, 4, 5)] == [1, 1, 1, 1, 0]
    assert "5 mg a day" in tables["1.1.1"][0]
    assert all(words in tables["1.1.2"][0] for words in ("by mouth", "Under 1 year", "6 to 11 years", "milligrams"))
    assert [problem.message for problem in found.problems if problem.kind == "table"] == [
        "Recommendation 1.1.3 refers to figure 1 on page 3, which has no text.",
        "Page 3: no recommendation refers to table 4. It is kept with recommendation 1.1.4, above it.",
    ]
    assert found.coverage.unread == ()
