"""A sentence as the check reads it: content words under one form, quantities, medicines and denials."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from citewell import vocabulary
from citewell.answer.denial_cues import Denial, denials
from citewell.clinical.medicines import Medicine, medicines
from citewell.clinical.quantities import Quantity, quantities
from citewell.sentences import STOP_WORDS, stem

_SAYS_OF = re.compile(
    r"\s+(?:(?:for|of|in)\s+(?:[\w-]+\s+){1,6}?)?(?:not\s+)?(?:to|that|if|when|with|not|\w+ing)\b", re.IGNORECASE
)
"""After a judgement: it is said of what follows."""

_IS = re.compile(
    r"\b(?:is|are|was|were|be|been|being|seems?|remains?|considered|thought)\s+(?:an?\s+)?"
    r"(?:(?:very|quite|plainly|clearly|simply|always|just|both|also|grave|serious|great|big|gross|common|clear)\s+){0,2}$",
    re.IGNORECASE,
)
_CLOSES = re.compile(r"\s*(?:$|[.,;:!?)]|(?:and|or|but|in|for|because)\b)", re.IGNORECASE)
"""Round a judgement that closes a clause: it is said of what comes before."""

_LISTED = re.compile(r"\s*(?:,|/|or|and|nor|,\s*or)\s*", re.IGNORECASE)
_STOP = re.compile(r"[;:—]|\.(?=\s)|(?:,|(?<!\s))\s+(?:but|whereas|although|though|because|however)\b", re.IGNORECASE)


@cache
def _frames() -> tuple[re.Pattern[str], dict[str, str], frozenset[str]]:
    """The pattern of all words, the kind of each, and the words that one may open with."""
    kinds = {word: kind for kind, words in vocabulary.rows("frames.tsv") for word in words.split("|")}
    ordered = sorted(kinds, key=len, reverse=True)
    words = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in ordered)
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE), kinds, frozenset(word.split()[0] for word in kinds)


def framed(text: str, plain: Sequence[Denial]) -> tuple[Denial, ...]:
    """The denials that judge or undo, besides the plain ones of a sentence.

    >>> from citewell.answer.denial_cues import denials
    >>> text = "It would be wrong not to give it"
    >>> [(text[one.start : one.end], text[one.reach_start : one.reach_end]) for one in framed(text, denials(text))]
    [('wrong', ' not to give it')]
    """
    pattern, kinds, openings = _frames()
    if openings.isdisjoint(_WORD.findall(text.casefold())):
        return ()
    judged: list[re.Match[str]] = []
    undone: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        if any(denial.start < match.end() and match.start() < denial.end for denial in plain):
            continue
        kind = kinds[" ".join(match.group().casefold().split())]
        (judged if kind == "judged" else undone).append(match)
    denials = [denial for match in judged for denial in _judged(text, match)]
    return (*denials, *_undone(text, undone, (*plain, *denials)))


def _judged(text: str, match: re.Match[str]) -> Iterator[Denial]:
    """A judgement that is said of what follows it, or of what comes before it."""
    start, end = _clause(text, match)
    if _SAYS_OF.match(text, match.end()):
        yield Denial(*match.span(), match.end(), end, is_frame=True)
    elif _IS.search(text, 0, match.start()) and _CLOSES.match(text, match.end()):
        yield Denial(*match.span(), start, match.start(), is_frame=True)


def _undone(text: str, matches: Sequence[re.Match[str]], others: Sequence[Denial]) -> Iterator[Denial]:
    """The verbs of not doing that are denied themselves; “delay or omit” denies once."""
    for number, match in enumerate(matches):
        is_listed = number > 0 and _LISTED.fullmatch(text, matches[number - 1].end(), match.start())
        if not is_listed and any(denial.reaches(match.start()) and not denial.is_local for denial in others):
            word = stem(match.group().casefold())
            yield Denial(*match.span(), *_clause(text, match), is_frame=True, undoes=word)


def _clause(text: str, match: re.Match[str]) -> tuple[int, int]:
    """The part of the text round a word, as far as the next clause on each side."""
    before = [stop.end() for stop in _STOP.finditer(text, 0, match.start())]
    after = _STOP.search(text, match.end())
    return before[-1] if before else 0, after.start() if after else len(text)


_WORD = re.compile(r"[^\W_]+")
_YEAR = r"(?:(?:new|amended|updated|reviewed|added|checked|last)\s+)*(?:in\s+)?(?:19|20)\d\d"
_REFERENCE = re.compile(
    r"(?:(?<!\s)\s+)?\[(?:S?\d+(?:\s*[,;–-]\s*S?\d+)*|(?:Doc|SourceId|Source|Ref)s?\b\.?\s*:?\s*[\w:.,;–-]{0,60}"
    r"|see\s+(?:(?:section|recommendation|table|box|figure|appendix)s?\s+)?[\d.,–-]{1,20}"
    rf"|{_YEAR}(?:\s*(?:,|and|;)\s*(?:and\s+)?{_YEAR})*)\]",
    re.IGNORECASE,
)
"""A source mark or date tag in square brackets: no part of what the sentence says."""

_NON = re.compile(r"\bnon-(?=inferior\b)", re.IGNORECASE)
"""“Non-inferior” is read as “not inferior”, which is as long."""

_EMPTY = STOP_WORDS | frozenset(
    """than also been being both can could did do does each either every following further having how
    however just many may might more most much must only other over per same should since some still
    such them those through too under until up us via very well where whether while within would any all
    about above below between during not no nor never none neither without cannot t s""".split()
)
"""Words that carry no content of their own here; denials and limits are read elsewhere."""

_LIGHT = frozenset(
    stem(word)
    for word in """give given receive take use used using offer recommend recommended advise advised should patient
    patients people person persons individual participants subject subjects adult adults need needed
    require required consider considered include including included show shown found find report
    reported result results associated association significant significantly study studies group groups
    level levels compared year years day days week weeks month months hour hours age aged treatment
    treated therapy dose doses case cases make made become due high low increase decrease reduce new
    different number rate cause caused causes effect effects play role present lead led""".split()
)
"""Words that many sentences share: they count for less."""

LIGHT_WEIGHT = 0.4


def is_light(form_of_word: str) -> bool:
    """Whether a word is one that many sentences share."""
    return form_of_word in _LIGHT


def is_empty(word: str) -> bool:
    """Whether a word carries no content of its own."""
    return word.casefold() in _EMPTY


class ContentWord(NamedTuple):
    """A content word: where it stands, its form and the meanings it may have."""

    start: int
    end: int
    form: str
    meanings: frozenset[int]
    weight: float

    @property
    def is_negative(self) -> bool:
        """Whether the word denies by itself, as “unexplained” does."""
        return self.form.startswith(("un", "non")) and len(self.form) > 5


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """All that the check knows of one sentence."""

    text: str
    words: tuple[ContentWord, ...]
    quantities: tuple[Quantity, ...]
    medicines: tuple[Medicine, ...]
    denials: tuple[Denial, ...]
    weight: float
    """Of all its words together."""

    def denied(self, offset: int) -> bool:
        """Whether the word there is denied an odd number of times."""
        return sum(denial.reaches(offset) for denial in self.denials) % 2 == 1

    def is_clause_denied(self, offset: int) -> bool:
        """The same, by denials of what a clause says alone."""
        return sum(denial.reaches(offset) for denial in self.denials if not denial.is_local) % 2 == 1

    def near(self, start: int, end: int, *, words: int = 4) -> frozenset[str]:
        """The forms of the content words next to a part of the text."""
        before = [word.form for word in self.words if word.end <= start][-words:]
        after = [word.form for word in self.words if word.start >= end][:words]
        return frozenset(before + after)


@lru_cache(maxsize=100_000)
def form(word: str) -> str:
    """The one form under which a word is compared.

    >>> form("Haemorrhages") == form("hemorrhage")
    True
    """
    if len(word) > 2 and word[-1] == "s" and word[:-1].isupper():
        word = word[:-1]
    return stem(word.casefold())


@cache
def _meanings() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, (words,) in enumerate(vocabulary.rows("synonyms.tsv")):
        for word in words.split("|"):
            found.setdefault(form(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def meanings(form_of_word: str) -> frozenset[int]:
    """The rows of the table of synonyms that hold a word."""
    return _meanings().get(form_of_word, frozenset())


@lru_cache(maxsize=20_000)
def forms(text: str) -> frozenset[str]:
    """The forms of all words of a text, even empty ones."""
    return frozenset(map(form, _WORD.findall(text)))


def without_references(text: str) -> str:
    """The sentence without its source marks, the same length.

    >>> without_references("Rest. [S1]")
    'Rest.     '
    """
    return _REFERENCE.sub(lambda match: " " * len(match.group()), text)


@lru_cache(maxsize=4096)
def read(text: str) -> ReadSentence:
    """Read one sentence; equal sentences are read once."""
    plain = _NON.sub("not ", without_references(text))
    amounts = quantities(plain)
    denied = denials(plain)
    frames = framed(plain, denied)
    words = tuple(_words(plain, amounts, frames))
    return ReadSentence(plain, words, amounts, medicines(plain), (*denied, *frames), sum(word.weight for word in words))


def _words(text: str, amounts: Iterable[Quantity], frames: Iterable[Denial]) -> Iterable[ContentWord]:
    taken = [(amount.start, amount.end) for amount in amounts if not amount.dimension.startswith("label")]
    taken += [(frame.start, frame.end) for frame in frames]
    for match in _WORD.finditer(text):
        known = _known(match.group())
        if known is not None and not (taken and any(start <= match.start() < end for start, end in taken)):
            yield ContentWord(match.start(), match.end(), *known)


@lru_cache(maxsize=100_000)
def _known(word: str) -> tuple[str, frozenset[int], float] | None:
    """The form, meanings and weight of a word; None where it is empty or a number."""
    if word.casefold() in _EMPTY or word.isdigit():
        return None
    shape = form(word)
    return shape, meanings(shape), LIGHT_WEIGHT if is_light(shape) else 1.0
