"""Every page meets WCAG 2.2 AA as far as axe can tell, in both themes and on a phone, and is small."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from citewell.samples import GUIDELINE
from citewell.types import Filing

pytestmark = [pytest.mark.slow, pytest.mark.browser]

AXE = Axe().axe_script
RULES = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
}
COLOURS = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
MAX_BYTES = 150_000
QUESTIONS = ("pneumonia dose with penicillin allergy", "who needs heparin bridging for AF", "Where is the nearest bay?")


def pages(site: Any, page: Page) -> list[str]:
    """The addresses of every page that needs nothing unlocked, with answers to look at."""
    guideline = next(entry.id for entry in site.app.entries() if entry.name == GUIDELINE)
    site.app.refile(guideline, Filing(tags=frozenset({"public", "guideline"})))
    answered = [site.app.ask_service.answer(question, asker=site.app.owner()) for question in QUESTIONS]
    page.goto(f"{site.address}/guidelines?example=true")
    with page.expect_navigation():
        page.click("#check button[type=submit]")
    assessment = page.url.removeprefix(site.address)
    page.goto(f"{site.address}/consult")
    with page.expect_navigation():
        page.click("main button:text-is('Start')")
    consult = page.url.removeprefix(site.address)
    return [
        *("/", "/start", "/search", "/search?q=fever", "/check", "/conversations", "/library", "/records", "/consult"),
        "/literature",
        *(f"/conversations/{done.conversation_id}" for done in answered),
        *(f"/documents/{guideline}", f"/documents/{guideline}/source?chunk=3", f"/documents/delete?id={guideline}"),
        *("/guidelines", "/guidelines/chat", "/guidelines/rules", assessment, consult),
        *("/inbox", f"/inbox/{answered[-1].routed_id}", "/asked", "/audit", f"/audit/{answered[0].answer.id}"),
        *("/admin", "/admin/documents", f"/admin/documents/{guideline}", "/admin/upload", "/admin/journeys"),
        *(
            "/admin/queue",
            "/admin/health",
            "/admin/trail",
            "/keys",
            "/smart",
            f"/guidelines?again={assessment.split('/')[-1]}",
        ),
    ]


RUN = "(options) => axe.run(document, options).then(({violations}) => violations)"
NARROW = {
    "resultTypes": ["violations"],
    "runOnly": {
        "type": "rule",
        "values": ["color-contrast", "link-in-text-block", "target-size", "scrollable-region-focusable", "label"],
    },
}
LOOKS = (("light", 1280, RULES), ("dark", 1280, COLOURS), ("dark", 390, COLOURS), ("light", 390, NARROW))
"""What a theme or a width can change is looked at again; the bar of a phone has a test of its own."""


def complaints(page: Page, options: dict[str, Any] = RULES) -> list[tuple[str, str]]:
    """What axe finds wrong, each with the first element that is."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in page.evaluate(RUN, options)]


def test_axe_finds_nothing_wrong_on_any_page_in_either_theme(own: Any, visit: Any) -> None:
    page = visit(own, reduced_motion="reduce")
    wrong, large, wide = {}, {}, []
    for path in pages(own, page):
        response = page.goto(f"{own.address}{path}")
        assert response is not None
        assert response.ok, path
        if len(response.body()) > MAX_BYTES:
            large[path] = len(response.body())
        for scheme, width, options in LOOKS:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            if found := complaints(page, options):
                wrong[path, scheme, width] = found
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wide.append((path, width))
    assert wrong == {}
    assert large == {}
    assert wide == []


def test_the_menu_the_keys_and_the_theme_work_from_the_keyboard(served: Any, visit: Any) -> None:
    page = visit(served, viewport={"width": 390, "height": 844})
    page.keyboard.press("Escape")
    page.locator(".more-places summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".sheet-of-places >> text=Team inbox")).to_be_visible()
    assert complaints(page) == []
    page.keyboard.press("Escape")
    expect(page.locator(".sheet-of-places")).to_be_hidden()
    expect(page.locator(".more-places summary")).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    assert complaints(page) == []
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")
    page.locator(".aids [data-theme-switch]").click()
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(ground) == "rgb(19, 23, 25)"
    page.reload()
    assert page.evaluate(ground) == "rgb(19, 23, 25)"
