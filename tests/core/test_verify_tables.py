"""The check on tables: a row is a sentence of its own, under its caption and headers, and is shown where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from citewell.answer.table_rows import RowCell, tabled
from citewell.answer.verify.source_sentences import parts_of
from citewell.app import App, build
from citewell.config import Settings
from citewell.samples import CHAPTER, GUIDELINE, sample_files
from citewell.types import EvidenceSpan, SentenceCheck, Verdict
from citewell.web.source_highlights import SourceTarget, view
from tests.checking import checked
from tests.once import once

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"
KNOWN = {"A lower number of 180 mmHg or more means that help must be called now."}
"""Written as false, with the number of the column beside it; but 180 lies within “120 or more”, so it follows."""

DOSES = """Doses of the ward

Medicine: Aspirin; Low risk: 75 mg once a day; High risk: 150 mg once a day
Medicine: Clopidogrel; Low risk: None; High risk: 75 mg once a day"""


@dataclass(frozen=True)
class Claim:
    group: str
    is_true: bool
    text: str


def claims() -> list[Claim]:
    lines = (DATA / "table_claims.tsv").read_text("utf-8").splitlines()
    told = [line.split("\t") for line in lines if not line.startswith("#")]
    return [Claim(group, truth == "true", text) for group, _, truth, _, text in told]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The samples, and the documents that were written for these sentences; nobody changes it."""

    def add(home: Path) -> None:
        with build(Settings(home=home)) as app:
            found = app.add_all([*sample_files(), *sorted((DATA / "tables").iterdir())])
            assert {outcome.error for outcome in found} == {None}

    with build(Settings(home=once(tmp_path_factory, "tables", add))) as app:
        yield app


def in_library(app: App, text: str) -> SentenceCheck:
    return app.check(text)[0][1]


def held_against(text: str, source: str, *, start: int = 0) -> SentenceCheck:
    spans = [EvidenceSpan("a:0", start, start + len(source), source)]
    return checked(text, spans)


@pytest.mark.slow
@pytest.mark.parametrize("group", ["first", "fresh", "last"])
def test_true_sentences_about_rows_are_not_contradicted_and_false_ones_not_supported(library: App, group: str) -> None:
    asked = [claim for claim in claims() if claim.group == group and claim.text not in KNOWN]
    found = {claim: in_library(library, claim.text).verdict for claim in asked}
    contradicted = [claim.text for claim, verdict in found.items() if claim.is_true and verdict is Verdict.CONTRADICTED]
    supported = [claim.text for claim, verdict in found.items() if not claim.is_true and verdict is Verdict.SUPPORTED]
    assert len(asked) >= 34
    assert (contradicted, supported) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize(("dose", "verdict"), [("75 ml/kg", Verdict.SUPPORTED), ("50 ml/kg", Verdict.CONTRADICTED)])
def test_the_sentence_under_a_plan_and_no_row_decides_on_a_claim_that_names_no_case(
    library: App, dose: str, verdict: Verdict
) -> None:
    check = in_library(library, f"Plan B is {dose} of ORS over 4 hours.")
    assert check.verdict is verdict
    assert check.span is not None
    assert check.span.text.startswith("Give ORS 75 ml/kg by mouth over 4 hours")


@pytest.mark.parametrize(
    ("text", "verdict", "quote"),
    [
        (
            "A child of 10 kg needs 750 ml of oral rehydration solution in 4 hours under plan B.",
            Verdict.SUPPORTED,
            "Weight (kg): 10; Plan B: total in 4 hours (ml): 750;",
        ),
        (
            "A child of 10 kg needs 900 ml of oral rehydration solution in 4 hours under plan B.",
            Verdict.CONTRADICTED,
            "Weight (kg): 10; Plan B: total in 4 hours (ml): 750;",
        ),
        (
            "With a creatinine clearance of 30 mL/min or more, stop apixaban 24 hours before a procedure with a low "
            "bleeding risk.",
            Verdict.SUPPORTED,
            "Anticoagulant: Apixaban, edoxaban or rivaroxaban; Creatinine clearance: ≥ 30 mL/min;",
        ),
        ("Haemoptysis counts 3 points in the Northvale clot score.", Verdict.CONTRADICTED, "Feature: Haemoptysis;"),
    ],
)
def test_the_row_that_decides_is_the_evidence_at_its_exact_place(
    library: App, text: str, verdict: Verdict, quote: str
) -> None:
    check = in_library(library, text)
    assert check.span is not None
    document = library.show(check.span.source_id.rpartition(":")[0])[1]
    assert (check.verdict, check.span.text[: len(quote)]) == (verdict, quote)
    assert "\n" not in check.span.text
    assert document.text[check.span.start : check.span.end] == check.span.text
    rows = [(block.start, block.end) for block in document.blocks if block.kind == "table_row"]
    assert (check.span.start, check.span.end) in rows


@pytest.mark.parametrize(
    ("text", "name", "cells"),
    [
        ("Under plan B a child who weighs 16 kg gets 25 ml every 5 minutes.", CHAPTER, ["16", "1,200", "25", "160"]),
        ("Previous DVT or PE counts 2 points in the Northvale clot score.", GUIDELINE, ["Previous DVT or PE", "2"]),
    ],
)
def test_the_source_opens_at_the_row_with_its_cells_marked(
    library: App, text: str, name: str, cells: list[str]
) -> None:
    span = in_library(library, text).span
    assert span is not None
    document_id, _, chunk = span.source_id.rpartition(":")
    entry, document, chunks = library.show(document_id)
    assert entry.name == name
    as_text = view(entry, document, chunks, SourceTarget(int(chunk), span.start, span.end, as_text=True))
    assert as_text.quote == span.text
    body = str(as_text.body)
    row = body.partition('<tr id="marked">')[2].partition("</tr>")[0]
    assert re.findall(r'<strong class="best">(.*?)</strong>', row) == cells
    assert body.count('<strong class="best">') == len(cells)
    if name == GUIDELINE:
        page = view(entry, document, chunks, SourceTarget(int(chunk), span.start, span.end))
        tops = {round(box.top) for box in page.best_boxes}
        assert page.best_boxes
        assert max(tops) - min(tops) <= 4
        assert {round(box.top) for box in page.passage_boxes} > tops


def test_rows_are_read_with_their_headers_and_the_caption_is_no_sentence() -> None:
    source = EvidenceSpan("a:3", 50, 50 + len(DOSES), DOSES)
    found = tabled((source,))
    assert [part.text for part in parts_of([source])] == DOSES.splitlines()[2:]
    assert [row.table.caption for row in found.rows.values()] == ["Doses of the ward"] * 2
    assert next(iter(found.rows.values())).cells == (
        RowCell("Medicine", "Aspirin"),
        RowCell("Low risk", "75 mg once a day"),
        RowCell("High risk", "150 mg once a day"),
    )


def test_a_header_may_hold_a_colon_and_a_value_a_semicolon() -> None:
    rows = [
        "Weight: 4 kg; Plan B: in all: 300 ml; Note: weigh; then feed",
        "Weight: 6 kg; Plan B: in all: 450 ml; Note: as above",
    ]
    text = "\n".join(rows)
    found = [row.cells for row in tabled((EvidenceSpan("a:0", 0, len(text), text),)).rows.values()]
    assert found[0] == (
        RowCell("Weight", "4 kg"),
        RowCell("Plan B: in all", "300 ml"),
        RowCell("Note", "weigh; then feed"),
    )


def test_the_end_of_a_row_whose_beginning_is_not_cited_says_nothing() -> None:
    cut = f"Low risk: 2 g; High risk: 9 g\n{DOSES.splitlines()[2]}\n{DOSES.splitlines()[3]}"
    assert [part.text for part in parts_of([EvidenceSpan("a:1", 0, len(cut), cut)])] == DOSES.splitlines()[2:]


def test_a_row_that_two_passages_share_comes_once() -> None:
    rows = DOSES.splitlines()[2:]
    one, other = (
        EvidenceSpan("a:0", 0, len(DOSES), DOSES),
        EvidenceSpan("a:1", len(DOSES) - len(rows[1]), len(DOSES), rows[1]),
    )
    assert [part.source_id for part in parts_of([one, other])] == ["a:0", "a:0"]


@pytest.mark.parametrize(
    "prose",
    [
        "Results: the dose was 5 mg; the rate fell.",
        "Note: rest; drink.\nCall us: at once.",
        "Give one of these: aspirin; clopidogrel; or both: never alone.",
    ],
)
def test_prose_with_colons_is_no_table(prose: str) -> None:
    assert not tabled((EvidenceSpan("a:0", 0, len(prose), prose),)).rows


@pytest.mark.parametrize(
    ("text", "verdict", "start"),
    [
        ("At low risk aspirin is given as 75 mg once a day.", Verdict.SUPPORTED, 19),
        ("At high risk aspirin is given as 75 mg once a day.", Verdict.CONTRADICTED, 19),
        ("At high risk clopidogrel is given as 75 mg once a day.", Verdict.SUPPORTED, 95),
        ("At low risk clopidogrel is given as 75 mg once a day.", Verdict.CONTRADICTED, 95),
    ],
)
def test_a_claim_is_held_against_the_column_that_it_names(text: str, verdict: Verdict, start: int) -> None:
    check = held_against(text, DOSES, start=0)
    assert check.span is not None
    assert (check.verdict, check.span.start) == (verdict, start)


@pytest.mark.parametrize(
    ("weight", "dose", "is_carried"),
    [("12 kg", "150 mg", True), ("12 kg", "250 mg", False), ("40 kg", "500 mg", True), ("9 kg", "150 mg", False)],
)
def test_a_value_within_a_band_is_of_that_row(weight: str, dose: str, is_carried: bool) -> None:
    table = (
        "Paracetamol for children\n\nWeight: 10 to 15 kg; Single dose: 150 mg\nWeight: 16 to 29 kg; Single dose: 250 mg"
        "\nWeight: ≥ 30 kg; Single dose: 500 mg"
    )
    check = held_against(f"A child of {weight} gets a single dose of {dose} of paracetamol.", table)
    assert (check.verdict is Verdict.SUPPORTED) == is_carried


@pytest.mark.parametrize(
    ("text", "is_carried"),
    [
        ("The pool can be used with gas and air.", True),
        ("The pool can be used with an epidural.", False),
        ("The pool cannot be used with an epidural.", True),
    ],
)
def test_yes_and_no_are_said_of_their_header(text: str, is_carried: bool) -> None:
    table = (
        "Relief in labour\n\nMethod: Gas and air; The pool can be used: Yes\nMethod: Epidural; The pool can be used: No"
    )
    assert (held_against(text, table).verdict is Verdict.SUPPORTED) == is_carried


def _held(claim: str, *texts: str) -> Verdict:
    spans = [EvidenceSpan(f"d{number}:0", 0, len(text), text) for number, text in enumerate(texts)]
    return checked(claim, spans).verdict


WARDS = "Unit: Stroke unit; Beds: 12\nUnit: Burns unit; Beds: 8"


@pytest.mark.parametrize(
    ("claim", "table", "verdict"),
    [
        ("The burns unit has 12 beds.", WARDS, Verdict.CONTRADICTED),
        ("The burns unit has 8 beds.", WARDS, Verdict.SUPPORTED),
        ("The ICU has 6 units.", "Unit: ICU; Units: 4\nUnit: CCU; Units: 6", Verdict.PARTLY),
        (
            "Potassium is 3.5 to 5 mmol/L.",
            "Test: Potassium; Range: 3.5 to 5; Unit: mmol/L\nTest: Glucose; Range: 4 to 6; Unit: mmol/L",
            Verdict.SUPPORTED,
        ),
        (
            "Ward A has a stroke unit with 12 beds.",
            "Ward: A; Unit: Stroke unit; Beds: 12\nWard: B; Unit: Burns unit; Beds: 8",
            Verdict.SUPPORTED,
        ),
        (
            "Ward A has a burns unit with 12 beds.",
            "Ward: A; Unit: Stroke unit; Beds: 12\nWard: B; Unit: Burns unit; Beds: 8",
            Verdict.CONTRADICTED,
        ),
    ],
)
def test_a_column_of_units_holds_units_of_measure_and_is_not_the_first(
    claim: str, table: str, verdict: Verdict
) -> None:
    assert _held(claim, table) is verdict


@pytest.mark.parametrize(
    ("prose", "verdict"),
    [
        ("Aspirin 75 mg once a day must not be given any more.", Verdict.CONTRADICTED),
        ("Aspirin 300 mg is given once a day at first.", Verdict.SUPPORTED),
    ],
)
def test_a_row_outvotes_other_numbers_in_prose_and_no_denial(prose: str, verdict: Verdict) -> None:
    table = "Medicine: Aspirin; Dose: 75 mg; How often: once a day\nMedicine: Iron; Dose: 90 mg; How often: twice a day"
    assert _held("Aspirin 75 mg is given once a day.", table, prose) is verdict
