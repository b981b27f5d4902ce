"""What the source panel shows: a page with marks at their exact place, or a part of the text with marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from urllib.parse import urlencode

from markupsafe import Markup

from citewell.errors import InputError, NotFound
from citewell.types import Block, Box, Chunk, Document, Layout, LibraryEntry, Page
from citewell.web.text_marks import Layer, Span, best, marked, passage


@dataclass(frozen=True, slots=True)
class Grid:
    """Column names, and for each row the span of each value; None where a row has no such value."""

    names: tuple[str, ...]
    rows: tuple[tuple[Span | None, ...], ...]


def grid(text: str, rows: Sequence[Block]) -> Grid | None:
    """The rows by columns, or None when they do not share their columns.

    >>> text = "Drug: A; Dose: 5 mg\\nDrug: B; Dose: 2 mg; Note: slow"
    >>> rows = [Block("table_row", 0, 19), Block("table_row", 20, len(text))]
    >>> found = grid(text, rows)
    >>> found.names, [[span and text[slice(*span)] for span in row] for row in found.rows]
    (('Drug', 'Dose', 'Note'), [['A', '5 mg', None], ['B', '2 mg', 'slow']])
    """
    shared = _shared_names(text, rows)
    cells = [_named(text, row, shared) for row in rows]
    if any(not row for row in cells):
        return None
    names = max((tuple(name for name, _ in row) for row in cells), key=len)
    if len(names) < 2 or len(set(names)) != len(names):
        return None
    placed = [_placed(row, names) for row in cells]
    rows_placed = [row for row in placed if row is not None]
    return Grid(names, tuple(rows_placed)) if len(rows_placed) == len(placed) else None


MAX_NAME_CHARACTERS = 300
MAX_COLONS = 4
"""A column's name is short: looking further would cost time and find values."""


def _shared_names(text: str, rows: Sequence[Block]) -> set[str]:
    """What at least half of the rows may call a column; a name may hold a colon itself."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update({name for piece in text[row.start : row.end].split("; ") for name in _names(piece)})
    return {name for name, count in counts.items() if 2 * count >= len(rows)}


def _names(piece: str) -> list[str]:
    """All that could be the name in “name: value”, shortest first.

    >>> _names("Plan B: total (ml): 300")
    ['Plan B', 'Plan B: total (ml)']
    """
    parts = piece[:MAX_NAME_CHARACTERS].split(": ", MAX_COLONS)
    return [": ".join(parts[:count]) for count in range(1, len(parts))]


def _named(text: str, row: Block, shared: set[str]) -> list[tuple[str, Span]]:
    """The values of a row by name; a piece without a name belongs to the value before it."""
    found: list[tuple[str, Span]] = []
    position = row.start
    for piece in text[row.start : row.end].split("; "):
        end = position + len(piece)
        name = next((name for name in reversed(_names(piece)) if name in shared), None)
        if name is not None:
            found.append((name, (position + len(name) + 2, end)))
        elif not found:
            return []
        else:
            last, (start, _) = found[-1]
            found[-1] = (last, (start, end))
        position = end + 2
    return found


def _placed(row: Sequence[tuple[str, Span]], names: Sequence[str]) -> tuple[Span | None, ...] | None:
    """The row's values under the names, or None when it has others or another order."""
    places = [names.index(name) if name in names else -1 for name, _ in row]
    if -1 in places or places != sorted(set(places)):
        return None
    values: list[Span | None] = [None] * len(names)
    for place, (_, span) in zip(places, row, strict=True):
        values[place] = span
    return tuple(values)


PART_CHARACTERS = 24_000
"""A long document is shown in parts of about this size, so that every one opens at once."""

TOP_HEADING = 3
"""The page's title is the first level, the source's the second."""

ELEMENTS = {"paragraph": "p", "caption": "p", "footnote": "p", "box": "div", "code": "pre"}
ANCHOR = Markup(' id="marked"')


def parts(document: Document) -> list[Sequence[Block]]:
    """The blocks of a document in parts that can be shown one at a time."""
    blockses: list[list[Block]] = []
    for block in document.blocks:
        if not blockses or block.end - blockses[-1][0].start > PART_CHARACTERS:
            blockses.append([])
        blockses[-1].append(block)
    return list(blockses) or [()]


def part_at(shown: Sequence[Sequence[Block]], offset: int) -> int:
    """Which part, from 0, holds the character at `offset`."""
    return next((at for at, blocks in enumerate(shown) if blocks and blocks[-1].end > offset), len(shown) - 1)


def rendered(text: str, blocks: Iterable[Block], *layers: Layer, anchor: int | None = None) -> Markup:
    """Blocks as HTML; the one that holds the character at `anchor` can be jumped to."""
    return Markup("\n").join(_groups(text, blocks, layers, anchor))


def _groups(text: str, blocks: Iterable[Block], layers: Sequence[Layer], anchor: int | None) -> Iterator[Markup]:
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        members = list(group)
        if kind == "table_row":
            yield _table(text, members, layers, anchor)
        elif kind == "list_item":
            items = Markup("").join(_element("li", text, block, layers, anchor) for block in members)
            yield Markup("<ul>{}</ul>").format(items)
        elif kind == "heading":
            for block in members:
                level = min(6, TOP_HEADING - 1 + max(1, len(block.section)))
                yield _element(f"h{level}", text, block, layers, anchor)
        else:
            for block in members:
                yield _element(ELEMENTS[kind], text, block, layers, anchor, name=kind)


def _element(
    tag: str, text: str, block: Block, layers: Sequence[Layer], anchor: int | None, *, name: str = ""
) -> Markup:
    inside = marked(text, *layers, start=block.start, end=block.end)
    named = Markup(' class="{}"').format(name) if name not in ("", "paragraph") else Markup("")
    return Markup("<{0}{1}{2}>{3}</{0}>").format(tag, named, _anchor(block, anchor), inside)


def _anchor(block: Block, anchor: int | None) -> Markup:
    return ANCHOR if anchor is not None and block.start <= anchor < block.end else Markup("")


def _table(text: str, rows: Sequence[Block], layers: Sequence[Layer], anchor: int | None) -> Markup:
    """The rows as a table, or line by line where they have no columns in common."""
    found = grid(text, rows)
    if found is None:
        lines = Markup("").join(_element("p", text, row, layers, anchor, name="row") for row in rows)
        return Markup('<div class="rows">{}</div>').format(lines)
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in found.names)
    body = Markup("").join(
        Markup("<tr{}>{}</tr>").format(
            _anchor(row, anchor),
            Markup("").join(
                Markup("<td>{}</td>").format(marked(text, *layers, start=span[0], end=span[1]) if span else "")
                for span in cells
            ),
        )
        for row, cells in zip(rows, found.rows, strict=True)
    )
    return Markup(
        '<div class="scroll" tabindex="0"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(head, body)


PDF = "application/pdf"
SLACK_POINTS = 6.0
"""How far a letter may hang over the edge of its page."""

UNSURE = "The exact position of this text on the page is not known, so nothing is highlighted."


@dataclass(frozen=True, slots=True)
class SourceTarget:
    """What to open: a passage, words within it, a page, and whether as text."""

    chunk: int | None = None
    start: int | None = None
    end: int | None = None
    page: int | None = None
    as_text: bool = False

    @property
    def query(self) -> str:
        """The place as the end of an address."""
        values = {"chunk": self.chunk, "start": self.start, "end": self.end, "page": self.page}
        told = {name: value for name, value in values.items() if value is not None}
        return urlencode(told | ({"view": "text"} if self.as_text else {}))


@dataclass(frozen=True, slots=True)
class View:
    """One page or part of a document, with what is marked on it."""

    entry: LibraryEntry
    title: str
    section: tuple[str, ...]
    unit: str
    number: int
    count: int
    quote: str | None
    note: str | None
    previous: SourceTarget | None
    next: SourceTarget | None
    elsewhere: SourceTarget | None
    """Where the marked words are, when they are not on this page."""
    other_form: SourceTarget | None
    """The same place as text, or as a page image."""
    page: Page | None = None
    passage_boxes: tuple[Box, ...] = ()
    best_boxes: tuple[Box, ...] = ()
    body: Markup | None = None


def view(entry: LibraryEntry, document: Document, chunks: Sequence[Chunk], place: SourceTarget) -> View:
    """What to show of a document at a place."""
    chunk = _chunk(chunks, place.chunk)
    words = _words(place, len(document.text))
    whole = None if chunk is None else (chunk.start, chunk.end)
    target = words or whole
    has_pages = document.media_type == PDF and bool(document.layout.pages)
    base = View(
        entry=entry,
        title=entry.title,
        section=chunk.section if chunk else (),
        unit="page",
        number=1,
        count=1,
        quote=document.text[words[0] : words[1]] if words else None,
        note=None,
        previous=None,
        next=None,
        elsewhere=None,
        other_form=replace(place, as_text=not place.as_text, page=None) if has_pages else None,
    )
    if has_pages and not place.as_text:
        return _paged(base, document, place, whole, target)
    return _text(base, document, place, whole, target)


def _chunk(chunks: Sequence[Chunk], index: int | None) -> Chunk | None:
    if index is None:
        return None
    if not 0 <= index < len(chunks):
        raise NotFound("This passage was not found. The document may have been re-processed; search again.")
    return chunks[index]


def _words(place: SourceTarget, length: int) -> Span | None:
    if place.start is None or place.end is None:
        return None
    if not 0 <= place.start < place.end <= length:
        raise InputError("This text was not found. The document may have been re-processed; search again.")
    return place.start, place.end


def _paged(base: View, document: Document, place: SourceTarget, whole: Span | None, target: Span | None) -> View:
    """A page image with boxes over it."""
    layout = document.layout
    numbers = [page.number for page in layout.pages]
    home = (layout.page_at(target[0]) if target else None) or numbers[0]
    number = home if place.page is None else place.page
    if number not in numbers:
        raise NotFound(f"There is no page {number}. The document has {len(numbers)} pages.")
    at = numbers.index(number)
    around = _on_paper(document.layout, whole)
    words = _on_paper(document.layout, target) if target != whole else []
    here = [box for box in (*around, *words) if box.page == number]
    elsewhere = replace(place, page=None) if not here and (around or words) else None
    return replace(
        base,
        number=number,
        count=len(numbers),
        note=UNSURE if target and not around and not words else None,
        previous=replace(place, page=numbers[at - 1]) if at else None,
        next=replace(place, page=numbers[at + 1]) if at + 1 < len(numbers) else None,
        elsewhere=elsewhere,
        page=layout.pages[at],
        passage_boxes=tuple(box for box in around if box.page == number),
        best_boxes=tuple(box for box in words if box.page == number),
    )


def _on_paper(layout: Layout, span: Span | None) -> list[Box]:
    """The boxes of a span; none at all when one lies off its page, since then no place is sure."""
    boxes = layout.boxes(*span) if span else []
    sheets = {page.number: page for page in layout.pages}
    return boxes if all(_is_within(box, sheets.get(box.page)) for box in boxes) else []


def _is_within(box: Box, page: Page | None) -> bool:
    if page is None:
        return False
    across = -SLACK_POINTS <= box.left <= box.right <= page.width + SLACK_POINTS
    return across and -SLACK_POINTS <= box.top <= box.bottom <= page.height + SLACK_POINTS


def _text(base: View, document: Document, place: SourceTarget, whole: Span | None, target: Span | None) -> View:
    """A part of the text with marks in it."""
    shown = parts(document)
    home = part_at(shown, target[0] if target else 0)
    at = home if place.page is None else place.page - 1
    if not 0 <= at < len(shown):
        raise NotFound(f"There is no part {at + 1}. The document has {len(shown)} parts.")
    layers = passage(whole), best(target if target != whole else None)
    return replace(
        base,
        unit="part",
        number=at + 1,
        count=len(shown),
        previous=replace(place, page=at) if at else None,
        next=replace(place, page=at + 2) if at + 1 < len(shown) else None,
        elsewhere=replace(place, page=None) if target and at != home else None,
        body=rendered(document.text, shown[at], *layers, anchor=target[0] if target else None),
    )
