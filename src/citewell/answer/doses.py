"""Doses: whether a question asks for one, whether a statement gives it, and of what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from citewell.answer.amounts import Amount, admits, states
from citewell.answer.statements import GIVEN_DOSE, Statement
from citewell.clinical.medicines import Medicine, medicines
from citewell.clinical.questions import question_cues

MAX_WORDS_TO_DOSED = 1
"""How many words may stand between “how much” or “dose of” and the medicine whose dose is asked for."""
ASKS_DOSE = re.compile(
    r"\b(?:what|which)(?:['’]s| is| are| was)?(?: [\w-]+){0,4}? (?:dose|doses|dosage|dosing)\b"
    r"|^\s*(?:[\w-]+ ){0,3}(?:dose|dosage|dosing) (?:of|for)\b"
    r"|(?P<much>\bhow (?:much|many (?:mg|tablets|capsules|sachets|drops|puffs|units|ml)(?: of)?)\b)",
    re.IGNORECASE,
)
"""A question for the dose of a medicine."""
DOSE_RULES = re.compile(
    r"\b(?:do not (?:use|give|offer|take|start|exceed)|not (?:be )?(?:recommended|given|used)|contraindicated"
    r"|(?:reduc|halv|doubl|adjust|lower|increas)\w*\b.{0,40}\bdos|half (?:the|of the) (?:usual )?dose"
    r"|no (?:dose|dosage) (?:adjustment|change))",
    re.IGNORECASE,
)
"""What a sentence says of a dose without an amount."""
REFERS_TO_DOSE = re.compile(
    r"\b(?:this|that|the (?:same|above)) (?:dose|dosage|amount|volume)\b|\b(?:start|begin|try) again\b",
    re.IGNORECASE,
)
"""What a sentence says that speaks of a dose, or of a treatment to go on with, and leaves it to another to give it."""
WEIGHS = re.compile(
    r"\b(?:child|infant|baby|toddler|adult|patient|person|(?:wo)?man) (?:of|who weighs|weighing) \d[\d.]* ?kg\b"
    r"|\(kg\): \d",
    re.IGNORECASE,
)
"""What a text works out for one weight."""
_WORD = re.compile(r"\w+")
_OF = re.compile(r"\s+(?:of|for)\b")
_DOSE_OF_IT = re.compile(r"\s+(?:dos(?:e|age|ing))\b(?!\s+(?:adjust|chang|reduc|increas|form)\w*)", re.IGNORECASE)


def dosed(question: str, named: Sequence[Medicine]) -> Medicine | None:
    """The medicine whose dose is asked for.

    >>> questions = "The dose of codeine on warfarin?", "On warfarin, codeine dose?", "How much iron on warfarin?"
    >>> [found.name if (found := dosed(one, medicines(one))) else None for one in questions]
    ['codeine', 'codeine', None]
    """
    if not named or "about doses" in question_cues(question):
        return None
    if (short := next((one for one in named if _DOSE_OF_IT.match(question, one.end)), None)) is not None:
        return short
    asks = ASKS_DOSE.search(question)
    if asks is None:
        return None
    inside = [one for one in named if one.start < asks.end()]
    after = [one for one in named if one.start >= asks.end()]
    opens = _OF.match(question, asks.end())
    if asks["much"] or opens:
        begin = opens.end() if opens else asks.end()
        after = [one for one in after if len(_WORD.findall(question, begin, one.start)) <= MAX_WORDS_TO_DOSED]
    return next(iter((*inside, *after)), None)


def gives_dose(statement: Statement, medicine: Medicine, titles: Iterable[str]) -> bool:
    """Whether a statement gives an amount of the medicine, or says that it is not to be given or its dose changed."""
    if not (GIVEN_DOSE.search(statement.text) or DOSE_RULES.search(statement.text)):
        return False
    leant: Statement | None = statement
    said = list(titles)
    while leant is not None:
        said.append(leant.text)
        leant = leant.previous
    told = medicines("\n".join(said))
    if not told and statement.kind == "row":  # of a table whose caption stands in the passage before
        return True
    return any(one.name == medicine.name or (medicine.is_class and one.family == medicine.family) for one in told)


def is_of_another_weight(asked: Sequence[Amount], text: str) -> bool:
    """Whether a text works an amount out for one who weighs something else than whom it is asked for.

    >>> from citewell.answer.amounts import amounts
    >>> sixteen = amounts("How much for a child of 16 kg?")
    >>> [is_of_another_weight(sixteen, text) for text in ("A child of 12 kg needs 900 ml.", "4 mg for 15 to 30 kg.")]
    [True, False]
    """
    if not asked or not WEIGHS.search(text):
        return False
    return not any(states(text, one) or admits(text, one) for one in asked)


def with_doses(found: Sequence[Statement]) -> Iterator[Statement]:
    """Statements; those that only speak of “this dose” or “start again” with the one of their section that gives it."""
    giving: list[Statement] = []
    renewed: dict[Statement, Statement] = {}
    for one in found:
        before = None if one.previous is None else renewed.get(one.previous, one.previous)
        given = [other for other in giving if other.titles == one.titles and _may_be_of(other, one)]
        # what was worked out for one person is no one else's
        plain = [other for other in given if not WEIGHS.search(other.text)]
        if given and _leaves_dose_open(one):
            before = _behind(before, (plain or given)[-1])
        renewed[one] = replace(one, previous=before)
        yield renewed[one]
        giving += [one] if GIVEN_DOSE.search(one.text) else []


def _may_be_of(giving: Statement, one: Statement) -> bool:
    """Whether a dose may be of the medicine that a statement speaks of: they name one in common, or one names none."""
    theirs, ours = ({medicine.name for medicine in medicines(each.text)} for each in (giving, one))
    return not (theirs and ours) or not theirs.isdisjoint(ours)


def _behind(statement: Statement | None, first: Statement) -> Statement:
    """A statement and those that it leans on, all behind another one."""
    if statement is None:
        return first
    return statement if statement == first else replace(statement, previous=_behind(statement.previous, first))


def _leaves_dose_open(one: Statement) -> bool:
    """Whether it speaks of a dose that neither it nor the sentence that it leans on gives."""
    refers = REFERS_TO_DOSE.search(one.text)
    if refers is None or GIVEN_DOSE.search(one.text, 0, refers.start()):
        return False
    return one.previous is None or GIVEN_DOSE.search(one.previous.text) is None
