"""Tells which sentences of a guideline say what to do, or warn of something."""

from __future__ import annotations

import re
from functools import cache

from citewell.assistants.consult.tables import rows
from citewell.assistants.consult.weight_based_doses import has_dose

MAX_CHARACTERS = 600
"""A longer sentence is a chart or a table that was read as one, and nobody would read it in a plan."""
MIN_WORDS = 4
"""Fewer words are a heading or a scrap of a table."""
MIN_LETTERS = 0.45
"""A sentence with fewer letters among its characters is a row of numbers or a reference."""


@cache
def _telling() -> re.Pattern[str]:
    words = "|".join(row[1] for row in rows("recommends.tsv"))
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])")  # of folded words: half the time of any case


@cache
def _warns() -> re.Pattern[str]:
    words = "|".join(row[1] for row in rows("recommends.tsv") if row[0] == "do not")
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


_STATES = re.compile(
    r"\b(?:we|who|the (?:panel|gdg|committee|guideline development group)) (?:strongly |conditionally )?"
    r"(?:recommends?|suggests?)\b|\((?:strong|conditional|weak|good practice) (?:recommendation|statement)"
    r"|\b(?:strong|conditional|weak) recommendation (?:for|against)\b|\bwe recommend\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"^[^\S\n]*\d+(?:\.\d+){1,6}\s+(?:offer|give|do not|consider|refer|use|advise|treat|start|measure|for \w+)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""“WHO suggests against …”, “(strong recommendation, …)”, “1.4.32 Offer …”."""
_SAYING = ("recommend", "suggest", "good practice")
_AROUND = 64
"""Characters on each side of a word by which a recommendation is stated that can belong to it."""
_POINTED = re.compile(r"\.\d+\s+[a-z]")
_CAPTION = re.compile(r"\W*(?:table|figure|box|annex)\s+\d", re.IGNORECASE)
_EVIDENCE = re.compile(
    r"\babsolute effect|\bbased on data from \d|\bstudy results and measurements\b|\bcertainty of the evidence:",
    re.IGNORECASE,
)
"""A row of a summary of findings: what studies found, not what to do."""


def states(text: str) -> bool:
    """Whether a passage states a recommendation as guidelines do.

    >>> states("WHO suggests against the use of NSAIDs."), states("Many people recover.")
    (True, False)
    """
    folded = text.casefold()  # most passages hold none of these words, and are passed by quickly
    for word in _SAYING:
        at = folded.find(word)
        while at >= 0:
            if _STATES.search(folded, max(at - _AROUND, 0), at + _AROUND):
                return True
            at = folded.find(word, at + 1)
    return _POINTED.search(folded) is not None and _NUMBERED.search(folded) is not None


def is_telling(text: str) -> bool:
    """Whether a sentence tells what to do, in words."""
    if len(text) > MAX_CHARACTERS or text[:1].islower() or text.endswith("?") or len(text.split()) < MIN_WORDS:
        return False
    if _telling().search(text.casefold()) is None and not has_dose(text):
        return False
    letters = sum(map(str.isalpha, text))
    return not _CAPTION.match(text) and not _EVIDENCE.search(text) and letters >= MIN_LETTERS * len(text)


def is_warning(text: str) -> bool:
    """Whether a sentence says what not to do."""
    return _warns().search(text) is not None


@cache
def _empty() -> re.Pattern[str]:
    return re.compile("|".join(row[0] for row in rows("empty_advice.tsv")), re.IGNORECASE)


def is_empty(text: str) -> bool:
    """Whether a sentence only appeals, or leads elsewhere, and tells nobody what to do for a patient.

    >>> is_empty("Clinicians should use appropriate guidelines."), is_empty("Clinicians should give oral fluids.")
    (True, False)
    """
    return _empty().search(text) is not None
