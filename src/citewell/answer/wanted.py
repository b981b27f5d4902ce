"""What a question wants of its answer: words, amounts, and the kind of answer that it asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from citewell.answer.amounts import AGES, Amount, admits, amounts, states
from citewell.answer.cues import (
    ASKING,
    ASKS_BY,
    CUES,
    DOING,
    EMPTY,
    FIRST_LINE,
    GENRE,
    MEDICINE_WORDS,
    SAYS_FIRST,
    TALK,
    TOLD,
    Cue,
)
from citewell.answer.cues_fitting import ASKS_FOR_ALL, RESULT_OF, TIMED
from citewell.answer.expand import Expansion
from citewell.answer.supposed import supposed
from citewell.answer.verify_read import is_light, meanings
from citewell.clinical.medicines import medicines, members
from citewell.clinical.quantities import Mark, labels
from citewell.clinical.questions import question_cues
from citewell.words import terms

NEAR = 2
"""How many other words may stand among those of a name."""
AMOUNT_WEIGHT = 2.0
"""How much an amount counts beside a word: who gives a laboratory result asks what to do at that result."""
LIGHT_WEIGHT = 0.5
"""The same for words that many sentences share, such as “treat”."""

ABOUT_WEIGHT = 0.5
"""The same for what stands in the title of every document at hand: it tells none of their statements from another."""

NUMBERED = frozenset({"dose", "number", "timing"})
"""Kinds of questions that ask for a number, or for a time before or after something."""
NAMES = frozenset(f"label {what}" for what in "step stage type grade phase class category group tier plan".split())
"""Things that are told apart by a number; the number after “level” or “day” is an amount."""
FIRST_STEP = next(iter(labels("step 1")))
"""What a document that goes by steps calls its first-line treatment."""
ALIKE = "~"
ALIKE_WEIGHT = 0.6
"""How much a word of the same meaning counts beside the word itself: “initial” where “starting” is asked for."""

Held = frozenset[str]
"""The words and amounts of a question that a text holds; what it says by a word alike bears a mark."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question as statements are compared with it."""

    words: tuple[str, ...]
    """Its terms, without those by which it only asks."""
    synonyms: Mapping[str, tuple[frozenset[str], ...]]
    """By term, the phrases that say the same."""
    phrases: Mapping[str, frozenset[str]]
    """By term, the words of the name that it is a part of: “blood” and “urine” apart are no blood in the urine."""
    classes: Mapping[str, tuple[frozenset[str], ...]]
    """By term, the names of the class of medicines that it is a member of: these count as words alike."""
    members: Mapping[str, tuple[frozenset[str], ...]]
    """By term, the names of the members of the class that it names: these count as words alike too."""
    amounts: tuple[Amount, ...]
    labels: Mapping[str, Mark]
    """Its numbered things, such as “step 2”, as it writes them: the number is part of a name."""
    cues: tuple[Cue, ...]
    asks_what: bool
    """It asks what something is."""
    asks_which: bool
    """It asks for something of a thing, such as its symptoms."""
    is_of_oneself: bool
    """It is asked by a person for themselves."""
    is_question: bool
    """It is worded as a question, and not as a claim or as a few words to look for."""
    asks_medicine: bool
    """It asks for the name of a medicine."""
    weights: Mapping[str, float]
    """What each word and amount counts."""
    asks_by: str = ""
    """The word that it asks by, such as “who”."""
    asks_changes: bool = False
    """It may ask what was changed in a document."""
    supposed: frozenset[str] = frozenset()
    """The words and amounts of the case for which it asks what to do."""
    timed: frozenset[str] = frozenset()
    """What it asks the time of, before or after something: to stop, to restart."""
    results: Mapping[str, str] = field(default_factory=dict)
    """Of what its bare numbers are: in “INR of 6” no limit of something else is meant."""
    said_of: frozenset[str] = frozenset()
    """What is said of those that it asks for: “high risk” where it is asked which procedures have one."""

    @property
    def asks_to_do(self) -> bool:
        """Whether it asks what should be done, and not why."""
        return _asks_to_do(self.cues)

    @property
    def asks_number(self) -> bool:
        """Whether it asks for a number of something, in so many words."""
        return self.is_question and any(cue.name in ("number", "target") for cue in self.cues)

    @property
    def asks_advice(self) -> bool:
        """The same, in so many words: what studies found is then no answer."""
        return self.is_question and self.asks_to_do

    def titled(self, title: str) -> Held:
        """What the title of a document holds: of what it is, and not what kind of document it is."""
        return frozenset(one for one in self.held(title) if one.removeprefix(ALIKE) not in GENRE)

    def held(self, text: str, *, is_looked_up: bool = False) -> Held:
        """The words and amounts that a text holds; a range holds an amount only where people look amounts up."""
        said = terms(text)
        found = frozenset(said)
        words = {word for word in self.words if self._stands(word, said, found) or self._is_said(word, found)}
        given = {
            amount.text
            for amount in self.amounts
            if states(text, amount)
            or ((is_looked_up or (self.is_question and amount.unit in AGES)) and admits(text, amount))
        }
        given -= {amount for amount, of in self.results.items() if of not in found}
        named = {text_of for text_of, label in self.labels.items() if _names(text, label)}
        alike = self._alike(found, words)
        if self.asks_medicine and any(not members(one.name) for one in medicines(text)):
            alike |= {ALIKE + word for word in MEDICINE_WORDS.intersection(self.words) - words}
        return frozenset(words | given | named | alike)

    def said(self, found: frozenset[str]) -> Held:
        """The words that are among the terms of a text, or said by them: quicker than `held`, and less exact."""
        return frozenset(word for word in self.words if word in found or self._is_said(word, found))

    def _alike(self, found: frozenset[str], words: set[str]) -> set[str]:
        """The words that only others of the same meaning say; what stands for itself stands for no other."""
        said = frozenset().union(*map(meanings, found)) - frozenset().union(*map(meanings, words))
        alike = {word for word in self.words if self._is_alone(word) and meanings(word) & said}
        return {ALIKE + word for word in alike - words} | self.by_kin(found) - {ALIKE + word for word in words}

    def _is_alone(self, word: str) -> bool:
        """Whether a word of its own may stand for it: no part of a name, nor what many sentences share."""
        return not is_light(word) and word not in self.phrases

    def by_kin(self, found: frozenset[str]) -> Held:
        """The medicines that a text speaks of by their class, or by a member: of painkillers, by paracetamol."""
        kin = (*self.classes.items(), *self.members.items())
        return frozenset(ALIKE + word for word, names in kin if any(name <= found for name in names))

    def admitted(self, text: str, said: Held) -> Held:
        """The amounts that lie in a range of a text which holds a word of weight too: results are looked up in it."""
        if not self.is_question or all(is_light(word) for word in said):
            return frozenset()
        lines = text.splitlines()
        return frozenset(one.text for one in self.amounts if any(admits(line, one) for line in lines))

    def also(self, names: Iterable[tuple[str, str]]) -> Wanted:
        """The same, where other words stand for some of its own, such as an abbreviation that a document explains."""
        synonyms = dict(self.synonyms)
        for said, other in names:
            for word in frozenset(terms(said)) & frozenset(self.words):
                synonyms[word] = (*synonyms.get(word, ()), frozenset(terms(other)))
        return replace(self, synonyms=synonyms)

    def is_of_another(self, heading: str) -> bool:
        """Whether a heading names another numbered thing of the same kind: “Step 3” where step 2 is asked for."""
        theirs = {mark.dimension for mark in labels(heading)} if self.labels else set()
        return any(label.dimension in theirs and not _names(heading, label) for label in self.labels.values())

    def is_of_this(self, heading: str) -> bool:
        """Whether a heading names the numbered thing that is asked for."""
        return any(_names(heading, label) for label in self.labels.values())

    def _stands(self, word: str, said: Sequence[str], found: frozenset[str]) -> bool:
        if word not in found:
            return False
        phrase = self.phrases.get(word)
        return phrase is None or _is_together(phrase, said)

    def _is_said(self, word: str, found: frozenset[str]) -> bool:
        return any(phrase <= found for phrase in self.synonyms.get(word, ()))

    def part(self, held: Held) -> float:
        """How much of the question is held, in [0, 1]."""
        total = sum(self.weights.values())
        alike = {one.removeprefix(ALIKE) for one in held if one.startswith(ALIKE)} - held
        same = sum(self.weights[one] for one in held if not one.startswith(ALIKE))
        return (same + ALIKE_WEIGHT * sum(self.weights[one] for one in alike)) / total if total else 0.0

    def weighed(self, all_held: Sequence[Held], about: Held = frozenset()) -> Wanted:
        """The same, with what few of the statements at hand hold counting more, and what all are about less."""
        counts = dict.fromkeys(self.weights, 0)
        for held in all_held:
            for one in held & counts.keys():
                counts[one] += 1
        rarity = {one: math.log(1 + len(all_held) / (1 + count)) for one, count in counts.items()}
        weights = {one: rare * self._factor(one) for one, rare in rarity.items()}
        return replace(self, weights={one: w * (ABOUT_WEIGHT if one in about else 1.0) for one, w in weights.items()})

    def _factor(self, one: str) -> float:
        if one not in self.words:
            return AMOUNT_WEIGHT
        return LIGHT_WEIGHT if is_light(one) else 1.0


def _asks_to_do(cues: Iterable[Cue]) -> bool:
    names = {cue.name for cue in cues}
    return bool(names & {"advice", "avoid"}) and "why" not in names


def _is_together(phrase: frozenset[str], said: Sequence[str]) -> bool:
    """Whether the words of a name stand near each other.

    >>> text = terms("Blood in the stool, or with pallor and little urine")
    >>> [_is_together(frozenset(words), text) for words in (("blood", "stool"), ("blood", "urin"))]
    [True, False]
    """
    width = len(phrase) + NEAR
    places = [at for at, term in enumerate(said) if term in phrase]
    return any(phrase <= frozenset(said[at : at + width]) for at in places)


def _names(text: str, label: Mark) -> bool:
    if label == FIRST_STEP and SAYS_FIRST.search(text):
        return True
    return any((mark.dimension, mark.values) == (label.dimension, label.values) for mark in labels(text))


def beyond(held: Held, *others: Held) -> Held:
    """What is held that none of the others hold, by the same word or one alike."""
    known = {one.removeprefix(ALIKE) for other in others for one in other}
    return frozenset(one for one in held if one.removeprefix(ALIKE) not in known)


def asked_by(text: str) -> str:
    """The word by which a question or a heading asks; none where it opens with no such word.

    >>> asked_by("When is it safe?"), asked_by("7.6.1 When it is safe"), asked_by("What is it?"), asked_by("Fluids")
    ('when', 'when', '', '')
    """
    found = ASKS_BY.match(text)
    return found["word"].casefold() if found else ""


def _results(question: str, given: Iterable[Amount]) -> dict[str, str]:
    """What each number without a unit is said to be of, as the words of texts are compared.

    >>> _results("My INR is 6 at 12 kg and 180/120", amounts("6 and 12 kg and 180/120"))
    {'6': 'inr'}
    """
    bare = {one.text for one in given if not one.unit}
    found = ((one["given"].rstrip(".,"), terms(one["name"])) for one in RESULT_OF.finditer(question))
    return {number: named[-1] for number, named in found if number in bare and named}


def _empty(question: str, cues: Iterable[Cue]) -> frozenset[str]:
    """The words of a question that no answer needs; a claim needs more of its own."""
    if "question" not in question_cues(question):
        return EMPTY
    return EMPTY | TALK | DOING if _asks_to_do(cues) else EMPTY | TALK


def wanted(question: str, expansions: Iterable[Expansion] = ()) -> Wanted:
    """What a question wants.

    >>> asked = wanted("How much ORS for a 12 kg child?")
    >>> asked.words, [amount.text for amount in asked.amounts], [cue.name for cue in asked.cues]
    (('or', 'child'), ['12 kg'], ['dose'])
    """
    named = {question[mark.start : mark.end]: mark for mark in labels(question) if mark.dimension in NAMES}
    if not named and (first := FIRST_LINE.search(question)):
        named = {first.group(): FIRST_STEP}
    rest = ASKING.sub(" ", question)
    for text in named:
        rest = rest.replace(text, " ")
    given = amounts(rest)
    for amount in given:
        rest = rest.replace(amount.text, " ")
    sounds = question_cues(question)
    is_asked = "question" in sounds
    cues = tuple(cue for cue in CUES if cue.name in sounds and (is_asked or cue.name not in TOLD))
    empty = _empty(question, cues)
    words = tuple(dict.fromkeys(word for word in terms(rest) if word not in empty))
    if not words and not given and not named:
        words = tuple(dict.fromkeys(terms(question)))
    synonyms: dict[str, tuple[frozenset[str], ...]] = {}
    classes: dict[str, tuple[frozenset[str], ...]] = {}
    kin: dict[str, tuple[frozenset[str], ...]] = {}
    phrases: dict[str, frozenset[str]] = {}
    for added in expansions:
        phrase = frozenset(terms(added.phrase))
        meant = frozenset(terms(question[slice(*added.from_words)])) & frozenset(words)
        into = {"class": classes, "member": kin}.get(added.reason, synonyms)
        for word in meant:
            into[word] = (*into.get(word, ()), phrase)
            phrases |= {word: meant} if len(meant) > 1 else {}
    timed = TIMED.keys() & set(words) if any(cue.name == "timing" for cue in cues) else frozenset[str]()
    for word in timed:
        synonyms[word] = (*synonyms.get(word, ()), *TIMED[word])
    weights = dict.fromkeys((*words, *(amount.text for amount in given), *named), 1.0)
    return Wanted(
        words,
        synonyms,
        phrases,
        classes,
        kin,
        given,
        named,
        cues,
        "what" in sounds,
        "which" in sounds,
        "oneself" in sounds,
        is_asked,
        "medicine" in sounds,
        weights,
        asked_by(question) if is_asked else "",
        "changes" in sounds,
        supposed(question) & weights.keys(),
        frozenset(timed),
        _results(question, given),
        frozenset(terms(found["what"])) & set(words) if (found := ASKS_FOR_ALL.match(question)) else frozenset(),
    )
