"""The Ask page and the Check page do their job in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from citewell.types import Scope, Source
from tests.cli.test_cli import Shell
from tests.llm.servers import Ollama, Script, Server
from tests.web.conftest import follow, serving

pytestmark = [pytest.mark.slow, pytest.mark.browser]

ORS = "how much ORS for a 12 kg child with diarrhea"
BRIDGING = "who needs heparin bridging for AF"
NOTHING = "zebra carburettor tuning"
LINKS = "(all) => all.map((one) => [one.href, one.dataset.panel, one.title])"


def ask(page: Page, question: str) -> Any:
    """Type a question, press Enter, and wait for the end of its answer."""
    before = page.locator(".turn").count()
    page.fill("#q", question)
    page.press("#q", "Enter")
    turn = page.locator(".turn").nth(before)
    page.wait_for_selector(f".turn:nth-child({before + 1})[data-action]", timeout=60_000)
    return turn


def test_an_answer_comes_sentence_by_sentence_and_a_chip_opens_the_very_words(served: Any, visit: Any) -> None:
    page = visit(served)
    turn = ask(page, ORS)
    expect(turn.locator(".question")).to_have_text(ORS)
    sentence = turn.locator(".sentence", has_text="900 ml over 4 hours")
    expect(sentence.locator(".verdict .unseen")).to_have_text("supported by the source")
    chip = sentence.locator(".chip").first
    place = turn.locator(".about").bounding_box()
    chip.click()
    page.wait_for_selector("#source .source-title")
    marked = page.locator("#source .best").all_inner_texts()
    assert "900 ml over 4 hours" in " ".join(marked)
    expect(page.locator("#marked")).to_be_in_viewport()
    assert turn.locator(".about").bounding_box() == place
    page.keyboard.press("Escape")
    expect(chip).to_be_focused()
    expect(turn.locator(".confidence")).to_contain_text("supported")
    turn.locator(".about .why summary").click()
    expect(turn.locator(".about dl")).to_contain_text("how near they are to the question")
    turn.locator(".searched summary").click()
    assert turn.locator(".searched li").count() >= 1


def test_a_question_is_written_by_the_model_that_was_chosen_for_it(
    visit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = "Give ferrous sulfate 200 mg once daily. [S1]"
    ollama = Server(Ollama, Script(models=("small:latest", "other:1b"), pieces=(draft,), prompt_tokens=None))
    monkeypatch.setenv("CITEWELL_MODEL", "ollama:small")
    monkeypatch.setenv("CITEWELL_MODEL_URL", ollama.url)
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", '["small=4096/256", "other:1b=2048/128"]')
    note = b"# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."
    with serving(tmp_path / "home") as site:
        site.app.add_source(Source(note, "iron.md"))
        page = visit(site)
        page.select_option("#model", "other:1b")
        turn = ask(page, "How much ferrous sulfate for iron deficiency anaemia?")
        expect(turn.locator(".searched")).to_contain_text("ollama:other:1b")
        assert {chat["model"] for chat in ollama.chats} == {"other:1b"}
        page.select_option("#model", label="small")
        ask(page, "How much ferrous sulfate for iron deficiency anaemia in adults?")
        assert ollama.chats[-1]["model"] == "small:latest"
    ollama.stop()


def test_what_the_model_was_not_shown_is_told_alike_by_script_server_and_command_line(
    visit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four long passages for a window that holds one and a part of the next; first unanswered, then answered."""
    script = Script(models=("small:latest",), pieces=("The wards differ.",), prompt_tokens=None)
    ollama = Server(Ollama, script)
    monkeypatch.setenv("CITEWELL_MODEL", "ollama:small")
    monkeypatch.setenv("CITEWELL_MODEL_URL", ollama.url)
    monkeypatch.setenv("CITEWELL_ALLOWED_MODELS", '["small=1400/128"]')
    monkeypatch.setenv("CITEWELL_CONFIDENCE_THRESHOLD", "0.1")
    wards = " ".join(f"Give ferrous sulfate {number} mg on ward {number} for anaemia." for number in range(80))
    question = "How much ferrous sulfate is given for anaemia on ward 5?"
    with serving(tmp_path / "home") as site:
        site.app.add_source(Source(f"# Iron\n\n{wards}".encode(), "iron.md"))
        page = visit(site)
        told = ask(page, question).locator(".left-out").inner_text()
        page.reload()
        assert page.locator(".left-out").inner_text() == told
        first = site.app.ask(question).evidence[0]
    shell = Shell(tmp_path / "home", capsys, monkeypatch)
    answer = shell.json("ask", question)
    assert (answer["action"], len(answer["evidence"]), answer["left_out"], answer["shortened"]) == ("ROUTE", 2, 2, 1)
    assert told == "Not shown to the model: 2 of 4 passages; 1 shortened."
    assert told in shell("ask", question)[1].splitlines()
    quoted = re.search(r"Give ferrous sulfate \d+ mg on ward \d+ for anaemia\.", first.text)
    assert quoted is not None
    script.pieces = (f"{quoted.group()} [S1]",)
    answered = shell.json("ask", question)
    assert (answered["action"], answered["reason"]) == ("CITE", None)
    assert told in shell("ask", question)[1].splitlines()
    ollama.stop()


def test_the_page_does_not_move_under_the_readers_eyes(served: Any, visit: Any) -> None:
    page = visit(served)
    page.evaluate(
        """() => { window.tops = []; new MutationObserver(() => {
             const first = document.querySelector(".turn .sentence");
             if (first) window.tops.push(first.getBoundingClientRect().top);
           }).observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true }); }"""
    )
    ask(page, ORS)
    tops = page.evaluate("window.tops")
    assert len(tops) > 3
    assert len(set(tops)) == 1


def test_what_the_script_draws_is_what_the_server_draws(served: Any, visit: Any) -> None:
    page = visit(served)
    for question in (ORS, NOTHING):
        page.goto(served.address)
        ask(page, question)
        drawn = page.locator(".turn").inner_text().split()
        links = page.locator(".turn a").evaluate_all(LINKS)
        page.reload()
        assert page.locator(".turn").inner_text().split() == drawn
        assert page.locator(".turn a").evaluate_all(LINKS) == links


def test_a_follow_up_stands_in_the_same_conversation_which_can_be_opened_and_deleted(own: Any, visit: Any) -> None:
    page = visit(own)
    ask(page, ORS)
    address = page.url
    assert "/conversations/" in address
    ask(page, "and if the child vomits?")
    assert page.url == address
    page.goto(own.address)
    expect(page.locator("#talks a")).to_have_text([ORS])
    page.click("#talks a")
    expect(page.locator(".turn .question")).to_have_text([ORS, "and if the child vomits?"])
    page.click(".talks >> text=All")
    page.click("td button")
    expect(page.locator(".empty")).to_contain_text("Nothing was asked yet")
    asker = own.app.owner()
    assert own.app.desk.conversations.all(asker) == []
    assert len(own.app.desk.audit.entries(asker)) == 2


def test_a_question_that_nothing_answers_says_whom_it_went_to_and_why(served: Any, visit: Any) -> None:
    page = visit(served)
    turn = ask(page, NOTHING)
    expect(turn.locator(".routed")).to_contain_text(
        "The documents do not answer this well enough. Handed to an administrator."
    )
    turn.locator(".routed summary").click()
    expect(turn.locator(".routed .why p")).to_be_visible()
    assert turn.locator(".sentence").count() == 0


def test_a_question_that_is_too_long_is_told_so_and_stays_as_it_was_typed(served: Any, visit: Any) -> None:
    page = visit(served)
    page.fill("#q", "why " * 1_001)
    page.press("#q", "Enter")
    assert "up to 4,000 characters" in page.eval_on_selector("#q", "box => box.validationMessage")
    assert len(page.input_value("#q")) == 4_004
    assert page.locator(".turn").count() == 0


def test_without_a_script_the_whole_answer_comes_on_a_page(served: Any, visit: Any) -> None:
    page = visit(served, java_script_enabled=False)
    page.fill("#q", BRIDGING)
    page.click("#ask button")
    expect(page.locator(".sentence").first).to_be_visible(timeout=60_000)
    assert "/conversations/" in page.url
    page.locator(".chip").first.click()
    assert "/source?" in page.url
    expect(page.locator(".best").first).to_be_visible()


def test_a_failure_keeps_the_question_and_a_retry_works(served: Any, visit: Any, watched: Any) -> None:
    watched.expected += ["ERR_", "503", "Failed to load"]
    page = visit(served)
    page.context.set_offline(True)
    page.fill("#q", ORS)
    page.press("#q", "Enter")
    notice = page.locator(".turn .notice.bad")
    expect(notice).to_contain_text("The server does not answer")
    expect(notice).to_contain_text("Your question is kept")
    page.context.set_offline(False)

    def cut(route: Route) -> None:
        body = 'event: working\ndata: {"stage": "searching", "count": 0}\n\n'
        route.fulfill(status=200, content_type="text/event-stream", body=body)

    page.route("**/api/v1/ask/stream", cut)
    notice.locator("button").click()
    expect(notice).to_contain_text("broke off before its end")
    page.unroute("**/api/v1/ask/stream")
    notice.locator("button").click()
    expect(page.locator(".turn .sentence").first).to_be_visible(timeout=60_000)
    expect(page.locator(".turn .notice.bad")).to_have_count(0)
    assert page.locator(".turn").count() == 1


def test_a_sentence_that_is_overturned_keeps_its_place_and_is_struck(served: Any, visit: Any) -> None:
    page = visit(served)
    sentence = (
        '{"index": 0, "shown": %s, "text": "Give 50 mg.", "verdict": "%s", "reasons": ["50 mg is not in the source"], '
        '"citations": [], "sources": []}'
    )
    body = f"event: sentence\ndata: {sentence % ('true', 'supported')}\n\n"
    body += f"event: replace\ndata: {sentence % ('false', 'contradicted')}\n\n"
    page.route(
        "**/api/v1/ask/stream",
        lambda route: route.fulfill(status=200, content_type="text/event-stream", body=body),
    )
    page.fill("#q", ORS)
    page.press("#q", "Enter")
    expect(page.locator(".taken-back")).to_contain_text("taken back")
    expect(page.locator(".taken-back s")).to_have_text("Give 50 mg.")


def test_an_answer_can_be_copied_with_its_references(served: Any, visit: Any) -> None:
    page = visit(served, permissions=["clipboard-read", "clipboard-write"])
    turn = ask(page, BRIDGING)
    turn.locator(".copy").click()
    expect(turn.locator(".copy")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert copied[0] == BRIDGING
    assert copied[2].endswith("[1]")
    at = copied.index("References")
    assert copied[at + 1].startswith("[1] ")


def test_hostile_words_of_a_question_stay_words(served: Any, visit: Any) -> None:
    page = visit(served)
    hostile = '<img src=x onerror=alert(1)> "quinine" & ORS for a child?'
    turn = ask(page, hostile)
    expect(turn.locator(".question")).to_have_text(hostile)
    page.reload()
    expect(page.locator(".turn .question")).to_have_text(hostile)
    assert page.locator("main img, .side li img").count() == 0


def test_the_stream_is_a_live_region_and_enter_sends(served: Any, visit: Any) -> None:
    page = visit(served)
    page.keyboard.type("first line")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second line")
    assert page.locator("#q").input_value() == "first line\nsecond line"
    page.fill("#q", "")
    turn = ask(page, ORS)
    assert turn.locator(".answer").get_attribute("aria-live") == "polite"
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    page.locator("body").press("/")
    expect(page.locator("#q")).to_be_focused()


def test_each_sentence_of_a_text_gets_its_verdict_and_the_words_that_decided(served: Any, visit: Any) -> None:
    page = visit(served)
    follow(page, "nav >> text=Check")
    page.fill("#text", "Do not give loperamide to children under 12 years. Give loperamide to children. Zebras fly.")
    page.click("#check button")
    rows = page.locator(".checked li")
    expect(rows).to_have_count(3, timeout=60_000)
    words = [row.locator(".verdict .unseen").inner_text() for row in rows.all()]
    assert words == ["supported by the source", "contradicted by the source", "not found in the sources"]
    rows.nth(1).locator("a[data-panel]").click()
    page.wait_for_selector("#source .source-title")
    assert "loperamide" in page.locator("#source .best").first.inner_text()
    page.click("text=Hold it against something else")
    page.fill("#text", "Give 5 mg.")
    page.fill("#evidence", "Give 50 mg.")
    page.click("#check button")
    expect(page.locator(".checked .reasons").first).to_contain_text("5 mg")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1000, 1400])
def test_answers_are_whole_at_every_width(served: Any, visit: Any, scheme: str, width: int) -> None:
    page = visit(served, color_scheme=scheme, viewport={"width": width, "height": 800})
    turn = ask(page, ORS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    turn.locator(".chip").first.click()
    page.wait_for_selector("#source .source-title")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Escape")
    box = page.locator("#ask").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 801


def test_on_paper_the_sources_are_numbered_references(served: Any, visit: Any) -> None:
    page = visit(served)
    turn = ask(page, ORS)
    page.emulate_media(media="print")
    expect(page.locator("#ask")).to_be_hidden()
    expect(page.locator(".side")).to_be_hidden()
    expect(turn.locator(".references li").first).to_be_visible()
    before = turn.locator(".chip").first.evaluate("(one) => getComputedStyle(one, '::before').content")
    assert before == '"["'


def test_people_sign_in_and_out_and_see_what_is_theirs(own: Any, visit: Any, watched: Any) -> None:
    from citewell.types import Role

    watched.expected.append("401")
    own.app.people.add(
        tenant="local", email="ann@clinic.example", name="Ann", role=Role.READER, tags=["lung"], password="ten letters!"
    )
    page = visit(own)
    page.context.clear_cookies()
    page.goto(f"{own.address}/library")
    page.fill("#email", "ann@clinic.example")
    page.fill("#password", "wrong password")
    page.click("main button")
    expect(page.locator("[role=alert]")).to_contain_text("is wrong")
    page.fill("#email", "Ann@clinic.example")
    page.fill("#password", "ten letters!")
    page.click("main button")
    expect(page.locator("nav[aria-label=Main] a")).to_have_text(["Search", "Guidelines", "Library"])
    page.goto(f"{own.address}/library")
    expect(page.locator("#upload")).to_have_count(0)
    expect(page.locator(".documents tbody tr")).to_have_count(len(own.app.entries(Scope.owner("local"))))
    page.click("text=Sign out")
    expect(page.locator("h1")).to_have_text("Sign in")
    page.goto(f"{own.address}/library")
    expect(page.locator("h1")).to_have_text("Sign in")
