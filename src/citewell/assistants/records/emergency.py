"""Finds an emergency in what a person writes; what is denied or long past is none, what is doubtful counts as one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast, get_args

from citewell.clinical.languages import Language, language_of, spelled, whole_words
from citewell.assistants.records.examples import Nearness
from citewell.assistants.records.kinds import Kind, weigh
from citewell.assistants.records.tables import rows

Danger = Literal[
    "suicide",
    "heart",
    "stroke",
    "allergy",
    "breathing",
    "unresponsive",
    "infant",
    "poisoning",
    "seizure",
    "bleeding",
    "infection",
    "injury",
    "other",
]
DANGERS: tuple[Danger, ...] = get_args(Danger)


@dataclass(frozen=True, slots=True)
class Emergency:
    """What may be happening, and the notice that comes before everything else."""

    dangers: tuple[Danger, ...]
    language: Language

    @property
    def notice(self) -> str:
        """The words that are shown first and that nothing softens."""
        if "suicide" in self.dangers:
            return notice("suicide", self.language)
        return notice("other" if self.dangers == ("other",) else "any", self.language)


@cache
def _notices() -> dict[tuple[str, str], str]:
    return {(what, language): text for what, language, text in rows("notices.tsv")}


def notice(what: Literal["any", "other", "suicide"], language: Language) -> str:
    """The notice in a language.

    >>> notice("any", "en")[:26]
    'This may be an emergency. '
    """
    return _notices()[what, language]


def notices() -> tuple[str, ...]:
    """Every notice, by which the filter knows what it must not touch."""
    return tuple(_notices().values())


@cache
def _dangers() -> tuple[tuple[Danger, Language, re.Pattern[str]], ...]:
    found = rows("emergencies.tsv")
    return tuple((cast(Danger, what), cast(Language, language), whole_words(words)) for what, language, words in found)


@cache
def _context(what: str) -> re.Pattern[str]:
    patterns = "|".join(f"(?:{pattern})" for name, _, pattern in rows("emergency_context.tsv") if name == what)
    return re.compile(rf"(?<!\w)(?:{patterns}) ?$" if what == "denied" else rf"(?<!\w)(?:{patterns})(?!\w)")


READ = 8_000
"""How many characters are read, half from the start and half from the end: nobody in danger writes more."""
_PART = re.compile(r"[.;!?\n]+(?:\s|$)|,? (?:but|and now|and today|mais|et maintenant|aber|und jetzt) ")
"""Where a part of a text ends that is past or present as a whole."""
_CLAUSE = re.compile(r"[,:(]|\b(?:and|et|und|because|parce que|weil)\b")
"""Where the reach of a denial ends too."""


NEAR, CAUTION = 0.40, 0.02
"""From here on a text is near an example of an emergency; how much nearer it may be to another that is none."""
ASKS = 3
"""The weight of cues from which a text without a complaint is a question to the record."""


def find_emergency(text: str, *, near: Nearness | None = None) -> Emergency | None:
    """The emergency that a text tells of, if it tells of one; examples are asked where no words of one were found.

    >>> find_emergency("I have chest pain").dangers, find_emergency("My father had a stroke in 1990")
    (('heart',), None)
    """
    found: dict[Danger, list[Language]] = {}
    is_spoken_of = False
    for part in _parts(text):
        for danger, language, pattern in _dangers():
            matches = list(pattern.finditer(part))
            is_spoken_of = is_spoken_of or bool(matches)
            if any(_counts(part, match, danger) for match in matches):
                found.setdefault(danger, []).append(language)
    if not found:
        return None if is_spoken_of or near is None or not text.strip() else _sensed(text, near)
    dangers = tuple(danger for danger in DANGERS if danger in found)
    own = language_of(text)
    return Emergency(dangers, own if own in found[dangers[0]] else found[dangers[0]][0])


def _sensed(text: str, near: Nearness) -> Emergency | None:
    """The emergency that a text is near to in meaning; a question to the record is none."""
    sums = weigh(text)
    asks = max(weight for kind, weight in sums.items() if kind is not Kind.SYMPTOM) >= ASKS
    if text.rstrip().endswith("?") or (asks and not sums[Kind.SYMPTOM]):
        return None
    if any(_context(name).search(part) for name in ("relief", "paper") for part in _parts(text)):
        return None
    nearby = {name: found.nearest for name, found in near(text).items()}
    danger = max(nearby["emergency"], nearby["suicide"])
    others = max(cosine for name, cosine in nearby.items() if name not in ("emergency", "suicide"))
    if danger < NEAR or danger < others - CAUTION:
        return None
    sensed: Danger = "suicide" if nearby["suicide"] == danger else "other"
    return Emergency((sensed,), language_of(text))


def _parts(text: str) -> Iterator[str]:
    read = text if len(text) <= READ else f"{text[: READ // 2]}\n{text[-READ // 2 :]}"
    lines = (spelled(line).lower() for line in read.splitlines())
    yield from (part for line in lines for part in _PART.split(line) if part.strip())


def _counts(part: str, match: re.Match[str], danger: Danger) -> bool:
    """Whether words of an emergency mean one: not denied right before, not long past, or doubtful after all."""
    if _context("past").search(part) and not _context("present").search(part):
        return False
    clause = _CLAUSE.split(part[: match.start()])[-1]
    is_denied = danger != "suicide" and _context("denied").search(clause) is not None
    return not is_denied or _context("doubt").search(part) is not None
