"""A row of a table as a sentence, its cells under their headers, and what it says otherwise than a claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from citewell.answer.quantities import quantities
from citewell.answer.rows import Cell, Row
from citewell.answer.verify_agreement import Agreement, agreement, comparable
from citewell.answer.verify_columns import chosen, is_band_header, is_within, parallel, with_units, yes_or_no
from citewell.answer.verify_findings import Finding, Grade
from citewell.answer.verify_read import Reading, Word, forms, is_light, meanings, read

MAX_NAME_WORDS = 8
"""Words of a cell that a claim can be expected to say whole."""


@lru_cache(maxsize=2048)
def said(row: Row, claimed: str) -> str:
    """What a row says of the matter of a claim: the columns that it names, under the caption.

    A range that stands for every value in it is read as the value that the claim gives.
    """
    claim = read(claimed)
    kept, _ = chosen(row, claim)
    above = [part for part in (row.table.caption, row.heading) if part]
    named = [cell for place, cell in enumerate(kept) if place == 0 or _is_spoken_of(cell, claim)]
    told = [_told(cell, claim, is_key=place == 0) for place, cell in enumerate(named)]
    is_denied = len(named) > 1 and all(yes_or_no(cell.value) is False for cell in named[1:])
    # A denial reaches as far as the next semicolon: “not” in a cell is said of the whole row.
    return (", " if is_denied else "; ").join([*above, *told])


def _is_spoken_of(cell: Cell, claim: Reading) -> bool:
    """Whether a claim says a word of a cell or of its header, or gives a quantity of the same kind."""
    words = {word.form for word in claim.words if word.weight == 1.0}
    senses = {sense for word in claim.words for sense in word.meanings if word.weight == 1.0}
    held = forms(f"{cell.header} {cell.value}")
    if words & held or any(meanings(word) & senses for word in held):
        return True
    amounts = [*quantities(cell.value), *quantities(cell.header)]
    return any(comparable(ours, theirs) for ours in claim.quantities for theirs in amounts)


def _told(cell: Cell, claim: Reading, *, is_key: bool) -> str:
    header, value = _narrowed(cell.header.replace(" / ", " "), claim), cell.value
    if is_key or is_band_header(cell.header):
        value = _narrowed(value, claim)
    applies = yes_or_no(value)
    if applies is not None and header:
        return header if applies else f"not {header}"
    if not header:
        return value
    is_number = value[:1].isdigit() and len(value.split()) == 1
    return f"{header} {value}" if is_number or is_key else f"{header}: {value}"


def _narrowed(text: str, claim: Reading) -> str:
    """A text with each range in which a quantity of the claim lies replaced by that quantity."""
    for band in reversed(quantities(text)):
        ours = next((one for one in claim.quantities if is_within(one, band)), None)
        if ours is not None:
            text = text[: band.start] + ours.text + text[band.end :]
    return text


def is_same_case(claim: Reading, row: Row) -> bool:
    """Whether a claim names what the row is about: its first cell, by a word or a quantity that is only there."""
    key = with_units(row.cells)[0]
    told = _narrowed(key.value, claim)
    if any(agreement(ours, theirs) == Agreement.SAME for ours in claim.quantities for theirs in quantities(told)):
        return True
    words = {word.form for word in claim.words}
    others = frozenset().union(*(forms(cells[0].value) for cells in row.table.rows if cells[0] != row.cells[0]))
    return not words.isdisjoint(forms(key.value) - others)


def swapped(claim: Reading, row: Row) -> Iterator[Finding]:
    """Where a claim has the words of another row, or of a column that it does not name, in place of this row's."""
    kept, dropped = chosen(row, claim)
    there = forms(said(row, claim.text))
    titles = forms(" ".join((row.table.caption, row.heading, *(cell.header for cell in row.cells))))
    columns = {cell.header: cell for cell in kept}
    others = [
        (columns[cell.header], cell) for cells in row.table.rows for cell in with_units(cells) if cell.header in columns
    ]
    groups = parallel(row.table)
    others += [
        (own, other) for other in dropped for own in kept if any({own.header, other.header} <= g for g in groups)
    ]
    for own, other in others:
        word = _put(claim, own.value, other.value, there, titles)
        if word is not None:
            reason = f"the table says “{own.value}” there, not “{other.value}”"
            yield Finding(Grade.AGAINST, "cell", reason, *word)
            return


def _put(claim: Reading, own: str, other: str, there: frozenset[str], titles: frozenset[str]) -> tuple[int, int] | None:
    """Where the claim says another cell and nothing that is only in this one."""
    theirs, ours = forms(other) - forms(own), forms(own) - forms(other)
    words = {word.form: word for word in claim.words if word.form not in titles}
    if not theirs or _is_said(ours, [word for word in words.values() if word.form not in theirs]):
        return None
    stranger = next((word for word in words if word in theirs and word not in there and not is_light(word)), None)
    if stranger is None and len(theirs) <= MAX_NAME_WORDS and theirs <= forms(claim.text):
        stranger = next((word for word in words if word in theirs), None)
    return None if stranger is None else (words[stranger].start, words[stranger].end)


def _is_said(cell: frozenset[str], claimed: Sequence[Word]) -> bool:
    """Whether one of the words of a cell is claimed, or another word for it."""
    senses = {sense for word in claimed for sense in word.meanings}
    said_so = {word.form for word in claimed}
    return any(word in said_so or not senses.isdisjoint(meanings(word)) for word in cell if not word.isdigit())
