"""Hears an emergency in a message to the chat; what is denied or long past is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from citewell.assistants.guidelines.chat_cues import has, patterns
from citewell.assistants.guidelines.tables import rows

READ = 4_000
"""How many characters are read: nobody in danger writes more."""
NEAR = 90
"""How many characters apart the words of one danger may stand."""
_SENTENCE = re.compile(r"[.;!?]+(?:\s|$)")
_PART = re.compile(r",? (?:but|and now|and today|apart from that)(?=\s)")
"""Where a part of a sentence ends that is past, present or denied as a whole."""
_NEXT = re.compile(r"[,:(]|\band\b|\bor\b|\bbecause\b")
"""Where the reach of “no” ends."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a message says of an emergency."""

    is_now: bool = False
    is_discounted: bool = False
    """It speaks of one that is denied or long past, and of no other."""


def listen(text: str, *, kind: str = "emergency", is_asked: bool = False) -> Heard:
    """Whether a message tells of an emergency; one that asks about people in general is held to whole cues alone.

    >>> listen("my arm has suddenly gone dead"), listen("no chest pain, had a stroke in 1990").is_now
    (Heard(is_now=True, is_discounted=False), False)
    """
    found = [
        _counts(part, at)
        for part in _parts(text)
        for at in (*_cued(part, kind), *(_together(part) if kind == "emergency" and not is_asked else ()))
    ]
    return Heard(any(found), bool(found) and not any(found))


def _parts(text: str) -> Iterator[str]:
    """The parts of each sentence, and the sentence itself unless something in it is past."""
    for sentence in _SENTENCE.split(text[:READ]):
        parts = _PART.split(sentence)
        yield from (part for part in parts if part.strip())
        if len(parts) > 1 and not has("long past", sentence):
            yield sentence


def _cued(part: str, kind: str) -> Iterator[int]:
    for _, pattern in patterns(kind):
        for match in pattern.finditer(part):
            yield match.start()


@cache
def _meanings() -> dict[str, re.Pattern[str]]:
    return {
        name: re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)
        for name, words in rows("chat_danger_words.tsv")
    }


def _together(part: str) -> Iterator[int]:
    """Where the words of a danger begin that stand near each other."""
    places = {name: [match.span() for match in pattern.finditer(part)] for name, pattern in _meanings().items()}
    for _, *meanings in rows("chat_dangers.tsv"):
        if all(places[name] for name in meanings):
            yield from _near([places[name] for name in meanings])


def _near(found: list[list[tuple[int, int]]]) -> Iterator[int]:
    """The first place of each group of words, one of each meaning, no word standing for two."""
    for start, end in found[0]:
        taken, low, high = [(start, end)], start, end
        for places in found[1:]:
            free = [one for one in places if all(one[1] <= used[0] or one[0] >= used[1] for used in taken)]
            within = [one for one in free if max(high, one[1]) - min(low, one[0]) <= NEAR]
            if not within:
                break
            best = min(within, key=lambda one: max(high, one[1]) - min(low, one[0]))
            taken, low, high = [*taken, best], min(low, best[0]), max(high, best[1])
        else:
            yield low


def _counts(part: str, at: int) -> bool:
    """Whether words of an emergency at this place mean one."""
    if has("long past", part) and not has("at present", part):
        return False
    before = part[:at]
    return not (has("denied throughout", before) or _denied(_NEXT.split(before)[-1]))


@cache
def _no() -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(rf"(?<!\w)(?:{pattern}) ?$") for name, _, pattern in rows("chat_cues.tsv") if name == "denied"
    )


def _denied(clause: str) -> bool:
    return any(pattern.search(clause) for pattern in _no())
