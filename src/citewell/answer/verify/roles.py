"""Whether a claim turns round who acts and what is acted on: iron lowers the absorption of thyroxine, not the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, form, is_light, read

_WORD = re.compile(r"[^\W_]+")
_ACTS = frozenset(
    form(word)
    for word in """cause causes induce replace speed displace mask prevent protect inhibit increase raise reduce
    decrease lower suppress block impair enhance augment boost promote stimulate activate worsen improve accelerate slow
    potentiate exacerbate trigger reverse shorten prolong""".split()
)
"""Verbs of one thing acting on another."""

_MEASURES = frozenset(
    form(word)
    for word in """absorption effect effects action risk level levels concentration breakdown clearance metabolism rate
    toxicity amount activity excretion elimination response chance need use serum plasma blood production
    release""".split()
)
"""What is moved of a thing: it does not tell which thing."""

_PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being)\s+(?:not\s+)?(?:\w+ly\s+)?\Z", re.IGNORECASE)
_BY = re.compile(r"\s+(?:up\s+|down\s+)?by\s+", re.IGNORECASE)
_NO_VERB = re.compile(r"\b(?:an?|the|of|with|by|for|and|or|any|no|more|less)\s+\Z", re.IGNORECASE)
"""Before a word that says more or less: it is no verb there."""

_ENDS = re.compile(
    r"[;,.(]|\b(?:and\s+(?:should|must|may|can|is|are)|when|if|before|after|because|while|whereas)\b", re.I
)
_LATER = re.compile(r"\b(?:before|after|when|once|if|until|while)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Act:
    verb: str
    by: frozenset[str]
    on: frozenset[str]
    later: frozenset[str]
    """What stands behind “before”, “when” and the like."""


@lru_cache(maxsize=4096)
def _act(text: str) -> _Act | None:
    """The first thing done in a sentence, by what and to what."""
    reading = read(text)
    for match in _WORD.finditer(reading.text):
        shape = form(match.group())
        if shape not in _ACTS:
            continue
        passive = _PASSIVE.search(reading.text[: match.start()])
        by = _BY.match(reading.text, match.end())
        if passive and by:
            return _Act(shape, _things(reading, by.end(), None), _things(reading, 0, match.start()), frozenset())
        if passive or _NO_VERB.search(reading.text[: match.start()]):
            continue
        end = _ENDS.search(reading.text, match.end())
        later = _LATER.search(reading.text, match.end())
        return _Act(
            shape,
            _things(reading, 0, match.start()),
            _things(reading, match.end(), end.start() if end else None),
            _things(reading, later.end(), None) if later else frozenset(),
        )
    return None


def _things(reading: Reading, start: int, end: int | None) -> frozenset[str]:
    stop = len(reading.text) if end is None else end
    words = (word.form for word in reading.words if start <= word.start < stop)
    return frozenset(word for word in words if word not in _MEASURES and not is_light(word))


def roles_turned(claim: Reading, source: Reading) -> Iterator[Finding]:
    """Where the claim has the doer in the place of what is done to, or makes an effect of what is to be done."""
    ours = _act(claim.text)
    if ours is None or not ours.by or not ours.on:
        return
    theirs = _act(source.text)
    if theirs is None:
        return
    if ours.by & theirs.on and ours.on & theirs.by and not (ours.by & theirs.by or ours.on & theirs.on):
        yield Finding(Grade.AGAINST, "opposite", "the source says it the other way round", 0, len(claim.text))
    elif ours.verb == theirs.verb and not theirs.by and ours.on & theirs.on and ours.by <= theirs.later:
        yield Finding(Grade.AGAINST, "opposite", "the source tells to do so; it is no effect", 0, len(claim.text))
