"""Whether a statement may answer a question at all: its people, medicine and illness, and no mere introduction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.answer.amounts import Amount, amounts
from citewell.answer.doses import dosed, gives_dose, is_of_another_weight
from citewell.answer.grades import Graded, graded, is_of_another_grade
from citewell.answer.illnesses import is_of_another_illness, named_illnesses
from citewell.answer.negation import denials
from citewell.answer.of_medicines import is_of_another
from citewell.answer.opposed import is_opposed
from citewell.answer.statements import Statement
from citewell.clinical.bands import given_results, is_within
from citewell.clinical.medicines import Medicine, medicines
from citewell.clinical.populations import (
    Applies,
    Group,
    Population,
    ages_in,
    applies,
    asked_for,
    is_for_others,
    person,
    populations,
)
from citewell.clinical.quantities import Mark, Result, labels
from citewell.clinical.questions import question_cues
from citewell.types.consult import Patient

AMOUNTS = frozenset({"dose", "number", "target"})
"""Kinds of questions that ask for an amount."""
NUMBERED = frozenset(f"label {what}" for what in "step stage type grade phase class category group tier plan".split())
"""Things that are told apart by a number; the number after “level” or “day” is an amount."""
MAX_TITLE = 40
"""Characters of a cell that says whom its row is for; a longer one says several things."""
_CELL, _PART = re.compile(r"; "), re.compile(r"[;\n]|(?<=[.?!])\s+(?=[A-Z•])")
FORBIDS = re.compile(
    r"\b(?:contra-?indicat\w+|avoid\w*|never|do not|(?:should|must|may) not|can ?not (?:be|have|take|use)"
    r"|not (?:be|recommended|suitable|licensed|for|in))\b",
    re.IGNORECASE,
)
"""What makes people those who are not to have something."""
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


@dataclass(frozen=True, slots=True)
class Asker:
    """What a question holds a statement to, before any of its words are weighed."""

    question: str
    named: tuple[Medicine, ...]
    """The medicines that it is about; none where it may want another one."""
    dosed: Medicine | None
    """The medicine whose dose it asks for."""
    people: frozenset[Group]
    patient: Patient
    """Whom it asks for, as far as it says."""
    results: tuple[Result, ...]
    """The results that it gives, such as an INR."""
    illnesses: frozenset[str]
    grades: tuple[Graded, ...]
    """What it asks for a grade of: severe dehydration."""
    weights: tuple[Amount, ...]
    """What whom it asks for weighs."""
    asks_amount: bool
    """It asks for a dose, or for another number of something."""
    is_of_document: bool
    """It asks what a document is for."""
    asks_whether: bool
    """It asks whether something may be: a limit that leaves the patient out answers it."""
    asks_not: bool
    """It asks what is not to be done, or for whom."""
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
            or self._is_for_other_people(statement, titles)
            or is_of_another_illness(self.illnesses, statement.text, titles)
            or is_of_another_grade(self.grades, statement.text, titles)
            or is_of_another_weight(self.weights, statement.text)
            or is_of_another_result(self.results, statement.text, titles)
            or (self.asks_not and not denials(statement.text))
            or (introduces(statement) and not self.is_of_document)
            or (self.dosed is not None and not gives_dose(statement, self.dosed, titles))
        )

    def _is_for_other_people(self, statement: Statement, titles: Sequence[str]) -> bool:
        """Whether every part that names people, or the nearest title that does, is for others than the patient."""
        parts = list(whom(statement))
        judged = [applies(part, self.patient).answer for part in parts]
        is_limit = self.asks_whether and statement.kind != "row"
        if judged and not is_limit and all(answer is Applies.NO for answer in judged):
            return True
        known = {population.kind for part in parts for population in part}
        for title in reversed(titles):
            above = [population for population in populations(title) if population.kind not in known]
            known |= {population.kind for population in above}
            if applies(above, self.patient).answer is Applies.NO:
                return True
        return False


def asker(question: str) -> Asker:
    """What a question holds statements to."""
    sounds = question_cues(question)
    named = () if "other medicine" in sounds else medicines(question)
    return Asker(
        question,
        named,
        dosed(question, named),
        asked_for(question),
        person(question),
        given_results(question),
        named_illnesses(question),
        graded(question),
        tuple(one for one in amounts(question) if one.unit == "kg"),
        not AMOUNTS.isdisjoint(sounds),
        "document" in sounds,
        "yes or no" in sounds,
        "not to" in sounds,
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


def whom(statement: Statement) -> Iterator[Sequence[Population]]:
    """The people that each part of a statement is for, where it names any; what it forbids is for nobody.

    >>> row = Statement(1, "row", (), ("Age: 5 to 9 years; Dose: 5 mg, or 2 mg in women who are pregnant",), ())
    >>> [[people.name for people in part] for part in whom(row)]
    [['ages 5 to 9 years']]
    """
    is_row = statement.kind == "row"
    parts = _CELL.split(statement.text) if is_row else _PART.split(statement.text)
    for at, part in enumerate(parts):
        found = () if FORBIDS.search(part) else populations(part, is_heading=is_row)
        if is_row and at and len(part) > MAX_TITLE:  # a list of doses by age or weight, or nothing of the kind
            limited = [population for population in found if population.kind in ("age", "weight")]
            found = tuple(limited) if len(limited) > 1 else ()
        if found:
            yield found


def is_of_another_result(given: Sequence[Result], text: str, titles: Sequence[str]) -> bool:
    """Whether words, or the nearest title that names a band, are for other results than those in the question.

    >>> six = given_results("My INR is 6")
    >>> [is_of_another_result(six, text, ["INR above 8"]) for text in ("Give vitamin K.", "INR 5 to 8: wait.")]
    [True, False]
    """
    within = (is_within(words, given) for words in (text, *reversed(titles))) if given else ()
    return next((is_so for is_so in within if is_so is not None), True) is False


def introduces(statement: Statement) -> bool:
    """Whether a statement only says what a document or a part of it is for, or goes on with one that does."""
    if INTRODUCES.search(statement.text):
        return True
    before = statement.previous
    return before is not None and INTRODUCES_MORE.match(statement.text) is not None and introduces(before)
