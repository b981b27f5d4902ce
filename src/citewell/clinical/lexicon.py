"""The concept lexicon: clinical things under all their names, and where a text mentions them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, NamedTuple, cast

from citewell import vocabulary
from citewell.vocabulary.spelling import us_spelling

Tag = Literal["name", "exact", "drug", "uk", "plain", "lay", "abbrev", "ambiguous"]
"""What a name is: preferred, another clinical one, another of the same drug, a UK spelling, the plain words of
leaflets, a patient's words, an abbreviation, an abbreviation that also means other things."""

SKIPPED = frozenset("the my your his her our their".split())
"""Words that may stand inside a name without changing it: “blood in my urine”."""

_WORD = re.compile(r"[^\W_]+(?:&[^\W_]+)?")
_GAP = re.compile(r"[\s\-‐‑–'’]*")
_ABBREVIATION = re.compile(r"[^\W_]*[A-Z][^\W_]*[A-Z0-9][^\W_]*")


@dataclass(frozen=True, slots=True)
class Name:
    """One of the names of a concept."""

    text: str
    tag: Tag


@dataclass(frozen=True, slots=True)
class Concept:
    """A clinical thing and its names, the preferred one first."""

    id: str
    """“HP:…” is from the Human Phenotype Ontology, “CW:…” from Citewell's own table."""
    names: tuple[Name, ...]

    @property
    def name(self) -> str:
        return self.names[0].text

    @property
    def curated(self) -> bool:
        """Whether it was written for search, by hand."""
        return self.id.startswith("CW:")


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a text names a concept, and by what kind of name."""

    start: int
    end: int
    concept: Concept
    tag: Tag


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """A short form; with context words it is read only where one of them stands near."""

    short: str
    any_case: bool
    context: frozenset[str]


@lru_cache(maxsize=100_000)
def fold(word: str) -> str:
    """A word as it is compared: lower case, US spelling, singular.

    >>> [fold(word) for word in ("Haemorrhoids", "babies", "stress", "diagnosis", "tumours")]
    ['hemorrhoid', 'baby', 'stress', 'diagnosis', 'tumor']
    """
    word = us_spelling(word.casefold())
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def key(name: str) -> str:
    """A name as it is looked up; an abbreviation keeps its letters, for it is read as written.

    >>> key("Blood in the urine"), key("Gastro-oesophageal reflux"), key("COPD")
    ('blood in urine', 'gastro esophageal reflux', '=COPD')
    """
    if _ABBREVIATION.fullmatch(name):
        return "=" + name
    return " ".join(fold(word) for word in _WORD.findall(name) if word not in SKIPPED)


MOST_PLAIN = 50_000
"""Words of texts that are remembered as beginning no name."""


def joins(text: str, end: int, start: int) -> bool:
    """Whether only space, a hyphen or an apostrophe stands between two words, so that a name may run over both.

    >>> joins("hepatitis A", 9, 10), joins("hepatitis, a biopsy", 9, 11)
    (True, False)
    """
    return _GAP.fullmatch(text, end, start) is not None


class _Word(NamedTuple):
    start: int
    end: int
    text: str
    folded: str
    joins: bool
    """Whether only space or a hyphen stands between it and the word before."""


def _words(text: str) -> Iterator[_Word]:
    end, skipped = 0, False
    for match in _WORD.finditer(text):
        word = match.group()
        is_joined = joins(text, end, match.start()) and (skipped or end > 0)
        end = match.end()
        skipped = word in SKIPPED and is_joined
        if not skipped:
            yield _Word(match.start(), end, word, fold(word), is_joined)


class Lexicon:
    """Finds concepts in a text: the longest name first, exact offsets, abbreviations as they are written."""

    def __init__(self, curated: Iterable[Concept], abbreviations: Iterable[Abbreviation]) -> None:
        self._curated: dict[str, list[tuple[Concept, Tag]]] = {}
        self._longest: dict[str, int] = {}
        self._short: dict[str, Abbreviation] = {}
        for concept in curated:
            for name in concept.names:
                whole = name.tag in ("abbrev", "ambiguous") and _WORD.fullmatch(name.text)
                place = "=" + name.text if whole else key(name.text)
                self._curated.setdefault(place, []).append((concept, name.tag))
                self._note_length(place)
        for abbreviation in abbreviations:
            self._short[abbreviation.short] = abbreviation
            if abbreviation.any_case:
                self._short.setdefault(abbreviation.short.casefold(), abbreviation)
        self._table: list[str] = []
        self._lines: dict[str, str] = {}
        self._known: dict[str, dict[str, int]] = {}
        self._plain: set[str] = set()
        """Words that were seen to begin no name, as most do."""

    @classmethod
    @cache
    def load(cls) -> Lexicon:
        """The lexicon that ships with Citewell; read once."""
        abbreviations, meanings = _abbreviations()
        lexicon = cls(_concepts(meanings), abbreviations)
        lexicon._read_ontology()
        return lexicon

    def _read_ontology(self) -> None:
        """The ontology's table and keys as lines; a line is taken apart when it is first needed."""
        self._table = vocabulary.packed_lines("hpo.tsv.gz")
        lines = (line.partition("\t") for line in vocabulary.packed_lines("hpo-keys.gz"))
        self._lines = {first: rest for first, _, rest in lines}

    def _rows(self, first: str) -> dict[str, int]:
        """The keys of the ontology that begin with a word, and the rows that they name."""
        rows = self._known.get(first)
        if rows is None:
            line = self._lines.get(first)
            pairs = [entry.rpartition("=") for entry in line.split("|")] if line else []
            rows = {place: int(row) for place, _, row in pairs}
            for place in rows:  # first, so that no other thread takes a word for known whose names have no length yet
                self._note_length(place)
            self._known[first] = rows
        return rows

    def _note_length(self, place: str) -> None:
        first, size = place.split(" ", 1)[0], place.count(" ") + 1
        self._longest[first] = max(size, self._longest.get(first, 0))

    def find(self, text: str) -> list[Mention]:
        """Every mention, in order; names do not overlap, and a name of two concepts gives two mentions.

        >>> text = "Chest pain, no blood in my urine"
        >>> [(text[found.start : found.end], found.concept.name) for found in Lexicon.load().find(text)]
        [('Chest pain', 'Chest pain'), ('blood in my urine', 'haematuria'), ('blood in my urine', 'Hematuria')]
        """
        words = list(_words(text))
        present = frozenset(word.folded for word in words)
        found: list[Mention] = []
        at = 0
        while at < len(words):
            mentions, size = self._at(words, at, present)
            found += mentions
            at += max(size, 1)
        return found

    def _at(self, words: list[_Word], at: int, present: frozenset[str]) -> tuple[list[Mention], int]:
        """The mentions that start at a word, and how many words they take."""
        first = words[at]
        if first.text in self._plain:
            return [], 1
        size = 1
        self._rows(first.folded)
        reach = self._longest.get(first.folded, 1)
        longest = min(reach, len(words) - at)
        while size < longest and words[at + size].joins:
            size += 1
        while size > 1:
            named = self._named(" ".join(word.folded for word in words[at : at + size]))
            if named:
                return [Mention(first.start, words[at + size - 1].end, *pair) for pair in named], size
            size -= 1
        short = self._short_key(first.text, present)
        named = self._named(short or first.folded)
        if reach == 1 and short is None and not named and len(self._plain) < MOST_PLAIN:
            self._plain.add(first.text)
        return [Mention(first.start, first.end, *pair) for pair in named], 1

    def _short_key(self, word: str, present: frozenset[str]) -> str | None:
        """The key of a word that is an abbreviation here; None for other words."""
        listed = self._short.get(word) or self._short.get(word.casefold())
        if listed is not None and (listed.any_case or listed.short == word):
            readable = not listed.context or bool(listed.context & present)
            return "=" + listed.short if readable else "= "
        return "=" + word if _ABBREVIATION.fullmatch(word) and "=" + word in self._lines else None

    def _named(self, place: str) -> list[tuple[Concept, Tag]]:
        """The concepts of a key, Citewell's own first."""
        named = list(self._curated.get(place, ()))
        row = self._rows(place.partition(" ")[0]).get(place)
        if row is not None and not (place.startswith("=") and named):
            concept = _concept(self._table[row])
            tag = next(name.tag for name in concept.names if key(name.text) == place)
            named.append((concept, tag))
        return named


@lru_cache(maxsize=5_000)
def _concept(line: str) -> Concept:
    """The concept of a row: id, name, then other names with their tags."""
    identifier, name, *others = line.split("\t")
    return Concept(identifier, (Name(name, "name"), *_tagged(others)))


def _tagged(cells: Iterable[str]) -> Iterator[Name]:
    for cell in cells:
        tag, _, text = cell.partition(":")
        yield Name(text, cast(Tag, tag))


def _concepts(meanings: dict[str, list[Name]]) -> Iterator[Concept]:
    """Citewell's own concepts, each with the abbreviations that mean it."""
    for name, *others in vocabulary.rows("concepts.tsv"):
        yield Concept(_identifier(name), (Name(name, "name"), *_tagged(others), *meanings.pop(name, ())))
    for name, shorts in meanings.items():
        yield Concept(_identifier(name), (Name(name, "name"), *shorts))


def _identifier(name: str) -> str:
    return "CW:" + name.replace(" ", "-")


def _abbreviations() -> tuple[list[Abbreviation], dict[str, list[Name]]]:
    """The abbreviations, and which of them each meaning has."""
    found, meanings = [], dict[str, list[Name]]()
    for short, meaning, case, *context in vocabulary.rows("abbreviations.tsv"):
        words = frozenset(fold(word) for cell in context for word in cell.split())
        found.append(Abbreviation(short, case == "any", words))
        meanings.setdefault(meaning, []).append(Name(short, "ambiguous" if words else "abbrev"))
    return found, meanings
