"""What words mean that no table names: “trousers falling off him” is weight loss. The clinical reader says so."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from operator import itemgetter

from citewell.clinical.assertion import AssertionContext, MentionSpan
from citewell.clinical.lexicon import Lexicon, Mention, broader, id_of, ids_of, mentions, named_concept
from citewell.clinical.quantities import habits, results

SURE_OF_SPAN, SURE_OF_MEANING = 0.7, 0.7
"""From which share on words are taken for a mention, and their meaning for the likeliest one."""
KINDS = frozenset({"symptom", "condition", "lifestyle"})
MOSTLY = 0.5
"""The share of a mention that the lexicon must name for its name to be the one that counts."""
_IS_NORMAL = re.compile(
    r"[\s:=-]*(?:(?:is|are|remains?|has been|all|very|still)\s+)*"
    r"\b(?:fine|normal|ok|okay|clear|nad|unremarkable|stable|steady|unchanged|good|well|static|maintained"
    r"|(?:the |about the )?same(?! as)|back to (?:normal|usual)|as (?:ever|usual|normal)|no different|no bother"
    r"|not (?:really )?(?:moved|changed|budged|altered|dropped|shifted))\b",
    re.IGNORECASE,
)
_NORMAL_INSIDE = re.compile(
    r"(?<!\bnot )(?<!\bnot very )(?<!\bno )(?<!\bnever )\b(?:unchanged|stable|steady|static|maintained"
    r"|(?:the |about the )?same(?! as)|back to (?:normal|usual)|as (?:ever|usual|normal)|like clockwork|strong"
    r"|not (?:really )?(?:moved|changed|budged|altered|dropped|shifted))\b",
    re.IGNORECASE,
)
"""What says so among the words: “my weight has not moved”."""
"""What says behind the words that nothing is wrong: “wt steady”."""
_LETTER = re.compile(r"[^\W\d_]")
CERTAIN = 0.9
"""From which share on the reader's meaning of words counts against a name that the lexicon sees in a part of them."""
WEIGHT = frozenset({"weight loss", "weight gain"})
"""Changes that are often told as an amount alone: “8 kg down”."""
LOSSES = frozenset({"weight loss", "loss of appetite"})
_MORE = re.compile(r"\b(?:increas\w+|gain\w*|ravenous|bigger|better|good)\b", re.IGNORECASE)
"""What turns a loss into its opposite: “increased appetite”."""
NOTHING = "none"
"""What the reader calls words that look like a complaint and are none."""


@lru_cache(maxsize=64)
def meant(context: AssertionContext) -> tuple[Mention, ...]:
    """The mentions that the reader sees where the lexicon knows no name or another one, with what they mean.

    >>> from citewell.clinical.assertion import read_context
    >>> [one.name for one in meant(read_context("trousers are falling off him"))]
    ['weight loss']
    """
    named = mentions(context.text)
    places = [place for mention in named for place in mention.places]
    known = _Places(places)
    measured = _Places((reading.start, reading.end) for reading in results(context.text) if reading.values)
    changes = [
        _learned(habit.start, habit.end, habit.what)
        for habit in habits(context.text)
        if habit.what in WEIGHT and not known.covered(habit.start, habit.end)
    ]
    known = _Places([*places, *((change.start, change.end) for change in changes)])
    spans = [
        span
        for span in context.spans
        if span.kind in KINDS
        and span.share >= SURE_OF_SPAN
        and _LETTER.search(context.text, span.start, span.end)
        and (known.covered(span.start, span.end) < MOSTLY * (span.end - span.start) or _is_another(span, named))
        and not measured.covered(span.start, span.end)
    ]
    meanings = ((span, likeliest(span.meanings)) for span in spans)
    return (
        *changes,
        *(
            _learned(span.start, span.end, name)
            for span, name in meanings
            if name and not (name in LOSSES and _MORE.search(context.text, span.start, span.end))
        ),
    )


def is_normal(context: AssertionContext, start: int, end: int) -> bool:
    """Whether words, or what follows them, say that nothing is wrong with what they name.

    >>> from citewell.clinical.assertion import read_context
    >>> is_normal(read_context("wt steady"), 0, 2), is_normal(read_context("wt down"), 0, 2)
    (True, False)
    """
    text = context.text
    return _IS_NORMAL.match(text, end) is not None or _NORMAL_INSIDE.search(text, start, end) is not None


def _is_another(span: MentionSpan, named: Sequence[Mention]) -> bool:
    """Whether words certainly mean something that the lexicon does not find in them."""
    name, share = max(span.meanings, key=itemgetter(1), default=(NOTHING, 0.0))
    if share < CERTAIN or name == NOTHING:
        return False
    inside = [mention.ids for mention in named if mention.start < span.end and span.start < mention.end]
    return ids_of(named_concept(name)).isdisjoint(frozenset().union(*inside))


def is_misread(context: AssertionContext, places: Sequence[tuple[int, int]], ids: frozenset[str]) -> bool:
    """Whether words that the lexicon takes for something are a small part of words that mean something else.

    >>> from citewell.clinical.assertion import read_context
    >>> text = "trousers are falling off him"
    >>> is_misread(read_context(text), [(13, 20)], ids_of(named_concept("injury")))
    True
    """
    concepts = Lexicon.load().concepts
    if not any(concepts[id_].kind in KINDS for id_ in ids if id_ in concepts):
        return False  # an organ or a test is named whatever the whole means
    low, high = places[0][0], max(end for _, end in places)
    for span in context.spans:
        if span.start <= low and high <= span.end and span.share >= SURE_OF_SPAN and span.kind in KINDS:
            name, share = max(span.meanings, key=itemgetter(1), default=("", 0.0))
            covered = sum(end - start for start, end in places)
            is_small = covered < MOSTLY * (span.end - span.start)
            if share >= CERTAIN and is_small and not _is_related(name, ids):
                return _is_another(span, mentions(context.text))  # “upper abdominal pain with weight loss” is both
    return False


def _is_related(name: str, ids: frozenset[str]) -> bool:
    """Whether a thing is one of these, or a kind of them, or they of it."""
    if name == NOTHING:
        return False
    own = ids_of(named_concept(name))
    return bool((own | broader(own)) & ids or own & broader(ids))


def likeliest(meanings: Sequence[tuple[str, float]]) -> str | None:
    """The narrowest thing of which the shares, with those of all that is narrower, are enough; None where none is.

    >>> likeliest((("visible haematuria", 0.5), ("haematuria", 0.4)))
    'haematuria'
    """
    shares = {name: share for name, share in meanings if name != NOTHING}
    sums = {name: sum(one for narrow, one in shares.items() if name in _kinds_of(narrow)) for name in shares}
    enough = [name for name, share in sums.items() if share >= SURE_OF_MEANING]
    narrowest = [name for name in enough if not any(name in _kinds_of(other) for other in enough if other != name)]
    return max(narrowest, key=sums.__getitem__, default=None)


@cache
def _kinds_of(name: str) -> frozenset[str]:
    """The names of a thing and of all that is broader."""
    ids = ids_of(named_concept(name))
    concepts = Lexicon.load().concepts
    return frozenset({name, *(concepts[one].name for one in ids | broader(ids) if one in concepts)})


class _Places:
    """Where names of the lexicon stand."""

    def __init__(self, places: Iterable[tuple[int, int]]) -> None:
        self._places = sorted(places)
        self._starts = [start for start, _ in self._places]

    def covered(self, start: int, end: int) -> int:
        """How many characters have a name: of “trousers falling off him” only “falling off”."""
        first = max(0, bisect_right(self._starts, start) - 1)
        near = self._places[first : bisect_left(self._starts, end)]
        return sum(max(0, min(high, end) - max(low, start)) for low, high in near)


def _learned(start: int, end: int, name: str) -> Mention:
    concept = named_concept(name)
    return Mention(start, end, concept.name, id_of(concept), ids_of(concept), concept.kind, "learned")
