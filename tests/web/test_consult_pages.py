"""A consult in a real browser: begun from an open vault, interview, findings, differentials, plan, and signed."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citewell.types import Source
from citewell.vaults.vaults import Vaults
from tests.core.test_fhir_records import ALL, bundle
from tests.web.conftest import TOKEN, follow

pytestmark = [pytest.mark.slow, pytest.mark.browser]

PASSPHRASE = "three green bicycles"
GUIDELINE = b"""# Acute sinusitis

## Treatment in adults

Give amoxicillin 500 mg three times a day for 7 days to adults with acute bacterial sinusitis.

## People with penicillin allergy

Give doxycycline 100 mg twice a day to adults with acute sinusitis who are allergic to penicillin.
"""


PATIENCE_MS = 60_000
"""How long a page may take that needs a key or a plan: a bound on waiting, never a measure."""


def press(page: Page, button: str) -> None:
    with page.expect_navigation(timeout=PATIENCE_MS):
        page.click(button)


@pytest.fixture
def clinic(bare: Any) -> Any:
    """A library with one guideline, and a vault with a record beside it."""
    bare.app.add_source(Source(GUIDELINE, "sinusitis.md"))
    vaults = Vaults(bare.app.settings)
    made, _words = vaults.create("Mrs Example", PASSPHRASE)
    with vaults.open(made.id, PASSPHRASE) as profile:
        profile.app.__dict__["embedder"] = bare.app.embedder
        profile.record.import_source(Source(bundle(*ALL), "record.json"))
    vaults.close()
    return bare


def test_a_consult_goes_from_an_open_vault_to_a_signed_plan(clinic: Any, visit: Any) -> None:
    page = visit(clinic)
    page.goto(f"{clinic.address}/keys")
    page.fill("#name", "Dr Test")
    page.fill("#registration", "GMC 1")
    press(page, "button:text-is('Save')")
    follow(page, "nav >> text=Consult")
    page.click('summary:text-is("From the patient\'s record")')
    expect(page.locator("details[open] a")).to_have_attribute("href", "/records")
    follow(page, "details[open] a")
    follow(page, "text=Mrs Example")
    page.fill("#passphrase", PASSPHRASE)
    press(page, "button:text-is('Unlock')")

    page.goto(f"{clinic.address}/consult")
    page.click('summary:text-is("From the patient\'s record")')
    expect(page.locator("details[open]")).to_contain_text("Nothing is sent anywhere")
    page.select_option("[name=vault]", label="Mrs Example")
    press(page, "button:text-is('Start')")
    expect(page.locator("[role=alert]")).to_contain_text("The patient must consent")
    page.click('summary:text-is("From the patient\'s record")')
    page.select_option("[name=vault]", label="Mrs Example")
    page.check("[name=consent]")
    press(page, "button:text-is('Start')")

    expect(page.locator("main")).to_contain_text("the patient's vault")
    expect(page.locator(".findings").first).to_contain_text("from the record")
    page.fill("#text", "Facial pain for 10 days, no fever, temperature 37.0.")
    press(page, "button:text-is('Add to interview')")
    expect(page.get_by_label("Is the patient female or male?")).to_be_visible()
    page.fill("#text", "female")
    press(page, "button:text-is('Add to interview')")
    expect(page.locator("li.present b", has_text="facial pain")).to_have_count(1)
    expect(page.locator("li.absent b", has_text="Fever")).to_have_count(1)
    page.fill("[name=condition]", "Acute sinusitis")
    press(page, "button:text-is('Add differential')")
    expect(page.locator(".board h3")).to_contain_text("Acute sinusitis")
    press(page, "button:text-is('Draft plan')")
    expect(page.locator(".statement").first).to_contain_text("Give doxycycline 100 mg")
    expect(page.locator(".statement.held")).to_contain_text("The patient is allergic to phenoxymethylpenicillin")
    page.locator(".statements .chip").first.click()
    expect(page.locator("#source .best").first).to_contain_text("doxycycline")
    page.fill("#sign [name=password]", TOKEN)
    press(page, "#sign button")
    expect(page.locator(".notice.good")).to_contain_text("Signed by Dr Test (GMC 1)")
    expect(page.locator("#say")).to_have_count(0)
    expect(page.locator("h1 .state")).to_have_text("Signed")
