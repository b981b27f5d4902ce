"""A question goes to a person and its reply comes back; answers are on record; people are added: in a real browser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citewell.history import TrailFilter
from citewell.types import Filing, Role, Scope
from tests.web.conftest import follow

pytestmark = [pytest.mark.slow, pytest.mark.browser]

WARFARIN = "Which nurse is in charge of warfarin today?"
PASSWORD = "ten letters!"
A_MOMENT = re.compile(r"\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d")


def sign_in(page: Page, site: Any, email: str) -> None:
    page.context.clear_cookies()
    page.goto(f"{site.address}/sign-in")
    page.fill("#email", email)
    page.fill("#password", PASSWORD)
    page.click("main button")
    expect(page.locator(".who")).to_be_visible()


def test_a_routed_question_is_answered_by_its_owner_and_the_asker_sees_the_reply(own: Any, visit: Any) -> None:
    for entry in own.app.entries():
        own.app.library.refile(entry.id, filing=Filing(tags=frozenset({"wards"})), scope=Scope.owner("local"))
    page = visit(own)
    follow(page, "nav >> text=Admin")
    for name, role in (("ann", Role.MEMBER), ("olga", Role.EDITOR)):
        if page.locator("details[open] [name=email]").count() == 0:
            page.click("text=Add a person")
        form = page.locator("form[action='/admin/users']")
        form.locator("[name=email]").fill(f"{name}@clinic.example")
        form.locator("[name=name]").fill(name.title())
        form.locator("[name=role]").select_option(role)
        form.locator("[name=tags]").fill("wards")
        form.locator("[name=password]").fill(PASSWORD)
        form.locator("button").click()
        expect(page.locator(".people")).to_contain_text(f"{name}@clinic.example")
    page.get_by_label("Owner of wards").select_option(label="olga@clinic.example")
    page.locator("form[action='/admin/tags'] button").click()
    expect(page.get_by_label("Owner of wards").locator("option:checked")).to_have_text("olga@clinic.example")

    sign_in(page, own, "ann@clinic.example")
    page.fill("#q", WARFARIN)
    page.press("#q", "Enter")
    with page.expect_navigation():
        page.click("text=Ask a person", timeout=60_000)
    expect(page.locator(".routed")).to_contain_text("olga@clinic.example, the owner of “wards”", timeout=60_000)
    page.click(".routed >> a:text-is('Sent')")
    expect(page.locator(".turn .state")).to_have_text("waiting for a reply")

    sign_in(page, own, "olga@clinic.example")
    follow(page, "nav >> text=Inbox")
    expect(page.locator("td")).to_contain_text([WARFARIN, "wards", "Ann", "open"])
    expect(page.locator("time")).to_have_text(A_MOMENT)
    follow(page, f"text={WARFARIN}")
    page.locator(".hit .opens").first.click()
    page.wait_for_selector("#source .source-title")
    page.keyboard.press("Escape")
    page.fill("#text", "Sister Mary, until eight.\nThen the night team.")
    page.click("text=Send reply")
    expect(page.locator(".state").first).to_have_text("answered")

    sign_in(page, own, "ann@clinic.example")
    follow(page, "nav >> text=Team inbox")
    follow(page, "nav >> text=Sent")
    expect(page.locator(".reply")).to_contain_text("Sister Mary, until eight.")
    expect(page.locator(".turn .place, .reply .help")).to_contain_text([A_MOMENT, A_MOMENT])
    page.goto(own.address)
    page.click("#talks a")
    expect(page.locator(".reply")).to_contain_text("Then the night team.")

    for name, tags, seen in (("bob", ["wards"], 1), ("eve", [], 0)):
        email = f"{name}@clinic.example"
        own.app.people.add(tenant="local", email=email, name=name, role=Role.MEMBER, tags=tags, password=PASSWORD)
        sign_in(page, own, email)
        page.fill("#q", WARFARIN.lower())
        page.press("#q", "Enter")
        expect(page.locator(".routed")).to_be_visible(timeout=60_000)
        expect(page.locator(".reply")).to_have_count(seen)


def test_an_answer_on_record_can_be_proved_and_asked_again(own: Any, visit: Any) -> None:
    page = visit(own)
    page.fill("#q", "who needs heparin bridging for AF")
    page.press("#q", "Enter")
    page.click("text=Audit record", timeout=60_000)
    expect(page.locator("h1")).to_have_text("Audit record 1")
    expect(page.locator("dt:text-is('Date') + dd")).to_have_text(A_MOMENT)
    page.click("text=Replay on the same versions")
    expect(page.locator(".notice.good")).to_contain_text("same answer", timeout=60_000)
    page.goto(f"{own.address}/audit")
    expect(page.locator("time")).to_have_text(A_MOMENT)
    page.click("text=Verify the log")
    expect(page.locator(".notice.good")).to_contain_text("1 record checked, none altered")


def test_a_person_makes_a_key_that_is_shown_once_and_can_be_removed(own: Any, visit: Any) -> None:
    own.app.people.add(
        tenant="local", email="eve@clinic.example", name="Eve", role=Role.READER, tags=[], password=PASSWORD
    )
    page = visit(own)
    sign_in(page, own, "eve@clinic.example")
    page.click(".who >> text=Account")
    page.fill("#name", "nightly script")
    page.click("text=Create key")
    key = page.locator(".secret").inner_text()
    assert own.app.people.by_key(key).email == "eve@clinic.example"
    page.goto(f"{own.address}/keys")
    assert key not in page.content()
    page.click("button:text-is('Revoke')")
    expect(page.locator("button:text-is('Revoke')")).to_have_count(0)
    assert own.app.people.by_key(key) is None
    page.fill("#current", "wrong")
    page.fill("#new", "eleven letters")
    page.click("text=Change password")
    expect(page.locator("[role=alert]")).to_contain_text("Current password is wrong")
    page.fill("#current", PASSWORD)
    page.fill("#new", "eleven letters")
    page.click("text=Change password")
    expect(page.locator("h1")).to_have_text("Sign in")
    page.fill("#email", "eve@clinic.example")
    page.fill("#password", "eleven letters")
    page.click("main button")
    expect(page.locator(".who")).to_contain_text("Eve")


def test_a_mistake_on_the_admin_page_is_told_and_nothing_is_lost(own: Any, visit: Any) -> None:
    page = visit(own)
    page.goto(f"{own.address}/admin")
    form = page.locator("form[action='/admin/users']")
    form.locator("[name=email]").fill("ann@clinic.example")
    form.locator("[name=tags]").fill("not_a_tag!")
    form.locator("button").click()
    expect(page.locator("[role=alert]")).to_contain_text("is not a valid tag")
    expect(form.locator("[name=email]")).to_have_value("ann@clinic.example")
    assert own.app.people.all(tenant="local") == []


def test_an_answer_is_shared_with_whoever_may_see_its_sources_until_the_link_is_ended(own: Any, visit: Any) -> None:
    for entry in own.app.entries():
        own.app.library.refile(entry.id, filing=Filing(tags=frozenset({"wards"})), scope=Scope.owner("local"))
    people = own.app.people
    for name, tags in (("ann", ["wards"]), ("bob", ["wards"]), ("eve", [])):
        email = f"{name}@clinic.example"
        people.add(tenant="local", email=email, name=name.title(), role=Role.MEMBER, tags=tags, password=PASSWORD)
    page = visit(own)
    sign_in(page, own, "ann@clinic.example")
    page.fill("#q", "who needs heparin bridging for AF")
    page.press("#q", "Enter")
    with page.expect_navigation():
        page.click("button:text-is('Share')", timeout=60_000)
    link = page.input_value("#link")
    sign_in(page, own, "bob@clinic.example")
    page.goto(link)
    expect(page.locator("main > .help")).to_contain_text("Shared by Ann on")
    expect(page.locator(".sentence").first).to_contain_text("Offer bridging")
    expect(page.locator("#link, .report, .export")).to_have_count(0)
    page.locator(".sentence .chip").first.click()
    page.wait_for_selector("#source .source-title")
    sign_in(page, own, "eve@clinic.example")
    answered = page.request.get(link)
    assert (answered.status, "bridging" in answered.text()) == (404, False)
    sign_in(page, own, "ann@clinic.example")
    page.goto(link)
    with page.expect_navigation():
        page.click("text=Stop sharing")
    assert page.request.get(link).status == 404
    kept = own.app.trail.records("local", TrailFilter(action="answer"))
    names = people.names({record.event.user_id for record in kept}, tenant="local")
    assert [(names[record.event.user_id], record.event.action) for record in reversed(kept)] == [
        ("Ann", "answer.share"),
        ("Ann", "answer.open"),
        ("Bob", "answer.open"),
        ("Eve", "answer.open"),
        ("Ann", "answer.unshare"),
        ("Ann", "answer.open"),
    ]
