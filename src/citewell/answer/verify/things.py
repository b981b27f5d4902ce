"""Whether a claim repeats a source sentence with another thing in a place: sodium for potassium, a liver for a kidney.

What is in no table is not known to exclude what the source says, so that it makes a claim partly carried; things of one
kind (`siblings.tsv`) exclude each other. A verb in a place may be said in many ways, and is left to the score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from citewell import vocabulary
from citewell.answer.defined import definitions
from citewell.answer.illnesses import are_related, illnesses
from citewell.answer.verify.alike import are_same, are_siblings
from citewell.answer.verify.coverage import Profile, profile
from citewell.answer.verify.findings import Finding, Grade
from citewell.answer.verify.names import Topic
from citewell.answer.verify.read import Reading, form, forms, is_empty, is_light, meanings
from citewell.answer.verify.rewritten import Place, Token, are_opposed, places, tokens
from citewell.answer.verify.weigh import Look

KIND = "thing"
"""The kind of these findings."""

LEAST_AROUND = 2
"""Words beside a place that must be the same in both."""

LEAST_SAME = 0.85
"""Share of the claim's other words that a source sentence must say, in any wording, for the two to be one sentence."""

MOST_WORDS = 2
"""Words with a meaning of their own that are one thing at most: “D-dimer”, “blood group”."""

_WORD = re.compile(r"[^\W_]+")
_BEFORE, _AFTER = re.compile(r"([^\W_]+)\W*\Z"), re.compile(r"\W*([^\W_]+)")
_LETTERS = re.compile(r"\d+")
_LABEL = re.compile(r"[A-Za-z]|[IVX]{1,5}|[A-Z]{1,3}\d{1,3}|\d{1,3}[A-Za-z]?")
"""A letter, a Roman number, or letters with a number, as names of things of one kind end with."""

_BRACKETS = re.compile(r"([^\W_]+)\s+\(([^()]{2,60})\)")
"""What a text itself explains: “haemoptysis (coughing up blood)”."""

_VERB_NEXT = frozenset(
    """to will can may should must not do does did would could might cannot never please always also then who which it
    they you we she he i""".split()
)
"""After these a verb stands; after “to” only where something follows that is done to."""

_DETERMINERS = frozenset(
    """the a an this these those your their his her its our any each every some no all both another that whether if how
    it them him""".split()
)
_ENDS_PHRASE = frozenset("of in on at by for with from into and or but if when is are was were until".split())
_NOT_THINGS = ("ed", "ly", "ised", "ized")
_ANY = frozenset(
    form(word)
    for word in """they them these those this that which there both each other another thing things drug drugs medicine
    medicines medication treatment treatments therapy therapies patient patients people person persons adult adults
    participants individuals subjects group groups trial trials study studies intervention agent dose doses condition
    conditions disease diseases disorder symptom symptoms effect effects result results level levels risk rate rates
    number cases case event events example instance further within one two three once twice""".split()
)
"""Words that may stand for whatever was named before, or that other rules read."""


def things_differ(claim: Reading, source: Reading, texts: Sequence[str], known: Sequence[Topic]) -> Iterator[Finding]:
    """Each thing of the claim that stands where the source sentence has another; `texts` are all the cited words."""
    laid = [place for place in places(claim.text, source.text) if _is_aligned(place, claim, source.text)]
    framed = [
        place
        for place in _framed(claim.text, source.text)
        if _is_strange(place.put, tuple(texts)) and _is_aligned(place, claim, "\n".join(texts))
    ]
    found = {place.put[0].start: place for place in (*framed, *laid)}
    for place in found.values():
        said, put = _full(place.said), _full(place.put)
        if not _are_things(said, put, claim, source, tuple(texts)):
            continue
        if _is_said_otherwise(said, put, claim, source, known) or _is_opened(said, put, tuple(texts)):
            continue
        there, here = (text[part[0].start : part[-1].end] for text, part in ((source.text, said), (claim.text, put)))
        is_known = _are_labels(there, here) or any(are_siblings(one.word, other.word) for one in said for other in put)
        grade = Grade.AGAINST if is_known or are_opposed(said[-1].word, put[-1].word) else Grade.MISSING
        yield Finding(grade, KIND, f"“{here}” stands where the source says “{there}”", put[0].start, put[-1].end)


def is_put(look: Look) -> bool:
    """Whether the claim has another thing in a place of the sentence."""
    return any(finding.kind == KIND for finding in look.findings)


def spread(claim: Reading, close: Sequence[Look]) -> list[Look]:
    """The same looks: what stands in the place of another thing in one of them is carried by none that lacks it."""
    found = sorted((one for look in close for one in look.findings if one.kind == KIND), key=lambda one: one.grade)
    return [_lacking(claim, look, found) for look in close] if found else list(close)


def _lacking(claim: Reading, look: Look, found: Sequence[Finding]) -> Look:
    there, told = tokens(look.text), {finding.start for finding in look.findings}
    lacks = [
        replace(finding, grade=Grade.MISSING)
        for finding in {one.start: one for one in found}.values()
        if finding.start not in told
        and not any(
            are_same(put.word, one.word)
            for put in tokens(claim.text)
            if finding.start <= put.start < finding.end
            for one in there
        )
    ]
    return replace(look, findings=(*look.findings, *lacks)) if lacks else look


def _are_labels(one: str, other: str) -> bool:
    """Whether both end a name of one kind, as T3 and T4 do."""
    is_label = _LABEL.fullmatch(one) is not None and _LABEL.fullmatch(other) is not None
    same = _LETTERS.sub("", one) == _LETTERS.sub("", other) if one[-1].isdigit() else one.isupper() == other.isupper()
    return is_label and same


def _full(tokens: Sequence[Token]) -> list[Token]:
    """The words with a meaning of their own."""
    return [token for token in tokens if not is_empty(token.word)]


def _is_aligned(place: Place, claim: Reading, text: str) -> bool:
    """Whether all around a place is the same: words beside it, and nearly all else that the claim says."""
    start, end, there = place.put[0].start, place.put[-1].end, profile(text)
    others = [word for word in claim.words if not start <= word.start < end]
    same = sum(word.form in there.forms or bool(word.meanings & there.meanings) for word in others)
    return place.around >= LEAST_AROUND and same >= LEAST_SAME * len(others)


def _framed(claim: str, source: str) -> Iterator[Place]:
    """Where one word stands between the same two of both, however much else they say: “mechanical … valve”."""
    there: dict[tuple[str, str], Token] = {}
    for first, middle, last in _threes(source):
        there.setdefault((first.form, last.form), middle)
    for first, middle, last in _threes(claim):
        said = there.get((first.form, last.form))
        if said is not None and said.form != middle.form and not (is_empty(first.word) or is_empty(last.word)):
            yield Place((said,), (middle,), 1, 1)


def _threes(text: str) -> Iterator[tuple[Token, Token, Token]]:
    words = tokens(text)
    return zip(words, words[1:], words[2:], strict=False)


def _are_things(
    said: Sequence[Token], put: Sequence[Token], claim: Reading, source: Reading, texts: tuple[str, ...]
) -> bool:
    """Whether a thing stands there in both, the claim's not in the source sentence and that one's not in the claim.

    A word that many sentences share may stand for what was named before, but for nothing that the source never names.
    """
    if not (1 <= len(said) <= MOST_WORDS and 1 <= len(put) <= MOST_WORDS):
        return False
    is_moved = all(_is_more(token, source.text, claim.text) for token in said) and all(
        _is_more(token, claim.text, source.text) for token in put
    )
    is_known = are_siblings(said[-1].word, put[-1].word)
    if not is_moved or (not is_known and any(map(_is_no_noun, (*said, *put)))):
        return False
    if any(_is_verb(token, reading.text) for token, reading in ((said[0], source), (put[0], claim))):
        return False
    return is_known or (all(map(_is_telling, put)) and (all(map(_is_telling, said)) or _is_strange(put, texts)))


def _is_more(token: Token, here: str, there: str) -> bool:
    """Whether one text has a word more often than the other: an item of a list may have changed its place."""
    counts = (sum(one.form == token.form for one in tokens(text)) for text in (here, there))
    return next(counts) > next(counts)


def _is_no_noun(token: Token) -> bool:
    return token.word.isdigit() or token.word.endswith(_NOT_THINGS)


def _is_telling(token: Token) -> bool:
    return not is_light(token.form) and token.form not in _ANY and token.form not in _signed()


def _is_strange(put: Sequence[Token], texts: tuple[str, ...]) -> bool:
    """Whether none of the cited words is one of these, in any wording."""
    there = _all(texts)
    return not any(token.form in there.forms or meanings(token.form) & there.meanings for token in put)


@lru_cache(maxsize=64)
def _all(texts: tuple[str, ...]) -> Profile:
    return profile("\n".join(texts))


@cache
def _signed() -> frozenset[str]:
    """Words of more and less, which are multiplied: “rarer” is “less common”."""
    table = vocabulary.rows("antonyms.tsv")
    return frozenset(form(word) for _, weight, _, words in table if weight == "signed" for word in words.split("|"))


def _is_verb(token: Token, text: str) -> bool:
    """Whether a word is what is done, by the words beside it."""
    before, after = _BEFORE.search(text[: token.start]), _AFTER.match(text, token.end)
    last = before.group(1).casefold() if before else ""
    following = after.group(1).casefold() if after else ""
    if last in _VERB_NEXT:
        return last != "to" or (bool(following) and following not in _ENDS_PHRASE)
    mark = text[: token.start].rstrip()[-1:]
    is_opening = not last or mark in (":", ";", "•")
    if mark == "," and (following.isdigit() or following in _DETERMINERS):  # “If the child vomits, wait 10 minutes”
        return True
    does = token.word.endswith("s") and last not in _DETERMINERS
    return (is_opening or does) and (following in _DETERMINERS or (is_opening and following in _ENDS_PHRASE))


def _is_said_otherwise(
    said: Sequence[Token], put: Sequence[Token], claim: Reading, source: Reading, known: Sequence[Topic]
) -> bool:
    """Whether two words for one thing stand there, or names of an illness of which one is a kind of the other."""
    if any(are_same(one.word, other.word) for one in said for other in put) or _is_short(said, put):
        return True
    drugs = {drug.name for drug in source.medicines if drug.start < said[-1].end and said[0].start < drug.end}
    if any(drug.name in drugs for drug in claim.medicines if drug.start < put[-1].end and put[0].start < drug.end):
        return True
    ours, theirs = (
        [one.name for one in illnesses(text) if one.start < part[-1].end and part[0].start < one.end]
        for text, part in ((claim.text, put), (source.text, said))
    )
    if any(are_related(one, other) for one in ours for other in theirs):
        return True
    there = forms(source.text)
    return any(topic.start < put[-1].end and put[0].start < topic.end and topic.is_in(there) for topic in known)


def _is_short(said: Sequence[Token], put: Sequence[Token]) -> bool:
    """Whether one side has the first letters of the words of the other: “CI” for “confidence interval”."""
    short, long = sorted((said, put), key=len)
    return len(long) > 1 and len(short) == 1 and short[0].word == "".join(token.word[0] for token in long)


def _is_opened(said: Sequence[Token], put: Sequence[Token], texts: tuple[str, ...]) -> bool:
    """Whether the cited words themselves say that the one is the other: “the international normalised ratio (INR)”."""
    here, there = {token.form for token in put}, {token.form for token in said}
    return any((here & one and there & other) or (here & other and there & one) for one, other in _explained(texts))


@lru_cache(maxsize=64)
def _explained(texts: tuple[str, ...]) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    pairs = [pair for text in texts for pair in definitions(text)]
    pairs += [match.groups() for text in texts for match in _BRACKETS.finditer(text)]  # type: ignore[misc]
    return tuple((forms(one), forms(other)) for one, other in pairs)
