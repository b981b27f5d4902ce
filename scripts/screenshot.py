"""Takes the picture of an answer for the README: `python scripts/screenshot.py [--dark] [FILE]`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

import citewell
from citewell.api.serve import bind, server
from citewell.samples import EXAMPLE_QUESTIONS, GUIDELINE, sample_files

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "answer.png"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
TOKEN = "for-the-picture"
SIZE = (1280, 800)


@contextmanager
def served(home: Path) -> Iterator[str]:
    """The samples on a free port."""
    with citewell.open(home) as app, bind("127.0.0.1", 0) as bound:
        for outcome in app.add_all(sample_files()):
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


def take(picture: Path, *, chromium: str, dark: bool) -> None:
    """Ask a question of the samples, open the words that answer it, and photograph both."""
    question = next(one for one in EXAMPLE_QUESTIONS if one.file == GUIDELINE)
    with tempfile.TemporaryDirectory() as home, served(Path(home)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(
            viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="dark" if dark else "light"
        )
        page.goto(f"{address}/?token={TOKEN}")
        page.fill("#q", question.text)
        page.press("#q", "Enter")
        page.locator(".sentence .chip").first.click()
        page.locator("#source .sheet img").evaluate("(image) => image.decode()")
        page.wait_for_selector("#source .sheet rect.best", state="attached")
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=picture)
        browser.close()


def main() -> int:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", nargs="?", type=Path, default=PICTURE)
    parser.add_argument("--dark", action="store_true")
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("No Chromium is installed (Debian: apt-get install chromium).", file=sys.stderr)
        return 1
    take(given.picture, chromium=chromium, dark=given.dark)
    print(given.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
