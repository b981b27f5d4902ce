"""Whether a statement may answer a question at all: its people, medicine and illness, and no mere introduction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.answer.amounts import Amount, admits, amounts, bounds, states
from citewell.answer.doses import dosed, gives_dose, is_of_another_weight
from citewell.answer.grades import Graded, graded, is_of_another_grade
from citewell.answer.illnesses import is_of_another_illness, named_illnesses
from citewell.answer.of_medicines import is_of_another
from citewell.answer.opposed import is_opposed
from citewell.answer.statements import Statement
from citewell.clinical.medicines import Medicine, medicines
from citewell.clinical.populations import Group, ages_in, asked_for, is_for_others
from citewell.clinical.quantities import Mark, labels
from citewell.clinical.questions import question_cues

AMOUNTS = frozenset({"dose", "number", "target"})
"""Kinds of questions that ask for an amount."""
MAX_UNIT_CHARACTERS = 12
"""How much after a number is read for its unit."""
NUMBERED = frozenset(f"label {what}" for what in "step stage type grade phase class category group tier plan".split())
"""Things that are told apart by a number; the number after “level” or “day” is an amount."""
INTRODUCES = re.compile(
    r"""\b(?:this|the\ present)\ (?:chapter|guideline|guidance|policy|document|section|leaflet|review|handbook|manual)
        \ (?:explains|covers|says|describes|helps|aims|sets\ out|gives|provides|outlines|summari[sz]es|contains|presents
        |is\ (?:about|for))\b
    | ^(?:table|figure|box|chapter|section|annex|appendix)\ [\w.]{1,6}
        \ (?:gives|shows|lists|summari[sz]es|describes|sets\ out)\b
    | ^(?:existing|additional|further|more|other|related)\ [^.;:\n]{0,60}
        \b(?:guidelines?|guidance|information|tools?|modules?|resources?|documents?|details?)\b[^.;:\n]{0,60}(?:\b(?:found|available|listed)\b|:?\n)
    | (?:\(\d{4}\)\ \(\d+\)[^\n]{0,200}){2}
    | ^(?:two|three|four|five|several)\ [\w ]{3,40}\ (?:is|are)\ (?:given|listed|shown|described)\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""A sentence that says what a text is for or where more is found, and a list of references: nothing of its matter."""
INTRODUCES_MORE = re.compile(r"It (?:also )?(?:says|covers|aims|describes|explains|gives|sets out|is for)\b")
"""A sentence that goes on with one that does."""
RESULT = r"\b(?:\s+(?:is|was|of|at|now|came back(?: as| at)?|result))*\s*[:=]?\s+(?P<given>\d[\d.,]*)"
"""How a question gives a result after the name of what was measured."""


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
    is_of_document: bool
    """It asks what a document is for."""
    numbered: tuple[Mark, ...]
    """Its numbered things, such as “step 2”."""

    def admits(self, statement: Statement, document: str) -> bool:
        """Whether a statement may answer it."""
        if is_of_another(statement, document, self.named):
            return False
        titles, aged = (document, *statement.titles), ages_in(self.question)
        return not (
            is_of_another_number(self.numbered, statement.titles)
            or is_opposed(self.question, statement.text)
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
        dosed(question, named),
        asked_for(question),
        named_illnesses(question),
        graded(question),
        tuple(one for one in amounts(question) if one.unit == "kg"),
        not AMOUNTS.isdisjoint(sounds),
        "document" in sounds,
        tuple(mark for mark in labels(question) if mark.dimension in NUMBERED),
    )


def is_of_another_number(asked: Sequence[Mark], titles: Sequence[str]) -> bool:
    """Whether the heading above a statement names another numbered thing of the same kind.

    >>> second = tuple(labels("What is step 2?"))
    >>> [is_of_another_number(second, [title]) for title in ("Step 3 treatment", "Step 2", "Fluids")]
    [True, False, False]
    """
    headed = tuple(labels(titles[-1])) if asked and titles else ()
    kinds, named = {mark.dimension for mark in headed}, {(mark.dimension, mark.values) for mark in headed}
    return any(mark.dimension in kinds and (mark.dimension, mark.values) not in named for mark in asked)


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
