"""Gathers lines into paragraphs, list items and possible headings."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from citewell import sentences
from citewell.adapters.parsers.pdf_lines import LARGEST_STEP, TextLine
from citewell.types import BlockKind

BULLETS = f"{sentences.BULLETS}»›—"
_BULLET = re.compile(rf"^[{re.escape(BULLETS)}](?=\s|$)")
_RULE_NUMBER = re.compile(r"^\d+(?:\.\d+){2,5}\.?(?=\s|$)")
_ORDERED = re.compile(r"^(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\d+\.\d+\.?)(?=\s|$)")
_NOTE = re.compile(r"^(?:[†‡§¶]{1,3}|[⁰-⁹¹²³ᵃ-ᶻ]{1,3})\s*(?=\w)")
MARKER = re.compile(rf"[{re.escape(BULLETS)}]|\d+(?:\.\d+)*[.)]?|\(?[a-zA-Z]{{1,4}}[.)]|[a-z\d]{{1,3}}")
_NUMBERED_TITLE = re.compile(r"^\d+(?:\.\d+)*\.?\s+[^\W\d_]")
_LEADER = re.compile(r"(?<![.…_·])(?<![.…_·]\s)(?:\s?[.…_·]){4,}+\s*+(?=[\divxlc]+$|$)", re.IGNORECASE)
_CAPTION = re.compile(
    r"^(?:Table|Figure|Fig\.|Box|Panel|Exhibit)\s+(?:[A-Z]\d*|\d+)(?:[.\-–]\w+)*(?P<end>[.:]?)(?:\s|$)"
)
BINDING = frozenset("a an and are as at be by for from in is of on or than that the to with without".split())
"""Words that no entry of a list ends with."""
TERMINAL = tuple(".!?:;")


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Lines that are read as one; where they only repeat words that stand elsewhere, they are not placed."""

    lines: list[TextLine]
    placed: bool = True

    @property
    def text(self) -> str:
        """The words, roughly: for tests of what it is, not for what is kept."""
        return " ".join(line.text for line in self.lines)


@dataclass(slots=True)
class Draft:
    """A block before it is written: passages of the page and words put between them."""

    kind: BlockKind
    page: int
    parts: list[LineBlock | str] = field(default_factory=list)
    level: int | None = None
    in_contents: bool = False
    """It is an entry of a table of contents."""
    opens_column: bool = False
    """It is the first of its column, and may run on from the column or page before."""

    @property
    def lines(self) -> list[TextLine]:
        return [line for part in self.parts if not isinstance(part, str) for line in part.lines]

    @property
    def text(self) -> str:
        """The words, roughly: for tests of what it is, not for what is kept."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Typography:
    """What is usual in a document."""

    body_size: float
    leading: dict[float, float]
    """The usual distance of base lines, by size of type."""

    @classmethod
    def of(cls, pages: Iterable[Sequence[TextLine]]) -> Typography:
        """Measure a document's lines."""
        sizes: Counter[float] = Counter()
        steps: dict[float, Counter[float]] = defaultdict(Counter)
        for lines in pages:
            for line in lines:
                sizes[line.size] += len(line.text)
            ordered = sorted(lines, key=lambda line: line.order)
            for above, below in itertools.pairwise(ordered):
                step = round((below.base - above.base) * 2) / 2
                if above.size == below.size and 0.8 * below.size < step < 2.5 * below.size:
                    steps[below.size][step] += 1
        body_size = sizes.most_common(1)[0][0] if sizes else 10.0
        return cls(body_size, {size: counted.most_common(1)[0][0] for size, counted in steps.items()})

    def usual_step(self, size: float) -> float:
        return self.leading.get(size, 1.25 * size)


def merged_rows(items: Sequence[TextLine]) -> list[TextLine]:
    """Pieces of one column that share a base line, joined from left to right; rows from top to bottom."""
    rows: list[list[TextLine]] = []
    for item in sorted(items, key=lambda item: item.base):
        row = next((row for row in reversed(rows[-3:]) if _shares_row(item, row[0])), None)
        if row is None:
            rows.append([item])
        else:
            row.append(item)
    lines = [joined(sorted(row, key=lambda item: item.left)) for row in rows]
    # By the tops of the letters: the large number of a chapter is read before the title that ends beside its foot.
    return sorted(lines, key=lambda line: line.base - 0.8 * line.size)


def _shares_row(item: TextLine, other: TextLine) -> bool:
    small, large = sorted((item.size, other.size))
    return abs(item.base - other.base) <= 0.3 * small and large <= LARGEST_STEP * small


def joined(pieces: Sequence[TextLine]) -> TextLine:
    """Pieces of one row as one line."""
    if len(pieces) == 1:
        return pieces[0]
    main = max(pieces, key=lambda piece: len(piece.text))
    lefts, rights, box = list(pieces[0].lefts), list(pieces[0].rights), pieces[0].box
    tabular = False
    for position, piece in enumerate(pieces[1:]):
        after_marker = position == 0 and bool(MARKER.fullmatch(pieces[0].text))
        tabular = tabular or (piece.left - rights[-1] > 3 * main.size and not after_marker)
        lefts += [rights[-1], *piece.lefts]
        rights += [max(rights[-1], piece.left), *piece.rights]
        box = box.around(piece.box)
    return replace(
        main,
        text=" ".join(piece.text for piece in pieces),
        lefts=tuple(lefts),
        rights=tuple(rights),
        top=min(piece.top for piece in pieces),
        bottom=max(piece.bottom for piece in pieces),
        bold=all(piece.bold for piece in pieces),
        italic=all(piece.italic for piece in pieces),
        order=min(piece.order for piece in pieces),
        box=box,
        tabular=tabular,
    )


def gathered(lines: Sequence[TextLine], typography: Typography, titles: Container[str] = ()) -> list[Draft]:
    """The lines of one column as blocks; `titles` are those, folded, that the outline names on this page."""
    drafts: list[Draft] = []
    edge = max((line.right for line in lines), default=0.0)
    current: list[TextLine] = []
    for line in lines:
        is_title = current and folded_title(" ".join(row.text for row in current)) in titles
        if current and (is_title or not _runs_on(current, line, edge, typography)):
            drafts.append(_draft(current))
            current = []
        current.append(line)
    if current:
        drafts.append(_draft(current))
    if drafts:
        drafts[0].opens_column = True
    return drafts


def folded_title(text: str) -> str:
    """A title as it is compared; empty for bare numbers, which name paragraphs rather than sections.

    >>> folded_title("1.2  Upper tract"), folded_title("1.2.1")
    ('12uppertract', '')
    """
    folded = "".join(letter for letter in text.casefold() if letter.isalnum())
    return folded if any(letter.isalpha() for letter in folded) else ""


def _draft(lines: list[TextLine]) -> Draft:
    kind: BlockKind = "paragraph"
    first = lines[0].text
    caption = _CAPTION.match(first)
    if caption and (caption.group("end") or lines[0].bold or not _ends_block(lines[-1])):
        kind = "caption"
    elif _NOTE.match(first):
        kind = "footnote"
    elif (
        _BULLET.match(first)
        or _LEADER.search(lines[-1].text)
        or (_ORDERED.match(first) and not _RULE_NUMBER.match(first))
    ):
        kind = "list_item"
    return Draft(kind, lines[0].page, [LineBlock(lines)])


def _runs_on(current: Sequence[TextLine], line: TextLine, edge: float, typography: Typography) -> bool:
    """Whether a line belongs to the block above it."""
    last, _first = current[-1], current[0]
    step = line.base - last.base
    usual = typography.usual_step(max(line.size, last.size))
    if abs(line.size - last.size) > 0.12 * max(line.size, last.size) or step > 1.25 * usual + 1 or step < 0:
        return False
    if _LEADER.search(last.text) or (last.tabular and line.tabular) or starts_item(line, current):
        return False
    return ends_bracket(last.text, line.text) or _is_same_paragraph(current, line, edge)


def _is_same_paragraph(current: Sequence[TextLine], line: TextLine, edge: float) -> bool:
    """Whether a line that opens nothing of its own goes on with the words above it."""
    last, first = current[-1], current[0]
    is_item = bool(_BULLET.match(first.text) or _ORDERED.match(first.text))
    outdented = line.left < min(row.left for row in current) - 0.8 * line.size
    if is_item and len(current) == 1:
        # The text of an item hangs to the right of its marker.
        if line.left < first.left + 0.3 * line.size and _could_have_fitted(last, line, edge):
            return False
    elif outdented and len(current) > 1:
        return False
    if line.bold != last.bold and (last.bold or line.bold) and _ends_block(last):
        return False
    return not (
        _could_have_fitted(last, line, edge) and _opens_block(line) and (_ends_block(last) or last.bold != line.bold)
    )


DATE_TAG = re.compile(r"\[[^\[\]]{0,80}\b(?:19|20)\d\d\b[^\[\]]{0,80}\]\.?")


def ends_bracket(above: str, text: str) -> bool:
    """Whether a line is the date tag of the words above it, or the rest of one: bold, it would pass for a heading.

    >>> ends_bracket("Offer rest.", "[2019, amended 2021]"), ends_bracket("Offer rest. [2019,", "amended 2021]")
    (True, True)
    >>> ends_bracket("Offer rest. [2019]", "Amended in 2021")
    False
    """
    if DATE_TAG.fullmatch(text):
        return True
    is_open = above.rfind("[") > above.rfind("]") >= -1 and len(above) - above.rfind("[") <= 80
    return is_open and text.endswith("]") and "[" not in text


def starts_item(line: TextLine, above: Sequence[TextLine]) -> bool:
    """Whether a line opens an item, a note or a numbered part rather than happening to begin with a number."""
    if (number := _RULE_NUMBER.match(line.text)) is not None:
        return not _is_wrapped(line, above, number.end())
    if _BULLET.match(line.text) or _NOTE.match(line.text):
        return True
    if _CAPTION.match(above[0].text):
        return False
    if line.bold and above[-1].bold and _NUMBERED_TITLE.match(line.text):
        return abs(line.left - above[-1].left) < 2 * line.size
    if not _ORDERED.match(line.text):
        return False
    first, last = above[0], above[-1]
    return abs(line.left - last.left) > 2 or (len(above) == 1 and bool(_ORDERED.match(first.text)))


def _is_wrapped(line: TextLine, above: Sequence[TextLine], end: int) -> bool:
    """Whether a number at the beginning of a line goes on with a sentence: “see recommendations / 1.5.1 and 1.5.2”."""
    opening = line.text[end:].lstrip()[:1]
    hangs = len(above) > 1 or bool(_RULE_NUMBER.match(above[0].text))
    is_further_in = hangs and line.left > above[0].left + 2 * line.size
    return not _ends_block(above[-1]) and (opening.islower() or is_further_in)


def _could_have_fitted(last: TextLine, line: TextLine, edge: float) -> bool:
    """Whether the first word of a line had room at the end of the one above: then the break was meant."""
    length = len(line.text.split(" ", 1)[0])
    return last.right + 0.3 * line.size + (line.rights[length - 1] - line.left) < edge - 0.5 * line.size


def begins_entry(last: TextLine, line: TextLine, edge: float) -> bool:
    """Whether a line in a cell begins a new entry of a list rather than going on with the one above it."""
    if not line.text[:1].isupper():
        return False
    goes_on = last.text.endswith((",", "/", "-", "–")) or last.text.split()[-1].lower() in BINDING
    return not goes_on and _could_have_fitted(last, line, edge)


def _opens_block(line: TextLine) -> bool:
    opening = line.text.lstrip("\"'“‘")[:1]
    return not opening.islower() and opening not in "(["


def _ends_block(line: TextLine) -> bool:
    return line.text.rstrip("\"'”’)]").endswith(TERMINAL) or line.text.endswith("]")
