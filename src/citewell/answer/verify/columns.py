"""Which columns of a row a claim speaks of: of columns that stand for each other, those whose header it names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache, lru_cache

from citewell import vocabulary
from citewell.answer.rows import Cell, Row, Table
from citewell.answer.verify.agreement import Agreement, agreement, comparable
from citewell.answer.verify.read import Reading, form, forms, is_light, meanings
from citewell.clinical.quantities import BARE, Quantity, quantities
from citewell.words import STOP_WORDS

MOSTLY = 0.5
"""Share of the rows in which two columns must hold the same kind of thing to stand for each other."""

_UNIT = re.compile(r"\s*\(([^()]{1,40})\)\s*\Z")
_LAST_NUMBER = re.compile(r"\d[\d.,]*(?![^\d]*\d)")


@cache
def words_for(kind: str) -> frozenset[str]:
    """What the table of cells lists under one kind."""
    return frozenset(word for name, words in vocabulary.rows("cells.tsv") if name == kind for word in words.split("|"))


def yes_or_no(value: str) -> bool | None:
    """Whether a cell says that its header applies, or that it does not; None where it says something else.

    >>> [yes_or_no(value) for value in ("Yes", "Not recommended", "5 mg")]
    [True, False, None]
    """
    plain = value.strip(" .").casefold()
    return True if plain in words_for("yes") else False if plain in words_for("no") or is_none(value) else None


def is_none(value: str) -> bool:
    """Whether a cell says that there is nothing of what its header names."""
    return value.strip(" .").casefold() in words_for("none")


@lru_cache(maxsize=4096)
def unit_of(header: str) -> tuple[str, str]:
    """A header without the unit that it gives in brackets, and that unit.

    >>> unit_of("Dose (mg, once a week)"), unit_of("Some (mild)")
    (('Dose', 'mg once a week'), ('Some (mild)', ''))
    """
    found = _UNIT.search(header)
    unit = found.group(1).replace(",", "") if found else ""
    if found is None or any(sign.isdigit() for sign in unit):
        return header, ""
    return (header[: found.start()], unit) if _is_unit(unit) else (header, "")


def _is_unit(text: str) -> bool:
    """Whether a text is a unit of measure, such as “mg once a week”, or a rate."""
    measured = quantities(f"2 {text}")
    return (bool(measured) and measured[0].dimension != BARE and measured[0].start == 0) or _is_rate(text)


def _is_rate(unit: str) -> bool:
    """Whether a thing is counted by time, as in “beats per minute”."""
    return re.fullmatch(r"\w+(?:/| per )(?:second|minute|min|hour|h|day)", unit) is not None


def with_unit(value: str, unit: str) -> str:
    """A value with the unit of its column, if it has none.

    >>> with_unit("30 or more", "kg"), with_unit("5 mg", "g"), with_unit("not known", "g")
    ('30 kg or more', '5 mg', 'not known')
    """
    given = quantities(value)
    if not unit or not given or any(one.dimension != BARE for one in given):
        return value
    return _LAST_NUMBER.sub(lambda found: f"{found.group()} {unit}", value, count=1)


def with_units(cells: Sequence[Cell], caption: str) -> tuple[Cell, ...]:
    """The cells of a row, each number with the unit that its header, a column of units or the caption gives."""
    # A first column of that name holds wards, and a cell that is no unit is none of the others'.
    units = {
        cell.header: cell.value
        for cell in cells[1:]
        if cell.header.casefold() in words_for("unit") and _is_unit(cell.value)
    }
    whole = next(iter(units.values()), unit_of(caption)[1])
    told = [(cell, *unit_of(cell.header)) for cell in cells if cell.header not in units]
    # What a row is about, its first cell says: a day, a weight, a name; the unit of the values is not its own.
    return tuple(
        Cell(header, with_unit(cell.value, unit or (whole if place else "")))
        for place, (cell, header, unit) in enumerate(told)
    )


# ------------------------------------------------------------------------------------------- columns side by side


@lru_cache(maxsize=512)
def parallel(table: Table) -> tuple[frozenset[str], ...]:
    """Groups of headers whose columns stand for each other, as those of two groups of people or of three doses do."""
    rows = [with_units(row, table.caption) for row in table.rows]
    keys = frozenset(row[0].header for row in rows if row)
    kinds = [{cell.header: _kinds(cell.value) for cell in row} for row in rows]
    groups: list[set[str]] = []
    for header in dict.fromkeys(cell.header for row in rows for cell in row):
        near = [group for group in groups if any(_stand_for(header, other, kinds, keys) for other in group)]
        groups = [group for group in groups if group not in near] + [{header}.union(*near)]
    return tuple(frozenset(group) for group in groups if len(group) > 1)


def _kinds(value: str) -> frozenset[str]:
    """What a cell holds: amounts by their dimension, or yes and no."""
    if yes_or_no(value) is not None:
        return frozenset(("yes or no",))
    held = frozenset(one.dimension for one in quantities(value))
    return held - {"period"} or held


def _stand_for(one: str, other: str, kinds: Sequence[dict[str, frozenset[str]]], keys: frozenset[str]) -> bool:
    """Whether two columns share a word of their headers, or mostly hold the same kind of thing.

    What the rows are about must do both, as the upper and the lower number of a blood pressure do.
    """
    is_named = bool(_named(one) & _named(other) or _dimensions(one) & _dimensions(other))
    if keys & {one, other}:
        is_named = bool(_words(one) & _words(other))
    both = [row for row in kinds if row.get(one) and row.get(other)]
    is_alike = sum(bool(row[one] & row[other]) for row in both) > MOSTLY * len(both)
    return is_named and is_alike if keys & {one, other} else is_named or is_alike


@lru_cache(maxsize=4096)
def _named(header: str) -> frozenset[str]:
    return frozenset(
        word for word in forms(header) if not is_light(word) and word not in STOP_WORDS and not word.isdigit()
    )


def _dimensions(header: str) -> frozenset[str]:
    return frozenset(one.dimension for one in quantities(header) if one.dimension != BARE)


def chosen(row: Row, claim: Reading) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
    """The cells of a row that a claim may speak of, and those of the columns beside them that it does not name."""
    cells = with_units(row.cells, row.table.caption)
    said = forms(claim.text)
    dropped: set[str] = set()
    for group in parallel(row.table):
        scores = {header: _score(header, group, said, claim) for header in group}
        best = max(scores.values())
        if best > 0:
            dropped |= {header for header, score in scores.items() if score < best}
    return (
        tuple(cell for cell in cells if cell.header not in dropped),
        tuple(cell for cell in cells if cell.header in dropped),
    )


def _score(header: str, group: frozenset[str], said: frozenset[str], claim: Reading) -> float:
    """How much of what tells a header from those beside it a claim says."""
    if re.search(rf"\bafter\s+(?:the\s+|that\s+)?{re.escape(header)}\b", claim.text, re.IGNORECASE):
        return 0.0  # “after the first year” is what comes later
    words = {other: _words(other) for other in group}
    own = words[header] - frozenset.intersection(*words.values())
    # A word that is a header itself is no other word for the header beside it, as “women” would be for “men”.
    free = said - frozenset().union(*words.values())
    senses = frozenset(sense for word in free for sense in meanings(word))
    named = sum(word in said or not senses.isdisjoint(meanings(word)) for word in own)
    amounts = sum(max((_match(ours, theirs) for ours in claim.quantities), default=0) for theirs in quantities(header))
    # Of two headers of which as many words are said, the one that is said whole goes before.
    return named + 2 * amounts + 0.5 * named / max(1, len(own))


@lru_cache(maxsize=4096)
def _words(header: str) -> frozenset[str]:
    """The words of a header, without those of its quantities: the “over” of “over 10%” is no name."""
    for amount in reversed(quantities(header)):
        header = f"{header[: amount.start]} {header[amount.end :]}"
    return frozenset(word for word in forms(header) if word not in STOP_WORDS and not word.isdigit())


def _match(ours: Quantity, theirs: Quantity) -> float:
    if is_within(ours, theirs) or agreement(ours, theirs) == Agreement.SAME:
        return 1.0
    return 0.5 if agreement(ours, theirs) == Agreement.CLOSE else 0.0


# ------------------------------------------------------------------------------------------------------- bands


def is_within(ours: Quantity, band: Quantity) -> bool:
    """Whether all that one quantity may be lies within the range or limit that another one gives.

    >>> ten, more, years = (quantities(text)[0] for text in ("10 to 15 kg", "≥ 30 kg", "12 years"))
    >>> twelve, over = (quantities(text)[0] for text in ("12 kg", "over 40 kg"))
    >>> is_within(twelve, ten), is_within(over, more), is_within(twelve, more), is_within(years, ten)
    (True, True, False, False)
    """
    is_band = band.shape == "range" or band.sign != "="
    if not is_band or band.shape == "pair" or ours.shape == "pair" or not comparable(ours, band):
        return False
    if ours.written == band.written and ours.unit != band.unit and BARE not in (ours.dimension, band.dimension):
        return False  # the same number in another unit is a slip and not another case
    is_bare = BARE in (ours.dimension, band.dimension) and ours.dimension != band.dimension
    low, high = _ends(ours, is_bare=is_bare)
    least, most = _ends(band, is_bare=is_bare)
    return low >= least and high <= most


def _ends(amount: Quantity, *, is_bare: bool) -> tuple[tuple[float, int], tuple[float, int]]:
    """From where to where a quantity reaches; an end that does not belong to it lies just beyond the number."""
    values = amount.written if is_bare else amount.values
    low, high = (min(values), 0), (max(values), 0)
    if amount.sign in (">", ">="):
        return (low[0], int(amount.sign == ">")), (math.inf, 0)
    if amount.sign in ("<", "<="):
        return (-math.inf, 0), (high[0], -int(amount.sign == "<"))
    return low, high


def is_band_header(header: str) -> bool:
    """Whether a range under a header stands for every value in it."""
    bands = {form(word) for word in words_for("band")}
    return not bands.isdisjoint(forms(header))
