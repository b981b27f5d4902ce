"""Whether a statement may answer a question at all: its people, medicine and illness, and no mere introduction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citewell.answer.amounts import Amount, admits, amounts, bounds, states
from citewell.answer.cues_fitting import (
    ASKS_DOSE,
    DOSE_RULES,
    GIVEN_DOSE,
    INTRODUCES,
    INTRODUCES_MORE,
    RESULT,
    WEIGHS,
)
from citewell.answer.grades import Graded, graded, is_of_another_grade
from citewell.answer.illnesses import is_of_another_illness, named_illnesses
from citewell.answer.of_medicines import is_of_another
from citewell.answer.opposed import is_opposed
from citewell.answer.statements import Statement
from citewell.clinical.medicines import Medicine, medicines
from citewell.clinical.populations import Group, ages_in, asked_for, is_for_others
from citewell.clinical.questions import question_cues

AMOUNTS = frozenset({"dose", "number", "target"})
"""Kinds of questions that ask for an amount."""
MAX_WORDS_TO_DOSED = 1
"""How many words may stand between “how much” or “dose of” and the medicine whose dose is asked for."""
MAX_UNIT_CHARACTERS = 12
"""How much after a number is read for its unit."""
_WORD = re.compile(r"\w+")
_OF = re.compile(r"\s+(?:of|for)\b")


@dataclass(frozen=True, slots=True)
class Asker:
    """What a question holds a statement to, before any of its words are weighed."""

    question: str
    named: tuple[Medicine, ...]
    """The medicines that it is about; none where it may want another one."""
    dosed: Medicine | None
    """The medicine whose dose it asks for."""
    people: frozenset[Group]
    illnesses: frozenset[str]
    grades: tuple[Graded, ...]
    """What it asks for a grade of: severe dehydration."""
    weights: tuple[Amount, ...]
    """What whom it asks for weighs."""
    asks_amount: bool
    """It asks for a dose, or for another number of something."""
    is_question: bool
    is_of_document: bool
    """It asks what a document is for."""

    def admits(self, statement: Statement, document: str) -> bool:
        """Whether a statement may answer it."""
        if is_of_another(statement, document, self.named):
            return False
        if not self.is_question:
            return True
        titles, aged = (document, *statement.titles), ages_in(self.question)
        return not (
            is_opposed(self.question, statement.text)
            or is_for_others(self.people, statement.text, titles, is_amount=self.asks_amount, aged=aged)
            or is_of_another_illness(self.illnesses, statement.text, titles)
            or is_of_another_grade(self.grades, statement.text, titles)
            or is_of_another_weight(self.weights, statement.text)
            or is_of_another_result(self.question, statement)
            or (introduces(statement) and not self.is_of_document)
            or (self.dosed is not None and not gives_dose(statement, self.dosed, titles))
        )


def asker(question: str) -> Asker:
    """What a question holds statements to."""
    sounds = question_cues(question)
    named = () if "other medicine" in sounds else medicines(question)
    return Asker(
        question,
        named,
        _dosed(question, named),
        asked_for(question),
        named_illnesses(question),
        graded(question),
        tuple(one for one in amounts(question) if one.unit == "kg"),
        not AMOUNTS.isdisjoint(sounds),
        "question" in sounds,
        "document" in sounds,
    )


def is_of_another_weight(asked: Sequence[Amount], text: str) -> bool:
    """Whether a text works an amount out for one who weighs something else than whom it is asked for.

    >>> sixteen = amounts("How much for a child of 16 kg?")
    >>> [is_of_another_weight(sixteen, text) for text in ("A child of 12 kg needs 900 ml.", "4 mg for 15 to 30 kg.")]
    [True, False]
    """
    if not asked or not WEIGHS.search(text):
        return False
    return not any(states(text, one) or admits(text, one) for one in asked)


def is_of_another_result(question: str, statement: Statement) -> bool:
    """Whether a row is for other results than the one in the question: “INR: Above 8.0” for an INR of 6.

    A result is what the question gives right after the words that head the column.
    """
    if statement.kind != "row":
        return False
    cells = (cell.partition(": ") for cell in statement.text.split("; "))
    return any(_excludes(value, given) for head, _, value in cells for given in _given_for(question, head))


def _given_for(question: str, head: str) -> Sequence[Amount]:
    """What a question gives for what heads a column.

    >>> [one.text for one in _given_for("My INR is 6, at 62.", "INR")], _given_for("INR at age 62?", "INR")
    (['6'], ())
    """
    found = re.search(rf"\b{re.escape(head)}{RESULT}", question, re.IGNORECASE) if head else None
    return amounts(question[found.start("given") : found.end() + MAX_UNIT_CHARACTERS])[:1] if found else ()


def _excludes(cell: str, given: Amount) -> bool:
    """Whether a cell states a range or a limit, and the amount does not lie in it."""
    return bounds(cell) and not (admits(cell, given) or states(cell, given))


def introduces(statement: Statement) -> bool:
    """Whether a statement only says what a document or a part of it is for, or goes on with one that does."""
    if INTRODUCES.search(statement.text):
        return True
    before = statement.previous
    return before is not None and INTRODUCES_MORE.match(statement.text) is not None and introduces(before)


def _dosed(question: str, named: Sequence[Medicine]) -> Medicine | None:
    """The medicine whose dose is asked for.

    >>> questions = "The dose of codeine on warfarin?", "How much iron on warfarin?", "How much beer?"
    >>> [found.name if (found := _dosed(one, medicines(one))) else None for one in questions]
    ['codeine', None, None]
    """
    asks = ASKS_DOSE.search(question)
    if asks is None or not named or "about doses" in question_cues(question):
        return None
    inside = [one for one in named if one.start < asks.end()]
    after = [one for one in named if one.start >= asks.end()]
    opens = _OF.match(question, asks.end())
    if asks["much"] or opens:
        begin = opens.end() if opens else asks.end()
        after = [one for one in after if len(_WORD.findall(question, begin, one.start)) <= MAX_WORDS_TO_DOSED]
    return next(iter((*inside, *after)), None)


def gives_dose(statement: Statement, dosed: Medicine, titles: Iterable[str]) -> bool:
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
    return any(one.name == dosed.name or (dosed.is_class and one.family == dosed.family) for one in told)
