"""A row of a table as a sentence: the columns that a claim speaks of, what they say, and what they say otherwise."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

from citewell import vocabulary
from citewell.answer.denial_cues import denials
from citewell.answer.table_rows import RowCell, RowTable, TableRow
from citewell.answer.verify.amounts import AmountMatch, agreement, comparable
from citewell.answer.verify.claim_words import ContentWord, ReadSentence, form, forms, is_light, meanings, read
from citewell.answer.verify.coverage import names_of
from citewell.answer.verify.denials import denials_differ
from citewell.answer.verify.mismatches import Mismatch, MismatchGrade
from citewell.answer.verify.named_things import Topic
from citewell.clinical.medicines import medicines
from citewell.clinical.quantities import BARE, Quantity, quantities
from citewell.sentences import STOP_WORDS

MOSTLY = 0.5
"""Share of the rows in which two columns must hold the same kind of thing to stand for each other."""

_UNIT = re.compile(r"(?:(?<!\s)\s+)?\(([^()]{1,40})\)\s*\Z")
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
    match = _UNIT.search(header)
    unit = match.group(1).replace(",", "") if match else ""
    if match is None or any(sign.isdigit() for sign in unit):
        return header, ""
    return (header[: match.start()], unit) if _is_unit(unit) else (header, "")


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
    if not unit or not given or any(quantity.dimension != BARE for quantity in given):
        return value
    return _LAST_NUMBER.sub(lambda match: f"{match.group()} {unit}", value, count=1)


def with_units(cells: Sequence[RowCell], caption: str) -> tuple[RowCell, ...]:
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
        RowCell(header, with_unit(cell.value, unit or (whole if place else "")))
        for place, (cell, header, unit) in enumerate(told)
    )


# ------------------------------------------------------------------------------------------- columns side by side


@lru_cache(maxsize=512)
def parallel(table: RowTable) -> tuple[frozenset[str], ...]:
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
    held = frozenset(quantity.dimension for quantity in quantities(value))
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
    return frozenset(quantity.dimension for quantity in quantities(header) if quantity.dimension != BARE)


def chosen(row: TableRow, claim: ReadSentence) -> tuple[tuple[RowCell, ...], tuple[RowCell, ...]]:
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


def _score(header: str, group: frozenset[str], said: frozenset[str], claim: ReadSentence) -> float:
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
    if is_within(ours, theirs) or agreement(ours, theirs) == AmountMatch.SAME:
        return 1.0
    return 0.5 if agreement(ours, theirs) == AmountMatch.CLOSE else 0.0


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


MAX_NAME_WORDS = 8
"""Words of a cell that a claim can be expected to say whole."""


@dataclass(frozen=True, slots=True)
class RowStatement:
    """What a row says of the matter of a claim, as a sentence and in its parts."""

    above: str
    """The caption, and the heading inside the table."""
    case: str
    """What the row is about: its first cell."""
    values: str
    """The cells under the headers that the claim names."""
    answers: str
    """The same; of a cell that denies something, without its header."""

    @property
    def text(self) -> str:
        return "; ".join(part for part in (self.above, self.case, self.values) if part)


@lru_cache(maxsize=2048)
def said(row: TableRow, claimed: str) -> RowStatement:
    """What a row says of the matter of a claim: the columns that it names, under the caption.

    A range that stands for every value in it is read as the value that the claim gives.
    """
    claim = read(claimed)
    key, *rest = chosen(row, claim)[0]
    values = {cell: _told(cell, claim, is_key=False) for cell in rest if _is_spoken_of(cell, claim)}
    answers = [cell.value if yes_or_no(cell.value) is None and denials(cell.value) else values[cell] for cell in values]
    above = "; ".join(part for part in (row.table.caption, _narrowed(row.heading, claim)) if part)
    return RowStatement(above, _told(key, claim, is_key=True), "; ".join(values.values()), "; ".join(answers))


def denials_in(claim: ReadSentence, source: ReadSentence, row: RowStatement | None) -> list[Mismatch]:
    """Where one of the two denies what the other says; a claim denies the value of a row, not its case.

    Under a caption that denies (“Hours without food”) a plain cell denies too, and no more can be told.
    """
    if row is None:
        return denials_differ(claim, source)
    if read(row.above).denials:
        return []
    case = read(row.case)
    return [*denials_differ(claim, read(row.answers)), *(denials_differ(claim, case) if case.denials else ())]


def _is_spoken_of(cell: RowCell, claim: ReadSentence) -> bool:
    """Whether a claim says a word of a cell or of its header, or gives a quantity of the same kind."""
    words = {word.form for word in claim.words if word.weight == 1.0}
    senses = {sense for word in claim.words for sense in word.meanings if word.weight == 1.0}
    held = forms(f"{cell.header} {cell.value}")
    if words & held or any(meanings(word) & senses for word in held):
        return True
    amounts = [*quantities(cell.value), *quantities(cell.header)]
    return any(comparable(ours, theirs) for ours in claim.quantities for theirs in amounts)


def _told(cell: RowCell, claim: ReadSentence, *, is_key: bool) -> str:
    header, value = _narrowed(cell.header.replace(" / ", " "), claim), cell.value
    if is_key or is_band_header(cell.header):
        value = _narrowed(value, claim)
    applies = yes_or_no(value)
    if applies is not None and header:
        return header if applies else f"{'no' if is_none(value) else 'not'} {header}"
    if not header:
        return value
    if is_key and value.isdigit():
        header = _numbered(header, value)
    is_number = value[:1].isdigit() and len(value.split()) == 1
    return f"{header} {value}" if is_number or is_key else f"{header}: {value}"


def _numbered(header: str, value: str) -> str:
    """A header that ends in what is numbered: under “Day of life”, 3 is day 3."""
    what = header.split(maxsplit=1)[0]
    is_label = any(quantity.dimension.startswith("label") for quantity in quantities(f"{what} {value}"))
    return f"{header} {what}" if is_label and what != header else header


def _narrowed(text: str, claim: ReadSentence) -> str:
    """A text with each range that a quantity of the claim lies in, or gives without its unit, as the claim has it."""
    for band in reversed(quantities(text)):
        ours = next(
            (quantity for quantity in claim.quantities if is_within(quantity, band) or _is_unitless(quantity, band)),
            None,
        )
        if ours is not None:
            text = text[: band.start] + ours.text + text[band.end :]
    return text


def _is_unitless(ours: Quantity, theirs: Quantity) -> bool:
    """Whether a claim gives the same number and leaves out the unit, which the header has."""
    return ours.dimension == BARE and (ours.written, ours.sign) == (theirs.written, theirs.sign)


def is_same_case(claim: ReadSentence, row: TableRow) -> bool:
    """Whether a claim names what the row is about: its first cell, by a word or a quantity that is only there.

    Where several rows are about one thing, as about pneumonia, their medicine may tell which of them is meant.
    """
    key = with_units(row.cells, row.table.caption)[0]
    told = _narrowed(key.value, claim)
    if any(agreement(ours, theirs) == AmountMatch.SAME for ours in claim.quantities for theirs in quantities(told)):
        return True
    words, cases, own = {word.form for word in claim.words}, _cases(row.table), forms(row.cells[0].value)
    if any(word in words and cases[word] == (word in own) for word in forms(key.value)):
        return True
    named = frozenset(word for word in words if word in cases)
    drugs = names_of(claim.medicines)
    return bool(named and drugs) and [row.cells] == [
        cells for cells in row.table.rows if named <= forms(cells[0].value) and drugs <= _given(cells)
    ]


@lru_cache(maxsize=2048)
def _given(cells: tuple[RowCell, ...]) -> frozenset[str]:
    """The medicines that a row names beside its case."""
    return frozenset().union(*(names_of(medicines(cell.value)) for cell in cells[1:]))


def is_other_case(known: Sequence[Topic], row: TableRow) -> bool:
    """Whether a claim names a condition that other rows are about, and this one does not name."""
    own = forms(" ".join((row.table.caption, row.heading, *(cell.value for cell in row.cells))))
    absent = [topic for topic in known if not topic.is_in(own)]
    return any(topic.is_in(forms(cells[0].value)) for topic in absent for cells in row.table.rows)


@lru_cache(maxsize=512)
def _cases(table: RowTable) -> Counter[str]:
    """In how many first cells of a table each word stands."""
    firsts = dict.fromkeys(cells[0] for cells in table.rows)
    return Counter(word for first in firsts for word in forms(first.value))


@lru_cache(maxsize=512)
def _columns(table: RowTable) -> dict[str, tuple[RowCell, ...]]:
    """The different cells of each column, by its header."""
    columns: dict[str, dict[RowCell, None]] = {}
    for cells in table.rows:
        for cell in with_units(cells, table.caption):
            columns.setdefault(cell.header, {})[cell] = None
    return {header: tuple(cells) for header, cells in columns.items()}


def swapped(claim: ReadSentence, row: TableRow, known: Sequence[Topic] = ()) -> Iterator[Mismatch]:
    """Where a claim has the words of another row, or of a column that it does not name, in place of this row's.

    The words of a name are one: who coughs up blood has no cough where the row says haemoptysis.
    """
    kept, dropped = chosen(row, claim)
    there = forms(said(row, claim.text).text)
    titles = forms(" ".join((row.table.caption, row.heading, *(cell.header for cell in row.cells))))
    columns = _columns(row.table)
    others = [(own, other) for own in kept for other in columns.get(own.header, ())]
    groups = parallel(row.table)
    others += [
        (own, other) for other in dropped for own in kept if any({own.header, other.header} <= g for g in groups)
    ]
    named = [topic for topic in known if topic.is_in(there)]
    words = {
        word.form: word
        for word in claim.words
        if word.form not in titles and not any(topic.start <= word.start < topic.end for topic in named)
    }
    for own, other in others:
        if any(topic.is_in(forms(own.value)) and not topic.is_in(forms(other.value)) for topic in named):
            continue
        if own != kept[0] and forms(other.value) <= forms(row.cells[0].value):
            continue  # its own case, which another row has in this column
        word = _put(claim.text, words, own.value, other.value, there)
        if word is not None:
            reason = f"the table says “{own.value}”, not “{other.value}”"
            yield Mismatch(MismatchGrade.AGAINST, "cell", reason, *word)
            return


def apart(claim: ReadSentence, row: TableRow) -> Iterator[Mismatch]:
    """Where a claim says how often an amount is given, and the row says that in another cell than the amount."""
    cells = [quantities(cell.value) for cell in chosen(row, claim)[0][1:]]
    for before, after in pairwise(claim.quantities):
        if before.dimension == "period" or after.dimension != "period":
            continue
        given, often = _holding(before, cells), _holding(after, cells)
        said_there = [quantity.text for place in given for quantity in cells[place] if quantity.dimension == "period"]
        if given and often and said_there and given.isdisjoint(often):
            reason = f"the table says “{said_there[0]}” for “{before.text}”, not “{after.text}”"
            yield Mismatch(MismatchGrade.AGAINST, "cell", reason, after.start, after.end)


def _holding(wanted: Quantity, cells: Sequence[Sequence[Quantity]]) -> frozenset[int]:
    """The places of the cells that hold a quantity."""
    return frozenset(
        place
        for place, held in enumerate(cells)
        if any(agreement(wanted, quantity) == AmountMatch.SAME for quantity in held)
    )


def _put(
    claimed: str, words: dict[str, ContentWord], own: str, other: str, there: frozenset[str]
) -> tuple[int, int] | None:
    """Where the claim says another cell and nothing that is only in this one."""
    theirs, ours = forms(other) - forms(own), forms(own) - forms(other)
    if not theirs or _is_said(ours, [word for word in words.values() if word.form not in theirs]):
        return None
    stranger = next((word for word in words if word in theirs and word not in there and not is_light(word)), None)
    if stranger is None and len(theirs) <= MAX_NAME_WORDS and theirs <= forms(claimed):
        stranger = next((word for word in words if word in theirs), None)
    return None if stranger is None else (words[stranger].start, words[stranger].end)


def _is_said(cell: frozenset[str], claimed: Sequence[ContentWord]) -> bool:
    """Whether one of the words of a cell is claimed, or another word for it."""
    senses = {sense for word in claimed for sense in word.meanings}
    said_so = {word.form for word in claimed}
    return any(word in said_so or not senses.isdisjoint(meanings(word)) for word in cell if not word.isdigit())
