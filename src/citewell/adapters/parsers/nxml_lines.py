"""JATS and BITS as lines of text: inline elements, citations, formulas and references."""

from __future__ import annotations

import re

from lxml import etree

from citewell.adapters.parsers.markup_flow import (
    MATHS,
    LineReader,
    child_named,
    descendants_named,
    has_own_text,
    local_name,
    read_line,
)
from citewell.adapters.parsers.markup_line import Inline

INLINE = frozenset(
    """abbrev bold chem-struct email ext-link fixed-case hr inline-formula inline-graphic italic milestone-end
    milestone-start monospace named-content num overline overline-end overline-start price private-char rb roman rt ruby
    sans-serif sc strike styled-content sub sup target underline underline-end underline-start uri x xref""".split()
)
"""Elements that may be part of a word; all others stand apart from it."""
SKIPPED = frozenset("object-id processing-meta annotation annotation-xml".split())
ALTERNATIVES = ("math", "textual-form", "table", "tex-math", "code", "preformat")
"""Of several forms of one thing, the first of these is read."""
NOTE_REFERENCES = frozenset({"bibr", "fn", "table-fn"})
CITATIONS = ("element-citation", "mixed-citation", "citation", "nlm-citation", "citation-alternatives")
_NUMBERS = re.compile(r"[\d\s,;–—-]+\Z")
_TEX_BODY = re.compile(r"\\begin\s*\{document\}((?:(?!\\begin\s*\{document\}).)*?)\\end\s*\{document\}", re.DOTALL)


class JatsLineReader(LineReader):
    """Reads an element of JATS or BITS as one line."""

    skipped = SKIPPED

    def __init__(self) -> None:
        super().__init__()
        self._raised: list[etree._Element] = []
        self._chosen: list[etree._Element | None] = []

    def is_apart(self, name: str) -> bool:
        return name not in INLINE and name not in MATHS

    def is_citation(self, superscript: etree._Element) -> bool:
        parent = superscript.getparent()
        if parent is not None and _points_to_reference(parent):
            return True
        return any(_points_to_reference(inner) for inner in descendants_named(superscript, "xref"))

    def enter(self, element: etree._Element) -> bool:
        name = local_name(element)
        if not self._is_chosen(element):
            return False
        if name == "tex-math":
            self.inline.gap()
            self.write(_tex(element))
            return False
        if name == "alternatives":
            self._chosen.append(_best_form(element))
        if name == "xref" and self._must_raise(element):
            self._raised.append(element)
            self._inlines.append(Inline())
            return True
        return super().enter(element)

    def leave(self, element: etree._Element) -> None:
        if local_name(element) == "alternatives":
            self._chosen.pop()
        if self._raised and self._raised[-1] is element:
            self._raised.pop()
            text = self._inlines.pop().take()
            self.inline.superscript(text, following="", citation=_points_to_reference(element))
        else:
            super().leave(element)

    def _is_chosen(self, element: etree._Element) -> bool:
        """False for the forms of a formula or table that are not the one to read."""
        parent = element.getparent()
        in_alternatives = parent is not None and local_name(parent) == "alternatives"
        return not (in_alternatives and self._chosen) or element is self._chosen[-1]

    def _must_raise(self, xref: etree._Element) -> bool:
        """Whether a reference printed on the line would read as part of the word or number before it."""
        text = (xref.text or "").strip()
        if xref.get("ref-type") not in NOTE_REFERENCES or not text or len(self._inlines) > 1:
            return False
        if _points_to_reference(xref) and _NUMBERS.match(text):
            return not self.inline.is_bracketed
        return text[0].isalnum() and self.inline.last.isalnum()


def line(element: etree._Element | None) -> str:
    """The text of an element as one line."""
    return read_line(element, JatsLineReader())


def reference_line(reference: etree._Element) -> str:
    """One entry of a reference list; separators are added where the file has none."""
    if has_own_text(reference):
        return line(reference)
    parts = [line(child_named(reference, "label"))]
    for child in reference:
        name = local_name(child)
        if name == "citation-alternatives":
            child = next((form for form in child if local_name(form) in CITATIONS), child)  # noqa: PLW2901
        if name in CITATIONS and not has_own_text(child):
            parts.append(_assembled(child))
        elif name and name != "label":
            parts.append(line(child))
    return " ".join(part for part in parts if part)


def _assembled(citation: etree._Element) -> str:
    parts: list[str] = []
    names: list[str] = []
    has_pages = child_named(citation, "fpage") is not None
    for child in citation:
        name = local_name(child)
        if name in ("name", "string-name", "collab", "etal"):
            names.append("et al." if name == "etal" and not line(child) else line(child))
            continue
        if names:
            parts.append(", ".join(names))
            names = []
        if name == "person-group" and not has_own_text(child):
            people = (line(person) or ("et al." if local_name(person) == "etal" else "") for person in child)
            parts.append(", ".join(person for person in people if person))
        elif name == "lpage" and parts and has_pages:
            parts[-1] += f"–{line(child)}"
        elif name == "pub-id":
            parts.append(f"{child.get('pub-id-type') or 'id'}: {line(child)}")
        else:
            parts.append(line(child))
    parts.append(", ".join(names))
    return ". ".join(part.rstrip(".") for part in parts if part)


def _points_to_reference(element: etree._Element) -> bool:
    return local_name(element) == "xref" and element.get("ref-type") == "bibr"


def _best_form(alternatives: etree._Element) -> etree._Element | None:
    """Of several forms of one thing, the one that reads best as text."""
    forms = {local_name(form): form for form in reversed(alternatives)}
    return next((forms[name] for name in ALTERNATIVES if name in forms), alternatives[0] if len(alternatives) else None)


def _tex(element: etree._Element) -> str:
    """The formula alone, without the document that LaTeX needs round it."""
    text = "".join(str(part) for part in element.itertext())
    body = _TEX_BODY.search(text)
    return (body.group(1) if body else text).replace("$", " ").strip()
