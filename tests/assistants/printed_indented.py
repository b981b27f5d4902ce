"""A guideline printed as NICE prints its own: numbers in the margin, words further in, boxes and notes between."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

MARGIN, PANEL, WORDS, BULLET, ITEM = 40, 54, 92, 100, 115
"""Where numbers and headings, boxes, the words of a rule, bullets and the words of an item begin."""
RIGHT, TOP, BOTTOM, STEP = 555, 770, 70, 18

STYLES = {
    "section": (MARGIN, True, 15),
    "heading": (MARGIN, True, 13),
    "caption": (MARGIN, True, 11),
    "margin": (MARGIN, False, 11),
    "words": (WORDS, False, 11),
    "more": (ITEM, False, 11),
    "panel title": (PANEL, True, 11),
    "panel": (PANEL, False, 11),
}
"""Where words of a kind begin, whether they are bold, and their size."""

Line = tuple[str, str]
"""What it is, and its words: one of the styles, or a rule, an item, a row of a table, a new page."""


SCORED: tuple[Line, ...] = (
    ("section", "1.1 Assessment"),
    ("rule", "1.1.1 Use the purple score (see box 1) to decide with the person where they are cared for."),
    ("panel title", "Box 1 Purple score"),
    ("panel", "Give 1 point for each of the following:"),
    ("item", "confusion"),
    ("item", "raised respiratory rate (30 breaths per minute or more)"),
    ("item", "low blood pressure (diastolic 60 mmHg or less, or systolic less than 90 mmHg)"),
    ("item", "age 65 years or more."),
    ("panel", "The risk is:"),
    ("item", "0: low"),
    ("item", "1 or 2: medium"),
    ("item", "3 or 4: high."),
    ("rule", "1.1.2 Offer rest to people with purple fever for as long as they want it."),
)
"""A guideline with a score in a box."""


class _Printer:
    def __init__(self, path: Path, title: str) -> None:
        self.canvas, self.title = Canvas(str(path), pagesize=(595, 842), invariant=1), title
        self.canvas.setTitle(title)
        self.y, self.page = float(TOP), 1
        self._edges()

    def _edges(self) -> None:
        self.canvas.setFont("Helvetica", 8)
        self.canvas.drawString(MARGIN, 810, self.title)
        self.canvas.drawString(MARGIN, 30, f"Page {self.page}")

    def turn(self) -> None:
        self.canvas.showPage()
        self.y, self.page = float(TOP), self.page + 1
        self._edges()

    def lines(self, text: str, left: float, *, bold: bool = False, size: int = 11) -> None:
        """Wrapped words; a date tag in them is bold, as NICE prints it."""
        font = "Helvetica-Bold" if bold else "Helvetica"
        for line in simpleSplit(text, font, size, RIGHT - left):
            if self.y < BOTTOM:
                self.turn()
            self.canvas.setFont("Helvetica-Bold" if line.startswith("[") else font, size)
            self.canvas.drawString(left, self.y, line)
            self.y -= STEP

    def rule(self, text: str) -> None:
        number, _, words = text.partition(" ")
        if self.y < BOTTOM:
            self.turn()
        self.canvas.setFont("Helvetica", 11)
        self.canvas.drawString(MARGIN, self.y, number)
        self.lines(words, WORDS)

    def item(self, text: str) -> None:
        if self.y < BOTTOM:
            self.turn()
        self.canvas.setFont("Helvetica", 11)
        self.canvas.drawString(BULLET, self.y, "•")
        self.lines(text, ITEM)

    def row(self, text: str) -> None:
        """Cells with lines round them, parted by “|”."""
        cells = text.split("|")
        if self.y < BOTTOM + 2 * STEP:
            self.turn()
        width = (RIGHT - MARGIN) / len(cells)
        self.canvas.setFont("Helvetica", 10)
        for number, cell in enumerate(cells):
            left = MARGIN + number * width
            self.canvas.rect(left, self.y - 6, width, STEP)
            self.canvas.drawString(left + 4, self.y, cell)
        self.y -= STEP


def print_indented(path: Path, lines: Sequence[Line], *, title: str = "Purple fever: treatment") -> Path:
    """Print these lines in order; a gap parts what is not of one list or table."""
    printer = _Printer(path, title)
    printer.lines(title, MARGIN, bold=True, size=22)
    printer.lines("NICE guideline Published: 1 May 2024 www.nice.org.uk/guidance/ng999", MARGIN)
    printer.turn()
    printer.lines("Recommendations", MARGIN, bold=True, size=18)
    for kind, text in lines:
        printer.y -= 0 if kind == "row" else 12
        if kind in STYLES:
            left, bold, size = STYLES[kind]
            printer.lines(text, left, bold=bold, size=size)
        elif kind == "page":
            printer.turn()
        else:
            {"rule": printer.rule, "item": printer.item, "row": printer.row}[kind](text)
    printer.canvas.save()
    return path
