"""Holds the words of a guideline against the words of a record: by concept, never by substring."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from citewell.assistants.guidelines.tables import rows
from citewell.clinical import Abbreviation, Concept, Lexicon, Mention, Name, fold
from citewell.words import word_spans

Unit = frozenset[str]
"""One thing that a phrase speaks of: the ids of its concepts, or the word itself."""


@cache
def _own() -> Lexicon:
    concepts = []
    for name, *others in rows("concepts.tsv"):
        texts = dict.fromkeys(turned for one in (name, *others) for turned in (one, *_turned(one)))
        concepts.append(Concept(f"GL:{name}", tuple(Name(one, "abbrev" if one.isupper() else "name") for one in texts)))
    short = {name.text for concept in concepts for name in concept.names if name.tag == "abbrev"}
    return Lexicon(concepts, [Abbreviation(one, any_case=False, context=frozenset()) for one in sorted(short)])


def _turned(name: str) -> list[str]:
    """A short name with its last word first or its first word last, as records have it: “haematuria visible”."""
    words = name.split()
    if not 2 <= len(words) <= 3 or any(fold(word) in _stop() for word in words):
        return []
    return [" ".join([words[-1], *words[:-1]]), " ".join([*words[1:], words[0]])]


@cache
def _alike() -> dict[str, frozenset[str]]:
    """For each concept of ours, the shared lexicon's concepts of the same name; for each broader one, its id."""
    found: dict[str, frozenset[str]] = {}
    for name, *_others in rows("concepts.tsv"):
        mentions = Lexicon.load().find(name)
        found[f"GL:{name}"] = frozenset(one.concept.id for one in mentions if (one.start, one.end) == (0, len(name)))
    return found


@cache
def _broader() -> dict[str, frozenset[str]]:
    """The broader concepts of each concept."""
    found: dict[str, set[str]] = {}
    for narrow, broad in rows("broader.tsv"):
        for one in concept_ids(narrow):
            found.setdefault(one, set()).update(concept_ids(broad))
    return {one: frozenset(ids) for one, ids in found.items()}


@cache
def _stop() -> frozenset[str]:
    return frozenset(fold(word) for (line,) in rows("stop.tsv") for word in line.split())


@lru_cache(maxsize=20_000)
def concept_ids(text: str) -> frozenset[str]:
    """The concepts that a whole text names; none where it says more or less."""
    return frozenset(
        one for found in mentions(text) if (found.start, found.end) == (0, len(text)) for one in _ids(found.concept)
    )


def _ids(concept: Concept) -> frozenset[str]:
    return frozenset({concept.id}) | _alike().get(concept.id, frozenset())


def mentions(text: str) -> list[Mention]:
    """Our own names first, then the shared lexicon's where ours leave words; the longer of two names wins."""
    return list(_mentions(text))


@lru_cache(maxsize=5_000)
def _mentions(text: str) -> tuple[Mention, ...]:
    found = sorted([*_own().find(text), *Lexicon.load().find(text)], key=lambda one: (one.start - one.end, one.start))
    kept: list[Mention] = []
    taken: dict[int, tuple[int, int]] = {}
    for one in found:
        span = (one.start, one.end)
        if all(taken.get(at, span) == span for at in range(*span)):
            taken |= dict.fromkeys(range(*span), span)
            kept.append(one)
    return tuple(sorted(kept, key=lambda one: one.start))


def placed(text: str) -> list[tuple[int, int, Unit]]:
    """The units of a text with their places."""
    return list(_placed(text))


@lru_cache(maxsize=5_000)
def _placed(text: str) -> tuple[tuple[int, int, Unit], ...]:
    spans: dict[tuple[int, int], set[str]] = {}
    for mention in mentions(text):
        spans.setdefault((mention.start, mention.end), set()).update(_ids(mention.concept))
    placed = [(*span, frozenset(ids)) for span, ids in spans.items()]
    taken = {at for span in spans for at in range(*span)}
    for start, end in word_spans(text):
        if not taken.isdisjoint(range(start, end)):
            continue
        word = fold(text[start:end])
        if word not in _stop() and not word.isdigit():
            placed.append((start, end, frozenset({word})))
    return tuple(sorted(placed, key=lambda one: one[0]))


@lru_cache(maxsize=20_000)
def units(text: str) -> frozenset[Unit]:
    """What a phrase speaks of.

    >>> units("a lump in the breast") == units("breast lumps")
    True
    """
    return frozenset(unit for _, _, unit in placed(text))


def is_known(text: str) -> bool:
    """Whether a phrase names at least one concept.

    >>> is_known("vulval bleeding"), is_known("other changes of concern")
    (True, False)
    """
    return any(":" in one for unit in units(text) for one in unit)


def holds(wanted: Iterable[Unit], given: frozenset[str]) -> bool:
    """Whether everything wanted is among the names that are given, which may say more.

    >>> holds(units("cough"), names(units("fever and a cough")))
    True
    """
    wanted = tuple(wanted)
    return bool(wanted) and not any(unit.isdisjoint(given) for unit in wanted)


def names(units: Iterable[Unit]) -> frozenset[str]:
    """All names of some units."""
    return frozenset(name for unit in units for name in unit)


def broader(unit: Unit) -> Unit:
    """What a thing is a kind of."""
    return frozenset(broad for one in unit for broad in _broader().get(one, ()))
