"""Clinical things under all their names, and where a text names them.

`mentions` is the reading that everybody uses. Names stand in `tables/names.tsv` and `tables/abbreviations.tsv`,
findings that people put together from several words in `tables/compositions.tsv` and `tables/sites.tsv`; the Human
Phenotype Ontology fills in.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, NamedTuple, cast

from citewell import vocabulary
from citewell.clinical.composed_findings import Composition, compositions, site_pairs
from citewell.clinical.medicines import medicines
from citewell.clinical.spelling_correction import corrected
from citewell.clinical.tables import rows
from citewell.clinical.tokens import SIDES, SKIPPED, Word, fold, stem, words
from citewell.work import spend

Tag = Literal["name", "exact", "drug", "uk", "plain", "lay", "abbrev", "ambiguous", "learned"]
"""What a name is: preferred, another clinical one, another of the same drug, a UK spelling, the plain words of
leaflets, words of a patient or of a note, an abbreviation, an abbreviation that also means other things; or words that
the trained reader takes for it."""

Kind = Literal["symptom", "condition", "test", "procedure", "medicine", "lifestyle", "other"]
"""What a thing is; “other” is none of these, such as a body part or a profession."""

TAGS: tuple[Tag, ...] = ("exact", "plain", "lay")
"""The columns of other names in the table of names."""

NOTHING = "-"
"""The name of the row whose phrases look like a name and are none: “discharge letter”."""

_ABBREVIATION = re.compile(r"(?=[^\W_]*?[A-Z][^\W_]*?[A-Z0-9])[^\W_]++")
_PLAIN = re.compile(r"[^\W_]+(?:&[^\W_]+)?")


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
    kind: Kind = "symptom"
    kept_as: str = ""
    """The id under which it was always kept, where that is not the one of the preferred name."""

    @property
    def name(self) -> str:
        return self.names[0].text

    @property
    def curated(self) -> bool:
        """Whether it was written by hand."""
        return self.id.startswith("CW:")


@dataclass(frozen=True, slots=True)
class NameHit:
    """A name of one concept in a text."""

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
    others: frozenset[str]
    """Words beside which it means something else."""


def key(name: str) -> str:
    """A name of the ontology as it is looked up; an abbreviation keeps its letters, for it is read as written.

    >>> key("Blood in the urine"), key("Gastro-oesophageal reflux"), key("COPD")
    ('blood in urine', 'gastro esophageal reflux', '=COPD')
    """
    if _ABBREVIATION.fullmatch(name):
        return "=" + name
    return " ".join(fold(word) for word in _PLAIN.findall(name) if word not in SKIPPED)


def content(name: Sequence[Word]) -> tuple[str, ...]:
    """The stems of the words of a name that carry its meaning."""
    return tuple(word.stem for word in name if not word.is_filler)


class NamedConcept(NamedTuple):
    """A concept, and by what kind of name it is named."""

    concept: Concept
    tag: Tag
    lead: int = 0
    """How many words of the name only have to stand before it: “(no) temperature”."""


class _Own(NamedTuple):
    """The names of Citewell's own table, as they are looked up."""

    whole: dict[tuple[str, ...], list[NamedConcept]]
    """By all their words."""
    content: dict[tuple[str, ...], list[NamedConcept]]
    """By the stems of the words that carry meaning, in any order that people write."""
    longest: dict[str, int]
    """How many words a name may have that begins with a word, or with the stem of one."""


MOST_FILLERS = 4
MOST_PLAIN = 50_000
"""Words of texts that are remembered as beginning no name."""
LINKS = frozenset(
    """when with after before between since during not no cannot and or than without down out off for over under behind
    through round around that do all time""".split()
)
"""Words of a name that link others: such a name has one order."""
TURNED = 3
"""Words of a name that may stand in another order: “haematuria visible”."""


class Lexicon:
    """Finds concepts in a text: the longest name first, exact offsets, abbreviations as they are written."""

    def __init__(self, curated: Iterable[Concept], abbreviations: Iterable[Abbreviation]) -> None:
        self.concepts = {concept.id: concept for concept in curated}
        self._own = _Own({}, {}, {})
        self._letters: dict[str, list[NamedConcept]] = {}
        """Abbreviations as they are written."""
        for concept in self.concepts.values():
            for name in concept.names:
                if name.text != NOTHING:
                    self._add(concept, name)
        self._turn()
        self._short: dict[str, Abbreviation] = {}
        for abbreviation in abbreviations:
            self._short[abbreviation.short] = abbreviation
            if abbreviation.any_case:
                self._short.setdefault(abbreviation.short.casefold(), abbreviation)
        self._table: list[str] = []
        self._ontology_names: dict[str, str] = {}
        self._lines: dict[str, str] = {}
        self._known: dict[str, dict[str, int]] = {}
        self._longest: dict[str, int] = {}
        self._plain: set[str] = set()
        """Words that were seen to begin no name, as most do."""

    def _add(self, concept: Concept, name: Name) -> None:
        said = list(words(name.text))
        is_short = name.tag in ("abbrev", "ambiguous") or _ABBREVIATION.fullmatch(name.text) is not None
        if (is_short and len(said) == 1) or name.text.startswith("="):
            self._letters.setdefault(name.text.removeprefix("="), []).append(NamedConcept(concept, name.tag))
            return
        lead = sum(1 for _ in words(name.text.partition(")")[0])) if name.text.startswith("(") else 0
        whole, meant = tuple(word.folded for word in words(name.text.replace(")", ""))), content(said)
        _once(self._own.whole.setdefault(whole, []), NamedConcept(concept, name.tag, lead))
        self._note(whole[0], len(whole))
        if len(meant) > 1 and not lead and concept.name != NOTHING and not any(word.folded in SIDES for word in said):
            _once(self._own.content.setdefault(meant, []), NamedConcept(concept, name.tag))
            self._note(meant[0], len(meant))

    def _note(self, first: str, size: int) -> None:
        self._own.longest[first] = max(size, self._own.longest.get(first, 0))

    def _turn(self) -> None:
        """Short names also with the last word first or the first word last."""
        for meant, named in list(self._own.content.items()):
            if len(meant) <= TURNED and LINKS.isdisjoint(meant):
                for other in {(meant[-1], *meant[:-1]), (*meant[1:], meant[0])}:
                    if other not in self._own.content:
                        self._own.content[other] = named
                        self._note(other[0], len(other))

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

    @classmethod
    def forget(cls) -> None:
        """Let go of the words of texts that the lexicon that ships with Citewell looked up, where it was loaded."""
        if cls.load.cache_info().currsize:
            lexicon = cls.load()
            lexicon._plain, lexicon._known = set(), {}
            lexicon._longest = {first: size for first, size in lexicon._longest.items() if size}

    def _rows(self, first: str) -> dict[str, int]:
        """The keys of the ontology that begin with a word, and the rows that they name."""
        found = self._known.get(first)
        if found is None:
            line = self._lines.get(first)
            pairs = [entry.rpartition("=") for entry in line.split("|")] if line else []
            found = {place: int(row) for place, _, row in pairs}
            # Lengths first, so that no other thread takes a word for known whose names have no length yet.
            self._longest[first] = max((place.count(" ") + 1 for place in found), default=0)
            self._known[first] = found
        return found

    def find(self, text: str) -> list[NameHit]:
        """Every name, in order, as search looks for it; names do not overlap, and one of two concepts gives two hits.

        >>> text = "Chest pain, no blood in my urine"
        >>> [(text[hit.start : hit.end], hit.concept.name) for hit in Lexicon.load().find(text)][-2:]
        [('blood in my urine', 'haematuria'), ('blood in my urine', 'Hematuria')]
        """
        return [
            NameHit(said[0].start, said[-1].end, _unnarrowed(concept) if tag == "lay" else concept, tag)
            for said, named in self.among(list(words(text)))
            for concept, tag, _ in named
            if concept.name != NOTHING
        ]

    def among(
        self, said: Sequence[Word], *, in_notes: bool = False
    ) -> Iterator[tuple[Sequence[Word], list[NamedConcept]]]:
        """The words of each name, and the concepts that it names, Citewell's own first.

        In notes an abbreviation with several meanings is read as the listed one.
        """
        present = frozenset(word.folded for word in said)
        at = 0
        while at < len(said):
            named, size = self._at(said, at, present, in_notes=in_notes)
            if named:
                yield said[at + named[0].lead : at + size], named
            at += size

    def _at(
        self, said: Sequence[Word], at: int, present: frozenset[str], *, in_notes: bool
    ) -> tuple[list[NamedConcept], int]:
        """The concepts whose name starts at a word, and how many words it takes."""
        spend()
        first = said[at]
        if first.text in self._plain:
            return [], 1
        short = self._short_key(first.text, present, in_notes=in_notes)
        if short is not None:
            named, size = self._lettered(short), 1
        else:
            named, size = [], 1
        for longer, length in (self._own_at(said, at), self._ontology_at(said, at)):
            if length > size or (length == size == 1 and short is None):
                named, size = ([*named, *longer] if length == size else longer), max(length, 1)
            elif longer and length == size > 1:
                named = [*named, *longer]
        if not named and short is None and not self._may_begin(first) and len(self._plain) < MOST_PLAIN:
            self._plain.add(first.text)
        return named, size

    def _may_begin(self, word: Word) -> bool:
        own = self._own.longest
        return max(own.get(word.folded, 0), own.get(word.stem, 0), self._longest.get(word.folded, 0)) > 1

    def _own_at(self, said: Sequence[Word], at: int) -> tuple[list[NamedConcept], int]:
        """The longest name of Citewell's own table that starts at a word; one with all its words comes first."""
        first, longest = said[at], self._own.longest
        best: tuple[list[NamedConcept], int] = ([], 0)
        if (reach := longest.get(first.folded, 0)) > 0:
            size = 1
            while size < min(reach, len(said) - at) and said[at + size].joins:
                size += 1
            for length in range(size, 0, -1):
                if named := self._own.whole.get(tuple(word.folded for word in said[at : at + length])):
                    best = named, length
                    break
        if first.is_filler or (reach := longest.get(first.stem, 0)) < 2:
            return best
        meant, fillers, size = [first.stem], 0, 1
        while len(meant) < reach and fillers <= MOST_FILLERS and at + size < len(said) and said[at + size].joins:
            word = said[at + size]
            size += 1
            if word.is_filler:
                fillers += 1
                continue
            fillers = 0
            meant.append(word.stem)
            if size > best[1] and (named := self._own.content.get(tuple(meant))):
                best = named, size
        return best

    def _ontology_at(self, said: Sequence[Word], at: int) -> tuple[list[NamedConcept], int]:
        """The longest name of the ontology that starts at a word."""
        first = said[at]
        if first.text in SKIPPED:
            return [], 0
        known = self._rows(first.folded)
        if not known:
            return [], 0
        reach = self._longest[first.folded]
        folded, sizes = [first.folded], [1]
        size = 1
        while len(folded) < reach and at + size < len(said) and said[at + size].joins:
            word = said[at + size]
            size += 1
            if word.text not in SKIPPED:
                folded.append(word.folded)
                sizes.append(size)
        for length in range(len(folded), 0, -1):
            place = " ".join(folded[:length])
            if (row := known.get(place)) is not None:
                return [_of_row(self._table[row], place)], sizes[length - 1]
        return [], 0

    def ontology_name(self, concept_id: str) -> str:
        """The preferred name of a concept of the ontology."""
        if not self._ontology_names:
            self._ontology_names = {line.split("\t", 2)[0]: line.split("\t", 2)[1] for line in self._table if line}
        return self._ontology_names[concept_id]

    def in_ontology(self, name: str) -> Concept | None:
        """The concept of the ontology that a whole name stands for."""
        said = list(words(name))
        named, size = self._ontology_at(said, 0) if said else ([], 0)
        return named[0].concept if named and size == len(said) else None

    def _short_key(self, word: str, present: frozenset[str], *, in_notes: bool) -> str | None:
        """An abbreviation as it is listed, “” for one that means something else here, None for other words."""
        listed = self._short.get(word) or self._short.get(word.casefold())
        if listed is not None and (listed.any_case or listed.short == word):
            is_meant = in_notes or not listed.context or not listed.context.isdisjoint(present)
            return listed.short if is_meant and listed.others.isdisjoint(present) else ""
        if word in self._letters:
            return word
        return word if _ABBREVIATION.fullmatch(word) and "=" + word in self._lines else None

    def _lettered(self, short: str) -> list[NamedConcept]:
        named = list(self._letters.get(short, ()))
        row = self._rows("=" + short).get("=" + short) if short and not named else None
        return named if row is None else [_of_row(self._table[row], "=" + short)]


def _once(named: list[NamedConcept], new: NamedConcept) -> None:
    """Add a concept; of two names that are looked up as one, the first counts."""
    if all(other.concept.id != new.concept.id for other in named):
        named.append(new)


@lru_cache(maxsize=5_000)
def _unnarrowed(concept: Concept) -> Concept:
    """What a patient's words are searched by: visible haematuria is looked for as haematuria."""
    concepts, words = Lexicon.load().concepts, set(concept.name.split())
    wider = (concepts[one] for one in sorted(broader({concept.id})) if one in concepts)
    return next((other for other in wider if set(other.name.split()) < words), concept)


def _of_row(line: str, place: str) -> NamedConcept:
    concept = _concept(line)
    return NamedConcept(concept, next(name.tag for name in concept.names if key(name.text) == place))


@lru_cache(maxsize=5_000)
def _concept(line: str) -> Concept:
    """The concept of a row of the ontology: id, name, then other names with their tags."""
    identifier, name, *others = line.split("\t")
    cells = (cell.partition(":") for cell in others)
    names = (Name(name, "name"), *(Name(text, cast(Tag, tag)) for tag, _, text in cells))
    return Concept(identifier, names, ontology_kind(name))


@cache
def _kinds() -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    return tuple((cast(Kind, kind), re.compile(pattern, re.IGNORECASE)) for kind, pattern in rows("ontology.tsv"))


def ontology_kind(name: str) -> Kind:
    """What a concept of the ontology is, by its name; most are symptoms and signs."""
    return next((kind for kind, pattern in _kinds() if pattern.search(name)), "symptom")


def _concepts(meanings: dict[str, list[Name]]) -> Iterator[Concept]:
    """Citewell's own concepts, each with the abbreviations that mean it."""
    for kind, name, *columns in rows("names.tsv"):
        *cells, kept_as = [*columns, *[""] * (len(TAGS) + 1)][: len(TAGS) + 1]
        others = (Name(text, tag) for tag, cell in zip(TAGS, cells, strict=True) for text in cell.split("|") if text)
        names = (Name(name, "name"), *others, *meanings.pop(name, ()))
        yield Concept(identifier(name), names, cast(Kind, kind), kept_as)
    if meanings:
        raise ValueError(f"abbreviations.tsv names what names.tsv does not: {sorted(meanings)}")


def identifier(name: str) -> str:
    """The id of a concept of Citewell's own table."""
    return "CW:" + name.replace(" ", "-")


def _abbreviations() -> tuple[list[Abbreviation], dict[str, list[Name]]]:
    """The abbreviations, and which of them each meaning has."""
    abbreviations, meanings = [], dict[str, list[Name]]()
    for short, meaning, case, *context in rows("abbreviations.tsv"):
        beside = [word for cell in context for word in cell.split()]
        near = frozenset(fold(word) for word in beside if word[0] != "-")
        near |= frozenset(fold(word) for word in meaning.split()) if near else frozenset()
        others = frozenset(fold(word[1:]) for word in beside if word[0] == "-")
        abbreviations.append(Abbreviation(short, case == "any", near, others))
        meanings.setdefault(meaning, []).append(Name(short, "ambiguous" if near else "abbrev"))
    return abbreviations, meanings


@dataclass(frozen=True, slots=True)
class Mention:
    """Where a text names something clinical."""

    start: int
    end: int
    name: str
    """The preferred name."""
    id: str
    """The concept: of the ontology where it has one, else of Citewell's table; none for a medicine."""
    ids: frozenset[str]
    """All concepts of that name: “CW:…” of Citewell's table, “HP:…” of the ontology."""
    kind: Kind
    tag: Tag
    corrected: str | None = None
    """The word that a misspelt one is read as."""
    parts: tuple[tuple[int, int], ...] = ()
    """Where its words stand, if others stand between them."""

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        return self.parts or ((self.start, self.end),)


LONGEST_REMEMBERED = 2_000
MOST_NEAR = 8
"""How many findings that words make together may stand in one place."""


def mentions(text: str) -> list[Mention]:
    """Everything clinical that a text names, in order; what stands inside a longer name is part of it.

    >>> [(mention.name, mention.kind) for mention in mentions("Lump on the side of my neck, PR bleeding, wt loss")]
    [('neck lump', 'symptom'), ('rectal bleeding', 'symptom'), ('weight loss', 'symptom')]
    """
    return list(_remembered(text) if len(text) <= LONGEST_REMEMBERED else _mentions(text))


@lru_cache(maxsize=10_000)
def _remembered(text: str) -> tuple[Mention, ...]:
    return _mentions(text)


def _mentions(text: str) -> tuple[Mention, ...]:
    said = [_read(word) for word in words(text)]
    named = list(Lexicon.load().among(said, in_notes=True))
    found = [_mention(part, concepts) for part, concepts in named if _is_named(concepts)]
    composed = [_composed(composition) for composition in compositions(text, said, [part for part, _ in named])]
    return tuple(_with_medicines(_apart(found, composed), text))


def _with_medicines(found: Sequence[Mention], text: str) -> list[Mention]:
    """Names and medicines; a medicine comes before a name that it overlaps, unless it is a part of that name."""
    taken = [
        Mention(medicine.start, medicine.end, medicine.name, "", frozenset(), "medicine", "name")
        for medicine in medicines(text)
    ]
    starts = [mention.start for mention in taken]
    named: list[Mention] = []
    whole: set[Mention] = set()
    for one in found:
        low = max(bisect_right(starts, one.start) - 1, 0)
        near = [drug for drug in taken[low : bisect_left(starts, one.end)] if drug.end > one.start]
        is_longer = all(one.start <= drug.start and drug.end <= one.end for drug in near) and one.kind != "medicine"
        if not near or (
            is_longer and not one.parts and any(one.end - one.start > drug.end - drug.start for drug in near)
        ):
            named.append(one)
            whole.update(near)
    return sorted(
        (*named, *(drug for drug in taken if drug not in whole)), key=lambda mention: (mention.start, mention.end)
    )


def _read(word: Word) -> Word:
    """A word, a misspelt one as the word that it is read as."""
    right = corrected(word.text)
    return (
        word
        if right is None
        else word._replace(text=right, folded=fold(right), stem=stem(fold(right)), corrected=right)
    )


def _is_named(named: Sequence[NamedConcept]) -> bool:
    """Whether a name stands for something; the ontology also names what is said of things, such as “severe”."""
    return (named[0].concept.curated and named[0].concept.name != NOTHING) or any(
        not concept.curated and ontology_kind(concept.name) != "other" for concept, _, _ in named
    )


def _mention(said: Sequence[Word], named: Sequence[NamedConcept]) -> Mention:
    concept = own(named[0].concept)
    ids = frozenset(one for concept, _, _ in named for one in ids_of(concept))
    right = ", ".join(word.corrected for word in said if word.corrected) or None
    return Mention(said[0].start, said[-1].end, concept.name, id_of(concept), ids, concept.kind, named[0].tag, right)


def _composed(composition: Composition) -> Mention:
    concept = named_concept(composition.name)
    start, end = composition.parts[0][0], max(end for _, end in composition.parts)
    return Mention(
        start,
        end,
        concept.name,
        id_of(concept),
        ids_of(concept),
        concept.kind,
        "lay",
        composition.corrected,
        composition.parts,
    )


def _apart(found: Sequence[Mention], composed: Sequence[Mention]) -> list[Mention]:
    """Names and what is put together, without names that are only words of it, and nothing twice in one place."""
    parts = {place for mention in composed for place in mention.parts}
    named = [mention for mention in found if (mention.start, mention.end) not in parts]
    starts = [mention.start for mention in named]
    dropped: set[Mention] = set()
    chosen: list[Mention] = []
    for one in sorted(composed, key=lambda mention: (mention.start, mention.end)):
        low = max(bisect_right(starts, one.start) - 1, 0)
        near = [
            other
            for other in (*named[low : bisect_left(starts, one.end)], *chosen[-MOST_NEAR:])
            if other.start < one.end and one.start < other.end
        ]
        if any(one.ids & other.ids or one.ids & broader(other.ids) for other in near):
            continue
        dropped.update(other for other in near if other.ids & broader(one.ids))
        chosen.append(one)
    return sorted(
        (mention for mention in (*named, *chosen) if mention not in dropped),
        key=lambda mention: (mention.start, mention.end),
    )


@cache
def _same() -> dict[str, frozenset[str]]:
    """For each concept of Citewell's table the ids of the ontology's concept of the same name, and the other way."""
    lexicon, found = Lexicon.load(), dict[str, set[str]]()
    for concept in lexicon.concepts.values():
        for name in concept.names:
            if name.tag in ("name", "exact") and (same := lexicon.in_ontology(name.text)) is not None:
                if same.id not in found:
                    found.setdefault(concept.id, set()).add(same.id)
                    found[same.id] = {concept.id}
                break
    return {one: frozenset(others) for one, others in found.items()}


def ids_of(concept: Concept) -> frozenset[str]:
    """The ids under which a concept is known."""
    return frozenset({concept.id}) | _same().get(concept.id, frozenset())


def id_of(concept: Concept) -> str:
    """The one id that is kept: the ontology's, where it has the concept."""
    if concept.kept_as:
        return concept.kept_as
    return min(_same().get(concept.id, ()), default=concept.id) if concept.curated else concept.id


@lru_cache(maxsize=5_000)
def kept_name(mention: Mention) -> str:
    """The name that goes with the id that is kept: the ontology's for one of its own."""
    lexicon = Lexicon.load()
    if not mention.id:
        return mention.name
    if mention.id.startswith("HP:"):
        return lexicon.ontology_name(mention.id)
    names = (name.text for id_ in mention.ids if id_ in lexicon.concepts for name in lexicon.concepts[id_].names)
    return next((name for name in names if identifier(name) == mention.id), mention.id[3:].replace("-", " "))


def own(concept: Concept) -> Concept:
    """Citewell's own concept of the same thing, where its table has one."""
    if concept.curated:
        return concept
    return next((Lexicon.load().concepts[one] for one in _same().get(concept.id, ())), concept)


@lru_cache(maxsize=5_000)
def named_concept(name: str) -> Concept:
    """The concept of a name; a concept of its own where no table has it."""
    said = list(words(name))
    for part, named in Lexicon.load().among(said, in_notes=True):
        if len(part) == len(said) and _is_named(named):
            return own(named[0].concept)
    return Concept(identifier(name), (Name(name, "name"),))


@lru_cache(maxsize=20_000)
def concept_ids(name: str) -> frozenset[str]:
    """The concepts that a whole text names; none where it says more or less."""
    whole = (0, len(name))
    return frozenset(id_ for mention in mentions(name) if (mention.start, mention.end) == whole for id_ in mention.ids)


@cache
def _broader() -> dict[str, frozenset[str]]:
    """The broader concepts of each concept, and what is broader than these."""
    above: dict[str, set[str]] = {}
    pairs = [*((narrow, broad) for narrow, broad in rows("broader.tsv")), *site_pairs()]
    for narrow, broad in pairs:
        for one in ids_of(named_concept(narrow)):
            above.setdefault(one, set()).update(ids_of(named_concept(broad)))
    return {one: frozenset(_above(one, above)) for one in above}


def _above(one: str, above: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [one]
    while waiting:
        new = above.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def broader(ids: Iterable[str]) -> frozenset[str]:
    """What things are a kind of: an epigastric mass is an abdominal mass.

    >>> broader(concept_ids("epigastric mass")) >= concept_ids("abdominal mass")
    True
    """
    return frozenset(broad for id_ in ids for broad in _broader().get(id_, ()))
