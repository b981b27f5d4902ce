"""Whether what one source sentence lacks of a claim stands only in another that says it of something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from citewell.answer.verify.coverage import Profile, profile
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, Word, is_light, read
from citewell.answer.verify.weigh import Look
from citewell.types import Span

NAMES = frozenset(("medicine", "illness"))
"""Kinds of findings that tell of which thing a sentence speaks."""

MOST_SHARED = 0.5
"""Share of what a claim says of its subject that the sentence with that subject may have."""

_STARTS_SAYING = re.compile(
    r"\b(?:is|are|was|were|be|can|could|may|might|must|should|will|would|has|have|had|do|does|did|led|leads?|causes?|caused)\b",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"\b(?:it|its|they|them|their|this|these|those|both|either|latter|former|drugs?|medicines?|treatments?|treated|therapy"
    r"|interventions?|groups?|agents?|same|we|our|patients|participants|inhibit\w*|supplement\w*|effects?)\b",
    re.IGNORECASE,
)
"""In a source sentence: its subject may be one that another sentence names."""


def borrowed(claim: Reading, look: Look, close: Sequence[Look], parts: Sequence[Span]) -> Iterator[Finding]:
    """What a claim says of its own thing, and the source only of another."""
    there = profile(look.part.text)
    lacks = [word for word in claim.words if not is_light(word.form) and not _has(there, word)]
    if not lacks or look.is_opposed:
        return
    for other in close:
        is_rival = any(one.grade == Grade.AGAINST and one.kind in NAMES for one in other.findings)
        if other.part != look.part and is_rival and _has_all(profile(other.part.text), lacks):
            yield _finding(claim, lacks[0], "the source says “{}” of something else")
            return
    subject = _subject(claim)
    if subject and _is_of_another(claim.text, tuple(parts)):
        yield _finding(claim, subject[0], "the source does not say it of “{}”")


@lru_cache(maxsize=16)
def _is_of_another(claimed: str, parts: tuple[Span, ...]) -> bool:
    """Whether one sentence names the subject of the claim, another says all that it says, and none does both.

    The same for each of the sentences that a claim is held against, so told once.
    """
    claim = read(claimed)
    subject = _subject(claim)
    said = [word for word in claim.words if word not in subject and not is_light(word.form)]
    named = [part.text for part in parts if _has_all(profile(part.text), subject)]
    telling = [part.text for part in parts if _has_all(profile(part.text), said)]
    leans = any(_LEANS.search(text) for text in telling) or any(text.endswith(":") for text in named)
    if not said or not named or not telling or leans:
        return False
    shares = (sum(_has(profile(text), word) for word in said) / len(said) for text in named)
    return max(shares) < MOST_SHARED and not any(_has(profile(text), word) for text in telling for word in subject)


def _subject(claim: Reading) -> list[Word]:
    """The words before the first verb that can be told as one."""
    verb = _STARTS_SAYING.search(claim.text)
    if verb is None:
        return []
    return [word for word in claim.words if word.start < verb.start() and not is_light(word.form)]


def _finding(claim: Reading, word: Word, reason: str) -> Finding:
    return Finding(Grade.WEAKER, "borrowed", reason.format(claim.text[word.start : word.end]), word.start, word.end)


def _has(there: Profile, word: Word) -> bool:
    return word.form in there.forms or not word.meanings.isdisjoint(there.meanings)


def _has_all(there: Profile, words: Sequence[Word]) -> bool:
    return all(_has(there, word) for word in words)
