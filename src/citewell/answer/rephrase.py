"""Makes a follow-up stand on its own: what it leaves out is taken from the question before it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.answer.retrieve import MAX_QUESTION_CHARACTERS
from citewell.clinical import Lexicon
from citewell.types import Message
from citewell.words import terms

OPENERS = re.compile(
    r"^\s*(?:and|but|or|so|also|then|what about|how about|what if|why(?: not)?\??$|how so|what else|which one|"
    r"for how long|how long\??$|how often\??$|how much\??$|when\??$|who\??$|is that|are there (?:any )?others?)\b",
    re.IGNORECASE,
)
"""How a question begins that goes on from the last one."""

POINTERS = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|there|the same|such|instead|otherwise|former|"
    r"latter|the other|above|below)\b",
    re.IGNORECASE,
)
"""Words that point at something said before."""

MAX_OWN_TERMS = 3
"""A question with no more words of its own than this, and no clinical word, leans on the last one."""


JOINED = " — "


def rephrase(question: str, history: Sequence[Message], *, lexicon: Lexicon) -> str:
    """The question as it would be asked without what was said before.

    >>> said = [Message("user", "dose of ibuprofen for adults"), Message("assistant", "400 mg.")]
    >>> rephrase("and for children?", said, lexicon=Lexicon.load())
    'dose of ibuprofen for adults — and for children?'
    >>> rephrase("haematuria aged 60", said, lexicon=Lexicon.load())
    'haematuria aged 60'
    """
    before = [message.text for message in history if message.role == "user"]
    if not before or not is_follow_up(question, lexicon=lexicon):
        return question
    topic = next((text for text in reversed(before) if not is_follow_up(text, lexicon=lexicon)), before[0])
    room = MAX_QUESTION_CHARACTERS - len(question.strip()) - len(JOINED)
    return f"{topic.strip().rstrip('?')[:room]}{JOINED}{question.strip()}" if room > 0 else question


def is_follow_up(question: str, *, lexicon: Lexicon) -> bool:
    """Whether a question leans on what was said before.

    One that names something clinical stands on its own, unless it opens like a follow-up.
    """
    if OPENERS.search(question):
        return True
    if lexicon.find(question):
        return False
    return bool(POINTERS.search(question)) or len(terms(question)) <= MAX_OWN_TERMS
