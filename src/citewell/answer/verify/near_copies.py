"""What a claim changes in a sentence that it repeats: an opposite put in a place, two things exchanged, a word added.

A claim in words of its own is the reader's to judge; one that repeats its source but for a word or two is judged here,
for the reader takes such a pair for the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from citewell import vocabulary
from citewell.answer.verify.claim_words import ContentWord, ReadSentence, form, is_empty, is_light, meanings
from citewell.answer.verify.coverage import WordProfile, profile
from citewell.answer.verify.mismatches import Mismatch, MismatchGrade
from citewell.answer.verify.named_things import Topic

LEAST_AROUND = 2
"""Words on both sides of a place, together, that must be the same in both."""

LONGEST_PLACE = 4
"""Words that stand in one place at most."""

MOST_NAMED = 2
"""Words with a meaning of their own that name one thing at most: “thrombosis nurse”."""

LONG_FROM = 3
"""Words of a clause that says something of its own."""

MOST_PLACES = 4
"""Places that differ, beyond which a sentence is put together anew and no two things are exchanged."""

REPEATED_FROM = 0.85
"""Share of a claim's other words that the cited sentences must say for it to repeat them."""

_PREFIXES = {"un": 5, "in": 5, "im": 5, "ir": 5, "il": 5, "non": 5, "dis": 5, "a": 6}
"""What denies a word, and how many letters that must have: “intake” denies no “take”, “around” no “round”."""

_PREFIX_PAIRS = (("pre", "post"), ("hyper", "hypo"), ("over", "under"), ("intra", "extra"), ("up", "down"))
_ARTICLES = frozenset(("a", "an", "the"))
_SMALL = _ARTICLES | frozenset(
    "of in to from by with for on at and or is are was were be been its their his her this".split()
)
_BE = frozenset("is are was were been being".split())

_EVEN = frozenset(
    form(word)
    for word in """associated association correlated correlation related relation linked link similar equal equals
    identical interact interaction combined combination between versus vs compared comparable concomitant""".split()
)
"""Words beside which two things may change places."""

_ENDINGS = frozenset(
    "|s|es|ed|ing|ic|ical|al|ial|ist|y|ies|ion|ions|ive|ous|ant|ent|ance|ence|er|ers|or|ity|ness|ment|e|en|inal|ar|ary|ia|aemic|a".split(
        "|"
    )
)
"""What words of one root end with."""

LONGEST_ROOT = 5
"""Letters that two words must begin alike with to be of one root."""

_SAYS_NOTHING = frozenset(
    form(word)
    for word in """example instance course fact general particular addition contrast summary short therefore however too
    indeed thus hence note possible necessary appropriate needed required applicable available indicated mind usual drug
    medicine medication treatment therapy patient people person adult participant individual subject group trial study
    intervention condition disease disorder symptom effect result level risk rate case event thing""".split()
)
"""Words that carry a sentence on, or stand for what was named before."""

_WORD = re.compile(r"[^\W_]+")
_NO_THINGS = ("ed", "ly")
SHORTEST_ENDED = 3
"""Letters of a word of which these are no ending: “red”."""

_BEFORE, _AFTER = re.compile(r"([^\W_]+|,)\W*\Z"), re.compile(r"\W*([^\W_]+)")
_VERB_NEXT = _BE | frozenset(
    """to will can may should must not do does did would could might cannot never please always also then who which it
    they you we she he i has have had""".split()
)
"""After these a verb stands."""

_DETERMINERS = frozenset(
    "the a an this these those your their his her its our any each every some no it them him".split()
)
_PREPOSITIONS = frozenset("of in on at by for from with into to as out up".split())
_OPENS_NOUN = (
    _DETERMINERS | _PREPOSITIONS - {"to"} | frozenset("and or plus than per between against without ,".split())
)
_NAMED = re.compile(rf"\b(?:{'|'.join(_OPENS_NOUN - {','})})\s+[^\W_]+(?<!ly)\s+\Z", re.IGNORECASE)
"""Before a thing, with one more word of its name."""


class Token(NamedTuple):
    """A word, where it stands, in small letters, and the form under which it is compared."""

    start: int
    end: int
    word: str
    form: str


@dataclass(frozen=True, slots=True)
class EditPlace:
    """What the source says somewhere, what the claim has there, and how many words around are the same."""

    said: tuple[Token, ...]
    put: tuple[Token, ...]
    around: int

    @property
    def is_short(self) -> bool:
        """Whether so few words stand there that they say one thing."""
        return max(len(self.said), len(self.put)) <= LONGEST_PLACE


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[Token, ...]:
    return tuple(Token(*match.span(), *_compared(match.group())) for match in _WORD.finditer(text))


@lru_cache(maxsize=50_000)
def _compared(word: str) -> tuple[str, str]:
    folded = word.casefold()
    return folded, "be" if folded in _BE else form(word)


@lru_cache(maxsize=1024)
def _places(claim: str, source: str) -> tuple[EditPlace, ...]:
    """Where a few words of the claim stand for a few of the source."""
    ours, theirs = _tokens(claim), _tokens(source)
    steps = Levenshtein.opcodes([token.form for token in theirs], [token.form for token in ours])
    edit_places: list[EditPlace] = []
    before, said, put = 0, (0, 0), (0, 0)
    for step in steps:
        if step.tag != "equal":
            said, put = (said[0], step.src_end), (put[0], step.dest_end)
            continue
        size = step.src_end - step.src_start
        edit_places.append(EditPlace(theirs[slice(*said)], ours[slice(*put)], before + size))
        before, said, put = size, (step.src_end,) * 2, (step.dest_end,) * 2
    edit_places.append(EditPlace(theirs[slice(*said)], ours[slice(*put)], before))
    return tuple(edit_place for edit_place in edit_places if edit_place.put)


def edits(claim: ReadSentence, source: ReadSentence) -> Iterator[Mismatch]:
    """Where a claim has the opposite of a word of the source in the same surroundings, or two things exchanged."""
    every = _places(claim.text, source.text)
    places = [
        edit_place
        for edit_place in every
        if edit_place.is_short and edit_place.said and edit_place.around >= LEAST_AROUND
    ]
    opposed = list(_opposed(claim, source, places))
    exchanged = list(_exchanged(source, places)) if len(every) <= MOST_PLACES else []
    if not (opposed and exchanged):  # “men more than women” is “women less than men”: two turns make none
        yield from (*opposed, *exchanged)


def _opposed(claim: ReadSentence, source: ReadSentence, places: Sequence[EditPlace]) -> Iterator[Mismatch]:
    for place in places:
        token, put = _only(place.said), _only(place.put)
        grade = opposition(token.word, put.word) if token and put else None
        if not (token and put and grade) or claim.denied(put.start) != source.denied(token.start):
            continue
        if not (_is_more(token, source, claim) and _is_more(put, claim, source)):
            continue
        reason = f"the source says “{source.text[token.start : token.end]}” here"
        yield Mismatch(grade, "opposite", reason, put.start, put.end)


def _is_more(token: Token, here: ReadSentence, there: ReadSentence) -> bool:
    """Whether one text has a word more often than the other: else it has only changed its place."""
    counts = [sum(other.form == token.form for other in _tokens(text.text)) for text in (here, there)]
    return counts[0] > counts[1]


def _exchanged(source: ReadSentence, places: Sequence[EditPlace]) -> Iterator[Mismatch]:
    """Two places, each with what the other had."""
    if not _EVEN.isdisjoint(token.form for token in _tokens(source.text)):
        return
    whole = [place for place in places if not (_is_of_a_list(place.said) or _is_of_a_list(place.put))]
    for edit_place, other in combinations(whole, 2):
        here, there = _forms(edit_place.said), _forms(other.said)
        if (
            here
            and there
            and not _SMALL.issuperset(here + there)
            and here == _forms(other.put)
            and there == _forms(edit_place.put)
        ):
            first, second = (source.text[it.said[0].start : it.said[-1].end] for it in (edit_place, other))
            reason = f"the source has “{first}” and “{second}” the other way round"
            yield Mismatch(MismatchGrade.AGAINST, "opposite", reason, edit_place.put[0].start, edit_place.put[-1].end)


def opposite_edits(claim: ReadSentence, source: ReadSentence, *, coverage: float) -> Iterator[Mismatch]:
    """Where a claim has one value of an axis and the source only another, of the same things."""
    ours, theirs = _on_axes(claim.text), _on_axes(source.text)
    for axis in ours.keys() & theirs.keys():
        values = {value for _, value in theirs[axis]}
        for token, value in ours[axis]:
            if value in values:
                continue
            beside = claim.near(token.start, token.end, words=3)
            rival = max(
                (other for other, _ in theirs[axis]),
                key=lambda one: len(beside & source.near(one.start, one.end, words=3)),
            )
            is_near = coverage >= 0.7 or beside & source.near(rival.start, rival.end, words=3)
            if is_near and claim.denied(token.start) == source.denied(rival.start):
                reason = f"the source says “{source.text[rival.start : rival.end]}”"
                yield Mismatch(MismatchGrade.AGAINST, "opposite", reason, token.start, token.end)
                break


@lru_cache(maxsize=4096)
def _on_axes(text: str) -> dict[str, list[tuple[Token, str]]]:
    found: dict[str, list[tuple[Token, str]]] = {}
    for token in _tokens(text):
        for axis, pole in _poles().get(token.form, {}).items():
            if pole.is_firm:
                found.setdefault(axis, []).append((token, pole.value))
    return found


def _is_of_a_list(tokens: Sequence[Token]) -> bool:
    """Whether a part of a list stands there, whose order says nothing."""
    return not {tokens[0].word, tokens[-1].word}.isdisjoint(("and", "or"))


def _forms(tokens: Sequence[Token]) -> list[str]:
    return [token.form for token in tokens if token.word not in _ARTICLES]


def _only(tokens: Sequence[Token]) -> Token | None:
    """The one word with a meaning of its own, if there is just one."""
    full = [token for token in tokens if token.word not in _SMALL]
    return full[0] if len(full) == 1 else None


# ------------------------------------------------------------------------------------------------- words in one place


@lru_cache(maxsize=4096)
def opposition(one: str, other: str) -> MismatchGrade | None:
    """How two words, put in the same place, exclude each other.

    >>> opposition("higher", "lower"), opposition("safe", "unsafe"), opposition("raised", "higher")
    (<MismatchGrade.AGAINST: 3>, <MismatchGrade.AGAINST: 3>, None)
    """
    here, there = _poles().get(form(one), {}), _poles().get(form(other), {})
    grades = [pole.grade for axis, pole in here.items() if axis in there and there[axis].value != pole.value]
    return max(grades, default=MismatchGrade.AGAINST if _is_prefixed(one, other) else None)


def _is_prefixed(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if any(long == prefix + short and len(short) >= least for prefix, least in _PREFIXES.items()):
        return True
    return any(
        first.startswith(here) and second.startswith(there) and first[len(here) :] == second[len(there) :]
        for here, there in _PREFIX_PAIRS
        for first, second in ((one, other), (other, one))
    )


class _AxisPole(NamedTuple):
    """The end of an axis on which a word stands, and how grave the other end is."""

    value: str
    grade: MismatchGrade
    is_firm: bool
    """It counts anywhere, and not only where one word is put for the other."""


@cache
def _poles() -> dict[str, dict[str, _AxisPole]]:
    """Each word of the table with its end of every axis."""
    found: dict[str, dict[str, _AxisPole]] = {}
    for axis, weight, value, words in vocabulary.rows("antonyms.tsv"):
        pole = _AxisPole(value, MismatchGrade.WEAKER if weight == "mild" else MismatchGrade.AGAINST, weight == "firm")
        for word in words.split("|"):
            found.setdefault(form(word), {})[axis] = pole
    return found


@lru_cache(maxsize=4096)
def are_same(one: str, other: str) -> bool:
    """Whether two words may stand for each other: a table has them in one row, or they are of one root.

    >>> are_same("kidney", "renal"), are_same("diabetic", "diabetes"), are_same("sodium", "potassium")
    (True, True, False)
    """
    one, other = (unicodedata.normalize("NFKC", word).casefold() for word in (one, other))
    here, there = form(one), form(other)
    if here == there or not (meanings(here) | _wordings(here)).isdisjoint(meanings(there) | _wordings(there)):
        return True
    if any(_poles().get(here, {}).get(axis) == pole for axis, pole in _poles().get(there, {}).items()):
        return True
    root = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return root >= LONGEST_ROOT and one[root:] in _ENDINGS and other[root:] in _ENDINGS


@cache
def _table() -> dict[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for number, (words,) in enumerate(vocabulary.rows("wordings.tsv")):
        for word in words.split("|"):
            found[form(word)] = found.get(form(word), frozenset()) | {-1 - number}
    return found


def _wordings(form_of_word: str) -> frozenset[int]:
    return _table().get(form_of_word, frozenset())


# ---------------------------------------------------------------------------------------------------- words of nowhere


def added(claim: ReadSentence, said: str, cited: WordProfile, known: Sequence[Topic]) -> str | None:
    """Why a claim that repeats a sentence is not carried: it adds, or puts in a place, what no cited words name."""
    there = profile(said)
    for place in _places(claim.text, said):
        here = {token.start for token in place.put}
        words, is_put = [word for word in claim.words if word.start in here], _only(place.said) is not None
        if place.is_short:
            words = [word for word in words if _is_thing(word, claim.text, is_put=is_put)]
        strange = [word for word in words if _is_strange(word, claim, cited, known)]
        if not place.is_short and not len(strange) == len(words) >= LONG_FROM:
            continue  # a clause of its own is one of which the source has no word
        if any(are_same(claim.text[word.start : word.end], token.word) for word in strange for token in place.said):
            continue
        if "".join(token.word[0] for token in place.put if token.word not in _SMALL) in cited.forms:
            continue  # “confidence interval” for “CI”
        if strange and place.around and _repeats(claim, strange, there):
            put = claim.text[strange[0].start : strange[-1].end]
            if not is_put:
                return f"the source does not mention “{put}”"
            return f"the source says “{said[place.said[0].start : place.said[-1].end]}”, not “{put}”"
    return None


def replaced(claim: ReadSentence, said: str, cited: str, known: Sequence[Topic]) -> str | None:
    """Why one sentence does not carry a claim that repeats it: where it has one thing, the claim has another."""
    there, ours = profile(said), {token.form for token in _tokens(claim.text)}
    labels = [amount for amount in claim.quantities if amount.dimension.startswith("label")]
    for place in _places(claim.text, said):
        here, put = ([one for one in side if not is_empty(one.word)] for side in (place.said, place.put))
        words = [word for word in claim.words if word.start in {token.start for token in put}]
        if place.around < LEAST_AROUND or not here or not len(put) == len(words) > 0:
            continue
        if max(len(here), len(put)) > MOST_NAMED:
            continue
        if any(label.start <= word.start < label.end for label in labels for word in words):
            continue  # “plan B” is held against other plans
        if _tells_to(put, claim.text) or _tells_to(here, said):
            continue
        if any(token.form in ours or not _is_thing(token, said, is_put=True) for token in here):
            continue  # it only changed its place, or is what is done
        if not all(
            _is_strange(content_word, claim, there, known) and _is_thing(content_word, claim.text, is_put=True)
            for content_word in words
        ):
            continue
        if any(are_same(one.word, other.word) for one in put for other in here):
            continue
        first, second = claim.text[put[0].start : put[-1].end], said[here[0].start : here[-1].end]
        if not _is_short_for(first, second, cited) and _repeats(claim, words, there):
            return f"the source says “{second}”, not “{first}”"
    return None


def _tells_to(tokens: Sequence[Token], text: str) -> bool:
    """Whether words open a text as what is to be done does: “Cut down on salt”."""
    after = _AFTER.match(text, tokens[-1].end)
    is_opening = _BEFORE.search(text, 0, tokens[0].start) is None
    return is_opening and after is not None and after.group(1).casefold() in _DETERMINERS | _PREPOSITIONS


def _is_short_for(one: str, other: str, cited: str) -> bool:
    """Whether one is the other written apart, its first letters, or stands in brackets where the source explains it."""
    if "".join(_WORD.findall(one)).casefold() == "".join(_WORD.findall(other)).casefold():
        return True
    first, second = ("".join(word[0] for word in _WORD.findall(text)).casefold() for text in (one, other))
    return first == other.casefold() or second == one.casefold() or f"({one})" in cited or f"({other})" in cited


def _repeats(claim: ReadSentence, but: Sequence[ContentWord], there: WordProfile) -> bool:
    """Whether a sentence says nearly all words of a claim but these."""
    others = [word for word in claim.words if word not in but]
    same = sum(word.form in there.forms or not word.meanings.isdisjoint(there.meanings) for word in others)
    return same >= REPEATED_FROM * len(others)


def _is_strange(word: ContentWord, claim: ReadSentence, cited: WordProfile, known: Sequence[Topic]) -> bool:
    """Whether no cited words name a thing in any wording; a medicine is checked as such."""
    if word.form in cited.forms or not word.meanings.isdisjoint(cited.meanings):
        return False
    if is_light(word.form) or word.form in _SAYS_NOTHING:
        return False
    if any(drug.start <= word.start < drug.end for drug in claim.medicines):
        return False
    return not any(topic.start <= word.start < topic.end and topic.is_in(cited.forms) for topic in known)


def _is_thing(word: ContentWord | Token, text: str, *, is_put: bool) -> bool:
    """Whether a word is a thing by the words beside it; what is done may be said in many ways.

    What stands in the place of another word is one unless it looks like a verb; what is added stands as a noun does.
    """
    before, after = _BEFORE.search(text, 0, word.start), _AFTER.match(text, word.end)
    last, following = (match.group(1).casefold() if match else "" for match in (before, after))
    written = text[word.start : word.end].casefold()
    if (
        (written.endswith(_NO_THINGS) and len(written) > SHORTEST_ENDED)
        or (written.endswith("ing") and last not in _OPENS_NOUN)
        or last in _VERB_NEXT
        or (following in _DETERMINERS and last not in _OPENS_NOUN)
    ):
        return False
    if is_put:
        return not (written.endswith("s") and following in _PREPOSITIONS and last not in _OPENS_NOUN)
    return last in _OPENS_NOUN or _NAMED.search(text, 0, word.start) is not None
