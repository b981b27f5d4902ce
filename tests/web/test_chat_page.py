"""The Chat page does its main job in a real browser, with a script and without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citewell.types import Scope
from tests.assistants.printed import FIRST, print_edition

pytestmark = [pytest.mark.slow, pytest.mark.browser]

QUESTION = "Which people with haemoptysis should have a chest X-ray?"


def _with_spots(site: Any, tmp_path: Path) -> str:
    return str(site.app.guidelines.add(print_edition(tmp_path / "spots.pdf", "1 June 2015", FIRST)).entry.id)


def _say(page: Page, message: str) -> Any:
    """Type a message, press Enter, and wait until its answer is whole."""
    answered = page.locator(".turn[data-answer]")
    count = answered.count()
    page.fill("#q", message)
    page.press("#q", "Enter")
    expect(answered).to_have_count(count + 1, timeout=60_000)
    return page.locator(".turn").last


def test_a_rule_is_quoted_whole_and_its_label_opens_the_very_words(own: Any, visit: Any, tmp_path: Path) -> None:
    document_id = _with_spots(own, tmp_path)
    page = visit(own)
    page.goto(f"{own.address}/guidelines")
    with page.expect_navigation():
        page.click(".tabs >> text=Ask")
    expect(page.locator(".chips [aria-current]")).to_have_text("Guidelines")
    expect(page.locator(".examples a").first).to_have_text("Which people with weight loss should be referred?")
    turn = _say(page, QUESTION)
    rule = own.app.guidelines.guideline(document_id, Scope.owner("local")).by_id["1.1.3"]
    expect(turn.locator(".question")).to_have_text(QUESTION)
    expect(turn.locator(".sentence").first).to_contain_text(rule.text)
    chip = turn.locator(".sentence .chip").first
    expect(chip).to_have_text(f"Green spots: recognition and referral §1.1.3, p.{rule.page}")
    chip.click()
    page.wait_for_selector("#source .sheet rect.best")
    quoted = " ".join(page.locator("#source .quote, #source blockquote").first.inner_text().split())
    assert " ".join(rule.text.split()) in quoted
    page.keyboard.press("Escape")
    expect(chip).to_be_focused()
    address = page.url.split("#")[0]
    second = _say(page, "how urgent is that?")
    assert page.url.split("#")[0] == address
    second.locator(".why summary").click()
    expect(second.locator(".why p")).to_contain_text("with earlier messages")
    expect(page.locator("#talks [aria-current=page]")).to_have_text(QUESTION)
    with page.expect_navigation():
        page.click("text=Delete this conversation")
    expect(page.locator("#talks a")).to_have_count(0)
    assert own.app.chat.ask_service().conversations.all(own.app.owner()) == []
    assert len(own.app.ask_service.audit.entries(own.app.owner())) == 2


def test_an_emergency_is_told_where_to_go_and_hostile_words_are_only_words(
    own: Any, visit: Any, tmp_path: Path
) -> None:
    _with_spots(own, tmp_path)
    page = visit(own)
    page.goto(f"{own.address}/guidelines/chat")
    turn = _say(page, "My dad has collapsed <script>alert(1)</script><b>now</b>")
    expect(turn.locator(".emergency")).to_contain_text("Call 999 or 112 now")
    expect(turn.locator(".question")).to_contain_text("<b>now</b>")
    assert turn.get_attribute("data-class") == "safety_urgent"
    assert turn.locator(".sentence").count() == 0
    with page.expect_navigation():
        page.click("text=Audit record")
    expect(page.locator(".question")).to_contain_text("My dad has collapsed")


def test_without_a_script_a_message_is_answered_on_a_page(own: Any, visit: Any, tmp_path: Path) -> None:
    _with_spots(own, tmp_path)
    page = visit(own, java_script_enabled=False)
    page.goto(f"{own.address}/guidelines/chat")
    page.fill("#q", QUESTION)
    page.click("#ask button")
    expect(page.locator(".sentence").first).to_contain_text("Offer an urgent chest X-ray", timeout=60_000)
    with page.expect_navigation():
        page.locator(".sentence .chip").first.click()
    assert "/source?" in page.url
    expect(page.locator(".source-title")).to_contain_text("Green spots")


def test_without_a_guideline_the_page_says_what_to_do_first(bare: Any, visit: Any) -> None:
    page = visit(bare)
    page.goto(f"{bare.address}/guidelines/chat")
    expect(page.locator(".empty h2")).to_have_text("No guidelines yet")
    assert page.locator("#ask").count() == 0
