"""What the papers of a record say of something, word for word: looked up before anybody is told “no”."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from citewell.assistants.records.fact_places import is_coded
from citewell.assistants.records.intents import Intent, Intents
from citewell.assistants.records.named_facts import Names, is_kin
from citewell.assistants.records.papers import day_of, tells
from citewell.assistants.records.tables import rows
from citewell.clinical.languages import whole_words
from citewell.clinical.medicines import medicines
from citewell.clinical.quantities import known_days
from citewell.sentences import sentences, terms
from citewell.types import Document, Hit, LibraryEntry

MOST = 6
"""Sentences of papers that one answer quotes."""
NEAR = 0.5
"""Relevance from which a passage is about what is asked for, whatever its words."""
PART = 4
"""Letters from which one word of several says what is meant."""
LONGEST = 300
"""Characters above which a sentence is no sentence, but a page without full stops: of it, the line counts."""


HEADING_WORDS = 4
"""Words up to which a line of an export is the heading of a table, which tells nothing."""
BY_CUE = frozenset({Intent.NEXT, Intent.DUE})
"""Wishes that papers answer in words of their own, whatever is named: “we will see you again in May”."""


@dataclass(frozen=True, slots=True)
class PaperMention:
    """Where a paper speaks of something."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PaperQuote:
    """Words of a paper, with its name."""

    title: str
    text: str
    place: PaperMention


Spoken = Callable[[str], bool]
Paper = tuple[LibraryEntry, Document]


def mentions(names: Names, wanted: Intents, papers: Sequence[Paper]) -> list[PaperMention]:
    """The sentences of papers that name what a question names; else those of the kind, or of the day, it asks for."""
    if wanted.all & BY_CUE and (paper_mentions := _found(_kind(wanted), papers)):
        return paper_mentions
    written = [paper for paper in papers if not is_coded(paper[0])]  # exports: by headings and meaning (sections.py)
    if not names.names_something:
        return _of_time(wanted, papers) if wanted.since else _found(_kind(wanted), written)
    allergies = (
        [_has_cue(Intent.ALLERGIES)] if Intent.ALLERGIES in wanted else []
    )  # those are told whatever is asked for
    loosely = [*map(_has_terms, names.about(())), *allergies]
    named = [*_found(_named(names), papers), *_found(loosely, written)][:MOST]
    return list(dict.fromkeys(named)) or _found(_in_part(names), written)


def _of_time(wanted: Intents, papers: Sequence[Paper]) -> list[PaperMention]:
    """What papers of a time say, and where others name a day of it."""
    of_it = [paper for paper in papers if (day := day_of(*paper)) and wanted.is_inside(day)]
    return list(dict.fromkeys([*_found([tells], of_it), *_found(_kind(wanted), papers)]))[:MOST]


def _found(spoken: Sequence[Spoken], papers: Sequence[Paper]) -> list[PaperMention]:
    paper_mentions: list[PaperMention] = []
    for entry, document in papers:
        for start, end in _said(entry, document):
            if is_coded(entry) and len(document.text[start:end].split()) <= HEADING_WORDS:
                continue
            if any(fits(document.text[start:end]) for fits in spoken):
                paper_mentions.append(PaperMention(entry.id, start, end))
                if len(paper_mentions) == MOST:
                    return paper_mentions
    return paper_mentions


def quotes_of(wish: str, papers: Sequence[Paper]) -> list[PaperQuote]:
    """The sentences of papers that speak of a kind of fact, such as allergies."""
    texts = {entry.id: (entry.title, document.text) for entry, document in papers}
    paper_mentions = _found(_kind(Intents(frozenset({Intent(wish)}))), papers)
    return [
        PaperQuote(
            texts[mention.document_id][0],
            " ".join(texts[mention.document_id][1][mention.start : mention.end].split()),
            mention,
        )
        for mention in paper_mentions
    ]


def spoken_of(names: Names) -> list[Spoken]:
    """How a sentence speaks of what a question names, in whole or in part."""
    return [*_named(names), *map(_has_terms, names.about(())), *_in_part(names)]


def on_topic(hits: Sequence[Hit], names: Names) -> list[Hit]:
    """The passages that have a word of what is asked for, or are so near that they need none."""
    spoken = spoken_of(names)
    return [hit for hit in hits if not spoken or hit.relevance >= NEAR or any(fits(hit.text) for fits in spoken)]


def speaks_of(pattern: re.Pattern[str], papers: Sequence[Paper]) -> list[LibraryEntry]:
    """The papers that name a test as records call it, or by its sign with a number."""
    sign = _signs().get(pattern.pattern)
    return [
        entry
        for entry, document in papers
        if pattern.search(document.text) or (sign is not None and sign.search(document.text))
    ]


def _named(names: Names) -> list[Spoken]:
    """How a sentence names the medicines, classes, tests and other things of a question."""
    spoken: list[Spoken] = []
    if names.medicines or names.classes:
        spoken.append(lambda text: any(_is_meant(names, text)))
    for words, test in names.tests:
        if not any(words in of_class for of_class, _ in names.class_words):
            spoken += _test(words, test)
    plain = [_speaks_plainly(words, pattern) for words, pattern in names.lay]
    return [*spoken, *plain, *map(_has_words, names.also)]


def _in_part(names: Names) -> list[Spoken]:
    """How a sentence names a part of it: “the knee is swollen” for a swollen left knee."""
    return [_has_terms(word) for phrase in names.about(()) for word in phrase.split() if len(word) >= PART]


def _has_terms(words: str) -> Spoken:
    """Whether a sentence has these words in any form."""
    wanted = set(terms(words))
    return lambda text: bool(wanted) and wanted <= set(terms(text))


def _is_meant(names: Names, text: str) -> Iterator[bool]:
    for held in medicines(text):
        yield held.family in names.classes or any(is_kin(medicine, held) for medicine in names.medicines)


def _test(words: str, test: re.Pattern[str]) -> list[Spoken]:
    anywhere = test.pattern.replace("^", r"\b")
    said = re.compile(rf"\b(?:{re.escape(words.removesuffix('s'))}s?)\b|{anywhere}", re.IGNORECASE)
    sign = _signs().get(test.pattern)
    return [lambda text: bool(said.search(text)), *([lambda text: bool(sign.search(text))] if sign else [])]


def _speaks_plainly(words: str, name: re.Pattern[str]) -> Spoken:
    """Whether a sentence has a thing by the name that records give it, or in the patient's own words."""
    said = _has_terms(words)
    return lambda text: name.search(text) is not None or said(text)


def _has_words(words: str) -> Spoken:
    """Whether a sentence has these words as they are, whatever their case."""
    said = re.compile(rf"\b{re.escape(words)}\b", re.IGNORECASE)
    return lambda text: bool(said.search(text))


def _kind(wanted: Intents) -> list[Spoken]:
    """How a sentence speaks of a time that is asked for, or of the kind of fact."""
    if wanted.since is not None and wanted.until is not None and (wanted.until - wanted.since).days > 1:
        return [lambda text: any(wanted.is_inside(day) for day in known_days(text))]
    if wanted.since is not None and wanted.until is not None:
        day = wanted.since
        written = rf"\b0?{day.day}(?:st|nd|rd|th)? (?:{day:%B}|{day:%b})\.?,? {day.year}\b|\b{day:%Y-%m-%d}\b"
        written += rf"|\b0?{day.day}[./]0?{day.month}[./]{day.year}\b"
        dated = re.compile(written, re.IGNORECASE)
        return [lambda text: bool(dated.search(text))]
    wish = next((wish for wish, _ in _cues() if wish in wanted), None)
    if wish is None:
        return []
    return [_has_cue(wish), *([lambda text: bool(medicines(text))] if wish is Intent.MEDICINES else [])]


def _has_cue(wish: Intent) -> Spoken:
    cue = dict(_cues())[wish]
    return lambda text: bool(cue.search(text))


@cache
def _cues() -> tuple[tuple[Intent, re.Pattern[str]], ...]:
    return tuple((Intent(wish), whole_words(words)) for wish, words in rows("paper_words.tsv"))


@cache
def _signs() -> dict[str, re.Pattern[str]]:
    return {
        name: re.compile(rf"(?<![\w])(?:{signs})(?![\w])[^\w\n]{{0,6}}\d") for name, signs in rows("test_signs.tsv")
    }


_PLACES: dict[tuple[str, int], tuple[tuple[int, int], ...]] = {}
MOST_PLACES = 2_000


def _said(entry: LibraryEntry, document: Document) -> tuple[tuple[int, int], ...]:
    """Where the sentences of a paper stand; kept without a word of it, since every question asks again."""
    key = entry.content_hash, len(document.text)
    places = _PLACES.get(key)
    if places is None:
        if len(_PLACES) >= MOST_PLACES:
            _PLACES.clear()
        places = _PLACES[key] = tuple(said_in(document.text))
    return places


def said_in(text: str) -> Iterator[tuple[int, int]]:
    """The sentences of a paper; of a page without full stops, its lines."""
    for start, end in sentences(text):
        if end - start <= LONGEST and not _is_table(text[start:end]):
            yield start, end
            continue
        at = start
        for line in text[start:end].splitlines(keepends=True):
            if line.strip():
                first = at + len(line) - len(line.lstrip())
                yield first, at + len(line.rstrip())
            at += len(line)


def _is_table(text: str) -> bool:
    """Whether most lines of a text end in numbers, as those of a laboratory do."""
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 2 and sum(any(char.isdigit() for char in line) for line in lines) * 2 > len(lines)
