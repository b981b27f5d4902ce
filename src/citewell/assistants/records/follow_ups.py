"""What a question goes on from, in a conversation about a record: each stands on its own unless it cannot."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from citewell.assistants.records.intents import Intent, Intents
from citewell.assistants.records.named_facts import Names
from citewell.assistants.records.plain_question import plain_question
from citewell.clinical import Lexicon
from citewell.types import Message

ABOUT_ANOTHER = frozenset(
    {
        Intent.PRESCRIBER,
        Intent.TREND,
        Intent.REASON,
        Intent.DUE,
        Intent.ABNORMAL,
        Intent.HIGHEST,
        Intent.LOWEST,
        Intent.LONG,
        Intent.MAY,
        Intent.PAST,
        Intent.LATEST,
        Intent.RESULTS,
    }
)
"""Intents that need a subject, named in this question or an earlier one."""
_POINTER = re.compile(
    r"\b(?:it|them|they|those|these|the same|(?:the )?(?:other |last |first |next )?ones?"
    r"|(?:this|that)(?! (?:day|week|month|year|time|morning|evening|weekend|moment|record|vault|document|letter|report"
    r"|app|i\b|my\b|the\b)))\b",
    re.IGNORECASE,
)
"""Words that point at something said before."""
_ATTRIBUTE = re.compile(
    r"^\W*(?:(?:and|but|or|so|ok|okay|also|then|what|which|how|when|since|who|why|where|is|was|were|are|am|did|do|does"
    r"|has|have|had|the|my|i|for|of|to|on|at|in|by|much|many|long|often|strong|big|bad|high|low|last|first|next|latest"
    r"|dose|dosage|strength|date|day|time|times|reaction|result|value|name|exactly|really|about|get|got|start\w*"
    r"|stop\w*|prescrib\w*|given|done|taken?|tak(?:e|ing)|ever|now|still|a|an|there|any|more|else|not|before)\W*)+$",
    re.IGNORECASE,
)
"""A question of nothing but words that ask for a part of something: “and the dose?”, “since when?”."""
_JOINER = re.compile(r"^\W*(?:(?:and|but|or|so|ok|okay|also|then|what about|how about)\b[\s,]*)+", re.IGNORECASE)
_FOR = re.compile(r"\bfor (?:my |the )?$")


@dataclass(frozen=True, slots=True)
class Understood:
    """A question as it is looked up, and what it was taken to be about where it does not say so itself."""

    text: str
    wanted: Intents
    topic: str = ""


Read = Callable[[str], Intents]
"""What a question wants, by its own words."""


def understood(question: str, history: Sequence[Message], *, lexicon: Lexicon, read: Read) -> Understood:
    """What a question asks for after what was asked before it.

    >>> from datetime import UTC, datetime
    >>> from citewell.assistants.records.intents import intents_of
    >>> said = [Message("user", "flu jabs"), Message("assistant", "…"), Message("user", "whats my weight")]
    >>> read = lambda text: intents_of(text, now=datetime(2026, 1, 1, tzinfo=UTC))
    >>> ask = lambda text: understood(text, said, lexicon=Lexicon.load(), read=read)
    >>> ask("has it gone up").topic, ask("what conditions do i have?").topic
    ('weight', '')
    """
    told = Understood("", Intents(frozenset()))
    for text in (*(message.text for message in history if message.role == "user"), question):
        told = _after(text, told, lexicon, read)
    return told


def _after(question: str, before: Understood, lexicon: Lexicon, read: Read) -> Understood:
    wanted = read(question)
    names = Names.of(question, lexicon)
    if not before.text or not leans(question, names, wanted):
        return Understood(question, wanted)
    wanted = replace(wanted, all=wanted.all - wanted.likely, likely=frozenset())  # what it is about is known
    topic = _subject(before, lexicon)
    plain = _JOINER.sub("", plain_question(question).text)
    text = _POINTER.sub(lambda _match: topic, plain, count=1) if topic else plain
    if text == plain:
        text = f"{plain.rstrip(' ?.')} — {topic or before.text}"
    own = wanted.all - {Intent.LATEST, Intent.PAST, Intent.MAY}
    is_kind = bool(own - (ABOUT_ANOTHER - {Intent.PRESCRIBER, Intent.TREND, Intent.REASON}))
    if not is_kind:
        earlier = before.wanted.all - {Intent.LATEST, Intent.PAST, Intent.TREND, Intent.MAY, Intent.PRESCRIBER}
        wanted = replace(wanted, all=wanted.all | earlier)
    return Understood(text, wanted, topic or before.text.rstrip(" ?."))


def leans(question: str, names: Names, wanted: Intents) -> bool:
    """Whether a question cannot be answered without what was said before it."""
    if names.medicines or names.classes or names.tests or names.lay:
        return False
    text = plain_question(question).text
    points = _POINTER.search(text) is not None
    if names.about(()) and not points:
        return False
    if points:
        return not (wanted.all & {Intent.PREPARE, Intent.CHANGES, Intent.PERSON, Intent.LETTER})
    return _ATTRIBUTE.match(text) is not None and wanted.since is None


def _subject(before: Understood, lexicon: Lexicon) -> str:
    """What the last question was about, in its own words: a thing with a name, else a kind of thing."""
    names = Names.of(before.text, lexicon)
    kinds = []
    for words, _ in names.class_words:
        at = names.text.find(words)
        kinds.append(f"medicines for {words}" if _FOR.search(names.text[:at]) else words)
    said = [names.text[one.start : one.end] for one in names.medicines]
    said += [*kinds, *names.vaccines, *(words for words, _ in names.lay)]
    said += [words for words, _ in names.tests if not any(words in kind for kind in said)]
    said = said or [*names.about(())]
    return " and ".join(dict.fromkeys(said))
