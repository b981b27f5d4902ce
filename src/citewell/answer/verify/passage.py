"""What the words cited of one source have of a claim: how much of it they say, and which of its words they lack."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from citewell.answer.rows import tabled
from citewell.answer.verify.coverage import Profile, coverage, profile
from citewell.answer.verify.names import Topic, known_of
from citewell.answer.verify.parts import parts_of
from citewell.answer.verify.read import Reading, Word, is_light, read
from citewell.answer.verify.weigh import Passage
from citewell.clinical import Lexicon
from citewell.types import Span

LETTERS = 4
"""How long the runs of letters are that a claim and its source are compared by."""

_GAP = re.compile(r"\W+")


@lru_cache(maxsize=256)
def passage_of(sentence: str, spans: tuple[Span, ...], source_id: str, lexicon: Lexicon) -> Passage:
    """What the words cited of one source have of a claim."""
    claim, spans = read(sentence), tuple(span for span in spans if span.source_id == source_id)
    known, everything = known_of(claim.text, lexicon), whole(spans)
    unknown = _unknown(claim, known, everything)
    strange = sum(not is_light(word.form) for word in unknown)
    return Passage(coverage(claim, known, everything), strange, _letters(claim, unknown, spans))


def _unknown(claim: Reading, known: Sequence[Topic], source: Profile) -> list[Word]:
    """The words of a claim that the source does not say in any wording, nor names under another name."""
    named = [(topic.start, topic.end) for topic in known if topic.is_in(source.forms)]
    return [
        word
        for word in claim.words
        if word.form not in source.forms
        and word.meanings.isdisjoint(source.meanings)
        and not any(start <= word.start < end for start, end in named)
    ]


def _letters(claim: Reading, unknown: Sequence[Word], spans: tuple[Span, ...]) -> float:
    """The share of a claim's words that the source says, one that it does not say counting by its runs of letters.

    It sees a part of “thrombotic” in “antithrombin”.
    """
    if not claim.words:
        return 1.0
    held = _letters_of(spans)
    missed = 0.0
    for word in unknown:
        runs = _runs(claim.text[word.start : word.end])
        missed += 1 - sum(run in held for run in runs) / len(runs) if runs else 1
    return 1 - missed / len(claim.words)


@lru_cache(maxsize=256)
def _letters_of(spans: tuple[Span, ...]) -> str:
    return "\n".join(_GAP.sub(" ", span.text.casefold()) for span in spans)


def _runs(text: str) -> frozenset[str]:
    plain = _GAP.sub(" ", text.casefold())
    return frozenset(plain[start : start + LETTERS] for start in range(len(plain) - LETTERS + 1))


@lru_cache(maxsize=256)
def whole(spans: tuple[Span, ...]) -> Profile:
    """All the cited words as one."""
    profiles = [profile(part.text) for part in (*parts_of(spans), *tabled(spans).others)]
    profiles += [profile(title) for span in spans for title in span.titles]
    return Profile(
        frozenset().union(*(one.forms for one in profiles)), frozenset().union(*(one.meanings for one in profiles))
    )
