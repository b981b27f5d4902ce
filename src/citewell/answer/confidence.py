"""How far an answer can be trusted: the seed's hybrid score as written, kept apart from what decides."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

STOPWORDS = frozenset(
    """the a an is are was were be been being have has had do does did will would could should may might must shall can
    need dare to of in for on with at by from as into through during before after above below between under again
    further then once here there when where why how all each few more most other some such no nor not only own same so
    than too very just and but if or because until while this that these those i me my myself we our ours you your
    yours he him his she her hers it its they them""".split()
)
"""The words that the coverage formula leaves out; that it is blind to “not” is why `verify` has a veto."""

RETRIEVAL, COVERAGE = 30, 40
MOST = 0.9
"""No answer is trusted more than this."""

_WORD = re.compile(r"\b[a-z0-9]+\b")
_RATING = re.compile(
    r"(?:(?:my |the |overall |confidence |support )*(?:score|rating|confidence|support|answer)\s*(?:is\s*|[:=]\s*))?"
    r"(?P<points>[0-9]{1,3})(?:\s*%|\s*/\s*100|\s+out\s+of\s+100)?\s*\.?",
    re.IGNORECASE,
)
"""A rating and nothing else: any other reply may hold a dose or a mark, and those are no rating."""
_THOUGHT = re.compile(r"<think>.*?(?:</think>|$)", re.DOTALL | re.IGNORECASE)


def key_terms(text: str) -> set[str]:
    """The words of a text that the coverage formula counts.

    >>> sorted(key_terms("The dose is 500 mg, not 5 g"))
    ['500', 'dose']
    """
    return {word for word in _WORD.findall(text.lower()) if word not in STOPWORDS and len(word) >= 3}


def coverage(answer: str, context: str) -> float:
    """The share of the answer's words that the context holds.

    >>> coverage("iron tablets daily", "Take iron daily.")
    0.6666666666666666
    >>> coverage("", "Take iron daily.")
    0.0
    """
    wanted = key_terms(answer)
    return len(wanted & key_terms(context)) / len(wanted) if wanted else 0.0


def overall(similarities: Sequence[float], covered: float) -> float:
    """The score in [0, 1]: 30 parts retrieval and 40 coverage, never all of it.

    What the writer thinks of its own answer is shown beside it and moves nothing: it was read from the prompt that
    holds the documents. Whole hundredths, rounded at the sixth decimal first, so that 59.9999999 is 60.

    >>> overall([0.8, 0.6], 0.5)
    0.58
    >>> overall([], 1.0)
    0.0
    """
    if not similarities:
        return 0.0
    retrieval = sum(similarities) / len(similarities)
    points = (retrieval * RETRIEVAL + covered * COVERAGE) / (RETRIEVAL + COVERAGE) * 100
    points = min(points, MOST * 100)
    return min(100, max(0, math.floor(round(points, 6)))) / 100


def self_rating(reply: str) -> float | None:
    """The number that a model gave for its own answer, or None when it gave none that can be read.

    >>> self_rating("85"), self_rating("<think>90? no</think> 70/100"), self_rating("Score: 0.8"), self_rating("-95")
    (0.85, 0.7, None, None)
    """
    match = _RATING.fullmatch(_THOUGHT.sub("", reply).strip(" \t\r\n*"))
    return int(match["points"]) / 100 if match and int(match["points"]) <= 100 else None
