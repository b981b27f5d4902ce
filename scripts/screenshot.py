"""Takes the pictures of the docs by the clicks of their quick starts: `python scripts/screenshot.py [NAME …]`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import citewell
from citewell.api.serve import bind, server
from citewell.samples import EXAMPLE_QUESTIONS, GUIDELINE

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
TOKEN = "for-the-picture"
SIZE = (1280, 800)
COLOURS = 128
"""As many as keep a picture small and its text clean."""
PATIENCE_MS = 60_000


@contextmanager
def served(home: Path) -> Iterator[str]:
    """The samples on a free port."""
    with citewell.open(home) as app, bind("127.0.0.1", 0) as bound:
        for outcome in app.add_samples():
            if outcome.error is not None:
                raise outcome.error
        running = server(app, bound, token=TOKEN)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            while not running.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            running.should_exit = True
            thread.join()


def answer(page: Page) -> None:
    """Ask a question of the samples, and open the words that answer it."""
    ask(page, next(known.text for known in EXAMPLE_QUESTIONS if known.file == GUIDELINE))
    open_page(page, page.locator(".sentence .chip").first.click)


def assessment(page: Page) -> None:
    """Compare the example patient with the guideline of the samples, and open a recommendation."""
    page.click(".rail >> text=Guidelines")
    page.click("main summary")
    page.fill("[name=pasted]", (DOCS / "examples" / "patient.json").read_text())
    press(page, "#check button")
    open_page(page, page.locator(".hit .opens").first.click)


def record(page: Page) -> None:
    """Make a vault, add the example files, and ask what they say."""
    page.click(".rail >> text=My records")
    page.fill("#label", "maria")
    page.fill("#passphrase", "three green bicycles")
    page.fill("#again", "three green bicycles")
    press(page, "button:text-is('Create')")
    page.click("text=I have written them down")
    page.click("text=Add documents")
    page.set_input_files("#files", [DOCS / "examples" / "record.json", DOCS / "examples" / "letter.md"])
    press(page, ".drop button")
    page.click(".tabs >> text=Ask")
    ask(page, "Who prescribed my blood thinner, and since when?")
    page.wait_for_selector("[data-feedback]", state="attached")
    page.click(".sentence .chip")
    page.wait_for_selector("#source .best")


def journey(page: Page) -> None:
    """Make a journey, file the policy of the samples under it, and ask in it."""
    page.click(".rail >> text=Admin")
    page.click(".tabs >> text=Journeys")
    page.fill("[name=name] >> nth=-1", "Planned procedures")
    press(page, "button:text-is('Add')")
    page.click(".tabs >> text=Documents")
    page.click("text=Anticoagulants around planned procedures")
    page.check("[name=journey][value=planned-procedures]")
    press(page, "button:text-is('Save')")
    press(page, ".rail >> text=Ask")
    press(page, ".chips >> text=Planned procedures")
    ask(page, "who needs heparin bridging for AF")
    page.locator(".sentence .chip").first.click()
    page.wait_for_selector("#source #marked")


def consult(page: Page) -> None:
    """Go from a patient's words to a plan, and open the words of a recommendation."""
    page.click(".rail >> text=Consult")
    press(page, "button:text-is('Start')")
    for said in (
        "72-year-old woman, breathless on exertion for 3 weeks, both ankles swollen. No chest pain. BP 142/84.",
        "Weighs 70 kg. Takes ibuprofen. No known allergies.",
    ):
        page.fill("#text", said)
        press(page, "button:text-is('Add to interview')")
    page.fill("[name=condition]", "Heart failure")
    press(page, "button:text-is('Add differential')")
    press(page, "button:text-is('Draft plan')")
    page.locator("#plan").evaluate("(heading) => heading.scrollIntoView()")
    open_page(page, page.locator(".statements .chip").first.click)


def ask(page: Page, question: str) -> None:
    """Ask, and wait for the answer."""
    page.fill("#q", question)
    page.press("#q", "Enter")
    page.wait_for_selector(".turn[data-answer], .sentence .chip")


def press(page: Page, button: str) -> None:
    """Press a button that leads to another page."""
    with page.expect_navigation():
        page.click(button)


def open_page(page: Page, opens: Callable[[], None]) -> None:
    """Open a source that has pages, and wait for the picture of its page and the marks on it."""
    opens()
    page.locator("#source .sheet img").evaluate("(image) => image.decode()")
    page.wait_for_selector("#source .sheet rect.best", state="attached")


PICTURES = {shows.__name__: shows for shows in (answer, assessment, record, journey, consult)}


def take(names: list[str], *, chromium: str, dark: bool) -> None:
    """Take the pictures in one browser, each on a library of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name in names:
            with tempfile.TemporaryDirectory() as home, served(Path(home)) as address:
                page = browser.new_page(
                    viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="dark" if dark else "light"
                )
                page.set_default_timeout(PATIENCE_MS)
                page.goto(f"{address}/?token={TOKEN}")
                PICTURES[name](page)
                picture = DOCS / "images" / f"{name}.png"
                page.screenshot(path=picture)
                page.close()
            with Image.open(picture) as full:
                full.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(picture, optimize=True)
            print(picture, f"{picture.stat().st_size // 1000} kB", flush=True)
        browser.close()


def main() -> int:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", metavar="NAME", help=f"one of {', '.join(PICTURES)}; all by default")
    parser.add_argument("--dark", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.name) - set(PICTURES):
        parser.error(f"there is no picture {', '.join(sorted(unknown))}")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("No Chromium is installed (Debian: apt-get install chromium).", file=sys.stderr)
        return 1
    take(given.name or list(PICTURES), chromium=chromium, dark=given.dark)
    return 0


if __name__ == "__main__":
    sys.exit(main())
