"""The Evidence page and the admin pages do their main jobs in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citewell.types import Scope
from tests.web.conftest import follow

pytestmark = [pytest.mark.slow, pytest.mark.browser]

CLINIC = Scope.owner("local")
QUESTION = "who needs heparin bridging for AF"


def _journey(site: Any) -> str:
    """The policy on anticoagulants, in a journey of its own."""
    site.app.journeys.add("Planned procedures", description="Before an operation.", scope=CLINIC, by="owner")
    site.app.journeys.add("Diarrhoea", scope=CLINIC, by="owner")
    policy = next(one for one in site.app.entries() if one.name == "anticoagulants-policy.docx")
    site.app.journeys.assign("planned-procedures", [policy.id], scope=CLINIC, by="owner")
    return str(policy.id)


def _fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_a_journey_is_chosen_asked_and_its_source_opened_within_it(own: Any, visit: Any, watched: Any) -> None:
    policy = _journey(own)
    page = visit(own)
    follow(page, ".chips >> text=Planned procedures")
    expect(page.locator(".ask > .help")).to_contain_text("documents for everyone and for Planned procedures only")
    page.fill("#q", QUESTION)
    page.press("#q", "Enter")
    turn = page.locator(".turn[data-answer]")
    expect(turn.locator(".sentence").first).to_contain_text("Offer bridging")
    expect(page.locator(".chips [aria-current]")).to_have_text("Planned procedures")
    chip = turn.locator(".sentence .chip").first
    assert chip.get_attribute("href").startswith(f"/evidence/in/planned-procedures/documents/{policy}/source?")
    chip.click()
    expect(page.locator("#source #marked").first).to_contain_text("Offer bridging")
    page.keyboard.press("Escape")
    page.reload()
    expect(page.locator(".turn .question")).to_have_text(QUESTION)
    own.app.library.withdraw(policy, CLINIC, by="owner")
    page.reload()
    expect(page.locator(".references .reasons").first).to_contain_text("has since been withdrawn")
    watched.expected.append("404")
    page.locator(".sentence .chip").first.click()
    expect(page.locator("#source .notice")).to_contain_text("has since been withdrawn")
    page.set_viewport_size({"width": 420, "height": 800})
    assert _fits(page)
    page.keyboard.press("Escape")
    with page.expect_navigation():
        page.click("text=Delete this conversation")
    expect(page.locator("#talks a")).to_have_count(0)


def test_a_content_manager_uploads_files_reads_withdraws_and_restores(own: Any, visit: Any, tmp_path: Path) -> None:
    _journey(own)
    page = visit(own)
    follow(page, "nav >> text=Admin")
    follow(page, ".tabs >> text=Upload")
    page.select_option("select[name=journeys]", label="Diarrhoea")
    good, bad = tmp_path / "zinc.md", tmp_path / "broken.pdf"
    good.write_text("# Zinc\n\nGive zinc 20 mg once a day for 10 to 14 days to children with diarrhoea.")
    bad.write_bytes(b"%PDF-1.4 cut off")
    page.set_input_files("#files", [good, bad])
    expect(page.locator("#who-finds")).to_have_text(
        "Everyone who can use this library will find them, within the journey “diarrhoea” only."
    )
    page.click("text=Add 2 documents")
    expect(page.locator(".documents tr", has_text="Zinc").locator(".state")).to_have_text("ready")
    expect(page.locator(".documents tr", has_text="broken.pdf")).to_contain_text("could not be read")
    follow(page, ".tabs >> text=Documents")
    page.select_option("select[name=journey]", label="Diarrhoea")
    with page.expect_navigation():
        page.click("text=Filter")
    expect(page.locator(".documents tbody tr")).to_have_count(2)
    follow(page, ".documents >> text=Zinc")
    page.fill("input[name=title]", "Zinc for children")
    page.check("label.check >> text=Planned procedures")
    with page.expect_navigation():
        page.click("text=Save")
    expect(page.locator("h1")).to_have_text("Zinc for children")
    page.locator(".hit .opens").first.click()
    expect(page.locator("#source .text")).to_contain_text("Give zinc 20 mg")
    page.keyboard.press("Escape")
    with page.expect_navigation():
        page.click("text=Withdraw…")
    with page.expect_navigation():
        page.click("text=Withdraw documents")
    expect(page.locator(".notice.good")).to_contain_text("1 of 1 document: withdrawn from search")
    row = page.locator(".documents tr", has_text="Zinc for children")
    expect(row.locator(".state")).to_have_text("withdrawn")
    hits = own.app.search("zinc for diarrhoea", scope=own.app.scope(journey="diarrhoea")).hits
    assert "Zinc for children" not in {hit.document for hit in hits}
    row.locator("input").check()
    with page.expect_navigation():
        page.click("text=Restore…")
    with page.expect_navigation():
        page.click("text=Restore documents")
    expect(page.locator(".documents tr", has_text="Zinc for children").locator(".state")).to_have_text("ready")
    page.set_viewport_size({"width": 420, "height": 800})
    for address in ("documents", "journeys", "queue", "audit", "health", "upload"):
        page.goto(f"{own.address}/admin/{address}")
        assert _fits(page), address
