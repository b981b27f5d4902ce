"""The runs of a Word paragraph as one line: tracked changes, symbols, raised and lowered text, notes, formulas."""

from __future__ import annotations

from dataclasses import dataclass, field

from lxml import etree

from citewell.adapters.parsers.docx_styles import Numbering, Styles, is_on, paragraph_style, value
from citewell.adapters.parsers.markup_flow import LineReader, child_named, children_named, local_name, read_line
from citewell.adapters.parsers.markup_line import Inline

SKIPPED = frozenset(
    """del moveFrom instrText delText delInstrText pPr rPr sectPr tblPr tblGrid trPr tcPr sdtPr sdtEndPr Fallback
    footnotePr endnotePr rt rubyPr annotationRef commentReference""".split()
)
SYMBOL_FONT = dict(zip("abcdefghijklmnopqrstuvwxyz", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True))
SYMBOL_FONT |= dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", strict=True))
SYMBOL_FONT |= dict(
    zip("\xa2\xa3\xa5\xac\xad\xae\xaf\xb0\xb1\xb2\xb3\xb4\xb7\xb8\xb9\xbb\xd6\xe5-", "′≤∞←↑→↓°±″≥×•÷≠≈√∑−", strict=True)
)
"""Letters of the Symbol font as Unicode: a dose in μg or a limit of ≥ 5 must not turn into another letter."""
WINGDINGS = {"\xfc": "✓", "\xfb": "✗", "\xfe": "☑", "\xa8": "☐", "\x6f": "☐", "\xa7": "▪", "\xd8": "➢", "\xe0": "→"}


class Notes:
    """Footnotes and endnotes in the order in which the text refers to them."""

    def __init__(self, footnotes: etree._Element | None = None, endnotes: etree._Element | None = None) -> None:
        self._elements: dict[tuple[str, str | None], etree._Element] = {}
        for kind, root in (("footnote", footnotes), ("endnote", endnotes)):
            for note in children_named(root, kind):
                self._elements[kind, value(note, "id")] = note
        self._count = 0
        self.pending: list[tuple[str, etree._Element]] = []
        """Notes that were referred to and not yet written, with their marks."""

    def refer(self, kind: str, note_id: str | None) -> str:
        """The mark of a note; nothing when there is no such note."""
        # A note is written once, also when it refers to itself.
        note = self._elements.pop((kind, note_id), None)
        if note is None:
            return ""
        self._count += 1
        self.pending.append((f"[{self._count}]", note))
        return f"[{self._count}]"


@dataclass(frozen=True, slots=True)
class DocxParts:
    """What the text of a document refers to."""

    styles: Styles = field(default_factory=Styles)
    numbering: Numbering = field(default_factory=Numbering)
    notes: Notes = field(default_factory=Notes)


class DocxLineReader(LineReader):
    """Reads Word content as one line; only the text of runs counts, never the numbers that place a drawing."""

    skipped = SKIPPED

    def __init__(self) -> None:
        super().__init__()
        self.parts = DocxParts()
        self._raised: list[tuple[etree._Element, bool]] = []

    def line(self, element: etree._Element) -> str:
        """The text of an element, such as a table cell, as one line."""
        reader = DocxLineReader()
        reader.parts = self.parts
        return read_line(element, reader)

    def is_apart(self, name: str) -> bool:
        return name in ("p", "tc", "tr", "tbl", "txbxContent")

    def write(self, text: str | None) -> None:
        """Text outside of runs is layout."""

    def enter(self, element: etree._Element) -> bool:
        name = local_name(element)
        if name in self.skipped or _is_placeholder(element, name):
            return False
        text = self._characters(element, name)
        if text is not None:
            self.inline.write(text)
            return False
        if name == "r" and not self._enter_run(element):
            return False
        self.inline.write(_FORMULA_SIGNS.get(name))
        if name == "p" and type(self) is DocxLineReader:
            self.inline.gap()
            self._write_marker(element)
        return super().enter(element)

    def _characters(self, element: etree._Element, name: str) -> str | None:
        """What an element prints by itself; None for one that only holds others."""
        if name == "t":
            return _text(element)
        if name == "sym":
            return _symbol(element)
        if name in ("footnoteReference", "endnoteReference"):
            return self.parts.notes.refer(name.removesuffix("Reference"), value(element, "id"))
        return _CHARACTERS.get(name)

    def leave(self, element: etree._Element) -> None:
        super().leave(element)
        if local_name(element) in ("rad", "d"):
            self.inline.write(")")
        if self._raised and self._raised[-1][0] is element:
            _, is_super = self._raised.pop()
            script = self._inlines.pop()
            text = script.take()
            if is_super:
                self.inline.superscript(text, following=_following(element))
            else:
                self.inline.subscript(text)

    def _enter_run(self, run: etree._Element) -> bool:
        properties = child_named(run, "rPr")
        if is_on(properties, "vanish"):
            return False
        raised = value(child_named(properties, "vertAlign"))
        # A note's mark is raised too, but it brings its own brackets.
        if raised in ("superscript", "subscript") and child_named(run, "footnoteReference", "endnoteReference") is None:
            self._raised.append((run, raised == "superscript"))
            self._inlines.append(Inline())
        return True

    def _write_marker(self, paragraph: etree._Element) -> None:
        numbering = paragraph_style(paragraph, self.parts.styles).numbering
        if numbering:
            self.inline.write(self.parts.numbering.marker(*numbering) + " ")


_FORMULA_SIGNS = {"den": "/", "rad": "√(", "d": "("}
_CHARACTERS = {"tab": " ", "br": " ", "cr": " ", "ptab": " ", "noBreakHyphen": "-", "softHyphen": ""}


def _text(element: etree._Element) -> str:
    text = element.text or ""
    if any("\uf020" <= letter <= "\uf0ff" for letter in text):
        return "".join(_private(letter, _font(element)) for letter in text)
    return text


def _symbol(element: etree._Element) -> str:
    try:
        letter = chr(int(value(element, "char") or "", 16))
    except (ValueError, OverflowError):
        return ""
    return _private(letter, (value(element, "font") or "").lower())


def _private(letter: str, font: str) -> str:
    """A character of a symbol font, which Word keeps in Unicode's private area."""
    if not "\uf020" <= letter <= "\uf0ff":
        return letter
    plain = chr(ord(letter) - 0xF000)
    if font.startswith("wingdings"):
        return WINGDINGS.get(plain, "•")
    return SYMBOL_FONT.get(plain, plain)


def _font(text: etree._Element) -> str:
    run = text.getparent()
    return (value(child_named(child_named(run, "rPr"), "rFonts"), "ascii") or "").lower()


def _following(run: etree._Element) -> str:
    text = child_named(run.getnext(), "t")
    return text.text or "" if text is not None else ""


def _is_placeholder(element: etree._Element, name: str) -> bool:
    """A field that nobody has filled in shows a prompt that is not part of the document."""
    return name == "sdt" and child_named(child_named(element, "sdtPr"), "showingPlcHdr") is not None
