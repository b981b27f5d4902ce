"""HTML and XHTML, read by lxml: what a reader of the page would see, in document order."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from lxml import etree

from citewell.adapters.parsers.dates import read_date
from citewell.adapters.parsers.markup_flow import (
    BlockReader,
    LineReader,
    OpenLists,
    SectionedText,
    children_named,
    descendants_named,
    holds_only,
    local_name,
    read_line,
    walk,
)
from citewell.adapters.parsers.markup_tables import is_regular, markup_lines
from citewell.errors import DamagedFile
from citewell.ingest.decode import BOMS, clean, decode
from citewell.types import Document, Metadata, ParseLimits, Source

SKIPPED = frozenset(
    """script style nav template noscript head iframe object embed svg canvas audio video button select option textarea
    input datalist map dialog annotation annotation-xml rp""".split()
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = frozenset(
    """address article aside blockquote body center details dd div dl dt fieldset figcaption figure footer form header
    hgroup html legend li main menu ol p pre search section summary table tbody td tfoot th thead tr
    caption ul hr""".split()
)
APART = BLOCKS | frozenset(HEADINGS) | {"br", "wbr", "img"}
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_PUBLISHED = (
    "citation_publication_date article:published_time dc.date.issued dcterms.issued dc.date dcterms.modified "
    "article:modified_time citation_date date"
).split()


class HtmlParser:
    """Reads HTML pages."""

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:  # noqa: ARG002
        text, note = decode_html(source.data)
        root = tree(text)
        part, is_part = _main_part(root)
        flow = SectionedText()
        write_blocks(part, flow)
        notes = [note] if note else []
        if is_part:
            notes.append("Only the main part of the page was read. Menus and other surrounding text were left out.")
        return Document(
            title=_title(root, part) or PurePosixPath(source.name).stem,
            media_type=media_type,
            text=flow.text,
            blocks=tuple(flow.blocks),
            metadata=_metadata(root),
            notes=tuple(notes),
        )


def decode_html(data: bytes) -> tuple[str, str | None]:
    """The characters of a page: a byte order mark comes first, then UTF-8, then what the page says of itself."""
    declared = _META_CHARSET.search(data[:4096])
    if not any(data.startswith(mark) for mark, _ in BOMS) and declared:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            try:
                return data.decode(declared.group(1).decode("ascii")), None
            except (LookupError, UnicodeDecodeError):
                return decode(data)
    return decode(data)


def tree(text: str) -> etree._Element:
    """The tree of a page; raises DamagedFile where the parser would drop the rest in silence."""
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_pis=True)
    root = etree.fromstring(clean(text).encode("utf-8", errors="ignore"), parser)
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise DamagedFile("The page is nested too deeply to read in full. Save it as PDF and add that.")
    # There is no root in a page of nothing but comments or closing tags.
    return root if root is not None else etree.Element("html")


def write_blocks(root: etree._Element, flow: SectionedText, *, outer_level: int = 0) -> None:
    """Write what an element shows as blocks; its headings stand below `outer_level`."""
    reader = _PageReader(flow, outer_level)
    walk(root, reader)
    reader.flush()


def _is_hidden(element: etree._Element) -> bool:
    return element.get("hidden") is not None or bool(_HIDING_STYLE.search(element.get("style") or ""))


class _HtmlLine(LineReader):
    skipped = SKIPPED

    def is_apart(self, name: str) -> bool:
        return name in APART

    def enter(self, element: etree._Element) -> bool:
        return not _is_hidden(element) and super().enter(element)


class _PageReader(BlockReader):
    skipped = SKIPPED

    def __init__(self, flow: SectionedText, outer_level: int) -> None:
        super().__init__(flow)
        self._outer_level = outer_level
        self._lists = OpenLists()

    def is_apart(self, name: str) -> bool:
        return name in APART

    def enter(self, element: etree._Element) -> bool:  # noqa: PLR0911
        name = local_name(element)
        if name in self.skipped or _is_hidden(element):
            return False
        if self.in_script or (name not in BLOCKS and name not in HEADINGS):
            return super().enter(element)
        self.flush()
        if name in HEADINGS:
            self.flow.heading(read_line(element, _HtmlLine()), level=HEADINGS[name] + self._outer_level)
            return False
        if name == "pre":
            self.flow.add("code", clean("".join(str(text) for text in element.itertext())).strip("\n"))
            return False
        if name == "table" and not _is_layout(element):
            _write_table(element, self.flow)
            return False
        if name == "dl":
            return self._write_definitions(element)
        self._open_block(element, name)
        return True

    def leave(self, element: etree._Element) -> None:
        name = local_name(element)
        if self.in_script or name not in BLOCKS:
            super().leave(element)
            return
        self.flush()
        if name in ("ul", "ol", "menu"):
            self._lists.close()
        if name in ("li", "aside", "figcaption", "caption"):
            self.close()

    def _open_block(self, element: etree._Element, name: str) -> None:
        if name in ("ul", "menu"):
            self._lists.open(None)
        elif name == "ol":
            start = element.get("start") or "1"
            self._lists.open(int(start) if re.fullmatch(r"\d{1,9}", start) else 1)
        elif name == "li":
            self.open("list_item")
            self.mark(self._lists.next_marker())
        elif name == "aside":
            self.open("box")
        elif name in ("figcaption", "caption"):
            self.open("caption")

    def _write_definitions(self, element: etree._Element) -> bool:
        """A term and its description make one block, so that each can be read on its own."""
        has_blocks = any(
            local_name(inner) in (*HEADINGS, "table", "ul", "ol", "dl") for inner in element.iterdescendants()
        )
        if has_blocks or not holds_only(element, frozenset({"div"}), frozenset({"dt", "dd"})):
            return True
        term = ""
        for inner in descendants_named(element, "dt", "dd"):
            text = read_line(inner, _HtmlLine())
            if local_name(inner) == "dt":
                if term:
                    self.flow.add("list_item", term)
                term = text
            else:
                self.flow.add("list_item", f"{term.rstrip(' :')}: {text}" if term and text else term or text)
                term = ""
        if term:
            self.flow.add("list_item", term)
        return False


def _is_layout(table: etree._Element) -> bool:
    """Whether a table only arranges the page: its cells are read as ordinary blocks."""
    if table.get("role") in ("presentation", "none") or not is_regular(table):
        return True
    if any(local_name(inner) in (*HEADINGS, "table") for inner in table.iterdescendants()):
        return True
    return all(len(children_named(row, "td", "th")) <= 1 for row in descendants_named(table, "tr"))


def _write_table(table: etree._Element, flow: SectionedText) -> None:
    for caption in children_named(table, "caption"):
        flow.add("caption", read_line(caption, _HtmlLine()))
    for line in markup_lines(table, lambda cell: read_line(cell, _HtmlLine())):
        flow.add("table_row", line)


def _main_part(root: etree._Element) -> tuple[etree._Element, bool]:
    """The one main part of a page when it says which, and whether text outside it was left out."""
    for candidates in (
        [
            element
            for element in root.iterdescendants()
            if local_name(element) == "main" or element.get("role") == "main"
        ],
        list(descendants_named(root, "article")),
    ):
        if len(candidates) == 1 and not _is_hidden(candidates[0]):
            part = read_line(candidates[0], _HtmlLine())
            whole = read_line(root, _HtmlLine())
            # A main part that holds little of the page is a slogan or a mistake.
            if len(part) >= max(200, 0.25 * len(whole)):
                return candidates[0], len(part) < len(whole)
    return root, False


def _title(root: etree._Element, part: etree._Element) -> str:
    for inside in (part, root):
        headings = [text for element in descendants_named(inside, "h1") if (text := read_line(element, _HtmlLine()))]
        if len(headings) == 1:
            return headings[0]
    titles = [text for element in descendants_named(root, "title") if (text := " ".join((element.text or "").split()))]
    return titles[0] if titles else ""


def _metadata(root: etree._Element) -> Metadata:
    named: dict[str, str] = {}
    links: dict[str, str] = {}
    for element in descendants_named(root, "meta", "link"):
        if local_name(element) == "link":
            links.setdefault((element.get("rel") or "").lower(), element.get("href") or "")
        else:
            name = element.get("name") or element.get("property") or ""
            named.setdefault(name.lower(), clean(element.get("content") or "").strip())
    doi = named.get("citation_doi") or named.get("dc.identifier") or ""
    url = links.get("canonical") or named.get("og:url") or ""
    return Metadata(
        language=root.get("lang") or root.get("xml:lang") or None,
        publisher=named.get("citation_publisher") or named.get("dc.publisher") or named.get("og:site_name") or None,
        published=next((day for name in _PUBLISHED if (day := read_date(named.get(name, "")))), None),
        licence=links.get("license") or named.get("dc.rights") or None,
        source_url=url if url.startswith(("https://", "http://")) else None,
        identifiers=(("doi", doi.removeprefix("doi:").strip()),) if re.match(r"(?:doi:)?\s*10\.", doi) else (),
    )
