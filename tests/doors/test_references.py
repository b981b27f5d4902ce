"""References of an answer: each format is read back by a reader of others, and nobody sees another's answer."""

from __future__ import annotations

import json
from datetime import date

import bibtexparser
import pytest
import rispy
from typer.testing import CliRunner

from citewell.answer.references import QuotedWords, Reference, bibtex, csl_json, ris
from citewell.app import App
from citewell.cli.commands import app
from tests.doors.conftest import SAMPLE_QUESTION, Door

HARD = Reference(
    "d1e2f3a4-0000-4000-8000-000000000000",
    "Iron & folate: 50% of {women}\nin C_1 \\ #2 ~ ^",
    2,
    (QuotedWords("Give “iron”.\nThen\tstop.", 3), QuotedWords("ER  - no end", None), QuotedWords("Later.", 1)),
    publisher="Ward & Sons",
    published=date(2024, 5, 1),
    language="en",
    url="https://example.org/a_b",
    identifiers=(("doi", "10.1000/x_y"), ("pmid", "123"), ("pmcid", "PMC9")),
)
BARE = Reference("aaaabbbb-0000-4000-8000-000000000000", "Äpfel", 1, ())


def test_ris_is_read_back_whole_whatever_a_title_holds() -> None:
    first, second = rispy.loads(ris([HARD, BARE]))
    assert (first["type_of_reference"], first["id"]) == ("JOUR", "citewell-d1e2f3a4")
    assert first["title"] == "Iron & folate: 50% of {women} in C_1 \\ #2 ~ ^"
    assert (first["publisher"], first["year"], first["doi"]) == ("Ward & Sons", "2024", "10.1000/x_y")
    assert first["start_page"] == "1, 3"
    assert first["notes"] == ["“Give “iron”. Then stop.” (page 3) “ER - no end” “Later.” (page 1)"]
    assert second == {"type_of_reference": "GEN", "id": "citewell-aaaabbbb", "title": "Äpfel"}


def test_bibtex_is_read_back_whole_whatever_a_title_holds() -> None:
    library = bibtexparser.parse_string(bibtex([HARD, BARE]))
    assert library.failed_blocks == []
    first, second = library.entries
    assert (first.entry_type, first.key, second.entry_type) == ("article", "citewell-d1e2f3a4", "misc")
    fields = {name: field.value for name, field in first.fields_dict.items()}
    assert fields["title"].startswith(r"{Iron \& folate: 50\% of \{women\} in C\_1 \textbackslash{} \#2")
    assert (fields["doi"], fields["url"], fields["pmid"]) == ("10.1000/x_y", "https://example.org/a_b", "123")
    assert second.fields_dict["title"].value == "{Äpfel}"


def test_csl_json_holds_the_same() -> None:
    first, second = json.loads(csl_json([HARD, BARE]))
    assert (first["type"], first["issued"], first["DOI"]) == (
        "article-journal",
        {"date-parts": [[2024, 5, 1]]},
        "10.1000/x_y",
    )
    assert second == {"id": "citewell-aaaabbbb", "type": "document", "title": "Äpfel"}


@pytest.mark.slow
def test_an_answer_gives_each_cited_document_once_in_every_format(door: Door) -> None:
    with door.client(door.nurse) as nurse, door.client(door.member) as other:
        answer = nurse.post("/api/v1/ask", json={"question": SAMPLE_QUESTION}).json()
        address = f"/api/v1/audit/{answer['id']}/references"
        sent = nurse.get(address)
        assert sent.headers["content-type"].startswith("application/x-research-info-systems")
        assert "references.ris" in sent.headers["content-disposition"]
        titles = list(dict.fromkeys(citation["document"] for citation in answer["citations"]))
        assert titles
        assert [entry["title"] for entry in rispy.loads(sent.text)] == titles
        assert all(" ".join(citation["quote"].split()) in sent.text for citation in answer["citations"])
        written = nurse.get(address, params={"format": "bibtex"}).text
        assert len(bibtexparser.parse_string(written).entries) == len(titles)
        assert [item["title"] for item in nurse.get(address, params={"format": "csl-json"}).json()] == titles
        assert nurse.get(address, params={"format": "endnote"}).status_code == 422
        assert other.get(address).status_code == 404
    said = CliRunner().invoke(app, ["--home", str(door.home), "audit", "references", answer["id"]])
    assert said.output == sent.text


@pytest.mark.slow
def test_a_document_that_was_erased_leaves_its_title_and_none_of_its_words(samples: App) -> None:
    answer = samples.ask(SAMPLE_QUESTION)
    cited = answer.citations[0]
    samples.delete(cited.document_id)
    text = ris(samples.references(answer.id))
    entry = next(entry for entry in rispy.loads(text) if entry["title"] == cited.document)
    assert "notes" not in entry
    assert cited.quote not in text
    assert "erased" not in text
