"""A question that failed is asked again for what it was asked for, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citewell.types import Filing, Source
from tests.llm.servers import Ollama, Script, Server
from tests.web.conftest import Served, serving

pytestmark = [pytest.mark.slow, pytest.mark.browser]

QUESTION = "How much ferrous sulfate for iron deficiency anaemia?"
LOOKED = "Searched 1 document: tagged “ward”, or for everyone."
NOTES = {
    "ward": b"# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults.",
    "board": b"# Stock\n\nOrder ferrous sulfate 200 mg for iron deficiency anaemia from the pharmacy.",
}


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Two models, of a server that fails."""
    draft = "Give ferrous sulfate 200 mg once daily. [S1]"
    script = Script(models=("small:latest", "other:1b"), pieces=(draft,), prompt_tokens=None, statuses=[400] * 9)
    found = Server(Ollama, script)
    monkeypatch.setenv("CITEWELL_MODEL", "ollama:small")
    monkeypatch.setenv("CITEWELL_MODEL_URL", found.url)
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", '["small=4096/256", "other:1b=2048/128"]')
    yield found
    found.stop()


@pytest.fixture
def site(ollama: Server, tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "home") as found:
        for tag, note in NOTES.items():
            found.app.add_source(Source(note, f"{tag}.md"), filing=Filing(tags=frozenset({tag})))
        yield found


def choose(page: Page) -> None:
    if not page.locator(".tags").evaluate("(one) => one.open"):
        page.click("text=Filter by tag")
    page.check("input[name=tag][value=ward]")
    page.select_option("#model", "other:1b")


def failing(page: Page) -> None:
    choose(page)
    page.fill("#q", QUESTION)
    page.press("#q", "Enter")
    expect(page.locator(".turn .notice.bad")).to_contain_text("Your question has been saved.")


def test_without_a_script_what_was_chosen_is_sent_again(ollama: Server, site: Served, visit: Any) -> None:
    page = visit(site, java_script_enabled=False)
    choose(page)
    page.fill("#q", QUESTION)
    page.click("#ask .box button")
    expect(page.locator(".turn.failed .question")).to_have_text(QUESTION)
    ollama.script.statuses.clear()
    page.click("text=Try again")
    expect(page.locator(".turn[data-action=CITE] .question")).to_have_text([QUESTION])
    page.click(".searched summary")
    expect(page.locator(".searched p").first).to_have_text(LOOKED)
    expect(page.locator(".searched")).to_contain_text("ollama:other:1b")


def test_after_a_reload_a_question_waits_in_the_box_for_what_is_chosen_anew(
    ollama: Server, site: Served, visit: Any
) -> None:
    page = visit(site)
    failing(page)
    page.reload()
    expect(page.locator(".turn.failed")).to_contain_text("choose them again before you ask")
    ollama.script.statuses.clear()
    page.click("text=Ask again")
    expect(page.locator("#q")).to_have_value(QUESTION)
    expect(page.locator("#q")).to_be_focused()
    assert len(ollama.chats) == 1
    choose(page)
    page.press("#q", "Enter")
    page.wait_for_selector(".turn[data-action=CITE]")
    expect(page.locator(".turn .question")).to_have_text([QUESTION])
    page.reload()
    expect(page.locator(".turn .question")).to_have_text([QUESTION])
    page.click(".searched summary")
    expect(page.locator(".searched p").first).to_have_text(LOOKED)


def test_a_conversation_is_listed_though_its_first_answer_failed(site: Served, visit: Any) -> None:
    page = visit(site)
    failing(page)
    expect(page.locator("#talks a[aria-current=page]")).to_have_text(QUESTION)
    page.reload()
    expect(page.locator("#talks a")).to_have_text([QUESTION])
