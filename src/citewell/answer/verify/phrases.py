"""Whether a claim and its source have phrases that exclude each other, or the claim says it of more than the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from citewell import vocabulary
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, is_light, read
from citewell.clinical.populations import ages_in, any_age

CLOSE_FROM = 0.4
"""Share of the claim's words that the source sentence must say."""

_ALL = re.compile(
    r"\b(?:everyone|everybody|anyone|(?:all|every|any|each)\s+(?:\w+\s+){0,2}?"
    r"(?:patients?|people|persons?|wom[ae]n|m[ae]n|adults?|child(?:ren)?|infants?|babies|cases?|individuals|participants))\b",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"\b(?:at\s+(?:high|higher|increased|raised|low)\s+risk|only|if|unless|selected|some|with|who|without|consider)\b",
    re.IGNORECASE,
)
"""In a source: what follows says of whom it holds."""

_LEFT_OUT = re.compile(
    r"\b(?:is|are|was|were)\s+(?:excluded|ineligible|not\s+(?:included|eligible))(?=\s*(?:from\b|[.;,]|$))",
    re.IGNORECASE,
)
_CAUSES = re.compile(r"\b(?:causes?|caused)\b", re.IGNORECASE)
_GOES_WITH = re.compile(r"\b(?:associat|correlat|link)\w*", re.IGNORECASE)
_CAUSAL = re.compile(r"\b(?:caus|lead|led\b|induc|trigger|produc|result)\w*", re.IGNORECASE)
_USELESS = re.compile(
    r"\b(?:ineffective|useless|of\s+no\s+(?:use|benefit|value)|no\s+benefit|not\s+(?:effective|work)|did(?:\s+not|n[’']t)\s+work)\b",
    re.IGNORECASE,
)


@cache
def _phrases() -> tuple[re.Pattern[str], dict[str, tuple[str, str]]]:
    values = {
        phrase: (axis, value)
        for axis, value, phrases in vocabulary.rows("phrases.tsv")
        for phrase in phrases.split("|")
    }
    ordered = sorted(values, key=len, reverse=True)
    words = "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in ordered)
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE), values


@lru_cache(maxsize=4096)
def _said(text: str) -> tuple[tuple[str, str, int, int], ...]:
    """Axis, value and place of every phrase of the table in a text; one that is denied is left out."""
    pattern, values = _phrases()
    reading = read(text)
    found = []
    for match in pattern.finditer(reading.text):
        if not reading.denied(match.start()):
            found.append((*values[" ".join(match.group().casefold().split())], *match.span()))
    return tuple(found)


def phrases_differ(claim: Reading, source: Reading, *, coverage: float) -> Iterator[Finding]:
    """Where the claim has one phrase of an axis and the source only others."""
    if coverage < CLOSE_FROM:
        return
    for axis, value, start, end in _said(claim.text):
        same = [one for one in _said(source.text) if one[0] == axis]
        if same and all(one[1] != value for one in same):
            reason = f"the source says “{source.text[same[0][2] : same[0][3]]}”"
            yield Finding(Grade.AGAINST, "opposite", reason, start, end)


def says_more(claim: Reading, source: Reading, *, coverage: float) -> Iterator[Finding]:
    """Where the claim says it of all, or calls a cause or useless, what the source does not."""
    if coverage < CLOSE_FROM:
        return
    every = _ALL.search(claim.text)
    if every and not _ALL.search(source.text) and _is_limited(claim, source):
        yield Finding(Grade.WEAKER, "opposite", "the source does not say it of all", *every.span())
    every_age = any_age(claim.text)
    if every_age and ages_in(source.text) and not any_age(source.text):
        yield Finding(Grade.AGAINST, "opposite", "the source says it of some ages only", *every_age.span())
    cause = _CAUSES.search(claim.text)
    if cause and _GOES_WITH.search(source.text) and not _CAUSAL.search(source.text):
        yield Finding(Grade.WEAKER, "opposite", "the source only says that the two go together", *cause.span())
    if _LEFT_OUT.search(source.text) and not claim.denials and "exclu" not in claim.text.casefold():
        yield Finding(Grade.WEAKER, "opposite", "the source only says who was left out", 0, len(claim.text))
    useless = _USELESS.search(claim.text)
    if useless and all(denial.is_local for denial in source.denials):
        yield Finding(Grade.MISSING, "opposite", f"the source does not say “{useless.group()}”", *useless.span())


def _is_limited(claim: Reading, source: Reading) -> bool:
    """Whether the source says of whom it holds in words that the claim does not have."""
    ours = frozenset(word.form for word in claim.words)
    for limit in _LIMITS.finditer(source.text):
        words = [word for word in source.words if word.start >= limit.start() and not is_light(word.form)]
        if words and words[0].form not in ours:
            return True
    return False
