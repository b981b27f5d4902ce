"""What Word's styles and numbering make of a paragraph: a heading, a list item, its printed number."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from lxml import etree

from citewell.adapters.parsers.markup_flow import BULLETS, child_named, children_named, descendants_named, local_name
from citewell.adapters.parsers.numerals import letters, roman

MAX_LEVELS = 9
MAX_START = 100_000
NUMERALS: dict[str, Callable[[int], str]] = {
    "lowerLetter": letters,
    "upperLetter": lambda number: letters(number).upper(),
    "lowerRoman": roman,
    "upperRoman": lambda number: roman(number).upper(),
    "decimalZero": lambda number: f"{number:02d}",
}


def value(element: etree._Element | None, name: str = "val") -> str | None:
    """An attribute whatever its namespace; None without the element or the attribute."""
    if element is None:
        return None
    return next((str(text) for key, text in element.attrib.items() if str(key).rpartition("}")[2] == name), None)


def number(element: etree._Element | None, name: str = "val") -> int | None:
    """An attribute as a whole number."""
    text = value(element, name) or ""
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else None


def is_on(properties: etree._Element | None, name: str) -> bool | None:
    """Whether a switch such as bold is set; None where nothing is said."""
    switch = child_named(properties, name)
    return None if switch is None else value(switch) not in ("0", "false", "off", "none")


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """What matters of one paragraph style, what it is based on included."""

    name: str = ""
    outline: int | None = None
    numbering: tuple[int, int] | None = None
    is_bold: bool = False
    has_header_row: bool = False


class Styles:
    """The styles of a document."""

    def __init__(self, root: etree._Element | None = None) -> None:
        self._elements = {value(style, "styleId"): style for style in children_named(root, "style")}
        self._styles: dict[str | None, ParagraphStyle] = {}

    def get(self, style_id: str | None) -> ParagraphStyle:
        """The style with this id, resolved through what it is based on."""
        if style_id not in self._styles:
            chain: list[etree._Element] = []
            current = style_id
            while current in self._elements and self._elements[current] not in chain and len(chain) < 50:
                chain.append(self._elements[current])
                current = value(child_named(chain[-1], "basedOn"))
            self._styles[style_id] = _resolve(chain)
        return self._styles[style_id]


def _resolve(chain: list[etree._Element]) -> ParagraphStyle:
    if not chain:
        return ParagraphStyle()
    outline: int | None = None
    numbering: tuple[int, int] | None = None
    is_bold: bool | None = None
    for element in chain:
        properties = child_named(element, "pPr")
        if outline is None:
            outline = outline_of(properties, (value(child_named(element, "name")) or "").lower())
        if numbering is None:
            numbering = numbering_of(properties)
        if is_bold is None:
            is_bold = is_on(child_named(element, "rPr"), "b")
    return ParagraphStyle(
        name=(value(child_named(chain[0], "name")) or "").lower(),
        outline=outline,
        numbering=numbering,
        is_bold=bool(is_bold),
        has_header_row=any(
            value(part, "type") == "firstRow" for element in chain for part in children_named(element, "tblStylePr")
        ),
    )


def outline_of(properties: etree._Element | None, style_name: str = "") -> int | None:
    """The outline level, 0 for the highest; Word keeps the English style name in every language."""
    level = number(child_named(properties, "outlineLvl"))
    if level is not None:
        return level
    match = re.fullmatch(r"heading (\d)", style_name)
    return int(match.group(1)) - 1 if match else None


def numbering_of(properties: etree._Element | None) -> tuple[int, int] | None:
    """The list and the level in it: (numId, ilvl)."""
    element = child_named(properties, "numPr")
    list_id = number(child_named(element, "numId"))
    if list_id is None:
        return None
    return list_id, max(0, min(number(child_named(element, "ilvl")) or 0, MAX_LEVELS - 1))


@dataclass(frozen=True, slots=True)
class _Level:
    style: str = "decimal"
    text: str = ""
    start: int = 1


@dataclass(slots=True)
class _List:
    abstract: int
    levels: dict[int, _Level]
    restarts: dict[int, int] = field(default_factory=dict)


class Numbering:
    """Counts list items and numbered headings as Word prints them."""

    def __init__(self, root: etree._Element | None = None) -> None:
        self._lists: dict[int, _List] = {}
        self._counts: dict[int, dict[int, int]] = {}
        if root is None:
            return
        abstracts = {
            number(element, "abstractNumId"): _levels(element) for element in descendants_named(root, "abstractNum")
        }
        for element in children_named(root, "num"):
            list_id, abstract = number(element, "numId"), number(child_named(element, "abstractNumId"))
            if list_id is not None and abstract is not None:
                self._lists[list_id] = _with_overrides(element, abstract, dict(abstracts.get(abstract, {})))

    def marker(self, list_id: int, depth: int) -> str:
        """The mark of the next item of a list, such as “1.2” or a bullet."""
        found = self._lists.get(list_id)
        if found is None:
            return BULLETS[depth % len(BULLETS)]
        level = found.levels.get(depth, _Level(style="bullet"))
        counts = self._counts.setdefault(found.abstract, {})
        if depth in found.restarts:
            counts[depth] = found.restarts.pop(depth) - 1
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [other for other in counts if other > depth]:
            del counts[deeper]
        if level.style == "bullet":
            return BULLETS[depth % len(BULLETS)]
        if level.style == "none":
            return ""

        def printed(match: re.Match[str]) -> str:
            place = int(match.group(1)) - 1
            other = found.levels.get(place, _Level())
            return NUMERALS.get(other.style, str)(counts.get(place, other.start))

        return re.sub(r"%(\d)", printed, level.text).strip()


def _levels(element: etree._Element) -> dict[int, _Level]:
    return {number(level, "ilvl") or 0: _level(level) for level in children_named(element, "lvl")}


def _level(element: etree._Element) -> _Level:
    start = number(child_named(element, "start"))
    return _Level(
        style=value(child_named(element, "numFmt")) or "decimal",
        text=value(child_named(element, "lvlText")) or "",
        start=1 if start is None else max(0, min(start, MAX_START)),
    )


def _with_overrides(element: etree._Element, abstract: int, levels: dict[int, _Level]) -> _List:
    restarts: dict[int, int] = {}
    for override in children_named(element, "lvlOverride"):
        depth = number(override, "ilvl") or 0
        level = child_named(override, "lvl")
        if level is not None:
            levels[depth] = _level(level)
        start = number(child_named(override, "startOverride"))
        if start is not None:
            restarts[depth] = max(0, min(start, MAX_START))
    return _List(abstract, levels, restarts)


def paragraph_style(paragraph: etree._Element, styles: Styles) -> ParagraphStyle:
    """What a paragraph is: its own settings first, then those of its style."""
    properties = child_named(paragraph, "pPr")
    style = styles.get(value(child_named(properties, "pStyle")))
    outline = number(child_named(properties, "outlineLvl"))
    own = numbering_of(properties)
    if own is not None and own[0] == 0:
        numbering: tuple[int, int] | None = None
    else:
        numbering = own or (style.numbering if style.numbering and style.numbering[0] else None)
    return ParagraphStyle(style.name, style.outline if outline is None else outline, numbering, style.is_bold)


def is_all_bold(paragraph: etree._Element, style: ParagraphStyle) -> bool:
    """Whether every word of a paragraph is bold."""
    runs = [run for run in descendants_named(paragraph, "r") if any(_texts(run))]
    return bool(runs) and all(
        style.is_bold if (bold := is_on(child_named(run, "rPr"), "b")) is None else bold for run in runs
    )


def _texts(run: etree._Element) -> list[str]:
    return [child.text for child in run if local_name(child) == "t" and child.text and child.text.strip()]
