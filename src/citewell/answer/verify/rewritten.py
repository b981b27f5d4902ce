"""Whether a claim repeats a source sentence with the opposite word in a place, or with two things in each other's.

“A higher risk” stands for “a lower risk”, or “from end point to baseline” for “from baseline to end point”. Words that
may mean many things are plain where all around them is the same, so more pairs count here than elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple

from citewell import vocabulary
from citewell.answer.negation import OTHERS
from citewell.answer.verify.direction import is_reversed
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, form

LEAST_AROUND = 3
"""Words on both sides of a place, together, that must be the same in both."""

LONGEST_PUT = 3
"""Words that stand in one place at most."""

LEAST_SHARED = 0.4
"""Share of the claim's words that the source sentence must have for the two to be laid side by side."""

_PREFIXES = {"un": 5, "in": 5, "im": 5, "ir": 5, "il": 5, "non": 5, "dis": 5, "a": 6}
"""What denies a word, and how many letters that must have: “intake” denies no “take”, “around” no “round”."""

_PREFIX_PAIRS = (("pre", "post"), ("hyper", "hypo"), ("over", "under"), ("intra", "extra"), ("up", "down"))
_EMPTY = frozenset("a an the of in to by with for on at and or is are was were be been its their his her this".split())
_BE = frozenset("is are was were been being".split())
"""Forms of one verb, which tell no place from another."""

_EVEN = frozenset(
    form(word)
    for word in """associated association correlated correlation related relation linked link similar equal equals
    identical interact interaction combined combination between versus vs compared comparable concomitant""".split()
)
"""Words beside which two things may change places."""

_WORD = re.compile(r"[^\W_]+")
_WAY = re.compile(
    r"\bfrom\s+((?:[^\W_]+[\s-]+){1,3}?)to\s+((?:[^\W_]+[\s-]+){0,2}?[^\W_]+)(?=\s*(?:[,.;:)]|$|\b(?:in|at|of|over|by|during)\b))",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A word, where it stands, as it is written in small letters and the form under which it is compared."""

    start: int
    end: int
    word: str
    form: str


_Tokens = tuple[Token, ...]


@lru_cache(maxsize=4096)
def tokens(text: str) -> _Tokens:
    """The words of a text, in order."""
    return tuple(Token(*match.span(), *_told(match.group())) for match in _WORD.finditer(text))


@lru_cache(maxsize=50_000)
def _told(word: str) -> tuple[str, str]:
    folded = word.casefold()
    return folded, "be" if folded in _BE else form(word)


def rewritten(claim: Reading, source: Reading) -> list[Finding]:
    """Where the claim has the opposite of a word of the source in the same surroundings, or two things turned round."""
    if is_reversed(claim, source):  # “men more than women” is “women less than men”: two turns make none
        return []
    put = places(claim.text, source.text)
    found = [*_opposed(claim, source, put), *_exchanged(source, put), *_turned_back(claim.text, source.text)]
    return [*found, *_of_others(claim.text, source.text)]


def _of_others(claim: str, source: str) -> Iterator[Finding]:
    """“Those who did”, where the source speaks only of “those who did not”, or the other way round."""
    theirs = list(OTHERS.finditer(source))
    ours = list(OTHERS.finditer(claim))
    if theirs and ours and {bool(one["not"]) for one in ours}.isdisjoint(bool(one["not"]) for one in theirs):
        yield Finding(Grade.AGAINST, "denial", f"the source says “{theirs[0].group()}”", *ours[0].span())


def _opposed(claim: Reading, source: Reading, places: tuple[Place, ...]) -> Iterator[Finding]:
    for place in places:
        said, put = only(place.said), only(place.put)
        if said is None or put is None or place.around < LEAST_AROUND or not are_opposed(said.word, put.word):
            continue
        if claim.denied(put.start) == source.denied(said.start):
            reason = f"the source says “{source.text[said.start : said.end]}” there"
            yield Finding(Grade.AGAINST, "opposite", reason, put.start, put.end)


def _exchanged(source: Reading, places: tuple[Place, ...]) -> Iterator[Finding]:
    """Two places, each with what the other had."""
    if len(places) < 2 or not _EVEN.isdisjoint(token.form for token in tokens(source.text)):
        return
    whole = [place for place in places if not _is_of_a_list(place.said) and not _is_of_a_list(place.put)]
    for one, other in combinations(whole, 2):
        here, there = _forms(one.said), _forms(other.said)
        if here and there and here == _forms(other.put) and there == _forms(one.put):
            first, second = (source.text[it.said[0].start : it.said[-1].end] for it in (one, other))
            reason = f"the source has “{first}” and “{second}” the other way round"
            yield Finding(Grade.AGAINST, "opposite", reason, one.put[0].start, one.put[-1].end)


def _is_of_a_list(tokens: _Tokens) -> bool:
    """Whether a part of a list stands there, whose order says nothing."""
    return not {tokens[0].word, tokens[-1].word}.isdisjoint(("and", "or"))


def _turned_back(claim: str, source: str) -> Iterator[Finding]:
    """From there to here, where the source says from here to there."""
    ways = [_ends(way) for way in _WAY.finditer(source)]
    for way in _WAY.finditer(claim):
        start, end = _ends(way)
        if start != end and (end, start) in ways and (start, end) not in ways:
            yield Finding(Grade.AGAINST, "opposite", "the source says it the other way round", *way.span())


def _ends(way: re.Match[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_forms(tokens(end))) for end in way.groups())


def _forms(tokens: _Tokens) -> list[str]:
    return [token.form for token in tokens if token.word not in _EMPTY]


@dataclass(frozen=True, slots=True)
class Place:
    """What the source says somewhere, what the claim has there, and how many words around are the same."""

    said: _Tokens
    put: _Tokens
    before: int
    after: int

    @property
    def around(self) -> int:
        """The words on both sides together."""
        return self.before + self.after


@lru_cache(maxsize=1024)
def places(claim: str, source: str) -> tuple[Place, ...]:
    """Where a few words of the claim stand for a few of the source."""
    ours, theirs = _unlike(tokens(claim), tokens(source))
    forms = {token.form for token in theirs}
    if not forms or sum(token.form in forms for token in ours) < LEAST_SHARED * len(ours):
        return ()
    matcher = SequenceMatcher(None, [token.form for token in theirs], [token.form for token in ours], autojunk=False)
    steps = matcher.get_opcodes()
    found = []
    for number, (kind, first, high, start, end) in enumerate(steps):
        low = max(first, high - end) if start == 0 else first  # a claim may leave out how the sentence opens
        if kind == "replace" and max(high - low, end - start) <= LONGEST_PUT:
            before, after = (_size(steps, beside) for beside in (number - 1, number + 1))
            found.append(Place(theirs[low:high], ours[start:end], before, after))
    return tuple(found)


def _size(steps: Sequence[tuple[str, int, int, int, int]], number: int) -> int:
    """How many words of the source a step of the alignment spans; none beyond its ends."""
    return steps[number][2] - steps[number][1] if 0 <= number < len(steps) else 0


def _unlike(ours: _Tokens, theirs: _Tokens) -> tuple[_Tokens, _Tokens]:
    """Both without what they begin and end alike with, but for a few words; nothing where one holds the other."""
    least = min(len(ours), len(theirs))
    first = next((place for place in range(least) if ours[place].form != theirs[place].form), least)
    last = next((place for place in range(least - first) if ours[-1 - place].form != theirs[-1 - place].form), None)
    if last is None:
        return (), ()
    start, left = max(0, first - LEAST_AROUND), max(0, last - LEAST_AROUND)
    return ours[start : len(ours) - left], theirs[start : len(theirs) - left]


def only(tokens: _Tokens) -> Token | None:
    """The one word with a meaning of its own, if there is just one."""
    full = [token for token in tokens if token.word not in _EMPTY]
    return full[0] if len(full) == 1 else None


@lru_cache(maxsize=4096)
def are_opposed(one: str, other: str) -> bool:
    """Whether two words, put in the same place, exclude each other.

    >>> are_opposed("higher", "lower"), are_opposed("safe", "unsafe"), are_opposed("raised", "higher")
    (True, True, False)
    """
    here, there = poles(one), poles(other)
    values = dict(here)
    return any(axis in values and value != values[axis] for axis, value in there) or _is_prefixed(one, other)


def _is_prefixed(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if any(long == prefix + short and len(short) >= least for prefix, least in _PREFIXES.items()):
        return True
    return any(
        first.startswith(here) and second.startswith(there) and first[len(here) :] == second[len(there) :]
        for here, there in _PREFIX_PAIRS
        for first, second in ((one, other), (other, one))
    )


def poles(word: str) -> frozenset[tuple[str, str]]:
    """The axes of the table of antonyms that a word stands on, each with the end at which it does."""
    return _poles().get(form(word), frozenset())


@cache
def _poles() -> dict[str, frozenset[tuple[str, str]]]:
    found: dict[str, frozenset[tuple[str, str]]] = {}
    for axis, weight, value, words in vocabulary.rows("antonyms.tsv"):
        if weight not in ("firm", "put"):
            continue
        for word in words.split("|"):
            found[form(word)] = found.get(form(word), frozenset()) | {(axis, value)}
    return found
