"""The Check page says how far it is, and holds a text against the one document that was chosen: in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from citewell.samples import CHAPTER, LEAFLET
from tests.web.conftest import follow

pytestmark = [pytest.mark.slow, pytest.mark.browser]

LOPERAMIDE = "Do not give loperamide to children under 12 years."
UNSENT = "() => document.addEventListener('submit', (event) => event.preventDefault())"
"""A text whose check takes its time: the page stays."""


def test_past_two_seconds_a_check_tells_the_time_so_far_and_where_it_is_known_the_time_left(
    own: Any, visit: Any
) -> None:
    page = visit(own)
    page.clock.install()
    page.goto(f"{own.address}/check")
    status = page.locator("#check [role=status]")
    expect(status).to_be_hidden()
    page.fill("#text", LOPERAMIDE)
    page.evaluate(UNSENT)
    page.click("#check button")
    expect(status).to_have_text("Checking each sentence…")
    page.clock.run_for(3_000)
    expect(status).to_have_text("Checking each sentence… 3 s so far")

    page.goto(f"{own.address}/check")
    page.fill("#text", LOPERAMIDE)
    page.click("#check button")
    expect(page.locator(".checked li")).to_have_count(1)
    expect(page.locator("#check")).to_have_attribute("data-usual-ms", re.compile(r"^[1-9]\d*$"))
    page.evaluate(UNSENT)
    page.locator("#check").evaluate("(form) => { form.dataset.usualMs = 4000; }")
    page.fill("#text", f"{LOPERAMIDE} Give zinc for 14 days.\nGive ORS")
    page.click("#check button")
    page.clock.run_for(3_000)
    expect(status).to_have_text("Checking each sentence… about 9 s left")


def test_a_text_is_held_against_the_one_document_that_was_chosen(served: Any, visit: Any) -> None:
    titles = {entry.name: entry.title for entry in served.app.entries()}
    page = visit(served)
    follow(page, "nav >> text=Check")
    page.click("text=Check against another source")
    page.fill("#text", LOPERAMIDE)
    verdict = page.locator(".checked .verdict .unseen")
    for name, words in ((LEAFLET, "not found in the sources"), (CHAPTER, "supported by the source")):
        page.get_by_label("One document").select_option(label=titles[name])
        with page.expect_navigation():
            page.click("#check button")
        expect(verdict).to_have_text(words)
        expect(page.get_by_label("One document").locator("option:checked")).to_have_text(titles[name])
    page.locator(".checked a[data-panel]").click()
    expect(page.locator("#source .source-title")).to_contain_text(titles[CHAPTER])


def test_a_leaflet_is_checked_as_a_file_and_a_wrong_file_says_so(served: Any, visit: Any, tmp_path: Path) -> None:
    (tmp_path / "leaflet.html").write_text(f"<title>Leaflet</title><p>{LOPERAMIDE}</p>")
    (tmp_path / "photo.pdf").write_bytes(b"\x00\x01\x02 no document")
    page = visit(served)
    page.goto(f"{served.address}/check")
    page.set_input_files("#file", tmp_path / "leaflet.html")
    with page.expect_navigation():
        page.click("#check button")
    expect(page.locator("#text")).to_have_value(LOPERAMIDE)
    expect(page.locator(".checked .verdict .unseen")).to_have_text("supported by the source")
    expect(page.locator(".checked .badge").first).to_have_text("Sample")
    page.set_input_files("#file", tmp_path / "photo.pdf")
    with page.expect_navigation():
        page.click("#check button")
    expect(page.locator("[role=alert]")).to_contain_text("The file is damaged")
