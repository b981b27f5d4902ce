"""JATS articles and BITS books (.nxml, .xml), read by lxml in document order; nothing of the body is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import cast

from lxml import etree

from citewell.adapters.parsers.markup_flow import (
    BULLETS,
    BlockReader,
    SectionedText,
    child_named,
    children_named,
    holds_only,
    local_name,
    walk,
)
from citewell.adapters.parsers.markup_tables import is_regular, markup_lines
from citewell.adapters.parsers.numerals import letters, roman
from citewell.adapters.parsers.nxml_front import METAS, ROOTS_WITH_META, front_lines, metadata_of, title_of
from citewell.adapters.parsers.nxml_lines import JatsLineReader, line, reference_line
from citewell.adapters.parsers.xml_tree import read_tree
from citewell.ingest.decode import clean
from citewell.types import BlockKind, Document, ParseLimits, Source

SECTIONS = {
    "sec": "",
    "abstract": "Abstract",
    "trans-abstract": "Abstract",
    "ack": "Acknowledgements",
    "app": "Appendix",
    "app-group": "",
    "bio": "",
    "dedication": "",
    "floats-group": "Figures and tables",
    "fn-group": "Footnotes",
    "foreword": "Foreword",
    "front-matter-part": "",
    "glossary": "Glossary",
    "notes": "Notes",
    "preface": "Preface",
    "ref-list": "References",
    "floats-wrap": "Figures and tables",
} | dict.fromkeys(ROOTS_WITH_META, "")
"""Elements that open a section, with the title that it gets when it has none of its own."""

CAPTIONED = frozenset("fig table-wrap supplementary-material media chem-struct-wrap graphic fig-group".split())
FLOATS = CAPTIONED | {"table-wrap-group"}
FOOTNOTES = frozenset("fn table-wrap-foot corresp".split())
CONTAINERS = FLOATS | FOOTNOTES | frozenset("boxed-text def-list disp-quote list list-item verse-group".split())
"""Elements that hold paragraphs of their own, also when they stand inside one."""
SPLITTING = CONTAINERS | frozenset("code def-item p preformat ref table".split())
SKIPPED = frozenset("journal-meta toc permissions".split())
SENTENCE_ENDS = ".:;?!"
LIST_NUMBERS = {"order", "arabic", "alpha-lower", "alpha-upper", "roman-lower", "roman-upper"}


class JatsParser:
    """Reads journal articles and book chapters."""

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:  # noqa: ARG002
        root, note = read_tree(source.data)
        flow = SectionedText()
        reader = _JatsReader(flow)
        walk(root, reader)
        reader.flush()
        titles = [
            title
            for element in root.iter()
            if local_name(element) in ROOTS_WITH_META and (title := title_of(element, labelled=False))
        ]
        return Document(
            title=titles[0] if titles else PurePosixPath(source.name).stem,
            media_type=media_type,
            text=flow.text,
            blocks=tuple(flow.blocks),
            metadata=metadata_of(root),
            notes=(note,) if note else (),
        )


@dataclass(slots=True)
class _OpenElement:
    """One element that holds paragraphs: how many are open in it, and what waits for their end."""

    paragraphs: int = 0
    deferred: list[etree._Element] = field(default_factory=list)


class _JatsReader(BlockReader, JatsLineReader):
    """Cuts an article into blocks."""

    def __init__(self, flow: SectionedText) -> None:
        super().__init__(flow)
        self._levels: list[int] = []
        """The heading level of each open section; a section without a title keeps that of the one round it."""
        self._lists: list[tuple[str, int]] = []
        self._frames = [_OpenElement()]

    # ------------------------------------------------------------------------------------------------------ walking

    def enter(self, element: etree._Element) -> bool:  # noqa: PLR0911
        name = local_name(element)
        if name in SKIPPED or (not self.in_script and _is_read_by_parent(element, name)):
            return False
        if self.in_script:
            return super().enter(element)
        if self._frames[-1].paragraphs and self._defer(element, name):
            return False
        if not self._is_block(element, name):
            return super().enter(element)
        self.flush()
        if name in SECTIONS:
            self._open_section(element, name)
        elif name == "book-part-wrapper":
            # A chapter on its own: the title of the book stands above it and is no section.
            self.flow.add("paragraph", title_of(element))
        elif name in METAS:
            self._write_front(element)
            return False
        elif self._write_whole(element, name):
            return False
        else:
            self._open_block(element, name)
        return True

    def leave(self, element: etree._Element) -> None:
        name = local_name(element)
        if self.in_script or not self._is_block(element, name):
            super().leave(element)
            return
        self.flush()
        if name in SECTIONS:
            level = self._levels.pop()
            if level > (self._levels[-1] if self._levels else 0):
                self.flow.close(level)
        elif name == "p":
            self._frames[-1].paragraphs -= 1
            self._write_deferred()
        if name in CONTAINERS:
            self._frames.pop()
        if name == "list":
            self._lists.pop()
        elif self._kind_inside(name):
            self.close()

    def _is_block(self, element: etree._Element, name: str) -> bool:
        if name in SPLITTING or name in SECTIONS or name in METAS:
            return True
        # Anything else, such as a formula, is part of the sentence when it stands in a paragraph.
        return not self._frames[-1].paragraphs and self.is_apart(name) and not _is_inside_formula(element)

    # ------------------------------------------------------------------------------------------------------- blocks

    def _open_section(self, element: etree._Element, name: str) -> None:
        outer = self._levels[-1] if self._levels else 0
        label, title = line(child_named(element, "label")), line(child_named(element, "title"))
        title = title_of(element) if name in ROOTS_WITH_META else f"{label} {title}".strip()
        title = title or SECTIONS[name]
        if self.kind == "box":
            self.flow.add("box", title)
            self._levels.append(outer)
        elif title:
            self.flow.heading(title, level=outer + 1)
            self._levels.append(outer + 1)
        else:
            self._levels.append(outer)

    def _write_front(self, meta: etree._Element) -> None:
        for kind, text in front_lines(meta):
            self.flow.add(cast(BlockKind, kind), text)
        for abstract in children_named(meta, "abstract", "trans-abstract"):
            walk(abstract, self)

    def _write_whole(self, element: etree._Element, name: str) -> bool:
        """Write an element that is one block, or a table; False for any other."""
        if name == "table" and is_regular(element):
            for caption in children_named(element, "caption"):
                self.flow.add("caption", line(caption))
            for text in markup_lines(element, line):
                self.flow.add("table_row", text)
        elif name == "ref":
            self.flow.add("footnote", reference_line(element))
        elif name in ("preformat", "code"):
            self.flow.add("code", clean("".join(str(text) for text in element.itertext())).strip("\n"))
        elif name == "def-item" and holds_only(element, frozenset(), frozenset({"term", "def"})) and len(element) <= 2:
            term, definition = line(child_named(element, "term")), line(child_named(element, "def"))
            self.flow.add(
                "list_item", f"{term.rstrip(' :')}: {definition}" if term and definition else term or definition
            )
        else:
            return False
        return True

    def _open_block(self, element: etree._Element, name: str) -> None:
        kind = self._kind_inside(name)
        if kind:
            self.open(kind)
        if name in CONTAINERS:
            self._frames.append(_OpenElement())
        if name in CAPTIONED or name == "boxed-text":
            label, caption = line(child_named(element, "label")), line(child_named(element, "caption", "title"))
            text = f"{label}{'' if label[-1:] in '.:' else '.'} {caption}" if label and caption else label or caption
            self.flow.add("box" if name == "boxed-text" else "caption", text)
        elif name == "list":
            self._lists.append((element.get("list-type") or "bullet", 0))
        elif name == "list-item":
            self.mark(line(child_named(element, "label")) or self._next_marker())
        elif name == "p":
            self._frames[-1].paragraphs += 1
        elif name == "fn" and (label := line(child_named(element, "label"))):
            self.mark(label)

    def _kind_inside(self, name: str) -> BlockKind | None:
        """The kind of the blocks inside an element, where it is not that of the element round it."""
        if name in FOOTNOTES or name == "table-wrap":
            return "footnote"
        if name in CAPTIONED:
            return "caption"
        return {"list-item": "list_item", "boxed-text": "box"}.get(name)  # type: ignore[return-value]

    def _next_marker(self) -> str:
        kind, count = self._lists[-1] if self._lists else ("bullet", 0)
        if self._lists:
            self._lists[-1] = (kind, count + 1)
        if kind in LIST_NUMBERS:
            return f"{_numeral(count + 1, kind)}."
        return "" if kind == "simple" else BULLETS[max(0, len(self._lists) - 1) % len(BULLETS)]

    # ------------------------------------------------------------------------------- what floats out of a paragraph

    def _defer(self, element: etree._Element, name: str) -> bool:
        """Keep a figure, table or note for the end of its paragraph when it would cut a sentence in two."""
        if name == "fn":
            label = line(child_named(element, "label"))
            self.inline.superscript(label, following="")
        elif name not in FLOATS or not self.inline.last or self.inline.last in SENTENCE_ENDS:
            return False
        self._frames[-1].deferred.append(element)
        return True

    def _write_deferred(self) -> None:
        frame = self._frames[-1]
        if frame.paragraphs:
            return
        deferred, frame.deferred = frame.deferred, []
        for element in deferred:
            walk(element, self)
            self.flush()


def _is_read_by_parent(element: etree._Element, name: str) -> bool:
    """Titles, labels and captions that were written when the element round them was entered."""
    parent = element.getparent()
    if parent is None or name not in ("title", "label", "caption", "subtitle"):
        return False
    outer = local_name(parent)
    if name == "label":
        labelled = outer in SECTIONS or outer in CAPTIONED or outer in ("boxed-text", "list-item", "fn")
        return labelled and outer not in ROOTS_WITH_META and element is child_named(parent, "label")
    if outer in CAPTIONED or outer == "boxed-text":
        return element is child_named(parent, "caption", "title")
    return outer in SECTIONS and outer not in ROOTS_WITH_META and element is child_named(parent, "title")


def _is_inside_formula(element: etree._Element) -> bool:
    return any(local_name(outer) in ("disp-formula", "inline-formula", "math") for outer in element.iterancestors())


def _numeral(number: int, kind: str) -> str:
    """A list number in the style of its list.

    >>> _numeral(4, "order"), _numeral(28, "alpha-lower"), _numeral(4, "roman-upper")
    ('4', 'ab', 'IV')
    """
    text = letters(number) if kind.startswith("alpha") else roman(number) if kind.startswith("roman") else str(number)
    return text.upper() if kind.endswith("upper") else text
