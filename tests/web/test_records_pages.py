"""My records in a real browser: made, opened, asked, looked through, and locked again."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citewell.bootstrap.vault import Vaults
from citewell.types import Source
from tests.core.test_fhir_records import ALL, bundle
from tests.web.conftest import follow

pytestmark = [pytest.mark.slow, pytest.mark.browser]

PASSPHRASE = "three green bicycles"


def _vault(site: Any) -> str:
    """A vault beside the library, with one bundle in it, and locked."""
    vaults = Vaults(site.app.settings)
    made, _words = vaults.create("mum", PASSPHRASE)
    with vaults.open(made.id, PASSPHRASE) as profile:
        profile.app.embedder = site.app.embedder
        profile.record.import_source(Source(bundle(*ALL), "record.json"))
    vaults.close()
    return made.id


def _press(page: Page, button: str) -> None:
    with page.expect_navigation():
        page.click(button)


def _open(page: Page, site: Any, vault_id: str) -> None:
    page.goto(f"{site.address}/records/{vault_id}/unlock")
    page.fill("#passphrase", PASSPHRASE)
    _press(page, "button:text-is('Open')")


def test_a_vault_is_made_its_words_are_shown_once_and_it_is_locked(bare: Any, visit: Any) -> None:
    page = visit(bare)
    follow(page, "nav >> text=My records")
    expect(page.locator(".empty h2")).to_have_text("There is no record yet")
    page.fill("#label", "me")
    page.fill("#passphrase", PASSPHRASE)
    page.fill("#again", "three green tricycles")
    _press(page, "text=Make it")
    expect(page.locator("[role=alert]")).to_contain_text("The two passphrases differ")
    assert page.input_value("#label") == "me"
    assert page.input_value("#passphrase") == ""
    page.fill("#passphrase", PASSPHRASE)
    page.fill("#again", PASSPHRASE)
    _press(page, "text=Make it")
    expect(page.locator(".words-once li")).to_have_count(12)
    follow(page, "text=I have written them down")
    expect(page.locator(".empty h2")).to_have_text("This record is empty")
    _press(page, "text=Lock now")
    expect(page.locator(".vaults .state")).to_have_text("locked")
    follow(page, ".vaults a")
    page.fill("#passphrase", "not the passphrase")
    _press(page, "button:text-is('Open')")
    expect(page.locator("[role=alert]")).to_have_text("That does not open this vault. Check it and try again.")
    page.fill("#passphrase", PASSPHRASE)
    _press(page, "button:text-is('Open')")
    expect(page.locator("h1")).to_have_text("Ask your record")


def test_a_record_is_asked_and_each_line_opens_where_it_is_written(own: Any, visit: Any) -> None:
    vault_id = _vault(own)
    page = visit(own)
    page.goto(f"{own.address}/records/{vault_id}/facts")
    expect(page.locator("h1")).to_have_text("Open “mum”")
    _open(page, own, vault_id)
    page.fill("#q", "Which medicines do I take?")
    with page.expect_navigation():
        page.press("#q", "Enter")
    expect(page.locator(".own-words").first).to_have_text("Your record lists 1 medicine that you take now:")
    expect(page.locator(".sentence")).to_contain_text("Warfarin Sodium")
    page.click(".sentence .chip")
    expect(page.locator("#source .best")).to_contain_text("Warfarin Sodium")
    page.fill("#q", "I have crushing chest pain, is it my warfarin?")
    with page.expect_navigation():
        page.press("#q", "Enter")
    last = page.locator("#last")
    expect(last.locator(".emergency")).to_contain_text("This may be an emergency.")
    first = last.locator("h2 + *")
    assert "emergency" in (first.get_attribute("class") or "")
    follow(page, ".tabs >> text=Facts")
    expect(page.locator("section", has=page.locator("#medicines"))).to_contain_text("Warfarin Sodium")
    page.locator("section", has=page.locator("#allergies")).locator("a.from").click()
    expect(page.locator("#source .best")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "18px"


def test_asking_works_without_a_script(own: Any, visit: Any) -> None:
    vault_id = _vault(own)
    page = visit(own, java_script_enabled=False)
    _open(page, own, vault_id)
    page.fill("#q", "Am I allergic to penicillin?")
    _press(page, ".ask button")
    expect(page.locator(".sentence").first).to_be_visible()
    follow(page, ".sentence .chip")
    expect(page.locator(".source .best")).to_be_visible()
