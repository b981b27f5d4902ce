"""Findings that people put together from words that stand near each other: “lump on the side of my neck”.

`tables/compositions.tsv` lists findings by their parts. `tables/sites.tsv` lists qualities (pain, lump, rash …) and
parts of the body: a quality near a part is a finding of its own, and one of every part around it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

from citewell.clinical.tables import rows
from citewell.clinical.tokens import Word, words

NEAR_WORDS = 6
"""The parts of a finding stand at most so many words from each other."""
LONG_NAME = 3
"""A name of so many words says what it means; its words stand for nothing else."""
PAIR = 2
NEAR_SITE = 6
"""A quality and its part of the body stand at most so many words from each other."""

_PUNCTUATION = re.compile(r"[;,.:!?\n()/]")
_BREAKS = frozenset("and but with also plus or no nor without denies denied denying nil except although".split())
"""Words across which nothing is put together."""
_LISTING = frozenset("and or".split())
"""Words that may list several qualities or parts of the body: “pain and swelling of the knee”."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Composition:
    """A finding, and where the words stand that make it."""

    name: str
    parts: tuple[Place, ...]
    corrected: str | None = None


def compositions(text: str, said: Sequence[Word], named: Sequence[Sequence[Word]]) -> list[Composition]:
    """The findings that words of a text make together; words of a long name are not free to make others."""
    long = {word.start for name in named if sum(not word.is_filler for word in name) >= LONG_NAME for word in name}
    names = {word.start: at for at, name in enumerate(named) if len(name) > 1 for word in name}
    free = ([word for word in clause if word.start not in long] for clause in _clauses(text, said))
    found: list[Composition] = []
    by_part: dict[Place, list[set[Place]]] = {}
    for one in (
        *(composition for clause in free for composition in _listed(clause)),
        *_at_sites(text, said, long, names),
    ):
        inside = {names.get(start) for start, _ in one.parts}
        is_a_name = len(one.parts) == PAIR and len(inside) == 1 and None not in inside
        parts = set(one.parts)
        if not is_a_name and not any(other >= parts for other in by_part.get(one.parts[0], ())):
            found.append(one)
            for part in parts:
                by_part.setdefault(part, []).append(parts)
    return found


def _clauses(text: str, said: Sequence[Word]) -> Iterator[list[Word]]:
    clause: list[Word] = []
    for before, word in zip([None, *said], said, strict=False):
        is_apart = before is not None and _PUNCTUATION.search(text, before.end, word.start) is not None
        if (is_apart or word.folded in _BREAKS) and clause:
            yield clause
            clause = []
        if word.folded not in _BREAKS:
            clause.append(word)
    if clause:
        yield clause


# ---------------------------------------------------------------------------------------------- findings by their parts


class _Way(NamedTuple):
    """Words that stand for a part of a listed finding."""

    finding: int
    part: int
    stems: tuple[str, ...]


def _stems(phrase: str) -> tuple[str, ...]:
    return tuple(word.stem for word in words(phrase))


@cache
def _findings() -> tuple[tuple[str, int], ...]:
    """Each listed finding and how many parts it has."""
    return tuple((name, len(parts)) for name, *parts in rows("compositions.tsv"))


@cache
def _ways() -> Mapping[str, tuple[_Way, ...]]:
    """For each stem that may open what stands for a part: which finding's, and all its stems."""
    found: dict[str, list[_Way]] = {}
    for finding, (_, *parts) in enumerate(rows("compositions.tsv")):
        for part, others in enumerate(parts):
            for stems in dict.fromkeys(map(_stems, others.split("|"))):
                found.setdefault(stems[0], []).append(_Way(finding, part, stems))
    return {first: tuple(ways) for first, ways in found.items()}


def _listed(clause: Sequence[Word]) -> Iterator[Composition]:
    stems = tuple(word.stem for word in clause)
    places: dict[int, dict[int, dict[int, int]]] = {}
    for at, first in enumerate(stems):
        for way in _ways().get(first, ()):
            if stems[at : at + len(way.stems)] == way.stems:
                part = places.setdefault(way.finding, {}).setdefault(way.part, {})
                part[at] = max(len(way.stems), part.get(at, 0))
    for finding in sorted(places):
        name, count = _findings()[finding]
        parts = [places[finding].get(part, {}) for part in range(count)]
        if all(parts) and (best := _nearest([sorted(part) for part in parts])) is not None:
            spans = [clause[at : at + part[at]] for at, part in zip(best, parts, strict=True)]
            yield _composition(name, spans)


def _composition(name: str, spans: Sequence[Sequence[Word]]) -> Composition:
    places = sorted((span[0].start, span[-1].end) for span in spans)
    corrected = ", ".join(word.corrected for span in spans for word in span if word.corrected)
    return Composition(name, tuple(places), corrected or None)


def _nearest(found: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """One place of each part, no two the same and all as near each other as any; None where none are near.

    Only places within reach of one of the first part are tried: many places cost no more than their number.
    """
    near = []
    for at in found[0]:
        others = [part[bisect_left(part, at - NEAR_WORDS) : bisect_right(part, at + NEAR_WORDS)] for part in found[1:]]
        near += [(at, *one) for one in product(*others)]
    apart = [one for one in near if len(set(one)) == len(one) and max(one) - min(one) <= NEAR_WORDS]
    return min(apart, key=lambda one: max(one) - min(one), default=None)


# ------------------------------------------------------------------------------------ qualities and parts of the body


class _Site(NamedTuple):
    name: str
    classes: frozenset[str]
    above: str
    """The part of the body that it is a part of."""


class _BodySites(NamedTuple):
    qualities: dict[str, frozenset[str]]
    """Each quality and the classes of parts that it goes with; none for all."""
    sites: dict[str, _Site]
    ways: dict[str, tuple[tuple[tuple[str, ...], str, bool], ...]]
    """By first stem: all stems, the quality or the part that they name, and whether it is a quality."""


@cache
def _sites() -> _BodySites:
    table = _BodySites({}, {}, {})
    for what, name, said, classes, *above in rows("sites.tsv"):
        if what == "quality":
            table.qualities[name] = frozenset(filter(None, classes.split("|")))
        else:
            table.sites[name] = _Site(name, frozenset(classes.split("|")), above[0] if above else "")
        for phrase in said.split("|"):
            stems = _stems(phrase)
            ways = ((stems, name, what == "quality"), *table.ways.get(stems[0], ()))
            table.ways[stems[0]] = tuple(sorted(ways, key=lambda way: -len(way[0])))
    return table


def _goes_with(quality: str, site: str) -> bool:
    classes = _sites().qualities[quality]
    return not classes or bool(classes & _sites().sites[site].classes)


def site_pairs() -> Iterator[tuple[str, str]]:
    """Each finding of a part of the body, and the same finding of the part around it."""
    for site in _sites().sites.values():
        for quality in _sites().qualities if site.above else ():
            if _goes_with(quality, site.name):
                yield f"{site.name} {quality}", f"{site.above} {quality}"


class _ComposedWords(NamedTuple):
    """Words that name a quality or a part of the body, and which clause they stand in."""

    first: int
    last: int
    name: str
    is_quality: bool


def _at_sites(text: str, said: Sequence[Word], taken: set[int], names: Mapping[int, int]) -> Iterator[Composition]:
    """Each quality with the parts of the body that stand next to it."""
    pieces = list(_pieces(said, taken))
    groups = list(_groups(text, said, pieces, names))
    for at, group in enumerate(groups):
        if not group[0].is_quality:
            continue
        near = [other for other in groups[max(at - 1, 0) : at + 2] if not other[0].is_quality]
        near = [other for other in near if _is_near(text, said, group, other)]
        if near:
            sites = min(near, key=lambda other: _rank(group, other))
            for quality, site in product(group, sites):
                if _goes_with(quality.name, site.name):
                    parts = [said[composed_words.first : composed_words.last + 1] for composed_words in (quality, site)]
                    yield _composition(f"{site.name} {quality.name}", parts)


def _rank(quality: Sequence[_ComposedWords], site: Sequence[_ComposedWords]) -> tuple[int, bool]:
    """How near a part of the body is to a quality; of two as near, “leg pain” comes before “pain leg”."""
    distance, is_before = _distance(quality, site), site[0].first < quality[0].first
    return distance, not is_before if distance == 1 else is_before


def _pieces(said: Sequence[Word], taken: set[int]) -> Iterator[_ComposedWords]:
    at = 0
    while at < len(said):
        size = 1
        for stems, name, is_quality in _sites().ways.get(said[at].stem, ()):
            span = said[at : at + len(stems)]
            if not is_quality and said[min(at + len(stems), len(said) - 1)].folded == "of":
                continue  # the back of the neck is the neck
            if tuple(word.stem for word in span) == stems and not any(word.start in taken for word in span):
                yield _ComposedWords(at, at + len(stems) - 1, name, is_quality)
                size = len(stems)
                break
        at += size


def _groups(
    text: str, said: Sequence[Word], pieces: Sequence[_ComposedWords], names: Mapping[int, int]
) -> Iterator[list[_ComposedWords]]:
    """Pieces of one sort that a list joins, “arms and legs”; not those of two names: “stiff neck and tummy ache”."""
    group: list[_ComposedWords] = []
    for piece in pieces:
        if group:
            last = group[-1]
            inside = {names.get(said[composed_words.first].start) for composed_words in (last, piece)}
            is_apart = len(inside) > 1 and None not in inside
            if piece.is_quality != last.is_quality or is_apart or not _is_listed(text, said, last, piece):
                yield group
                group = []
        group.append(piece)
    if group:
        yield group


def _is_listed(text: str, said: Sequence[Word], composed_words: _ComposedWords, other: _ComposedWords) -> bool:
    """Whether only small words, “and”, “or”, a comma or a stroke stand between two pieces."""
    between = said[composed_words.last + 1 : other.first]
    marks = _PUNCTUATION.findall(text, said[composed_words.last].end, said[other.first].start)
    joined = [word for word in between if word.folded in _LISTING]
    return (
        all(word.is_filler or word.folded in _LISTING for word in between)
        and all(mark in ",/" for mark in marks)
        and len(joined) + len(marks) <= 2
        and bool(joined or marks)
    )


def _is_near(text: str, said: Sequence[Word], group: Sequence[_ComposedWords], other: Sequence[_ComposedWords]) -> bool:
    first, second = sorted((group, other), key=lambda words: words[0].first)
    between = said[first[-1].last + 1 : second[0].first]
    return (
        _distance(group, other) <= NEAR_SITE
        and not any(word.folded in _BREAKS for word in between)
        and _PUNCTUATION.search(text, said[first[-1].last].end, said[second[0].first].start) is None
    )


def _distance(group: Sequence[_ComposedWords], other: Sequence[_ComposedWords]) -> int:
    first, second = sorted((group, other), key=lambda words: words[0].first)
    return second[0].first - first[-1].last
