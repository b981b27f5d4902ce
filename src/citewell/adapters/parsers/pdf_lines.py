"""Sets glyphs into words and words into lines, with clean characters."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.adapters.parsers.pdf_geometry import Direction, PageTurn, Rect
from citewell.adapters.parsers.pdf_glyphs import Glyph, GlyphGap, GlyphStyle, Sheet

_SYMBOLS = {
    "\uf0b7": "•", "\uf0a7": "▪", "\uf076": "▪", "\uf0d8": "➢", "\uf0fc": "✓", "\uf02d": "–", "\uf0a3": "≤",
    "\uf0b3": "≥", "\uf0b1": "±", "\uf0b4": "×", "\uf0b0": "°", "\uf06d": "μ", "\uf061": "α", "\uf062": "β",
    "\uf067": "γ", "\uf064": "δ", "\uf044": "Δ", "\uf0ae": "→", "\uf0ad": "↑", "\uf0af": "↓", "\uf03c": "<",
    "\uf03e": ">", "\uf03d": "=", "\uf02b": "+", "\uf06f": "o", "\u2010": "-", "\u2011": "-", "\uff0d": "–",
    "\ufb05": "st",
}  # fmt: skip
"""Private codes that the Symbol and Wingdings fonts use for characters that have codes of their own."""

_DROPPED = frozenset("\ufffe\uffff\ufeff\u200b\u200c\u200d\u2060\u200e\u200f")
_SUPERSCRIPTS = str.maketrans("0123456789+-−=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_TAKES_POWER = re.compile(r"(?:\d|[⁺⁻]|(?<![^\W\d_])(?:[A-Zμµ]|[cdkmnµμ]?m|kg|s|h|min|[A-Z][a-z]))$")
"""What a raised number belongs to: a number, a unit, a single letter such as I² or R², an ion such as Ca²⁺."""


SOFT_HYPHEN = "\N{SOFT HYPHEN}"


def clean(text: str) -> str:
    """One glyph's text as it is kept; empty for what no reader sees.

    >>> clean("\\ufb01"), clean("\\xad"), clean("\\uf0b7"), clean("\\x00")
    ('fi', '\\xad', '•', '')
    """
    if text.isascii():
        return text if text.isprintable() else ""
    if text in _DROPPED:
        return ""
    if text in _SYMBOLS:
        return _SYMBOLS[text]
    if "\ufb00" <= text <= "\ufb06":
        return unicodedata.normalize("NFKC", text)
    invisible = unicodedata.category(text) in ("Cc", "Cf") and text != SOFT_HYPHEN
    return "" if invisible else text


def takes_power(before: str) -> bool:
    """Whether a raised number after these characters is a power or a charge rather than the mark of a note.

    >>> takes_power("1.73 m"), takes_power("10"), takes_power("tablets")
    (True, True, False)
    """
    return bool(_TAKES_POWER.search(before))


def raised(characters: Sequence[str], *, before: str) -> list[str]:
    """Raised characters as superscripts, set off by a space where they mark a note rather than a power.

    >>> raised(["9"], before="10"), raised(["1", "2"], before="shown"), raised(["t", "h"], before="19")
    (['⁹'], [' ¹', '²'], ['t', 'h'])
    """
    run = "".join(characters)
    if run in _ORDINALS or not run:
        return list(characters)
    written = [text.translate(_SUPERSCRIPTS) for text in characters]
    set_off = before and not before[-1].isspace() and before[-1] not in "([" and not takes_power(before)
    if set_off and run[0].isalnum() and "".join(written) != run:
        written[0] = f" {written[0]}"
    return written


WORD_GAP = 0.25
"""Of the type size: two glyphs further apart belong to two words, even without a space in the file."""
INDEX_SIZE = 0.85
"""Of the type size: smaller characters off the base line are raised or lowered ones."""
INDEX_GAP, AFTER_INDEX_GAP = 0.25, 0.08
"""Of the type size: pdfium sees a gap before and after a raised or lowered character, as in B₁₂; less is none."""
LARGEST_STEP = 2.2
"""Two sizes of type that differ by more than this factor never share a word or a base line."""
SEGMENT_GAP = 1.2
"""Of the type size: a wider gap may be the one between two columns."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """Words on one base line, in a frame where they run to the right; `lefts` and `rights` place each character."""

    text: str
    lefts: tuple[float, ...]
    rights: tuple[float, ...]
    base: float
    top: float
    bottom: float
    size: float
    bold: bool
    italic: bool
    font: str
    order: int
    """Where its first glyph stands in the file."""
    turn: PageTurn
    """From the page as it is seen to the line's frame."""
    box: Rect
    """Where it stands in the frame in which the page is read."""
    page: int
    tabular: bool = False
    """It was set in pieces far apart, like a row of a table without lines."""

    @property
    def left(self) -> float:
        return self.lefts[0]

    @property
    def right(self) -> float:
        return self.rights[-1]


@dataclass(slots=True)
class _GlyphRun:
    """Glyphs without a gap, in the frame in which they run to the right."""

    glyphs: list[Glyph]
    order: int

    def __post_init__(self) -> None:
        main = max(self.glyphs, key=lambda glyph: glyph.style.size)
        self.size = main.style.size or 1.0
        self.base = main.base
        self.left = min(glyph.box.left for glyph in self.glyphs)
        self.right = max(glyph.box.right for glyph in self.glyphs)

    size: float = 0.0
    base: float = 0.0
    left: float = 0.0
    right: float = 0.0


def reading_turn(sheet: Sheet) -> PageTurn:
    """The turn after which most of the page's text runs to the right."""
    directions = Counter(glyph.style.direction for glyph in sheet.glyphs if isinstance(glyph, Glyph))
    main: Direction = directions.most_common(1)[0][0] if directions else "right"
    return PageTurn(main, sheet.width, sheet.height)


def word_boxes(sheet: Sheet, reading: PageTurn) -> list[Rect]:
    """Where the words of a page stand, those that run in the reading direction."""
    return [
        Rect(word.left, word.glyphs[0].box.top, word.right, word.glyphs[0].box.bottom)
        for word in _words(sheet.glyphs, reading)
    ]


def text_lines(sheet: Sheet, reading: PageTurn) -> list[TextLine]:
    """The lines of a page, cut at gaps as wide as those between columns."""
    lines: list[TextLine] = []
    for direction in sorted({glyph.style.direction for glyph in sheet.glyphs if isinstance(glyph, Glyph)}):
        turn = PageTurn(direction, sheet.width, sheet.height)
        rows = _rows(_words(sheet.glyphs, turn))
        for row in rows:
            lines += [line for piece in _cut(row) if (line := _set_line(piece, turn, reading, sheet.number))]
    return lines


def _words(glyphs: Sequence[Glyph | GlyphGap], turn: PageTurn) -> Iterator[_GlyphRun]:
    """Words in one direction, in the order of the file."""
    current: list[Glyph] = []
    start, pending = 0, None
    for order, entry in enumerate(glyphs):
        if isinstance(entry, GlyphGap):
            pending = entry
            continue
        if entry.style.direction != turn.direction:
            continue
        glyph = entry if turn.direction == "right" else turned(entry, turn)
        if current and (_breaks(current[-1], glyph, pending) or _is_seam(current, glyphs[order : order + 3])):
            yield _GlyphRun(current, start)
            current = []
        if not current:
            start = order
        current.append(glyph)
        pending = None
    if current:
        yield _GlyphRun(current, start)


def _is_seam(before: list[Glyph], after: Sequence[Glyph | GlyphGap]) -> bool:
    """Whether two words stand together because the space between two styles was forgotten, as in “**lump**on”."""
    last, first = before[-1].style, after[0]
    if not isinstance(first, Glyph) or (last.bold, last.italic) == (first.style.bold, first.style.italic):
        return False
    ends = before[-1].text in ")]" or (len(before) > 2 and all(_is_letter(glyph, last) for glyph in before[-3:]))
    return ends and len(after) == 3 and all(_is_letter(glyph, first.style) for glyph in after)


def _is_letter(glyph: Glyph | GlyphGap, style: GlyphStyle) -> bool:
    if not isinstance(glyph, Glyph) or not glyph.text.isalpha() or not glyph.text.islower():
        return False
    return (glyph.style.bold, glyph.style.italic) == (style.bold, style.italic)


def turned(glyph: Glyph, turn: PageTurn) -> Glyph:
    """The glyph in the turned frame."""
    return Glyph(glyph.text, turn.rect(glyph.box), turn.base(glyph.base), glyph.style)


def _breaks(last: Glyph, glyph: Glyph, gap: GlyphGap | None) -> bool:
    """Whether a word ends between two neighbours of the file."""
    small, large = sorted((last.style.size, glyph.style.size))
    distance = glyph.box.left - last.box.right
    if abs(glyph.base - last.base) > 0.6 * large or distance > WORD_GAP * large or distance < -0.6 * large:
        return True
    if gap is None or not gap.generated or small * LARGEST_STEP < large:
        return gap is not None or small * LARGEST_STEP < large
    if small >= INDEX_SIZE * large:
        return True
    return distance >= (INDEX_GAP if glyph.style.size < last.style.size else AFTER_INDEX_GAP) * large


def _rows(words: Iterable[_GlyphRun]) -> list[list[_GlyphRun]]:
    """Words that share a base line; small raised or lowered ones join the line they lean on."""
    rows: list[list[_GlyphRun]] = []
    # The base line of each row and its place in `rows`, sorted: a page may have thousands.
    bases: list[tuple[float, int]] = []
    for word in sorted(words, key=lambda word: (-round(word.size, 1), word.base)):
        reach = 0.5 * LARGEST_STEP * word.size
        low, high = bisect_left(bases, (word.base - reach, -1)), bisect_right(bases, (word.base + reach, len(rows)))
        row = _row_of(word, [rows[place] for _, place in bases[low:high]])
        if row is None:
            insort(bases, (word.base, len(rows)))
            rows.append([word])
        else:
            row.append(word)
    for row in rows:
        row.sort(key=lambda word: word.left)
    rows.sort(key=lambda row: row[0].base)
    return rows


def _row_of(word: _GlyphRun, rows: list[list[_GlyphRun]]) -> list[_GlyphRun] | None:
    """The row whose base line fits best; the tallest words come first, so that a row's first word sets its base."""
    best, best_distance = None, 1e9
    for row in rows:
        head = row[0]
        distance = abs(word.base - head.base)
        if distance >= best_distance or head.size > LARGEST_STEP * word.size:
            continue
        if distance <= 0.22 * min(word.size, head.size):
            best, best_distance = row, distance
        elif word.size < INDEX_SIZE * head.size and distance <= 0.5 * head.size:
            nearest = min(max(other.left - word.right, word.left - other.right) for other in row)
            if nearest < 1.5 * head.size:
                best, best_distance = row, distance
    return best


def _cut(row: list[_GlyphRun]) -> Iterator[list[_GlyphRun]]:
    """The pieces of a row between gaps that may separate columns."""
    piece = [row[0]]
    reach = row[0].right
    for word in row[1:]:
        if word.left - reach > SEGMENT_GAP * max(piece[-1].size, word.size):
            yield piece
            piece = []
        piece.append(word)
        reach = max(reach, word.right)
    yield piece


def _set_line(words: Sequence[_GlyphRun], turn: PageTurn, reading: PageTurn, page: int) -> TextLine | None:
    """The words as one line of clean characters."""
    glyphs = [glyph for word in words for glyph in word.glyphs]
    size = Counter(glyph.style.size for glyph in glyphs).most_common(1)[0][0] or 1.0
    base = Counter(round(glyph.base, 1) for glyph in glyphs if glyph.style.size == size).most_common(1)[0][0]
    text: list[str] = []
    lefts: list[float] = []
    rights: list[float] = []
    for word in words:
        if text and not _is_index(word, base, size, "".join(text[-12:]), rights[-1]):
            text.append(" ")
            lefts.append(rights[-1])
            rights.append(max(rights[-1], word.left))
        for characters, glyph in _characters(word.glyphs, base, size, after="".join(text[-12:])):
            step = glyph.box.width / len(characters)
            for position, character in enumerate(characters):
                text.append(character)
                lefts.append(glyph.box.left + step * position)
                rights.append(glyph.box.left + step * (position + 1))
    while text and text[-1] == " ":
        text.pop(), lefts.pop(), rights.pop()
    if not text:
        return None
    top, bottom = _extent(glyphs, base, size)
    main = next(glyph.style for glyph in glyphs if glyph.style.size == size)
    letters = [glyph for glyph in glyphs if glyph.text.isalnum()] or glyphs
    own = Rect(min(lefts), top, max(rights), bottom)
    return TextLine(
        "".join(text), tuple(lefts), tuple(rights), base, top, bottom, size,
        all(glyph.style.bold for glyph in letters), all(glyph.style.italic for glyph in letters), main.font,
        min(word.order for word in words), turn, reading.rect(turn.back(own)), page,
    )  # fmt: skip


def _is_index(word: _GlyphRun, base: float, size: float, before: str, reach: float) -> bool:
    """Whether a word is the raised number of the unit or number before it, set a little apart."""
    is_raised = word.size < INDEX_SIZE * size and word.base < base - 0.15 * size
    return is_raised and word.left - reach < 0.4 * size and word.glyphs[0].text.isdigit() and takes_power(before)


def _characters(glyphs: list[Glyph], base: float, size: float, *, after: str) -> Iterator[tuple[str, Glyph]]:
    """The clean characters of a word; raised ones are written as superscripts, which keeps 10⁹ from reading 109."""
    is_raised = [glyph.style.size < INDEX_SIZE * size and glyph.base < base - 0.15 * size for glyph in glyphs]
    before = after
    start = 0
    while start < len(glyphs):
        end = start
        while end < len(glyphs) and is_raised[end] == is_raised[start]:
            end += 1
        written = ["".join(map(clean, glyph.text)) for glyph in glyphs[start:end]]
        if is_raised[start]:
            written = raised(written, before=before)
        for text, glyph in zip(written, glyphs[start:end], strict=True):
            if text:
                yield text, glyph
                before += text
        start = end


def _extent(glyphs: list[Glyph], base: float, size: float) -> tuple[float, float]:
    """Top and bottom of the line; fonts that claim more than type of this size needs are held back."""
    tops = [glyph.box.top for glyph in glyphs if abs(glyph.base - base) < 0.1 * size]
    bottoms = [glyph.box.bottom for glyph in glyphs if abs(glyph.base - base) < 0.1 * size]
    top = max(min(tops, default=base - 0.8 * size), base - 1.1 * size)
    bottom = min(max(bottoms, default=base + 0.2 * size), base + 0.4 * size)
    return min(top, base - 0.6 * size), max(bottom, base + 0.1 * size)
