"""Every page does its main job in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citewell.samples import CHAPTER, EXAMPLE_QUESTIONS, GUIDELINE, LEAFLET
from citewell.types import Box, Source
from tests.web.conftest import follow

pytestmark = [pytest.mark.slow, pytest.mark.browser]

BLOOD = EXAMPLE_QUESTIONS[0].text
GOUT = "# Gout\n\nOffer colchicine 500 micrograms twice a day for an acute attack of gout.\n"

# The places of the marks as parts of the page image: left, top, right, bottom.
MARKS = """
(kind) => {
  const sheet = document.querySelector(".sheet img").getBoundingClientRect();
  return [...document.querySelectorAll(`.sheet rect.${kind}`)].map((rect) => {
    const box = rect.getBoundingClientRect();
    return [(box.left - sheet.left) / sheet.width, (box.top - sheet.top) / sheet.height,
            (box.right - sheet.left) / sheet.width, (box.bottom - sheet.top) / sheet.height];
  });
}
"""

UNNAMED = """
() => [...document.querySelectorAll("input:not([type=hidden]), select, button, a, img, progress")]
  .filter((one) => !one.labels?.length && !one.textContent.trim())
  .filter((one) => !one.getAttribute("aria-label") && !one.hasAttribute("alt"))
  .map((one) => one.outerHTML)
"""

TWICE = """
() => { const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
        return ids.filter((id, at) => ids.indexOf(id) !== at); }
"""


WIDTHS = (390, 1000, 1280, 1920)


def search(page: Page, question: str) -> None:
    if "/search" not in page.url:
        follow(page, '.side a:visible:has-text("Ask")')
        follow(page, ".tabs >> text=Search")
    page.fill("#q", question)
    with page.expect_navigation():  # the page's own scripts have run when it ends
        page.press("#q", "Enter")
    page.wait_for_selector(".hits, .empty")


def hit_in(page: Page, site: Any, name: str) -> Any:
    """The first result that lies in this sample."""
    document_id = next(entry.id for entry in site.app.entries() if entry.name == name)
    return page.locator(f".hit .opens[href*='{document_id}']").first


def fractions(boxes: list[Box], width: float, height: float) -> list[list[float]]:
    return [[box.left / width, box.top / height, box.right / width, box.bottom / height] for box in boxes]


def near(found: list[list[float]], expected: list[list[float]]) -> bool:
    return len(found) == len(expected) and all(
        abs(one - other) < 0.002
        for row, wanted in zip(found, expected, strict=True)
        for one, other in zip(row, wanted, strict=True)
    )


def go_to_library(page: Page) -> None:
    follow(page, "nav >> text=Library")
    page.wait_for_selector("html.has-script")


def test_a_click_on_a_result_marks_the_exact_words_on_the_page(served: Any, visit: Any) -> None:
    page = visit(served)
    search(page, BLOOD)
    expect(page.locator(".found")).to_contain_text("found in")
    assert page.locator(".hit mark").count() > 0
    link = hit_in(page, served, GUIDELINE)
    top = link.bounding_box()["y"]
    link.click()
    page.wait_for_selector("#source .sheet")
    assert abs(link.bounding_box()["y"] - top) < 2
    hit = next(hit for hit in served.app.search(BLOOD).hits if hit.page)
    _, document, _ = served.app.show(hit.document_id)
    start, end = hit.why.best_sentence or (hit.start, hit.end)
    number = document.layout.page_at(start)
    sheet = document.layout.pages[number - 1]
    for kind, span in (("passage", (hit.start, hit.end)), ("best", (start, end))):
        boxes = [box for box in document.layout.boxes(*span) if box.page == number]
        assert boxes
        assert near(page.evaluate(MARKS, kind), fractions(boxes, sheet.width, sheet.height))
    image = page.locator("#source .sheet img")
    assert image.evaluate("async (image) => { await image.decode(); return image.naturalWidth; }") in (1400, 1401)
    expect(page.locator("#source .quote")).to_contain_text(document.text[start:end])
    expect(page.locator("#marked")).to_be_in_viewport()


def test_pages_can_be_turned_and_lead_back_to_the_marks(served: Any, visit: Any) -> None:
    page = visit(served)
    search(page, BLOOD)
    hit_in(page, served, GUIDELINE).click()
    place = page.locator("#source .place")
    expect(place).to_contain_text("of 14")
    first = place.inner_text()
    here = int(first.split(" of 14")[0].split()[-1])
    while page.locator("#source .sheet rect").count():  # a passage may go on on the next page
        here += 1
        page.click("#source >> text=next ›")
        expect(place).to_contain_text(f"page {here} of 14")
    page.click("#source >> text=Go to it")
    expect(place).to_have_text(first)
    page.click("#source >> text=as text")
    expect(page.locator("#source .text .best")).to_be_in_viewport()
    page.click("#source >> text=as page")
    page.wait_for_selector("#source .sheet rect.best")


def test_a_source_without_pages_shows_its_text_with_the_words_marked(served: Any, visit: Any) -> None:
    question = next(one for one in EXAMPLE_QUESTIONS if one.file == CHAPTER)
    page = visit(served)
    search(page, question.text)
    hit_in(page, served, CHAPTER).click()
    page.wait_for_selector("#source .text")
    hit = next(hit for hit in served.app.search(question.text).hits if hit.page is None)
    _, document, _ = served.app.show(hit.document_id)
    start, end = hit.why.best_sentence or (hit.start, hit.end)
    marked = " ".join("".join(page.locator("#source .text .best").all_inner_texts()).split())
    assert marked == " ".join(document.text[start:end].split())
    expect(page.locator("#marked")).to_be_in_viewport()


def test_the_keyboard_alone_is_enough(served: Any, visit: Any) -> None:
    page = visit(served)
    page.goto(f"{served.address}/search")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type(BLOOD)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.wait_for_selector(".hits")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#hit-2 .opens")).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("#hit-1 .opens")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#source .source-title")).to_be_focused()
    expect(page.locator("#hit-1")).to_have_class("hit is-open")
    page.keyboard.press("Escape")
    expect(page.locator("#hit-1 .opens")).to_be_focused()
    expect(page.locator("#source")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#hit-1 .opens")).to_be_focused()


def test_the_skip_link_comes_first(served: Any, visit: Any) -> None:
    page = visit(served)
    page.goto(f"{served.address}/library")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_reading_searching_adding_and_deleting_need_no_script(own: Any, visit: Any, tmp_path: Path) -> None:
    page = visit(own, java_script_enabled=False)
    search(page, BLOOD)
    hit_in(page, own, GUIDELINE).click()
    assert "/source?" in page.url
    assert page.locator(".sheet rect.best").count() > 0
    page.click("text=next ›")
    expect(page.locator(".place")).to_contain_text("of 14")
    follow(page, "nav >> text=Library")
    (tmp_path / "gout.md").write_text(GOUT)
    page.set_input_files("#files", tmp_path / "gout.md")
    page.click("#upload button[type=submit]")
    expect(page.locator("#news")).to_contain_text("1 document queued")
    row = page.locator("tr", has_text="gout.md")
    for _ in range(60):
        if "ready" in row.inner_text():
            break
        page.wait_for_timeout(500)
        page.goto(f"{own.address}/library")
    row.locator("input").check()
    page.click("#bulk button")
    expect(page.locator("h1")).to_have_text("Delete this document?")
    page.click("text=Delete permanently")
    expect(page.locator("#news")).to_contain_text("1 document deleted")
    assert "gout.md" not in {entry.name for entry in own.app.entries()}


def test_a_file_is_sent_followed_and_found(own: Any, visit: Any, tmp_path: Path) -> None:
    page = visit(own)
    go_to_library(page)
    (tmp_path / "gout.md").write_text(GOUT)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nonsense")
    (tmp_path / "letter.doc").write_bytes(b"No Word.\n")
    page.set_input_files("#files", [tmp_path / "gout.md", tmp_path / "broken.pdf", tmp_path / "letter.doc"])
    page.click("#upload button[type=submit]")
    expect(page.locator("tr", has_text="gout.md").locator(".state")).to_have_text("ready", timeout=60_000)
    failed = page.locator("tr", has_text="broken.pdf")
    expect(failed.locator(".state")).to_have_text("could not be read", timeout=60_000)
    expect(failed.locator(".error")).to_contain_text("damaged")
    expect(page.locator("#news")).to_contain_text("Gout: ready.")
    expect(page.locator("#news")).to_contain_text(
        "The file name says Word but the content is text, so it was read as text."
    )
    failed.locator(".error a").click()
    expect(page.locator(".notice.bad")).to_contain_text("Add a better copy, or delete it.")
    assert page.locator("text=Try again").count() == 0
    page.click("text=Delete…")
    page.click("text=Delete permanently")
    expect(page.locator("tr", has_text="broken.pdf")).to_have_count(0)
    follow(page, ".rail >> text=Ask")
    follow(page, ".tabs >> text=Search")
    search(page, "colchicine for gout")
    expect(page.locator(".hit").first).to_contain_text("Gout")


def test_files_are_shown_before_they_are_added_and_what_was_removed_comes_back(
    own: Any, visit: Any, tmp_path: Path
) -> None:
    page = visit(own)
    go_to_library(page)
    folder = tmp_path / "ward" / "within"
    folder.mkdir(parents=True)
    (folder / "gout.md").write_text(GOUT)
    (folder / "logo.png").write_bytes(b"no document")
    (tmp_path / "ward" / "wrong.md").write_text("# Wrong\n\nNot this one.\n")
    with page.expect_file_chooser() as chooser:
        page.click("text=Choose a folder")
    chooser.value.set_files(tmp_path / "ward")
    expect(page.locator("#news")).to_contain_text("1 of 3 files of the folder cannot be read and are left out.")
    expect(page.locator("#who-finds")).to_have_text("Everyone who can use this library will find them.")
    page.fill("#upload [name=tags]", "ward")
    page.get_by_label("Leave out wrong.md").click()
    expect(page.locator("#who-finds")).to_have_text("People with the tag “ward” will find it.")
    assert {entry.name for entry in own.app.entries()} >= {GUIDELINE}
    assert "gout.md" not in {entry.name for entry in own.app.entries()}
    page.click("text=Add 1 document")
    row = page.locator("tr", has_text="gout.md")
    expect(row.locator(".state")).to_have_text("ready", timeout=60_000)
    row.locator("input").check()
    with page.expect_navigation():
        page.click("#bulk button")
    with page.expect_navigation():
        page.click("button:text-is('Remove')")
    expect(page.locator("tr", has_text="gout.md").locator(".state")).to_have_text("withdrawn")
    with page.expect_navigation():
        page.click("text=Undo")
    expect(page.locator("tr", has_text="gout.md").locator(".state")).to_have_text("ready")
    with page.expect_navigation():
        page.click("text=Remove samples")
    assert [entry.name for entry in own.app.entries()] == ["gout.md"]


def test_documents_are_counted_as_they_come_and_a_twin_is_told_under_its_own_name(
    own: Any, visit: Any, tmp_path: Path
) -> None:
    page = visit(own)
    go_to_library(page)
    expect(page.locator(".found")).to_have_text("4 documents")
    (tmp_path / "gout.md").write_text(GOUT)
    page.set_input_files("#files", tmp_path / "gout.md")
    page.click("#upload button[type=submit]")
    expect(page.locator("tr", has_text="gout.md").locator(".state")).to_have_text("ready", timeout=60_000)
    expect(page.locator(".found")).to_have_text("5 documents")
    (tmp_path / "twin.md").write_text(GOUT)
    page.set_input_files("#files", tmp_path / "twin.md")
    page.click("#upload button[type=submit]")
    expect(page.locator("#news")).to_contain_text("twin.md is already in the library as Gout and was not added again.")
    expect(page.locator(".found")).to_have_text("5 documents")


def test_the_stages_of_reading_are_shown(own: Any, visit: Any, tmp_path: Path) -> None:
    page = visit(own)
    go_to_library(page)
    paragraphs = "\n\n".join(
        f"Step {at}: give {at} mg of the medicine and check the patient again." for at in range(2_400)
    )
    (tmp_path / "long.txt").write_text(paragraphs)
    page.set_input_files("#files", tmp_path / "long.txt")
    page.click("#upload button[type=submit]")
    row = page.locator("tr", has_text="long.txt")
    expect(row.locator(".words")).to_contain_text("Indexing", timeout=60_000)
    expect(row.locator(".state")).to_have_text("ready", timeout=600_000)


def test_files_can_be_dropped(own: Any, visit: Any) -> None:
    page = visit(own)
    go_to_library(page)
    transfer = page.evaluate_handle(
        "(text) => { const data = new DataTransfer(); data.items.add(new File([text], 'gout.md')); return data; }", GOUT
    )
    page.dispatch_event("#upload", "dragover", {"dataTransfer": transfer})
    page.dispatch_event("#upload", "drop", {"dataTransfer": transfer})
    page.click("#upload button[type=submit]")
    expect(page.locator("tr", has_text="gout.md").locator(".state")).to_have_text("ready", timeout=60_000)


def test_the_library_can_be_filtered_and_sorted(served: Any, visit: Any) -> None:
    page = visit(served)
    go_to_library(page)
    rows = page.locator(".documents tbody tr")
    page.fill("#filter", "pdf")
    expect(rows).to_have_count(1)
    page.fill("#filter", "no such thing")
    expect(page.locator(".none")).to_be_visible()
    page.fill("#filter", "")
    expect(rows).to_have_count(4)
    page.click("th >> text=Title")
    titles = page.locator(".documents .title > a").all_inner_texts()
    assert titles == sorted(titles)
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Title")


def test_an_empty_library_leads_to_the_samples_and_to_an_answer(bare: Any, visit: Any) -> None:
    page = visit(bare)
    page.click("text=Add documents")
    page.click("text=Add samples")
    expect(page.locator(".state.good")).to_have_count(4, timeout=120_000)
    follow(page, ".rail >> text=Ask")
    follow(page, ".tabs >> text=Search")
    page.wait_for_url("**/search")
    page.click(f"text={BLOOD}")
    expect(page.locator(".hit").first).to_be_visible()


def test_what_is_not_found_says_what_to_do(served: Any, visit: Any) -> None:
    page = visit(served)
    search(page, "zebra carburettor tuning")
    expect(page.locator(".empty")).to_contain_text("Try fewer or simpler words")


def test_a_document_page_shows_its_facts_and_opens_its_passages(served: Any, visit: Any) -> None:
    page = visit(served)
    go_to_library(page)
    follow(page, f"tr:has-text('{LEAFLET}') .title > a")
    expect(page.locator(".facts").first).to_contain_text(LEAFLET)
    page.locator(".hit .opens").nth(2).click()
    expect(page.locator("#source .text .passage").first).to_be_in_viewport()


def test_a_document_that_is_deleted_while_it_is_read_leaves_the_table(own: Any, visit: Any, watched: Any) -> None:
    watched.expected.append("404")
    page = visit(own)
    go_to_library(page)
    text = "\n\n".join(f"Give {at} mg and wait." for at in range(300))
    page.set_input_files("#files", {"name": "gone.txt", "mimeType": "text/plain", "buffer": text.encode()})
    page.click("#upload button[type=submit]")
    row = page.locator("tr", has_text="gone.txt")
    own.app.delete(row.get_attribute("data-id"))
    expect(row).to_have_count(0, timeout=60_000)


def test_hostile_words_stay_words(own: Any, visit: Any) -> None:
    page = visit(own)
    text = "# <img src=x onerror=alert(1)>\n\nQuinine <script>alert(2)</script> & \"quotes\" 'for' cramps.\n"
    go_to_library(page)
    page.set_input_files("#files", {"name": "<b>x</b>.txt", "mimeType": "text/plain", "buffer": text.encode()})
    page.click("#upload button[type=submit]")
    expect(page.locator("tr", has_text=".txt").locator(".state")).to_have_text("ready", timeout=60_000)
    follow(page, ".rail >> text=Ask")
    follow(page, ".tabs >> text=Search")
    search(page, 'quinine "><script>alert(3)</script>')
    expect(page.locator(".hit").first).to_contain_text("<script>alert(2)</script>")
    page.locator(".hit .opens").first.click()
    expect(page.locator("#source .text")).to_contain_text("<script>alert(2)</script>")
    assert page.locator("main script, aside script, main img[src=x], aside img[src=x], main b b").count() == 0


def test_on_a_narrow_screen_the_source_covers_the_page_and_escape_closes_it(served: Any, visit: Any) -> None:
    page = visit(served, viewport={"width": 390, "height": 844})
    search(page, BLOOD)
    expect(page.locator("#source")).to_be_hidden()
    page.locator(".hit .opens").first.click()
    page.wait_for_selector("#source .source-title")
    assert page.locator("#source").bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    page.keyboard.press("Escape")
    expect(page.locator("#source")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_pages_are_whole_at_every_width_in_light_and_dark(served: Any, visit: Any) -> None:
    page = visit(served, color_scheme="light", viewport={"width": WIDTHS[0], "height": 800})
    document_id = next(entry.id for entry in served.app.entries() if entry.name == GUIDELINE)
    paths = (
        "/",
        "/check",
        "/conversations",
        "/asked",
        "/inbox",
        "/audit",
        "/admin",
        "/keys",
        "/search",
        "/search?q=fever",
        "/library",
        f"/documents/{document_id}",
        f"/documents/{document_id}/source?chunk=3",
        f"/documents/delete?id={document_id}",
    )
    for path in paths:
        page.goto(f"{served.address}{path}")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
        assert page.evaluate(UNNAMED) == []
        assert page.evaluate(TWICE) == []
        assert page.locator("h1").count() == 1
        assert page.locator("main").count() == 1
        for scheme, shade in (("light", "rgb(250, 249, 246)"), ("dark", "rgb(19, 23, 25)")):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == shade
        page.set_viewport_size({"width": WIDTHS[0], "height": 800})


def test_without_the_token_a_browser_is_told_where_to_find_it(served: Any, visit: Any, watched: Any) -> None:
    watched.expected.append("401")
    page = visit(served)
    page.context.clear_cookies()
    page.goto(f"{served.address}/library")
    expect(page.locator("h1")).to_have_text("Sign in")
    expect(page.locator("main")).to_contain_text("Open the link that citewell serve printed")


def test_a_server_that_stopped_is_told_in_the_panel(served: Any, visit: Any, watched: Any) -> None:
    watched.expected.append("ERR_")
    page = visit(served)
    search(page, BLOOD)
    page.context.set_offline(True)
    page.locator(".hit .opens").first.click()
    expect(page.locator("#source .notice.bad")).to_contain_text("not responding")
    page.context.set_offline(False)
    page.click("#source >> text=Try again")
    page.wait_for_selector("#source .source-title")


def test_what_changed_between_two_versions_is_told_in_words(own: Any, visit: Any) -> None:
    for dose, more in (("5 mg", ""), ("10 mg", " Drink plenty of water.")):
        text = f"# Tablets\n\nTake {dose} of the medicine each morning. Do not share it.{more}\n"
        own.app.add_source(Source(text.encode(), "tablets.md"))
    page = visit(own)
    go_to_library(page)
    follow(page, "text=Tablets")
    expect(page.locator("h1")).to_have_text("Tablets")
    follow(page, "text=See what changed since")
    expect(page.locator("h1")).to_have_text("What changed from version 1 to 2")
    expect(page.locator("main [role=status]")).to_have_text(
        "1 sentence reworded, 1 sentence added; 2 sentences unchanged."
    )
    expect(page.locator(".words del")).to_have_text("5")
    expect(page.locator(".words ins")).to_have_text(["10", "Drink plenty of water."])
