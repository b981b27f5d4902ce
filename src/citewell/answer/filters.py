"""Hard filters: whether a statement may answer a question at all, by its people, medicines, doses and illnesses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.answer.denial_cues import denials
from citewell.answer.illnesses import illnesses, is_of_another_illness, named_illnesses
from citewell.answer.question_amounts import Amount, admits, amounts, states
from citewell.answer.statements import GIVEN_DOSE, WEIGHS, Statement, is_dose
from citewell.clinical.assertion import read_context
from citewell.clinical.medicines import Medicine, medicines, members, subclasses
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
from citewell.clinical.quantities import PeriodMark, TestReading, labels
from citewell.clinical.questions import question_cues
from citewell.clinical.result_bands import given_results, is_within
from citewell.clinical.severity_grades import GradedIllness, graded, is_of_another_grade
from citewell.clinical.spelling_correction import spelled
from citewell.sentences import terms
from citewell.types.consult import Patient, Polarity

# ------------------------------------------------------------------------------------------------------- opposite kinds


_NON = re.compile(r"\bnon-?(?=[a-z]{4})", re.IGNORECASE)
"""What makes the other kind of a word; “non-steroidal” is one only where somebody asks for what is steroidal."""
_LETTERS = re.compile(r"[^\W\d_]+")
_CHOICE = re.compile(r"(?<![\w-])(?=-*\w)[\w-]+ or [\w-]++(?=\W*$|\W*[?.])", re.IGNORECASE)
"""Two words to choose from at the end of a question: “urgent or routine?”."""


def kinds(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of the words of a text that stand for themselves, and of those behind “non-”.

    >>> [sorted(one) for one in kinds("Non-severe or severe dengue")], [sorted(one) for one in kinds("nonsevere")]
    ([['dengu', 'sever'], ['sever']], [['nonsever'], ['sever']])
    """
    behind = [_LETTERS.match(text, match.end()) for match in _NON.finditer(text)]
    turned = frozenset(stem for match in behind if match for stem in terms(match.group()))
    return frozenset(terms(_NON_WORD.sub(" ", text))), turned


_NON_WORD = re.compile(r"\bnon-[^\W\d_]+", re.IGNORECASE)


def is_opposed(question: str, text: str) -> bool:
    """Whether a word of the question stands in the text as its opposite only, or the other way round.

    >>> asked = "Do steroids help in severe dengue?"
    >>> [is_opposed(asked, text) for text in ("In non-severe dengue, rest.", "Severe or non-severe dengue.", "Dengue.")]
    [True, False, False]
    >>> is_opposed("Fluids for non-severe dengue?", "In severe dengue, give fluids.")
    True

    A word that stands beside another to choose from is not asked for alone:

    >>> is_opposed("Urgent or routine?", "Consider a non-urgent referral.")
    False
    """
    if not _NON.search(question) and not _NON.search(text):
        return False
    question = _CHOICE.sub(" ", question)
    (asked, asked_turned), (said, said_turned) = kinds(question), kinds(text)
    return bool((asked - asked_turned) & (said_turned - said) or (asked_turned - asked) & (said - said_turned))


# ------------------------------------------------------------------------------------------------------------ medicines


def is_of_another(statement: Statement, document: str, named: Sequence[Medicine]) -> bool:
    """Whether a statement is about medicines of which the question names none; what it leans on counts too.

    Under a title that names one it may speak of others, but doses there are theirs. What is said of a class is said of
    its members, but not where another member is named beside it or above it. Where a class is asked for, its members
    are no others.
    """
    if not named:
        return False
    names, families = {medicine.name for medicine in named}, {medicine.family for medicine in named}
    above = medicines("\n".join((document, *statement.titles)))
    if not is_dose(statement.text) and names & {medicine.name for medicine in medicines("\n".join(statement.titles))}:
        return False
    found, groups = _medicines_and_groups(statement)
    if names & {medicine.name for medicine in found} or any(_is_member(medicine, named) for medicine in found):
        return False
    if groups and not any(medicine.is_class for medicine in named):
        return not any(names & group for group in groups)
    if not found:
        return False
    rivals = (medicine for medicine in (*found, *above) if medicine.family in families and not medicine.is_class)
    return not families & {medicine.name for medicine in found} or any(rivals)


def _medicines_and_groups(statement: Statement) -> tuple[tuple[Medicine, ...], tuple[frozenset[str], ...]]:
    """The medicines that a statement or the one that it leans on names, and the members of each group it names."""
    leant: Statement | None = statement
    while leant is not None:
        found, groups = _in_cells(leant), subclasses(leant.text)
        if found or groups:
            return found, groups
        leant = leant.previous
    return (), ()


def _in_cells(statement: Statement) -> tuple[Medicine, ...]:
    """The medicines that a statement is about.

    A class at the head of a column says nothing of what stands in it. A term that names a medicine is what its
    sentence is about: “Ondansetron. For a child who cannot keep ORS down …”.
    """
    text = statement.text
    in_text = medicines(text)
    if statement.kind == "term":
        head = text.partition(". ")[0]
        return tuple(medicine for medicine in in_text if medicine.start < len(head)) or in_text
    if statement.kind != "row":
        return in_text
    return tuple(medicine for medicine in in_text if not (medicine.is_class and text[medicine.end :].startswith(":")))


_SET_ASIDE = re.compile(
    r"\b(?:if|when|where|in whom|who)\b[^.;:\n]{0,80}?"
    r"\b(?:contra-?indicated|not tolerated|(?:unsuitable|not suitable|inappropriate)|cannot (?:take|have|tolerate))",
    re.IGNORECASE,
)
"""What says when a medicine is not to be had: what is given then is another one."""


def is_set_aside(text: str, named: Sequence[Medicine]) -> bool:
    """Whether a text names the medicines asked about only as not to be had, and another one for that.

    >>> text = "Offer ezetimibe if statins are contraindicated or not tolerated."
    >>> [is_set_aside(text, medicines(asked)) for asked in ("Who should have a statin?", "Who should have ezetimibe?")]
    [True, False]
    """
    aside = [match.span() for match in _SET_ASIDE.finditer(text)] if named else []
    if not aside:
        return False
    kept = {
        medicine.name for medicine in medicines(text) if not any(start <= medicine.start < end for start, end in aside)
    }
    return bool(kept) and kept.isdisjoint(
        kind for medicine in named for kind in (medicine.name, medicine.family, *members(medicine.name))
    )


def is_in_company_of_others(
    statement: Statement, section: Sequence[Statement], document: str, named: Sequence[Medicine]
) -> bool:
    """Whether a statement that names no medicine stands in a section on others than those that are asked about.

    “Give the last dose 24 hours before” is of the medicine that the other sentences name, whatever is asked.
    """
    if not named or medicines(statement.text):
        return False
    said = "\n".join((document, *statement.titles, *(other.text for other in section)))
    in_section, names = medicines(said), {medicine.name for medicine in named}
    if any(medicine.name in names or _is_member(medicine, named) for medicine in in_section):
        return False
    if any(names & group for group in subclasses(said)):
        return False
    others = [
        medicine
        for medicine in in_section
        if not (medicine.is_class and _is_kind_of(medicine, named)) and not members(medicine.name)
    ]
    families = {medicine.family for medicine in named}
    are_rivals = any(medicine.family in families and not medicine.is_class for medicine in others)
    return bool(others) and (are_rivals or not any(_is_kind_of(medicine, named) for medicine in in_section))


def _is_kind_of(medicine: Medicine, named: Sequence[Medicine]) -> bool:
    """Whether a medicine is the class of one of those named, or a kind that it belongs to."""
    kinds = {medicine.name, *members(medicine.name)}
    return any(not kinds.isdisjoint((each.name, each.family)) for each in named)


def _is_member(medicine: Medicine, named: Sequence[Medicine]) -> bool:
    """Whether a medicine, or its class, belongs to a class that is named."""
    kinds = {kind for each in named if each.is_class for kind in (each.name, *members(each.name))}
    return not {medicine.name, medicine.family}.isdisjoint(kinds)


# ---------------------------------------------------------------------------------------------------------------- doses


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
    if (short := next((medicine for medicine in named if _DOSE_OF_IT.match(question, medicine.end)), None)) is not None:
        return short
    asks = ASKS_DOSE.search(question)
    if asks is None:
        return None
    inside = [medicine for medicine in named if medicine.start < asks.end()]
    after = [medicine for medicine in named if medicine.start >= asks.end()]
    opens = _OF.match(question, asks.end())
    if asks["much"] or opens:
        begin = opens.end() if opens else asks.end()
        after = [
            medicine for medicine in after if len(_WORD.findall(question, begin, medicine.start)) <= MAX_WORDS_TO_DOSED
        ]
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
    in_text = medicines("\n".join(said))
    if not in_text and statement.kind == "row":  # of a table whose caption stands in the passage before
        return True
    return any(each.name == medicine.name or (medicine.is_class and each.family == medicine.family) for each in in_text)


def is_of_another_weight(asked: Sequence[Amount], text: str) -> bool:
    """Whether a text works an amount out for one who weighs something else than whom it is asked for.

    >>> from citewell.answer.question_amounts import amounts
    >>> sixteen = amounts("How much for a child of 16 kg?")
    >>> [is_of_another_weight(sixteen, text) for text in ("A child of 12 kg needs 900 ml.", "4 mg for 15 to 30 kg.")]
    [True, False]
    """
    if not asked or not WEIGHS.search(text):
        return False
    return not any(states(text, amount) or admits(text, amount) for amount in asked)


# ----------------------------------------------------------------------------------------------------------- the filter


_DENIES = re.compile(r"\b(?:no|not|nor|without|never|denies|denied|nil|negative|ruled out)\b|n[’']t\b", re.IGNORECASE)
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
class QuestionFilter:
    """What a question requires of a statement, before any of its words are weighed."""

    question: str
    named: tuple[Medicine, ...]
    """The medicines that it is about; none where it may want another one."""
    dosed: Medicine | None
    """The medicine whose dose it asks for."""
    people: frozenset[Group]
    patient: Patient
    """Whom it asks for, as far as it says."""
    results: tuple[TestReading, ...]
    """The results that it gives, such as an INR."""
    illnesses: frozenset[str]
    grades: tuple[GradedIllness, ...]
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
    numbered: tuple[PeriodMark, ...]
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

    def admits_caption(self, caption: str) -> bool:
        """Whether a table under this caption may hold the answer: whatever its rows name, they are for these people."""
        return not (
            is_for_others(self.people, "", (caption,), is_amount=True, aged=ages_in(self.question))
            or applies(populations(caption), self.patient).answer is Applies.NO
            or is_of_another_illness(self.illnesses, "", (caption,))
        )

    def _is_for_other_people(self, statement: Statement, titles: Sequence[str]) -> bool:
        """The same, but for a limit where it is asked whether something may be: that answers it."""
        is_limit = self.asks_whether and statement.kind != "row"
        return self.is_for_others(statement, titles, is_limit=is_limit)

    def is_for_others(self, statement: Statement, titles: Sequence[str], *, is_limit: bool = False) -> bool:
        """Whether every part that names people, or the nearest title that does, is for others than the patient."""
        parts = list(whom(statement))
        judged = [applies(part, self.patient).answer for part in parts]
        if judged and not is_limit and all(answer is Applies.NO for answer in judged):
            return True
        known = {population.kind for part in parts for population in part}
        for title in reversed(titles):
            above = [population for population in populations(title) if population.kind not in known]
            known |= {population.kind for population in above}
            if applies(above, self.patient).answer is Applies.NO:
                return True
        return False


def question_filter(question: str) -> QuestionFilter:
    """What a question requires of a statement."""
    read = spelled(question)
    sounds = question_cues(read)
    named = () if "other medicine" in sounds else medicines(read)
    return QuestionFilter(
        question,
        named,
        dosed(read, named),
        asked_for(read),
        person(read),
        given_results(read),
        named_illnesses(read) - _denied(read),
        graded(read),
        tuple(amount for amount in amounts(read) if amount.unit == "kg"),
        not AMOUNTS.isdisjoint(sounds),
        "document" in sounds,
        "yes or no" in sounds,
        "not to" in sounds,
        tuple(mark for mark in labels(read) if mark.dimension in NUMBERED),
    )


def _denied(question: str) -> frozenset[str]:
    """The illnesses that a question says somebody does not have: what is asked is about something else.

    >>> _denied("Coughed up blood, no infection: refer?")
    frozenset({'infection'})
    """
    if not _DENIES.search(question):
        return frozenset()
    context = read_context(question)
    spans = ((illness.name, context.assertion(illness.start, illness.end).status) for illness in illnesses(question))
    return frozenset(name for name, status in spans if status is Polarity.ABSENT)


def is_of_another_number(asked: Sequence[PeriodMark], titles: Sequence[str]) -> bool:
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
        people = () if FORBIDS.search(part) else populations(part, is_heading=is_row)
        if is_row and at and len(part) > MAX_TITLE:  # a list of doses by age or weight, or nothing of the kind
            limited = [population for population in people if population.kind in ("age", "weight")]
            people = tuple(limited) if len(limited) > 1 else ()
        if people:
            yield people


def is_of_another_result(given: Sequence[TestReading], text: str, titles: Sequence[str]) -> bool:
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
