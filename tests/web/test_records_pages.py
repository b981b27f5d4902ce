"""My records in a real browser: made, opened, asked, looked through, and locked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
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
    expect(page.locator("h1")).to_have_text("Today")


def test_a_record_is_asked_and_each_line_opens_where_it_is_written(own: Any, visit: Any) -> None:
    vault_id = _vault(own)
    page = visit(own)
    page.goto(f"{own.address}/records/{vault_id}/facts")
    expect(page.locator("h1")).to_have_text("Unlock “mum”")
    _open(page, own, vault_id)
    expect(page.locator("#medicines + ul")).to_contain_text("Warfarin Sodium")
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
    follow(page, ".tabs >> text=Medicines")
    expect(page.locator(".thing")).to_contain_text("Warfarin Sodium")
    page.locator(".thing a.from").click()
    expect(page.locator("#source .best")).to_contain_text("Warfarin Sodium")
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


def test_from_today_to_a_result_out_of_range_and_its_chart(own: Any, visit: Any) -> None:
    vault_id = _vault(own, EARLIER)
    page = visit(own)
    _open(page, own, vault_id)
    expect(page.locator("#results + ul .flag")).to_have_text("▲ critically high")
    follow(page, "#results + ul .test")
    expect(page.locator("h1")).to_have_text("INR")
    expect(page.locator(".newest")).to_contain_text("9.1")
    plot = page.locator("svg.trend")
    assert plot.get_attribute("aria-label") == (
        "INR: latest 9.1 on 1 May 2024, critically high. Range 2 to 3. "
        "INR: 2 results, up from 2.5 to 9.1, lowest 2.5, highest 9.1. From 1 February 2024 to 1 May 2024."
    )
    expect(plot.locator(".point")).to_have_count(2)
    expect(plot.locator("path.point.bad")).to_have_count(1)
    assert page.evaluate("document.querySelector('.trend .band').getBBox().height") > 0
    expect(page.locator(".readings tbody tr")).to_have_count(2)
    page.locator(".readings a.from").first.click()
    expect(page.locator("#source .best")).to_contain_text("9.1")
    follow(page, ".tabs >> text=Results")
    page.fill("#filter", "inr")
    _press(page, ".filter button")
    expect(page.locator(".found")).to_contain_text("1 test for “inr”")
    follow(page, ".tabs >> text=Timeline")
    expect(page.locator(".year summary h2").first).to_contain_text("2024")
    expect(page.locator(".visit summary").first).to_contain_text("1 May 2024")
    expect(page.locator(".year").last).to_contain_text("2015")
    follow(page, ".tabs >> text=Appointment")
    expect(page.locator("section", has=page.locator("#results"))).to_contain_text("INR: 9.1")
    expect(page.locator("section", has=page.locator("#medicines"))).to_contain_text("Warfarin Sodium")
    page.emulate_media(media="print")
    expect(page.locator(".tabs")).to_be_hidden()
    expect(page.locator(".side")).to_be_hidden()


def test_a_blood_pressure_is_one_row_and_one_chart_without_a_script(own: Any, visit: Any) -> None:
    vault_id = _vault(own, *(_pressure(number, *sides) for number, sides in enumerate([(142.4, 91.2), (127.6, 76.4)])))
    page = visit(own, java_script_enabled=False)
    _open(page, own, vault_id)
    follow(page, ".tabs >> text=Results")
    row = page.locator(".test", has_text="Blood pressure")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("128/76 mmHg")
    follow(page, ".test:has-text('Blood pressure')")
    expect(page.locator("svg.trend polyline")).to_have_count(2)
    expect(page.locator("svg.trend .named")).to_have_text(["upper 128", "lower 76"])
    expect(page.locator("main")).to_contain_text("Upper (systolic) value down from 142 to 128")
    expect(page.locator(".readings tbody tr")).to_have_count(2)


def _pressure(number: int, upper: float, lower: float) -> dict[str, Any]:
    """A blood pressure as hospitals send it: one observation with two components."""
    sides = (("8480-6", "Systolic Blood Pressure", upper), ("8462-4", "Diastolic Blood Pressure", lower))
    return {
        "resourceType": "Observation",
        "id": f"bp{number}",
        "status": "final",
        "category": [{"coding": [{"code": "vital-signs"}]}],
        "code": {"coding": [{"system": "http://loinc.org", "code": "85354-9"}], "text": "Blood Pressure"},
        "effectiveDateTime": f"2024-0{number + 1}-10",
        "component": [
            {
                "code": {"coding": [{"system": "http://loinc.org", "code": code}], "text": name},
                "valueQuantity": {"value": value, "unit": "mm[Hg]"},
            }
            for code, name, value in sides
        ],
    }


PAGES = (
    "",
    "/ask",
    "/facts",
    "/facts/medicines",
    "/facts/allergies",
    "/labs",
    "/timeline",
    "/documents",
    "/review",
    "/alerts",
    "/summary",
    "/settings",
)
SMALL_TARGETS = """
() => [...document.querySelectorAll(".record-tabs a, main :is(button, a.button, a.from, .test), .menu a, .choices a")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.textContent.trim(), one.getBoundingClientRect()])
  .filter(([, box]) => box.height < 43.5 || box.width < 43.5)
  .map(([words, box]) => `${words} ${box.width}x${box.height}`)
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone_and_can_be_tapped(own: Any, visit: Any, scheme: str) -> None:
    vault_id = _vault(own, EARLIER, _pressure(0, 142.4, 91.2), _pressure(1, 127.6, 76.4))
    page = visit(own, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    _open(page, own, vault_id)
    for part in PAGES:
        page.goto(f"{own.address}/records/{vault_id}{part}")
        _fits(page)
        if part != "/settings":
            assert page.evaluate(SMALL_TARGETS) == [], page.url
        assert _barriers(page) == [], page.url
        bar = page.locator(".record-tabs").bounding_box()
        assert bar is not None
        assert bar["y"] + bar["height"] == 844
    follow(page, ".record-tabs >> text=Results")
    follow(page, ".test:has-text('Blood pressure')")
    _fits(page)
    assert _barriers(page) == []


def _barriers(page: Page) -> list[str]:
    """What keeps people from using the page, by WCAG 2.2 AA."""
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    return [f"{one['id']}: {node['html']}" for one in found.response["violations"] for node in one["nodes"]]


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
    expect(page.locator(".outcomes .good")).to_contain_text("export.json: added. 6 new entries")
    expect(page.locator(".outcomes .bad")).to_contain_text("broken.json: not added.")
    expect(page.locator(".papers li")).to_have_count(1)
    follow(page, ".tabs >> text=More")
    follow(page, ".menu >> text=To confirm")
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
    follow(page, ".tabs >> text=More")
    follow(page, ".menu >> text=Conditions")
    expect(page.locator("section", has_text="Resolved")).to_contain_text("from July 2016, end not recorded")
    follow(page, ".tabs >> text=More")
    follow(page, ".menu >> text=Add a medicine")
    page.click("summary:text-is('Add a medicine')")
    page.fill("#name", "Penicillin V")
    _press(page, "form:has(#name) button")
    expect(page.locator(".thing", has_text="Penicillin V")).to_contain_text("Added by you")
    follow(page, ".tabs >> text=More")
    follow(page, ".menu >> text=Alerts")
    allergy = page.locator(".alert-allergy")
    expect(allergy).to_have_count(1)
    allergy.locator("summary").click()
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
    follow(page, ".tabs >> text=More")
    follow(page, ".menu >> text=Settings")
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
