"""Where the words of a C-CDA entry stand in the narrative that was signed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from citewell.adapters.parsers.markup_flow import local_name
from citewell.adapters.records.cda_values import Element, named_element, said_within, section_of
from citewell.clinical.medicines import medicines
from citewell.types import Document

ENOUGH = 0.5
"""The part of a name's words that a line must hold to speak of the same."""
CANDIDATES = 100
"""Lines that are looked at for one entry."""
ROWS = frozenset({"tr", "item", "paragraph"})
"""What is written as one line."""
MAX_ROW_CHARACTERS = 4_000
"""What is longer is a text of its own and no line of a list."""
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)?")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBER = re.compile(r"\d*\.?\d+")
_BRACKETS = re.compile(r"\[[^\]]{0,300}\]")
_PLAIN = frozenset("a an and by for from in of on or the to with".split())
_DIGITS = re.compile(r"[\d.,]+")
_MAX_BLOCKS_READ = 20_000
Words = frozenset[str]


def words_of(text: str) -> Words:
    """The words of a text as they are compared: without case, without the s of the plural, humps also taken apart.

    >>> sorted(words_of("HeartRate of Eggs 2.5"))
    ['2.5', 'egg', 'heart', 'heartrate', 'of', 'rate']
    """
    found = _WORD.findall(text)
    humps = (part for word in found for part in _HUMP.split(word) if _HUMP.search(word))
    return frozenset(_singular(word.casefold()) for word in (*found, *humps))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def name_words(name: str) -> Words:
    """The words of a name that tell it from others: no amounts, and nothing that stands in brackets for laboratories.

    >>> sorted(name_words("Creatinine [Mass/volume] in Serum"))
    ['creatinine', 'serum']
    """
    found = frozenset(_singular(word.casefold()) for word in _WORD.findall(_BRACKETS.sub(" ", name))) - _PLAIN
    return frozenset(word for word in found if not _DIGITS.fullmatch(word)) or found


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the narrative that holds the name of an entry."""

    start: int
    end: int
    text: str
    coverage: float = 1.0
    """The part of the name that it holds."""
    called: str | None = None
    """What it calls a medicine instead."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What the line of an entry is known by."""

    section: Element
    names: tuple[str, ...]
    """Any of these."""
    details: Words
    references: tuple[str, ...]
    """The ids of the narrative that the entry refers to, the most telling first."""
    value: float | None = None


class Narrative:
    """The words that were signed, so that those of an entry are found quickly."""

    def __init__(self, document: Document, sections: Mapping[Element, range]) -> None:
        self.document, self._sections = document, sections
        self._held = [words_of(document.text[block.start : block.end]) for block in document.blocks]
        self._places: dict[str, list[int]] = {}
        for number, block in enumerate(document.blocks):
            if block.kind != "heading" and block.end - block.start <= MAX_ROW_CHARACTERS:
                for word in self._held[number]:
                    self._places.setdefault(word, []).append(number)
        self._shared: dict[Element, Counter[str]] = {}
        self._rows: dict[tuple[Element, str], int | None] = {}
        self._medicines: dict[Element, dict[str, list[int]]] = {}

    def tell_names(self, names: Mapping[Element, Mapping[str, Words]]) -> None:
        """Say what the entries of each section are called, so that a word of several names tells none of them."""
        self._shared = {
            section: Counter(word for words in held.values() for word in words) for section, held in names.items()
        }

    def find(self, sought: Sought) -> Place | None:
        """The line that an entry refers to, if it holds its name; else the line of its section that does; or none."""
        return self.find_referred(sought) or self._best(self._candidates(sought), sought, is_referred=False)

    def find_referred(self, sought: Sought) -> Place | None:
        """The line that an entry refers to, if it holds its name."""
        rows = (self._row(sought.section, reference) for reference in sought.references)
        return self._best([row for row in rows if row is not None], sought, is_referred=True)

    def _best(self, numbers: Iterable[int], sought: Sought, *, is_referred: bool) -> Place | None:
        scored = ((self._score(number, sought, is_referred=is_referred), number) for number in numbers)
        told = [(score, number) for score, number in scored if score[0] > 0]
        if not told:
            return None
        score, number = max(told, key=lambda one: (one[0], -one[1]))
        return self._place(number, coverage=score[0])

    def find_medicine(self, sought: Sought) -> Place | None:
        """The line that calls a medicine by another of its names, as the brand on its box."""
        wanted = {medicine.name for name in sought.names for medicine in medicines(name) if not medicine.is_class}
        by_name = self._medicines_of(sought.section) if wanted else {}
        there = [set(by_name.get(name, ())) for name in wanted]
        numbers = set.intersection(*there) if there else set()
        if not numbers:
            return None
        rows = [self._row(sought.section, reference) for reference in sought.references]
        first = next((row for row in rows if row in numbers), None)
        best = max(numbers, key=lambda number: (len(sought.details & self._held[number]), -number))
        place = self._place(best if first is None else first)
        called = (medicine for medicine in medicines(place.text) if medicine.name in wanted)
        return replace(place, called=next((place.text[one.start : one.end] for one in called), None))

    def person(self, name: str) -> Place | None:
        """Where a person is named, if they are."""
        wanted = words_of(name)
        rarest = min((self._places.get(word, []) for word in wanted), key=len, default=[])
        best = next((number for number in rarest if wanted <= self._held[number]), None)
        return None if best is None else self._place(best)

    # ------------------------------------------------------------------------------------------------- which line it is

    def _score(self, number: int, sought: Sought, *, is_referred: bool) -> tuple[float, bool, int]:
        coverage = max(self._coverage(number, name, sought, is_referred=is_referred) for name in sought.names)
        return coverage, self._has_value(number, sought), len(sought.details & self._held[number])

    def _coverage(self, number: int, name: str, sought: Sought, *, is_referred: bool) -> float:
        """The part of a name that a line holds; nothing where that part might as well be of another name."""
        wanted, held = name_words(name), self._held[number]
        there = wanted & held
        if not wanted or len(there) < ENOUGH * len(wanted):
            return 0.0
        shared = self._shared.get(sought.section, Counter())
        is_telling = is_referred or there == wanted or any(shared[word] <= 1 for word in there)
        return len(there) / len(wanted) if is_telling or self._has_value(number, sought) else 0.0

    def _has_value(self, number: int, sought: Sought) -> bool:
        return sought.value is not None and self.says_value(number, sought.value)

    def says_value(self, number: int, value: float) -> bool:
        """Whether a line holds a number, as exactly as it was written."""
        block = self.document.blocks[number]
        return holds_number(self.document.text[block.start : block.end], value)

    def _candidates(self, sought: Sought) -> set[int]:
        """Blocks that hold some of the words, found by the rarest of them first."""
        here = self._sections.get(sought.section, range(0))
        wanted = frozenset(word for name in sought.names for word in name_words(name))
        found: set[int] = set()
        for word, (first, last) in sorted(self._spread(wanted, here), key=lambda told: told[1][1] - told[1][0]):
            if last - first > CANDIDATES:  # of many lines with this word those that hold the details as well
                for detail, (start, stop) in self._spread(sought.details, here):
                    near = self._places[detail][start : min(stop, start + CANDIDATES)]
                    found.update(number for number in near if word in self._held[number])
            found.update(self._places[word][first : min(last, first + CANDIDATES)])
            if len(found) >= CANDIDATES:
                break
        return found

    def _spread(self, words: Words, here: range) -> list[tuple[str, tuple[int, int]]]:
        """Each word that stands in these blocks, with the part of its places that is there."""
        spread = []
        for word in words:
            places = self._places.get(word, [])
            first, last = bisect_left(places, here.start), bisect_left(places, here.stop)
            if first < last:
                spread.append((word, (first, last)))
        return spread

    def _row(self, section: Element, reference: str) -> int | None:
        """The block that was written from the row or line with this id."""
        key = (section, reference)
        if key not in self._rows:
            element = named_element(section, reference)
            self._rows[key] = None if element is None else self._block_of(element)
        return self._rows[key]

    def _block_of(self, element: Element) -> int | None:
        section = section_of(element)
        if section is None or section not in self._sections:
            return None
        row = next((one for one in (element, *element.iterancestors()) if local_name(one) in ROWS), None)
        for part in (row, element):
            words = words_of("" if part is None else said_within(part, MAX_ROW_CHARACTERS))
            spread = self._spread(words, self._sections[section])
            if words and len(spread) == len(words):
                word, (first, last) = min(spread, key=lambda told: told[1][1] - told[1][0])
                for number in self._places[word][first : min(last, first + CANDIDATES)]:
                    if words <= self._held[number]:
                        return number
        return None

    def _medicines_of(self, section: Element) -> dict[str, list[int]]:
        """Which lines of a section name which medicine; read once."""
        if section not in self._medicines:
            found: dict[str, list[int]] = {}
            for number in self._sections.get(section, range(0))[:_MAX_BLOCKS_READ]:
                block = self.document.blocks[number]
                if block.kind != "heading" and block.end - block.start <= MAX_ROW_CHARACTERS:
                    for medicine in medicines(self.document.text[block.start : block.end]):
                        found.setdefault(medicine.name, []).append(number)
            self._medicines[section] = found
        return self._medicines[section]

    def _place(self, number: int, *, coverage: float = 1.0) -> Place:
        block = self.document.blocks[number]
        return Place(block.start, block.end, self.document.text[block.start : block.end], coverage)


def holds_number(text: str, value: float) -> bool:
    """Whether a text holds a number, as exactly as it is written there.

    >>> holds_number("27.8 kg/m2", 27.807), holds_number("120/80 mmHg", 80), holds_number("1.5 mg", 15)
    (True, True, False)
    """
    return any(round(value, _decimals(found)) == float(found) for found in _NUMBER.findall(text))


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])
