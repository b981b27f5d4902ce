"""Whether a claim puts one of the things that a passage speaks of in the place of another.

Each of its words stands in the source, but not there: the placebo group for the treated one, the later step for the
earlier, the medicine that did worse for the one that did better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from citewell.answer.verify.coverage import names_of
from citewell.answer.verify.direction import Course, sides
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.read import Reading, form, forms, is_light, meanings, read
from citewell.answer.verify.rewritten import only, places

LEAST_AROUND = 4
"""Words around a place that must be the same in both, on its sides together."""

SHORTEST = 4
"""Letters of a word that can be a thing."""

_ANY = frozenset(
    form(word)
    for word in """they them these those this that which there both each other another drug drugs medicine medicines
    medication treatment treatments therapy therapies patient patients people person persons adult adults participants
    individuals subjects group groups trial trials study studies intervention agent tablet tablets dose doses condition
    conditions disease diseases disorder symptom symptoms women woman child effect effects result results level levels
    risk rate rates number cases case event events
    during throughout example instance keep store further within""".split()
)
"""Words that may stand for whatever was named before."""

_EARLIER = re.compile(r"\b(?:before|prior\s+to|followed\s+by|preced(?:es|ed|ing))\b", re.IGNORECASE)
_LATER = re.compile(r"\b(?:after|following|preceded\s+by)\b", re.IGNORECASE)
_NOT_UNTIL = re.compile(
    r"\b(?:not|nothing|no|never|nobody|none)\b[^.;]*?\b(?P<until>until|till|unless)\b", re.IGNORECASE
)
_SUPERIOR = re.compile(r"\bsuperior(?:ity)?\b", re.IGNORECASE)
_NOT_INFERIOR = re.compile(r"\bnon-?\s?inferior(?:ity)?\b|\bnot\s+(?:\w+\s+)?inferior\b", re.IGNORECASE)

ORDER = frozenset("before after prior following preceding".split())
"""Words of order, of which two say the same where what they stand between is turned round too."""


def crossed(claim: Reading, source: Reading, ours: Course, theirs: Course) -> list[Finding]:
    """Where the claim says of one thing what the source sentence says of another."""
    return [*_order(claim, source), *_of_the_other(claim, source, ours, theirs), *_superior(claim, source)]


def mixed(claim: str, source: str, others: Sequence[str]) -> Iterator[Finding]:
    """A word that stands only in other sentences of the passage, in the place of one of the source sentence."""
    for place in places(claim, source):
        said, put = only(place.said), only(place.put)
        if said is None or put is None or place.around < LEAST_AROUND:
            continue
        if not (_is_thing(said.word) and _is_thing(put.word)) or meanings(said.form) & meanings(put.form):
            continue
        is_moved = said.form not in forms(claim) and put.form not in forms(source)
        if is_moved and any(put.form in forms(other) for other in others):
            reason = f"the source says “{source[said.start : said.end]}” there"
            yield Finding(Grade.WEAKER, "opposite", reason, put.start, put.end)


def _is_thing(word: str) -> bool:
    return word.isalpha() and len(word) >= SHORTEST and form(word) not in _ANY and not is_light(form(word))


def _order(claim: Reading, source: Reading) -> Iterator[Finding]:
    """First this and then that, where the source says first that and then this."""
    ours, theirs = _steps(claim.text), _steps(source.text)
    if not ours or not theirs or ours[0] & theirs[0] or ours[1] & theirs[1]:
        return
    if ours[0] & theirs[1] and ours[1] & theirs[0]:
        yield Finding(Grade.AGAINST, "opposite", "the source says it in the other order", 0, len(claim.text))


def is_same_order(claim: Reading, source: Reading) -> bool:
    """Whether both say that the same comes first, be it with “before” or with “after”."""
    ours, theirs = _steps(claim.text), _steps(source.text)
    if not ours or not theirs or ours[0] & theirs[1] or ours[1] & theirs[0]:
        return False
    return bool(ours[0] & theirs[0] and ours[1] & theirs[1])


def is_until(claim: Reading, source: Reading) -> bool:
    """Whether one says “nothing until” where the other says “before”: both deny the same, with and without “not”."""
    is_ours, is_theirs = (_NOT_UNTIL.search(one.text) is not None for one in (claim, source))
    if is_ours == is_theirs:
        return False
    ours, theirs = _steps(claim.text), _steps(source.text)
    return bool(ours and theirs and ours[0] & theirs[0]) and not next(_order(claim, source), None)


@lru_cache(maxsize=4096)
def _steps(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words of what comes first and of what comes next; those of both, and light ones, left out."""
    reading = read(text)
    for pattern, is_forward in ((_EARLIER, True), (_LATER, False), (_NOT_UNTIL, False)):
        found = list(pattern.finditer(reading.text))
        if len(found) == 1:
            cut = found[0].start("until") if pattern is _NOT_UNTIL else found[0].start()
            words = [word for word in reading.words if not is_light(word.form)]
            left = frozenset(word.form for word in words if word.start < cut)
            right = frozenset(word.form for word in words if word.start >= found[0].end())
            first, second = (left, right) if is_forward else (right, left)
            return first - second, second - first
    return None


def _of_the_other(claim: Reading, source: Reading, ours: Course, theirs: Course) -> Iterator[Finding]:
    """“More with this than with that”, where the source says “more with that” and does not name this one."""
    compared = sides(claim)
    if compared is None or sides(source) is not None or not ours.sign or ours.sign != theirs.sign:
        return
    there = names_of(source.medicines)
    one, other = _named(claim, compared)
    if other & there and one and not one & there:
        reason = "the source says this of the one that it is compared with"
        yield Finding(Grade.AGAINST, "opposite", reason, 0, len(claim.text))


def _named(claim: Reading, compared: tuple[frozenset[str], frozenset[str]]) -> tuple[frozenset[str], frozenset[str]]:
    """The medicines on each side of a comparison."""
    words = {word.start: word.form for word in claim.words}
    one, other = (
        frozenset(drug.name for drug in claim.medicines if words.get(drug.start) in side) for side in compared
    )
    return one - other, other - one


def _superior(claim: Reading, source: Reading) -> Iterator[Finding]:
    """“Superior”, where the source says “non-inferior”."""
    said, there = _SUPERIOR.search(claim.text), _NOT_INFERIOR.search(source.text)
    if said and there and not claim.denied(said.start()) and not _SUPERIOR.search(source.text):
        yield Finding(Grade.AGAINST, "opposite", f"the source says “{there.group()}”", *said.span())
