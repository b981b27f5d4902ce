"""What a text denies: each denial with the words that it reaches."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, cast

from citewell import vocabulary
from citewell.clinical.quantities import NUMBER_WORD
from citewell.sentences import STOP_WORDS

NEGATIONS = frozenset("no not nor never none without cannot neither avoid stop unless contraindicated".split())
"""Words that turn a statement round."""

Reach = Literal["clause", "onward", "phrase", "word", "limit", "not one"]

_BOUNDARY = re.compile(
    r"[;:—]|\.(?=\s)|,(?=\s+(?:but|and|or|which|whereas|while|although|though|so|because|if|when|where|with)\b)"
    r"|\b(?:but|(?<!not\s)yet(?!\s(?:been|to)\b)|however(?!,)|whereas|although|though|because|until|if|when|whether|where|while|despite"
    r"|so\s+that|and\s+(?=(?:not|then|should|can|may|must|do|is|are|was|were|has|have|had)\b))\b",
    re.IGNORECASE,
)
_PHRASE_END = re.compile(
    r"[,;:.()]|\b(?:is|are|was|were|be|been|can|could|may|might|must|should|will|would|has|have|had|do|does|did|and|but|who|which"
    r"|that|should|need|needs|show|showed|receive|received)\b",
    re.IGNORECASE,
)


_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(rf"\D{{0,12}}\d|\s+(?:an?\s+)?{NUMBER_WORD}\b", re.IGNORECASE)


_BRACKET = re.compile(r"\([^()]*\)")
"""What is denied in brackets is denied there alone."""

_NEXT = re.compile(r"[\s-]*[^\W_]+")
_FREE = re.compile(r"\b[^\W_]+(?P<free>-free)\b", re.IGNORECASE)
"""“Symptom-free” denies the word before it."""


OTHERS = re.compile(
    r"\b(?:who|that|which)\s+(?:do|does|did|had|have|has|was|were|is|are|could|would|will|can)"
    r"(?P<not>\s+not\b|n[’']t\b)?(?=\s*(?:[.,;:)]|$))",
    re.IGNORECASE,
)
"""Those “who did not”: others than those spoken of, of whom alone it is denied."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A word that denies, and the part of the text that it denies."""

    start: int
    end: int
    reach_start: int
    reach_end: int
    is_local: bool = False
    """It denies a word or phrase, not what the clause says."""
    is_frame: bool = False
    """It is a word that judges or undoes what it frames, as “wrong to” does."""
    undoes: str = ""
    """The stem of a verb of not doing, which denies nothing where both texts have it."""

    def reaches(self, offset: int) -> bool:
        return self.reach_start <= offset < self.reach_end and not self.start <= offset < self.end


@cache
def _cues() -> tuple[re.Pattern[str], dict[str, Reach], frozenset[str]]:
    """The pattern of all cues, how far each reaches, and the words of which every text with a cue has one."""
    reaches: dict[str, Reach] = {}
    for reach, words in vocabulary.rows("negations.tsv"):
        reaches |= dict.fromkeys(words.split("|"), cast(Reach, reach))
    ordered = sorted(reaches, key=len, reverse=True)
    words = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in ordered if word != "n't")
    small = STOP_WORDS | {"than"}
    held = [[part for part in re.split(r"[\s-]+", cue) if part not in small] for cue in reaches]
    counts = Counter(part for parts in held for part in parts)
    telling = frozenset(max(parts, key=lambda part: counts[part]) for parts in held) | {"t"}
    return re.compile(rf"\b(?:{words})\b(?![’']s)|n[’']t\b", re.IGNORECASE), reaches, telling


@lru_cache(maxsize=4096)
def denials(text: str) -> tuple[Denial, ...]:
    """Every denial of a sentence, in order.

    >>> text = "Do not use it in patients with no history of asthma"
    >>> [(text[found.start : found.end], text[found.reach_start : found.reach_end]) for found in denials(text)]
    [('not', 'Do not use it in patients with no history of asthma'), ('with no', ' history of asthma')]
    """
    pattern, reaches, telling = _cues()
    if telling.isdisjoint(_WORD.findall(text.casefold())):
        return _free(text)
    cues = list(pattern.finditer(text))
    if not cues:
        return _free(text)
    taken = [cue.span() for cue in cues]
    bounds = [match.span() for match in _BOUNDARY.finditer(text)]
    free = [span for span in bounds if not any(low <= span[0] < high for low, high in taken)]
    edges = [0, *(edge for span in free for edge in span), len(text)]
    found = []
    for match in cues:
        word = " ".join(match.group().casefold().replace("’", "'").split())
        reach = reaches[word]
        others = next((other for other in OTHERS.finditer(text) if other.start() < match.start() < other.end()), None)
        if others is not None:
            found.append(Denial(*match.span(), others.start(), match.start(), is_local=True))
        elif reach != "not one" and not (reach == "limit" and _NUMBER.match(text, match.end())):
            is_local = reach in ("phrase", "word")
            found.append(Denial(*match.span(), *_reached(text, match, reach, edges), is_local=is_local))
    return (*found, *_free(text))


def _free(text: str) -> tuple[Denial, ...]:
    return tuple(
        Denial(match.start("free"), match.end(), match.start(), match.start("free"), is_local=True)
        for match in _FREE.finditer(text)
    )


def _reached(text: str, cue: re.Match[str], reach: Reach, edges: list[int]) -> tuple[int, int]:
    """The part of the text that a cue denies; a cue that is itself a boundary, as “unless” is, reaches past it."""
    start = max(edge for edge in edges if edge <= cue.start())
    end = min((edge for edge in edges if edge > cue.end()), default=len(text))
    bracket = next((match for match in _BRACKET.finditer(text) if match.start() < cue.start() < match.end()), None)
    if bracket is not None:
        start, end = max(start, bracket.start()), min(end, bracket.end())
    if reach in ("clause", "limit"):
        return start, end
    if reach == "word":
        following = _NEXT.match(text, cue.end())
        return cue.end(), following.end() if following else cue.end()
    if reach == "phrase":
        stop = _PHRASE_END.search(text, cue.end())
        return cue.end(), min(stop.start() if stop else end, end)
    return cue.end(), end
