"""Makes a follow-up stand on its own: what it leaves out is taken from the question before it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS, TALK
from citewell.answer.subjects import subjects
from citewell.answer.substitute import substitute
from citewell.clinical import Lexicon
from citewell.clinical.medicines import medicines
from citewell.clinical.populations import age_groups, asked_for
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

THING = re.compile(r"\b(?:it|this|that)\b(?!\s+[a-z]+s?\s+(?:is|are|was|were)\b)", re.IGNORECASE)
"""A pointer at an illness; “they” and “these” are then people or signs."""

THINGS = re.compile(r"\b(?:it|they|them|this|that|these|those)\b(?!\s+[a-z]+s?\s+(?:is|are|was|were)\b)", re.IGNORECASE)
"""Pointers in whose place a name can stand."""

MAX_OWN_TERMS = 3
"""A question with no more words of its own than this, and no clinical word, leans on the last one."""


ASKING = re.compile(
    r"(?:^|—)\s*(?:and\s+)?(?:for\s+)?(?:(?:what|how)\s+about\b|(?:what|who|whom|when|where|which|why|how)(?:['’]s)?"
    r"(?:\s+(?:much|many|long|often|soon|quickly|happens))?"
    r"|define|explain|(?:the )?(?:definition|meaning) of|tell me|please)\b|\bwith or without\b"
    r"|\byou define\b|\b(?:counts?|qualifies) as\b|\b(?:meant|mean) by\b|\b(?:definition|meaning) of\b"
    r"|\b(?:all right|alright|ok|okay|fine) to\b"
    r"|\b(?:mean|happens?)\s*\??\s*$|\b[a-z]+n['’]t\b|['’](?:s|m|re|ve|ll|d)\b",
    re.IGNORECASE,
)
"""Words by which a question asks, and not what it asks for."""
EMPTY = frozenset(
    terms(
        "do does did should can could may must will would shall am i me my we us he she him they them there please any "
        "most need needs get done old someone somebody anyone anybody person people patient"
    )
)
"""Words of a question that no answer needs."""
DOING = frozenset(
    terms(
        "take taken give given use used receive offer offered recommend recommended allow allowed permit avoid avoided"
    )
)
"""Words that no answer needs where it is asked what to do: what is taken counts, and not that it is."""
JOINED = " — "
NO_MATTER = EMPTY | TALK | DOING
_WORD = re.compile(r"[^\W\d_]{3,}")


def rephrase(question: str, history: Sequence[Message], *, lexicon: Lexicon) -> str:
    """The question as it would be asked without what was said before.

    One that asks for something of its own takes only what the last question was about; a mere part of one takes all.

    >>> said = [Message("user", "dose of ibuprofen for adults"), Message("assistant", "400 mg.")]
    >>> rephrase("and for children?", said, lexicon=Lexicon.load())
    'dose of ibuprofen for children'
    >>> rephrase("And when is it harmful?", said, lexicon=Lexicon.load())
    'when is ibuprofen harmful?'
    >>> rephrase("haematuria aged 60", said, lexicon=Lexicon.load())
    'haematuria aged 60'
    """
    before = [message.text for message in history if message.role == "user"]
    if not before or not is_follow_up(question, lexicon=lexicon):
        return question
    topic = _topic(before, lexicon)
    own = JOINERS.sub("", question).strip()
    about = _about(topic, lexicon)
    if about and WHOLE.match(own):
        things = THINGS if medicines(about[0]) else THING
        named, count = things.subn(about[0], own, count=1)
        rest = " ".join((*about[count:], *_for_whom(topic, own)))
        return _within(f"{named}{JOINED}{rest}" if rest else named, question)
    if (other := _with_other(topic, own, lexicon)) is not None:
        return _within(other, question)
    return _within(f"{topic.strip().rstrip('?')}{JOINED}{question.strip()}", question)


def _about(topic: str, lexicon: Lexicon) -> list[str]:
    """What a question is about, each thing with the word before it that says how it is.

    >>> _about("How do I treat severe dehydration after diarrhoea?", Lexicon.load())
    ['severe dehydration', 'diarrhoea']
    """
    asked = (subject for subject in subjects(topic, lexicon=lexicon) if not subject.people)
    named = dict.fromkeys(re.escape(subject.text) for subject in asked)
    found = [re.search(rf"(?:\b(?:{GRADES})\s+)?{name}", topic, re.IGNORECASE) for name in named]
    return [one.group() for one in found if one] or _matter(topic)


def _matter(topic: str) -> list[str]:
    """The one word that a short question is about, where no table knows it.

    >>> _matter("Who needs bridging?"), _matter("Who may open the door?")
    (['bridging'], [])
    """
    words = [word for word in _WORD.findall(ASKING.sub(" ", topic)) if terms(word) and terms(word)[0] not in NO_MATTER]
    return words if len(words) == 1 else []


def _topic(before: Sequence[str], lexicon: Lexicon) -> str:
    """The last question that stands on its own, with what later ones put in the place of a part of it."""
    at = next((at for at in reversed(range(len(before))) if not is_follow_up(before[at], lexicon=lexicon)), 0)
    topic = before[at]
    for text in before[at + 1 :]:
        topic = _with_other(topic, JOINERS.sub("", text).strip(), lexicon) or topic
    return topic


def _for_whom(topic: str, own: str) -> tuple[str, ...]:
    """The children that the last question was on, where this one names nobody.

    >>> _for_whom("How much zinc for my toddler?", "How long should it be given?")
    ('child',)
    """
    is_of_child = "child" in asked_for(topic) and not age_groups(own)
    return ("child",) if is_of_child else ()


def _with_other(topic: str, own: str, lexicon: Lexicon) -> str | None:
    """The last question of another thing, where the follow-up names nothing else: “and for apixaban?”."""
    return substitute(topic, ABOUT.sub("", own).strip(), lexicon=lexicon)


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
