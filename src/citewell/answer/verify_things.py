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
from citewell.answer.verify_findings import Finding, Grade
from citewell.answer.verify_read import Reading, form, forms, is_empty, is_light, meanings
from citewell.answer.verify_rewritten import Place, Token, are_opposed, places, poles, tokens
from citewell.answer.verify_subjects import Topic
from citewell.answer.verify_support import profile
from citewell.answer.verify_weigh import Look

KIND = "thing"
"""The kind of these findings."""

LEAST_AROUND = 2
"""Words beside a place that must be the same in both."""

LEAST_SAME = 0.6
"""Share of the claim's other words that the source sentence must say, for the two to be one sentence."""

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
_ENDINGS = frozenset(
    "|s|es|ed|ing|ic|ical|al|ial|ist|y|ies|ion|ions|ive|ous|ant|ent|ance|ence|er|ers|or|ity|ness|ment|e|en|inal|ar|ary|ia|aemic|a".split(
        "|"
    )
)
"""What words of one root end with."""

LONGEST_ROOT = 5
"""Letters that two words must begin alike with to be of one root."""

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
    laid = [place for place in places(claim.text, source.text) if _is_aligned(place, claim, source)]
    found = {place.put[0].start: place for place in (*_framed(claim.text, source.text), *laid)}
    for place in found.values():
        said, put = _full(place.said), _full(place.put)
        if not _are_things(said, put, claim, source):
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
    there, told = profile(look.text), {finding.start for finding in look.findings}
    lacks = [
        replace(finding, grade=Grade.MISSING)
        for finding in {one.start: one for one in found}.values()
        if finding.start not in told
        and not any(
            word.form in there.forms or word.meanings & there.meanings
            for word in claim.words
            if finding.start <= word.start < finding.end
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


def _is_aligned(place: Place, claim: Reading, source: Reading) -> bool:
    """Whether all around a place is the same: nearly the whole claim, or the words on both sides."""
    if place.around < LEAST_AROUND:
        return False
    if place.before and place.after and place.around > LEAST_AROUND:
        return True
    start, end = place.put[0].start, place.put[-1].end
    others = [word for word in claim.words if not start <= word.start < end]
    there = forms(source.text)
    same = sum(word.form in there for word in others)
    return same >= LEAST_SAME * len(others)


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


def _are_things(said: Sequence[Token], put: Sequence[Token], claim: Reading, source: Reading) -> bool:
    """Whether a thing stands there in both, the claim's not in the source sentence and that one's not in the claim."""
    if not (1 <= len(said) <= MOST_WORDS and 1 <= len(put) <= MOST_WORDS):
        return False
    is_moved = all(token.form not in forms(claim.text) for token in said) and all(
        token.form not in forms(source.text) for token in put
    )
    return (
        is_moved
        and not any(_is_verb(token, reading.text) for token, reading in ((said[0], source), (put[0], claim)))
        and (all(map(_may_be_thing, (*said, *put))) or are_siblings(said[-1].word, put[-1].word))
    )


def _may_be_thing(token: Token) -> bool:
    if token.word.isdigit() or token.word.endswith(_NOT_THINGS):
        return False
    return not is_light(token.form) and token.form not in _ANY and token.form not in _signed()


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
    is_opening = not last or text[: token.start].rstrip()[-1:] in (":", ";", "•")
    does = token.word.endswith("s") and last not in _DETERMINERS
    return (is_opening or does) and (following in _DETERMINERS or (is_opening and following in _ENDS_PHRASE))


def _is_said_otherwise(
    said: Sequence[Token], put: Sequence[Token], claim: Reading, source: Reading, known: Sequence[Topic]
) -> bool:
    """Whether two words for one thing stand there, or names of an illness of which one is a kind of the other."""
    if any(are_same(one.word, other.word) for one in said for other in put):
        return True
    ours, theirs = (
        [one.name for one in illnesses(text) if one.start < part[-1].end and part[0].start < one.end]
        for text, part in ((claim.text, put), (source.text, said))
    )
    if any(are_related(one, other) for one in ours for other in theirs):
        return True
    there = forms(source.text)
    return any(topic.start < put[-1].end and put[0].start < topic.end and topic.is_in(there) for topic in known)


@lru_cache(maxsize=4096)
def are_same(one: str, other: str) -> bool:
    """Whether two words may stand for each other: a table has them in one row, or they are of one root.

    >>> are_same("kidney", "renal"), are_same("diabetic", "diabetes"), are_same("creatine", "creatinine")
    (True, True, False)
    """
    here, there = form(one), form(other)
    if here == there or meanings(here) & meanings(there) or _wordings(here) & _wordings(there) or _agree(one, other):
        return True
    root = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return root >= LONGEST_ROOT and one[root:] in _ENDINGS and other[root:] in _ENDINGS


def _agree(one: str, other: str) -> bool:
    """Whether the table of antonyms has both at the same end of an axis, as “resume” and “restart”."""
    return not poles(one).isdisjoint(poles(other)) and not are_opposed(one, other)


@cache
def _table() -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for number, (words,) in enumerate(vocabulary.rows("wordings.tsv")):
        for word in words.split("|"):
            found[form(word)] = found.get(form(word), frozenset()) | {number}
    return found


def _wordings(form_of_word: str) -> frozenset[int]:
    return _table().get(form_of_word, frozenset())


@lru_cache(maxsize=4096)
def are_siblings(one: str, other: str) -> bool:
    """Whether two words name different things of one kind.

    >>> are_siblings("sodium", "potassium"), are_siblings("renal", "kidney")
    (True, False)
    """
    here, there = _kinds().get(form(one), {}), _kinds().get(form(other), {})
    return any(kind in there and there[kind] != thing for kind, thing in here.items())


@cache
def _kinds() -> dict[str, dict[str, int]]:
    """Each word with the number of its thing within each kind that it is of."""
    found: dict[str, dict[str, int]] = {}
    for kind, things in vocabulary.rows("siblings.tsv"):
        for number, names in enumerate(things.split("|")):
            for name in names.split("="):
                found.setdefault(form(name), {})[kind] = number
    return found


def _is_opened(said: Sequence[Token], put: Sequence[Token], texts: tuple[str, ...]) -> bool:
    """Whether the cited words themselves say that the one is the other: “the international normalised ratio (INR)”."""
    here, there = {token.form for token in put}, {token.form for token in said}
    return any((here & one and there & other) or (here & other and there & one) for one, other in _explained(texts))


@lru_cache(maxsize=64)
def _explained(texts: tuple[str, ...]) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    pairs = [pair for text in texts for pair in definitions(text)]
    pairs += [match.groups() for text in texts for match in _BRACKETS.finditer(text)]  # type: ignore[misc]
    return tuple((forms(one), forms(other)) for one, other in pairs)
