"""A question as the facts see it, what they answer, and the words that lead to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from citewell.assistants.records.intents import Intent, Intents
from citewell.assistants.records.known_facts import KnownFacts, T, when
from citewell.types.facts import Fact, RecordOwner
from citewell.types.facts_line import line_of

MAX_SHOWN = 400
"""Facts of one answer; what is left out is counted."""
MOST_OTHERS = 15
"""Facts of a kind that are shown beside a “no”; more tell nothing."""
NEAR = 4
"""Letters above which a word inside another tells something."""
IN_LINES = frozenset({Intent.MEDICINES, Intent.VISITS, Intent.DOCTORS, Intent.WHERE, Intent.PROCEDURES})
"""Wishes for something that may be told by another part than its name."""
_WORDS = re.compile(r"[^\W\d_]+")
RECORD, FACTS = "Your record", "Your list of facts"
MENTIONED = "Your documents have this, which is not among your facts"


@dataclass(frozen=True, slots=True)
class GatheredFacts:
    """Facts that answer a question, and the words that lead to them."""

    lead: str
    facts: tuple[Fact, ...] = ()
    left_out: int = 0
    if_mentioned: str = ""
    """What leads instead where a paper speaks of what no fact does; empty where nothing is denied."""
    with_papers: str = ""
    """What leads instead where papers that may be newer stand first; empty is what usually does."""
    after: str = ""
    """What is said at the end."""
    if_silent: str = ""
    """What is said besides where papers do not speak of it either."""
    is_absence: bool = False
    """Whether the answer says that nothing in the record has the name used in the question."""
    is_guess: bool = False
    """Whether nothing but a name led to it: passages that speak of the same tell more."""
    others: tuple[Fact, ...] = ()
    """All of the kind that was asked for, where they are few: shown beside a “no” that nothing is near to."""
    is_near: bool = False
    """Whether it is but the nearest in meaning."""
    is_letter: bool = False
    """Whether the words that lead name the one paper that is quoted."""


@dataclass(frozen=True, slots=True)
class FactQuery:
    """A question as the facts see it: what it wants, and which of them it names."""

    wanted: Intents
    known: KnownFacts
    named: tuple[Fact, ...]
    unknown: tuple[str, ...] = ()
    """Medicines, kinds of medicines and tests that the record does not have."""
    about: tuple[str, ...] = ()
    """Words that say what exactly is asked for, and that are no name in the record."""
    said: tuple[str, ...] = ()
    """Medicines and kinds of medicines, as the question calls them."""
    plain: tuple[str, ...] = ()
    """Procedures and conditions in plain words, as the question calls them."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    text: str = ""
    """The question in plain words."""

    @property
    def names_nothing(self) -> bool:
        """Whether the question is about all facts of a kind."""
        return not self.named and not self.unknown and not self.about

    def named_of(self, kind: type[T]) -> list[T]:
        named = {fact.id for fact in self.named}
        return [one for one in self.inside(self.known.of(kind)) if one.id in named]

    def outside(self, kind: type[T]) -> list[T]:
        """Those that are named, whatever the time."""
        named = {fact.id for fact in self.named}
        return [one for one in self.known.of(kind) if one.id in named]

    def inside(self, facts: Iterable[T]) -> list[T]:
        """Those of the time that is asked for."""
        return [fact for fact in facts if self.wanted.since is None or self.is_inside(when(fact))]

    def is_inside(self, day: datetime | None) -> bool:
        """Whether a day is in the time that is asked for."""
        return day is not None and self.wanted.is_inside(day)


def told(lead: str, facts: Sequence[Fact], *, after: str = "") -> GatheredFacts:
    """Facts under the words that lead to them; without any, the words deny."""
    if not facts:
        return denied(lead.rstrip(":"), after=after)
    return GatheredFacts(lead, tuple(facts[:MAX_SHOWN]), max(0, len(facts) - MAX_SHOWN), after=after)


def denied(sentence: str, *, beside: str = "", facts: Sequence[Fact] = (), after: str = "") -> GatheredFacts:
    """That no fact says it, and what stands beside; a paper may still say it, which changes the words.

    >>> found = denied("Your record does not mention inr")
    >>> found.lead, found.if_mentioned
    ('Your record does not mention inr.', 'Your documents have this, which is not among your facts:')
    """
    end = f". {beside}" if beside and facts else "." if not facts else ":"
    mentioned = MENTIONED
    return GatheredFacts(
        sentence + end,
        tuple(facts[:MAX_SHOWN]),
        max(0, len(facts) - MAX_SHOWN),
        if_mentioned=mentioned + (f". {beside}" if beside and facts else ":"),
        after=after,
    )


def not_mentioned(
    asked: FactQuery, *, among: str = "", after: str = "", others: Sequence[Fact] = ()
) -> GatheredFacts | None:
    """What is said of something that no fact has; what has its word inside a name stands beside."""
    missing = list(asked.unknown or asked.about)
    if not missing:
        return None
    near = _near(asked)
    if said := _said_in_lines(asked):
        return told(f"{RECORD} has this about {listed([f'“{words}”' for words in asked.about])}:", said)
    where = f" among {among}" if among else ""
    absence = denied(
        f"{RECORD} does not mention {listed(missing, last='or')}{where}",
        beside="It has this, which is worded similarly:",
        facts=near,
        after=after,
    )
    is_absence = not set(missing) & set(asked.said)  # a medicine is called by its name
    return replace(absence, is_absence=is_absence, others=tuple(others) if len(others) <= MOST_OTHERS else ())


def _said_in_lines(asked: FactQuery) -> list[Fact]:
    """Facts that say all that is asked for, not in their name but in another part: a time of day, a place."""
    if asked.unknown or not asked.wanted.all & IN_LINES or not asked.about:
        return []
    wanted = {word for phrase in asked.about for word in phrase.split()}
    lines = ((fact, set(_WORDS.findall(line_of(fact).casefold()))) for fact in asked.known.facts)
    facts = [fact for fact, words in lines if wanted <= words and not isinstance(fact, RecordOwner)]
    return asked.known.newest_of(facts)


def _near(asked: FactQuery) -> list[Fact]:
    """Facts that have a word that is asked for inside their line: “Prediabetes”, a medicine for asthma."""
    phrases = asked.plain if asked.unknown else asked.about
    roots = [word.rstrip("s") for phrase in phrases for word in phrase.split() if len(word) > NEAR]
    if not roots:
        return []
    others = (fact for fact in asked.known.facts if not isinstance(fact, RecordOwner))
    facts = [fact for fact in others if any(root in line_of(fact).casefold() for root in roots)]
    return asked.known.newest_of(facts)


def count(facts: Sized, one: str = "entry", many: str | None = None) -> str:
    """How many there are, in words.

    >>> count([], "medicine"), count([1, 2], "allergy", "allergies")
    ('no medicines', '2 allergies')
    """
    plural = many or (f"{one[:-1]}ies" if one == "entry" else f"{one}s")
    return f"{len(facts) or 'no'} {one if len(facts) == 1 else plural}"


def listed(words: Sequence[str], *, last: str = "and") -> str:
    """Words as a list in a sentence.

    >>> listed(["one", "two", "three"])
    'one, two and three'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
