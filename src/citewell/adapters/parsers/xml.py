"""Any other XML: the text of its elements in document order, with the names that give the values a meaning."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from lxml import etree

from citewell.adapters.parsers.markup_flow import (
    LineReader,
    SectionedText,
    child_named,
    has_own_text,
    local_name,
    read_line,
    walk,
)
from citewell.adapters.parsers.xml_tree import read_tree
from citewell.types import Document, Metadata, ParseLimits, Source

TITLES = ("title", "head", "heading", "header")
PROSE = frozenset("p para paragraph simpara ab l line text note abstract item listitem quote body".split())
"""Elements whose name adds nothing to their text."""
VALUE_ATTRIBUTES = ("value", "displayName", "display", "title", "label")
"""Where data formats keep what a person would read."""
MAX_VALUE_CHARACTERS = 120
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_WORD_BREAK = re.compile(r"(?<=[a-z])(?=[A-Z])|[_.-]+")


class XmlParser:
    """Reads XML of no particular kind."""

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:  # noqa: ARG002
        root, note = read_tree(source.data)
        flow = SectionedText()
        walk(root, _XmlReader(flow))
        title = _line(_title(root)) or PurePosixPath(source.name).stem
        return Document(
            title=title,
            media_type=media_type,
            text=flow.text,
            blocks=tuple(flow.blocks),
            metadata=Metadata(language=root.get(_LANGUAGE)),
            notes=(note,) if note else (),
        )


class _XmlLine(LineReader):
    def is_apart(self, name: str) -> bool:  # noqa: ARG002
        return True

    def enter(self, element: etree._Element) -> bool:
        super().enter(element)
        if not len(element) and not (element.text or "").strip():
            self.write(_attributes(element))
        return True


class _XmlReader:
    """Writes records and prose as blocks, and opens a section where an element has a title."""

    def __init__(self, flow: SectionedText) -> None:
        self.flow = flow
        self._titles: list[etree._Element | None] = []
        """The title of each open element."""

    def enter(self, element: etree._Element) -> bool:
        if _is_record(element):
            values = (_labelled(child) for child in element)
            self.flow.add(
                "table_row", f"{_words(local_name(element))}: {'; '.join(value for value in values if value)}"
            )
            return False
        if not len(element) or has_own_text(element):
            if not self._titles or element is not self._titles[-1]:
                self.flow.add("paragraph", _labelled(element))
            return False
        title = _title(element)
        self._titles.append(title)
        if title is not None:
            self.flow.heading(_line(title), level=len(self._titles))
        return True

    def write(self, text: str | None) -> None:
        """Only elements without own text are entered; there is nothing between their children."""

    def leave(self, element: etree._Element) -> None:  # noqa: ARG002
        if self._titles.pop() is not None:
            self.flow.close(len(self._titles) + 1)


def _line(element: etree._Element | None) -> str:
    return read_line(element, _XmlLine())


def _title(element: etree._Element) -> etree._Element | None:
    title = child_named(element, *TITLES)
    return title if title is not None and len(element) > 1 and _line(title) else None


def _labelled(element: etree._Element) -> str:
    """The text of an element; a short value carries the element's name."""
    text, name = _line(element), local_name(element)
    is_value = len(text) <= MAX_VALUE_CHARACTERS and not len(element) and name.lower() not in PROSE
    return f"{_words(name)}: {text}" if text and is_value else text


def _words(name: str) -> str:
    """The name of an element as words.

    >>> _words("birthDate"), _words("dose_unit")
    ('birth date', 'dose unit')
    """
    return _WORD_BREAK.sub(" ", name).strip().lower()


def _is_record(element: etree._Element) -> bool:
    """Whether an element holds nothing but several short named values."""
    return (
        len(element) > 1
        and not has_own_text(element)
        and child_named(element, *TITLES) is None
        and all(
            not len(child) and len(child.text or "") <= MAX_VALUE_CHARACTERS and local_name(child).lower() not in PROSE
            for child in element
        )
    )


def _attributes(element: etree._Element) -> str:
    return " ".join(text for name in VALUE_ATTRIBUTES if (text := element.get(name)))
