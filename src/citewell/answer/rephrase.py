"""Makes a follow-up stand on its own: what it leaves out is taken from the question before it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS
from citewell.answer.subjects import subjects
from citewell.answer.verify_names import medicines
from citewell.clinical import Lexicon
from citewell.types import Message
from citewell.words import terms

OPENERS = re.compile(
    r"^\s*(?:and|but|or|so|also|then|what about|how about|what if|why(?: not)?\??$|how so|what else|which one|"
    r"for how long|how long\??$|how often\??$|how much\??$|when\??$|who\??$|is that|are there (?:any )?others?)\b",
    re.IGNORECASE,
)
"""How a question begins that goes on from the last one."""

JOINERS = re.compile(r"^\s*(?:(?:and|but|or|so|also|then)\b[\s,]*)+", re.IGNORECASE)

ABOUT = re.compile(r"^\s*(?:what|how)\s+about\b", re.IGNORECASE)

GRADES = "severe|mild|moderate|acute|chronic|suspected|unexplained|persistent|recurrent|early|advanced|stable|unstable"

WHOLE = re.compile(
    r"^(?:(?:what|how)\s+(?!about\b|so\b|else\b|long\b\W*$|often\b\W*$|much\b\W*$)|(?:which|who|when|where|why)\s+(?!not\b|one\b)|"
    r"(?:is|are|was|were|do|does|did|can|could|should|must|may|might|will|would|has|have)\s+)\w+\W+\w+",
    re.IGNORECASE,
)
"""How a question begins that asks for something of its own, whatever it leaves out."""

POINTERS = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|there(?!\s+(?:is|are|was|were|be)\b)|the same|"
    r"such|instead|otherwise|former|latter|the other|above|below)\b",
    re.IGNORECASE,
)
"""Words that point at something said before."""

THINGS = re.compile(r"\b(?:it|they|them|this|that|these|those)\b(?!\s+[a-z]+s?\s+(?:is|are|was|were)\b)", re.IGNORECASE)
"""Pointers in whose place a name can stand."""

MAX_OWN_TERMS = 3
"""A question with no more words of its own than this, and no clinical word, leans on the last one."""


JOINED = " — "


def rephrase(question: str, history: Sequence[Message], *, lexicon: Lexicon) -> str:
    """The question as it would be asked without what was said before.

    One that asks for something of its own takes only what the last question was about; a mere part of one takes all.

    >>> said = [Message("user", "dose of ibuprofen for adults"), Message("assistant", "400 mg.")]
    >>> rephrase("and for children?", said, lexicon=Lexicon.load())
    'dose of ibuprofen for adults — and for children?'
    >>> rephrase("And when is it harmful?", said, lexicon=Lexicon.load())
    'when is ibuprofen harmful?'
    >>> rephrase("haematuria aged 60", said, lexicon=Lexicon.load())
    'haematuria aged 60'
    """
    before = [message.text for message in history if message.role == "user"]
    if not before or not is_follow_up(question, lexicon=lexicon):
        return question
    topic = next((text for text in reversed(before) if not is_follow_up(text, lexicon=lexicon)), before[0])
    own = JOINERS.sub("", question).strip()
    about = _about(topic, lexicon)
    if about and WHOLE.match(own):
        named, count = THINGS.subn(about[0], own, count=1)
        rest = " ".join(about[count:])
        return _within(f"{named}{JOINED}{rest}" if rest else named, question)
    if (other := _with_other_medicine(topic, own)) is not None:
        return other
    return _within(f"{topic.strip().rstrip('?')}{JOINED}{question.strip()}", question)


def _about(topic: str, lexicon: Lexicon) -> list[str]:
    """What a question is about, each thing with the word before it that says how it is.

    >>> _about("How do I treat severe dehydration after diarrhoea?", Lexicon.load())
    ['severe dehydration', 'diarrhoea']
    """
    asked = (subject for subject in subjects(topic, lexicon=lexicon) if not subject.people)
    named = dict.fromkeys(re.escape(subject.text) for subject in asked)
    found = [re.search(rf"(?:\b(?:{GRADES})\s+)?{name}", topic, re.IGNORECASE) for name in named]
    return [one.group() for one in found if one]


def _with_other_medicine(topic: str, own: str) -> str | None:
    """The last question of another medicine, where nothing but its name is asked: “and for apixaban?”."""
    own = ABOUT.sub("", own)
    ours, theirs = medicines(own), medicines(topic)
    if len(ours) != 1 or len(theirs) != 1 or len(terms(own)) > 1:
        return None
    named, place = own[ours[0].start : ours[0].end], theirs[0]
    return f"{topic[: place.start]}{named}{topic[place.end :]}"


def _within(text: str, question: str) -> str:
    """The text where it is short enough to be searched for, else the question alone."""
    return text if len(text) <= MAX_QUESTION_CHARACTERS else question


def is_follow_up(question: str, *, lexicon: Lexicon) -> bool:
    """Whether a question leans on what was said before.

    One that names something clinical stands on its own, unless it opens like a follow-up.
    """
    if OPENERS.search(question):
        return True
    if lexicon.find(question):
        return False
    return bool(POINTERS.search(question)) or len(terms(question)) <= MAX_OWN_TERMS
