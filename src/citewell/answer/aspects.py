"""What of a thing a question asks for, and whether an answer says it: what it is, how it is found or treated."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from citewell.answer.cues import ASKS_WHAT, CUES, DEFINES, NOT_DEFINING
from citewell.answer.wanted import Wanted, wanted
from citewell.words import terms


@dataclass(frozen=True, slots=True)
class Aspect:
    """A kind of question, and the words of which one must stand in an answer or a title above it."""

    asks: re.Pattern[str]
    says: re.Pattern[str]
    unsaid: str
    is_of_it: bool = False
    """It must stand in a section that names what is asked about: “for 3 days” is said of many things."""

    def is_said(self, section: Sequence[str], asked: Wanted, names: Callable[[str], bool]) -> bool:
        """Whether a section says it; `names` tells whether a text names the subject of the question by other words."""
        if not any(self.says.search(text) for text in section):
            return False
        if not self.is_of_it or asked.labels:
            return True
        return any(frozenset(terms(text)).intersection(asked.words) or names(text) for text in section)


ASPECTS = (
    Aspect(
        re.compile(
            r"^\s*how (?:is|are|was|were|do (?:you|we|i))\b.{1,80}\bdiagnos\w+|\bdiagnostic criteria\b"
            r"|^\s*(?:what is|what['’]s) the diagnosis of\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(?:diagnos\w+|criteri\w+|tests?|tested|testing|measur\w+|thresholds?|defined as|suspect(?:ed)?"
            r"|confirm\w*|scans?|examin\w+|biops\w+|scor\w+|points?|signs?|detect\w*)\b",
            re.IGNORECASE,
        ),
        "the sources shown do not say how it is diagnosed",
    ),
    Aspect(
        re.compile(
            r"^\s*how (?:is|are|do (?:you|we|i)|should|to|can)\b.{1,80}\btreat\w*"
            r"|^\s*what(?:['’]s| is| are) the (?:[\w-]+ ){0,2}(?:treatment|therapy|management)s? (?:of|for)\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(?:treat\w*|therap\w*|manag\w*|giv(?:e|en|ing)|offer\w*|use|used|start\w*|prescri\w*|refer\w*|first-line"
            r"|replace\w*|correct\w*|stop|surgery|infusion|antidote|plan [A-Z])\b",
            re.IGNORECASE,
        ),
        "the sources shown do not say how it is treated",
    ),
    *(
        Aspect(cue.asks, cue.answers, f"the sources shown do not say how {word}", is_of_it=True)
        for cue in CUES
        for name, word in (("frequency", "often"), ("duration", "long"))
        if cue.name == name
    ),
)
"""Reviewed as a table: a question of one of these kinds is not answered by sentences that only name its subject."""

NOT_SAID = "the sources shown do not say what it is"
_NAMES_ONE = re.compile(
    r"^\s*(?:what(?:['’]s| is)|define|(?:the )?(?:definition|meaning) of|what counts as"
    r"|what does(?=.{1,60}\b(?:mean|stand)\b))\s+"
    r"(?:(?:an?|the (?:definition|meaning) of|the)\s+)?(?:[\w’'-]+\s*){1,3}\??\s*$",
    re.IGNORECASE,
)
"""A question for what one thing is, and for nothing else: “What are the rules here?” may want a list."""
_BULLET = re.compile(r"^\s*(?:[•▪◦‣–*-]|\d+[.)])\s*")
_SAYS_WHAT = re.compile(r"\b(?:defined as|means?|refers? to|is an?|are an?|is the|called|known as)\b", re.IGNORECASE)


def unsaid(
    question: str, shown: Sequence[Sequence[str]], *, names: Callable[[str], bool] = lambda _text: False
) -> str | None:
    """What no sentence of an answer says though it is asked for; `shown` are its sentences by section, titles first.

    >>> unsaid("How is malaria treated?", [["Malaria", "Malaria is common here."]])
    'the sources shown do not say how it is treated'
    >>> unsaid("How is malaria treated?", [["Malaria", "Give artesunate."]])
    >>> unsaid("How long is zinc given?", [["Iron", "Give iron for 3 months."]])
    'the sources shown do not say how long'
    >>> unsaid("How long is zinc given?", [["Zinc", "Give it for six months."]])
    >>> unsaid("What is pre-eclampsia?", [["Do not use", "• Pre-eclampsia and eclampsia"]])
    'the sources shown do not say what it is'
    >>> unsaid("What is haemoptysis?", [["Terms", "Haemoptysis. Coughing up blood from the lungs."]])
    """
    asked = wanted(question)
    for aspect in ASPECTS:
        if aspect.asks.search(question) and not any(aspect.is_said(section, asked, names) for section in shown):
            return aspect.unsaid
    asks_what = ASKS_WHAT.search(question) and _NAMES_ONE.search(question)
    if asks_what and not any(_says_what(text, asked) for section in shown for text in section):
        return NOT_SAID
    return None


def _says_what(text: str, asked: Wanted) -> bool:
    """Whether a sentence, a row or a title may say what the thing is that is asked for."""
    bare = _BULLET.sub("", text)
    if NOT_DEFINING.match(bare):
        return False
    if asked.labels or asked.amounts or asked.cues:
        return True
    held = frozenset(terms(bare))
    if not held.intersection(asked.words):
        return False
    names = len(held) <= len(asked.words) + 1 and "," not in bare and not _BULLET.match(text)
    return names or DEFINES.match(bare) is not None or _SAYS_WHAT.search(bare) is not None
