"""The one box: an open record answers beside the library, a document can be asked alone, an answer is taken along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citewell.samples import LEAFLET
from tests.web.conftest import follow

pytestmark = [pytest.mark.slow, pytest.mark.browser]

TETANUS = "When was my last tetanus shot?"


def ask(page: Page, question: str, *, number: int = 1) -> Any:
    page.fill("#q", question)
    page.press("#q", "Enter")
    turn = page.locator("#turns > .turn").nth(number - 1)
    page.wait_for_selector(f"#turns > .turn:nth-child({number})[data-answer]", timeout=60_000)
    return turn


def test_an_open_record_answers_beside_the_library_and_stays_out_of_its_log(own: Any, visit: Any) -> None:
    page = visit(own)
    follow(page, "nav >> text=My records")
    page.fill("#label", "maria")
    page.fill("#passphrase", "three green bicycles")
    page.fill("#again", "three green bicycles")
    with page.expect_navigation():
        page.click("button:text-is('Create')")
    page.goto(own.address)
    expect(page.locator(".rail > a").first).to_contain_text("My records")
    turn = ask(page, TETANUS)
    expect(turn.locator(".from-record > h3")).to_have_text("From your record “maria”")
    expect(turn.locator(".from-record")).to_contain_text("Your record is empty")
    expect(turn.locator(".routed h3")).to_have_text("Not in your documents")
    page.reload()
    expect(page.locator(".from-record")).to_contain_text("Your record is empty")
    audit, asker = own.app.ask_service.audit, own.app.owner()
    (entry,) = audit.entries(asker)
    assert "Your record is empty" not in json.dumps(audit.read(entry.answer_id, asker).words)
    page.uncheck("[name=record]")
    second = ask(page, "who needs heparin bridging for AF", number=2)
    expect(second.locator(".sentence").first).to_contain_text("Offer bridging")
    expect(second.locator(".from-record")).to_have_count(0)


def test_a_document_is_asked_alone_and_its_answer_is_taken_along(own: Any, visit: Any, tmp_path: Path) -> None:
    leaflet = next(entry for entry in own.app.entries() if entry.name == LEAFLET)
    page = visit(own)
    page.goto(f"{own.address}/documents/{leaflet.id}")
    follow(page, "text=Ask this document")
    expect(page.locator(".chips .chosen")).to_have_text(f"Only: {leaflet.title}")
    turn = ask(page, "I missed a dose of my blood thinner")
    expect(turn.locator(".sentence").first).to_be_visible()
    cited = turn.locator(".references a").evaluate_all("(all) => all.map((one) => one.href)")
    assert cited
    assert all(f"/documents/{leaflet.id}/" in address for address in cited)
    expect(turn.locator(".sample-note")).to_contain_text("fictional")
    turn.locator(".searched summary").click()
    expect(turn.locator(".searched p").first).to_have_text("Searched this document alone.")
    turn.locator(".export summary").click()
    for label, begins in (("Markdown", b"# I missed"), ("Word", b"PK"), ("PDF", b"%PDF"), ("References", b"TY  - ")):
        with page.expect_download() as taken:
            turn.locator(f".export >> text={label}").click()
        assert Path(taken.value.path()).read_bytes().startswith(begins)
    page.click("text=Edit and ask again")
    expect(page.locator("#q")).to_have_value("I missed a dose of my blood thinner")
    page.fill("#q", "who needs heparin bridging for AF")
    page.press("#q", "Enter")
    page.wait_for_selector("#turns > .turn:nth-child(2)[data-answer]", timeout=60_000)
    last = own.app.ask_service.audit.entries(own.app.owner())[0]
    words = own.app.ask_service.audit.read(last.answer_id, own.app.owner()).words
    assert {one["document_id"] for one in words["evidence"]} <= {leaflet.id}


def test_real_documents_stand_before_samples_and_samples_are_marked(own: Any, visit: Any, tmp_path: Path) -> None:
    (tmp_path / "cough.md").write_text(
        "# Cough clinic\n\nRefer adults who are coughing up blood to the cough clinic.\n"
    )
    (outcome,) = own.app.add_all([tmp_path / "cough.md"])
    assert outcome.error is None
    page = visit(own)
    page.goto(f"{own.address}/search?q=coughing+up+blood")
    expect(page.locator(".hit h2").first).to_have_text("Cough clinic")
    expect(page.locator(".divider")).to_have_count(1)
    expect(page.locator(".hit .badge")).to_have_count(page.locator(".hit").count() - 1)
