"""Tables in a text: which of its lines are rows, what each cell says and under which header.

Parsers write a row as “Header: value; Header: value” and the rows of a table one below the other. A header may hold a
colon and a value a semicolon; what the rows have in common tells the one from the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from citewell.types import EvidenceSpan

MAX_HEADER = 120
"""Characters of a header; what stands before a colon farther on is none."""

MAX_ROW = 1_500
"""A longer line is read as prose, in pieces."""

MAX_TITLE_WORDS = 16
MAX_TITLES = 2
"""A caption, and the heading right above it."""

_LINE = re.compile(r"[^\n]*\S[^\n]*")
_NUMBERED = re.compile(r"(?:(?:table|box)\s+)?\d[\w.-]{0,7}[:.]?\s+", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;:,]['\"”’)\]]*\Z")
_MARK = re.compile(r"\s*(?:[-•*▪◦–‣]|\(?(?:\d{1,3}|[a-z])[.)])\s")
_ALONE = re.compile(r"(?:[A-Z0-9≥≤<>][^:;.\n]{0,60}: [^:;\n]+(?:; |\Z)){2,}")
"""A row with no other below or above it: nothing but headers and values."""


@dataclass(frozen=True, slots=True)
class RowCell:
    """What a row says under one header; a first column may have none."""

    header: str
    value: str


@dataclass(frozen=True, slots=True, eq=False)
class RowTable:
    """The rows of one table, and the words right above it; each is itself, so that looking it up reads no rows."""

    caption: str
    rows: tuple[tuple[RowCell, ...], ...]


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row, where it stands, and the table that it belongs to."""

    span: EvidenceSpan
    cells: tuple[RowCell, ...]
    table: RowTable
    heading: str = ""
    """The line inside the table that heads this row and those after it."""


@dataclass(frozen=True, slots=True)
class QuotedTables:
    """The tables of cited words: rows by where they stand, and the lines that are no sentences beside them."""

    rows: dict[EvidenceSpan, TableRow] = field(default_factory=dict)
    others: frozenset[EvidenceSpan] = frozenset()
    """Captions, headings, cut rows and rows that are cited twice: they say nothing by themselves."""


@dataclass(frozen=True, slots=True)
class _Line:
    span: EvidenceSpan
    breaks: int
    """Line breaks between it and the line before it; many where it stands in another place."""
    is_first: bool
    """Of the words that are cited, so that its beginning may be cut off."""

    @property
    def pieces(self) -> list[str]:
        return self.span.text.split("; ")


@lru_cache(maxsize=256)
def tabled(spans: tuple[EvidenceSpan, ...]) -> QuotedTables:
    """The tables in cited words.

    >>> text = "Doses\\n\\nDrug: A; Dose: 5 mg\\nDrug: B; Dose: 2 mg"
    >>> found = tabled((EvidenceSpan("a:0", 100, 100 + len(text), text),))
    >>> [(row.span.start, row.table.caption, row.cells[1]) for row in found.rows.values()]
    [(107, 'Doses', RowCell(header='Dose', value='5 mg')), (127, 'Doses', RowCell(header='Dose', value='2 mg'))]
    """
    if not any(": " in span.text and "; " in span.text for span in spans):
        return QuotedTables()
    lines = list(_lines(spans))
    rows: list[TableRow] = []
    others: list[EvidenceSpan] = []
    for start, end in _runs(lines):
        table_rows, beside = _table(lines, start, end)
        rows += table_rows
        others += beside
    kept = {row.span: row for row in _joined(rows)}
    return QuotedTables(kept, frozenset([*others, *(row.span for row in rows if row.span not in kept)]))


def _table(lines: Sequence[_Line], start: int, end: int) -> tuple[list[TableRow], list[EvidenceSpan]]:
    """The rows of lines that stand one below the other, and the lines beside them that say nothing by themselves."""
    headers = _headers([line.pieces for line in lines[start:end]])
    if len(headers) < 2 and lines[start].is_first and end - start == 2:
        # The end of a row whose beginning is not cited, and one whole row.
        table_rows, beside = _table(lines, start + 1, end)
        return table_rows, [lines[start].span, *beside] if table_rows else []
    table_rows, beside = _read(lines[start:end], headers)
    if not table_rows:
        return [], []
    above = _titles(lines, start, headers)
    beside += [line.span for line in above]
    told = [_NUMBERED.sub("", line.span.text, count=1) for line in above if not _is_rest(line, headers)]
    # A line right above the first row, with no line left blank, is of the table: it heads the rows as far as the next.
    heading = told.pop() if told and lines[start].breaks == 1 else ""
    table = RowTable("; ".join(told), tuple(row.cells for row in table_rows))
    return [replace(row, table=table, heading=row.heading or heading) for row in table_rows], beside


def _lines(spans: Iterable[EvidenceSpan]) -> Iterator[_Line]:
    """The lines of cited words, in the order in which they are given."""
    before: EvidenceSpan | None = None
    for span in spans:
        goes_on = before is not None and before.source_id == span.source_id and 0 < span.start - before.end <= 2
        breaks = span.start - before.end if goes_on and before is not None else 9
        last = 0
        for match in _LINE.finditer(span.text):
            text = match.group().strip()
            start = match.start() + match.group().index(text)
            place = EvidenceSpan(span.source_id, span.start + start, span.start + start + len(text), text, span.titles)
            yield _Line(place, span.text.count("\n", last, start) if last else breaks, is_first=not last)
            last = match.end()
        before = span


def _runs(lines: Sequence[_Line]) -> Iterator[tuple[int, int]]:
    """Lines that stand one right below the other, from the first that may be a row to the last."""
    start = 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and lines[end].breaks == 1:
            end += 1
        shaped = [place for place in range(start, end) if _is_shaped(lines[place].span.text)]
        if shaped:
            yield shaped[0], shaped[-1] + 1
        start = end


def _is_shaped(text: str) -> bool:
    return len(text) <= MAX_ROW and "; " in text and ": " in text and _MARK.match(text) is None


def _headers(lines: Sequence[Sequence[str]]) -> frozenset[str]:
    """What stands before a colon in more than one row; in a row that is alone, what looks like headers and values."""
    if len(lines) == 1:
        headers = frozenset(piece.split(": ", 1)[0] for piece in lines[0])
        is_row = len(headers) == len(lines[0]) and _ALONE.fullmatch("; ".join(lines[0])) is not None
        return headers if is_row else frozenset()
    counts = Counter(header for line in lines for header in {one for piece in line for one in _before_colon(piece)})
    return frozenset(header for header, count in counts.items() if count > 1)


def _before_colon(piece: str) -> Iterator[str]:
    for match in re.finditer(": ", piece):
        if match.start() <= MAX_HEADER:
            yield piece[: match.start()]


def _read(lines: Sequence[_Line], headers: frozenset[str]) -> tuple[list[TableRow], list[EvidenceSpan]]:
    """The rows of a run, and what is no row in it: the end of a row whose beginning was not cited, or a heading."""
    if len(headers) < 2:
        return [], []
    cells = [_cells(line.pieces, headers) for line in lines]
    is_row = [len(row) > 1 and bool(row[1].header) for row in cells]
    first = Counter(row[0].header for row, said in zip(cells, is_row, strict=True) if said).most_common(1)
    table_rows: list[TableRow] = []
    titles: list[EvidenceSpan] = []
    heading = ""
    for line, row, said in zip(lines, cells, is_row, strict=True):
        if said and line.is_first and row[0].header != first[0][0] and len(lines) > 1:
            titles.append(line.span)
        elif said:
            table_rows.append(TableRow(line.span, row, RowTable("", ()), heading))
        elif len(line.span.text.split()) <= MAX_TITLE_WORDS:
            titles.append(line.span)
            heading = line.span.text
    return table_rows, titles


def _cells(pieces: Sequence[str], headers: frozenset[str]) -> tuple[RowCell, ...]:
    """The cells of a row; a piece without a header goes on with the value before it."""
    row_cells: list[RowCell] = []
    for piece in pieces:
        header = max((one for one in _before_colon(piece) if one in headers), key=len, default=None)
        if header is not None:
            row_cells.append(RowCell(header, piece[len(header) + 2 :]))
        elif row_cells and row_cells[-1].header:
            last = row_cells.pop()
            row_cells.append(replace(last, value=f"{last.value}; {piece}"))
        else:
            row_cells.append(RowCell("", piece))
    return tuple(row_cells)


def _titles(lines: Sequence[_Line], start: int, headers: frozenset[str]) -> list[_Line]:
    """The caption of a table and the heading above it, short lines that are no sentences; or the rest of a cut row."""
    found: list[_Line] = []
    for place in range(start - 1, -1, -1):
        line = lines[place]
        if len(found) == MAX_TITLES or lines[place + 1].breaks > 2:
            break
        if not (is_title(line.span.text) or _is_rest(line, headers)):
            break
        found.insert(0, line)
    return found


def _is_rest(line: _Line, headers: frozenset[str]) -> bool:
    """Whether a line is the end of a row of which the beginning is not cited."""
    text = line.span.text
    return line.is_first and (text.startswith(": ") or any(f"{header}: " in text for header in headers))


def is_title(text: str) -> bool:
    """Whether a line is a heading or a caption."""
    return len(text.split()) <= MAX_TITLE_WORDS and not _SENTENCE.search(text) and not _MARK.match(text)


def _joined(rows: Sequence[TableRow]) -> list[TableRow]:
    """The rows, those of one table that stand in several passages brought together, each row once."""
    groups: dict[tuple[str, tuple[str, ...]], list[TableRow]] = {}
    for row in rows:
        document = row.span.source_id.rsplit(":", 1)[0]
        groups.setdefault((document, tuple(cell.header for cell in row.cells)), []).append(row)
    table_rows: list[TableRow] = []
    for group in groups.values():
        places: dict[tuple[int, int], TableRow] = {}
        for row in group:
            places.setdefault((row.span.start, row.span.end), row)
        captions = Counter(row.table.caption for row in group if row.table.caption)
        if len(captions) > 1:
            table_rows += places.values()
            continue
        caption = next(iter(captions), "")
        tables = dict.fromkeys(row.table for row in group)
        cells = dict.fromkeys(cells for table in tables for cells in table.rows)
        table = RowTable(caption, tuple(cells))
        table_rows += [replace(row, table=table) for row in places.values()]
    return table_rows
