"""Quality controls: which of the fused hits a reader is shown, and in which order."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from citewell.answer.calibration import Calibration, Reach
from citewell.answer.negation import NEGATIONS
from citewell.types import Hit


@dataclass(frozen=True, slots=True)
class Controls:
    """What a search shows; a table to be reviewed, so every number has one place."""

    reach: Reach = "near"
    """How near to the question a passage must be to be kept: the calibration of the embedder has the cosines."""
    min_relevance: float = 0.05
    """So is one whose relevance reaches this: a code found word for word, one good sentence in a long passage.

    """
    duplicate_jaccard: float = 0.9
    """Two passages that share more than this part of their words are one; no two share more than all."""
    per_document: int = 3
    """Passages of one document, while other documents are relevant too."""
    relevant_share: float = 0.5
    """A document is relevant too when its best relevance is at least this part of the best of all."""
    explaining_share: float = 0.85
    """A passage that explains recommendations counts this part of its score: what is recommended comes first."""
    back_matter_share: float = 0.6
    """So does one of what a document says of itself, such as its references: they hold the words of every question."""
    to_answer: bool = False
    """A question is to be answered: words that a document may use for others are looked for too."""
    candidates_per_hit: int = 3
    min_candidates: int = 50
    min_searched: int = 100
    """Passages that the index is asked for, by meaning and by words, however few are shown."""

    def candidates(self, limit: int) -> int:
        """How many passages are looked at to show `limit`.

        >>> Controls().candidates(5), Controls().candidates(40)
        (50, 120)
        """
        return max(self.candidates_per_hit * limit, self.min_candidates)


CONTROLS = Controls()
ANSWERING = Controls(to_answer=True)

_BACK_MATTER = re.compile(
    r"""(?:\d[\d.]*\s+)? (?: (?:references|bibliography|further\ reading|(?:table\ of\ )?contents|tables|figures
    | (?:list\ of\ )?abbreviations|acknowledge?ments?|contributors|guideline\ development\ group)$
    | © | updating\ the\ (?:recommendations?|guidelines?)\b
    | .*\b(?:declar\w+\ (?:of\ )?interests?|conflicts?\ of\ interests?)\b )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Titles of sections in which a document speaks of itself."""
EXPLAINS = re.compile(
    r"""(?:\d[\d.]*\s+)? (?: why\b | rationale\b | justification\b
    | how\ the\ recommendations?\ (?:might|may)\ affect\b | evidence\ (?:review|behind|to\ decision)\b
    | certainty\ of\b | update\ information\b | recommendations?\ for\ (?:further\ )?research\b
    | (?:guideline-relevant\ |areas\ for\ |further\ )*research
      (?:\ (?:recommendations?|needs|gaps|implications|priorities)\b | $) )""",
    re.IGNORECASE | re.VERBOSE,
)
"""Titles of sections that say why or on what grounds, not what to do."""
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")


def rank(hits: Sequence[Hit], *, limit: int, calibration: Calibration, controls: Controls = CONTROLS) -> list[Hit]:
    """The best `limit` hits: near enough, no copies, no document that crowds out another relevant one."""
    if limit <= 0:
        return []
    weighed = (_weighed(hit, controls) for hit in hits if is_near(hit, controls, calibration))
    near = sorted(weighed, key=_order)
    distinct = without_copies(near[: controls.candidates(limit)], controls)
    return sorted(_spread(distinct, limit, controls), key=_order)


def is_near(hit: Hit, controls: Controls, calibration: Calibration) -> bool:
    """Whether a hit is worth showing; a score that is not a number never passes."""
    return hit.raw_cosine >= calibration.least(controls.reach) or hit.relevance >= controls.min_relevance


def _weighed(hit: Hit, controls: Controls) -> Hit:
    """The hit, by the sections it stands in: what explains comes after what is recommended, references last."""
    share = 1.0
    if any(map(_BACK_MATTER.match, hit.section[hit.section[:1] == (hit.document,) :])):
        share = controls.back_matter_share
    elif any(map(EXPLAINS.match, hit.section)):
        share = controls.explaining_share
    return hit if share == 1.0 else replace(hit, rank_score=hit.rank_score * share)


def _order(hit: Hit) -> tuple[float, float, str, int]:
    """Best first, the same on every machine; a score that is not a number comes last."""
    return (-_number(hit.rank_score), -_number(hit.relevance), hit.document_id, hit.chunk_index)


def _number(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def without_copies(hits: Sequence[Hit], controls: Controls) -> list[Hit]:
    """Each near-duplicate once, in the place of the best: which copy is kept is not a matter of its score."""
    if controls.duplicate_jaccard >= 1:
        return list(hits)
    kept: list[Hit] = []
    words: list[frozenset[str]] = []
    marked: dict[str, list[int]] = {}
    for hit in hits:
        mine = frozenset(_WORD.findall(hit.text.casefold()))
        marks = _marks(mine, controls.duplicate_jaccard)
        alike = sorted({place for mark in marks for place in marked.get(mark, ())})
        twin = next((place for place in alike if _same(mine, words[place], controls.duplicate_jaccard)), len(kept))
        if twin == len(kept):
            kept.append(hit)
            words.append(mine)
        elif _is_preferred(hit, kept[twin]):
            kept[twin], words[twin] = _in_place_of(kept[twin], hit), mine
        else:
            continue
        for mark in marks:
            marked.setdefault(mark, []).append(twin)
    return kept


def _is_preferred(hit: Hit, other: Hit) -> bool:
    """Whether a copy is to be cited rather than one with a better score: current, then with authority, then newer.

    Only current versions are searched; that one document replaced another which is still there is known by its title
    and version. Of authority documents say no more than who published them: a named publisher counts more than none.
    """
    if hit.document == other.document and hit.version != other.version:
        return hit.version > other.version
    return _standing(hit) > _standing(other)


def _standing(hit: Hit) -> tuple[bool, date]:
    return bool(hit.publisher and hit.publisher.strip()), hit.published or date.min


def _in_place_of(best: Hit, hit: Hit) -> Hit:
    """A copy with the place of one that says the same: being the better source must not cost it its rank."""
    return replace(hit, rank_score=best.rank_score, relevance=max(hit.relevance, best.relevance, key=_number))


def _marks(words: frozenset[str], jaccard: float) -> list[str]:
    """A few words, one of which is a mark of any set that shares more than this part with `words`.

    Sets so alike differ in fewer words than there are marks, and the marks are the first words in one order for all.

    >>> _marks(frozenset("take one tablet of 5 mg each morning with water".split()), 0.9)
    ['morning', 'tablet']
    """
    ordered = sorted(sorted(words), key=len, reverse=True)
    return ordered[: len(words) - math.ceil(jaccard * len(words)) + 1] or [""]


def _same(one: frozenset[str], other: frozenset[str], jaccard: float) -> bool:
    """Whether two word sets say the same.

    A number or a negation on one side only is another statement, however alike the rest: 5 mg is not 50 mg.

    >>> leaflet = frozenset("take one tablet of 5 mg each morning with water".split())
    >>> [_same(leaflet, leaflet | {word}, 0.9) for word in ("daily", "not", "50")]
    [True, False, False]
    """
    if min(len(one), len(other)) < jaccard * max(len(one), len(other)):
        return False
    shared = len(one & other)
    either = len(one) + len(other) - shared
    if shared <= jaccard * either:
        return either == 0
    return not any(word in NEGATIONS or word[0].isdigit() for word in one ^ other)


def _spread(hits: Sequence[Hit], limit: int, controls: Controls) -> list[Hit]:
    """At most `per_document` passages of each relevant document, then what is best of the rest."""
    best: dict[str, float] = {}
    for hit in hits:
        best[hit.document_id] = max(best.get(hit.document_id, -math.inf), _number(hit.relevance))
    floor = controls.relevant_share * max(best.values(), default=0.0)
    relevant = {document for document, relevance in best.items() if relevance >= floor}
    if len(relevant) < 2:
        return list(hits[:limit])
    taken: Counter[str] = Counter()
    first, rest = [], []
    for hit in hits:
        if hit.document_id in relevant and taken[hit.document_id] < controls.per_document:
            taken[hit.document_id] += 1
            first.append(hit)
        else:
            rest.append(hit)
    return (first + rest)[:limit]
