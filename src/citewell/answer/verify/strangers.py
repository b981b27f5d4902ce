"""What was joined to a sentence and is nowhere in the cited words: “… and epilepsy”, “… and for suicide”."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from citewell.answer.verify.coverage import Profile
from citewell.answer.verify.names import Topic, topics
from citewell.answer.verify.read import Reading, Word, is_light, read
from citewell.clinical import Lexicon

LONG_FROM = 3
"""Content words from which a clause says something of its own whatever they are."""

_JOINED = re.compile(
    r"[,;]\s*(?:(?:and|but|or|also|then|plus)\s+)?"
    r"|\s+(?:and|but|or|also|then|plus|as\s+well\s+as|along\s+with|together\s+with|in\s+addition\s+to|including|besides)\s+",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"(?:(?:in|of|for|with|to|at|by|from|on|after|before|during|against|the|an?|any|some|your|their|his|her|its|even"
    r"|sometimes)\s+)*",
    re.IGNORECASE,
)
"""What may stand before the thing that was joined."""

_ENDS = re.compile(
    r"\b(?:in|of|for|with|to|at|by|from|on|after|before|during|if|when|who|which|that|is|are|was|were|be|can|may|should|must"
    r"|will|than|as|into|within|until|unless|because|per|every|without|about|has|have|had)\b|[,;.()]",
    re.IGNORECASE,
)
_OBJECT = re.compile(r"\s(?:the|an?|your|their|his|her|it|them|him|this|these|any|all)\b", re.IGNORECASE)
"""After a verb: “and inform the family” joins no thing, and what is done may be said in other words."""

_SAYS_NOTHING = frozenset(
    """example instance course fact general particular addition contrast summary short therefore however too indeed thus
    hence note possible necessary appropriate needed required applicable available indicated mind usually""".split()
)
"""Words by which a sentence is carried on, without more being said."""

_DONE = ("ly",)


def stranger(sentence: str, source: Profile, lexicon: Lexicon) -> str | None:
    """The first thing that was joined to a sentence and that the source does not name in any words.

    >>> from citewell.answer.verify.coverage import profile
    >>> source = profile("Paracetamol is used for fever in adults.")
    >>> stranger("Paracetamol is used for fever and epilepsy in adults.", source, Lexicon.load())
    'epilepsy'
    """
    claim = read(sentence)
    joints = [match.span() for match in _JOINED.finditer(claim.text)]
    if not joints:
        return None
    known = topics(claim.text, lexicon)
    found = [*_clauses(claim, joints, known, source), *_topics(claim, joints, known, source)]
    return next((claim.text[start:end].strip(" .,;") for start, end in found), None)


def _clauses(
    claim: Reading, joints: Sequence[tuple[int, int]], known: Sequence[Topic], source: Profile
) -> Iterator[tuple[int, int]]:
    """Clauses of which the source has no word, and things joined to another that it does not name."""
    held = [(topic.start, topic.end) for topic in known if topic.is_in(source.forms)]
    for (start, begin), (end, _) in pairwise([*joints, (len(claim.text), 0)]):
        words = [word for word in claim.words if begin <= word.start < end]
        if _are_strange(words, held, source) and (len(words) >= LONG_FROM or _says_something(claim, words, begin, end)):
            yield begin, end
        elif claim.text[start:begin].strip(" ,;"):
            yield from _thing(claim, begin, end, held, source)


def _thing(
    claim: Reading, begin: int, end: int, held: Sequence[tuple[int, int]], source: Profile
) -> Iterator[tuple[int, int]]:
    """The thing next after “and”, as far as the words that say more of it."""
    opening = _OPENS.match(claim.text, begin)
    first = opening.end() if opening else begin
    closing = _ENDS.search(claim.text, first, end)
    last = closing.start() if closing else end
    words = [word for word in claim.words if first <= word.start < last]
    is_verb = bool(words) and claim.text[words[-1].start : words[-1].end].casefold().endswith(_DONE)
    if is_verb or _OBJECT.search(claim.text, first, last):
        return
    if _are_strange(words, held, source) and _says_something(claim, words, first, last):
        yield first, last


def _topics(
    claim: Reading, joints: Sequence[tuple[int, int]], known: Sequence[Topic], source: Profile
) -> Iterator[tuple[int, int]]:
    """Conditions next to an “and” that the source does not name."""
    for topic in known:
        words = [word for word in claim.words if topic.start <= word.start < topic.end]
        if topic.is_in(source.forms) or not _are_strange(words, (), source) or _is_medicine(claim, topic):
            continue
        for start, end in joints:
            between = (end, topic.start) if end <= topic.start else (topic.end, start)
            is_next = between[0] <= between[1] and not any(
                between[0] <= word.start < between[1] for word in claim.words
            )
            if is_next and claim.text[start:end].strip(" ,;"):
                yield topic.start, topic.end
                break


def _is_medicine(claim: Reading, topic: Topic) -> bool:
    """Whether it is checked as a medicine, under all its brands."""
    return any(drug.start < topic.end and topic.start < drug.end for drug in claim.medicines)


def _are_strange(words: Sequence[Word], held: Sequence[tuple[int, int]], source: Profile) -> bool:
    """Whether there are words, and the source has none of them in any wording."""
    return bool(words) and not any(
        word.form in source.forms
        or word.meanings & source.meanings
        or any(start <= word.start < end for start, end in held)
        for word in words
    )


def _says_something(claim: Reading, words: Sequence[Word], start: int, end: int) -> bool:
    """Whether a word of these is neither common nor an adverb; an amount is checked as such."""
    if any(start <= amount.start < end for amount in claim.quantities):
        return False
    written = [claim.text[word.start : word.end].casefold() for word in words if not is_light(word.form)]
    return any(not word.endswith("ly") and word not in _SAYS_NOTHING for word in written)
