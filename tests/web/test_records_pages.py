"""My records in a real browser: made, opened, asked, looked through, and locked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citewell.types import Source
from citewell.vaults.vaults import Vaults
from tests.core.test_fhir_records import ALL, INR, bundle
from tests.web.conftest import follow

pytestmark = [pytest.mark.slow, pytest.mark.browser]

PASSPHRASE = "three green bicycles"


EARLIER = {**INR, "id": "o2", "effectiveDateTime": "2024-02-01", "valueQuantity": {"value": 2.5}, "interpretation": []}


def _vault(site: Any, *more: dict[str, Any]) -> str:
    """A vault beside the library, with one bundle in it, and locked."""
    vaults = Vaults(site.app.settings)
    made, _words = vaults.create("mum", PASSPHRASE)
    with vaults.open(made.id, PASSPHRASE) as profile:
        profile.app.__dict__["embedder"] = site.app.embedder
        profile.record.import_source(Source(bundle(*ALL, *more), "record.json"))
    vaults.close()
    return made.id


def _press(page: Page, button: str) -> None:
    with page.expect_navigation():
        page.click(button)


def _open(page: Page, site: Any, vault_id: str) -> None:
    page.goto(f"{site.address}/records/{vault_id}/unlock")
    page.fill("#passphrase", PASSPHRASE)
    _press(page, "button:text-is('Unlock')")


def test_a_vault_is_made_its_words_are_shown_once_and_it_is_locked(bare: Any, visit: Any) -> None:
    page = visit(bare)
    follow(page, "nav >> text=My records")
    expect(page.locator(".empty h2")).to_have_text("No records yet")
    page.fill("#label", "me")
    page.fill("#passphrase", PASSPHRASE)
    page.fill("#again", "three green tricycles")
    _press(page, "button:text-is('Create')")
    expect(page.locator("[role=alert]")).to_contain_text("The two passphrases do not match")
    assert page.input_value("#label") == "me"
    assert page.input_value("#passphrase") == ""
    page.fill("#passphrase", PASSPHRASE)
    page.fill("#again", PASSPHRASE)
    _press(page, "button:text-is('Create')")
    expect(page.locator(".words-once li")).to_have_count(12)
    words = " ".join(page.locator(".words-once li").all_inner_texts())
    follow(page, "text=I have written them down")
    expect(page.locator(".empty h2")).to_have_text("This record is empty")
    _press(page, "text=Lock now")
    expect(page.locator(".vaults .state")).to_have_text("locked")
    follow(page, ".vaults a")
    page.fill("#passphrase", "not the passphrase")
    _press(page, "button:text-is('Unlock')")
    expect(page.locator("[role=alert]")).to_have_text(
        "The passphrase or recovery words are wrong. Check them and try again."
    )
    page.click("text=Forgotten your passphrase?")
    page.fill("#words", words)
    page.fill("#new", "four yellow scooters")
    page.fill("#again", "four yellow scooters")
    _press(page, "text=Set passphrase and unlock")
    expect(page.locator("h1")).to_have_text("Ask your record")


def test_a_record_is_asked_and_each_line_opens_where_it_is_written(own: Any, visit: Any) -> None:
    vault_id = _vault(own)
    page = visit(own)
    page.goto(f"{own.address}/records/{vault_id}/facts")
    expect(page.locator("h1")).to_have_text("Unlock “mum”")
    _open(page, own, vault_id)
    page.fill("#q", "Which medicines do I take?")
    page.press("#q", "Enter")
    expect(page.locator("[data-feedback]")).to_have_count(1, timeout=60_000)  # the whole answer is there
    expect(page.locator(".own-words").first).to_have_text("Your record lists 1 current medicine:")
    expect(page.locator(".sentence")).to_contain_text("Warfarin Sodium")
    expect(page.locator("#last .confidence")).to_have_text("well supported")
    page.click(".sentence .chip")
    expect(page.locator("#source .best")).to_contain_text("Warfarin Sodium")
    page.click("#last button:text-is('Yes')")
    expect(page.locator("#last button[aria-pressed=true]")).to_have_text("Yes")
    page.fill("#q", "I have crushing chest pain, is it my warfarin?")
    page.press("#q", "Enter")
    expect(page.locator("#last[data-answer] .emergency")).to_have_count(1, timeout=60_000)
    expect(page.locator("[data-feedback]")).to_have_count(1)  # nobody in danger is asked whether this helped
    last = page.locator("#last")
    expect(last.locator(".emergency")).to_contain_text("This may be an emergency.")
    first = last.locator("h2 + *")
    assert "emergency" in (first.get_attribute("class") or "")
    page.reload()
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator("button[aria-pressed=true]")).to_have_text("Yes")
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
    _press(page, "[data-feedback] button:text-is('No')")
    expect(page.locator("button[aria-pressed=true]")).to_have_text("No")
    follow(page, ".sentence .chip")
    expect(page.locator(".source .best")).to_be_visible()


def test_results_have_a_plot_that_also_reads_as_a_sentence(own: Any, visit: Any) -> None:
    vault_id = _vault(own, EARLIER)
    page = visit(own)
    _open(page, own, vault_id)
    follow(page, ".tabs >> text=Results")
    card = page.locator(".lab", has=page.locator("h2:text-is('INR')"))
    expect(card.locator(".newest")).to_contain_text("9.1")
    expect(card.locator(".newest .state")).to_have_text("critically high")
    plot = card.locator("svg.trend")
    assert plot.get_attribute("aria-label") == (
        "INR, 2 results. 1 February 2024: 2.5, in range; 1 May 2024: 9.1, critically high. Usual range 2 to 3."
    )
    expect(plot.locator(".point")).to_have_count(2)
    expect(plot.locator("path.point.bad")).to_have_count(1)
    assert page.evaluate("document.querySelector('.trend .band').getBBox().height") > 0
    card.locator(".newest a.from").click()
    expect(page.locator("#source .best")).to_contain_text("9.1")
    follow(page, ".tabs >> text=Timeline")
    expect(page.locator(".year summary").first).to_contain_text("2024 2")
    expect(page.locator(".year li").first).to_contain_text("1 May 2024")
    expect(page.locator(".when").last).to_have_text("2015")
    follow(page, ".tabs >> text=Appointment")
    expect(page.locator("section", has=page.locator("#results"))).to_contain_text("INR: 9.1")
    expect(page.locator("section", has=page.locator("#medicines"))).to_contain_text("Warfarin Sodium")
    page.emulate_media(media="print")
    expect(page.locator(".tabs")).to_be_hidden()
    expect(page.locator(".side")).to_be_hidden()


def test_papers_are_taken_in_and_what_is_not_sure_is_decided(own: Any, visit: Any, tmp_path: Path) -> None:
    whole, broken = tmp_path / "export.json", tmp_path / "broken.json"
    whole.write_bytes(bundle(*ALL))
    broken.write_bytes(b'{"resourceType": "Bundle", "entry": [')
    vaults = Vaults(own.app.settings)
    vault_id = vaults.create("me", PASSPHRASE)[0].id
    page = visit(own)
    _open(page, own, vault_id)
    follow(page, "text=Add documents")
    page.set_input_files("#files", [whole, broken])
    _press(page, ".drop button")
    expect(page.locator(".outcomes .good")).to_contain_text("export.json: added. 6 new facts")
    expect(page.locator(".outcomes .bad")).to_contain_text("broken.json: not added.")
    expect(page.locator(".papers li")).to_have_count(1)
    follow(page, ".tabs >> text=To confirm")
    expect(page.locator("article h2")).to_contain_text("Atrial fibrillation")
    page.click("summary:text-is('Edit')")
    page.fill("[name=dated]", "soon")
    _press(page, "text=Save")
    expect(page.locator("[role=alert]")).to_contain_text("Enter a date as")
    page.click("summary:text-is('Edit')")
    page.select_option("[name=status]", "resolved")
    page.fill("[name=dated]", "2016-07")
    _press(page, "text=Save")
    expect(page.locator(".empty")).to_contain_text("Nothing to confirm.")
    follow(page, ".tabs >> text=Facts")
    expect(page.locator("section", has=page.locator("#past-conditions"))).to_contain_text("since July 2016")
    page.click("summary:text-is('Add a medicine')")
    page.fill("#medication-name", "Penicillin V")
    _press(page, "form:has(#medication-name) button")
    expect(page.locator("section", has=page.locator("#medicines"))).to_contain_text("Added by you")
    follow(page, ".tabs >> text=Alerts")
    allergy = page.locator(".alert-allergy")
    expect(allergy).to_have_count(1)
    allergy.locator("input[name=why]").fill("it is an old entry")
    with page.expect_navigation():
        allergy.locator("button").click()
    expect(page.locator(".alert-allergy")).to_have_count(0)


def test_a_passphrase_is_changed_a_copy_taken_a_record_erased_and_brought_back(
    own: Any, visit: Any, tmp_path: Path
) -> None:
    vault_id = _vault(own)
    page = visit(own)
    _open(page, own, vault_id)
    follow(page, ".tabs >> text=Settings")
    page.fill("#current", PASSPHRASE)
    for box in ("#new", "#again"):
        page.fill(box, "four yellow scooters")
    _press(page, "text=Change passphrase")
    expect(page.locator(".notice.good")).to_contain_text("Passphrase changed")
    with page.expect_download() as download:
        page.click("text=Download unlocked copy")
    assert b"Warfarin Sodium" in download.value.path().read_bytes()
    page.fill("#lock", "3")
    page.select_option("#language", "fr")
    _press(page, "button:text-is('Save')")
    expect(page.locator(".notice.good")).to_contain_text("Saved.")
    assert (page.input_value("#lock"), page.input_value("#language")) == ("3", "fr")
    page.fill("#copying", "four yellow scooters")
    with page.expect_download() as locked:
        page.click("text=Download locked copy")
    copy = tmp_path / "mum.vault"
    locked.value.save_as(copy)
    assert b"Warfarin Sodium" not in copy.read_bytes()
    page.fill("#typed", "dad")
    _press(page, "button:text-is('Erase')")
    expect(page.locator("[role=alert]")).to_contain_text("Nothing was erased")
    page.fill("#typed", "mum")
    _press(page, "button:text-is('Erase')")
    expect(page.locator(".empty h2")).to_have_text("No records yet")
    assert list((own.app.settings.home / "vaults").iterdir()) == []
    page.set_input_files("#copy", copy)
    _press(page, "button:text-is('Restore')")
    page.fill("#passphrase", "four yellow scooters")
    _press(page, "button:text-is('Unlock')")
    follow(page, ".tabs >> text=Facts")
    expect(page.locator("section", has=page.locator("#medicines"))).to_contain_text("Warfarin Sodium")


def test_a_wrong_paper_is_removed_on_a_phone_and_nothing_runs_over_the_edge(
    own: Any, visit: Any, tmp_path: Path
) -> None:
    long = tmp_path / f"{'scan_of_the_letter_' * 6}.txt"
    long.write_text("Dear Dr Chen,\n\nAllergies: latex (rash).\n\nYours sincerely,\nDr Anna Meyer\n")
    vault_id = _vault(own)
    page = visit(own, viewport={"width": 390, "height": 844})
    _open(page, own, vault_id)
    page.goto(f"{own.address}/records/{vault_id}/documents")
    page.set_input_files("#files", [long])
    _press(page, ".drop button")
    expect(page.locator(".outcomes .good")).to_contain_text("Add the important ones yourself")
    expect(page.locator(".papers li").first).to_contain_text("Dr Anna Meyer")
    _fits(page)
    page.goto(f"{own.address}/records/{vault_id}/summary")
    expect(page.locator("section", has=page.locator("#allergies"))).to_contain_text("latex (rash)")
    _fits(page)
    page.goto(f"{own.address}/records/{vault_id}/documents")
    follow(page, ".papers li:first-child >> text=Remove…")
    expect(page.locator("h1")).to_contain_text("scan_of_the_letter")
    _fits(page)
    _press(page, "text=Remove permanently")
    expect(page.locator(".notice.good")).to_contain_text("and 0 facts taken from it have been removed")
    expect(page.locator(".papers li")).to_have_count(1)


def _fits(page: Page) -> None:
    """Nothing is wider than the window."""
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0, page.url
