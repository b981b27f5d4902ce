"""Reads a chapter on an illness, headings over lists, as whole lines with what they stand under and are for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from citewell.assistants.consult.advice_sections import NUMBER, may_advise
from citewell.assistants.consult.guideline_choice import ChosenGuideline, plain
from citewell.assistants.consult.tables import rows
from citewell.assistants.consult.weight_based_doses import has_dose
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import populations
from citewell.sentences import list_mark
from citewell.types import Block, Document

LISTED = 0.5
"""More than this share of a chapter of a formulary or of standard treatment guidelines stands in lists."""
MAX_CHAPTER = 20_000
"""Characters of a chapter on one illness; a book that is mostly lists and tables is none."""
MAX_LABEL_WORDS, MAX_LABEL_CHARACTERS = 9, 70
DEEPER = 0.3
"""How much deeper than what it is a row of a line stands that only says for whom."""
_BULLETS = "•●▪◦○・·*"
_MARK = re.compile(r"\s*(?:[•◦▪●○‣・·*–—-]|\(?[a-z0-9]{1,2}[.)])\s*")
_JOINING = re.compile(r"(?<!\s)(?=[^\S\n]*\n)\s++(?:or|plus|and)\s*+(?::\s*+)?\Z", re.IGNORECASE)
"""“Or” alone on the last line of an item joins it with the next."""
_JOINER = re.compile(r"\s*+(?:or|plus|and)\s*+(?::\s*+)?", re.IGNORECASE)
_OR_END = re.compile(r"(?<![;,\s])[;,\s]++(?:(?:or|and)\s*+)?\Z", re.IGNORECASE)
_BEFORE_PEOPLE = re.compile(r"\W*(?:for|in|preterm and|premature and)?\s*", re.IGNORECASE)
_CELL = re.compile(r"(?:(?<![^:;])|(?<=; ))(?P<header>[^:;]+): (?P<value>[^;]*(?:;(?! [^:;]+: )[^;]*)*)(?:; |\Z)")
_ROWS = re.compile(r";\s*(?=\d)")
"""Rows for several ages on one line: “2 - 5 years: 100 μg; 5 - 12 years: 200 μg”."""


@dataclass(frozen=True, slots=True)
class GuidelineLine:
    """One line of a guideline, whole: its words, what they stand under, and what the line is for."""

    text: str
    """With what it stands under, such as the medicine of a dose."""
    own: str
    """Its own words alone."""
    role: str
    section: tuple[str, ...]
    """Headings, and the lines of a list that it is an item of."""
    start: int
    end: int
    """Where its own words stand in the document."""
    rule: str | None = None
    """The number of a recommendation."""


@dataclass(frozen=True, slots=True)
class _Item:
    """A line of a list or a heading over one, and how deep it stands."""

    text: str
    start: int
    end: int
    level: float
    is_group: bool
    """It begins with the people whom it is for."""
    kind: str


@lru_cache(maxsize=5_000)
def role_of(heading: str) -> str | None:
    """What a section is for, by its heading.

    >>> role_of("Notable Adverse Drug Reactions, Contraindications and Caution"), role_of("TREATMENT GOALS OF ASTHMA")
    ('caution', 'none')
    """
    bare = NUMBER.sub("", heading)
    return next((role for role, pattern in _roles() if pattern.search(bare)), None)


@cache
def _roles() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((role, re.compile(pattern, re.IGNORECASE)) for role, pattern in rows("section_roles.tsv"))


def is_chapter(guideline: ChosenGuideline) -> bool:
    """Whether a guideline is headings over lists, and not prose or numbered recommendations."""
    bodies = [block for block in _blocks(guideline) if block.kind != "heading"]
    listed = sum(block.end - block.start for block in bodies if block.kind in ("list_item", "table_row"))
    roles = {role_of(block.section[-1]) for block in bodies if block.section}
    length = sum(block.end - block.start for block in bodies)
    return LISTED * length < listed <= length <= MAX_CHAPTER and bool({"treat", "support"} & roles)


def _blocks(guideline: ChosenGuideline) -> list[Block]:
    document = guideline.document
    return [block for block in document.blocks if guideline.covers(block.section) and may_advise(block.section)]


def chapter_lines(guideline: ChosenGuideline) -> tuple[GuidelineLine, ...]:
    """Every line of a chapter that stands for itself; what only leads to others is in theirs."""
    lines: list[GuidelineLine] = []
    for section, blocks in _by_section(_blocks(guideline)):
        lines += _lines_of(section, list(_items(guideline.document, blocks)))
    return tuple(lines)


def _by_section(blocks: Sequence[Block]) -> Iterator[tuple[tuple[str, ...], list[Block]]]:
    group: list[Block] = []
    for block in blocks:
        if group and block.section != group[0].section:
            yield group[0].section, group
            group = []
        group.append(block)
    if group:
        yield group[0].section, group


def _items(document: Document, blocks: Sequence[Block]) -> Iterator[_Item]:
    """The lines of a section, each with its depth; a number that was cut from its range is joined again."""
    before: _Item | None = None
    for block in blocks:
        if block.kind in ("heading", "caption") or _JOINER.fullmatch(document.text, block.start, block.end):
            continue
        item = _item(document, block)
        if (
            before is not None
            and re.search(r"\d\Z", before.text)
            and re.match(r"\s*[-–]\s*\d", document.text[block.start : block.end])
        ):
            before = replace(before, end=item.end, text=plain(document.text[before.start : item.end]))
            continue
        if before is not None:
            yield from _apart(before)
        before = item
    if before is not None:
        yield from _apart(before)


def _item(document: Document, block: Block) -> _Item:
    words = document.text[block.start : block.end]
    joined = _JOINING.search(words)
    end = block.start + (joined.start() if joined else len(words.rstrip()))
    mark = _MARK.match(words) if block.kind == "list_item" and list_mark(words) else None
    start = block.start + (mark.end() if mark else 0)
    text = plain(document.text[start:end]).strip("* ")
    if block.kind == "list_item":
        level = 0.0 if words.lstrip()[:1] in _BULLETS else 1.0
    else:
        level = 0.0 if block.kind == "table_row" or not _is_title(text) else -1.0
    return _Item(text, start, end, level, _is_row(text), block.kind)


def _is_title(text: str) -> bool:
    """Whether a line between lists is a heading."""
    return len(text.split()) <= MAX_LABEL_WORDS and text[-1:] not in ".;,"


def _apart(item: _Item) -> Iterator[_Item]:
    """An item; one that holds rows for several ages as these rows."""
    label, colon, _ = item.text.partition(":")
    cuts = [match.end() for match in _ROWS.finditer(item.text)]
    parts = [item.text[a:b].rstrip("; ") for a, b in zip([0, *cuts], [*cuts, len(item.text)], strict=True)]
    if len(parts) < 2 or not colon or not all(map(_is_row, parts)):
        yield item
        return
    child = label.split()[0] if label.split()[0][:5].casefold() == "child" else ""
    for number, part in enumerate(parts):
        yield replace(item, text=part if not number or not child else f"{child} {part}", is_group=True)


def _is_row(text: str) -> bool:
    """Whether a line only says for whom, or how much for whom: “Adult: 500 mg”, “6 - 12 years: 250 mg”, “Child”."""
    label, colon, rest = text.partition(":") if ":" in text[:MAX_LABEL_CHARACTERS] else (text, "", "")
    found = populations(as_label(text[:MAX_LABEL_CHARACTERS]))
    is_first = bool(found) and (found[0].start == 0 or _BEFORE_PEOPLE.fullmatch(text, 0, found[0].start) is not None)
    if not is_first or medicines(label) or (colon and len(label.split()) > MAX_LABEL_WORDS):
        return False
    return has_dose(text) or not (rest.split() if colon else len(text.split()) > MAX_LABEL_WORDS)


def as_label(text: str) -> str:
    """Words that say for whom a line is, as they are read: “Under 6 months old” is an age.

    >>> as_label("Under 6 months old: 10 mg per day")
    'under 6 months: 10 mg per day'
    """
    text = re.sub(r"(?<=months) old\b|(?<=years) old\b|(?<=weeks) old\b", "", text[:1].lower() + text[1:])
    return re.sub(r"(\d\s*(?:–|-|to)\s*\d+ (?:years|months|weeks)) (?=\d)", r"\1: ", text)


def _lines_of(section: tuple[str, ...], items: Sequence[_Item]) -> Iterator[GuidelineLine]:
    """The items of a section that have none below them, each with those that it stands under."""
    stack: list[_Item] = []
    for at, item in enumerate(items):
        following = items[at + 1] if at + 1 < len(items) else None
        placed = _placed(item, stack, following)
        while stack and stack[-1].level >= placed.level:
            stack.pop()
        stack.append(placed)
        after = None if following is None else _placed(following, stack, items[at + 2] if at + 2 < len(items) else None)
        is_leaf = after is None or after.level <= placed.level
        if placed.kind == "table_row":
            yield _row(section, placed)
        elif is_leaf and not _is_bare(placed):
            yield _line(section, stack)


def _placed(item: _Item, stack: Sequence[_Item], following: _Item | None) -> _Item:
    """An item as deep as it stands: people and doses belong to the medicine before them, headings are above all."""
    if item.kind == "paragraph" and item.level < 0:
        is_within = bool(medicines(item.text)) and any(one.level <= -1 for one in stack)
        return replace(item, level=-DEEPER if is_within else -1.0)
    if item.is_group or (_is_nameless_dose(item.text) and item.level >= 1):
        head = next((one for one in reversed(stack) if not one.is_group and -1 < one.level <= item.level), None)
        level = item.level if head is None else max(item.level, head.level + DEEPER)
        last = stack[-1] if stack else None
        is_within = last is not None and last.is_group and _is_bare(last) and not _is_bare(item)
        if last is not None and last.is_group and last.level >= level and not _names_a_kind(item.text):
            level = last.level + (DEEPER if is_within else 0)
        return replace(item, level=level)
    is_lead = item.text.endswith(":") and following is not None and following.level == item.level
    is_lead = is_lead and following is not None and not following.is_group
    return replace(item, level=item.level - DEEPER) if is_lead else item


def _names_a_kind(text: str) -> bool:
    """Whether a row begins with grown people or children as such: it is part of none before it."""
    return text.split(maxsplit=1)[0].strip(":,").casefold() in ("adult", "adults", "child", "children")


def _is_nameless_dose(text: str) -> bool:
    return not medicines(text) and has_dose(text) and re.match(r"\W*\d", text) is not None


def _is_bare(item: _Item) -> bool:
    """Whether a line says nothing by itself: a heading, or people such as “Child:”."""
    if item.is_group:
        return not has_dose(item.text)
    return item.level < 0 or item.text.endswith(("dosing", ":"))


def _line(section: tuple[str, ...], stack: Sequence[_Item]) -> GuidelineLine:
    *above, own = stack
    titles = (*section, *(item.text.rstrip(":") for item in above))
    role = role_under((*section, *(item.text for item in above if _is_heading(item))))
    role = "treat" if role == "support" and (has_dose(own.text) or medicines(own.text)) else role
    shown = [item.text for item in above if not _is_heading(item) or role_of(item.text) is None]
    text = ": ".join([*(part.rstrip(":.") for part in shown), _OR_END.sub("", own.text)])
    return GuidelineLine(text, own.text, role, titles, own.start, own.end)


def _is_heading(item: _Item) -> bool:
    """Whether an item is a heading, and not the medicine or the people of the lines below it."""
    return len(item.text.split()) <= MAX_LABEL_WORDS and not item.is_group and not medicines(item.text)


def role_under(titles: Sequence[str]) -> str:
    """What a line is for, by the innermost heading over it that says so."""
    return next((role for title in reversed(titles) if (role := role_of(title)) is not None), "none")


def cells_of(row: str) -> Iterator[tuple[str, str]]:
    """The cells of a row of a table, each with its header."""
    return ((match["header"].strip(), match["value"].strip()) for match in _CELL.finditer(row))


def _row(section: tuple[str, ...], item: _Item) -> GuidelineLine:
    """A row of a table; its first cell says what, or for whom, the others are."""
    label = next((f"{header}: {value}" for header, value in cells_of(item.text)), "")
    return GuidelineLine(
        item.text, item.text, role_under(section), (*section, label) if label else section, item.start, item.end
    )
