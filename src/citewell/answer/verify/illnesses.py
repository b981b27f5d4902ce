"""Whether a claim speaks of the same illness as a source sentence: malaria is not dengue, flu is influenza."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache

from citewell.answer.illnesses import Illness, are_related, illnesses, other_names
from citewell.answer.verify.coverage import profile
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.names import Topic
from citewell.answer.verify.read import Reading, form, meanings

CLOSE_FROM = 0.5
"""Share of the claim's words that a source sentence must say for another illness in it to be a swap."""

_WORD = re.compile(r"[^\W_]+")
_SMALL = frozenset(("of", "the", "in", "s"))
_PLACE = re.compile(
    r"\b(?P<of>in|with|of|for|from|against|to|has|have|had|having|as|treats?|treating|diagnosed)"
    r"(?:\s+(?!in\b|with\b|of\b|for\b|from\b|to\b|and\b|or\b)[\w-]+){0,4}?\s+\Z",
    re.IGNORECASE,
)
_RELATED = re.compile(r"[-‐‑–](?:related|associated|like|specific)\b", re.IGNORECASE)
"""After an illness: what is spoken of is another thing, be it of that illness."""

_SAME_PLACE = ({"in", "with", "has", "have", "had", "having", "of", "for", "treat", "treats", "treating"}, {"against"})
"""Words after which an illness is that of the patient: “fever in malaria”, “children with dengue”."""


@cache
def _forms_of(name: str) -> tuple[frozenset[str], ...]:
    """The word forms of each of the names of an illness."""
    written = (name, *other_names(name))
    return tuple(frozenset(form(word) for word in _WORD.findall(one) if word not in _SMALL) for one in written)


@lru_cache(maxsize=4096)
def illness_topics(text: str) -> tuple[Topic, ...]:
    """The illnesses of a text as topics, so that “flu” is said by a source that has “influenza”."""
    return tuple(Topic(one.start, one.end, frozenset(), _forms_of(one.name)) for one in illnesses(text))


def illnesses_differ(claim: Reading, source: Reading, *, coverage: float) -> list[Finding]:
    """Each illness of the claim that the source sentence does not name, and whether it names another in its place."""
    ours = [one for one in illnesses(claim.text) if one.is_sure and not _RELATED.match(claim.text, one.end)]
    if not ours:
        return []
    theirs = illnesses(source.text)
    others = [one for one in theirs if one.is_sure and not _is_among(one, ours)]
    return list(_findings([one for one in ours if not _is_among(one, theirs)], others, claim, source, coverage))


def _findings(
    absent: Iterable[Illness], others: Sequence[Illness], claim: Reading, source: Reading, coverage: float
) -> Iterator[Finding]:
    for illness in absent:
        written = claim.text[illness.start : illness.end]
        may_swap = coverage >= CLOSE_FROM and not _is_listed(written, source.text)
        rival = _rival(illness, others, claim, source) if may_swap else None
        if rival is not None:
            reason = f"{written} is not in the source, which speaks of {source.text[rival.start : rival.end]}"
            yield Finding(Grade.AGAINST, "illness", reason, illness.start, illness.end)
        elif not _is_said(written, source.text):
            yield Finding(Grade.MISSING, "illness", f"{written} is not in the source", illness.start, illness.end)


def _is_among(illness: Illness, others: Iterable[Illness]) -> bool:
    return any(are_related(illness.name, other.name) for other in others)


def _is_said(written: str, text: str) -> bool:
    """Whether a text has each word of a name in one of its wordings: “disease of the kidneys” for “renal disease”."""
    there = profile(text)
    shapes = [form(word) for word in _WORD.findall(written)]
    return all(shape in there.forms or not meanings(shape).isdisjoint(there.meanings) for shape in shapes)


def _is_listed(written: str, text: str) -> bool:
    """Whether a name of several words is in a list that says the last once: “cancers of the breast and kidney”."""
    *first, last = (form(word) for word in _WORD.findall(written))
    words = [form(word) for word in _WORD.findall(text)]
    if not first or not {*first, last} <= set(words):
        return False
    head = words.index(last)
    return words.index(first[0]) < head or words[head + 1 : head + 2] == ["of"]


def _rival(illness: Illness, others: Sequence[Illness], claim: Reading, source: Reading) -> Illness | None:
    """The illness that stands in the source where the claim has its own: after the same words, or beside them."""
    place = _place(claim.text, illness)
    context = claim.near(illness.start, illness.end, words=3)
    for other in others:
        there = _place(source.text, other)
        is_same = bool(place) and any({place, there} <= words for words in _SAME_PLACE)
        if is_same or len(context & source.near(other.start, other.end, words=3)) >= 2:
            return other
    return None


def _place(text: str, illness: Illness) -> str:
    found = _PLACE.search(text[max(0, illness.start - 80) : illness.start])
    return found["of"].casefold() if found else ""
