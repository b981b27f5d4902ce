"""Words that turn round what they frame: “it is wrong not to …”, “do not hesitate to …”, “must never be withheld”."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from citewell import vocabulary
from citewell.answer.denial_cues import Denial
from citewell.sentences import stem

_WORD = re.compile(r"[^\W_]+")
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
