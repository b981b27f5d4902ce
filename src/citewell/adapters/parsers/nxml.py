"""JATS articles and BITS books (.nxml, .xml), read by lxml in document order; nothing of the body is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePosixPath
from typing import cast

from lxml import etree

from citewell.adapters.parsers.markup_flow import (
    BULLETS,
    BlockReader,
    SectionedText,
    child_named,
    children_named,
    descendants_named,
    holds_only,
    local_name,
    walk,
)
from citewell.adapters.parsers.markup_tables import is_regular, markup_lines
from citewell.adapters.parsers.numerals import letters, roman
from citewell.adapters.parsers.nxml_lines import JatsLineReader, line, reference_line
from citewell.adapters.parsers.xml_tree import read_tree
from citewell.ingest.decode import clean
from citewell.types import BlockKind, Document, Metadata, ParseLimits, Source
from citewell.vocabulary.months import month_number

METAS = frozenset("article-meta book-meta book-part-meta collection-meta front-stub".split())
ROOTS_WITH_META = frozenset("article book book-part sub-article response collection book-app".split())
DATE_PREFERENCE = ("epub", "electronic", "pub", "ppub", "print", "collection", "")
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_MAX_LICENCE_CHARACTERS = 300
ABSTRACT_ONLY = "This is only an abstract, not the full text."


def meta_of(element: etree._Element) -> etree._Element | None:
    """The element that describes an article, a book or a part of one."""
    front = child_named(element, "front")
    return child_named(front if front is not None else element, *METAS)


def title_of(element: etree._Element, *, labelled: bool = True) -> str:
    """The title of an article, a book or a part of one, with its label and subtitle."""
    meta = meta_of(element)
    if meta is None:
        return ""
    group = child_named(meta, "title-group", "book-title-group")
    parent = group if group is not None else meta
    label = line(child_named(parent, "label")) if labelled else ""
    title = line(child_named(parent, "article-title", "book-title", "title"))
    subtitle = line(child_named(parent, "subtitle"))
    return ": ".join(part for part in (f"{label} {title}".strip(), subtitle) if part)


def front_lines(meta: etree._Element) -> Iterator[tuple[str, str]]:
    """What is printed above an abstract: (kind, text) for people, other titles, keywords and notes."""
    group = child_named(meta, "title-group", "book-title-group")
    for title in (
        children_named(group, "trans-title-group", "trans-title", "trans-subtitle") if group is not None else ()
    ):
        yield "paragraph", line(title)
    yield from (("paragraph", text) for text in _people(meta))
    yield "paragraph", _issue(meta)
    for keywords in descendants_named(meta, "kwd-group"):
        words = [text for word in keywords if local_name(word) != "title" and (text := line(word))]
        yield "paragraph", f"{line(child_named(keywords, 'title')) or 'Keywords'}: {'; '.join(words)}" if words else ""
    for statement in descendants_named(meta, "funding-statement"):
        yield "paragraph", line(statement)
    for affiliation in descendants_named(meta, "aff"):
        yield "footnote", line(affiliation)
    for notes in children_named(meta, "author-notes"):
        for note in notes:
            yield "footnote", line(note)


def metadata_of(root: etree._Element) -> Metadata:
    """What the document says about itself."""
    metas = list(descendants_named(root, *METAS))
    meta = metas[0] if metas else root
    identifiers = tuple(_identifiers(metas))
    doi = next((value for kind, value in identifiers if kind == "doi"), "")
    address = next((uri.get(_XLINK_HREF) or "" for uri in children_named(meta, "self-uri")), "")
    return Metadata(
        language=root.get(_LANGUAGE),
        publisher=next((line(name) for name in descendants_named(root, "publisher-name")), None) or None,
        published=_published(meta),
        licence=_licence(meta),
        source_url=f"https://doi.org/{doi}" if doi else address if address.startswith("http") else None,
        identifiers=identifiers,
    )


def _people(meta: etree._Element) -> Iterator[str]:
    """One line per kind of contributor."""
    groups: dict[str, list[str]] = {}
    for person in descendants_named(meta, "contrib"):
        kind = person.get("contrib-type") or "author"
        name = child_named(person, "name", "string-name", "collab", "anonymous", "name-alternatives")
        if name is not None:
            groups.setdefault(kind, []).append(_name(name))
    for kind, names in groups.items():
        people = ", ".join(name for name in names if name)
        yield people if kind == "author" else f"{kind.replace('-', ' ').capitalize()}: {people}"


def _name(element: etree._Element) -> str:
    if local_name(element) == "name-alternatives" and len(element):
        element = element[0]
    parts = [line(child_named(element, part)) for part in ("prefix", "given-names", "surname", "suffix")]
    return " ".join(part for part in parts if part) if any(parts) else line(element)


def _issue(meta: etree._Element) -> str:
    """Where and when it appeared."""
    front = meta.getparent()
    journal = child_named(front, "journal-meta") if front is not None else None
    titles = [] if journal is None else [line(title) for title in descendants_named(journal, "journal-title")]
    volume, issue = line(child_named(meta, "volume")), line(child_named(meta, "issue"))
    published = _published(meta)
    parts = [
        *titles[:1],
        f"volume {volume}" if volume else "",
        f"issue {issue}" if issue else "",
        published.isoformat() if published else "",
    ]
    return ", ".join(part for part in parts if part) if titles or volume else ""


def _identifiers(metas: list[etree._Element]) -> Iterator[tuple[str, str]]:
    for meta in metas[:2]:
        for element in children_named(meta, "article-id", "book-id", "book-part-id", "isbn"):
            kind = next((value for name, value in element.attrib.items() if str(name).endswith("id-type")), None)
            value = line(element)
            if value:
                yield str(kind or local_name(element)), value


def _published(meta: etree._Element) -> date | None:
    dates = {
        element.get("pub-type") or element.get("date-type") or element.get("publication-format") or "": day
        for element in children_named(meta, "pub-date")
        if (day := _date(element))
    }
    return next((dates[kind] for kind in DATE_PREFERENCE if kind in dates), next(iter(dates.values()), None))


def _date(element: etree._Element) -> date | None:
    year, month, day = (line(child_named(element, part)) for part in ("year", "month", "day"))
    try:
        return date(int(year), month_number(month) or int(month or 1), int(day or 1))
    except ValueError:
        match = re.match(r"\d{4}", year)
        return date(int(match.group()), 1, 1) if match and int(match.group()) else None


def _licence(meta: etree._Element) -> str | None:
    for licence in descendants_named(meta, "license"):
        address = licence.get(_XLINK_HREF)
        if address:
            return address
        if text := line(licence):
            return text[:_MAX_LICENCE_CHARACTERS]
    return next((line(statement) for statement in descendants_named(meta, "copyright-statement")), None)


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
            notes=tuple(filter(None, (note, ABSTRACT_ONLY if _is_abstract(root) else None))),
        )


def _is_abstract(root: etree._Element) -> bool:
    """Whether an article has an abstract and no body."""
    meta = meta_of(root) if local_name(root) == "article" else None
    return child_named(meta, "abstract") is not None and child_named(root, "body") is None


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
