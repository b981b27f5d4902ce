"""What of a thing a question asks for, and whether an answer says it: what it is, how it is found or treated."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from citewell.answer.cues import CUES, DEFINES, NOT_DEFINING
from citewell.answer.wanted import Wanted, wanted
from citewell.clinical.questions import question_cues
from citewell.words import terms


@dataclass(frozen=True, slots=True)
class Aspect:
    """A cue of a question, and the words of which one must stand in an answer or a title above it."""

    cue: str
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
        "diagnosis",
        re.compile(
            r"\b(?:diagnos\w+|criteri\w+|tests?|tested|testing|measur\w+|thresholds?|defined as|suspect(?:ed)?"
            r"|confirm\w*|scans?|examin\w+|biops\w+|scor\w+|points?|signs?|detect\w*)\b",
            re.IGNORECASE,
        ),
        "the sources shown do not say how it is diagnosed",
    ),
    Aspect(
        "treatment",
        re.compile(
            r"\b(?:treat\w*|therap\w*|manag\w*|giv(?:e|en|ing)|offer\w*|use|used|start\w*|prescri\w*|refer\w*|first-line"
            r"|replace\w*|correct\w*|stop|surgery|infusion|antidote|plan [A-Z])\b",
            re.IGNORECASE,
        ),
        "the sources shown do not say how it is treated",
    ),
    *(
        Aspect(name, cue.answers, f"the sources shown do not say how {word}", is_of_it=True)
        for cue in CUES
        for name, word in (("frequency", "often"), ("duration", "long"))
        if cue.name == name
    ),
)
"""Reviewed as a table: a question of one of these kinds is not answered by sentences that only name its subject."""

NOT_SAID = "the sources shown do not say what it is"
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
    asked, sounds = wanted(question), question_cues(question)
    for aspect in ASPECTS:
        if aspect.cue in sounds and not any(aspect.is_said(section, asked, names) for section in shown):
            return aspect.unsaid
    if sounds >= {"what", "what alone"} and not any(_says_what(text, asked) for section in shown for text in section):
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
